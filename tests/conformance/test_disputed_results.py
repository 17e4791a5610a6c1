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
    for length, kernel, stride in [(2, 3, 1), (2, 4, 2), (2, 5, 3), (1, 4, 2)]:
        x = np.ones((1, 1, length), F)
        check([nothing], True, op, [x], 18, kernel_shape=[kernel], strides=[stride])
    model, feeds = one_node(op, [np.ones((1, 1, 2), F)], 18, kernel_shape=[4])
    with pytest.raises(Exception, match="expected spatial axis 0 of at least 4 with its pads 0 and 0, found 2"):
        run(sardonyx, model, feeds)


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
@pytest.mark.parametrize(
    "attributes", [{}, {"auto_pad": "VALID"}, {"pads": [1, 0, 0, 0]}, {"count_include_pad": 1}], ids=str
)
def test_pool_of_one_window_partly_outside(op, attributes):
    if "count_include_pad" in attributes and op != "AveragePool":
        attributes = {}
    for shape, kernel, strides in [((1, 2, 2, 9), [3, 3], [2, 2]), ((2, 1, 1, 1), [2, 2], [2, 3]),
                                   ((1, 3, 7, 2), [2, 4], [1, 3])]:
        x = np.random.default_rng(1).normal(size=shape).astype(F)
        model, feeds = one_node(op, [x], 18, kernel_shape=kernel, strides=strides, **attributes)
        expected = run(onnxruntime, model, feeds)[0]
        assert expected.size > 0
        for level in LEVELS:
            np.testing.assert_allclose(run(sardonyx, model, feeds, level)[0], expected, rtol=1e-5, atol=1e-6)


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


@pytest.mark.parametrize("opset", [9, 13])
def test_non_zero_of_a_scalar(opset):
    for value, count in ((5, 1), (0, 0)):
        model, feeds = one_node("NonZero", [np.array(value, F)], opset)
        model.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.INT64
        assert all(run(sardonyx, model, feeds, level)[0].shape == (0, count) for level in LEVELS)
        assert run(onnxruntime, model, feeds)[0].shape == (1, count)


def test_softsign_of_infinity():
    check([np.array([1, -1, NAN, 0.5] * 9, F)], False, "Softsign", [np.array([INF, -INF, NAN, 1] * 9, F)], 22)


@pytest.mark.parametrize("op", ["ReduceMax", "ReduceMin"])
def test_reduced_maxima_beside_nan(op):
    x = np.array([[1, NAN, 3], [4, 5, 6]])
    check([np.array([[NAN], [6 if op == "ReduceMax" else 4]])], None, op, [x, np.array([1], I64)], 18)


@pytest.mark.parametrize("reduction", ["max", "min"])
def test_scattered_maxima_beside_nan(reduction):
    x, places = np.array([1, NAN, 3], F), np.array([[0], [1]], I64)
    want = np.array([NAN, NAN, 3], F)
    check([want], False, "ScatterND", [x, places, np.array([NAN, 9], F)], 18, reduction=reduction)
    check([want], None, "ScatterElements", [x, places[:, 0], np.array([NAN, 9], F)], 18, reduction=reduction)


@pytest.mark.parametrize("op,want", [("ReduceSum", 0), ("ReduceProd", 1), ("ReduceL2", 0), ("ReduceMean", NAN)])
def test_reductions_over_nothing(op, want):
    model, feeds = one_node(op, [np.zeros((0, 3), F), np.array([0, 1], I64)], 18)
    for level in LEVELS:
        (y,) = run(sardonyx, model, feeds, level)
        np.testing.assert_array_equal(y, np.full((1, 1), want, F))


@pytest.mark.parametrize("where", ["SAME_UPPER", "SAME_LOWER"])
def test_same_of_a_stride_above_the_kernel(where):
    x = np.array([1, 2, 4, 8, 16, 32], F).reshape(1, 1, 6)
    want = np.array([1, 8], F).reshape(1, 1, 2)
    for op in ("AveragePool", "MaxPool", "LpPool"):
        check([want], False if op != "LpPool" else None, op, [x], 18, kernel_shape=[1], strides=[3], auto_pad=where)


