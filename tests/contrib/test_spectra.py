"""com.microsoft Rfft, Irfft, ComplexMul and ComplexMulConj, compared with NumPy's float64."""

import numpy as np
import pytest
from reference import D, F, H, check, random, refusal, run, wide


def parts(z):
    return np.stack([z.real, z.imag], -1)


def joined(x):
    return wide(x)[..., 0] + 1j * wide(x)[..., 1]


@pytest.mark.parametrize("dtype", [F, D, H])
@pytest.mark.parametrize(
    "shape,rank",
    [((4, 4), 1), ((3, 5, 12), 1), ((2, 7), 1), ((1,), 1), ((3, 6, 8), 2), ((2, 3, 4, 10), 3), ((0, 8), 1)],
)
def test_rfft(dtype, shape, rank):
    x = random(1, *shape, dtype=dtype)
    want = parts(np.fft.rfftn(wide(x), axes=range(-rank, 0))) if x.size else np.zeros((0, 5, 2))
    check("Rfft", [x], [want], dtype, signal_ndim=rank)


@pytest.mark.parametrize("dtype", [F, D, H])
@pytest.mark.parametrize(
    "shape,rank", [((4, 3, 2), 1), ((3, 5, 7, 2), 1), ((2, 2), 1), ((3, 6, 5, 2), 2), ((0, 5, 2), 1)]
)
def test_irfft(dtype, shape, rank):
    x = random(2, *shape, dtype=dtype)
    want = np.fft.irfftn(joined(x), axes=range(-rank, 0)) if x.size else np.zeros((0, 8))
    check("Irfft", [x], [want], dtype, signal_ndim=rank)


def test_there_and_back():
    x = random(3, 5, 250)
    (spectrum,) = run("Rfft", [x], [F], signal_ndim=1)
    check("Irfft", [spectrum], [wide(x)], signal_ndim=1)
    (spectrum,) = run("Rfft", [x], [F])  # signal_ndim is 1 unless given
    assert spectrum.shape == (5, 126, 2)


def test_fourier_keeps_nan_in_its_signal():
    x = random(4, 2, 8)
    x[0, 3] = np.nan
    (y,) = run("Rfft", [x], [F], signal_ndim=1)
    assert np.isnan(y[0]).all()
    np.testing.assert_allclose(y[1], parts(np.fft.rfft(wide(x[1]))), atol=1e-6)


def test_fourier_refuses():
    x = np.ones((3, 4), F)
    assert "'onesided': expected 1, found 0" in refusal("Rfft", [x], [F], signal_ndim=1, onesided=0)
    assert "'normalized': expected 0, found 1" in refusal("Rfft", [x], [F], signal_ndim=1, normalized=1)
    assert "'signal_ndim': expected 1 or more, found 0" in refusal("Rfft", [x], [F], signal_ndim=0)
    assert "expected 3 or more dimensions" in refusal("Rfft", [x], [F], signal_ndim=3)
    assert "a last one of 2" in refusal("Irfft", [x], [F], signal_ndim=1)
    assert "expected at least 2 bins" in refusal("Irfft", [np.ones((3, 1, 2), F)], [F], signal_ndim=1)
    assert "expected at least 1 sample" in refusal("Rfft", [np.ones((3, 0), F)], [F], signal_ndim=1)


@pytest.mark.parametrize("dtype", [F, D, H])
@pytest.mark.parametrize("op", ["ComplexMul", "ComplexMulConj"])
@pytest.mark.parametrize(
    "a,b",
    [
        ((3, 5, 2), (3, 5, 2)),
        ((3, 5, 2), (2,)),
        ((1, 2), (3, 5, 2)),
        ((3, 1, 2), (1, 5, 2)),
        ((0, 2), (1, 2)),
        ((2,), (2,)),
    ],
)
def test_complex_mul(dtype, op, a, b):
    x, y = random(1, *a, dtype=dtype), random(2, *b, dtype=dtype)
    want = parts(joined(x) * (np.conj(joined(y)) if op == "ComplexMulConj" else joined(y)))
    check(op, [x, y], [want], dtype)


def test_complex_mul_of_a_long_run_and_refusals():
    x, y = random(5, 40, 1000, 2), random(6, 1000, 2)
    check("ComplexMul", [x, y], [parts(joined(x) * joined(y))])
    assert "[..., 2], real and imaginary parts" in refusal("ComplexMul", [np.ones((3, 3), F), np.ones((3, 2), F)], [F])
    assert "[..., 2], real and imaginary parts" in refusal("ComplexMul", [np.ones((3, 2), F), np.array(1, F)], [F])
    assert refusal("ComplexMulConj", [np.ones((3, 2), F), np.ones((4, 2), F)], [F])
