"""com.microsoft SparseAttention and SparseToDenseMatMul, compared with ONNX Runtime and with float64."""

import numpy as np
import onnx
import onnxruntime
import pytest
import sardonyx
from node_model import TYPES, assert_close, node_model
from onnx import helper

F, H, S = np.float32, np.float16, np.int32


def compressed(mask):
    """Row and column indices of masks [layouts, blocks, blocks]."""
    rows = np.concatenate([np.zeros((len(mask), 1), S), np.cumsum(mask.sum(-1), -1)], -1).astype(S)
    most = max(int(rows[:, -1].max()), 1)
    columns = [np.pad(np.nonzero(m)[1], (0, most - int(m.sum())), constant_values=-1) for m in mask]
    return rows, np.array(columns, S)


def rotate(x, positions, cos, sin, interleaved):
    half = cos.shape[1]
    a, b = (
        (x[..., 0 : 2 * half : 2], x[..., 1 : 2 * half : 2])
        if interleaved
        else (x[..., :half], x[..., half : 2 * half])
    )
    c, s = cos[positions][:, None], sin[positions][:, None]
    y = x.copy()
    real, imaginary = a * c - b * s, a * s + b * c
    if interleaved:
        y[..., 0 : 2 * half : 2], y[..., 1 : 2 * half : 2] = real, imaginary
    else:
        y[..., :half], y[..., half : 2 * half] = real, imaginary
    return y