def test_same_of_a_dilated_pool():
    x = np.array([-98, -97, -99, -96, -100, -95], F).reshape(1, 1, 6)
    want = np.array([-98, -98, -99], F).reshape(1, 1, 3)
    check([want], False, "MaxPool", [x], 12, kernel_shape=[3], dilations=[2], strides=[2], auto_pad="SAME_LOWER")


def test_normalizer_divides_by_the_largest_number():
    node = helper.make_node("Normalizer", ["x0"], ["y0"], domain="ai.onnx.ml", norm="MAX")
    kind = onnx.TensorProto.FLOAT
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x0", kind, [1, 2])],
                              [helper.make_tensor_value_info("y0", kind, None)])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    for level in LEVELS:
        np.testing.assert_array_equal(run(sardonyx, model, {"x0": np.array([[2, -4]], F)}, level)[0], [[1, -2]])
    np.testing.assert_array_equal(run(onnxruntime, model, {"x0": np.array([[2, -4]], F)})[0], [[1, -2]])


def test_unique_without_sorting():
    check([np.array([5, 3, 9], I64)], True, "Unique", [np.array([5, 3, 5, 9, 3], I64)], 11, sorted=0)


def test_slice_backwards_from_the_lowest_number():
    x, far = np.arange(5, dtype=F), 2**31 - 1
    check([np.zeros(0, F)], False, "Slice", [x, *(np.array([v], I64) for v in (-far, far, 0, -1))], 13)


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


def test_resize_aligns_the_corners_of_the_length_before_rounding():
    x, scales = np.arange(5, dtype=F).reshape(1, 1, 5), np.array([1, 1, 1.5], F)
    want = (np.arange(7) * 4 / 6.5).astype(F).reshape(1, 1, 7)
    modes = {"mode": "linear", "coordinate_transformation_mode": "align_corners"}
    check([want], False, "Resize", [x, None, scales], 19, constants=[2], **modes)
    sizes = np.array([1, 1, 7], I64)  # of a size that is given, the corners are those of the output
    want = (np.arange(7) * 4 / 6).astype(F).reshape(1, 1, 7)
    check([want], True, "Resize", [x, None, None, sizes], 19, constants=[3], **modes)


@pytest.mark.parametrize(
    "kernel,stride,where,want",
    [
        (1, 2, "SAME_UPPER", [0, 1, 0, 2, 0, 3]),
        (1, 2, "SAME_LOWER", [1, 0, 2, 0, 3, 0]),
        (2, 3, "SAME_UPPER", [0, 1, 2, 0, 2, 4, 0, 3, 6]),
        (1, 4, "SAME_UPPER", [0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0]),
        (1, 4, "SAME_LOWER", [0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0]),
    ],
)
@pytest.mark.parametrize("dtype", [F, np.float64])
def test_same_of_a_transposed_kernel_below_its_stride(kernel, stride, where, want, dtype):
    x = np.array([1, 2, 3], dtype).reshape(1, 1, 3)
    w = np.arange(1, kernel + 1, dtype=dtype).reshape(1, 1, kernel)
    want = np.array(want, dtype).reshape(1, 1, -1)
    check([want], False, "ConvTranspose", [x, w], 11, constants=[1], auto_pad=where, strides=[stride])
    x, w = x.reshape(1, 1, 1, 3), w.reshape(1, 1, 1, kernel)
    check([want[:, :, None]], False, "ConvTranspose", [x, w], 22, auto_pad=where, strides=[1, stride])


def test_cubic_grid_outside_of_the_border():
    image = (np.arange(16, dtype=F) ** 1.5).reshape(1, 1, 4, 4)
    grid = np.array([[-1.2, -1.1], [2.7, -1.6], [-3, 3]], F).reshape(1, 1, 3, 2)
    want = image[0, 0, [0, 0, 3], [0, 3, 0]].reshape(1, 1, 1, 3)
    for aligned in (0, 1):
        attributes = {"mode": "cubic", "padding_mode": "border", "align_corners": aligned}
        check([want], False, "GridSample", [image, grid], 20, **attributes)


