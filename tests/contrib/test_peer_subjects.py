"""What ONNX Runtime's tests of its own operators are about, where the other tests of this folder have no case of it.

`peer_subjects.tsv` names the subject of each peer test and the test of ours that has it."""

import ml_dtypes
import numpy as np
import onnxruntime
import pytest
import sardonyx
from node_model import assert_close, compare, node_model, run_model
from onnx import TensorProto
from test_gates import engram
from test_gpu_products import gelu_tanh
from test_sparse import attend, compressed, run_shared
from test_twins import experiment

F, D, H, S, L = np.float32, np.float64, np.float16, np.int32, np.int64


def random(rng, *shape):
    return rng.standard_normal(shape).astype(F)


def same(op, inputs, outputs, **attributes):
    model = node_model(op, inputs, outputs, **attributes)
    got, want = (run_model(engine, model, inputs) for engine in (sardonyx, onnxruntime))
    for ours, theirs in zip(got, want, strict=True):
        np.testing.assert_array_equal(ours, theirs, strict=True)
    return got


def words(*values):
    return np.array(values, object)


# ---- CropAndResize


def crop(box, size=(2, 2), mode="bilinear", value=5.5):
    x = np.array([[1, 2], [3, 4]], F).reshape(1, 1, 2, 2)
    inputs = [x, np.array([box], F), np.zeros(1, S), np.array(size, S)]
    return same("CropAndResize", inputs, [F], mode=mode, extrapolation_value=value)[0]


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("axis", [0, 1])
def test_crops_of_no_place_are_the_extrapolation_value(mode, bad, axis):
    box = [0, 0, 1, 1]
    box[axis] = box[axis + 2] = bad
    np.testing.assert_array_equal(crop(box, mode=mode), np.full((1, 1, 2, 2), 5.5))


def test_crops_at_and_just_beyond_the_border():
    np.testing.assert_array_equal(crop([0, 0, 1, 1])[0, 0], [[1, 2], [3, 4]])
    np.testing.assert_array_equal(crop([0, 0, 1.0001, 1.0001])[0, 0], [[1, 5.5], [5.5, 5.5]])


@pytest.mark.parametrize("channels,batch", [(1, 1), (2, 1), (1, 2)])
@pytest.mark.parametrize("size", [(1, 1), (2, 2)])
def test_crops_of_images_and_channels(channels, batch, size):
    rng = np.random.default_rng(1)
    boxes = np.array([[0, 0, 1, 1], [0, 0, 0.5, 0.5], [0, 0, 0.5, 1]], F)
    inputs = [random(rng, batch, channels, 3, 3), boxes, np.array([0, batch - 1, batch - 1], S), np.array(size, S)]
    compare("CropAndResize", inputs, [F])


# ---- Crop, DynamicSlice, ImageScaler of the standard domain's experiments


@pytest.mark.parametrize(
    "attributes,shape",
    [
        ({"border": [1, 1, 1, 1]}, (2, 2)),
        ({"border": [1, 1, 1, 1], "scale": [2, 2]}, (2, 2)),
        ({"border": [1, 1, 5, 5], "scale": [2, 2]}, (2, 2)),  # the right and lower borders do not count
        ({"border": [4, 4, 0, 0], "scale": [0, 0]}, (0, 0)),
    ],
)
def test_crop(attributes, shape):
    x = np.arange(16, dtype=F).reshape(1, 1, 4, 4)
    got = experiment("Crop", x, **attributes)
    left, top = attributes["border"][:2]
    np.testing.assert_array_equal(got, x[:, :, top : top + shape[0], left : left + shape[1]])


@pytest.mark.parametrize(
    "attributes,message",
    [
        ({"border": [1, 1, 1, 1], "scale": [2]}, "'scale': expected 2 values, found 1"),
        ({"border": [0, -1, 0, 0]}, "found -1"),
        ({"border": [0, 0, 0, 0], "scale": [-1, 1]}, "found -1"),
        ({"border": [5, 0, 0, 0]}, "width of at least 5, found 4"),
        ({"border": [0, 5, 0, 0]}, "height of at least 5, found 4"),
        ({"border": [3, 3, 0, 0], "scale": [2, 2]}, "of at least 5, found 4"),
        ({"border": [0, 2**63 - 1, 0, 1]}, "'border'|height"),
    ],
)
def test_crop_refuses(attributes, message):
    with pytest.raises(Exception, match=f"Crop.*({message})"):
        experiment("Crop", np.zeros((1, 1, 4, 4), F), **attributes)


