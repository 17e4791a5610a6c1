"""com.microsoft WordConvEmbedding, DynamicTimeWarping, ConvTransposeWithDynamicPads, QEmbedLayerNormalization and
MRotaryEmbedding, compared with ONNX Runtime and with float64."""

import numpy as np
import pytest
import sardonyx
from node_model import assert_close, compare, node_model, run_model

F, H, S = np.float32, np.float16, np.int32


def random(rng, *shape):
    return rng.standard_normal(shape).astype(F)


def refusal(op, inputs, outputs, **attributes):
    with pytest.raises(Exception) as raised:  # noqa: PT011
        run_model(sardonyx, node_model(op, inputs, outputs, **attributes), inputs)
    return str(raised.value)


@pytest.mark.parametrize("window", [1, 2, 5])
def test_words(window):
    rng = np.random.default_rng(1)
    words = np.array([[3, 1, 4, 1, 5], [2, 0, 0, 0, 0], [9, 2, 6, 0, 0]], S)
    inputs = [words, random(rng, 7, 1, window, 4), random(rng, 7), random(rng, 10, 4)]
    compare("WordConvEmbedding", inputs, [F], embedding_size=7, conv_window_size=window, char_embedding_size=4)
    empty = [np.zeros((2, 5), S), *inputs[1:]]
    (got,) = run_model(sardonyx, node_model("WordConvEmbedding", empty, [F]), empty)
    np.testing.assert_array_equal(got, np.zeros((2, 7)))  # not written by ONNX Runtime


def test_words_refuse():
    rng = np.random.default_rng(2)
    inputs = [np.array([[3, 11, 4]], S), random(rng, 7, 1, 2, 4), random(rng, 7), random(rng, 10, 4)]
    assert "expected characters in [0, 9], found 11" in refusal("WordConvEmbedding", inputs, [F])
    assert "'embedding_size'" in refusal("WordConvEmbedding", inputs, [F], embedding_size=8)
    inputs[1] = random(rng, 7, 1, 4, 4)
    assert "at least 4 characters" in refusal("WordConvEmbedding", inputs, [F])


@pytest.mark.parametrize("shape", [(1, 1), (3, 8), (9, 4), (1, 6, 6), (1, 5), (40, 30)])
def test_warping(shape):
    rng = np.random.default_rng(3)
    compare("DynamicTimeWarping", [rng.random(shape).astype(F)], [S], tolerance=0)
    compare("DynamicTimeWarping", [rng.integers(0, 3, shape).astype(F)], [S], tolerance=0)  # equal costs


def test_warping_refuses():
    assert "expected [M, N] or [1, M, N]" in refusal("DynamicTimeWarping", [np.zeros((2, 3, 4), F)], [S])


@pytest.mark.parametrize("pads", [[0, 0, 0, 0], [1, 0, 1, 2], None])
@pytest.mark.parametrize(
    "attributes", [{}, {"strides": [2, 1], "output_padding": [1, 0]}, {"group": 2, "dilations": [1, 2]}]
)
@pytest.mark.parametrize("constants", [(), (1,), (1, 2)])
def test_dynamic_pads(pads, attributes, constants):
    if pads is None and 2 in constants:
        constants = (1,)
    rng = np.random.default_rng(4)
    bias = 3 * attributes.get("group", 1)
    inputs = [
        random(rng, 2, 4, 5, 6),
        random(rng, 4, 3, 3, 3),
        None if pads is None else np.array(pads),
        random(rng, bias),
    ]
    if pads is None:  # none: zeros, by the schema; ONNX Runtime refuses that
        zeros = [*inputs[:2], np.zeros(4, np.int64), inputs[3]]
        want = run_model(sardonyx, node_model("ConvTransposeWithDynamicPads", zeros, [F], **attributes), zeros)
        model = node_model("ConvTransposeWithDynamicPads", inputs, [F], constants, **attributes)
        np.testing.assert_array_equal(run_model(sardonyx, model, inputs, constants), want)
        return
    compare("ConvTransposeWithDynamicPads", inputs, [F], constants, **attributes)
    compare("ConvTransposeWithDynamicPads", inputs[:3], [F], constants, **attributes)


def test_dynamic_pads_in_double_and_refused():
    rng = np.random.default_rng(5)
    inputs = [random(rng, 1, 2, 4, 4), random(rng, 2, 3, 3, 3), np.array([1, 1, 1, 1])]
    want = run_model(sardonyx, node_model("ConvTransposeWithDynamicPads", inputs, [F]), inputs)[0]
    wide = [inputs[0].astype(np.float64), inputs[1].astype(np.float64), inputs[2]]
    (got,) = run_model(sardonyx, node_model("ConvTransposeWithDynamicPads", wide, [np.float64]), wide)
    assert_close(want, got, 2e-6, "double")
    inputs[2] = np.array([1, 1, 1])
    assert "expected 4 values" in refusal("ConvTransposeWithDynamicPads", inputs, [F])
    inputs[2] = np.array([4, 1, 4, 1])
    assert "expected an output size of at least 0" in refusal("ConvTransposeWithDynamicPads", inputs, [F])


