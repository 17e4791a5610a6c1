"""The plug-in plugins/sardonyx_cpu: ONNX Runtime's released library runs models on Sardonyx as its provider."""
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import onnx.parser
import onnxruntime
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", ROOT / "build/release"))
PLUGIN = BUILD / "lib/libsardonyx_provider.so"
NAME = "SardonyxExecutionProvider"


@pytest.fixture(scope="module")
def device():
    onnxruntime.register_execution_provider_library("sardonyx", str(PLUGIN))
    found = [device for device in onnxruntime.get_ep_devices() if device.ep_name == NAME]
    assert len(found) == 1 and found[0].ep_vendor == "Sardonyx"
    yield found[0]
    del found
    onnxruntime.unregister_execution_provider_library("sardonyx")


def parse(body, opset="18"):
    domains = f'"" : {opset}, "ai.onnx.ml" : 3, "com.microsoft" : 1'
    return onnx.parser.parse_model(f"<ir_version: 9, opset_import: [{domains}]> g {body}").SerializeToString()


def both(device, model, options=None):
    """A session on the plug-in, and one on ONNX Runtime's own kernels."""
    with_us = onnxruntime.SessionOptions()
    with_us.log_severity_level = 3
    with_us.enable_profiling = True
    with_us.profile_file_prefix = os.path.join(os.environ.get("TMPDIR", "/tmp"), "sardonyx_provider")
    with_us.add_provider_for_devices([device], options or {})
    ours = onnxruntime.InferenceSession(model, with_us, enable_fallback=0)
    return ours, onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])


def elsewhere(session):
    """Operators of the profile's nodes by provider, after a run."""
    path = pathlib.Path(session.end_profiling())
    events = [event for event in json.loads(path.read_text()) if event["cat"] == "Node"]
    path.unlink()
    assert any(event["args"]["provider"] == NAME for event in events), "nothing ran on the plug-in"
    return {event["args"]["op_name"] for event in events if event["args"]["provider"] != NAME}


NUMBERS = np.random.default_rng(4)
X = NUMBERS.standard_normal((3, 8)).astype(np.float32)
MODELS = {
    "a chain with weights": ("""(float[batch, 8] x) => (float[batch, 4] y, float[batch, 4] z)
        <float[8, 4] w = {0.5, 1, 2, -1, 0.25, 3, 1, -2, 0, 1, 1, 0.5, -3, 2, 1, 1,
                          1, 0, 2, 0, 1, 1, -1, 0.5, 0.125, 2, 1, -1, 0, 0, 1, 2}>
        { a = MatMul(x, w)  y = Softmax<axis = -1>(a)  z = Erf(a) }""", {"x": X}),
    "lists, texts and tensors among the attributes": ("""(float[n, 8] x) => (float[n, 8] y, float[2, 3] c)
        { t = Unsqueeze(x, axes)  p = Transpose<perm = [0, 2, 1]>(t)  q = Squeeze(p, axes2)
          g = Gelu<approximate = "tanh">(x)  r = Clip(q, low)  y = Add(r, g)
          c = ConstantOfShape<value = float[1] {2.5}>(shape) }""".replace(
              "=> (float[n, 8] y, float[2, 3] c)", """=> (float[n, 8] y, float[2, 3] c)
        <int64[1] axes = {1}, int64[1] axes2 = {2}, float low = {-0.5}, int64[2] shape = {2, 3}>"""), {"x": X}),
    "control flow": ("""(float[n, 8] x, bool c) => (float[n, 8] y)
        { y = If(c) <then_branch = t () => (float[n, 8] a) { a = Sin(x) },
                     else_branch = e () => (float[n, 8] b) { b = Cos(x) }> }""",
                     {"x": X, "c": np.array(True)}),
    "sizes that the elements decide": ("""(float[n, 8] x) => (int64[2, found] y, float[n, 8] z)
        { p = Relu(x)  y = NonZero(p)  z = Neg(p) }""", {"x": X}),
    "texts": ("""(string[n] x) => (string[n] y, int64[n] z) { y = StringConcat(x, x)
        z = ai.onnx.ml.LabelEncoder<keys_strings = ["a", "bc"], values_int64s = [7, 9], default_int64 = -1>(x) }""",
              {"x": np.array(["a", "bc", "", "Grüße"], dtype=object)}),
    "a scalar and nothing": ("(float x, float[0, 3] e) => (float y, float[0, 3] f) { y = Exp(x)  f = Relu(e) }",
                             {"x": np.array(2, np.float32), "e": np.zeros((0, 3), np.float32)}),
}


