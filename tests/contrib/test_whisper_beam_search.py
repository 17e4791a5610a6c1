"""com.microsoft.WhisperBeamSearch, and BeamSearch of Whisper's models, compared with ONNX Runtime."""

import numpy as np
import onnxruntime
import pytest
import sardonyx
from onnx import TensorProto
from small_decoder import generate
from small_encoder_decoder import FEATURES, VOCABULARY, decoder, encoder, model

F = np.float32
FLOAT = TensorProto.FLOAT
SOUND = np.random.default_rng(0).standard_normal((2, FEATURES, 5)).astype(F)
TOKENS = {"eos_token_id": 11, "pad_token_id": 10, "decoder_start_token_id": 4, "model_type": 2}
OUTPUTS = (TensorProto.INT32, FLOAT, FLOAT)
LOWEST = np.finfo(F).min
# ONNX Runtime hands hidden states to a Whisper decoder without their contents.
PLAIN = {"whisper": True, "hidden": False}


def ints(*values):
    return np.array(values, np.int32)


def inputs_of(length=10, beams=3, returned=2, shortest=None, sound=SOUND, **options):
    given = [sound, ints(length), ints(1) if shortest is None else shortest, ints(beams), ints(returned)]
    names = ["length_penalty", "repetition_penalty", "vocab_mask", "prefix_vocab_mask", "attention_mask"]
    names += ["decoder_input_ids", "logits_processor", "cross_qk_layer_head", "extra_decoding_ids", "temperature"]
    options = {"length_penalty": np.ones(1, F)} | options
    given += [options.get(name) for name in names]
    while given[-1] is None:
        given.pop()
    return given


def run(engine, graphs, attributes=None, op="WhisperBeamSearch", outputs=OUTPUTS, **options):
    return generate(engine, op, inputs_of(**options), graphs, outputs, **TOKENS | (attributes or {}))


def compare(got, want):
    np.testing.assert_array_equal(got[0], want[0], strict=True)
    np.testing.assert_allclose(got[1], want[1], rtol=1e-5, atol=1e-6)
    written = (got[2] != 0).any((2, 3))  # not the steps after the end of a row's texts
    assert written.any()
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(got[2][written], want[2][written], rtol=1e-5, atol=2e-5)
    return got


def same(graphs, attributes=None, **options):
    return compare(*(run(engine, graphs, attributes, **options) for engine in (sardonyx, onnxruntime)))


@pytest.mark.parametrize("op", ["WhisperBeamSearch", "BeamSearch"])
@pytest.mark.parametrize("beams,returned", [(1, 1), (2, 1), (5, 3)])
@pytest.mark.parametrize("length,end", [(3, 11), (14, 11), (14, 0), (14, 8)])
def test_plain(op, beams, returned, length, end):
    attributes = {"eos_token_id": end}
    same(model(1, **PLAIN), attributes, op=op, beams=beams, returned=returned, length=length)


@pytest.mark.parametrize("op", ["WhisperBeamSearch", "BeamSearch"])
@pytest.mark.parametrize("seed", range(2))
def test_texts_to_go_on_with(op, seed):
    for ids in ([[1], [2]], [[4, 5], [4, 6]], [[4, 1, 2], [4, 10, 10]]):
        got = same(model(seed, **PLAIN), op=op, decoder_input_ids=np.array(ids, np.int32))
        np.testing.assert_array_equal(got[0][:, 0, : len(ids[0])], ids)
    same(model(seed, **PLAIN), {"decoder_start_token_id": -1}, decoder_input_ids=ints(3, 3).reshape(2, 1))


@pytest.mark.parametrize("beams", [1, 3])
def test_hidden_states(beams):
    # ONNX Runtime's model reads them from the keys.
    options = {"beams": beams, "returned": 1}
    got = run(sardonyx, model(1, whisper=True, twin=True), **options)
    compare(got, run(onnxruntime, model(1, twin=True, **PLAIN), **options))
    assert (got[2] != run(sardonyx, model(1, **PLAIN), **options)[2]).any()


@pytest.mark.parametrize("seed", range(3))
def test_rules(seed):
    graphs = model(seed, **PLAIN)
    few, first = np.ones(VOCABULARY, np.int32), np.ones((2, VOCABULARY), np.int32)
    few[[2, 7]], first[0, ::2] = 0, 0
    same(graphs, vocab_mask=few)
    same(graphs, prefix_vocab_mask=first)
    same(graphs, {"eos_token_id": 5}, shortest=ints(8))
    same(graphs, {"early_stopping": 1, "eos_token_id": 5}, length_penalty=np.array([0.5], F))
    same(graphs, {"no_repeat_ngram_size": 2}, repetition_penalty=np.array([2.0], F))
    cold = same(graphs, temperature=np.array([0.5], F))
    np.testing.assert_allclose(cold[2][0, :, 0], 2 * same(graphs)[2][0, :, 0], rtol=1e-6)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("vocabulary,first", [(12, 7), (80, 9)])
@pytest.mark.parametrize("ids", [[[4], [4]], [[4, 8], [4, 1]], [[4, 9], [9, 9]]])
def test_timestamps(seed, vocabulary, first, ids):
    tokens = {"eos_token_id": 6, "pad_token_id": 6, "no_timestamps_token_id": 5, "start_of_lm_token_id": 3}
    tokens |= {"beginning_timestamp_token_id": first, "translate_token_id": 1, "transcribe_token_id": 2}
    graphs = model(seed, vocabulary=vocabulary, **PLAIN)
    options = {"decoder_input_ids": np.array(ids, np.int32), "length": 14}
    plain = run(sardonyx, graphs, tokens, **options)
    got = same(graphs, tokens, logits_processor=ints(1), **options)
    assert (got[2] != plain[2]).any()
    assert not np.isin(got[0][:, :, len(ids[0]) :], [3, 5]).any()
    for text in got[0].reshape(-1, 14):
        stamps = text[text >= first]
        assert (np.diff(stamps) >= 0).all()


