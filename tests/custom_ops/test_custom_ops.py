"""Libraries of custom operators: one compiled library does the same in ONNX Runtime and in Sardonyx."""
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnx.parser
import pytest
import sardonyx

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", ROOT / "build/release"))
LIBRARY = BUILD / "lib/libcustom_ops.so"
PROGRAM = BUILD / "bin/custom_ops_program"
CASES = pathlib.Path(__file__).with_name("cases.py")

# Cases whose results differ on purpose, or that end ONNX Runtime's process: what Sardonyx does, and why.
OWN = {
    # A tensor of another shape than computed is an error here.
    "calls_with_other_shapes_and_contents": [{"dtype": "object", "shape": [9], "values": [
        "ok 2.000000", "ok 4.000000", "ok 6.000000", "ok 8.000000", "ok 10.000000",
        "error 0.000000", "ok 7.000000", "error 0.000000", "ok 7.000000"]}],
    # ONNX Runtime needs to know the shape before it runs.
    "outputs_that_take_the_place_of_an_input": [
        "of_a_planned_value", "of_a_value_of_another_custom_operator", "beside_another_input", "behind_a_view"],
    "outputs_that_have_a_place_of_their_own": [
        "of_another_shape", "read_again_later", "read_again_by_a_view", "given_twice", "an_input_of_the_model",
        "a_constant", "in_a_sequence"],
    # An alias is a promise that the input's elements are there; ONNX Runtime leaves the others unset.
    "an_output_that_shares_its_bytes": [{"dtype": "float32", "shape": [3], "values": [100.0, 4.0, 9.0]}],
    # ONNX Runtime takes the first of several versions, whatever the model imports.
    "the_newest_version": [[1], [1], [3], [3]],
    # ONNX Runtime's copy refers to the session that is gone: reading it ends the process.
    "an_info_that_outlives_its_session": [1, "kept"],
    # Inputs of any type may be sequences; ONNX Runtime takes tensors alone.
    "a_sequence": [{"dtype": "int64", "shape": [], "values": [3]}],
    # ONNX Runtime wants exactly one input of any type beside an output of any type.
    "a_sequence_as_output": [[{"dtype": "float32", "shape": [2], "values": [1.0, 2.0]}] * 2,
                             {"dtype": "int64", "shape": [], "values": [2]}],
    # ONNX Runtime reads fields that a struct of this version does not have.
    "structs_of_version_1": [{"dtype": "float32", "shape": [1], "values": [5.0]}],
    # ONNX Runtime refuses a domain that is there already.
    "registered_twice": [{"dtype": "float32", "shape": [1], "values": [2.0]}],
    "a_domain_that_is_not_imported": [{"dtype": "int64", "shape": [], "values": [3]}],
}


def found_by(name, cases=(), environment=None):
    done = subprocess.run([sys.executable, CASES, LIBRARY, name, *cases], capture_output=True, text=True, timeout=300,
                          env={**os.environ, **(environment or {})})
    found = {}
    for line in done.stdout.splitlines():
        told = json.loads(line)
        found[told["case"]] = told["found"]
    assert done.returncode == 0, (name, list(found)[-1:], done.stderr[-2000:])
    return found


def names():
    source = CASES.read_text()
    return [source[at:].split("def ", 1)[1].split("(", 1)[0]
            for at in (i for i in range(len(source)) if source.startswith("@case\ndef ", i))]


SHARED = [name for name in names() if name not in OWN]


@pytest.fixture(scope="module")
def stock():
    return found_by("onnxruntime", SHARED, {"CUSTOM_OPS_REPLACE": "1"})


@pytest.fixture(scope="module")
def ours():
    return found_by("sardonyx", [*SHARED, *OWN], {"CUSTOM_OPS_MORE": "1", "CUSTOM_OPS_REPLACE": "1"})


def test_the_peer_is_onnx_runtime():
    code = "import onnxruntime; print(onnxruntime.__file__, 'sardonyx' in dir(onnxruntime))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "site-packages" in done.stdout and "False" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("name", SHARED)
def test_the_library_does_the_same_in_both(stock, ours, name):
    assert json.dumps(ours[name]) == json.dumps(stock[name])