FOUR_BITS = np.array([-9.6, -8.5, -1.5, -0.5, 0.5, 1.5, 2.5, 2.7, 7.5, 15.5, 16, 200, -200], F)


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("dtype", [F, np.float16])
def test_cast_to_four_bits_cuts(signed, dtype):
    kind = onnx.TensorProto.INT4 if signed else onnx.TensorProto.UINT4
    bits = np.trunc(FOUR_BITS).astype(I32) & 15
    check_four_bits([helper.make_node("Cast", ["x0"], ["q"], to=kind)], FOUR_BITS.astype(dtype), kind, bits, False)


@pytest.mark.parametrize("signed", [True, False])
def test_quantization_to_four_bits_rounds_and_saturates(signed):
    kind = onnx.TensorProto.INT4 if signed else onnx.TensorProto.UINT4
    low, high = (-8, 7) if signed else (0, 15)
    bits = np.clip(np.rint(FOUR_BITS), low, high).astype(I32) & 15
    check_four_bits([helper.make_node("QuantizeLinear", ["x0", "scale", "zero"], ["q"])], FOUR_BITS, kind, bits, True)


def check_four_bits(nodes, x, kind, bits, peer_agrees):
    signed = kind == onnx.TensorProto.INT4
    nodes = [*nodes, helper.make_node("Cast", ["q"], ["y"], to=onnx.TensorProto.INT32)]
    weights = [helper.make_tensor("scale", onnx.TensorProto.FLOAT, [], [1]), helper.make_tensor("zero", kind, [], [0])]
    inputs = [helper.make_tensor_value_info("x0", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)]
    outputs = [helper.make_tensor_value_info("y", onnx.TensorProto.INT32, None)]
    graph = helper.make_graph(nodes, "g", inputs, outputs, weights if len(nodes[0].input) > 1 else [])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    want = np.where((bits > 7) & signed, bits - 16, bits)
    for level in LEVELS:
        np.testing.assert_array_equal(run(sardonyx, model, {"x0": x}, level)[0], want, err_msg=level)
    assert np.array_equal(run(onnxruntime, model, {"x0": x})[0], want) == peer_agrees


TREE = {
    "nodes_treeids": [0, 0, 0], "nodes_nodeids": [0, 1, 2], "nodes_featureids": [0, 0, 0],
    "nodes_values": [1.0, 0.0, 0.0], "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"], "nodes_truenodeids": [1, 0, 0],
    "nodes_falsenodeids": [2, 0, 0], "nodes_hitrates": [1.0] * 3, "nodes_missing_value_tracks_true": [0, 0, 0],
}


@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
def test_base_values_of_targets_without_votes(aggregate):
    x, votes = np.array([[0], [2]], F), {"target_treeids": [0, 0], "target_nodeids": [1, 2]}
    several = {**votes, "target_ids": [1, 2], "target_weights": [5.0, 7.0], "base_values": [10.0, 20.0, 30.0]}
    want = np.array([[10, 25, 30], [10, 20, 37]], F)
    check_trees(want, False, x, n_targets=3, aggregate_function=aggregate, **TREE, **several)
    one = {"target_treeids": [0], "target_nodeids": [1], "target_ids": [0], "target_weights": [5.0]}
    check_trees(want[:, 1:2] * 0 + np.array([[15], [10]], F), True, x, n_targets=1, base_values=[10.0],
                aggregate_function=aggregate, **TREE, **one)


def check_trees(want, peer_agrees, x, **attributes):
    node = helper.make_node("TreeEnsembleRegressor", ["x0"], ["y0"], domain="ai.onnx.ml", **attributes)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x0", onnx.TensorProto.FLOAT, x.shape)],
                              [helper.make_tensor_value_info("y0", onnx.TensorProto.FLOAT, None)])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    for level in LEVELS:
        np.testing.assert_array_equal(run(sardonyx, model, {"x0": x}, level)[0], want, err_msg=level)
    assert np.array_equal(run(onnxruntime, model, {"x0": x})[0], want) == peer_agrees


