"""MatMulNBits with weights in the layouts of ONNX Runtime's GPU kernels (the attribute weight_prepacked).

The packing below follows the steps that ONNX Runtime's sources describe, one after another and along whole matrices; no
package for CPUs has that packer. The layout of one small matrix is spelled out, too."""

import numpy as np
import onnxruntime
import pytest
import sardonyx
from node_model import assert_close, node_model, run_model

ROWS = {
    8: [0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15],
    4: [0, 1, 8, 9, 16, 17, 24, 25, 2, 3, 10, 11, 18, 19, 26, 27]
    + [4, 5, 12, 13, 20, 21, 28, 29, 6, 7, 14, 15, 22, 23, 30, 31],
    # The same rule for tiles of 64 rows: sixteen rows at a time, two of every eight.
    2: [8 * (i // 2 % 8) + 2 * (i // 16) + i % 2 for i in range(64)],
}


def to_bytes(values, bits):
    """Numbers to bytes, the first in the lowest bits."""
    parts = values.reshape(-1, 8 // bits) << (bits * np.arange(8 // bits))
    return parts.sum(-1).astype(np.uint8)


def pack_for_gpu(q, bits, layout):
    """q [N, K]: the numbers; returns the bytes."""
    n, k = q.shape
    tile, in_word = 128 // bits, 32 // bits
    rows = q.T.reshape(k // tile, tile, n)[:, ROWS[bits]].reshape(k, n)  # permuted for the matrix instruction
    columns = rows.T  # transposed: [N, K] again, K permuted
    if layout == 1:  # 16 / bits columns take turns with 64 rows each
        turns = 16 // bits
        columns = columns.reshape(n // turns, turns, k // 64, 64).swapaxes(1, 2)
    words = columns.reshape(-1, in_word)
    return to_bytes(np.concatenate([words[:, 0::2], words[:, 1::2]], 1), bits)


def test_packing_of_a_small_matrix():
    q = np.arange(128).reshape(2, 64)  # 8 bits: two columns take turns, which 64 rows leave in their order
    want = [0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15]
    assert pack_for_gpu(q, 8, 1).tolist() == [16 * tile + i for tile in range(8) for i in want]


def case(bits, block, n, k, zeros, seed=1):
    rng = np.random.default_rng(seed)
    q = rng.integers(0, 2**bits, (n, k))
    scales = (rng.random((n, k // block)) * 0.1 + 0.01).astype(np.float32)
    points = rng.integers(0, 2**bits, (n, k // block)) if zeros else np.full((n, k // block), 2 ** (bits - 1))
    weights = (q - np.repeat(points, block, 1)) * np.repeat(scales, block, 1).astype(np.float64)
    packed_points = None
    if zeros:
        per_byte = 8 // bits
        padded = np.pad(points, ((0, 0), (0, -points.shape[1] % per_byte)))
        packed_points = np.stack([to_bytes(row, bits) for row in padded])
    return rng, q, scales, packed_points, weights


def attributes(bits, block, n, k, layout):
    return {"bits": bits, "block_size": block, "N": n, "K": k, "weight_prepacked": layout}


@pytest.mark.parametrize(
    "bits,layout,block",
    [(b, 1, s) for b in (2, 4, 8) for s in (32, 64, 128)] + [(b, 2, s) for b in (4, 8) for s in (64, 128)],
)
@pytest.mark.parametrize("n,k", [(128, 256), (64, 640), (8, 128)])
@pytest.mark.parametrize("zeros", [False, True])
def test_packed_weights_are_the_plain_ones(bits, layout, block, n, k, zeros):
    rng, q, scales, points, weights = case(bits, block, n, k, zeros)
    a = rng.standard_normal((5, k)).astype(np.float32)
    bias = rng.standard_normal(n).astype(np.float32)
    constants = (1, 2, 3) if zeros else (1, 2)
    shape = (n, k // block, block * bits // 8)
    packed = [a, pack_for_gpu(q, bits, layout).reshape(shape), scales, points, None, bias]
    plain = [a, to_bytes(q.reshape(-1), bits).reshape(shape), scales, points, None, bias]
    results = []
    for inputs, value in ((packed, layout), (plain, 0)):
        model = node_model("MatMulNBits", inputs, [np.float32], constants, **attributes(bits, block, n, k, value))
        results.append(run_model(sardonyx, model, inputs, constants)[0])
    np.testing.assert_array_equal(*results)
    assert_close(results[0], a.astype(np.float64) @ weights.T + bias, 2e-6, "against float64")


@pytest.mark.parametrize("dtype,tolerance", [(np.float16, 2e-3), (np.float32, 2e-6)])
def test_packed_weights_of_half_floats(dtype, tolerance):
    rng, q, scales, _, _ = case(4, 32, 64, 128, False, seed=2)
    inputs = [rng.standard_normal((1, 128)).astype(dtype), None, scales.astype(dtype)]
    inputs[1] = pack_for_gpu(q, 4, 1).reshape(64, 4, 16)
    weights = (q - 8) * np.repeat(inputs[2], 32, 1).astype(np.float64)
    model = node_model("MatMulNBits", inputs, [dtype], (1, 2), **attributes(4, 32, 64, 128, 1))
    (got,) = run_model(sardonyx, model, inputs, (1, 2))
    assert_close(got, inputs[0].astype(np.float64) @ weights.T, tolerance, "against float64")


@pytest.mark.parametrize(
    "changes,fixed,index,message",
    [
        ({"weight_prepacked": 3}, (1, 2), False, "attribute 'weight_prepacked': expected 0, 1 or 2, found 3"),
        ({"weight_prepacked": 2, "bits": 2}, (1, 2), False, "expected 0 or 1 with weights of 2 bits, found 2"),
        ({"block_size": 16}, (1, 2), False, "expected a block_size of 32, 64 or 128"),
        ({"N": 66}, (1, 2), False, "expected multiples of 4 and 64 for N and K.*found 66 and 128"),
        ({"K": 96}, (1, 2), False, "expected multiples of 4 and 64 for N and K.*found 64 and 96"),
        ({}, (2,), False, "input 1.*expected a constant beside attribute 'weight_prepacked'"),
        ({}, (1, 2, 4), True, "input 'g_idx' beside attribute 'weight_prepacked'"),
    ],
)
def test_what_does_not_go_together_is_refused(changes, fixed, index, message):
    given = attributes(4, 32, 64, 128, 1) | changes
    n, k, block, bits = (given[name] for name in ("N", "K", "block_size", "bits"))
    inputs = [np.ones((1, k), np.float32), np.zeros((n, k // block, block * bits // 8), np.uint8)]
    inputs.append(np.ones((n, k // block), np.float32))
    if index:
        inputs += [None, np.zeros(k, np.int32)]
    model = node_model("MatMulNBits", inputs, [np.float32], fixed, **given)
    with pytest.raises(Exception, match=message):
        run_model(sardonyx, model, inputs, fixed)


def test_the_cpu_kernel_of_onnx_runtime_reads_them_as_plain():
    """It does not know the attribute and multiplies with the wrong weights; ours are compared with float64 instead."""
    rng, q, scales, _, weights = case(4, 32, 64, 128, False, seed=3)
    inputs = [rng.standard_normal((1, 128)).astype(np.float32), pack_for_gpu(q, 4, 1).reshape(64, 4, 16), scales]
    model = node_model("MatMulNBits", inputs, [np.float32], (1, 2), **attributes(4, 32, 64, 128, 1))
    (theirs,) = run_model(onnxruntime, model, inputs, (1, 2))
    assert np.abs(theirs - inputs[0] @ weights.T).max() > 0.1
