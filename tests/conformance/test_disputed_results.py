"""Results on which Sardonyx, ONNX Runtime and ONNX's reference disagree, or did: docs/disputed_results.md says why."""

import numpy as np
import onnx
import onnxruntime
import pytest
import sardonyx
from onnx import helper, numpy_helper

F, I32, I64 = np.float32, np.int32, np.int64
INF, NAN = np.inf, np.nan
LARGEST = float(np.finfo(F).max)
LEVELS = ["ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED", "ORT_ENABLE_ALL"]


def one_node(op, inputs, opset, outputs=1, constants=(), domain="", **attributes):
    names = ["" if x is None else f"x{i}" for i, x in enumerate(inputs)]
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op, names, results, domain=domain, **attributes)
    given = [
        helper.make_tensor_value_info(names[i], helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for i, x in enumerate(inputs)
        if x is not None and i not in constants
    ]
    first = helper.np_dtype_to_tensor_dtype(inputs[0].dtype)
    types = [onnx.TensorProto.INT64 if op.startswith("Arg") else first, onnx.TensorProto.INT64]
    asked = [helper.make_tensor_value_info(name, types[i], None) for i, name in enumerate(results)]
    weights = [numpy_helper.from_array(inputs[i], names[i]) for i in constants]
    opsets = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    graph = helper.make_graph([node], "g", given, asked, weights)
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    return model, {names[i]: x for i, x in enumerate(inputs) if x is not None and i not in constants}


def run(engine, model, feeds, level="ORT_ENABLE_ALL"):
    options = engine.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = getattr(engine.GraphOptimizationLevel, level)
    return engine.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(
        None, feeds
    )


def check(want, peer_agrees, *arguments, **attributes):
    """Every level of ours gives `want`, a list of arrays; so does ONNX Runtime, or it does not."""
    model, feeds = one_node(*arguments, **attributes)
    for level in LEVELS:
        for got, expected in zip(run(sardonyx, model, feeds, level), want, strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-6, err_msg=level)
            assert got.shape == np.shape(expected), level
    if peer_agrees is None:
        return
    try:
        theirs = run(onnxruntime, model, feeds)
        same = all(
            x.shape == np.shape(y) and np.allclose(x, y, equal_nan=True) for x, y in zip(theirs, want, strict=True)
        )
    except Exception:
        same = False
    assert same == peer_agrees, "ONNX Runtime's behaviour is another than the page says"


SPECIAL = np.array([-INF, INF, NAN, 1, 5], F)
CLIPS = {
    "no max": ([SPECIAL, np.array(3, F)], 13, {}, [3, LARGEST, NAN, 3, 5]),
    "no min": ([SPECIAL, None, np.array(3, F)], 13, {}, [-LARGEST, 3, NAN, 1, 3]),
    "no bounds": ([SPECIAL], 12, {}, [-LARGEST, LARGEST, NAN, 1, 5]),
    "attribute": ([SPECIAL], 6, {"min": 0.0}, [0, LARGEST, NAN, 1, 5]),
}


@pytest.mark.parametrize("name", CLIPS)
@pytest.mark.parametrize("constant", [False, True])
def test_missing_bound_of_clip(name, constant):
    inputs, opset, attributes, want = CLIPS[name]
    constants = [i for i, x in enumerate(inputs) if i > 0 and x is not None] if constant else []
    check([np.array(want, F)], True, "Clip", inputs, opset, constants=constants, **attributes)


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_missing_bound_of_clip_is_the_largest_number_of_the_type(dtype):
    largest = np.finfo(dtype).max
    check([np.array([2, largest, 3], dtype)], None, "Clip", [np.array([-INF, INF, 3], dtype), np.array(2, dtype)], 13)


@pytest.mark.parametrize("dtype", [F, np.float16])
def test_clip_fused_into_a_convolution_has_the_same_bounds(dtype):
    x = np.array([INF, -INF, 1], dtype).reshape(1, 1, 3)
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"]), helper.make_node("Clip", ["c", "low"], ["y"])]
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    weights = [
        numpy_helper.from_array(np.ones((1, 1, 1), dtype), "w"),
        numpy_helper.from_array(np.array(0, dtype), "low"),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", kind, x.shape)],
        [helper.make_tensor_value_info("y", kind, None)],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    want = np.array([np.finfo(dtype).max, 0, 1], dtype).reshape(1, 1, 3)
    for level in LEVELS:
        np.testing.assert_array_equal(run(sardonyx, model, {"x": x}, level)[0], want, err_msg=level)


@pytest.mark.parametrize("dtype", [F, np.float64, np.float16])
def test_nan_where_the_definition_compares(dtype):
    x = np.array([-INF, INF, NAN, 1, 2] * 5, dtype)
    agrees = True if dtype == F else None
    check([np.array([0, INF, 0, 0, 2] * 5, dtype)], agrees, "ThresholdedRelu", [x], 22, alpha=1.0)
    check([np.array([-INF, INF, 0, 0, 1.5] * 5, dtype)], agrees, "Shrink", [x], 9, lambd=1.0, bias=0.5)


def test_max_pool_beside_nan():
    x = np.array([NAN, 2, 3, NAN, NAN, 6, 1, 4], F).reshape(1, 1, 8)
    values = np.array([NAN, NAN, NAN, NAN, NAN, 6], F).reshape(1, 1, 6)
    check([values], False, "MaxPool", [x], 12, kernel_shape=[3])
    indices = np.array([0, 3, 4, 4, 4, 5]).reshape(1, 1, 6)
    check([values, indices], False, "MaxPool", [x], 12, outputs=2, kernel_shape=[3])


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
def test_pool_of_a_window_larger_than_its_input(op):
    nothing = np.zeros((1, 1, 0), F)
    for length, kernel, stride, agrees in [(2, 3, 1, True), (2, 4, 2, True), (2, 5, 3, True), (2, 3, 2, False)]:
        x = np.ones((1, 1, length), F)
        check([nothing], agrees, op, [x], 18, kernel_shape=[kernel], strides=[stride])
    model, feeds = one_node(op, [np.ones((1, 1, 2), F)], 18, kernel_shape=[4])
    with pytest.raises(Exception, match="expected spatial axis 0 of at least 4 with its pads 0 and 0, found 2"):
        run(sardonyx, model, feeds)


@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
def test_arg_max_along_an_empty_axis(op):
    model, feeds = one_node(op, [np.ones((2, 0), F)], 13, axis=1)
    for engine, words in ((sardonyx, "expected elements along axis 1"), (onnxruntime, "Arg")):
        with pytest.raises(Exception, match=words):
            run(engine, model, feeds)


@pytest.mark.parametrize("constant", [False, True])
def test_slice_backwards_from_before_the_first_element(constant):
    x = np.arange(5, dtype=F)
    bounds = [np.array([v], I64) for v in (-9, -20, 0, -1)]
    check([x[:1]], True, "Slice", [x, *bounds], 13, constants=[1, 2, 3, 4] if constant else [])
    check([np.zeros(0, F)], True, "Slice", [np.zeros(0, F), *bounds], 13)


def test_erf_of_integers():
    x = np.array([-9, -3, 0, 2, 4], I32)
    check([np.array([-1, 0, 0, 0, 1])], False, "Erf", [x], 9)
    model, feeds = one_node("Erf", [x], 13)
    with pytest.raises(Exception, match=r"expected tensor\(float\).*found int32"):
        run(sardonyx, model, feeds)


@pytest.mark.parametrize("op,opset", [("ReduceLogSum", 11), ("ReduceLogSum", 18), ("ReduceLogSumExp", 13)])
@pytest.mark.parametrize("dtype", [I32, I64])
def test_logarithms_of_integers(op, opset, dtype):
    want = {"ReduceLogSum": 2, "ReduceLogSumExp": 4}[op]
    check([np.array([[want]])], True, op, [np.array([[1, 2], [3, 4]], dtype)], opset)
    model, feeds = one_node(op, [np.array([[1, 2], [3, 4]], dtype)], 28)
    with pytest.raises(Exception, match=r"expected tensor\(float\).*found int"):
        run(sardonyx, model, feeds)


def test_clip_of_lstm_limits_the_input_of_every_activation():
    rng = np.random.default_rng(3)
    x, w, r = (rng.standard_normal(shape).astype(F) * 3 for shape in ((1, 1, 2), (1, 8, 2), (1, 8, 2)))
    x, w = np.repeat(np.abs(x), 6, axis=0), np.abs(w)
    clip, h, cell = 0.3, np.zeros((1, 2)), np.zeros((1, 2))
    for step in x:
        i, o, f, c = np.split(np.clip(step @ w[0].T + h @ r[0].T, -clip, clip), 4, axis=-1)
        i, o, f = (1 / (1 + np.exp(-v)) for v in (i, o, f))
        cell = f * cell + i * np.tanh(c)
        h = o * np.tanh(np.clip(cell, -clip, clip))
    model, feeds = one_node("LSTM", [x, w, r], 14, outputs=2, hidden_size=2, clip=clip)
    model.graph.output[1].type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    for level in LEVELS:
        np.testing.assert_allclose(run(sardonyx, model, feeds, level)[1][0], h, rtol=1e-5)
    assert np.abs(cell).max() > clip and not np.allclose(run(onnxruntime, model, feeds)[1][0], h, rtol=1e-3)


@pytest.mark.parametrize("queries,keys", [(1, 5), (2, 5), (4, 5), (5, 5), (5, 3)])
def test_causal_attention_over_more_keys_than_queries(queries, keys):
    query, key = np.zeros((1, queries, 4), F), np.zeros((1, keys, 4), F)
    sees = np.tril(np.ones((queries, keys), F))
    sees[-1] = 1
    want = [(sees / sees.sum(1, keepdims=True))[None] @ np.eye(keys, 8, dtype=F)]
    inputs = [query, key, np.eye(keys, 8, dtype=F)[None]]
    check(want, True, "MultiHeadAttention", inputs, 18, domain="com.microsoft", num_heads=1, unidirectional=1)
