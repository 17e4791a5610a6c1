"""com.microsoft's operators on tokens: ngrams, hashes, BifurcationDetector."""

import numpy as np
import onnxruntime
import pytest
import sardonyx
from node_model import node_model, run_model

F, S, L = np.float32, np.int32, np.int64


def same(op, inputs, outputs, **attributes):
    """Our outputs equal ONNX Runtime's; returns them."""
    model = node_model(op, inputs, outputs, **attributes)
    got, want = (run_model(engine, model, inputs) for engine in (sardonyx, onnxruntime))
    for ours, theirs in zip(got, want, strict=True):
        np.testing.assert_array_equal(ours, theirs, strict=True)
    return got


def refusal(op, inputs, outputs, **attributes):
    with pytest.raises(Exception) as raised:  # noqa: PT011
        run_model(sardonyx, node_model(op, inputs, outputs, **attributes), inputs)
    return str(raised.value)


@pytest.mark.parametrize("dtype", [S, np.uint32, L, np.uint64, F, np.float64])
@pytest.mark.parametrize("positive", [0, 1])
def test_murmur_hash_of_numbers(dtype, positive):
    x = np.array([[0, 1, 2], [3, 255, 1234567]], dtype)
    result = np.uint32 if positive else S
    same("MurmurHash3", [x], [result], positive=positive)
    same("MurmurHash3", [x], [result], positive=positive, seed=42)


@pytest.mark.parametrize("seed", [0, 7, 2**31 + 5])
def test_murmur_hash_of_texts(seed):
    x = np.array(["", "a", "ab", "abc", "abcd", "abcde", "häßlich", "x" * 1000], object)
    got = same("MurmurHash3", [x], [np.uint32], seed=seed)
    if seed == 0:
        assert got[0][0] == 0 and got[0][3] == 0xB3DD93FA  # published values of the algorithm


@pytest.mark.parametrize("size", [1, 2, 3, 9])
@pytest.mark.parametrize("length", [0, 1, 2, 8])
def test_repeat_block(size, length):
    rng = np.random.default_rng(1)
    ids, scores = rng.integers(0, 3, (3, length)), rng.standard_normal((3, 5)).astype(F)
    got = same("NGramRepeatBlock", [ids, scores], [F], ngram_size=size)
    if size == 1 and length == 8:
        assert np.isneginf(got[0]).any()


def test_repeat_block_refuses():
    ids, scores = np.array([[1, 2, 9, 1, 2]]), np.zeros((1, 5), F)
    assert "expected tokens in [0, 4], found 9" in refusal("NGramRepeatBlock", [ids, scores], [F], ngram_size=3)
    assert "as many rows" in refusal("NGramRepeatBlock", [ids, np.zeros((2, 5), F)], [F], ngram_size=3)
    assert "at least 1, found 0" in refusal("NGramRepeatBlock", [ids, scores], [F], ngram_size=0)


def hash_inputs(rng, dtype, ngram, each, ids, past, offsets, end, segments):
    limit = np.iinfo(dtype).max
    batch = ids.shape[0]
    return [
        ids.astype(dtype),
        rng.integers(-limit, limit, ngram).astype(dtype),
        rng.integers(1, 1000, (ngram - 1) * each).astype(dtype),
        rng.integers(0, 5, (batch, ngram - 1)).astype(dtype) if past else None,
        rng.integers(0, limit, (ngram - 1) * each).astype(dtype) if offsets else None,
        np.array(3, dtype) if end else None,
        np.sort(rng.integers(0, 3, ids.shape)).astype(S) if segments else None,
    ]


