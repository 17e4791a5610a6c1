"""Cases with EPContext models; test_contexts.py runs each in a process of its own, in Sardonyx and in ONNX Runtime.

usage: python context_cases.py CASE LIBRARY [FOLDER]
"""
import os
import pathlib
import sys
import tempfile

import numpy as np
import onnx
from plugin_cases import (
    LIBRARY,
    NAME,
    OF_SARDONYX,
    WANTED,
    X,
    check,
    check_all_returned,
    devices,
    model,
    operators,
    ort,
)

FOLDER = pathlib.Path(tempfile.mkdtemp())


def session(source, entries=None, options=None, kind="host"):
    settings = ort.SessionOptions()
    settings.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    for key, value in (entries or {}).items():
        settings.add_session_config_entry(key, value)
    settings.add_provider_for_devices([devices()[kind]], options or {})
    return ort.InferenceSession(source, sess_options=settings, enable_fallback=0)


def write(name, entries=None, options=None, source=None, kind="host"):
    """Makes a session that writes the model `name`, checks it, and returns the model."""
    path = FOLDER / name
    made = session(source or model(), {"ep.context_enable": "1", "ep.context_file_path": str(path), **(entries or {})},
                   options, kind)
    check(made)
    return onnx.load(path, load_external_data=False) if path.exists() else None


def attributes(node):
    return {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}


def refused(action, text):
    try:
        action()
    except Exception as error:  # noqa: BLE001  (either runtime's)
        assert text in str(error), error
    else:
        raise SystemExit(f"expected an error: {text}")


def case_embedded():
    for drop in ("0", "1"):
        name = f"embedded{drop}.onnx"
        written = write(name, {"ep.context_embed_mode": "1"}, {"drop_constants": drop, "compatibility": "version 1"})
        first, tanh, second = written.graph.node
        assert (first.op_type, first.domain) == (second.op_type, second.domain) == ("EPContext", "com.microsoft")
        assert list(first.input) == (["x"] if drop == "1" else ["x", "w"]) and list(first.output) == ["c"]
        assert tanh.op_type == "Tanh" and list(second.input) == ["d"] and list(second.output) == ["y"]
        assert attributes(first)["source"] == NAME.encode() and attributes(first)["embed_mode"] == 1
        assert attributes(first)["ep_cache_context"].startswith(b"SdxTestContext")
        assert [weight.name for weight in written.graph.initializer] == ([] if drop == "1" else ["w"])
        opsets = {opset.domain: opset.version for opset in written.opset_import}
        assert opsets[""] == 17 and opsets["com.microsoft"] == 1, opsets
        assert {p.key: p.value for p in written.metadata_props} == {"ep_compatibility_info." + NAME: "version 1"}
        assert sorted(file.name for file in FOLDER.iterdir() if drop in file.name) == [name]
        made = session(str(FOLDER / name))
        check(made)
        check(made, X[:1], WANTED[:1])
        assert operators(made) == ["EPContext", "EPContext"], operators(made)
        check(session((FOLDER / name).read_bytes()))  # all that it needs is in it


def case_beside():
    written = write("beside.onnx", {"ep.context_node_name_prefix": "mine_", "ep.context_embed_mode": "0"})
    files = [attributes(node)["ep_cache_context"].decode() for node in written.graph.node if node.domain]
    assert len(set(files)) == 2 and all(file.startswith("mine_") for file in files), files
    assert all((FOLDER / file).exists() for file in files), files
    check(session(str(FOLDER / "beside.onnx")))
    (FOLDER / files[0]).unlink()
    refused(lambda: session(str(FOLDER / "beside.onnx")), "there is no file " + files[0])


def case_two_models():
    """Two models in one folder keep their data apart."""
    other = model(text="""<ir_version: 8, opset_import: ["" : OPSET]>
    g (float[N, 4] x) => (float[N, 4] y) { a = Relu (x)  y = Add (a, x) }""")
    (FOLDER / "first.onnx").write_bytes(model())
    (FOLDER / "second.onnx").write_bytes(other)
    for name in ("first", "second"):
        session(str(FOLDER / f"{name}.onnx"), {"ep.context_enable": "1",
                                               "ep.context_file_path": str(FOLDER / f"{name}_done.onnx")})
    check(session(str(FOLDER / "first_done.onnx")))
    check(session(str(FOLDER / "second_done.onnx")), X, np.maximum(X, 0) + X)


