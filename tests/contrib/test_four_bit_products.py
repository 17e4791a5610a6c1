"""com.microsoft MatMulBnb4, MatMulFpQ4 and MatMulInteger16, compared with ONNX Runtime and with float64."""

import numpy as np
import onnxruntime
import pytest
import sardonyx
from node_model import assert_close, compare, node_model, run_model

F, H = np.float32, np.float16
# "QLoRA" (2023), appendix E; and the values of a 4-bit float with 3 exponent bits, as parts of the largest.
NORMAL = [-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635]
NORMAL += [-0.18477343022823334, -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725]
NORMAL += [0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0]
PARTS = np.array([0, 1 / 16, 8, 12, 4, 6, 2, 3]) / 12
TABLES = [np.concatenate([PARTS, -PARTS]), np.array(NORMAL)]


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize("block", [16, 64, 256])
@pytest.mark.parametrize("n,k", [(5, 7), (33, 64), (1, 1)])
@pytest.mark.parametrize("constants", [(), (1, 2)])
def test_bnb4(kind, block, n, k, constants):
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 16, n * k)
    padded = np.append(codes, np.zeros(n * k % 2, int)).reshape(-1, 2)
    scales = (rng.random(-(-n * k // block)) + 0.1).astype(F)
    weights = (TABLES[kind][codes] * np.repeat(scales.astype(np.float64), block)[: n * k]).reshape(n, k)
    b = (padded[:, 0] << 4 | padded[:, 1]).astype(np.uint8)
    attributes = {"N": n, "K": k, "block_size": block, "quant_type": kind}
    a = rng.standard_normal((2, 3, k)).astype(F)
    (got,) = compare("MatMulBnb4", [a, b, scales], [F], constants, **attributes)
    assert_close(got, a.astype(np.float64) @ weights.T, 2e-6, "against float64")
    # The other way around, which ONNX Runtime 1.31 multiplies as if it were stored transposed.
    a = rng.standard_normal((4, n)).astype(F)
    inputs = [a, b, scales]
    (got,) = run_model(
        sardonyx, node_model("MatMulBnb4", inputs, [F], constants, transB=0, **attributes), inputs, constants
    )
    assert_close(got, a.astype(np.float64) @ weights, 2e-6, "not transposed")
    half = [a.astype(H), b, scales.astype(H)]
    (got,) = run_model(
        sardonyx, node_model("MatMulBnb4", half, [H], constants, transB=0, **attributes), half, constants
    )
    assert_close(got, a.astype(np.float64) @ weights, 3e-3, "float16")


@pytest.mark.parametrize(
    "attributes,a,message",
    [
        ({"N": 4, "K": 9}, (2, 9), "expected 18 bytes for 36 weights, found 16"),
        ({"N": 4, "K": 8, "block_size": 16}, (2, 8), "expected 2 values for 32 weights in blocks of 16, found 1"),
        ({"N": 4, "K": 8, "block_size": 24}, (2, 8), "power of two"),
        ({"N": 4, "K": 8, "quant_type": 2}, (2, 8), "expected 0"),
        ({"N": 4, "K": 8}, (2, 7), "expected .8. columns"),
    ],
)
def test_bnb4_refuses(attributes, a, message):
    inputs = [np.ones(a, F), np.zeros(16, np.uint8), np.ones(1, F)]
    with pytest.raises(Exception, match=message):
        run_model(
            sardonyx, node_model("MatMulBnb4", inputs, [F], **{"block_size": 64, "quant_type": 1} | attributes), inputs
        )


def blob(rng, kind, n, k):
    """Blocks of columns as MatMulFpQ4 has them, and the weights [K, N] that they stand for."""
    block = 64 if kind == 2 else 32
    blocks = -(-k // block)
    q = rng.integers(0, 16, (n, blocks, block))
    scales = (rng.random((n, blocks)) * 0.1 + 0.01).astype(F)
    zeros = rng.integers(0, 16, (n, blocks)) if kind == 1 else np.full((n, blocks), 8)
    halves = q.reshape(n, blocks, -1, 2, 16)
    data = (halves[..., 0, :] | halves[..., 1, :] << 4).astype(np.uint8).reshape(n, blocks, -1)
    parts = [scales[..., None].view(np.uint8).reshape(n, blocks, 4)]
    if kind == 1:
        parts.append(zeros[..., None].astype(np.uint8))
    weights = ((q - zeros[..., None]) * scales[..., None].astype(np.float64)).reshape(n, -1)[:, :k]
    return np.concatenate([*parts, data], -1).reshape(-1), weights.T


@pytest.mark.parametrize("kind", [0, 1, 2])
@pytest.mark.parametrize("n,k", [(5, 32), (33, 200), (8, 256)])
@pytest.mark.parametrize("constants", [(), (1, 2)])
def test_fp_q4(kind, n, k, constants):
    rng = np.random.default_rng(2)
    b, weights = blob(rng, kind, n, k)
    inputs = [rng.standard_normal((2, 3, k)).astype(F), b, np.array([k, n])]
    model = node_model("MatMulFpQ4", inputs, [F], constants, blk_quant_type=kind)
    (got,) = run_model(sardonyx, model, inputs, constants)
    assert_close(got, inputs[0].astype(np.float64) @ weights, 2e-6, "against float64")
    if kind < 2:  # the third one is documented, but ONNX Runtime 1.31 takes it for the second
        try:
            (want,) = run_model(onnxruntime, model, inputs, constants)
        except Exception as refusal:  # it has this product for AVX-512 only
            assert "not yet supported on this hardware platform" in str(refusal), refusal
        else:
            assert_close(got, want, 2e-6, "against ONNX Runtime")


def test_fp_q4_refuses():
    inputs = [np.ones((2, 32), F), np.zeros(41, np.uint8), np.array([32, 2])]
    with pytest.raises(Exception, match=r"expected 42 bytes for weights \[32, 2\], found 41"):
        run_model(sardonyx, node_model("MatMulFpQ4", inputs, [F]), inputs)
    with pytest.raises(Exception, match="expected 0, 1 or 2, found 3"):
        run_model(sardonyx, node_model("MatMulFpQ4", inputs, [F], blk_quant_type=3), inputs)


@pytest.mark.parametrize(
    "a,b", [((3, 5), (5, 4)), ((2, 3, 5), (5, 4)), ((2, 1, 3, 5), (3, 5, 1)), ((5,), (5,)), ((0, 5), (5, 2))]
)
def test_integer16(a, b):
    rng = np.random.default_rng(3)
    x, y = (rng.integers(-32768, 32768, s).astype(np.int16) for s in (a, b))
    (got,) = compare("MatMulInteger16", [x, y], [np.int32], tolerance=0)
    np.testing.assert_array_equal(got, (x.astype(np.int64) @ y.astype(np.int64)).astype(np.int32))  # modulo 2^32


def test_integer16_refuses():
    inputs = [np.ones((3, 5), np.int16), np.ones((4, 2), np.int16)]
    with pytest.raises(Exception, match="5"):
        run_model(sardonyx, node_model("MatMulInteger16", inputs, [np.int32]), inputs)
