"""Compares nodes of com.microsoft with float64, for operators that ONNX Runtime defines without a CPU kernel."""

import numpy as np
import pytest
import sardonyx
from node_model import assert_close, node_model, run_model

F, H, D = np.float32, np.float16, np.float64
TOLERANCE = {np.dtype(F): 3e-6, np.dtype(H): 1.5e-3, np.dtype(D): 1e-12}


def random(seed, *shape, dtype=F):
    return np.asarray(np.random.default_rng(seed).standard_normal(shape), D).astype(dtype)


def wide(x):
    return x.astype(D)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def run(op, inputs, outputs, constants=(), **attributes):
    return run_model(sardonyx, node_model(op, inputs, outputs, constants, **attributes), inputs, constants)


def check(op, inputs, want, dtype=F, constants=(), tolerance=None, **attributes):
    """The outputs are `want` up to the tolerance of the element type, relative to the largest value (1 at least)."""
    got = run(op, inputs, [dtype] * len(want), constants, **attributes)
    for index, (ours, expected) in enumerate(zip(got, want, strict=True)):
        assert ours.dtype == np.dtype(dtype), (index, ours.dtype)
        assert ours.shape == expected.shape, (index, ours.shape, expected.shape)
        assert_close(ours, expected, tolerance or TOLERANCE[np.dtype(dtype)], f"{op} output {index}")
    return got


def refusal(op, inputs, outputs, constants=(), **attributes):
    with pytest.raises(Exception) as raised:  # noqa: PT011
        run(op, inputs, outputs, constants, **attributes)
    return str(raised.value)
