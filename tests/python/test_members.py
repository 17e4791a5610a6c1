"""Every member of ONNX Runtime's classes and package exists with its parameters, or raises an error with its name."""
import enum
import inspect
import pathlib
import re

import numpy as np
import onnx.parser
import onnxruntime
import pytest
import sardonyx

MODEL = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]> g (float[N, 3] x) => (float[N, 3] y) { y = Neg (x) }""").SerializeToString()
X = np.arange(6, dtype=np.float32).reshape(2, 3)

# Modules that their package's own code imports, and what it keeps for its installer.
NOT_MEMBERS = {"capi", "contextlib", "onnxruntime_validation", "import_capi_exception", "package_name", "version",
               "cuda_version"}


def public(names):
    return sorted(name for name in names if not name.startswith("_") and name not in NOT_MEMBERS)


CLASSES = [name for name in public(dir(onnxruntime)) if inspect.isclass(getattr(onnxruntime, name))]
OURS = [name for name in CLASSES if name in dir(sardonyx)]


def members(theirs):
    if issubclass(theirs, enum.Enum):
        return list(theirs.__members__)
    return [*public(dir(theirs)), *(name for name in ("__array__", "__dlpack__", "__dlpack_device__")
                                    if hasattr(theirs, name))]


def of(kind, **values):
    """An object that only the library makes."""
    made = object.__new__(kind)
    for name, value in values.items():
        setattr(made, name, value)
    return made


def instances():
    """One object of each class that users do not only get numbers from."""
    options = sardonyx.SessionOptions()
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    session = sardonyx.InferenceSession(MODEL, options)
    value = sardonyx.OrtValue.ortvalue_from_numpy(X)
    coo = sardonyx.SparseTensor.sparse_coo_from_numpy([2, 2], X[0], np.arange(3), sardonyx.OrtDevice.make("cpu", 0))
    device = sardonyx.get_ep_devices()[0]
    subgraph = session.get_provider_graph_assignment_info()[0]
    made = [session, value, coo, device, device.device, subgraph, subgraph.get_nodes()[0], sardonyx.SessionOptions(),
            sardonyx.RunOptions(), session.io_binding(), session.get_inputs()[0], session.get_modelmeta(),
            sardonyx.OrtDevice.make("cpu", 0), session.get_input_memory_infos()[0],
            sardonyx.LoraAdapter(), sardonyx.OrtArenaCfg({}), sardonyx.OrtExternalInitializerInfo("a", 1, 2),
            sardonyx.ModelCompiler(sardonyx.SessionOptions(), MODEL), of(sardonyx.OrtSyncStream),
            of(sardonyx.OrtEpContextData, size=0), of(sardonyx.OrtEpContextDataBuffer, size=0, max_size=0,
                                                      is_allocated=False)]
    return {type(thing).__name__: thing for thing in made}


@pytest.fixture(scope="module")
def ours():
    return instances()


def test_the_package_has_or_refuses_every_name():
    for name in public(dir(onnxruntime)):
        if inspect.ismodule(getattr(onnxruntime, name)):  # there once anything has imported it
            continue
        if name not in dir(sardonyx):
            with pytest.raises(NotImplementedError, match=f"sardonyx.{name} is not implemented"):
                getattr(sardonyx, name)
            assert not hasattr(sardonyx, name)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        sardonyx.nonsense  # noqa: B018


@pytest.mark.parametrize("name", OURS)
def test_classes_have_or_refuse_every_member(name, ours):
    theirs = getattr(onnxruntime, name)
    if name not in ours:  # an enumeration
        values = {key: int(value) for key, value in theirs.__members__.items()}
        assert {key: int(value) for key, value in getattr(sardonyx, name).__members__.items()} == values
        return
    for member in members(theirs):
        found = getattr(ours[name], member)
        if getattr(found, "is_refused", False):
            with pytest.raises(NotImplementedError, match=f"{name}.{member} is not implemented"):
                found()
    with pytest.raises(AttributeError, match="nonsense"):
        ours[name].nonsense  # noqa: B018


def signatures():
    for name in OURS:
        for member in members(getattr(onnxruntime, name)):
            if (name, member) == ("InferenceSession", "run_async"):  # without a callback, the result is awaited
                continue
            try:
                theirs = inspect.signature(getattr(getattr(onnxruntime, name), member))
                mine = inspect.signature(getattr(getattr(sardonyx, name), member))
            except (AttributeError, TypeError, ValueError):
                continue  # refused here, a property, or compiled there
            yield pytest.param(theirs, mine, id=f"{name}.{member}")


@pytest.mark.parametrize(("theirs", "mine"), list(signatures()))
def test_parameters_are_theirs(theirs, mine):
    def shape(signature):
        return [(p.name, p.kind, p.default) for p in signature.parameters.values()]

    assert shape(mine) == shape(theirs)


def test_the_extension_has_or_refuses_every_name():
    from onnxruntime.capi import onnxruntime_pybind11_state as theirs
    from sardonyx.capi import _pybind_state as ours

    for name in public(dir(theirs)):
        if name in dir(ours) or not (name[0].isupper() or name.startswith("get_")):
            continue
        with pytest.raises((NotImplementedError, ImportError), match=name):
            getattr(ours, name)


def test_the_honoured_keys_are_those_that_the_library_reads():
    """A key that the sources learn to read must not be warned of any longer. (Some of "ep. ..." are for providers from
    libraries alone.)"""
    source = pathlib.Path(__file__).resolve().parents[2] / "src"
    of_runs = "gpu_graph_id|disable_synchronize_execution_providers"
    keys = re.compile(r'"((?:session|sardonyx|optimization|memory|ep)\.[a-z_.]+|' + of_runs + ')"')
    table = source / "runtime/config_keys.cpp"
    fates = dict(re.findall(r'^    \{"([a-z0-9_.]+)", (k[A-Z][a-z]+), "(?!for providers)', table.read_text(), re.M))
    read = set()
    for path in source.rglob("*"):
        of_packages = path.parent.name == "package"  # names entries that a package's variants may not have
        if path.suffix in (".cpp", ".h") and not path.stem.endswith("_test") and path != table and not of_packages:
            read |= set(keys.findall(path.read_text()))
    read.add("sardonyx.strict_providers")  # by the Python package
    read.remove("session.dynamic_block_base")  # checked; what it asks for is so anyway
    read.remove("optimization.minimal_build_optimizations")  # likewise
    read.remove("session.disable_prepacking")  # for kernels of plug-ins; the CPU's pack anyway
    assert read and read == {key for key, fate in fates.items() if fate == "kRead"}


def test_a_wrong_attribute_is_no_option():
    for options in (sardonyx.SessionOptions(), sardonyx.RunOptions()):
        with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
            options.nonsense = 1
