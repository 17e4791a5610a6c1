"""com.microsoft GreedySearch and Sampling, compared with ONNX Runtime."""

import numpy as np
import onnxruntime
import pytest
import sardonyx
from small_decoder import VOCABULARY, generate, small_decoder

IDS = np.array([[1, 2, 3], [4, 5, 6]], np.int32)
DECODER = {"decoder": small_decoder()}
TOKENS = {"eos_token_id": 11, "pad_token_id": 10}
F = np.float32


def ints(*values):
    return np.array(values, np.int32)


def same(inputs, graphs=DECODER, **attributes):
    """Our tokens are ONNX Runtime's, up to where all rows have ended: what follows it leaves as it finds it."""
    attributes = TOKENS | attributes
    (got,) = generate(sardonyx, "GreedySearch", inputs, graphs, **attributes)
    (want,) = generate(onnxruntime, "GreedySearch", inputs, graphs, **attributes)
    assert got.dtype == want.dtype and got.shape == want.shape
    generated = np.flatnonzero((got != attributes["pad_token_id"]).any(0)).max() + 1
    np.testing.assert_array_equal(got[:, :generated], want[:, :generated])
    assert (got[:, generated:] == attributes["pad_token_id"]).all()
    return got


@pytest.mark.parametrize("length", [4, 5, 12, 30])
@pytest.mark.parametrize("end", [0, 5, 7, 11])
def test_plain(length, end):
    same([IDS, ints(length)], eos_token_id=end)


def test_ends_are_written_as_pads():
    got = same([IDS, ints(12)], eos_token_id=7)
    assert got[0, 3] == 10 and (got[0, 3:] == 10).all() and (got[1] != 10).all()


@pytest.mark.parametrize("seed", range(4))
def test_rules(seed):
    decoder = {"decoder": small_decoder(seed)}
    plain = same([IDS, ints(14)], decoder)
    mask = np.ones(VOCABULARY, np.int32)
    mask[plain[:, 3]] = 0
    first = np.ones((2, VOCABULARY), np.int32)
    first[0, plain[0, 3]] = 0
    assert (same([IDS, ints(14), None, None, mask], decoder)[:, 3] != plain[:, 3]).all()
    assert same([IDS, ints(14), None, None, None, first], decoder)[0, 3] != plain[0, 3]
    same([IDS, ints(14), None, np.array([5.0], F)], decoder)
    same([IDS, ints(14), None, np.array([0.3], F)], decoder)
    same([IDS, ints(14), ints(8)], decoder, eos_token_id=int(plain[0, 3]))
    for ngram in (1, 2, 3):
        same([IDS, ints(10)], decoder, no_repeat_ngram_size=ngram)
    # Of a smaller vocabulary the scores beyond it do not count; ONNX Runtime 1.31 reads the others from wrong places.
    few = np.array([1] * 8 + [0] * 4, np.int32)
    want = same([IDS, ints(14), None, None, few], decoder)
    (got,) = generate(
        sardonyx, "GreedySearch", [IDS, ints(14)], decoder, **TOKENS | {"vocab_size": 8, "pad_token_id": 0}
    )
    np.testing.assert_array_equal(got, want)


def test_masks_and_pads():
    same([IDS, ints(12), None, None, None, None, np.array([[0, 0, 1], [1, 1, 1]], np.int32)])
    same([IDS, ints(12), None, None, None, None, np.array([[0, 1, 0], [1, 1, 1]], np.int32)])
    same([np.array([[10, 10, 3], [4, 5, 6]], np.int32), ints(12)])


def test_a_decoder_for_the_first_step():
    other = DECODER | {"init_decoder": small_decoder(5, prefix="first_")}
    assert (same([IDS, ints(12)], other)[:, 3:] != same([IDS, ints(12)])[:, 3:]).any()


def test_sampling_draws_from_the_most_probable():
    (best,) = generate(sardonyx, "GreedySearch", [IDS, ints(12)], DECODER, **TOKENS)
    # With one token left, or a temperature near 0, there is nothing to draw.
    for attributes in ({"top_p": 0.01}, {"top_p": 0.9, "temperature": 0.001}):
        inputs = [IDS, ints(12), *[None] * 6, ints(7)]
        (got,) = generate(sardonyx, "Sampling", inputs, DECODER, **TOKENS, **attributes)
        np.testing.assert_array_equal(got, best)
        (theirs,) = generate(onnxruntime, "Sampling", inputs, DECODER, **TOKENS, **attributes)
        np.testing.assert_array_equal(got, theirs)


def test_sampling_follows_the_probabilities():
    rows = 2000
    many = np.tile(IDS[:1], (rows, 1))
    inputs = [many, ints(4), *[None] * 6, ints(3)]
    (got,) = generate(sardonyx, "Sampling", inputs, DECODER, top_p=1.0, temperature=3.0, **TOKENS)
    (again,) = generate(sardonyx, "Sampling", inputs, DECODER, top_p=1.0, temperature=3.0, **TOKENS)
    np.testing.assert_array_equal(got, again)  # the same seed
    (theirs,) = generate(onnxruntime, "Sampling", inputs, DECODER, top_p=1.0, temperature=3.0, **TOKENS)
    ours, peers = (np.bincount(tokens[:, 3], minlength=VOCABULARY) / rows for tokens in (got, theirs))
    # Both are draws: a share differs by a few times its deviation, at most 0.011.
    assert np.abs(ours - peers).max() < 0.06 and (ours > 0.02).sum() > 3


@pytest.mark.parametrize(
    "inputs,attributes,message",
    [
        ([IDS, ints(3)], {}, "above the length of 'input_ids', 3"),
        ([IDS, ints(9, 9)], {}, r"'max_length'\): expected one number, found shape \[2\]"),
        ([IDS, ints(9), None, np.array([0.0], F)], {}, "'repetition_penalty'"),
        ([IDS, ints(9), None, None, np.ones(5, np.int32)], {}, r"'vocab_mask'\): expected shape \[12\], found \[5\]"),
        ([IDS - 4, ints(9)], {}, r"expected tokens in \[0, 11\], found -3"),
        ([IDS, ints(9)], {"vocab_size": 13}, "expected logits of at least 13"),
        ([IDS, ints(9)], {"model_type": 1}, "encoder"),
    ],
)
def test_wrong_inputs_are_refused(inputs, attributes, message):
    with pytest.raises(Exception, match=message):
        generate(sardonyx, "GreedySearch", inputs, DECODER, **TOKENS, **attributes)