@pytest.mark.parametrize("dtype", [S, L])
@pytest.mark.parametrize("past,offsets", [(False, False), (True, True)])
@pytest.mark.parametrize("end,reset", [(False, 0), (True, 0), (True, 1)])
@pytest.mark.parametrize("segments", [False, True])
@pytest.mark.parametrize("shape", [(2, 9), (3, 1), (1, 0)])
def test_hash_of_a_batch(dtype, past, offsets, end, reset, segments, shape):
    rng = np.random.default_rng(2)
    ngram, each = 4, 2
    inputs = hash_inputs(rng, dtype, ngram, each, rng.integers(0, 5, shape), past, offsets, end, segments)
    attributes = {"max_ngram_size": ngram, "n_head_per_ngram": each, "pad_id": 2, "reset_on_eos": reset}
    same("NGramHashMapping", inputs, [dtype, dtype], **attributes)


@pytest.mark.parametrize("dtype", [S, L])
@pytest.mark.parametrize("past,offsets", [(False, False), (True, True)])
@pytest.mark.parametrize("end,reset", [(False, 0), (True, 0), (True, 1)])
@pytest.mark.parametrize("segments", [None, "own", "past"])
@pytest.mark.parametrize("captured", [0, 3])
def test_hash_of_packed_requests(dtype, past, offsets, end, reset, segments, captured):
    rng = np.random.default_rng(3)
    ngram, each, ends = 3, 2, np.array([0, 1, 6, 9, 17], S)
    requests = len(ends) - 1
    ids = rng.integers(0, 5, ends[-1])
    batch = hash_inputs(rng, dtype, ngram, each, ids[None], False, offsets, end, segments is not None)
    inputs = [
        ids.astype(dtype),
        *batch[1:3],
        ends,
        rng.integers(0, 5, (requests, ngram - 1)).astype(dtype) if past else None,
        *batch[4:6],
        None if batch[6] is None else batch[6][0],
        rng.integers(0, 2, (requests, ngram - 1)).astype(S) if segments == "past" else None,
        np.array([0, 2, 5, -1], S) if captured else None,
    ]
    outputs = [dtype, dtype, S if segments else None, dtype if captured else None]
    attributes = {"max_ngram_size": ngram, "n_head_per_ngram": each, "pad_id": 2, "reset_on_eos": reset}
    while outputs[-1] is None:
        outputs.pop()
    same("VarlenNGramHashMapping", inputs, outputs, state_update_capacity=captured, **attributes)


def test_hashes_refuse():
    ids, ones = np.zeros((1, 3), L), np.ones(2, L)
    attributes = {"max_ngram_size": 2, "n_head_per_ngram": 2, "pad_id": 0}
    assert "found 0" in refusal("NGramHashMapping", [ids, ones, np.array([1, 0])], [L], **attributes)
    assert "'multipliers'" in refusal("NGramHashMapping", [ids, ones[:1], ones], [L], **attributes)
    message = refusal("VarlenNGramHashMapping", [ids[0], ones, ones, np.array([0, 2, 2], S)], [L], **attributes)
    assert "expected increasing numbers from 0 to 3" in message
    attributes["max_ngram_size"] = 1
    assert "'max_ngram_size'" in refusal("NGramHashMapping", [ids, ones, ones], [L], **attributes)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("match", [None, 0, 3, 6])
@pytest.mark.parametrize("sizes", [(1, 3), (2, 2), (3, 7)])
def test_bifurcation(seed, match, sizes):
    rng = np.random.default_rng(seed)
    source, current = rng.integers(0, 3, 6), rng.integers(0, 3, 3)
    predicted = None
    if match is not None:
        predicted = np.append(source[match:], 7)
        predicted[rng.integers(0, len(predicted))] = rng.integers(0, 3)
    inputs = [source, current, np.array(match or 0), predicted]
    same("BifurcationDetector", inputs, [L, L], min_ngram_size=sizes[0], max_ngram_size=sizes[1])


def test_bifurcation_refuses():
    source, current = np.arange(6), np.arange(3)
    message = refusal("BifurcationDetector", [source, current, np.array(7), source], [L, L])
    assert "expected an index in [0, 6], found 7" in message
    message = refusal("BifurcationDetector", [source, current, np.array(2), source], [L, L])
    assert "expected 5 tokens, found 6" in message
