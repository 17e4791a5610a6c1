"""ai.onnx.preview.FlexAttention with graphs of scores and probabilities, against ONNX's reference implementation."""

import numpy as np
import onnx
import pytest
import sardonyx
from onnx import helper
from onnx.reference import ReferenceEvaluator

LEVELS = ["ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_ALL"]
FIXED = {"q": (2, 4, 5, 8), "k": (2, 2, 7, 8), "v": (2, 2, 7, 6)}
SYMBOLS = {"q": ("b", "h", "l", "e"), "k": ("b", "g", "s", "e"), "v": ("b", "g", "s", "f")}


def body(name, nodes, kind, result="t"):
    return helper.make_graph(
        nodes,
        name,
        [helper.make_tensor_value_info("t0", kind, None)],
        [helper.make_tensor_value_info(result, kind, None)],
    )


def flex_model(kind, shapes, attributes, captured=()):
    node = helper.make_node("FlexAttention", ["q", "k", "v"], ["y"], domain="ai.onnx.preview", **attributes)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info(name, kind, shape) for name, shape in shapes.items()]
        + [helper.make_tensor_value_info(name, kind, shape) for name, shape in captured],
        [helper.make_tensor_value_info("y", kind, None)],
    )
    opsets = [helper.make_opsetid("", 24), helper.make_opsetid("ai.onnx.preview", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=11)


def run(model, feeds, level="ORT_ENABLE_ALL", dtype=None):
    options = sardonyx.SessionOptions()
    options.graph_optimization_level = getattr(sardonyx.GraphOptimizationLevel, level)
    return sardonyx.InferenceSession(model.SerializeToString(), options).run(None, feeds)[0]


def random_feeds(dtype, heads=4, kv_heads=2):
    rng = np.random.default_rng(5)
    shapes = {"q": (2, heads, 5, 8), "k": (2, kv_heads, 7, 8), "v": (2, kv_heads, 7, 6)}
    return {name: rng.standard_normal(shape).astype(dtype) for name, shape in shapes.items()}


def modifiers(kind):
    """Graphs by name; they work on values of type `kind`."""
    causal = [
        helper.make_node("Shape", ["t0"], ["l"], start=2, end=3),
        helper.make_node("Shape", ["t0"], ["s"], start=3, end=4),
        helper.make_node("Concat", ["l", "s"], ["ls"], axis=0),
        helper.make_node("Constant", [], ["one"], value=helper.make_tensor("one", kind, [1], [1.0])),
        helper.make_node("Expand", ["one", "ls"], ["ones"]),
        helper.make_node("Trilu", ["ones"], ["lower"], upper=0),
        helper.make_node("Cast", ["lower"], ["sees"], to=onnx.TensorProto.BOOL),
        helper.make_node("Constant", [], ["low"], value=helper.make_tensor("low", kind, [], [-60000.0])),
        helper.make_node("Where", ["sees", "t0", "low"], ["t"]),
    ]
    soft_cap = [
        helper.make_node("Constant", [], ["cap"], value=helper.make_tensor("cap", kind, [], [2.0])),
        helper.make_node("Div", ["t0", "cap"], ["a"]),
        helper.make_node("Tanh", ["a"], ["b"]),
        helper.make_node("Mul", ["b", "cap"], ["t"]),
    ]
    square = [helper.make_node("Mul", ["t0", "t0"], ["t"])]
    captured = [helper.make_node("Add", ["t0", "addend"], ["t"])]
    graphs = {"causal": causal, "soft_cap": soft_cap, "square": square, "captured": captured}
    return {name: body(name, nodes, kind) for name, nodes in graphs.items()}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("shapes", [FIXED, SYMBOLS], ids=["fixed", "symbols"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize(
    "score,prob,scale",
    [(None, None, None), ("causal", None, None), ("soft_cap", "square", 0.3), (None, "square", None)],
)
def test_against_the_reference(level, shapes, dtype, score, prob, scale):
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    graphs = modifiers(onnx.TensorProto.DOUBLE if dtype == np.float64 else onnx.TensorProto.FLOAT)
    attributes = {"score_mod": score, "prob_mod": prob}
    attributes = {name: graphs[chosen] for name, chosen in attributes.items() if chosen}
    if scale:
        attributes["scale"] = scale
    model = flex_model(kind, shapes, attributes)
    feeds = random_feeds(dtype)
    want = ReferenceEvaluator(model).run(None, feeds)[0]
    got = run(model, feeds, level)
    assert got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_allclose(got, want, atol=4e-3 if dtype == np.float16 else 2e-6)


@pytest.mark.parametrize("shapes", [FIXED, SYMBOLS], ids=["fixed", "symbols"])
@pytest.mark.parametrize("heads,kv_heads", [(4, 4), (6, 2), (2, 1)])
def test_grouped_heads(shapes, heads, kv_heads):
    feeds = random_feeds(np.float32, heads, kv_heads)
    if shapes is FIXED:
        shapes = {name: x.shape for name, x in feeds.items()}
    model = flex_model(onnx.TensorProto.FLOAT, shapes, {})
    want = ReferenceEvaluator(model).run(None, feeds)[0]
    np.testing.assert_allclose(run(model, feeds), want, atol=2e-6)


@pytest.mark.parametrize("level", LEVELS)
def test_a_graph_reads_values_around_it(level):
    attributes = {"score_mod": modifiers(onnx.TensorProto.FLOAT)["captured"]}
    model = flex_model(onnx.TensorProto.FLOAT, SYMBOLS, attributes, [("addend", (5, 7))])
    feeds = random_feeds(np.float32) | {"addend": np.random.default_rng(6).standard_normal((5, 7)).astype(np.float32)}
    q, k, v = (feeds[name].astype(np.float64) for name in "qkv")
    k, v = np.repeat(k, 2, axis=1), np.repeat(v, 2, axis=1)
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(8) + feeds["addend"]
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    want = weights / weights.sum(-1, keepdims=True) @ v
    np.testing.assert_allclose(run(model, feeds, level), want, atol=2e-6)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("shapes", [FIXED, SYMBOLS], ids=["fixed", "symbols"])
@pytest.mark.parametrize("scale", [None, 0.5, 0.3])
def test_doubles_keep_their_digits(level, shapes, scale):
    feeds = random_feeds(np.float64)
    model = flex_model(onnx.TensorProto.DOUBLE, shapes, {"scale": scale} if scale else {})
    factor = float(np.float32(scale)) if scale else 1 / np.sqrt(8)  # the attribute is a float
    k, v = np.repeat(feeds["k"], 2, axis=1), np.repeat(feeds["v"], 2, axis=1)
    weights = np.exp(feeds["q"] @ k.swapaxes(-1, -2) * factor)
    want = weights / weights.sum(-1, keepdims=True) @ v
    np.testing.assert_allclose(run(model, feeds, level), want, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("factor", [0.5, 0.3, 1 / np.sqrt(8)])
def test_a_graph_of_doubles_keeps_its_digits(factor):
    """The scale of a fused Attention is a float, which 0.3 is not."""
    value = helper.make_tensor("c", onnx.TensorProto.DOUBLE, [], [factor])
    nodes = [
        helper.make_node("Transpose", ["k"], ["kt"], perm=[0, 1, 3, 2]),
        helper.make_node("MatMul", ["q", "kt"], ["s"]),
        helper.make_node("Mul", ["s", "c"], ["scaled"]),
        helper.make_node("Softmax", ["scaled"], ["p"], axis=-1),
        helper.make_node("MatMul", ["p", "v"], ["y"]),
    ]
    feeds = random_feeds(np.float64, 2, 2)
    inputs = [helper.make_tensor_value_info(name, onnx.TensorProto.DOUBLE, x.shape) for name, x in feeds.items()]
    outputs = [helper.make_tensor_value_info("y", onnx.TensorProto.DOUBLE, None)]
    graph = helper.make_graph(nodes, "g", inputs, outputs, [value])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    weights = np.exp(feeds["q"] @ feeds["k"].swapaxes(-1, -2) * factor)
    want = weights / weights.sum(-1, keepdims=True) @ feeds["v"]
    np.testing.assert_allclose(run(model, feeds), want, rtol=1e-12, atol=1e-13)


def test_precision_of_softmax():
    graphs = modifiers(onnx.TensorProto.FLOAT16)
    attributes = {"softmax_precision": onnx.TensorProto.FLOAT16, "score_mod": graphs["soft_cap"]}
    model = flex_model(onnx.TensorProto.FLOAT16, FIXED, attributes)
    feeds = random_feeds(np.float16)
    want = ReferenceEvaluator(model).run(None, feeds)[0]
    np.testing.assert_allclose(run(model, feeds), want, atol=4e-3)


F = onnx.TensorProto.FLOAT
REFUSED = {
    "a rank": (FIXED | {"k": (2, 2, 7)}, {}, r"input 1: expected rank 4"),
    "head sizes": (
        FIXED | {"k": (2, 2, 7, 9)},
        {},
        r"inputs 0 and 1 with the same head size \(axis 3\), found 8 and 9",
    ),
    "lengths": (FIXED | {"v": (2, 2, 6, 6)}, {}, r"inputs 1 and 2 with the same length \(axis 2\), found 7 and 6"),
    "heads": (FIXED | {"q": (2, 3, 5, 8)}, {}, r"heads of input 0 that the heads of input 1 divide, found 3 and 2"),
    "a precision": (FIXED, {"softmax_precision": 7}, r"'softmax_precision': expected 1 \(float\).*found 7"),
    "the type of a graph": (
        FIXED,
        {"prob_mod": body("b", [helper.make_node("Cast", ["t0"], ["t"], to=onnx.TensorProto.DOUBLE)], F)},
        r"attribute 'prob_mod': expected an output of type float.*found double",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_wrong_is_named(what):
    shapes, attributes, words = REFUSED[what]
    with pytest.raises(Exception, match=r"\[FlexAttention\].*" + words):
        sardonyx.InferenceSession(flex_model(F, shapes, attributes).SerializeToString())
