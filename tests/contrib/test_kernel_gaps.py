"""Operators of ONNX Runtime that had a kernel there and not here, found by tests/schema/test_kernel_types.py."""

import numpy as np
import onnx
import onnxruntime
import pytest
import sardonyx
from onnx import TensorProto, helper
from onnx.parser import parse_graph

F = np.float32


def run(engine, model, feeds):
    options = engine.SessionOptions()
    options.log_severity_level = 4
    session = engine.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def model_of(text):
    graph = parse_graph(text)
    for node in graph.node:
        if node.op_type.startswith("QLinear"):
            node.domain = "com.microsoft"
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


@pytest.mark.parametrize("op", ["MemcpyFromHost", "MemcpyToHost"])
@pytest.mark.parametrize("dtype", [F, np.int64, np.bool_, np.float16])
def test_copies_between_devices(op, dtype):
    x = np.arange(6).reshape(2, 3).astype(dtype)
    kind = onnx.helper.np_dtype_to_tensor_dtype(x.dtype)
    given = helper.make_tensor_value_info("x", kind, ["n", 3])
    for nodes in ([("x", "y")], [("x", "a"), ("a", "y")]):
        graph = helper.make_graph(
            [helper.make_node(op, [a], [b]) for a, b in nodes],
            "g",
            [given],
            [helper.make_tensor_value_info("y", kind, None)],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        np.testing.assert_array_equal(run(sardonyx, model, {"x": x})[0], x)


def test_copy_of_a_sequence():
    model = model_of("g (seq(float[]) x) => (seq(float[]) y) { y = MemcpyFromHost(x) }")
    x = [np.ones(3, F), np.zeros((2, 2), F)]
    (y,) = run(sardonyx, model, {"x": x})
    for ours, want in zip(y, x, strict=True):
        np.testing.assert_array_equal(ours, want)


@pytest.mark.parametrize("kind", ["uint8", "int8"])
@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (1, 4, 7), (2, 2, 3, 2, 3)])
def test_global_means_of_unknown_rank(kind, last, shape):
    text = (
        f"g ({kind}[] x) => ({kind}[] y) <float s = {{0.05}}, {kind} z = {{3}}, float t = {{0.04}}, {kind} w = {{5}}> "
        f"{{ y = QLinearGlobalAveragePool <channels_last = {last}> (x, s, z, t, w) }}"
    )
    model = model_of(text)
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.ClearField("shape")
    low = -128 if kind == "int8" else 0
    x = np.random.default_rng(1).integers(low, low + 256, shape).astype(kind)
    axes = tuple(range(1, len(shape) - 1)) if last else tuple(range(2, len(shape)))
    real = ((x.astype(float) - 3) * 0.05).mean(axes, keepdims=True)
    (y,) = run(sardonyx, model, {"x": x})
    assert y.shape == real.shape
    assert np.abs(y - np.clip(np.rint(real / 0.04) + 5, low, low + 255)).max() <= 1
    np.testing.assert_array_equal(y, run(onnxruntime, model, {"x": x})[0])
    with pytest.raises(Exception, match=r"expected an input \[N, C, \.\.\.\], found u?int8\[3,4\]"):
        run(sardonyx, model, {"x": np.zeros((3, 4), kind)})


def test_deviations_of_doubles_are_floats_unless_the_node_says_else():
    for stash, dtype in ((TensorProto.FLOAT, F), (None, F), (TensorProto.DOUBLE, np.float64)):
        attribute = "" if stash is None else f" <stash_type = {stash}>"
        model = model_of(f"g (double[2,4] x, double[4] s) => (double[] y, float[] i) {{ "
                         f"y, i = SimplifiedLayerNormalization{attribute}(x, s) }}")  # fmt: skip
        model.graph.output[1].ClearField("type")
        x = np.arange(8.0).reshape(2, 4)
        y, i = run(sardonyx, model, {"x": x, "s": np.ones(4)})
        exact = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)
        assert i.dtype == dtype
        np.testing.assert_allclose(i, exact, rtol=1e-6)
        np.testing.assert_allclose(y, x * exact, rtol=1e-12)
        if dtype == F:
            np.testing.assert_allclose(i, run(onnxruntime, model, {"x": x, "s": np.ones(4)})[1], rtol=1e-6)