@pytest.mark.parametrize("name", MODELS)
def test_results_are_those_of_onnxruntime(device, name):
    body, feeds = MODELS[name]
    ours, theirs = both(device, parse(body, "20"))
    for scale in (1, 1, -2):  # the second run writes where the host wants it, the third has other elements
        changed = {key: (np.asarray(value * np.float32(scale)) if value.dtype == np.float32 else value)
                   for key, value in feeds.items()}
        for got, want in zip(ours.run(None, changed), theirs.run(None, changed)):
            assert got.dtype == want.dtype and got.shape == want.shape
            if got.dtype == object:
                assert got.tolist() == want.tolist()
            else:
                np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    assert elsewhere(ours) == set()


def test_the_documents_example_runs(tmp_path):
    page = (ROOT / "docs/provider_for_onnxruntime.md").read_text()
    code = page.split("```python\n")[1].split("```")[0].replace("libsardonyx_provider.so", str(PLUGIN))
    (tmp_path / "model.onnx").write_bytes(parse("(float[n] x) => (float[n] y) { y = Relu(x) }"))
    code += "import numpy\nprint(session.run(None, {'x': numpy.array([-1, 2], numpy.float32)})[0].tolist())\n"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "[0.0, 2.0]\n"), done.stderr


def test_other_sizes_in_every_run(device):
    ours, theirs = both(device, parse("(float[n, m] x) => (float[n, m] y) { a = Exp(x)  y = Softmax(a) }"))
    for rows in (1, 5, 2, 5, 1, 0, 30):
        x = NUMBERS.standard_normal((rows, rows + 1)).astype(np.float32)
        np.testing.assert_allclose(ours.run(None, {"x": x})[0], theirs.run(None, {"x": x})[0], rtol=1e-5)
    assert elsewhere(ours) == set()


def test_what_sardonyx_has_no_kernel_for_stays_with_the_host(device):
    """SequenceLength and its like have values that are no tensors; the groups around them are ours."""
    ours, theirs = both(device, parse("""(float[n, 8] x) => (float[n, 8] y)
        { a = Sin(x)  s = SequenceConstruct(a, a)  b = SequenceAt(s, zero)  y = Cos(b) }""".replace(
            "=> (float[n, 8] y)", "=> (float[n, 8] y) <int64 zero = {0}>")))
    np.testing.assert_allclose(ours.run(None, {"x": X})[0], theirs.run(None, {"x": X})[0], rtol=1e-5)
    assert elsewhere(ours) == {"SequenceConstruct", "SequenceAt"}


def test_an_error_of_a_run_reaches_the_user(device):
    ours, _ = both(device, parse("(float[n] x, int64[k] i) => (float[k] y) { a = Relu(x)  y = Gather(a, i) }"))
    with pytest.raises(Exception, match=r"expected indices in \[-3, 2\] along the axis, found 7"):
        ours.run(None, {"x": np.zeros(3, np.float32), "i": np.array([7])})
    ours.end_profiling()


def test_a_wrong_option_is_named(device):
    with pytest.raises(Exception, match="intra_op_num_threads: expected a number of 0 or more, found 'many'"):
        both(device, parse("(float[n] x) => (float[n] y) { y = Relu(x) }"), {"intra_op_num_threads": "many"})


def test_threads_of_the_host_share_a_session(device):
    import concurrent.futures
    ours, theirs = both(device, parse("(float[n, m] x) => (float[n, m] y) { a = Exp(x)  y = Softmax(a) }"))
    inputs = [NUMBERS.standard_normal((rows, 3)).astype(np.float32) for rows in (1, 2, 3, 4)] * 25
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for x, (y,) in zip(inputs, pool.map(lambda x: ours.run(None, {"x": x}), inputs)):
            np.testing.assert_allclose(y, theirs.run(None, {"x": x})[0], rtol=1e-5)
    ours.end_profiling()