CUBE = np.arange(27).reshape(3, 3, 3)


@pytest.mark.parametrize("index", [S, L])
@pytest.mark.parametrize(
    "parts",
    [
        [[1, 1], [3, 3]],
        [[1], [2], [2]],
        [[1], [-1], [1]],
        [[-3, 0], [-1, 2], [0, 2]],
        [[0, -2], [2, 1000], [1, 2]],
        [[1, 0, 1], [2, 1, 3], [2, 0, 1]],
    ],
)
@pytest.mark.parametrize("dtype", [S, L, F, bool])
def test_dynamic_slice_of_types_and_axes(index, parts, dtype):
    x = (CUBE % 2 == 0) if dtype is bool else CUBE.astype(dtype)
    extra = [np.array(p, index) for p in parts]
    np.testing.assert_array_equal(
        experiment("DynamicSlice", x, extra=extra), experiment("DynamicSlice", x, onnxruntime, extra=extra)
    )


def test_dynamic_slice_of_texts():
    x = words(*"abcdefghi").reshape(3, 3)
    got = experiment("DynamicSlice", x, extra=[np.array([1, 1]), np.array([3, 3])])
    np.testing.assert_array_equal(got, [["e", "f"], ["h", "i"]])


# ---- Indices: GatherND, Unique, Range, ExpandDims


@pytest.mark.parametrize("index", [S, L])
@pytest.mark.parametrize("dtype", [F, D, L, np.int8, np.int16, np.uint32, bool, object])
@pytest.mark.parametrize(
    "indices", [[0, 1], [[0, 0], [1, 1]], [[1], [0]], [[[0, 0]], [[0, 1]]], [[[1]], [[0]]], [[1, 1]]]
)
def test_gather_nd_of_types(index, dtype, indices):
    x = words("ab", "cde", "f", "").reshape(2, 2) if dtype is object else np.array([[1, 0], [2, 3]]).astype(dtype)
    ids = np.array(indices, index)
    want = x[tuple(np.moveaxis(ids, -1, 0))]
    (got,) = run_model(sardonyx, node_model("GatherND", [x, ids], [x.dtype]), [x, ids])
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("values", [[2, 1, 1, 3, 4, 3] * 2, [2, 3]])
def test_unique_counts(values):
    x = np.array(values, F)
    unique, places, counts = same("Unique", [x], [F, L, L])
    np.testing.assert_array_equal(unique[places], x)
    assert counts.sum() == x.size and len(unique) == len(set(values))


@pytest.mark.parametrize(
    "dtype,numbers", [(S, (0, 10, 2)), (S, (0, 9, 2)), (S, (2, -9, -2)), (F, (2, -8.1, -2)), (S, (0, 5, None))]
)
@pytest.mark.parametrize("shape", [(), (1,)])
def test_range_up_and_down(dtype, numbers, shape):
    inputs = [None if n is None else np.array(n, dtype).reshape(shape) for n in numbers]
    (got,) = same("Range", inputs, [dtype])
    np.testing.assert_array_equal(got, np.arange(*[n for n in numbers if n is not None], dtype=dtype))


# ---- Pools


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("channels", [1, 2, 15, 16, 17, 31, 33, 64, 93])
@pytest.mark.parametrize(
    "shape,attributes",
    [
        ((1, 23), {"kernel_shape": [5], "pads": [2, 2]}),
        ((1, 15, 19), {"kernel_shape": [3, 5], "pads": [1, 1, 1, 1]}),
        ((1, 5, 7, 8), {"kernel_shape": [2, 4, 6], "pads": [0, 0, 0, 1, 1, 1]}),
        ((2, 9, 8), {"kernel_shape": [3, 3], "strides": [2, 2]}),
        ((2, 9, 8), {"kernel_shape": [3, 3], "dilations": [2, 2]}),
    ],
)
def test_nhwc_max_pool_of_channels_and_ranks(dtype, channels, shape, attributes):
    rng = np.random.default_rng(3)
    low, high = (-128, 128) if dtype == np.int8 else (0, 256)
    same("NhwcMaxPool", [rng.integers(low, high, (*shape, channels)).astype(dtype)], [dtype], **attributes)


# ---- Products