LAYERS = {"LayerNormalization": 17, "RMSNormalization": 23, "SimplifiedLayerNormalization": 17}


@pytest.mark.parametrize("op", LAYERS)
@pytest.mark.parametrize("axis", [-1, 1])
@pytest.mark.parametrize("shape", [(2, 3, 4), (2, 1, 4), (2, 1, 1), (3, 1), (1, 3, 1), (3, 4), (4,), (1,), ()])
@pytest.mark.parametrize("dtype", ["float", "double", "float16"])
def test_scales_of_rows(op, axis, shape, dtype):
    """The scale may be of any shape that broadcasts to X, not only to what is normalized."""
    kind = {"float": F, "double": np.float64, "float16": np.float16}[dtype]
    graph = parse_graph(f"g ({dtype}[2,3,4] x, {dtype}[{','.join(map(str, shape))}] s) => ({dtype}[] y) {{ "
                        f"y = {op} <axis = {axis}> (x, s) }}")  # fmt: skip
    graph.output[0].type.tensor_type.ClearField("shape")
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", LAYERS[op])], ir_version=10)
    rng = np.random.default_rng(2)
    x, s = rng.standard_normal((2, 3, 4)).astype(kind), np.asarray(rng.standard_normal(shape)).astype(kind)
    axes = tuple(range(axis % 3, 3))
    wide = x.astype(float)
    wide = wide - wide.mean(axes, keepdims=True) if op == "LayerNormalization" else wide
    want = wide / np.sqrt((wide * wide).mean(axes, keepdims=True) + 1e-5) * s
    (y,) = run(sardonyx, model, {"x": x, "s": s})
    np.testing.assert_allclose(y, want, rtol=0, atol={"float": 1e-6, "double": 1e-7, "float16": 4e-3}[dtype])


def test_scale_that_does_not_broadcast():
    model = model_of("g (float[2,3,4] x, float[2,4] s) => (float[2,3,4] y) { y = LayerNormalization(x, s) }")
    with pytest.raises(Exception, match=r"broadcast to the input \[2, 3, 4\], found \[2, 4\]"):
        run(sardonyx, model, {"x": np.ones((2, 3, 4), F), "s": np.ones((2, 4), F)})


@pytest.mark.parametrize("sizes", [(3, 2), (1, 4), (5, 1)])
@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 1), (3,)])
@pytest.mark.parametrize("dtype", [F, np.float64, np.int32, np.int64])
def test_features_of_other_sizes_than_the_node_says(sizes, shape, dtype):
    x = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    z = (np.arange(2 * len(x) if len(shape) > 1 else 2).reshape(-1, 2) + 10).astype(dtype)
    kind = helper.np_dtype_to_tensor_dtype(x.dtype)
    node = helper.make_node("FeatureVectorizer", ["x", "z"], ["y"], domain="ai.onnx.ml", inputdimensions=sizes)
    given = [helper.make_tensor_value_info(name, kind, v.shape) for name, v in (("x", x), ("z", z))]
    asked = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "g", given, [asked])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    (y,) = run(sardonyx, model, {"x": x, "z": z})
    rows = [v.reshape(len(z), -1) for v in (x, z)]
    want = [np.pad(v, ((0, 0), (0, n)))[:, :n] for v, n in zip(rows, sizes, strict=True)]
    np.testing.assert_array_equal(y, np.concatenate(want, 1))
    np.testing.assert_array_equal(y, run(onnxruntime, model, {"x": x, "z": z})[0])
