"""Pasts long enough to be copied past the caches, beside their use: `present` has them bit for bit, and the output is
ONNX Runtime's."""

import numpy as np
import pytest
from node_model import compare

HEADS, KV_HEADS, SIZE = 6, 2, 16
ROWS = 8223  # of all batches: 1 MiB of keys and values in float16


def random(rng, dtype, *shape):
    """Numbers behind an address that no vector's size divides."""
    memory = np.empty(int(np.prod(shape)) + 1, dtype)
    memory[1:] = rng.standard_normal(memory.size - 1).astype(dtype)
    return memory[1:].reshape(shape)


def check_present(outputs, inputs, kv_heads, lengths):
    """The rows of the past, then the new ones, then zeros."""
    for present, old, new in zip(outputs[1:], inputs[3:5], inputs[1:3], strict=True):
        rows = new.reshape(len(lengths), -1, kv_heads, SIZE).transpose(0, 2, 1, 3)
        for b, length in enumerate(lengths):
            past = length - rows.shape[2]
            np.testing.assert_array_equal(present[b, :, :past], old[b, :, :past])
            np.testing.assert_array_equal(present[b, :, past:length], rows[b])
            assert (present[b, :, length:] == 0).all()


# The last has too many queries for a copy beside their use. ONNX Runtime takes several behind a past in one row only.
@pytest.mark.parametrize("queries,shorter", [(1, (0,)), (1, (0, 0)), (1, (0, 2000)), (4, (0,)), (9, (0,))])
@pytest.mark.parametrize("window", [-1, 100])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_group_query(dtype, window, queries, shorter):
    rng = np.random.default_rng(1)
    batch = len(shorter)
    past = ROWS // batch
    lengths = [past + queries - less for less in shorter]
    x = [random(rng, dtype, batch, queries, heads * SIZE) for heads in (HEADS, KV_HEADS, KV_HEADS)]
    cache = [random(rng, dtype, batch, KV_HEADS, past, SIZE) for _ in range(2)]
    inputs = [*x, *cache, np.array(lengths, np.int32) - 1, np.array([past + queries], np.int32)]

    def check(index, array):  # ONNX Runtime leaves what it likes behind the valid rows
        return array if index == 0 else np.concatenate([array[b, :, :n].ravel() for b, n in enumerate(lengths)])

    outputs = compare(
        "GroupQueryAttention",
        inputs,
        [dtype] * 3,
        tolerance=3e-6 if dtype == np.float32 else 2e-3,
        check=check,
        num_heads=HEADS,
        kv_num_heads=KV_HEADS,
        local_window_size=window,
    )
    check_present(outputs, inputs, KV_HEADS, lengths)


@pytest.mark.parametrize("queries", [1, 4, 20])
def test_multi_head(queries):
    rng = np.random.default_rng(2)
    x = [random(rng, np.float32, 2, queries, HEADS * SIZE) for _ in range(3)]
    cache = [random(rng, np.float32, 2, HEADS, ROWS // 2, SIZE) for _ in range(2)]
    outputs = compare(
        "MultiHeadAttention", [*x, None, None, None, *cache], [np.float32] * 3, tolerance=3e-6, num_heads=HEADS
    )
    check_present(outputs, [*x, *cache], HEADS, [ROWS // 2 + queries] * 2)
