"""com.microsoft EmbedLayerNormalization and normalizations with skip connections, compared with ONNX Runtime."""

import itertools

import numpy as np
import pytest
from node_model import compare

F, INT = np.float32, np.int32


@pytest.mark.parametrize("segments,mask,positions", itertools.product([False, True], [False, True], [None, 1, 2]))
def test_embed_layer_norm(segments, mask, positions):
    rng = np.random.default_rng(1)
    batch, length, hidden = 2, 7, 33
    ids = rng.integers(0, 11, (batch, length)).astype(INT)
    tables = [rng.standard_normal((n, hidden)).astype(F) for n in (11, 9, 3)]
    inputs = [
        ids,
        rng.integers(0, 3, (batch, length)).astype(INT) if segments else None,
        tables[0],
        tables[1],
        tables[2] if segments else None,
        rng.standard_normal(hidden).astype(F),
        rng.standard_normal(hidden).astype(F),
        (np.arange(length)[None] < np.array([[4], [7]])).astype(INT) if mask else None,
        rng.integers(0, 9, (positions, length)).astype(INT) if positions else None,
    ]
    constants = (2, 3, 4, 5, 6) if segments else (2, 3, 5, 6)  # ONNX Runtime wants to know the tables' sizes
    compare("EmbedLayerNormalization", inputs, [F, INT, F], constants, epsilon=1e-6)


@pytest.mark.parametrize("dtype", [F, np.float16])
@pytest.mark.parametrize("op", ["SkipLayerNormalization", "SkipSimplifiedLayerNormalization"])
@pytest.mark.parametrize("skip", ["same", "one batch", "no batch"])
@pytest.mark.parametrize("bias,beta,total", itertools.product([False, True], repeat=3))
def test_skip_layer_norm(dtype, op, skip, bias, beta, total):
    rng = np.random.default_rng(2)

    def random(*shape):
        return rng.standard_normal(shape).astype(dtype)

    shape = {"same": (2, 5, 40), "one batch": (1, 5, 40), "no batch": (5, 40)}[skip]
    inputs = [random(2, 5, 40), random(*shape), random(40)]
    if op == "SkipLayerNormalization":
        inputs.append(random(40) if beta else None)
    inputs.append(random(40) if bias else None)
    outputs = [dtype, None, None, dtype] if total else [dtype]
    compare(op, inputs, outputs, tolerance=3e-6 if dtype == F else 2e-3, epsilon=1e-5)


@pytest.mark.parametrize(
    "op,bias", [("BiasGelu", True), ("FastGelu", True), ("FastGelu", False), ("QuickGelu", False), ("Gelu", False)]
)
def test_gelus(op, bias):
    rng = np.random.default_rng(3)
    inputs = [(4 * rng.standard_normal((3, 5, 37))).astype(F)] + ([rng.standard_normal(37).astype(F)] if bias else [])
    compare(op, inputs, [F], tolerance=1e-6)


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("heads,rotated", [(0, 0), (2, 8)])
@pytest.mark.parametrize("positions", ["one", "each"])
@pytest.mark.parametrize("dtype", [F, np.float16])
def test_rotary_embedding(interleaved, heads, rotated, positions, dtype):
    rng = np.random.default_rng(4)
    batch, length, size = 2, 6, 16
    ids = np.array([3]) if positions == "one" else rng.integers(0, 20, (batch, length))
    half = (rotated or size) // 2
    tables = [rng.standard_normal((20, half)).astype(dtype) for _ in range(2)]
    for x in (rng.standard_normal((batch, length, 2 * size)), rng.standard_normal((batch, 2, length, size))):
        compare(
            "RotaryEmbedding",
            [x.astype(dtype), ids, *tables],
            [dtype],
            tolerance=1e-6 if dtype == F else 4e-3,
            interleaved=interleaved,
            num_heads=heads,
            rotary_embedding_dim=rotated,
        )