@pytest.mark.parametrize("opset", [7, 10])
def test_mask_of_early_dropout(opset):
    x = np.array([1, 2], F)
    node = helper.make_node("Dropout", ["x0"], ["y0", "y1"], ratio=0.5)
    kind = onnx.TensorProto.FLOAT if opset == 7 else onnx.TensorProto.BOOL
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x0", onnx.TensorProto.FLOAT, x.shape)],
                              [helper.make_tensor_value_info("y0", onnx.TensorProto.FLOAT, None),
                               helper.make_tensor_value_info("y1", kind, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    for level in LEVELS:
        y, mask = run(sardonyx, model, {"x0": x}, level)
        np.testing.assert_array_equal(y, x)
        np.testing.assert_array_equal(mask, [1, 1])
    assert not run(onnxruntime, model, {"x0": x})[1].any()


@pytest.mark.parametrize("opset", [8, 9, 13])
def test_mean_variance_normalization_of_equal_numbers(opset):
    zero = np.zeros((1, 2, 2, 2), F)
    check([zero], False, "MeanVarianceNormalization", [zero + 3], opset)


@pytest.mark.parametrize("past,keys", [(3, 5), (2, 2), (0, 4)])
def test_causal_attention_behind_a_cache(past, keys):
    """Query i sees the cache and the keys 0 to i: the text's offset is the length of the cache."""
    rng = np.random.default_rng(past)
    q, k, v = (rng.standard_normal((1, 1, n, 4)).astype(F) for n in (2, keys, keys))
    old = [rng.standard_normal((1, 1, past, 4)).astype(F) for _ in range(2)]
    all_k, all_v = (np.concatenate(pair, axis=2).astype(np.float64) for pair in zip(old, (k, v), strict=True))
    scores = q @ all_k.swapaxes(-1, -2) / 2
    scores = np.where(np.arange(past + keys) <= np.arange(2)[:, None] + past, scores, -INF)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    want = weights / weights.sum(-1, keepdims=True) @ all_v
    model, feeds = one_node("Attention", [q, k, v, None, *old], 24, outputs=1, is_causal=1)
    for level in LEVELS:
        np.testing.assert_allclose(run(sardonyx, model, feeds, level)[0], want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("op", ["BlackmanWindow", "HammingWindow", "HannWindow"])
@pytest.mark.parametrize("dtype", [F, np.float64, np.float16, np.int8, np.uint64])
def test_symmetric_window_of_one_sample(op, dtype):
    """The formula divides 0 by 0; the middle of each window is 1."""
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    model, feeds = one_node(op, [np.array(1, I64)], 17, periodic=0, output_datatype=kind)
    model.graph.output[0].type.tensor_type.elem_type = kind
    for level in LEVELS:
        (got,) = run(sardonyx, model, feeds, level)
        assert got.dtype == dtype and got.tolist() == [1]


@pytest.mark.parametrize("mode,want", [("nearest", 2.0), ("linear", 2.0), ("cubic", 2.0)])
def test_resize_to_one_element_by_half_pixels_of_pytorch(mode, want):
    """The text: x_original is 0 for a length of 1. The reference says -0.5, which antialiasing and cubic show."""
    x = np.array([[[[2, 4, 6, 11]]]], F)
    size = np.array([1, 1, 1, 1], I64)
    mode = {"mode": mode, "coordinate_transformation_mode": "pytorch_half_pixel"}
    check([np.full((1, 1, 1, 1), want, F)], True, "Resize", [x, None, None, size], 19, constants=(3,), **mode)


@pytest.mark.parametrize("dtype", [F, np.float64])
@pytest.mark.parametrize("rows", [1, 3])
def test_gemm_of_nothing_is_beta_times_c(rows, dtype):
    """The sum over no products is 0; beta * C stays."""
    c = np.array([3, 0.5, -1], dtype)
    a, b = np.zeros((rows, 0), dtype), np.zeros((0, 3), dtype)
    want = np.broadcast_to(c * np.float32(1.5), (rows, 3)).astype(dtype)
    check([want], False, "Gemm", [a, b, c], 13, beta=1.5)


@pytest.mark.parametrize("batch", [(), (2, 3)])
def test_integer_products_over_nothing_are_zero(batch):
    a, b = np.zeros((*batch, 7, 0), np.uint8), np.zeros((*batch, 0, 3), np.uint8)
    model, feeds = one_node("MatMulInteger", [a, b], 10)
    model.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.INT32
    for level in LEVELS:
        np.testing.assert_array_equal(run(sardonyx, model, feeds, level)[0], np.zeros((*batch, 7, 3), I32))


@pytest.mark.parametrize("kind", [F, np.float64, np.float16, np.str_])
def test_what_float8e8m0_cannot_hold_is_nan_without_saturation(kind):
    """The table of Cast: 0, infinity and what is too large or too small is NaN; with saturate the nearest number."""
    tiny = 0.0 if kind == np.float16 else 1e-39
    x = np.array([0, INF, tiny, 4], np.float64 if kind == np.str_ else kind)
    x = np.array(["0", "INF", "1e-39", "4"], object) if kind == np.str_ else x
    node = helper.make_node("Cast", ["x"], ["y"], to=onnx.TensorProto.FLOAT8E8M0, saturate=0, round_mode="nearest")
    source = onnx.TensorProto.STRING if kind == np.str_ else helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    given = helper.make_tensor_value_info("x", source, [4])
    asked = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT8E8M0, [4])
    graph = helper.make_graph([node], "g", [given], [asked])
    for saturate, codes in ((0, [255, 255, 255, 129]), (1, [0, 254, 0, 129])):
        node.attribute[[a.name for a in node.attribute].index("saturate")].i = saturate
        graph.node[0].CopyFrom(node)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=13)
        for level in LEVELS:
            assert run(sardonyx, model, {"x": x}, level)[0].view(np.uint8).tolist() == codes, (saturate, level)


@pytest.mark.parametrize("level", LEVELS)
def test_texts_with_exponents_are_numbers_for_integers_too(level):
    node = helper.make_node("Cast", ["x"], ["y"], to=onnx.TensorProto.INT64)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", onnx.TensorProto.STRING, [3])],
                              [helper.make_empty_tensor_value_info("y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    feeds = {"x": np.array(["1e3", "1e-5", "2.5e1"], object)}
    assert run(sardonyx, model, feeds, level)[0].tolist() == [1000, 0, 25]
    assert run(onnxruntime, model, feeds, level)[0].tolist() == [1, 1, 2]


@pytest.mark.parametrize("level", LEVELS)
def test_one_hot_cuts_indices_to_integers(level):
    model, feeds = one_node("OneHot", [np.array([0, 1.9], F), np.array(3), np.array([0, 1])], 17, constants=(1, 2))
    model.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.INT64
    assert run(sardonyx, model, feeds, level)[0].tolist() == [[1, 0, 0], [0, 1, 0]]
    assert run(onnxruntime, model, feeds, level)[0].tolist() == [[1, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize("largest, want", [(1, [1, 4, 3]), (0, [5, 0, 2])])
def test_top_k_takes_nan_for_the_largest(largest, want):
    x = np.array([1, NAN, 2, INF, NAN, -INF], F)
    model, feeds = one_node("TopK", [x, np.array([3])], 17, 2, constants=(1,), largest=largest)
    assert run(sardonyx, model, feeds)[1].tolist() == want
    assert run(onnxruntime, model, feeds)[1].tolist() != want


@pytest.mark.parametrize("length", [12, 16, 20, 400])
@pytest.mark.parametrize("mean", [-0.5, 2.0])
def test_imaginary_part_of_the_mean_of_a_spectrum(length, mean):
    signal = mean + 0.1 * np.sin(np.arange(1000, dtype=F)).reshape(1, -1, 1)
    model, feeds = one_node("STFT", [signal.astype(F), np.array(4, I64), np.hanning(length).astype(F)], 17)
    theirs = run(onnxruntime, model, feeds)[0][0, :, 0]
    for level in LEVELS:
        real, imaginary = run(sardonyx, model, feeds, level)[0][0, :, 0].T
        assert (np.sign(imaginary) == np.sign(theirs[:, 1])).all(), level
        assert (np.abs(imaginary) <= 1e-6 * np.abs(real)).all(), level