@pytest.mark.parametrize("name", OWN)
def test_what_differs_on_purpose(ours, name):
    assert ours[name] == OWN[name]


# ---- From C

def stock_library():
    code = "import onnxruntime; print(onnxruntime.__file__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    (library,) = (pathlib.Path(done.stdout.strip()).parent / "capi").glob("libonnxruntime.so.*")
    return library


def model_of(text, imports):
    return onnx.parser.parse_model(f"<ir_version: 8, opset_import: [{imports}]> {text}")


def run_program(library, folder, *more):
    text = "g (float[n] x) => (float[n] y) {{ y = {} (x) }}"
    onnx.save(model_of(text.format("test.custom.AddAmount <amount = 2.0>"), '"": 17, "test.custom": 1'),
              folder / "library.onnx")
    onnx.save(model_of(text.format("test.program.AddThree"), '"": 17, "test.program": 1'), folder / "own.onnx")
    done = subprocess.run([PROGRAM, library, LIBRARY, folder / "library.onnx", folder / "own.onnx", *more],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stdout.endswith("end\n"), (done.returncode, done.stdout[-500:], done.stderr)
    return done


def test_a_c_program_does_the_same_in_both(tmp_path):
    ours = run_program(BUILD / "lib/libonnxruntime.so.1", tmp_path)
    stock = run_program(stock_library(), tmp_path)
    # Of an operator that nobody has, ONNX Runtime says FAIL, and Sardonyx INVALID_GRAPH, as for all models in error.
    renamed = ours.stdout.replace("options without the library: 10", "options without the library: 1")
    assert renamed.replace("an empty domain: 10", "an empty domain: 1") == stock.stdout
    assert "register that library" in ours.stderr and "onnxruntime-extensions" in ours.stderr


def test_mistakes_are_errors(tmp_path):
    lines = run_program(BUILD / "lib/libonnxruntime.so.1", tmp_path, "mistakes").stdout.splitlines()
    assert "extensions that are there: 3 4 5" in lines
    lines = lines[lines.index("domain: ok", lines.index("domain: ok") + 1) + 1:lines.index("end of mistakes")]
    assert len(lines) > 70
    for line in lines:
        if line != "attribute: ok":
            assert line.rsplit(": ", 1)[1] in ("1", "2"), line


# ---- Errors

def session(text, imports='"": 17, "test.custom": 1', **options_of):
    options = sardonyx.SessionOptions()
    options.register_custom_ops_library(LIBRARY)
    for name, value in options_of.items():
        setattr(options, name, value)
    model = model_of(text, imports)
    for i, node in enumerate(model.graph.node):
        node.name = f"node{i}"
    return sardonyx.InferenceSession(model.SerializeToString(), options)


def error_of(text, run=False, **more):
    with pytest.raises(Exception) as raised:
        made = session(text, **more)
        if run:
            made.run(None, {"x": np.ones(1, np.float32)})
    return str(raised.value)


@pytest.mark.parametrize(("where", "call", "words"), [("create", "CreateKernelV2", "the words file is missing"),
                                                      ("compute", "KernelComputeV2", "the word is missing"),
                                                      ("no output", "KernelComputeV2", "KernelContext_GetOutput")])
def test_an_error_names_node_operator_and_call(where, call, words):
    message = error_of(f'g (float[n] x) => (float y) {{ y = test.custom.Faulty <where = "{where}"> (x) }}', run=True)
    assert all(part in message for part in ("node0", "Faulty", call, words)), message


def test_an_exception_of_the_library_is_an_error():
    message = error_of('g (float[n] x) => (float y) { y = test.custom.FaultyOld <where = "compute"> (x) }', run=True)
    parts = ("node0", "FaultyOld", "KernelCompute", "threw", "the word is missing")
    assert all(part in message for part in parts), message


def test_the_kernels_for_other_types_are_listed():
    message = error_of("g (int32[n] x) => (int32[n] y) { y = test.custom.Twice (x) }")
    assert all(part in message for part in ("node0", "Twice(float)", "Twice(int64)", "Twice(double)", "int32")), message


def test_the_wrong_type_for_the_only_kernel_is_named():
    message = error_of("g (int64[n] x) => (float[n] y) { y = test.custom.AddAmount (x) }")
    assert "node0" in message and "input 0: expected float, found int64" in message, message


def test_the_wrong_number_of_inputs_is_named():
    message = error_of("g (float[n] x) => (float[n] y) { y = test.custom.AddAmount (x, x) }")
    assert "expected 1 inputs, found 2" in message, message


def test_a_kernel_for_another_provider_is_named():
    message = error_of("g (float[n] x) => (float y) { y = test.custom.OnGpu (x) }")
    assert "CUDAExecutionProvider" in message and "node0" in message, message


def test_a_version_before_the_first_is_named():
    message = error_of("g (float[n] x) => (int64 y) { y = test.custom.Later (x) }")
    assert "since version 2" in message and "version 1" in message, message


def test_an_unknown_operator_of_a_custom_domain_hints_at_registration():
    model = model_of("g (float[n] x) => (float y) { y = ai.onnx.contrib.StringUpper (x) }",
                     '"": 17, "ai.onnx.contrib": 1')
    with pytest.raises(Exception, match="register_custom_ops_library"):
        sardonyx.InferenceSession(model.SerializeToString())


def test_a_shape_function_that_fails_is_a_warning(capfd):
    made = session("g (float[n] x) => (float y) { y = test.custom.Faulty <infer = 1> (x) }")
    for count in (1, 2, 3):
        assert made.run(None, {"x": np.ones(count, np.float32)})[0] == 1
    warned = capfd.readouterr().err
    assert warned.count("no shape can be told") == 1 and "InferOutputShapeFn" in warned and "node0" in warned, warned


def test_a_shape_function_that_fails_with_a_status_it_has_freed_is_a_warning(capfd):
    made = session("g (float[n] x) => (float y) { y = test.custom.Faulty <infer = 2> (x) }")
    assert made.run(None, {"x": np.ones(2, np.float32)})[0] == 1
    warned = capfd.readouterr().err
    assert warned.count("freed the status") == 1 and "node0" in warned, warned


def test_a_message_of_the_library_goes_to_the_sessions_log(capfd):
    made = session("g (float[n] x) => (string[k] y, float[1] z) { y, z = test.custom.TellContext (x) }", logid="theirs")
    made.run(None, {"x": np.ones(1, np.float32)})
    logged = capfd.readouterr().err
    assert "kernel created" in logged and "kernel runs" in logged and "theirs" in logged, logged
    assert "nobody hears this" not in logged


def test_sessions_without_the_library_are_not_touched():
    """Another session of the process has the library's Relu; this one has the built-in one."""
    code = f"""
import os, sys
os.environ["CUSTOM_OPS_REPLACE"] = "1"
sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})
import numpy as np, sardonyx
from test_custom_ops import LIBRARY, model_of
model = model_of("g (float[n] x) => (float[n] y) {{ y = Relu (x) }}", '"": 17').SerializeToString()
options = sardonyx.SessionOptions()
options.register_custom_ops_library(LIBRARY)
custom, plain = sardonyx.InferenceSession(model, options), sardonyx.InferenceSession(model)
for session in (custom, plain, custom):
    print(session.run(None, {{"x": np.array([-5], np.float32)}})[0][0])
print([(row["op_type"], row["domain"]) for session in (custom, plain) for row in session.placement()])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    placement = "[('Relu', ''), ('Relu', '')]"  # under the author's domain
    assert done.stdout.splitlines() == ["-4.0", "0.0", "-4.0", placement], done.stdout + done.stderr


def test_no_file_can_ask_for_the_domain_of_a_replaced_operator(monkeypatch):
    monkeypatch.setenv("CUSTOM_OPS_REPLACE", "1")
    model = model_of("g (float[n] x) => (float[n] y) { y = Relu <amount = 100.0> (x) }", '"": 17')
    options = sardonyx.SessionOptions()
    options.register_custom_ops_library(LIBRARY)
    sardonyx.InferenceSession(model.SerializeToString(), options)  # the library has this operator
    model.graph.node[0].domain = "custom:"
    model.opset_import.add(domain="custom:", version=1)
    with pytest.raises(sardonyx.Fail, match="unknown operator custom:"):
        sardonyx.InferenceSession(model.SerializeToString(), options)