def test_wanted_tokens():
    # ONNX Runtime has them on a GPU only: the search goes on as if they were of the text to go on with.
    graphs = model(2, **PLAIN)
    wanted = np.array([[7, 8], [1, 2]], np.int32)
    got = run(sardonyx, graphs, extra_decoding_ids=wanted)
    for row in range(2):
        ids = np.concatenate([ints(4), wanted[row]])[None]
        want = run(onnxruntime, graphs, sound=SOUND[row : row + 1], decoder_input_ids=ids)
        np.testing.assert_array_equal(got[0][row], want[0][0])
        np.testing.assert_allclose(got[1][row], want[1][0], rtol=1e-5, atol=1e-6)
        first = np.full(VOCABULARY, LOWEST)
        first[wanted[row, 0]] = 0
        np.testing.assert_array_equal(got[2][0, row, 0], first)
    # A negative token ends the list.
    ended = run(sardonyx, graphs, extra_decoding_ids=np.array([[7, -1, 8], [-1, 1, 2]], np.int32))
    want = run(onnxruntime, graphs)
    np.testing.assert_array_equal(ended[0][1], want[0][1])
    alone = run(onnxruntime, graphs, sound=SOUND[:1], decoder_input_ids=ints(4, 7)[None])
    np.testing.assert_array_equal(ended[0][0], alone[0][0])


def speech(graphs, attributes=None, **options):
    """Texts, scores and the probabilities that nobody speaks."""
    return run(sardonyx, graphs, attributes, outputs=(TensorProto.INT32, None, FLOAT, None, FLOAT), **options)


@pytest.mark.parametrize("token", [0, 5, 8])
def test_no_speech(token):
    # ONNX Runtime's CPU kernel leaves the output out.
    got = speech(model(**PLAIN), {"no_speech_token_id": token})
    first = same(model(**PLAIN))[2][0, :, 0, token]
    np.testing.assert_allclose(got[2], np.exp(first), rtol=1e-5, atol=1e-30)
    assert speech(model(**PLAIN), {"no_speech_token_id": token}, sound=SOUND[:0])[2].shape == (0,)


@pytest.mark.parametrize("beams", [1, 3])
def test_float16(beams):
    # ONNX Runtime's CPU kernel takes no float16; the same weights in float.
    sound, options = SOUND.astype(np.float16), {"beams": beams, "returned": 1, "length": 6}
    want = run(onnxruntime, model(1, **PLAIN), sound=sound.astype(F), **options)
    got = run(sardonyx, model(1, dtype=TensorProto.FLOAT16, **PLAIN), sound=sound, **options)
    np.testing.assert_array_equal(got[0], want[0], strict=True)
    np.testing.assert_allclose(got[1], want[1], atol=5e-2)


@pytest.mark.parametrize(
    "options,attributes,message",
    [
        ({"sound": SOUND[0]}, {}, r"WhisperBeamSearch\].*expected rank 3"),
        ({"decoder_input_ids": ints(1, 2)}, {}, r"'decoder_input_ids'\): expected shape \[2, tokens\]"),
        ({"decoder_input_ids": np.ones((3, 1), np.int32)}, {}, r"'decoder_input_ids'.* found \[3, 1\]"),
        ({"decoder_input_ids": np.ones((2, 10), np.int32)}, {}, "above the length of the text to go on with, 10"),
        ({}, {"decoder_start_token_id": -1}, "'decoder_start_token_id': expected a token"),
        ({"extra_decoding_ids": np.ones((1, 2), np.int32)}, {}, r"'extra_decoding_ids'\): expected shape \[2, t"),
        ({"extra_decoding_ids": np.full((2, 1), 12, np.int32)}, {}, "tokens below 12, found 12"),
        ({"temperature": np.zeros(1, F)}, {}, r"'temperature'\): expected one number above 0"),
        ({"logits_processor": ints(2)}, {}, r"expected 0 or 1 \(timestamps\), found 2"),
        ({"logits_processor": ints(1)}, {}, r"'beginning_timestamp_token_id': expected a token in \[0, 11\]"),
        ({}, {"decoder_output_cross_qk": 1}, "'decoder_output_cross_qk'"),
        ({}, {"model_type": 1}, "'model_type': expected 2, found 1"),
    ],
)
def test_wrong_inputs_are_refused(options, attributes, message):
    with pytest.raises(Exception, match=message):
        run(sardonyx, model(**PLAIN), attributes, **options)


def test_wrong_models_and_outputs_are_refused():
    whisper, sentences = model(**PLAIN), model(hidden=False)
    with pytest.raises(Exception, match="attribute 'decoder': expected float as input 1"):
        run(sardonyx, {"encoder": whisper["encoder"], "decoder": sentences["decoder"]})
    with pytest.raises(Exception, match="attribute 'encoder': expected .*, found 3 inputs"):
        run(sardonyx, {"encoder": sentences["encoder"], "decoder": whisper["decoder"]})
    with pytest.raises(Exception, match="attribute 'encoder' .* is required"):
        run(sardonyx, {"decoder": decoder(whisper=True)})
    with pytest.raises(Exception, match="'decoder'"):
        run(sardonyx, {"encoder": encoder(whisper=True)})
    with pytest.raises(Exception, match=r"output 3 \('cross_qk'\) is not implemented"):
        run(sardonyx, whisper, outputs=(*OUTPUTS, FLOAT))
    with pytest.raises(Exception, match="'no_speech_token_id': expected a token"):
        speech(whisper)
