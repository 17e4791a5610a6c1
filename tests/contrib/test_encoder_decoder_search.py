"""com.microsoft.BeamSearch with an encoder and a decoder, compared with ONNX Runtime."""

import numpy as np
import onnxruntime
import pytest
import sardonyx
from onnx import TensorProto, helper, numpy_helper
from small_decoder import generate, small_decoder
from small_encoder_decoder import VOCABULARY, decoder, encoder, model

IDS = np.array([[1, 2, 3], [4, 5, 6]], np.int32)
TOKENS = {"eos_token_id": 11, "pad_token_id": 10, "decoder_start_token_id": 9, "model_type": 1}
OUTPUTS = (TensorProto.INT32, TensorProto.FLOAT, TensorProto.FLOAT)
F = np.float32
FORMS = {
    "starts": {},
    "starts, without hidden states": {"hidden": False},
    "starts, whole text": {"whole": True},
    "keys and values alone": {"starts": False},
}


def ints(*values):
    return np.array(values, np.int32)


def inputs_of(length=10, beams=3, returned=2, shortest=None, ids=IDS, **options):
    # ONNX Runtime asks for a shortest length, too.
    given = [ids, ints(length), ints(1) if shortest is None else shortest, ints(beams), ints(returned)]
    names = ["length_penalty", "repetition_penalty", "vocab_mask", "prefix_vocab_mask", "attention_mask"]
    options = {"length_penalty": np.ones(1, F)} | options  # without which ONNX Runtime infers no types
    return given + [options.get(name) for name in names]


def ours(graphs, attributes=None, **options):
    return generate(sardonyx, "BeamSearch", inputs_of(**options), graphs, OUTPUTS, **TOKENS | (attributes or {}))


def same(graphs, attributes=None, **options):
    """Our texts, their scores and the scores of all tokens are ONNX Runtime's."""
    attributes = TOKENS | (attributes or {})
    inputs = inputs_of(**options)
    got = generate(sardonyx, "BeamSearch", inputs, graphs, OUTPUTS, **attributes)
    want = generate(onnxruntime, "BeamSearch", inputs, graphs, OUTPUTS, **attributes)
    np.testing.assert_array_equal(got[0], want[0], strict=True)
    np.testing.assert_allclose(got[1], want[1], rtol=1e-5)
    # Steps after the end of a row's texts: 0 here, the scores of other texts or what was there in ONNX Runtime.
    written = (got[2] != 0).any((2, 3))
    assert written.any()
    np.testing.assert_allclose(got[2][written], want[2][written], rtol=1e-5, atol=1e-5)
    return got


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("beams,returned", [(1, 1), (2, 1), (3, 3), (5, 2)])
@pytest.mark.parametrize("length", [3, 14])
@pytest.mark.parametrize("end", [5, 11])
def test_forms(form, beams, returned, length, end):
    same(model(1, **FORMS[form]), {"eos_token_id": end}, beams=beams, returned=returned, length=length)


