"""com.microsoft GroupQueryAttention with sliding_window_cache, compared with ONNX Runtime and with a full cache."""

import numpy as np
import onnxruntime
import pytest
import sardonyx
from node_model import assert_close, node_model, run_model

F = np.float32
HEADS, KV_HEADS, SIZE = 4, 2, 16


def resident(positions, capacity, window):
    step = capacity - window + 1
    return positions if positions <= capacity else positions - step * -(-(positions - capacity) // step)


def attributes(window, sliding):
    extra = {"sliding_window_cache": 1} if sliding else {}
    return {"num_heads": HEADS, "kv_num_heads": KV_HEADS, "local_window_size": window, "do_rotary": 1} | extra


def step_inputs(rng, dtype, batch, queries, lengths, caches):
    angles = np.arange(64)[:, None] * 0.7 ** np.arange(SIZE // 2)[None]
    rows = [rng.standard_normal((batch, queries, n * SIZE)).astype(dtype) for n in (HEADS, KV_HEADS, KV_HEADS)]
    sizes = [np.array(lengths, np.int32) - 1, np.array([max(lengths)], np.int32)]
    return [*rows, *caches, *sizes, np.cos(angles).astype(dtype), np.sin(angles).astype(dtype)]


def run(engine, inputs, window, sliding):
    model = node_model("GroupQueryAttention", inputs, [inputs[0].dtype] * 3, **attributes(window, sliding))
    return run_model(engine, model, inputs)


@pytest.mark.parametrize("dtype,bound", [(F, 3e-6), (np.float16, 3e-3)])
@pytest.mark.parametrize("capacity,window", [(6, 6), (9, 4), (5, 1), (16, 16)])
@pytest.mark.parametrize("steps", [[5, 1, 1, 1, 1, 1, 1, 1], [12, 1, 1, 1], [3, 4, 1, 7, 1], [1] * 12])
def test_steps(steps, capacity, window, dtype, bound):
    rng = np.random.default_rng(1)
    ours = theirs = [np.zeros((1, KV_HEADS, capacity, SIZE), dtype)] * 2
    full = [np.zeros((1, KV_HEADS, 0, SIZE), dtype)] * 2
    total = 0
    for queries in steps:
        total += queries
        inputs = step_inputs(rng, dtype, 1, queries, [total], ours)
        y, *ours = run(sardonyx, inputs, window, True)
        inputs[3:5] = theirs
        want, *theirs = run(onnxruntime, inputs, window, True)
        inputs[3:5] = full
        whole, *full = run(sardonyx, inputs, window, False)
        assert_close(y, want, bound, f"against ONNX Runtime after {total}")
        assert_close(y, whole, bound, f"against a full cache after {total}")
        kept = resident(total, capacity, window)
        for mine, other, all_rows in zip(ours, theirs, full, strict=True):
            assert mine.shape == (1, KV_HEADS, capacity, SIZE)
            assert_close(mine[:, :, :kept], other[:, :, :kept], bound, "the cache against ONNX Runtime's")
            last = all_rows[:, :, total - kept : total]
            assert_close(mine[:, :, :kept], last, bound, "the cache against the full one")


def test_sequences_of_different_lengths_and_a_bias():
    rng = np.random.default_rng(2)
    capacity, window, lengths = 7, 5, [14, 4, 8]
    caches = [rng.standard_normal((3, KV_HEADS, capacity, SIZE)).astype(F) for _ in range(2)]
    inputs = step_inputs(rng, F, 3, 1, lengths, caches)
    bias = rng.standard_normal((3, 1, 1, 14)).astype(F)
    inputs += [None, bias]
    got, want = (run(engine, inputs, window, True) for engine in (sardonyx, onnxruntime))
    assert_close(got[0], want[0], 3e-6, "against ONNX Runtime")
    for b, length in enumerate(lengths):
        kept = resident(length, capacity, window)
        for mine, other in zip(got[1:], want[1:], strict=True):
            assert_close(mine[b, :, :kept], other[b, :, :kept], 3e-6, "the cache")


def test_refusals():
    rng = np.random.default_rng(3)
    inputs = step_inputs(rng, F, 1, 1, [3], [np.zeros((1, KV_HEADS, 4, SIZE), F)] * 2)
    with pytest.raises(Exception, match="at least local_window_size = 5 rows"):
        run(sardonyx, inputs, 5, True)
    with pytest.raises(Exception, match="'local_window_size': expected at least 1 where sliding_window_cache is 1"):
        run(sardonyx, inputs, -1, True)
