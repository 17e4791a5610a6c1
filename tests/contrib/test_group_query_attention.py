"""com.microsoft GroupQueryAttention, compared with ONNX Runtime: prompts, steps, rotary embedding, windows, sinks."""

import numpy as np
import pytest
import sardonyx
from node_model import assert_close, compare, node_model, run_model

BATCH, HEADS, KV_HEADS, SIZE = 2, 6, 2, 16


def make(rng, dtype, queries, past, packed, rotary, lengths=None, rows=None):
    """The first nine inputs; `rows`: memory of the caches per head."""

    def random(*shape):
        return rng.standard_normal(shape).astype(dtype)

    total = past + queries
    if packed:
        x = [random(BATCH, queries, (HEADS + 2 * KV_HEADS) * SIZE), None, None]
    else:
        x = [
            random(BATCH, queries, HEADS * SIZE),
            random(BATCH, queries, KV_HEADS * SIZE),
            random(BATCH, queries, KV_HEADS * SIZE),
        ]
    rows = past if rows is None else rows
    cache = [random(BATCH, KV_HEADS, rows, SIZE) for _ in range(2)]
    lengths = [total] * BATCH if lengths is None else lengths
    angles = np.arange(256)[:, None] * 0.7 ** np.arange(SIZE // 2)[None]
    tables = [np.cos(angles).astype(dtype), np.sin(angles).astype(dtype)] if rotary else [None, None]
    return [*x, *cache, np.array(lengths, np.int32) - 1, np.array([total], np.int32), *tables]


def check_with(valid):
    """Rows of the caches beyond the valid ones are nobody's business."""

    def pick(index, array):
        return array if index == 0 or array.ndim != 4 else array[:, :, :valid]

    return pick


def run(inputs, outputs=3, **attributes):
    dtype = inputs[0].dtype
    tolerance = 3e-6 if dtype == np.float32 else 2e-3
    return compare(
        "GroupQueryAttention",
        inputs,
        [dtype] * outputs,
        tolerance=tolerance,
        num_heads=HEADS,
        kv_num_heads=KV_HEADS,
        **attributes,
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("rotary", [0, 1])
@pytest.mark.parametrize("queries,past", [(1, 1), (1, 30), (1, 200), (5, 0), (40, 0)])
def test_prompts_and_steps(dtype, packed, rotary, queries, past):
    inputs = make(np.random.default_rng(1), dtype, queries, past, packed, rotary)
    run(inputs, do_rotary=rotary)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("queries,past", [(1, 1), (1, 200), (5, 0), (40, 0)])
def test_caches_of_float16_beside_queries_of_float(packed, queries, past):
    inputs = make(np.random.default_rng(10), np.float32, queries, past, packed, True)
    inputs[3:5] = [cache.astype(np.float16) for cache in inputs[3:5]]
    compare(
        "GroupQueryAttention",
        inputs,
        [np.float32, np.float16, np.float16],
        tolerance=2e-3,
        num_heads=HEADS,
        kv_num_heads=KV_HEADS,
        do_rotary=1,
    )


@pytest.mark.parametrize("queries,past", [(1, 60), (50, 0)])
@pytest.mark.parametrize("window", [1, 8, 33, 100])
def test_local_window(queries, past, window):
    run(make(np.random.default_rng(2), np.float32, queries, past, True, 1), do_rotary=1, local_window_size=window)


@pytest.mark.parametrize("queries,past", [(1, 60), (20, 0)])
@pytest.mark.parametrize(
    "extra",
    [
        {"smooth_softmax": 1},
        {"softcap": 2.0},
        {"scale": 0.1},
        {"rotary_interleaved": 1},
        {"softcap": 1.5, "smooth_softmax": 1, "local_window_size": 7},
    ],
)
def test_attributes(queries, past, extra):
    run(make(np.random.default_rng(3), np.float32, queries, past, True, 1), do_rotary=1, **extra)


@pytest.mark.parametrize("queries,past", [(1, 40), (20, 0)])
def test_head_sink_and_attention_bias(queries, past):
    rng = np.random.default_rng(4)
    total = queries + past
    inputs = make(rng, np.float32, queries, past, False, 0)
    bias = rng.standard_normal((1, HEADS, queries, total)).astype(np.float32)
    sink = rng.standard_normal(HEADS).astype(np.float32)
    run([*inputs, None, bias], do_rotary=0)
    run([*inputs, None, None, sink], do_rotary=0)
    run([*inputs, None, bias, sink], do_rotary=0)


def test_rows_of_different_lengths_in_a_step():
    inputs = make(np.random.default_rng(5), np.float32, 1, 30, True, 1, lengths=[31, 12])
    model_out = run_valid(inputs, [31, 12])
    assert model_out[0].shape == (BATCH, 1, HEADS * SIZE)


def run_valid(inputs, lengths):
    """Compares the output of valid rows and the caches up to each row's length."""

    def pick(index, array):
        if index == 0:
            return array
        return np.concatenate([array[b, :, :n].reshape(-1) for b, n in enumerate(lengths)])

    return compare(
        "GroupQueryAttention",
        inputs,
        [np.float32] * 3,
        tolerance=3e-6,
        check=pick,
        num_heads=HEADS,
        kv_num_heads=KV_HEADS,
        do_rotary=1,
    )


def test_caches_longer_than_what_they_hold():
    inputs = make(np.random.default_rng(6), np.float32, 1, 20, True, 1, rows=64)
    got = run_valid(inputs, [21, 21])
    assert got[1].shape == (BATCH, KV_HEADS, 64, SIZE)


def test_position_ids():
    rng = np.random.default_rng(7)
    inputs = make(rng, np.float32, 1, 20, True, 1)
    run([*inputs, np.array([[3], [50]], np.int64)], do_rotary=1)


@pytest.mark.parametrize("stage", [1, 2])
@pytest.mark.parametrize("queries,past", [(1, 20), (12, 0)])
def test_scores(stage, queries, past):
    inputs = make(np.random.default_rng(8), np.float32, queries, past, True, 1)
    lower = np.tril(np.ones((queries, past + queries), bool), past)

    def pick(index, array):  # scores that a causal mask hides are not compared
        return array[..., lower] if index == 3 else array

    compare(
        "GroupQueryAttention",
        inputs,
        [np.float32] * 4,
        tolerance=3e-6,
        check=pick,
        num_heads=HEADS,
        kv_num_heads=KV_HEADS,
        do_rotary=1,
        qk_output=stage,
    )


def test_norms_of_queries_and_keys():
    rng = np.random.default_rng(9)
    inputs = make(rng, np.float32, 5, 0, False, 1)
    weights = [rng.standard_normal(SIZE).astype(np.float32) for _ in range(2)]
    # ONNX Runtime's CPU has no norms inside the operator: they are done before.
    normalised = list(inputs)
    for i, weight in enumerate(weights):
        rows = inputs[i].reshape(-1, SIZE)
        rows = rows / np.sqrt((rows**2).mean(-1, keepdims=True) + 1e-6) * weight
        normalised[i] = rows.reshape(inputs[i].shape).astype(np.float32)
    want = run(normalised, do_rotary=1)
    inputs = [*inputs, None, None, None, None, None, *weights]
    attributes = {"num_heads": HEADS, "kv_num_heads": KV_HEADS, "do_rotary": 1}
    got = run_model(sardonyx, node_model("GroupQueryAttention", inputs, [np.float32] * 3, **attributes), inputs)
    for ours, theirs in zip(got, want, strict=True):
        assert_close(ours, theirs, 3e-6, "norms")


@pytest.mark.parametrize("queries,past", [(1, 20), (1, 150), (7, 0)])
@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("kind", ["PER_TENSOR", "PER_CHANNEL"])
def test_caches_of_integers(queries, past, bits, kind):
    rng = np.random.default_rng(10)
    inputs = make(rng, np.float32, queries, past, True, 1)
    stored = SIZE if bits == 8 else SIZE // 2
    dtype, low, high = (np.int8, -128, 128) if bits == 8 else (np.uint8, 0, 256)
    inputs[3:5] = [rng.integers(low, high, (BATCH, KV_HEADS, past, stored)).astype(dtype) for _ in range(2)]
    count = 1 if kind == "PER_TENSOR" else KV_HEADS * SIZE
    scales = [((0.5 + rng.random(count)) * 4 / 2**bits).astype(np.float32) for _ in range(2)]
    inputs = [*inputs, None, None, None, *scales]
    attributes = {
        "num_heads": HEADS,
        "kv_num_heads": KV_HEADS,
        "do_rotary": 1,
        "kv_cache_bit_width": bits,
        "k_quant_type": kind,
        "v_quant_type": kind,
    }
    # A product of queries and keys may round queries to 8 bits there.
    compare("GroupQueryAttention", inputs, [np.float32, dtype, dtype], tolerance=2e-2, **attributes)