@pytest.mark.parametrize("a,b", [((1, 1), (1, 1)), ((1, 2), (2, 1)), ((3, 2), (2, 4)), ((1, 7), (7, 1))])
def test_integer16(a, b):
    rng = np.random.default_rng(4)
    x, y = (rng.integers(-32768, 32768, shape).astype(np.int16) for shape in (a, b))
    y //= 16  # sums of int32 overflow otherwise
    (got,) = same("MatMulInteger16", [x, y], [S])
    np.testing.assert_array_equal(got, x.astype(L) @ y.astype(L))


# ---- Tokens


@pytest.mark.parametrize("dtype", [S, L])
def test_hashes_of_negative_ids(dtype):
    ids, multipliers, sizes = np.array([[-5, 7, -3, 2]]), np.array([11, 13, 17]), np.array([101, 103, 107, 109])
    attributes = {"max_ngram_size": 3, "n_head_per_ngram": 2, "pad_id": -4}
    inputs = [ids.astype(dtype), multipliers.astype(dtype), sizes.astype(dtype)]
    hashes, present = same("NGramHashMapping", inputs, [dtype, dtype], **attributes)
    padded = np.concatenate([np.full((1, 2), -4), ids], 1)[0]
    for t in range(4):
        mixes = np.bitwise_xor.accumulate(padded[t : t + 3][::-1] * multipliers)[1:]
        assert hashes[0, t].tolist() == (np.repeat(mixes, 2) % sizes).tolist()
    assert present.tolist() == [[-3, 2]]


@pytest.mark.parametrize("dtype", [S, L])
def test_hashes_of_chunks_are_those_of_the_whole(dtype):
    rng = np.random.default_rng(5)
    ids = rng.integers(0, 9, (2, 7)).astype(dtype)
    rest = [np.array([11, 13, 17], dtype), np.array([101, 103, 107, 109], dtype)]
    attributes = {"max_ngram_size": 3, "n_head_per_ngram": 2, "pad_id": 9}
    whole, _ = same("NGramHashMapping", [ids, *rest], [dtype, dtype], **attributes)
    past, parts = None, []
    for begin, end in [(0, 2), (2, 3), (3, 3), (3, 7)]:
        inputs = [ids[:, begin:end], *rest] + ([] if past is None else [past])
        part, past = same("NGramHashMapping", inputs, [dtype, dtype], **attributes)
        parts.append(part)
    np.testing.assert_array_equal(np.concatenate(parts, 1), whole)


def test_bifurcation_of_nothing_in_common_and_of_all():
    source = np.array([756, 194, 39, 1015, 5529, 1216, 24, 72, 23, 1976])
    for current in ([2], [2, 756, 194, 39, 8155, 23]):
        same("BifurcationDetector", [source, np.array(current), np.array(0), None], [L, L])
    small = np.array([1, 5, 3, 4])
    tokens, match = same("BifurcationDetector", [small, np.array([2]), np.array(0), np.append(small, 2)], [L, L])
    assert tokens.tolist() == [2, 1, 5, 3, 4, 2] and match == -1


# ---- Gates and branches


KINDS = {F: TensorProto.FLOAT, H: TensorProto.FLOAT16, ml_dtypes.bfloat16: TensorProto.BFLOAT16}


def run_in(kind, op, inputs, count=1, **attributes):
    """Outputs with all inputs of the type, bfloat16 too, which NumPy lacks; as floats."""
    model = node_model(op, [x if x is None else x.astype(F) for x in inputs], [F] * count, **attributes)
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.elem_type = KINDS[kind]
    session = sardonyx.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    given = {i: x for i, x in enumerate(inputs) if x is not None}
    values = {f"x{i}": sardonyx.OrtValue.ortvalue_from_numpy_with_onnx_type(x, KINDS[kind]) for i, x in given.items()}
    results = [y.numpy() for y in session.run_with_ort_values(None, values)]
    return [(y if y.dtype == kind else y.view(kind)).astype(F) for y in results]


@pytest.mark.parametrize("rows,size", [((2, 3), 7), ((1, 4), 2048)])
@pytest.mark.parametrize("dtype", KINDS)
def test_gated_add_of_types(rows, size, dtype):
    """A product and a sum, each rounded to the type, as ONNX Runtime's test has it."""
    rng = np.random.default_rng(6)
    x, y, gate = (rng.uniform(-3, 3, (*rows, n)).astype(dtype) for n in (size, size, 1))
    product = (y.astype(F) * gate.astype(F)).astype(dtype)
    want = (x.astype(F) + product.astype(F)).astype(dtype)
    (got,) = run_in(dtype, "GatedAdd", [x, y, gate])
    assert_close(got, want, {F: 1e-6, H: 1e-3}.get(dtype, 8e-3), "against each step rounded")


