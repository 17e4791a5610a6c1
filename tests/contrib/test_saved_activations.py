"""Convolutions and products with activations, saved at the extended level by one library, loaded by the other."""
import re

import numpy as np
import onnx.parser
import onnxruntime
import pytest
import sardonyx

PRODUCTS = {
    "Conv": """<ir_version: 9, opset_import: ["" : 20]> g (float[1,3,5,7] x) => (float[1,4,3,5] y)
               <float[4,3,3,3] w, float[4] b, float low = {-0.5}, float high = {0.75}> { c = Conv (x, w, b)""",
    "Gemm": """<ir_version: 9, opset_import: ["" : 20]> g (float[3,6] x) => (float[3,37] y)
               <float[6,37] w, float[37] b, float low = {-0.5}, float high = {0.75}> { c = Gemm (x, w, b)""",
    "MatMul and Add": """<ir_version: 9, opset_import: ["" : 20]> g (float[3,6] x) => (float[3,37] y)
               <float[6,37] w, float[37] b, float low = {-0.5}, float high = {0.75}> { p = MatMul (x, w)
               c = Add (b, p)""",
}
ACTIVATIONS = ["Relu (c)", "LeakyRelu (c)", "LeakyRelu <alpha = 0.3> (c)", "Sigmoid (c)", "Tanh (c)", "HardSigmoid (c)",
               "HardSigmoid <alpha = 0.3, beta = 0.4> (c)", "Clip (c, low, high)", "HardSwish (c)",
               "Elu (c)", "Elu <alpha = 0.5> (c)", "Selu (c)", "Selu <alpha = 0.5, gamma = 2.0> (c)", "Softplus (c)",
               "Softsign (c)", "ThresholdedRelu (c)", "ThresholdedRelu <alpha = 0.3> (c)", "Mish (c)"]

# Those that ONNX Runtime's fused operators lack are in our domain (docs/saved_models.md).
OURS = {"Conv": ("Mish",), "Gemm": ("Clip", "HardSwish", "Mish"), "MatMul and Add": ("Clip", "HardSwish", "Mish")}


def model_of(product, activation):
    random = np.random.default_rng(3)

    def with_values(weights):
        count = np.prod([int(size) for size in weights["shape"].split(",")])
        return f"{weights[0]} = {{{', '.join(f'{value:.4f}' for value in random.uniform(-1, 1, count))}}}"

    text = re.sub(r"float\[(?P<shape>[\d,]+)\] [wb]\b", with_values, PRODUCTS[product] + f"  y = {activation} }}")
    model = onnx.parser.parse_model(text)
    shape = [it.dim_value for it in model.graph.input[0].type.tensor_type.shape.dim]
    return model.SerializeToString(), {"x": random.uniform(-2, 2, shape).astype(np.float32)}


def session_of(engine, model, level, saved=""):
    options = engine.SessionOptions()
    options.graph_optimization_level = getattr(engine.GraphOptimizationLevel, level)
    options.log_severity_level = 3
    options.optimized_model_filepath = str(saved)
    return engine.InferenceSession(model, options, providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("product", PRODUCTS)
def test_saved_activations_run_in_either_library(tmp_path, product, activation):
    model, feed = model_of(product, activation)
    want = session_of(onnxruntime, model, "ORT_DISABLE_ALL").run(None, feed)[0]
    theirs = sardonyx if activation.split()[0] in OURS[product] else onnxruntime
    nodes = {}
    for saves, loads in ((sardonyx, theirs), (onnxruntime, sardonyx)):
        path = tmp_path / f"{saves.__name__}.onnx"
        session_of(saves, model, "ORT_ENABLE_EXTENDED", path)
        nodes[saves] = [node.op_type for node in onnx.load(path).graph.node]
        got = session_of(loads, str(path), "ORT_DISABLE_ALL").run(None, feed)[0]
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6, err_msg=f"saved by {saves.__name__}")
    assert len(nodes[sardonyx]) <= len(nodes[onnxruntime]), nodes