def case_places():
    path = FOLDER / "source.onnx"
    path.write_bytes(model())
    check(session(str(path), {"ep.context_enable": "1", "ep.context_embed_mode": "1"}))
    assert (FOLDER / "source_ctx.onnx").exists()
    check(session(str(FOLDER / "source_ctx.onnx")))
    refused(lambda: session(str(path), {"ep.context_enable": "1"}), "exists already")
    refused(lambda: session(model(), {"ep.context_enable": "1"}), "Both ep_context_path and model_path are empty")
    refused(lambda: session(str(path), {"ep.context_enable": "1", "ep.context_file_path": str(FOLDER) + "/"}),
            "folder")
    written = write("weights.onnx", {"ep.context_model_external_initializers_file_name": "weights.bin",
                                     "ep.context_embed_mode": "1"})
    (weight,) = written.graph.initializer
    assert {entry.key: entry.value for entry in weight.external_data}["location"] == "weights.bin"
    check(session(str(FOLDER / "weights.onnx")))
    for entries in ({"ep.context_enable": "0"}, {"ep.context_enable": "yes"}):
        assert write("off.onnx", entries) is None


def case_entries():
    """What the provider alone reads reaches it."""
    for key in ("ep.share_ep_contexts", "ep.stop_share_ep_contexts", "ep.context_source_model_path",
                "ep.enable_weightless_ep_context_nodes", "ep.context_node_name_prefix"):
        check(session(model(), {key: "1"}, {"expects": key + "=1"}))
        refused(lambda key=key: session(model(), {key: "0"}, {"expects": key + "=1"}), f"expected {key}=1, found '0'")


def case_suboptimal():
    write("old.onnx", {"ep.context_embed_mode": "1"}, {"compatibility": "version 0"})
    check(session(str(FOLDER / "old.onnx")))
    if OF_SARDONYX:  # ONNX Runtime's package does not ask its providers; its C interface does (compile_contexts.cpp)
        refused(lambda: session(str(FOLDER / "old.onnx"), {"session.fail_on_suboptimal_compiled_model": "1"}),
                "suboptimal")


def case_weightless():
    """A provider that cannot leave weights out is refused where that is asked for."""
    entries = {"ep.enable_weightless": "1", "ep.context_embed_mode": "1"}
    refused(lambda: write("none.onnx", entries, {"weightless": "none"}), "eightless")
    assert write("all.onnx", entries, {"weightless": "all"}) is not None


def case_nothing_compiled():
    # What nobody compiles makes no such model: not where the provider takes nothing, nor where it has kernels.
    assert write("none.onnx", options={"operators": "none"}) is None
    assert write("kernels.onnx", source=model(opset=12), kind="kernels") is None
    written = write("some.onnx", {"ep.context_embed_mode": "1"}, {"operators": "Neg"})
    assert [node.op_type for node in written.graph.node] == ["Mul", "Add", "Relu", "Tanh", "Add", "EPContext"]
    check(session(str(FOLDER / "some.onnx")))


def case_without_the_provider():
    write("alone.onnx", {"ep.context_embed_mode": "1"})
    refused(lambda: ort.InferenceSession(str(FOLDER / "alone.onnx")), "EPContext")
    refused(lambda: session(str(FOLDER / "alone.onnx"), options={"contexts": "0"}), "EPContext")
    refused(lambda: session(str(FOLDER / "alone.onnx"), options={"contexts": "0"}), NAME)


def case_again():
    write("once.onnx", {"ep.context_embed_mode": "1"})
    once = str(FOLDER / "once.onnx")
    written = write("twice.onnx", {"ep.context_embed_mode": "1"}, source=once)
    assert [node.op_type for node in written.graph.node] == ["EPContext", "Tanh", "EPContext"]
    check(session(str(FOLDER / "twice.onnx")))