def bfloat16_cases():
    rng = np.random.default_rng(12)

    def random16(*shape):
        return random(rng, *shape).astype(ml_dtypes.bfloat16)

    x, w, b = random16(2, 3, 40), random16(40, 33), random16(33)
    yield "GemmFastGelu", [x, w, b], {}, lambda x, w, b: [gelu_tanh(x @ w + b)]
    plain = {"dtype": TensorProto.BFLOAT16, "alpha": 0.5, "beta": 2.0}
    yield "GemmFloat8", [x[0], w, b], plain, lambda a, b, c: [0.5 * a @ b + 2 * c]
    gate, scale = random16(2, 3, 40), random16(8)
    for name, power in (("silu", 1), ("sigmoid", 0)):

        def normed(x, scale, gate, power=power):
            groups = x.reshape(2, 3, 5, 8)
            groups = groups / np.sqrt((groups**2).mean(-1, keepdims=True) + 1e-5) * scale
            return [groups.reshape(x.shape) * gate**power / (1 + np.exp(-gate))]

        yield "GatedRMSNorm", [x, scale, gate], {"activation": name, "epsilon": 1e-5}, normed
    keys = [random16(*shape) for shape in [(2, 3, 4, 8), (2, 3, 4, 8), (2, 3, 8), (4, 8), (4, 8)]]
    yield "EngramGate", keys, {"epsilon": 1e-5}, lambda *parts: [engram(*parts, np.ones((4, 8)), 1e-5)[0]]


@pytest.mark.parametrize("op,inputs,attributes,formula", list(bfloat16_cases()))
def test_bfloat16(op, inputs, attributes, formula):
    (got,) = run_in(ml_dtypes.bfloat16, op, inputs, **attributes)
    (want,) = formula(*[x.astype(D) for x in inputs])
    assert_close(got, want, 8e-3, "against float64")


# ---- Attention


@pytest.mark.parametrize("lengths", [[5, 2], [1, 5]])
def test_prompts_of_a_padded_batch(lengths):
    """What lies behind a prompt's end is nobody's: rows before it are those of float64."""
    rng = np.random.default_rng(7)
    q, k, v = (random(rng, 2, 5, 2, 16) for _ in range(3))
    past = [random(rng, 2, 2, 16, 16) for _ in range(2)]
    mask = np.ones((1, 1, 1), bool)
    flat = [x.reshape(2, 5, 32) for x in (q, k, v)]
    inputs = [*flat, *past, *compressed(mask), np.array([5], S), np.array(lengths, S)]
    attributes = {"num_heads": 2, "kv_num_heads": 2, "sparse_block_size": 16}
    got, key, value = run_shared(sardonyx, node_model("SparseAttention", inputs, [F, F, F], **attributes), inputs)
    want, keys, values = attend(q, k, v, *past, mask, 16, lengths, 5)
    for b, length in enumerate(lengths):
        assert_close(got[b, :length], want[b, :length], 2e-6, "output")
        assert_close(key[b, :, :length], keys[b, :, :length], 0, "keys")
        assert_close(value[b, :, :length], values[b, :, :length], 0, "values")


@pytest.mark.parametrize("lengths", [(1152, 576), (95, 1, 48), (32,)])
@pytest.mark.parametrize("bias", [False, True])
def test_packed_sequences_are_those_by_themselves(lengths, bias):
    rng = np.random.default_rng(8)
    size, most, batch = 16, max(lengths), len(lengths)
    weights = [random(rng, size, 3 * size), random(rng, 3 * size)]
    tokens = [random(rng, n, size) for n in lengths]
    scores = random(rng, batch, 2, most, most) if bias else None

    def attended(sequences, longest, added):
        places = np.arange(len(sequences) * longest).reshape(len(sequences), longest)
        there = [row[: len(s)] for row, s in zip(places, sequences, strict=True)]
        absent = [row[len(s) :] for row, s in zip(places, sequences, strict=True)]
        offsets = np.concatenate(there + absent).reshape(places.shape).astype(S)
        ends = np.cumsum([0] + [len(s) for s in sequences]).astype(S)
        inputs = [np.concatenate(sequences), *weights, offsets, ends, added]
        return run_model(sardonyx, node_model("PackedAttention", inputs, [F], num_heads=2), inputs)[0]

    packed = attended(tokens, most, scores)
    alone = [
        attended([s], len(s), None if scores is None else scores[b : b + 1, :, : len(s), : len(s)])
        for b, s in enumerate(tokens)
    ]
    assert_close(packed, np.concatenate(alone), 2e-6, "packed")


