"""com.microsoft.BeamSearch, compared with ONNX Runtime."""

import numpy as np
import onnxruntime
import pytest
import sardonyx
from onnx import TensorProto
from small_decoder import VOCABULARY, generate, small_decoder

IDS = np.array([[1, 2, 3], [4, 5, 6]], np.int32)
DECODER = {"decoder": small_decoder()}
TOKENS = {"eos_token_id": 11, "pad_token_id": 10}
OUTPUTS = (TensorProto.INT32, TensorProto.FLOAT, TensorProto.FLOAT)
F = np.float32


def ints(*values):
    return np.array(values, np.int32)


def inputs_of(length=10, beams=3, returned=2, shortest=None, ids=IDS, **options):
    # ONNX Runtime asks for a shortest length, too.
    given = [ids, ints(length), ints(1) if shortest is None else shortest, ints(beams), ints(returned)]
    names = ["length_penalty", "repetition_penalty", "vocab_mask", "prefix_vocab_mask", "attention_mask"]
    options = {"length_penalty": np.ones(1, F)} | options  # without which ONNX Runtime infers no types
    return given + [options.get(name) for name in names]


def same(graphs=DECODER, attributes=None, **options):
    """Our texts, their scores and the scores of all tokens are ONNX Runtime's."""
    attributes = TOKENS | (attributes or {})
    inputs = inputs_of(**options)
    got = generate(sardonyx, "BeamSearch", inputs, graphs, OUTPUTS, **attributes)
    want = generate(onnxruntime, "BeamSearch", inputs, graphs, OUTPUTS, **attributes)
    np.testing.assert_array_equal(got[0], want[0], strict=True)
    np.testing.assert_allclose(got[1], want[1], rtol=1e-5)
    # Steps after the end of a prompt's texts: 0 here, the scores of other texts or what was there in ONNX Runtime.
    written = (got[2] != 0).any((2, 3))
    assert written.any()
    np.testing.assert_allclose(got[2][written], want[2][written], rtol=1e-5, atol=1e-5)
    return got


@pytest.mark.parametrize("beams,returned", [(1, 1), (2, 1), (3, 3), (5, 2)])
@pytest.mark.parametrize("length", [4, 14])
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("end", [5, 11])
def test_plain(beams, returned, length, seed, end):
    same({"decoder": small_decoder(seed)}, {"eos_token_id": end}, beams=beams, returned=returned, length=length)


@pytest.mark.parametrize("penalty", [0.0, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("early", [0, 1])
@pytest.mark.parametrize("seed", range(3))
def test_lengths_and_ends(penalty, early, seed):
    decoder = {"decoder": small_decoder(seed)}
    same(decoder, {"early_stopping": early, "eos_token_id": 5}, length=16, length_penalty=np.array([penalty], F))


@pytest.mark.parametrize("seed", range(3))
def test_rules(seed):
    decoder = {"decoder": small_decoder(seed)}
    few, first = np.ones(VOCABULARY, np.int32), np.ones((2, VOCABULARY), np.int32)
    few[[2, 7]], first[0, ::2] = 0, 0
    assert not np.isin(same(decoder, vocab_mask=few)[0][..., 3:], [2, 7]).any()
    assert (same(decoder, prefix_vocab_mask=first)[0][0, :, 3] % 2 == 1).all()
    same(decoder, {"eos_token_id": 5}, shortest=ints(8))
    same(decoder, repetition_penalty=np.array([2.0], F))
    for ngram in (1, 2, 3):
        same(decoder, {"no_repeat_ngram_size": ngram}, length=9)


def test_masks_pads_and_another_first_decoder():
    same(attention_mask=np.array([[0, 0, 1], [1, 1, 1]], np.int32))
    same(ids=np.array([[10, 10, 3], [4, 5, 6]], np.int32))
    same(DECODER | {"init_decoder": small_decoder(5, prefix="first_")})


def test_one_beam_is_the_greedy_search():
    (greedy,) = generate(sardonyx, "GreedySearch", [IDS, ints(12)], DECODER, **TOKENS)
    got = generate(sardonyx, "BeamSearch", inputs_of(12, 1, 1), DECODER, OUTPUTS, **TOKENS)
    np.testing.assert_array_equal(got[0][:, 0], greedy)


@pytest.mark.parametrize(
    "options,message",
    [
        ({"beams": 0}, r"'num_beams'\): expected a number in \[1, 65536\], found 0"),
        ({"beams": 2, "returned": 3}, r"'num_return_sequences'\): expected a number in \[1, 2\], the beams, found 3"),
        ({"length": 3}, "above the length of 'input_ids', 3"),
        ({"vocab_mask": np.ones(5, np.int32)}, r"'vocab_mask'\): expected shape \[12\], found \[5\]"),
        ({"length_penalty": np.ones(2, F)}, "'length_penalty'"),
    ],
)
def test_wrong_inputs_are_refused(options, message):
    with pytest.raises(Exception, match=message):
        generate(sardonyx, "BeamSearch", inputs_of(**options), DECODER, OUTPUTS, **TOKENS)
