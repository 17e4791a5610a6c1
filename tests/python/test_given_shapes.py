"""Shapes that the caller gives and that do not fit are errors in both, whatever the optimizer made of the node."""
import numpy as np
import onnx
import onnxruntime
import pytest
import sardonyx

HEAD = '<ir_version: 8, opset_import: ["" : 17]> '
MODELS = {
    "between others": "g (float[2,3] x, int64[a] s) => (float[b] y) { r = Relu(x) z = Reshape(r, s) y = Exp(z) }",
    "of an input": "g (float[2,3] x, int64[a] s) => (float[b] y) { y = Reshape(x, s) }",
    "twice": "g (float[2,3] x, int64[a] s) => (float[b] y) "
             "{ r = Relu(x) z = Reshape(r, s) w = Reshape(z, s) y = Exp(w) }",
    "two axes": "g (float[2,3] x, int64[2] s) => (float[b,c] y) { r = Relu(x) z = Reshape(r, s) y = Exp(z) }",
    "computed": "g (float[2,3] x, int64[a] s) => (float[b] y) "
                "{ t = Mul(s, s) r = Relu(x) z = Reshape(r, t) y = Exp(z) }",
    "Expand": "g (float[2,3] x, int64[2] s) => (float[b,c] y) { r = Relu(x) z = Expand(r, s) y = Exp(z) }",
}
SHAPES = ([4], [7], [6], [-1], [3], [2, 2], [2, 3], [3, 2], [-1, 2], [3, 4], [1, 3])


def outcome(module, model, level, shape):
    options = module.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = getattr(module.GraphOptimizationLevel, level)
    session = module.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    try:
        return session.run(None, {"x": np.ones((2, 3), np.float32), "s": np.array(shape)})[0].shape
    except Exception:  # noqa: BLE001  (that it fails is the result)
        return "an error"


@pytest.mark.parametrize("name", MODELS)
def test_the_caller_gives_a_shape(name):
    parsed = onnx.parser.parse_model(HEAD + MODELS[name])
    model = parsed.SerializeToString()
    axes = parsed.graph.input[1].type.tensor_type.shape.dim[0].dim_value
    for shape in SHAPES:
        if len(shape) != (axes or 1):
            continue
        want = outcome(onnxruntime, model, "ORT_ENABLE_ALL", shape)
        for level in ("ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_ALL"):
            assert outcome(sardonyx, model, level, shape) == want, (shape, level)
