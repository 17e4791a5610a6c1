"""ModelCompiler and what is known of compiled models' compatibility, in ONNX Runtime and under its name in Sardonyx."""
import json
import os
import pathlib
import subprocess
import sys

import onnx
import onnx.parser
import pytest

BUILD = pathlib.Path(os.environ.get("SDX_BUILD", pathlib.Path(__file__).resolve().parents[2] / "build/release"))
RUNTIMES = {"ours": str(BUILD / "as_onnxruntime"), "peer": ""}
MODEL = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[N, 3] x) => (float[N, 3] y) <float[3] w = {1, 2, 3}, float[3, 3] m = {1, 2, 3, 4, 5, 6, 7, 8, 9}> {
  a = Add (x, w)
  y = MatMul (a, m)
}""")
START = """
import json, os, sys
import numpy as np
import onnxruntime as ort
from onnxruntime.capi import _pybind_state as C
options, X = ort.SessionOptions(), np.arange(6, dtype=np.float32).reshape(2, 3)
def results(model):
    return ort.InferenceSession(model).run(None, {"x": X})[0].tolist()
def kind_of(action, *arguments):
    try:
        action(*arguments)
    except Exception as error:
        return type(error).__name__
def show(**values):
    print(json.dumps(values))
"""
WANTED = [[48.0, 57.0, 66.0], [84.0, 102.0, 120.0]]


@pytest.fixture(params=list(RUNTIMES))
def run(request, tmp_path):
    """Runs a program in a folder that has model.onnx, and gives what it showed."""
    onnx.save(MODEL, tmp_path / "model.onnx")
    tagged = onnx.ModelProto.FromString(MODEL.SerializeToString())
    onnx.helper.set_model_props(tagged, {"ep_compatibility_info.SomeProvider": "version 1"})
    onnx.save(tagged, tmp_path / "tagged.onnx")

    def run_program(text):
        variables = {**os.environ, "PYTHONPATH": RUNTIMES[request.param]}
        done = subprocess.run([sys.executable, "-c", START + text], env=variables, cwd=tmp_path, text=True,
                              capture_output=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run_program


def test_a_model_goes_to_a_file_to_bytes_or_to_a_function(run, tmp_path):
    shown = run("""
compiler, parts = ort.ModelCompiler(options, "model.onnx"), []
compiler.compile_to_file("out.onnx")
compiler.compile_to_stream(parts.append)
whole = compiler.compile_to_bytes()
of_bytes = ort.ModelCompiler(options, open("model.onnx", "rb").read()).compile_to_bytes()
show(results=[results(model) for model in ("out.onnx", b"".join(parts), whole, of_bytes)],
     kinds=[type(value).__name__ for value in (parts[0], whole)])
""")
    assert shown == {"results": [WANTED] * 4, "kinds": ["bytes", "bytes"]}
    assert len(onnx.load(tmp_path / "out.onnx").graph.node) == 2


def test_weights_go_to_a_file_or_where_a_function_says(run, tmp_path):
    shown = run("""
ort.ModelCompiler(options, "model.onnx", external_initializers_file_path="w.bin",
                  external_initializers_size_threshold=20).compile_to_file("beside.onnx")
seen = {}
with open("mine.bin", "wb") as file:
    file.write(b"1234")
    def locate(name, value, info):
        size = value.tensor_size_in_bytes()
        seen[name] = (value.numpy().tolist(), info and [info.filepath, info.file_offset, info.byte_size])
        if size < 20:
            return None
        file.write(value.numpy().tobytes())
        return ort.OrtExternalInitializerInfo("mine.bin", 4, size)
    ort.ModelCompiler(options, "beside.onnx", get_initializer_location_func=locate).compile_to_file("function.onnx")
show(seen=seen, results=[results(model) for model in ("beside.onnx", "function.onnx")])
""")
    assert shown == {"results": [WANTED] * 2, "seen": {
        "m": [[[1, 2, 3], [4, 5, 6], [7, 8, 9]], ["w.bin", 0, 36]], "w": [[1, 2, 3], None]}}
    stored = onnx.load(tmp_path / "function.onnx", load_external_data=False).graph.initializer
    places = {weight.name: {entry.key: entry.value for entry in weight.external_data} for weight in stored}
    assert places["w"] == {} and places["m"]["location"] == "mine.bin" and places["m"]["offset"] == "4", places


def test_errors_are_of_the_same_kind(run):
    shown = run("""
