"""tests/python/test_fix_input.py - inputs that the user fixes are constants of the session."""
import pickle

import numpy as np
import onnx
import pytest
import sardonyx

TEXT = """
<ir_version: 10, opset_import: ["" : 21]>
g (float[n,2] x, bool twice, int64[k] axes) => (float[n,2] y) {
  a = If (twice) <then_branch = t () => (float[n,2] p) { p = Add(x, x) },
                  else_branch = e () => (float[n,2] q) { q = Neg(x) }>
  m = ReduceMax(a, axes)
  y = Sub(a, m)
}
"""
X = np.array([[1, 2], [3, 5]], np.float32)
AXES = np.array([1], np.int64)


def session(fixed, **options):
    settings = sardonyx.SessionOptions()
    for name, value in fixed.items():
        settings.fix_input(name, value)
    for name, value in options.items():
        setattr(settings, name, value)
    return sardonyx.InferenceSession(onnx.parser.parse_model(TEXT).SerializeToString(), settings)


def operators(path):
    return [node.op_type for node in onnx.load(path).graph.node]


@pytest.mark.parametrize("twice", [True, False])
def test_what_depends_on_a_fixed_input_is_folded(twice, tmp_path):
    path = str(tmp_path / "saved.onnx")
    fixed = {"twice": np.array(twice), "axes": AXES}
    level = sardonyx.GraphOptimizationLevel.ORT_ENABLE_BASIC
    some = session(fixed, optimized_model_filepath=path, graph_optimization_level=level)
    assert [port.name for port in some.get_inputs()] == ["x"] and some.get_overridable_initializers() == []
    want = session({}).run(None, {"x": X, "twice": np.array(twice), "axes": AXES})[0]
    np.testing.assert_array_equal(some.run(None, {"x": X})[0], want)
    assert operators(path) == ["Add" if twice else "Neg", "ReduceMax", "Sub"]
    assert [port.name for port in onnx.load(path).graph.input] == ["x"]
    np.testing.assert_array_equal(sardonyx.InferenceSession(path).run(None, {"x": X})[0], want)


def test_an_array_is_copied():
    axes = AXES.copy()
    settings = sardonyx.SessionOptions()
    settings.fix_input("axes", axes)
    axes[0] = 7
    model = onnx.parser.parse_model(TEXT).SerializeToString()
    feed = {"x": X, "twice": np.array(False)}
    want = np.array([[0, -1], [0, -2]], np.float32)
    np.testing.assert_array_equal(sardonyx.InferenceSession(model, settings).run(None, feed)[0], want)


def test_pickled_options_keep_it():
    settings = sardonyx.SessionOptions()
    settings.fix_input("axes", AXES)
    again = pickle.loads(pickle.dumps(settings))
    model = onnx.parser.parse_model(TEXT).SerializeToString()
    assert [port.name for port in sardonyx.InferenceSession(model, again).get_inputs()] == ["x", "twice"]


def test_an_input_with_a_default_is_no_longer_overridable():
    text = TEXT.replace("{\n  a = If", "<int64[1] axes = {0}> {\n  a = If", 1)
    model = onnx.parser.parse_model(text).SerializeToString()
    settings = sardonyx.SessionOptions()
    settings.fix_input("axes", AXES)
    some = sardonyx.InferenceSession(model, settings)
    assert some.get_overridable_initializers() == []
    np.testing.assert_array_equal(some.run(None, {"x": X, "twice": np.array(False)})[0], [[0, -1], [0, -2]])


@pytest.mark.parametrize("name, value, message", [
    ("axis", AXES, "the model has no input 'axis' to fix; did you mean 'axes'?"),
    ("a", X, "the model has no input 'a' to fix"),
    ("axes", AXES.astype(np.int32), "input 'axes': expected int64[k] as in the model, found int32[1]"),
    ("x", X[:, :1], "input 'x': expected float[n,2] as in the model, found float[2, 1]"),
    ("x", X[0], "input 'x': expected float[n,2] as in the model, found float[2]"),
])
def test_what_does_not_fit_is_an_error(name, value, message):
    with pytest.raises(Exception, match="INVALID_ARGUMENT") as error:
        session({name: value})
    assert message in str(error.value)


def test_twice_is_an_error():
    settings = sardonyx.SessionOptions()
    settings.fix_input("axes", AXES)
    with pytest.raises(Exception, match="input 'axes': expected each name once, found it twice"):
        settings.fix_input("axes", AXES)
