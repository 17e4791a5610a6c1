"""Operators as models of old opsets spell and mean them; and that no version of the standard is missing.

What ONNX Runtime has no kernel for is compared with NumPy alone, all else with both.
"""
import pathlib
import re

import numpy as np
import onnx
import onnxruntime
import pytest
import sardonyx
from onnx import TensorProto, helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
F = np.float32
LEVELS = ["ORT_DISABLE_ALL", "ORT_ENABLE_ALL"]
RNG = np.random.default_rng(0)


def real(*shape):
    return RNG.standard_normal(shape).astype(F)


def ints(*values):
    return np.array(values, np.int64)


A, B, X, Z = real(2, 3, 4, 5), real(3, 4), real(2, 3, 2, 2), real(2, 3, 4)
P, Q, SEQUENCE = real(3, 4), real(4, 5), real(4, 2, 3)
BOOLS, THREE = RNG.integers(0, 2, (2, 3)).astype(bool), RNG.integers(0, 3, (2, 3))
STATS = [np.abs(real(3)) + F(0.1) for _ in range(4)]
EACH = [np.abs(real(3, 2, 2)) + F(0.1) for _ in range(4)]


def normalized(x, scale, bias, mean, var):
    scale, bias, mean, var = (v.reshape(3, *v.shape[1:] or (1, 1)) for v in (scale, bias, mean, var))
    return (x - mean) / np.sqrt(var + 1e-5) * scale + bias


def softmax(x, axis):
    rows = np.exp(x.reshape(int(np.prod(x.shape[:axis])), -1))
    return (rows / rows.sum(1, keepdims=True)).reshape(x.shape)


def moments(x, axes, divides=True):
    centred = x - x.mean(axes, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axes, keepdims=True)) if divides else centred


def recurrent(op, gates):
    weights = [real(1, gates * 5, 3), real(1, gates * 5, 5), real(1, gates * 10)]
    data = model(op, [SEQUENCE, *weights], 7, 2, hidden_size=5)
    return [SEQUENCE, *weights], run(onnxruntime, *data)


def model(op, inputs, opset, outputs=1, constants=(), types=None, **attributes):
    names = ["" if x is None else f"x{i}" for i, x in enumerate(inputs)]
    kinds = [helper.np_dtype_to_tensor_dtype(x.dtype) for x in inputs]
    given = [helper.make_tensor_value_info(name, kind, x.shape)
             for name, kind, x in zip(names, kinds, inputs, strict=True)]
    node = helper.make_node(op, names, [f"y{i}" for i in range(outputs)], **attributes)
    types = types or kinds[:1] * outputs
    results = [helper.make_tensor_value_info(f"y{i}", types[i], None) for i in range(outputs)]
    weights = [onnx.numpy_helper.from_array(inputs[i], names[i]) for i in constants]
    graph = helper.make_graph([node], "g", given, results, weights)
    feeds = {name: x for i, (name, x) in enumerate(zip(names, inputs, strict=True)) if i not in constants}
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=3), feeds


def run(engine, made, feeds, level="ORT_ENABLE_ALL"):
    options = engine.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = getattr(engine.GraphOptimizationLevel, level)
    return engine.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(
        None, feeds)


BOOL, INT64, INT32, FLOAT = TensorProto.BOOL, TensorProto.INT64, TensorProto.INT32, TensorProto.FLOAT
UP = np.repeat(np.repeat(X, 2, 2), 3, 3)
TOP = [np.sort(Z, -1)[..., ::-1][..., :2], np.argsort(-Z, -1)[..., :2]]
LSTM, GRU, RNN = recurrent("LSTM", 4), recurrent("GRU", 3), recurrent("RNN", 1)
PADDED = np.pad(Z, ((0, 0), (1, 0), (0, 2)), constant_values=3)