def compiler(*arguments, **keywords):
    return ort.ModelCompiler(options, *arguments, **keywords)
def fail(*arguments):
    raise ValueError("nope")
try:
    compiler("model.onnx").compile_to_stream(fail)
except ort.capi.onnxruntime_pybind11_state.Fail as error:
    text = str(error)
flags = ort.OrtCompileApiFlags
show(text="ValueError: nope" in text, kinds=[
    kind_of(compiler, ""), kind_of(compiler, b""), kind_of(compiler, 5), kind_of(compiler, bytearray(b"a")),
    kind_of(ort.ModelCompiler, None, "model.onnx"), kind_of(compiler("none.onnx").compile_to_bytes),
    kind_of(compiler(b"abc").compile_to_bytes), kind_of(compiler("model.onnx").compile_to_file, "none/a.onnx"),
    kind_of(compiler("model.onnx").compile_to_file, 5), kind_of(compiler("model.onnx").compile_to_stream, 5),
    kind_of(compiler("model.onnx", flags=flags.ERROR_IF_NO_NODES_COMPILED).compile_to_bytes),
    kind_of(compiler("model.onnx", flags=flags.ERROR_IF_OUTPUT_FILE_EXISTS).compile_to_file, "model.onnx"),
    kind_of(lambda: compiler("model.onnx", external_initializers_file_path=5)),
    kind_of(lambda: compiler("model.onnx", external_initializers_file_path="a", get_initializer_location_func=fail)),
    kind_of(compiler("model.onnx", get_initializer_location_func=fail).compile_to_bytes),
    kind_of(compiler("model.onnx", get_initializer_location_func=lambda *a: 5).compile_to_bytes),
    kind_of(compiler("model.onnx").set_ep_context_data_write_func, 5),
    kind_of(options.set_ep_context_data_read_func, print, 0), kind_of(ort.OrtEpContextData),
    kind_of(ort.OrtEpContextDataBuffer), kind_of(ort.OrtExternalInitializerInfo, "a", 1, -1)])
""")
    assert shown == {"text": True, "kinds": [
        "ValueError", "ValueError", "TypeError", "TypeError", "TypeError", "InvalidArgument", "InvalidProtobuf",
        "InvalidArgument", "TypeError", "TypeError", "Fail", "Fail", "TypeError", "ValueError", "Fail", "Fail",
        "TypeError", "RuntimeError", "TypeError", "TypeError", "TypeError"]}


def test_compatibility_of_models_and_devices(run):
    shown = run("""
data = open("tagged.onnx", "rb").read()
of_file, of_bytes = C.get_compatibility_info_from_model, C.get_compatibility_info_from_model_bytes
details, devices = C.get_hardware_device_ep_incompatibility_details, ort.get_ep_devices()
answer = C.get_model_compatibility_for_ep_devices(devices[:1], "version 1")
show(infos=[of_file("tagged.onnx", "SomeProvider"), of_file("model.onnx", "SomeProvider"),
            *(of_bytes(kind(data), "SomeProvider") for kind in (bytes, bytearray, memoryview)),
            of_bytes(data, "Other")],
     answer=[type(answer).__name__, answer.name],
     details=[details("CPUExecutionProvider", device) for device in (C.get_hardware_devices()[0], devices[0].device)],
     kinds=[kind_of(of_file, "none.onnx", "A"), kind_of(of_file, "model.onnx", ""), kind_of(of_bytes, b"", "A"),
            kind_of(of_bytes, b"abc", "A"), kind_of(of_bytes, 5, "A"), kind_of(details, "Nobody", devices[0].device),
            kind_of(C.get_model_compatibility_for_ep_devices, [], "a"), kind_of(details, "A", 5),
            kind_of(devices[0].create_sync_stream), kind_of(ort.OrtSyncStream),
            kind_of(ort.InferenceSession("model.onnx").release_captured_graph)])
""")
    assert shown == {
        "infos": ["version 1", None, "version 1", "version 1", "version 1", None],
        "answer": ["OrtCompiledModelCompatibility", "EP_NOT_APPLICABLE"],
        "details": [{"reasons_bitmask": 0, "notes": None, "error_code": 0}] * 2,
        "kinds": ["RuntimeError"] * 4 + ["TypeError", "InvalidArgument", "RuntimeError", "TypeError", "RuntimeError",
                                         "TypeError", None]}
