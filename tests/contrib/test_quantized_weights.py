"""com.microsoft MatMulNBits and GatherBlockQuantized, compared with ONNX Runtime and with float64."""

import itertools

import ml_dtypes
import numpy as np
import pytest
import sardonyx
from node_model import assert_close, compare, node_model, run_model


def pack(values, bits):
    """[..., count] small numbers to bytes, low bits first; padded to whole bytes."""
    per_byte = 8 // bits
    pad = -values.shape[-1] % per_byte
    values = np.concatenate([values, np.zeros((*values.shape[:-1], pad), np.int64)], -1)
    parts = values.reshape(*values.shape[:-1], -1, per_byte) << (bits * np.arange(per_byte))
    return parts.sum(-1).astype(np.uint8)


def make(rng, n, k, block, bits, zeros, dtype):
    blocks = -(-k // block)
    q = rng.integers(0, 2**bits, (n, blocks, block))
    scales = (rng.random((n, blocks)) * 0.1).astype(dtype)
    points = {
        "none": None,
        "packed": rng.integers(0, 2**bits, (n, blocks)),
        "floats": (rng.random((n, blocks)) * 2**bits).astype(dtype),
    }[zeros]
    middle = 2.0 ** (bits - 1) if points is None else points[..., None].astype(np.float64)
    weights = ((q - middle) * scales[..., None].astype(np.float64)).reshape(n, -1)[:, :k]
    given = pack(points, bits) if zeros == "packed" else points
    return [pack(q, bits), scales, given], weights


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("block", [16, 32, 64, 128])
@pytest.mark.parametrize("zeros", ["none", "packed", "floats"])
@pytest.mark.parametrize("rows", [1, 3, 9, 40])
def test_product_is_that_of_float64(bits, block, zeros, rows):
    rng = np.random.default_rng(1)
    for n, k in [(37, 100), (16, 1152), (1, 16)]:
        parts, weights = make(rng, n, k, block, bits, zeros, np.float32)
        a = rng.standard_normal((2, rows, k)).astype(np.float32)
        bias = rng.standard_normal(n).astype(np.float32)
        inputs = [a, *parts, None, bias]
        want = a.astype(np.float64) @ weights.T + bias
        for constants in [(1, 2) + ((3,) if parts[2] is not None else ()), ()]:
            model = node_model("MatMulNBits", inputs, [np.float32], constants, bits=bits, block_size=block, N=n, K=k)
            (got,) = run_model(sardonyx, model, inputs, constants)
            assert_close(got, want, 2e-6, f"n {n}, k {k}")


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("bits,zeros", itertools.product([2, 4, 8], ["none", "packed"]))
@pytest.mark.parametrize("level", [0, 4])
@pytest.mark.parametrize("rows", [1, 21])
def test_product_is_that_of_onnx_runtime(dtype, bits, zeros, level, rows):
    rng = np.random.default_rng(2)
    n, k, block = 48, 288, 32
    parts, weights = make(rng, n, k, block, bits, zeros, dtype)
    a = rng.standard_normal((rows, k)).astype(dtype)
    inputs = [a, *parts]
    constants = tuple(i for i in range(1, 4) if inputs[i] is not None)
    exact = 2e-6 if dtype == np.float32 else 2e-3
    want = a.astype(np.float64) @ weights.T
    # At level 4 ONNX Runtime rounds a to 8 bits: by half a step at most, by its root of a third on average. Four times
    # the deviation of a sum of such errors is allowed. It does so on some machines only; so do we, where the CPU has
    # instructions for sums of 8-bit products.
    deviation = np.abs(a).max() / 254 / np.sqrt(3) * np.linalg.norm(weights, axis=1).max()
    tolerance = max(exact, 4 * deviation / np.abs(want).max()) if level == 4 else exact
    (got,) = compare(
        "MatMulNBits",
        inputs,
        [dtype],
        constants,
        tolerance=tolerance,
        bits=bits,
        block_size=block,
        N=n,
        K=k,
        accuracy_level=level,
    )
    assert_close(got, want, tolerance, "against float64")


@pytest.mark.parametrize("zeros", ["none", "packed", "floats"])
def test_group_index(zeros):
    rng = np.random.default_rng(3)
    n, k, block = 20, 64, 16
    (q, scales, given), _ = make(rng, n, k, block, 4, zeros, np.float32)
    index = rng.integers(0, k // block, k).astype(np.int32)
    inputs = [rng.standard_normal((5, k)).astype(np.float32), q, scales, given, index]
    constants = (1, 2, 4) if given is None else (1, 2, 3, 4)
    if zeros != "packed":  # where ONNX Runtime 1.31 is off by several units
        compare("MatMulNBits", inputs, [np.float32], constants, bits=4, block_size=block, N=n, K=k)
    points = unpack(given, 4) if zeros == "packed" else np.full_like(scales, 8) if given is None else given
    weights = (unpack(q.reshape(n, -1), 4) - points[:, index]) * scales[:, index].astype(np.float64)
    for fixed in (constants, ()):
        model = node_model("MatMulNBits", inputs, [np.float32], fixed, bits=4, block_size=block, N=n, K=k)
        (got,) = run_model(sardonyx, model, inputs, fixed)
        assert_close(got, inputs[0].astype(np.float64) @ weights.T, 2e-6, zeros)


def unpack(values, bits):
    """Bytes to small numbers, low bits first."""
    parts = (values[..., None] >> (bits * np.arange(8 // bits))) & (2**bits - 1)
    return parts.reshape(*values.shape[:-1], -1)


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("quantize_axis,shape", [(1, (10, 64)), (2, (4, 3, 32)), (1, (5, 80))])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_gather_of_bytes(bits, zeros, quantize_axis, shape, dtype):
    rng = np.random.default_rng(4)
    block = 16
    q = rng.integers(0, 2**bits, shape)
    scale_shape = shape[:-1] + (-(-shape[-1] // block),)
    scales = rng.random(scale_shape).astype(dtype)
    points = pack(rng.integers(0, 2**bits, scale_shape), bits) if zeros else None
    indices = rng.integers(-shape[0], shape[0], (2, 3))
    constants = (0, 2, 3) if zeros else (0, 2)
    compare(
        "GatherBlockQuantized",
        [pack(q, bits), indices, scales, points],
        [dtype],
        constants,
        tolerance=1e-6,
        bits=bits,
        block_size=block,
        gather_axis=0,
        quantize_axis=quantize_axis,
    )


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize(
    "gather_axis,quantize_axis,shape",
    [(0, 1, (10, 64)), (1, 2, (3, 5, 48)), (1, 0, (40, 6)), (0, 1, (3, 33, 2)), (2, 1, (2, 20, 4))],
)
def test_gather_of_nibbles(signed, zeros, gather_axis, quantize_axis, shape):
    rng = np.random.default_rng(5)
    block, dtype = 16, ml_dtypes.int4 if signed else ml_dtypes.uint4
    low, high = (-8, 8) if signed else (0, 16)
    scale_shape = list(shape)
    scale_shape[quantize_axis] = -(-shape[quantize_axis] // block)
    inputs = [
        rng.integers(low, high, shape).astype(dtype),
        rng.integers(-shape[gather_axis], shape[gather_axis], (2, 3)).astype(np.int32),
        rng.random(scale_shape).astype(np.float32),
        rng.integers(low, high, scale_shape).astype(dtype) if zeros else None,
    ]
    compare(
        "GatherBlockQuantized",
        inputs,
        [np.float32],
        (0, 2, 3) if zeros else (0, 2),
        tolerance=1e-6,
        block_size=block,
        gather_axis=gather_axis,
        quantize_axis=quantize_axis,
    )