@pytest.mark.parametrize("penalty", [0.0, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("early", [0, 1])
@pytest.mark.parametrize("seed", range(3))
def test_lengths_and_ends(penalty, early, seed):
    options = {"early_stopping": early, "eos_token_id": 5}
    same(model(seed), options, length=16, length_penalty=np.array([penalty], F))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("starts", [False, True])
def test_rules(seed, starts):
    graphs = model(seed, starts=starts)
    few, first = np.ones(VOCABULARY, np.int32), np.ones((2, VOCABULARY), np.int32)
    few[[2, 7]], first[0, ::2] = 0, 0
    assert not np.isin(same(graphs, vocab_mask=few)[0][..., 1:], [2, 7]).any()
    assert (same(graphs, prefix_vocab_mask=first)[0][0, :, 1] % 2 == 1).all()
    same(graphs, {"eos_token_id": 5}, shortest=ints(8))
    same(graphs, repetition_penalty=np.array([2.0], F))
    for ngram in (1, 2, 3):
        same(graphs, {"no_repeat_ngram_size": ngram}, length=9)


@pytest.mark.parametrize("form", FORMS)
def test_masks_and_pads(form):
    graphs = model(2, **FORMS[form])
    plain = ours(graphs)
    masked = same(graphs, attention_mask=np.array([[0, 1, 1], [1, 1, 0]], np.int32))
    assert (masked[2] != plain[2]).any()
    same(graphs, ids=np.array([[10, 10, 3], [4, 10, 10]], np.int32))
    same(graphs, ids=np.array([[1], [4], [10]], np.int32))


def test_another_start_begins_the_texts():
    assert (same(model(), {"decoder_start_token_id": 3})[0][..., 0] == 3).all()


def test_a_part_of_the_vocabulary():
    # ONNX Runtime reads the rows of wider scores as if they were narrow, so its model cuts them off itself.
    attributes = TOKENS | {"pad_token_id": 0, "decoder_start_token_id": 2}
    want = generate(onnxruntime, "BeamSearch", inputs_of(), model(words=8), OUTPUTS, **attributes)
    got = ours(model(), attributes | {"vocab_size": 8})
    np.testing.assert_array_equal(got[0], want[0], strict=True)
    for a, b in zip(got[1:], want[1:], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_one_token_is_the_first_of_longer_texts(form):
    # ONNX Runtime runs the decoder without inputs here.
    graphs = model(1, **FORMS[form])
    options = {"beams": 2, "shortest": ints(2)}  # no end yet
    got, more = ours(graphs, length=2, **options), same(graphs, length=3, **options)
    np.testing.assert_array_equal(got[2][0], more[2][0])
    best = np.sort(more[2][0].reshape(2, -1))[:, :-3:-1]
    np.testing.assert_allclose(got[1], best / 2, rtol=1e-6)
    np.testing.assert_array_equal(np.sort(more[2][0, :, 0])[:, :-3:-1], best)
    np.testing.assert_array_equal(got[0][..., 1], np.argsort(more[2][0, :, 0])[:, :-3:-1])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("beams", [1, 3])
def test_float16(form, beams):
    # ONNX Runtime's CPU kernel takes no float16; the same weights in float.
    options = {"beams": beams, "returned": 1, "length": 6}
    want = generate(onnxruntime, "BeamSearch", inputs_of(**options), model(1, **FORMS[form]), OUTPUTS, **TOKENS)
    got = ours(model(1, dtype=TensorProto.FLOAT16, **FORMS[form]), **options)
    np.testing.assert_array_equal(got[0], want[0], strict=True)
    np.testing.assert_allclose(got[1], want[1], atol=5e-2)


def test_weights_of_the_graph_around():
    # As ONNX Runtime's exporter leaves them, which takes weights out of both graphs.
    graphs, weights = model(1), []
    for graph in graphs.values():
        weights += [type(w).FromString(w.SerializeToString()) for w in graph.initializer]
        del graph.initializer[:]
    got, want = (
        generate(engine, "BeamSearch", inputs_of(), graphs, OUTPUTS, weights, **TOKENS)
        for engine in (sardonyx, onnxruntime)
    )
    np.testing.assert_array_equal(got[0], want[0], strict=True)
    np.testing.assert_array_equal(got[0], ours(model(1))[0])


def test_no_rows():
    got = ours(model(), ids=IDS[:0])
    assert [x.shape for x in got] == [(0, 2, 10), (0, 2), (9, 0, 3, 0)]


def without(graph, inputs=0, outputs=0):
    """A graph without its last inputs (which are constants then) or outputs."""
    small = type(graph).FromString(graph.SerializeToString())
    for value in small.input[len(small.input) - inputs :]:
        kind = value.type.tensor_type
        ones = np.ones([1] * len(kind.shape.dim), helper.tensor_dtype_to_np_dtype(kind.elem_type))
        small.initializer.append(numpy_helper.from_array(ones, value.name))
    del small.input[len(small.input) - inputs :]
    del small.output[len(small.output) - outputs :]
    return small


def typed(graph, i, dtype):
    other = type(graph).FromString(graph.SerializeToString())
    other.input[i].type.tensor_type.elem_type = dtype
    return other


ENCODER, DECODER = encoder(), decoder()


@pytest.mark.parametrize(
    "graphs,attributes,message",
    [
        ({"decoder": DECODER}, {}, r"BeamSearch\].*attribute 'encoder' \(a graph\) is required and missing"),
        ({"encoder": ENCODER, "decoder": without(DECODER, inputs=1)}, {}, "rank 4 as input 2 of 10, found"),
        ({"encoder": ENCODER, "decoder": without(DECODER, inputs=2)}, {}, "found 9 inputs and 5 outputs"),
        ({"encoder": ENCODER, "decoder": without(DECODER, outputs=1)}, {}, "found 11 inputs and 4 outputs"),
        ({"encoder": without(ENCODER, outputs=1), "decoder": DECODER}, {}, "expected 10 outputs.* found 9"),
        ({"encoder": without(ENCODER, inputs=2), "decoder": DECODER}, {}, "'encoder': expected .* found 1 inputs"),
        ({"encoder": typed(ENCODER, 1, TensorProto.INT64), "decoder": DECODER}, {}, "'encoder': expected int32"),
        ({"encoder": typed(ENCODER, 0, TensorProto.FLOAT), "decoder": DECODER}, {}, "'encoder': expected int32"),
        ({"encoder": ENCODER, "decoder": typed(DECODER, 0, TensorProto.INT64)}, {}, "'decoder': expected int32"),
        ({"encoder": ENCODER, "decoder": typed(DECODER, 4, TensorProto.DOUBLE)}, {}, "'decoder': expected float"),
        ({"encoder": encoder(starts=False), "decoder": DECODER}, {}, "without encoder_hidden_states"),
        ({"encoder": ENCODER, "decoder": DECODER, "init_decoder": small_decoder()}, {}, "no 'init_decoder'"),
        ({"encoder": ENCODER, "decoder": DECODER}, {"model_type": 0}, "expected a decoder alone"),
        ({"encoder": ENCODER, "decoder": DECODER}, {"model_type": 7}, "'model_type': expected .*, found 7"),
        ({"encoder": ENCODER, "decoder": DECODER}, {"decoder_start_token_id": -1}, "'decoder_start_token_id'"),
        ({"encoder": ENCODER, "decoder": DECODER}, {"vocab_size": 13}, "logits of at least 13 floats"),
        ({"encoder": ENCODER, "decoder": DECODER}, {"vocab_size": 9}, r"tokens in \[0, 8\], found 9"),
        ({"encoder": encoder(), "decoder": decoder(dtype=TensorProto.FLOAT16)}, {}, "expected .* of float16, found"),
    ],
)
def test_wrong_models_are_refused(graphs, attributes, message):
    with pytest.raises(Exception, match=message):
        ours(graphs, attributes)


@pytest.mark.parametrize(
    "options,message",
    [
        ({"length": 1}, "above the length of the text to go on with, 1"),
        ({"beams": 0}, r"'num_beams'\): expected a number in \[1, 65536\], found 0"),
        ({"attention_mask": np.ones((2, 2), np.int32)}, r"'attention_mask'\): expected the shape of 'input_ids'"),
        ({"vocab_mask": np.ones(5, np.int32)}, r"'vocab_mask'\): expected shape \[12\], found \[5\]"),
        ({"ids": IDS[0]}, "expected rank 2"),
    ],
)
def test_wrong_inputs_are_refused(options, message):
    with pytest.raises(Exception, match=message):
        ours(model(), **options)


@pytest.mark.parametrize("op", ["GreedySearch", "Sampling"])
def test_greedy_searches_have_no_encoder(op):
    # ONNX Runtime's kernels run decoders alone, too.
    inputs = [IDS, ints(6)]
    for engine in (onnxruntime, sardonyx):
        with pytest.raises(Exception, match="model_type|decoder alone"):
            generate(engine, op, inputs, model(), **TOKENS)