@pytest.mark.parametrize(
    "shape,bias,axis,inner",
    [
        ((8, 4, 4, 2, 2, 8), (8, 4, 1, 1, 2, 8), 4, 1),
        ((8, 4, 4, 2, 2, 8), (8, 1, 1, 2, 2, 8), -3, 1),
        ((8, 4, 4, 2, 2, 8), (1, 2, 8), 4, 1),
        ((8, 4, 4, 2, 2, 8), (8, 4, 4, 2, 2, 8), 4, 1),
        ((8, 4, 4, 2, 2, 8), (1, 4, 2, 2, 8), 4, 0),
        ((8, 4, 4, 2, 2, 8), (4, 4, 2, 2, 8), -3, 0),
        ((8, 4, 4, 2, 2, 8), (1, 1, 2, 8), 4, 0),
        ((8, 4, 4, 2, 2, 8), (8, 4, 4, 2, 2, 8), 4, 0),
        ((6, 4, 16, 32), (6, 1, 1, 32), 3, 1),
        ((6, 4, 16, 32), (4, 16, 32), -1, 0),
        ((4, 2, 4096), (4, 1, 4096), 2, 1),
        ((4, 2, 4096), (2, 4096), 2, 0),
    ],
)
@pytest.mark.parametrize("dtype,bound", [(F, 2e-6), (H, 2e-3)])
def test_softmax_of_broadcast_biases(shape, bias, axis, inner, dtype, bound):
    rng = np.random.default_rng(9)
    x, b = random(rng, *shape).astype(dtype), random(rng, *bias).astype(dtype)
    axes = tuple(range(axis % len(shape), len(shape)))
    terms = np.exp(x.astype(D) + b.astype(D))
    model = node_model("BiasSoftmax", [x, b], [dtype], axis=axis, is_inner_broadcast=inner)
    (got,) = run_model(sardonyx, model, [x, b])
    assert_close(got, terms / terms.sum(axes, keepdims=True), bound, "against float64")


# ---- Quantized inputs


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("batch,length,size", [(9, 3, 4), (1, 2, 4), (2, 5, 8)])
@pytest.mark.parametrize("segments", [True, False])
@pytest.mark.parametrize("mask", [True, False])
def test_quantized_embeddings_of_larger_batches_than_rows(dtype, batch, length, size, segments, mask):
    rng = np.random.default_rng(10)
    low, high = (-128, 128) if dtype == np.int8 else (0, 256)

    def numbers(*shape):
        return rng.integers(low, high, shape).astype(dtype)

    tables = [numbers(20, size), numbers(8, size), numbers(3, size) if segments else None, numbers(size), numbers(size)]
    inputs = [
        rng.integers(0, 20, (batch, length)).astype(S),
        rng.integers(0, 3, (batch, length)).astype(S) if segments else None,
        *tables,
        (np.arange(length) < rng.integers(1, length + 1, (batch, 1))).astype(S) if mask else None,
        *[None if t is None else (rng.random(1) * 0.05 + 0.01).astype(F) for t in tables],
        *[None if t is None else numbers(1) for t in tables],
    ]
    constants = tuple(i for i in range(2, 18) if inputs[i] is not None and i != 7)
    compare("QEmbedLayerNormalization", inputs, [F, S], constants, tolerance=5e-6, epsilon=1e-6)


def test_sessions_share_weights_of_a_quantized_lstm():
    rng = np.random.default_rng(11)
    x, state = random(rng, 1, 1, 2), random(rng, 1, 1, 16)
    w, r = (rng.integers(-127, 128, (1, n, 64)).astype(np.int8) for n in (2, 16))
    scales = [np.array([0.01], F), np.zeros(1, np.int8)]
    inputs = [x, w, r, None, None, state, state, None, *scales, *scales]
    model = node_model("DynamicQuantizeLSTM", inputs, [F], (1, 2), hidden_size=16)
    shared = {f"x{i}": sardonyx.OrtValue.ortvalue_from_numpy(v) for i, v in ((1, w), (2, r))}
    feeds = {f"x{i}": v for i, v in enumerate(inputs) if v is not None and i not in (1, 2)}
    results = []
    for values in (shared, shared, {}):
        options = sardonyx.SessionOptions()
        for name, value in values.items():
            options.add_initializer(name, value)
        session = sardonyx.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        results.append(session.run(None, feeds)[0])
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])