def embedding(rng, dtype, segments, mask):
    low, high = (-128, 128) if dtype == np.int8 else (0, 256)

    def numbers(*shape):
        return rng.integers(low, high, shape).astype(dtype)

    def both(there, make):
        return make() if there else None

    return [
        rng.integers(0, 20, (2, 6)).astype(S),
        both(segments, lambda: rng.integers(0, 3, (2, 6)).astype(S)),
        numbers(20, 16),
        numbers(8, 16),
        both(segments, lambda: numbers(3, 16)),
        numbers(16),
        numbers(16),
        both(mask, lambda: (rng.random((2, 6)) < 0.6).astype(S)),
        *[None if i == 2 and not segments else (rng.random(1) * 0.05 + 0.01).astype(F) for i in range(5)],
        *[None if i == 2 and not segments else numbers(1) for i in range(5)],
    ]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("segments", [False, True])
@pytest.mark.parametrize("mask", [False, True])
def test_quantized_embedding(dtype, segments, mask):
    inputs = embedding(np.random.default_rng(6), dtype, segments, mask)
    constants = tuple(i for i in range(2, 18) if inputs[i] is not None and i != 7)
    got = compare("QEmbedLayerNormalization", inputs, [F, S], constants, tolerance=5e-6, epsilon=1e-6)
    model = node_model("QEmbedLayerNormalization", inputs, [F, S], epsilon=1e-6)
    for ours, want in zip(run_model(sardonyx, model, inputs), got, strict=True):
        np.testing.assert_array_equal(ours, want)


def test_quantized_embedding_refuses():
    inputs = embedding(np.random.default_rng(7), np.int8, True, False)
    wrong = list(inputs)
    wrong[1] = None
    assert "expected segment_ids, segment_embedding" in refusal("QEmbedLayerNormalization", wrong, [F, S])
    wrong = list(inputs)
    wrong[8] = np.ones(2, F)
    assert "input 8: expected one scale" in refusal("QEmbedLayerNormalization", wrong, [F, S])
    wrong = list(inputs)
    wrong[0] = np.full((2, 6), 25, S)
    assert "found 25" in refusal("QEmbedLayerNormalization", wrong, [F, S])


@pytest.mark.parametrize("dtype", [F, H])
@pytest.mark.parametrize("layout,sections", [(0, [3, 2, 3]), (0, [8, 0, 0]), (1, [4, 2, 2]), (1, [2, 3, 3])])
@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("rank", [3, 4])
@pytest.mark.parametrize("partial", [False, True])
def test_multi_rotary(dtype, layout, sections, interleaved, rank, partial):
    rng = np.random.default_rng(8)
    batch, sequence, heads = 2, 5, 3
    size = 24 if partial else 16
    x = rng.standard_normal((batch, heads, sequence, size) if rank == 4 else (batch, sequence, heads * size)).astype(
        dtype
    )
    ids = rng.integers(0, 30, (3, batch, sequence))
    tables = [rng.standard_normal((30, 8)).astype(dtype) for _ in range(2)]
    attributes = {"mrope_section": sections, "mrope_layout": layout, "interleaved": interleaved, "scale": 0.5}
    if partial or rank == 3:
        attributes |= {"num_heads": heads, "rotary_embedding_dim": 16}
    compare("MRotaryEmbedding", [x, ids, *tables], [dtype], tolerance=1e-6 if dtype == F else 3e-3, **attributes)


def test_multi_rotary_refuses():
    x, ids, table = np.ones((2, 3, 5, 16), F), np.zeros((3, 2, 5), np.int64), np.ones((30, 8), F)
    assert "together 8, the width of cos_cache, found 7" in refusal(
        "MRotaryEmbedding", [x, ids, table, table], [F], mrope_section=[3, 2, 2]
    )
    assert "expected shape [3, 2, 5], found [2, 2, 5]" in refusal(
        "MRotaryEmbedding", [x, ids[1:], table, table], [F], mrope_section=[3, 2, 3]
    )
    assert "in [0, 30), found 30" in refusal(
        "MRotaryEmbedding", [x, ids + 30, table, table], [F], mrope_section=[3, 2, 3]
    )
    assert "3 numbers" in refusal("MRotaryEmbedding", [x, ids, table, table], [F], mrope_section=[8])
