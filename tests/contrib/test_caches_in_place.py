"""Caches that are bound as input and output: the operator writes its new rows there, and nothing else."""

import numpy as np
import onnx
import pytest
import sardonyx
from node_model import TYPES, run_model
from onnx import helper

HEADS, SIZE, ROWS, PAST, QUERIES = 2, 8, 20, 11, 2
MARK = 7.0  # what lies behind the rows that the caches hold


def random(rng, dtype, *shape):
    return rng.standard_normal(shape).astype(dtype)


def caches(rng, dtype):
    found = [random(rng, dtype, 1, HEADS, ROWS, SIZE) for _ in range(2)]
    for cache in found:
        cache[:, :, PAST:] = MARK
    return found


def group_query(rng, dtype):
    """(operator, inputs, indices of the caches among them, attributes)."""
    x = [random(rng, dtype, 1, QUERIES, HEADS * SIZE) for _ in range(3)]
    total = PAST + QUERIES
    lengths = [np.array([total - 1], np.int32), np.array([total], np.int32)]
    return "GroupQueryAttention", [*x, *caches(rng, dtype), *lengths], (3, 4), {"kv_num_heads": HEADS}


def multi_head(rng, dtype):
    x = [random(rng, dtype, 1, QUERIES, HEADS * SIZE) for _ in range(3)]
    inputs = [*x, None, None, None, *caches(rng, dtype), np.array([PAST], np.int32)]
    return "MultiHeadAttention", inputs, (6, 7), {}


def make_model(op, inputs, attributes, more_nodes=(), more_outputs=()):
    """The operator's model; a dimension of the caches has the same name before and after."""
    dtype = TYPES[inputs[0].dtype]
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    node = helper.make_node(op, names, ["y0", "y1", "y2"], domain="com.microsoft", num_heads=HEADS, **attributes)
    given = [
        helper.make_tensor_value_info(f"x{i}", TYPES[x.dtype], list(x.shape))
        for i, x in enumerate(inputs)
        if x is not None
    ]
    asked = [helper.make_tensor_value_info(name, dtype, None) for name in ("y0", "y1", "y2", *more_outputs)]
    graph = helper.make_graph([node, *more_nodes], "g", given, asked)
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def run_bound(model, inputs, where, outputs=()):
    """Runs with the caches bound as y1 and y2, too; returns y0, the caches, and further outputs."""
    options = sardonyx.SessionOptions()
    options.intra_op_num_threads = 2
    session = sardonyx.InferenceSession(model.SerializeToString(), options)
    binding = session.io_binding()
    held = [sardonyx.OrtValue.ortvalue_from_numpy(inputs[i].copy()) for i in where]
    for i, x in enumerate(inputs):
        if x is None:
            continue
        value = held[where.index(i)] if i in where else sardonyx.OrtValue.ortvalue_from_numpy(x)
        binding.bind_ortvalue_input(f"x{i}", value)
    binding.bind_output("y0")
    for name, value in zip(("y1", "y2"), held, strict=True):
        binding.bind_ortvalue_output(name, value)
    for name in outputs:
        binding.bind_output(name)
    session.run_with_iobinding(binding)
    results = [value.numpy() for value in binding.get_outputs()]
    return [results[0], *(value.numpy() for value in held), *results[3:]]


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("case", [group_query, multi_head])
def test_only_new_rows_are_written(case, dtype):
    op, inputs, where, attributes = case(np.random.default_rng(1), dtype)
    model = make_model(op, inputs, attributes)
    want = run_model(sardonyx, model, inputs)
    got = run_bound(model, inputs, where)
    np.testing.assert_array_equal(got[0], want[0])
    for ours, theirs, old in zip(got[1:], want[1:], (inputs[i] for i in where), strict=True):
        np.testing.assert_array_equal(ours[:, :, : PAST + QUERIES], theirs[:, :, : PAST + QUERIES])
        np.testing.assert_array_equal(ours[:, :, :PAST], old[:, :, :PAST])
        assert (ours[:, :, PAST + QUERIES :] == MARK).all(), "nobody fills the rest with zeros, or copies it"


def test_a_cache_that_others_read_later_stays_until_then():
    """A node behind the attention reads the old cache: the new rows come when it has done so."""
    op, inputs, where, attributes = group_query(np.random.default_rng(2), np.float32)
    sum_of_y = helper.make_node("ReduceSum", ["y0"], ["sum"], keepdims=0)
    old = helper.make_node("Mul", ["x3", "sum"], ["old"])
    model = make_model(op, inputs, attributes, [sum_of_y, old], ["old"])
    want = run_model(sardonyx, model, inputs)
    got = run_bound(model, inputs, where, ["old"])
    for ours, theirs in zip(got, want, strict=True):
        rows = slice(None) if ours.ndim != 4 else (slice(None), slice(None), slice(0, PAST + QUERIES))
        np.testing.assert_array_equal(ours[rows], theirs[rows])


def test_keys_and_values_in_each_others_memory():
    """The caches are bound the wrong way round: nothing is in place, and the results are right."""
    op, inputs, where, attributes = group_query(np.random.default_rng(3), np.float32)
    model = make_model(op, inputs, attributes)
    want = run_model(sardonyx, model, inputs)
    session = sardonyx.InferenceSession(model.SerializeToString())
    binding = session.io_binding()
    held = [sardonyx.OrtValue.ortvalue_from_numpy(inputs[i].copy()) for i in where]
    for i, x in enumerate(inputs):
        value = held[where.index(i)] if i in where else sardonyx.OrtValue.ortvalue_from_numpy(x)
        binding.bind_ortvalue_input(f"x{i}", value)
    binding.bind_output("y0")
    binding.bind_ortvalue_output("y1", held[1])
    binding.bind_ortvalue_output("y2", held[0])
    session.run_with_iobinding(binding)
    for ours, theirs in zip((held[1].numpy(), held[0].numpy()), want[1:], strict=True):
        np.testing.assert_array_equal(ours[:, :, : PAST + QUERIES], theirs[:, :, : PAST + QUERIES])


def scatter_model():
    node = helper.make_node("TensorScatter", ["cache", "update", "at"], ["present"], axis=2)
    given = [
        helper.make_tensor_value_info("cache", onnx.TensorProto.FLOAT, [1, HEADS, ROWS, SIZE]),
        helper.make_tensor_value_info("update", onnx.TensorProto.FLOAT, [1, HEADS, QUERIES, SIZE]),
        helper.make_tensor_value_info("at", onnx.TensorProto.INT64, [1]),
    ]
    asked = [helper.make_tensor_value_info("present", onnx.TensorProto.FLOAT, None)]
    opsets = [helper.make_opsetid("", 24)]
    return helper.make_model(helper.make_graph([node], "g", given, asked), opset_imports=opsets, ir_version=11)


def test_tensor_scatter_writes_its_update():
    rng = np.random.default_rng(4)
    cache, update = random(rng, np.float32, 1, HEADS, ROWS, SIZE), random(rng, np.float32, 1, HEADS, QUERIES, SIZE)
    want = cache.copy()
    want[:, :, PAST : PAST + QUERIES] = update
    session = sardonyx.InferenceSession(scatter_model().SerializeToString())
    binding = session.io_binding()
    held = sardonyx.OrtValue.ortvalue_from_numpy(cache)
    binding.bind_ortvalue_input("cache", held)
    binding.bind_cpu_input("update", update)
    binding.bind_cpu_input("at", np.array([PAST], np.int64))
    binding.bind_ortvalue_output("present", held)
    for _ in range(2):
        session.run_with_iobinding(binding)
        np.testing.assert_array_equal(held.numpy(), want)