def attend(q, k, v, past_k, past_v, mask, block, lengths, total, rotary=None, interleaved=0):
    """q [batch, queries, heads, size] and so on, in float64; the output and both caches."""
    batch, queries, heads, size = q.shape
    y, present_k, present_v = np.zeros(q.shape), past_k.astype(np.float64), past_v.astype(np.float64)
    for b in range(batch):
        past = 0 if total == queries else lengths[b] - queries
        positions = past + np.arange(queries)
        qb, kb = q[b].astype(np.float64), k[b].astype(np.float64)
        if rotary is not None:
            qb, kb = (rotate(z, positions, *rotary, interleaved) for z in (qb, kb))
        present_k[b, :, positions] = kb
        present_v[b, :, positions] = v[b]
        for h in range(heads):
            keys, values = (p[b, h // (heads // k.shape[2])] for p in (present_k, present_v))
            for i, position in enumerate(positions):
                seen = [t for t in range(position + 1) if mask[h % len(mask), position // block, t // block]]
                scores = np.exp(keys[seen] @ qb[i, h] / np.sqrt(size))
                y[b, i, h] = scores / scores.sum() @ values[seen]
    return y.reshape(batch, queries, -1), present_k, present_v


def run_shared(engine, model, inputs):
    """With the caches as both inputs and outputs, which ONNX Runtime asks for."""
    session = engine.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    binding, values = session.io_binding(), {}
    for i, x in enumerate(inputs):
        if x is not None:
            values[i] = engine.OrtValue.ortvalue_from_numpy(x.copy())
            binding.bind_ortvalue_input(f"x{i}", values[i])
    binding.bind_output("y0")
    binding.bind_ortvalue_output("y1", values[3])
    binding.bind_ortvalue_output("y2", values[4])
    session.run_with_iobinding(binding)
    return [v.numpy().copy() for v in binding.get_outputs()]


@pytest.mark.parametrize(
    "queries,lengths", [(40, [40, 40]), (1, [37, 37]), (1, [37, 20]), (5, [45, 45]), (5, [45, 30])]
)
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("rotary", [None, 0, 1])
@pytest.mark.parametrize("dtype", [F, H])
def test_sparse_attention(queries, lengths, packed, rotary, dtype):
    rng = np.random.default_rng(1)
    batch, heads, kv_heads, size, block, blocks, rows = 2, 4, 2, 16, 16, 4, 50

    def random(*shape):
        return rng.standard_normal(shape).astype(dtype)

    mask = np.tril(rng.random((2, blocks, blocks)) < 0.5)
    mask |= np.eye(blocks, dtype=bool)
    q, k, v = random(batch, queries, heads, size), *(random(batch, queries, kv_heads, size) for _ in range(2))
    past = [random(batch, kv_heads, rows, size) for _ in range(2)]
    total = max(lengths)
    tables = [random(64, size // 2) for _ in range(2)] if rotary is not None else [None, None]
    given = (
        [np.concatenate([q, k, v], 2).reshape(batch, queries, -1), None, None]
        if packed
        else [z.reshape(batch, queries, -1) for z in (q, k, v)]
    )
    inputs = [*given, *past, *compressed(mask), np.array([total], S), np.array(lengths, S), *tables]
    attributes = {
        "num_heads": heads,
        "kv_num_heads": kv_heads,
        "sparse_block_size": block,
        "do_rotary": int(rotary is not None),
        "rotary_interleaved": rotary or 0,
    }
    model = node_model("SparseAttention", inputs, [dtype] * 3, **attributes)
    angles = None if rotary is None else [t.astype(np.float64) for t in tables]
    want = attend(q, k, v, *past, mask, block, lengths, total, angles, rotary)
    got = run_shared(sardonyx, model, inputs)
    bound = 2e-6 if dtype == F else 4e-3
    for i, (ours, exact) in enumerate(zip(got, want, strict=True)):
        assert ours.dtype == dtype
        assert_close(ours, exact, bound, f"output {i} against float64")
    # With rows of different lengths ONNX Runtime 1.31 takes the values of the shorter ones from wrong places.
    peers = run_shared(onnxruntime, model, inputs) if len(set(lengths)) == 1 else got
    for i, (ours, theirs) in enumerate(zip(got, peers, strict=True)):
        assert_close(ours, theirs, bound, f"output {i}")
    session = sardonyx.InferenceSession(model.SerializeToString())
    apart = session.run(None, {f"x{i}": x for i, x in enumerate(inputs) if x is not None})
    for ours, shared in zip(apart, got, strict=True):
        np.testing.assert_array_equal(ours, shared)


@pytest.mark.parametrize(
    "index,value,message",
    [
        (7, np.array([60], S), r"expected a number in \[1, 50\], found 60"),
        (8, np.array([0, 3], S), r"expected lengths in \[1, 20\], found 0"),
        (5, np.array([[0, 1, 0, 2, 3]], S), "rising numbers"),
        (6, np.full((1, 10), 9, S), r"expected blocks in \[0, 3\], found 9"),
        (3, np.zeros((2, 2, 50, 8), F), "expected a query of 4 heads"),
    ],
)
def test_sparse_attention_refuses(index, value, message):
    mask = np.tril(np.ones((1, 4, 4), bool))
    q, kv, past = np.ones((2, 1, 64), F), np.ones((2, 1, 32), F), np.ones((2, 2, 50, 16), F)
    inputs = [q, kv, kv, past, past, *compressed(mask), np.array([20], S), np.array([20, 10], S)]
    inputs[index] = value
    model = node_model("SparseAttention", inputs, [F] * 3, num_heads=4, kv_num_heads=2, sparse_block_size=16)
    with pytest.raises(Exception, match=message):
        sardonyx.InferenceSession(model.SerializeToString()).run(None, {f"x{i}": x for i, x in enumerate(inputs)})


def product(engine, kind, a, b, **attributes):
    """The product of dense matrix `a`, given as a sparse one, and `b`."""
    dtype = TYPES[b.dtype]
    node = helper.make_node("SparseToDenseMatMul", ["a", "b"], ["y"], domain="com.microsoft", **attributes)
    sparse = onnx.ValueInfoProto(name="a")
    sparse.type.CopyFrom(helper.make_sparse_tensor_type_proto(dtype, a.shape))
    graph = helper.make_graph(
        [node],
        "g",
        [sparse, helper.make_tensor_value_info("b", dtype, b.shape)],
        [helper.make_tensor_value_info("y", dtype, None)],
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)], ir_version=10
    )
    session = engine.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    device = engine.OrtDevice.make("cpu", 0)
    rows, columns = np.nonzero(a)
    values = a[rows, columns]
    if kind == "csr":
        starts = np.searchsorted(rows, np.arange(a.shape[0] + 1)).astype(np.int64)
        given = engine.SparseTensor.sparse_csr_from_numpy(
            list(a.shape), values, columns.astype(np.int64), starts, device
        )
    else:
        indices = rows * a.shape[1] + columns if kind == "linear" else np.stack([rows, columns], -1)
        given = engine.SparseTensor.sparse_coo_from_numpy(list(a.shape), values, indices.astype(np.int64), device)
    feeds = {"a": engine.OrtValue.ort_value_from_sparse_tensor(given), "b": engine.OrtValue.ortvalue_from_numpy(b)}
    return session.run_with_ort_values(["y"], feeds)[0].numpy()


@pytest.mark.parametrize("kind", ["csr", "linear", "pairs"])
@pytest.mark.parametrize("dtype", [F, np.float64, np.int32, np.int64, np.uint32, np.uint64])
@pytest.mark.parametrize("trans_a,trans_b", [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_sparse_product(kind, dtype, trans_a, trans_b):
    rng = np.random.default_rng(2)
    a = (rng.integers(1, 9, (5, 7)) * (rng.random((5, 7)) < 0.4)).astype(dtype)
    b = rng.integers(0, 9, (7, 4)).astype(dtype)
    x, y = a.T.copy() if trans_a else a, b.T.copy() if trans_b else b
    got = product(sardonyx, kind, x, y, transA=trans_a, transB=trans_b)
    np.testing.assert_array_equal(got, a @ b, strict=True)
    if kind != "linear" and not trans_a and not trans_b:  # ONNX Runtime refuses the others
        np.testing.assert_array_equal(got, product(onnxruntime, kind, x, y, transA=trans_a, transB=trans_b))


def test_sparse_product_scales_and_refuses():
    a, b = np.diag([1, 2, 3]).astype(F), np.arange(6).reshape(3, 2).astype(F)
    np.testing.assert_array_equal(product(sardonyx, "pairs", a, b, alpha=0.5), 0.5 * a @ b)
    with pytest.raises(Exception, match="inner dimensions differ"):
        product(sardonyx, "pairs", a, b[:2])