def case_no_compiling():
    write("compiled.onnx", {"ep.context_embed_mode": "1"})
    check(session(str(FOLDER / "compiled.onnx"), {"session.disable_model_compile": "1"}))
    refused(lambda: session(model(), {"session.disable_model_compile": "1"}), NAME)


def case_functions():
    """The data go through functions of the program, which get objects that end with their call."""
    stored, kept = {}, []

    def store(name, data):
        whole = data.read()
        parts = b"".join(data.read(at, min(3, data.size - at)) for at in range(0, data.size, 3))
        assert parts == whole and len(whole) == data.size and data.read(data.size) == b""
        for range_ in ((data.size + 1,), (0, data.size + 1)):
            expect_error(lambda range_=range_: data.read(*range_))
        stored[name] = whole
        kept.append(data)

    settings = ort.SessionOptions()
    settings.add_provider_for_devices([devices()["host"]], {})
    compiler = ort.ModelCompiler(settings, model(), embed_compiled_data_into_model=False)
    compiler.set_ep_context_data_write_func(store)
    (FOLDER / "there").mkdir()
    compiler.compile_to_file(str(FOLDER / "there/functions.onnx"))
    assert len(stored) == 2 and all(stored.values()), stored
    assert [file.name for file in (FOLDER / "there").iterdir()] == ["functions.onnx"]

    def give(name, buffer):
        data = stored[name]
        assert (buffer.is_allocated, buffer.size, buffer.max_size) == (False, 0, 1000)
        for early in (lambda: buffer.write(b""), lambda: buffer.allocate(1001)):
            expect_error(early)
        buffer.allocate(len(data))
        assert buffer.is_allocated and buffer.size == len(data)
        for late in (lambda: buffer.allocate(1), lambda: buffer.write(data, 1)):
            expect_error(late)
        buffer.write(data[:5])
        buffer.write(memoryview(data)[5:], offset=5)
        kept.append(buffer)

    def load(function):
        settings = ort.SessionOptions()
        settings.add_provider_for_devices([devices()["host"]], {})
        settings.set_ep_context_data_read_func(function, 1000)
        return ort.InferenceSession(str(FOLDER / "there/functions.onnx"), sess_options=settings, enable_fallback=0)

    check(load(give))
    assert len(kept) == 4
    assert sorted(thing.size for thing in kept) == sorted(2 * [len(data) for data in stored.values()])
    for late in (kept[0].read, lambda: kept[2].write(b""), lambda: kept[2].allocate(1)):
        expect_error(late)
    assert kept[2].is_allocated and kept[2].max_size == 1000
    refused(lambda: load(lambda name, buffer: 1 / 0), "ZeroDivisionError: division by zero")
    refused(lambda: load(lambda name, buffer: None), "allocate")
    compiler.set_ep_context_data_write_func(lambda name, data: {}[name])
    refused(compiler.compile_to_bytes, "KeyError: ")
    compiler.clear_ep_context_data_write_func()


def expect_error(action):
    try:
        action()
    except (RuntimeError, ValueError):
        return
    raise AssertionError("expected an error")


def case_faults():
    os.environ["SDX_PLUGIN_FAULT"] = "MakeContextNode"
    refused(lambda: write("fault.onnx"), "planted fault in MakeContextNode")
    os.environ["SDX_PLUGIN_FAULT"] = "NoContextNode"
    refused(lambda: write("fault.onnx"), "NULL")
    del os.environ["SDX_PLUGIN_FAULT"]
    assert not (FOLDER / "fault.onnx").exists()
    check_all_returned()


def case_load():
    """What the other runtime has compiled."""
    folder = pathlib.Path(sys.argv[3])
    for name in ("embedded", "again", "some", "none"):
        check(session(str(folder / f"{name}.onnx")))


def main():
    ort.register_execution_provider_library("test", LIBRARY)
    globals()["case_" + sys.argv[1]]()
    check_all_returned()
    ort.unregister_execution_provider_library("test")
    print("passed")


if __name__ == "__main__":
    main()
