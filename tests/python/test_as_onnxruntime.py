"""The package `onnxruntime`: programs that import it run on Sardonyx, each test in a process of its own."""
import importlib.util
import os
import pathlib
import subprocess
import sys
import textwrap

import onnx
import onnx.parser
import pytest
from example_models import EXAMPLES

BUILD = pathlib.Path(os.environ.get("SDX_BUILD", pathlib.Path(__file__).resolve().parents[2] / "build/release"))
PACKAGE = BUILD / "as_onnxruntime"
MODEL = """
import numpy as np, onnx.parser
model = onnx.parser.parse_model('''<ir_version: 8, opset_import: ["" : 17]>
    g (float[N, 3] x) => (float[N, 3] y) { y = Neg (x) }''').SerializeToString()
feed = {"x": np.arange(6, dtype=np.float32).reshape(2, 3)}
"""


def run(text, *arguments, path=PACKAGE, cwd=None):
    """What the program `text` prints, with only `path` on PYTHONPATH."""
    variables = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "SDX_BUILD")}
    program = [*arguments, "-c", textwrap.dedent(text)] if text is not None else arguments
    done = subprocess.run([sys.executable, *program], env=variables | {"PYTHONPATH": str(path)}, cwd=cwd, text=True,
                          capture_output=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_its_folder_alone_runs_a_model_with_our_library():
    output = run(MODEL + """
import onnxruntime
print(onnxruntime.InferenceSession(model).run(None, feed)[0].tolist())
print({line.split()[-1].rpartition("/")[2] for line in open("/proc/self/maps") if "onnxruntime" in line.split()[-1]})
print(any("libsardonyx.so" in line for line in open("/proc/self/maps")))
""")
    values, theirs, ours = output.splitlines()
    assert eval(values) == [[0, -1, -2], [-3, -4, -5]] and ours == "True"
    assert theirs == "set()"  # no library of ONNX Runtime is in the process


def test_versions_and_metadata_satisfy_what_others_require():
    output = run("""
        import importlib.metadata, onnxruntime
        from packaging.requirements import Requirement
        version = importlib.metadata.version("onnxruntime")
        print(onnxruntime.__version__, onnxruntime.get_version_string(), onnxruntime.version, version)
        wanted = [Requirement(f"onnxruntime{text}").specifier for text in (">=1.17", "==1.31.1", "<2")]
        print(all(specifier.contains(version) for specifier in wanted))
        """)
    assert output == "1.31.1 1.31.1 1.31.1 1.31.1+sardonyx\nTrue\n"


def test_the_library_of_the_package_is_the_one_that_the_module_uses():
    output = run("""
        import ctypes, pathlib, onnxruntime
        library = ctypes.CDLL(pathlib.Path(onnxruntime.__file__).parent / "capi/libonnxruntime.so.1.31.1")
        library.OrtGetApiBase.restype = ctypes.c_void_p
        print(bool(library.OrtGetApiBase()))
        print(len({line.split()[-1] for line in open("/proc/self/maps") if "libsardonyx" in line}))
        """)
    assert output == "True\n1\n"


@pytest.mark.parametrize("providers", [
    ["CUDAExecutionProvider"], ["CUDAExecutionProvider", "CPUExecutionProvider"], [("NoSuchProvider", {"a": 1})],
])
def test_a_missing_provider_is_a_warning_that_says_what_runs_instead(providers):
    output = run(MODEL + f"""
import onnxruntime, warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    session = onnxruntime.InferenceSession(model, providers={providers!r})
print(len(caught), caught[0].category.__name__, caught[0].filename)
print(caught[0].message)
print(session.get_providers(), session.run(None, feed)[0].shape)
session.set_providers({providers!r})
""")
    first, message, last = output.splitlines()
    name = providers[0] if isinstance(providers[0], str) else providers[0][0]
    assert first == "1 UserWarning <string>" and last == "['CPUExecutionProvider'] (2, 3)"
    assert f"found '{name}'" in message and "run on CPUExecutionProvider instead" in message


@pytest.mark.parametrize(("module", "strict", "fails"), [
    ("onnxruntime", None, False), ("onnxruntime", "1", True), ("onnxruntime", "0", False),
    ("sardonyx", None, True), ("sardonyx", "1", True), ("sardonyx", "0", False),
])
def test_an_entry_decides_whether_a_missing_provider_is_an_error(module, strict, fails):
    output = run(MODEL + f"""
import {module} as runtime
options = runtime.SessionOptions()
if {strict!r} is not None:
    options.add_session_config_entry("sardonyx.strict_providers", {strict!r})
try:
    print(runtime.InferenceSession(model, options, ["CUDAExecutionProvider"]).get_providers())
except Exception as failure:
    print(type(failure).__name__, failure)
""", "-W", "ignore")
    if fails:
        assert output.startswith("InvalidArgument expected providers among ['CPUExecutionProvider'], found 'CUDA")
    else:
        assert output == "['CPUExecutionProvider']\n"


def test_a_forbidden_fallback_stays_an_error():
    output = run(MODEL + """
import onnxruntime
options = onnxruntime.SessionOptions()
options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
try:
    onnxruntime.InferenceSession(model, options, ["CUDAExecutionProvider"])
except onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument as failure:
    print(failure)
""")
    assert "session.disable_cpu_ep_fallback is set" in output


def test_a_wrong_value_of_strict_providers_is_an_error():
    assert run("""
        import onnxruntime
        try:
            onnxruntime.SessionOptions().add_session_config_entry("sardonyx.strict_providers", "yes")
        except onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument as failure:
            print(failure)
        """) == "session configuration 'sardonyx.strict_providers': expected 0 or 1, found 'yes'\n"


def test_a_single_provider_is_taken_for_a_list_with_a_warning():
    output = run(MODEL + """
import onnxruntime, warnings
with warnings.catch_warnings(record=True) as caught:
    session = onnxruntime.InferenceSession(model, providers="CPUExecutionProvider")
print(session.get_providers(), caught[0].message)
""")
    assert output.startswith("['CPUExecutionProvider'] expected a list of providers, found 'CPUExecutionProvider'")


def test_a_run_can_be_awaited():
    output = run(MODEL + """
import asyncio, onnxruntime
session = onnxruntime.InferenceSession(model)
async def main():
    results = await asyncio.gather(*(session.run_async(None, {"x": feed["x"] * i}) for i in range(4)))
    print([result[0][1, 2] for result in results] == [-5.0 * i for i in range(4)])
    try:
        await session.run_async(["nonsense"], feed)
    except onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument as failure:
        print("nonsense" in str(failure))
asyncio.run(main())
""")
    assert output == "True\nTrue\n"


def test_a_cancelled_task_ends_its_run():
    output = run("""
import asyncio, numpy as np, onnx.parser, onnxruntime, threading, time
model = onnx.parser.parse_model('''<ir_version: 8, opset_import: ["" : 17]>
    g (float[3] x, int64 n, bool c) => (float[3] y) {
      y = Loop (n, c, x) <body = b (int64 i, bool c_in, float[3] s) => (bool c_out, float[3] t) {
            c_out = Identity (c_in)  t = Neg (s) }> }''').SerializeToString()
session = onnxruntime.InferenceSession(model)
feed = {"x": np.zeros(3, np.float32), "n": np.array(2**60), "c": np.array(True)}
async def main():
    task = asyncio.create_task(session.run_async(None, feed))
    await asyncio.sleep(0.2)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        print("cancelled")
asyncio.run(main())
for thread in threading.enumerate():
    if thread.name == "sardonyx run_async":
        thread.join(30)
        print(thread.is_alive())
""")
    assert output in ("cancelled\nFalse\n", "cancelled\n")


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_are_what_their_text_says(name):
    path = run(f"import onnxruntime.datasets as d; print(d.get_example({name!r}))").strip()
    assert onnx.load(path) == onnx.parser.parse_model(EXAMPLES[name])


def test_the_examples_run_and_others_are_an_error():
    output = run("""
        import numpy as np, onnxruntime
        from onnxruntime.datasets import get_example
        run = lambda name, x: onnxruntime.InferenceSession(get_example(name)).run(None, x)
        print(run("mul_1.onnx", {"X": np.ones((3, 2), np.float32)})[0].tolist())
        print(run("sigmoid.onnx", {"x": np.zeros((3, 4, 5), np.float32)})[0].max())
        label, probabilities = run("logreg_iris.onnx", {"float_input": np.ones((3, 2), np.float32)})
        print(label.tolist(), sorted(probabilities[0]))
        try:
            get_example("nonsense.onnx")
        except FileNotFoundError as failure:
            print(failure)
        """)
    assert output.splitlines() == [
        "[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]", "0.5", "[0, 0, 0] [0, 1, 2]",
        "expected an example among ['logreg_iris.onnx', 'mul_1.onnx', 'sigmoid.onnx'], found 'nonsense.onnx'"]


def test_the_backend_of_onnx_runs_models():
    output = run(MODEL + """
import onnx, onnxruntime, onnxruntime.backend as backend, unittest
from onnxruntime.backend.backend import OnnxRuntimeBackend
proto = onnx.ModelProto.FromString(model)
rep = backend.prepare(proto, "CPU", intra_op_num_threads=1, nonsense=2)
print(rep.run(feed["x"])[0].sum(), rep.run([feed["x"]], logid="a")[0].sum(), backend.run(model, feed["x"])[0].sum())
print(backend.prepare(rep) is rep, backend.prepare(onnxruntime.InferenceSession(model)).run([feed["x"]])[0].sum())
print(backend.supports_device("CPU"), backend.supports_device("CUDA"), backend.is_compatible(proto, "GPU"))
proto.opset_import[0].version = 1000
print(OnnxRuntimeBackend.is_opset_supported(proto)[0], backend.is_compatible(proto))
for broken in (lambda: backend.prepare(model, optimized_model_filepath="x"), lambda: rep.run(feed["x"], terminate=True),
               lambda: backend.prepare(model, "CUDA"), lambda: OnnxRuntimeBackend.run_node(None, [])):
    try:
        broken()
    except (RuntimeError, NotImplementedError) as failure:
        print(type(failure).__name__, str(failure)[:30])
""")
    assert output.splitlines() == [
        "-15.0 -15.0 -15.0", "True -15.0", "True False False", "False False",
        "RuntimeError expected SessionOptions among ", "RuntimeError expected RunOptions among log_",
        "RuntimeError expected the device 'CPU', fou",
        "NotImplementedError the backend runs models; a nod"]


def test_modules_are_found_where_onnx_runtime_has_them():
    """Programs ask for optional modules before they use them; what is lacking says so when it is imported."""
    theirs = pathlib.Path(importlib.util.find_spec("onnxruntime").origin).parent
    packages = ("quantization", "tools", "transformers")
    modules = [f"{package}.{path.stem}" for package in packages for path in sorted((theirs / package).glob("*.py"))
               if path.stem != "__init__"]
    assert len(modules) > 100
    output = run(f"""
        import importlib.util
        print([name for name in {modules!r} if importlib.util.find_spec(f"onnxruntime.{{name}}") is None])
        for package in {packages!r}:
            name = f"onnxruntime.{{package}}.some_module"
            print(importlib.util.find_spec(name), hasattr(importlib.import_module(f"onnxruntime.{{package}}"), "some"))
            try:
                importlib.import_module(name)
            except ModuleNotFoundError as failure:
                print(failure.name == name)
        from onnxruntime.transformers import io_binding_helper
        print(hasattr(io_binding_helper, "some"))
        for name in ("benchmark", "fusion_base", "models"):
            try:
                importlib.import_module(f"onnxruntime.transformers.{{name}}")
            except NotImplementedError as failure:
                print(isinstance(failure, ImportError), failure)
        """)
    named = "True onnxruntime.transformers.{} is not implemented in Sardonyx{}"
    assert output.splitlines() == [
        "[]", *["None False", "True"] * 3, "False", named.format("benchmark", ", as it exports models with torch"),
        named.format("fusion_base", ": passes of the optimizer make its nodes"),
        named.format("models", ", as it exports models with torch")]


def test_the_helper_of_types_that_optimum_asks_for():
    """Where torch is, its types too: it is not here, so that something else stands for it."""
    output = run("""
        import sys, types
        sys.modules["torch"] = torch = types.SimpleNamespace(float32="f", float64="d", bool="b", bfloat16="bf")
        import numpy as np, onnx, onnxruntime, onnxruntime.datasets
        from onnxruntime.transformers import io_binding_helper
        from onnxruntime.transformers.io_binding_helper import TypeHelper as helper
        session = onnxruntime.InferenceSession(onnxruntime.datasets.get_example("mul_1.onnx"))
        names = [value.name for value in (*session.get_inputs(), *session.get_outputs())]
        print(helper.get_input_type(session, names[0]), helper.get_output_type(session, names[1]))
        print(helper.get_io_numpy_type_map(session) == dict.fromkeys(names, np.float32),
              helper.get_io_torch_type_map(session) == dict.fromkeys(names, "f"),
              helper.get_io_onnx_type_map(session) == dict.fromkeys(names, onnx.TensorProto.FLOAT))
        print(helper.ort_type_to_numpy_type("tensor(bool)") is bool, helper.ort_type_to_torch_type("tensor(bfloat16)"),
              helper.numpy_type_to_torch_type(np.float64), helper.numpy_type_to_torch_type(np.dtype("float64")),
              helper.torch_type_to_numpy_type("b") is bool)
        for action in (lambda: helper.get_input_type(session, "nobody"),
                       lambda: helper.ort_type_to_numpy_type("tensor(string)"),
                       lambda: helper.ort_type_to_torch_type("float"),
                       lambda: helper.torch_type_to_numpy_type("bf"), lambda: io_binding_helper.CudaSession):
            try:
                action()
            except (ValueError, NotImplementedError) as failure:
                print(type(failure).__name__, failure)
        """)
    assert output.splitlines() == [
        "tensor(float) tensor(float)", "True True True", "True bf d d True",
        "ValueError expected an input of the session, found 'nobody'",
        "ValueError expected a type of ONNX Runtime that numpy has, found 'tensor(string)'",
        "ValueError expected a type of ONNX Runtime that torch has, found 'float'",
        "ValueError expected a type of torch that numpy has, found 'bf'",
        "MissingModule onnxruntime.transformers.io_binding_helper.CudaSession is not implemented in Sardonyx"]


def test_what_is_refused_exists_and_names_itself():
    output = run("""
        from onnxruntime.capi import _pybind_state as C
        for action in (
                lambda: C.pack_fp4_weights_for_cuda_moe_gemm(0, 0, 0), lambda: C.get_all_operator_schema()[0].doc):
            try:
                action()
            except RuntimeError as refusal:
                print(refusal)
        """)
    assert output.splitlines() == [f"{name} is not implemented in Sardonyx" for name in (
        "pack_fp4_weights_for_cuda_moe_gemm", "OpSchema.doc")]


def test_the_classes_of_the_extension_module_work():
    """What packages reach for below the public classes: values, devices, vectors, bindings, sessions in two steps."""
    output = run(MODEL + """
import onnxruntime as ort
from onnxruntime.capi import _pybind_state as C
cpu = C.OrtDevice(C.OrtDevice.cpu(), C.OrtDevice.default_memory(), 0)
value = C.OrtValue.ortvalue_from_numpy(feed["x"], cpu)
high = ort.OrtValue(value)
print(value.shape(), high.numpy().sum(), high._ortvalue.data_ptr() == value.data_ptr(),
      high._get_c_value().data_type())
print(C.OrtValue.from_dlpack(high._ortvalue.to_dlpack()).numpy().sum(), C.is_dlpack_uint8_tensor(value.to_dlpack()))
vector = C.OrtValueVector()
vector.push_back(value)
vector.push_back(np.ones(2, np.uint8).__dlpack__(), True)
vector.push_back_batch([feed["x"]], [feed["x"].ctypes.data], [1], [[3, 2]], [cpu])
print(len(vector), vector.bool_tensor_indices(), vector.element_type_at(0), [v.shape() for v in vector])
print([np.from_dlpack(type("C", (), {"__dlpack__": lambda s, **_: vector.dlpack_at(2),
                                     "__dlpack_device__": lambda s: (1, 0)})()).shape], len(vector.to_dlpacks(None)))
session = C.InferenceSession(C.SessionOptions(), model, False, False)
session.initialize_session([], [], set())
print(session.inputs_meta[0].name, session.outputs_meta[0].shape, session.run(["y"], feed, None)[0].sum())
binding = C.SessionIOBinding(session)
binding.bind_input("x", feed["x"])
binding.bind_output("y", cpu)
session.run_with_iobinding(binding, None)
print(binding.get_outputs()[0].numpy().sum(), binding.copy_outputs_to_cpu()[0].sum())
binding.bind_input("x", cpu, np.float32, [2, 3], feed["x"].ctypes.data)
result = np.zeros((2, 3), np.float32)
binding.bind_output("y", cpu, np.float32, [2, 3], result.ctypes.data)
session.run_with_iobinding(binding, None)
print(result.sum(), session.run_with_ort_values({"x": value}, ["y"], None)[0].numpy().sum())
cuda = ort.OrtDevice.make("cuda", 1)
print(cuda.device_type(), cuda.device_id(), hex(cuda.device_vendor_id()),
      ort.OrtDevice.make("gpu", 0, 5).device_vendor_id())
try:
    C.OrtValue.ortvalue_from_numpy(feed["x"], cuda._get_c_device())
except RuntimeError as refusal:
    print(refusal)
host = ort.OrtDevice.make("cpu", 0)
sparse = ort.SparseTensor.sparse_coo_from_numpy([2, 2], np.ones(2, np.float32), np.array([0, 3]), host)
low = ort.OrtValue.ort_value_from_sparse_tensor(sparse)._ortvalue
print(low.is_sparse_tensor(), C.SparseTensor(sparse).format.name,
      C.SparseTensor(sparse).get_coo_data().indices().tolist())
config = C.OrtArenaCfg({"max_mem": 5})
print(config.max_mem, config.initial_chunk_size_bytes, C.OrtArenaCfg(1, 0, 2, 3).max_dead_bytes_per_chunk)
print(C.OrtExternalInitializerInfo("a", 1, 2).byte_size, int(C.kSameAsRequested), len(C.get_hardware_devices()))
""")
    assert output.splitlines() == [
        "[2, 3] 15.0 True tensor(float)", "15.0 False", "3 [1] 1 [[2, 3], [2], [3, 2]]", "[(3, 2)] 3",
        "x ['N', 3] -15.0", "-15.0 -15.0", "-15.0 -15.0", "1 1 0x10de 5",
        "expected the host or a device of a registered provider library with memory of its own, found GPU 1 of vendor "
        "4318", "True ORT_SPARSE_COO [0, 3]", "5 -1 3", "2 1 1"]


@pytest.mark.parametrize("form", ["file", "module", "code"])
def test_the_module_as_onnxruntime_runs_programs_in_front_of_an_installed_package(form, tmp_path):
    (tmp_path / "other.py").write_text("name = 'beside the program'\n")
    (tmp_path / "program.py").write_text(textwrap.dedent("""
        import other, subprocess, sys, onnxruntime
        child = subprocess.run([sys.executable, "-c", "import onnxruntime; print(onnxruntime.sardonyx_version)"],
                               capture_output=True, text=True)
        print(__name__, other.name, sys.argv[1:], onnxruntime.sardonyx_version == child.stdout.strip())
        """))
    call = {"file": [str(tmp_path / "program.py")], "module": ["-m", "program"], "code": ["-c", "import program"]}[form]
    cwd = None if form == "file" else tmp_path
    output = run(None, "-m", "sardonyx.as_onnxruntime", *call, "a", "-b", path=BUILD / "python", cwd=cwd)
    assert output == f"{'program' if form == 'code' else '__main__'} beside the program ['a', '-b'] True\n"


def test_without_the_package_the_name_leads_to_the_installed_one():
    """The folders of tests and benchmarks do not have it."""
    text = "import onnxruntime; print(hasattr(onnxruntime, 'sardonyx_version'))"
    assert run(text, path=BUILD / "python") == "False\n"


def test_members_of_enumerations_print_as_in_onnx_runtime():
    program = """
        import inspect, onnxruntime
        from onnxruntime.capi import onnxruntime_pybind11_state as state
        for module in (onnxruntime, state):
            for name, kind in inspect.getmembers(module):
                members = list(getattr(kind, "__members__", {}).values()) if inspect.isclass(kind) else []
                for member in members[:1]:
                    print(name, str(member), f"{member}", repr(member), int(member))
        """
    ours, theirs = run(program), run(program, path="")
    assert ours == theirs and "ExecutionMode ExecutionMode.ORT_SEQUENTIAL" in ours


def test_a_star_imports_all_public_names():
    program = """
        from {} import *
        print(*sorted(name for name in globals() if name[0] != "_"))
        """
    for module in ("onnxruntime", "onnxruntime.capi.onnxruntime_pybind11_state", "onnxruntime.capi._pybind_state",
                   "onnxruntime.capi.onnxruntime_inference_collection"):
        ours, theirs = (set(run(program.format(module), path=path).split()) for path in (PACKAGE, ""))
        lacking = {name for name in theirs - ours if name[0].isupper() or name.startswith(("get_", "set_", "create_"))}
        assert len(theirs) > 10 and lacking <= {"Any", "C", "Callable", "IntEnum", "Sequence"}, module