# Operator, opset, inputs, attributes (and how the model is made), what is expected.
CASES = [
    ("Gemm", 1, [P, Q, np.arange(5, dtype=F)], {"broadcast": 1}, P @ Q + np.arange(5)),
    ("Gemm", 6, [P, Q, np.ones((3, 5), F)], {"alpha": 2.0, "beta": 3.0}, 2 * (P @ Q) + 3),
    ("Gemm", 7, [P, Q, np.arange(5, dtype=F)], {}, P @ Q + np.arange(5)),
    ("BatchNormalization", 1, [X, *STATS], {"consumed_inputs": [0, 0, 0, 1, 1], "is_test": 1}, normalized(X, *STATS)),
    ("BatchNormalization", 6, [X, *STATS], {"is_test": 1}, normalized(X, *STATS)),
    ("BatchNormalization", 6, [X, *EACH], {"is_test": 1, "spatial": 0}, normalized(X, *EACH)),
    ("BatchNormalization", 7, [X, *EACH], {"spatial": 0}, normalized(X, *EACH)),
    ("BatchNormalization", 7, [X, *STATS], {}, normalized(X, *STATS)),
    ("BatchNormalization", 9, [X, *STATS], {}, normalized(X, *STATS)),
    ("Dropout", 1, [X], {"is_test": 1, "consumed_inputs": [0]}, X),
    ("Dropout", 6, [X], {"is_test": 1}, X),
    ("Dropout", 7, [X], {"ratio": 0.3}, X),
    ("Reshape", 1, [Z], {"shape": [4, -1]}, Z.reshape(4, 6)),
    ("Reshape", 1, [Z], {"shape": [0, -1]}, Z.reshape(2, 12)),
    ("Pad", 1, [Z], {"paddings": [0, 1, 0, 0, 0, 2], "value": 3.0}, PADDED),
    ("Pad", 2, [Z], {"pads": [0, 1, 0, 0, 0, 2], "value": 3.0}, PADDED),
    ("Pad", 2, [Z], {"pads": [0, -1, 0, 0, 0, 0]}, Z[:, 1:]),
    ("Split", 1, [Z, np.array([1, 2], F)], {"axis": 1, "outputs": 2, "constants": [1]}, [Z[:, :1], Z[:, 1:]]),
    ("Split", 1, [Z], {"axis": 1, "split": [1, 2], "outputs": 2}, [Z[:, :1], Z[:, 1:]]),
    ("Split", 2, [Z], {"outputs": 2}, [Z[:1], Z[1:]]),
    ("TopK", 1, [Z], {"k": 2, "outputs": 2, "types": [FLOAT, INT64]}, TOP),
    ("TopK", 10, [Z, ints(2)], {"outputs": 2, "constants": [1], "types": [FLOAT, INT64]}, TOP),
    ("Cast", 1, [Z], {"to": "INT32", "types": [INT32]}, Z.astype(np.int32)),
    ("Cast", 6, [Z], {"to": INT32, "types": [INT32]}, Z.astype(np.int32)),
    ("Concat", 1, [Z, Z], {}, np.concatenate([Z, Z], 1)),
    ("Concat", 4, [Z, Z], {"axis": 2}, np.concatenate([Z, Z], 2)),
    ("Tile", 1, [Z, np.array([2], F), np.array([1], F)], {"constants": [1, 2]}, np.tile(Z, (1, 2, 1))),
    ("Tile", 6, [Z, ints(1, 2, 1)], {}, np.tile(Z, (1, 2, 1))),
    ("Scatter", 9, [np.zeros((3, 3), F), ints([1, 0, 2]), np.array([[1, 2, 3]], F)], {},
     np.array([[0, 2, 0], [1, 0, 0], [0, 0, 3]], F)),
    ("Upsample", 1, [X], {"height_scale": 2.0, "width_scale": 3.0}, UP),
    ("Upsample", 7, [X], {"scales": [1.0, 1.0, 2.0, 3.0]}, UP),
    ("Upsample", 9, [X, np.array([1, 1, 2, 3], F)], {"constants": [1]}, UP),
    ("PRelu", 1, [A, np.array([0.5], F)], {}, np.where(A > 0, A, A / 2)),
    ("PRelu", 6, [A, np.array([1, 2, 3], F)], {}, np.where(A > 0, A, A * np.array([1, 2, 3], F).reshape(3, 1, 1))),
    ("Pow", 1, [np.abs(A), np.array([2], F)], {"broadcast": 1}, A**2),
    ("Clip", 1, [Z], {"min": -0.5, "max": 0.5, "consumed_inputs": [0]}, np.clip(Z, -0.5, 0.5)),
    ("Clip", 6, [Z], {"min": -0.5}, np.maximum(Z, -0.5)),
    ("Selu", 1, [Z], {}, np.where(Z > 0, 1.0507 * Z, 1.0507 * 1.6732 * (np.exp(Z) - 1))),
    ("Squeeze", 1, [Z[None]], {"axes": [0]}, Z),
    ("Unsqueeze", 1, [Z], {"axes": [1]}, Z[:, None]),
    ("Slice", 1, [Z], {"starts": [0, 1], "ends": [1, 99]}, Z[:1, 1:]),
    ("Flatten", 1, [Z], {}, Z.reshape(2, 12)),
    ("ReduceSum", 1, [Z], {"axes": [1, 2]}, Z.sum((1, 2), keepdims=True)),
    ("ReduceMax", 1, [Z], {"axes": [1], "keepdims": 0}, Z.max(1)),
    ("ArgMax", 1, [Z], {"axis": 1, "types": [INT64]}, Z.argmax(1)[:, None]),
    ("GlobalLpPool", 1, [X], {"p": 2.0}, np.sqrt((X**2).sum((2, 3), keepdims=True))),
    ("LpPool", 1, [X], {"p": 2.0, "kernel_shape": [2, 2]}, np.sqrt((X**2).sum((2, 3), keepdims=True))),
    ("AveragePool", 1, [X], {"kernel_shape": [2, 2]}, X.mean((2, 3), keepdims=True)),
    ("LSTM", 1, LSTM[0], {"hidden_size": 5, "outputs": 2, "output_sequence": 1}, LSTM[1]),
    ("GRU", 1, GRU[0], {"hidden_size": 5, "outputs": 2, "output_sequence": 1}, GRU[1]),
    ("GRU", 3, GRU[0], {"hidden_size": 5, "outputs": 2, "output_sequence": 1}, GRU[1]),
    ("RNN", 1, RNN[0], {"hidden_size": 5, "outputs": 2, "output_sequence": 1}, RNN[1]),
    ("MeanVarianceNormalization", 1, [X], {}, moments(X, (0, 2, 3))),
    ("MeanVarianceNormalization", 8, [X], {"across_channels": 1}, moments(X, (0, 1, 2, 3))),
    ("MeanVarianceNormalization", 8, [X], {"normalize_variance": 0}, moments(X, (0, 2, 3), False)),
    ("MeanVarianceNormalization", 8, [Z], {}, moments(Z, (0, 2))),
    ("MeanVarianceNormalization", 8, [P], {"across_channels": 1}, moments(P, (0, 1))),
    ("MeanVarianceNormalization", 9, [X], {}, moments(X, (0, 2, 3))),
    ("ThresholdedRelu", 1, [Z], {"alpha": 0.3}, np.where(F(0.3) < Z, Z, 0)),
    ("ThresholdedRelu", 9, [Z], {}, np.where(Z > 1, Z, 0)),
]
for _op, _function in (("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply), ("Div", np.divide)):
    CASES += [(_op, version, [A, B], {"broadcast": 1, "axis": 1}, _function(A, B[None, :, :, None]))
              for version in (1, 6)]
    CASES.append((_op, 6, [A, A[0, 0] + 9], {"broadcast": 1}, _function(A, A[0, 0] + 9)))
    CASES.append((_op, 1, [Z, Z], {"consumed_inputs": [0, 0]}, _function(Z, Z)))
for _op, _function in (("And", np.logical_and), ("Or", np.logical_or), ("Xor", np.logical_xor)):
    CASES.append((_op, 1, [BOOLS, BOOLS[:, 0]], {"broadcast": 1, "axis": 0}, _function(BOOLS, BOOLS[:, :1])))
CASES.append(("Equal", 1, [THREE, THREE[0]], {"broadcast": 1, "types": [BOOL]}, THREE[0] == THREE))
CASES.append(("Greater", 1, [Z, Z[0, 0]], {"broadcast": 1, "types": [BOOL]}, Z[0, 0] < Z))
CASES.append(("Less", 1, [Z, Z[0, 0]], {"broadcast": 1, "types": [BOOL]}, Z[0, 0] > Z))
for _version in (1, 11):
    CASES.append(("Softmax", _version, [Z], {}, softmax(Z, 1)))
    CASES.append(("Softmax", _version, [Z], {"axis": 0}, softmax(Z, 0)))
    CASES.append(("LogSoftmax", _version, [Z], {"axis": 2}, np.log(softmax(Z, 2))))
for _version in (1, 6):
    for _op, _function in (("Sum", np.add), ("Max", np.maximum), ("Min", np.minimum)):
        CASES.append((_op, _version, [Z, Z[::-1].copy()], {}, _function(Z, Z[::-1])))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def test_old_version(case):
    op, opset, inputs, attributes, want = case
    made, feeds = model(op, inputs, opset, **attributes)
    try:
        theirs = run(onnxruntime, made, feeds)
    except Exception:  # it has no kernel for many first versions
        theirs = None
    wanted = want if isinstance(want, list) else [want]
    for level in LEVELS:
        ours = run(sardonyx, made, feeds, level)
        for expected in (wanted, theirs or []):
            for got, one in zip(ours, expected, strict=bool(expected)):
                assert got.shape == one.shape
                np.testing.assert_allclose(got, one, rtol=1e-4, atol=1e-5, err_msg=level)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("slope", [np.array([0.5], F), np.array([1, 2, 3], F), np.array([1, 2, 3], F).reshape(3, 1)])
def test_a_slope_whose_rank_is_not_declared(slope, level):
    made, feeds = model("PRelu", [Z, slope], 6)
    for value in made.graph.input:
        value.type.tensor_type.ClearField("shape")
    want = np.where(Z > 0, Z, Z * slope.reshape(-1, 1))
    np.testing.assert_array_equal(run(sardonyx, made, feeds, level)[0], want)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("kind", [TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E5M2])
@pytest.mark.parametrize("opset", [19, 21])
def test_integers_quantized_to_float8(opset, kind, level):
    """Scales of int32, which newer versions lack; float8 takes the quotient without rounding it to an integer."""
    x = np.array([-7, -2, 0, 1, 3, 2**31 - 1], np.int32)
    node = helper.make_node("QuantizeLinear", ["x", "s", "z"], ["y"])
    weights = [onnx.numpy_helper.from_array(np.array(2, np.int32), "s"), helper.make_tensor("z", kind, [], [0])]
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", INT32, x.shape)],
                              [helper.make_tensor_value_info("y", kind, None)], weights)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    (y,) = run(sardonyx, made, {"x": x}, level)
    largest = {TensorProto.FLOAT8E4M3FN: 448, TensorProto.FLOAT8E5M2: 57344}[kind]
    np.testing.assert_array_equal(y.astype(F), np.array([-3.5, -1, 0, 0.5, 1.5, largest], F))


def test_no_version_of_the_standard_is_missing():
    """docs/operators.md, which is generated from the table of operators, against all schemas of the package onnx."""
    has, domain = {}, ""
    for line in (ROOT / "docs/operators.md").read_text().splitlines():
        if line.startswith("## "):
            domain = line[3:].strip()
        elif found := re.match(r"\| (\w+) \| ([\d, ]+) \|", line):
            has.setdefault((domain, found[1]), set()).update(map(int, found[2].split(",")))
    missing = {(schema.domain or "ai.onnx", schema.name, schema.since_version)
               for schema in onnx.defs.get_all_schemas_with_history()
               if schema.since_version not in has.get((schema.domain or "ai.onnx", schema.name), ())}
    # A function of the standard that runs as its body does; and the operator that awaits its derivatives.
    assert missing <= {("ai.onnx", "SwiGLU", 28), ("ai.onnx.preview.training", "Gradient", 1)}
