"""Wrong uses of the operators of com.microsoft that have no twin in the standard domain: a right call, and every
input of it with a rank or a size that is not. Sardonyx says which node and what it expected, in the session or the run.

SparseToDenseMatMul, BeamSearch and its kin, whose inputs are sparse tensors and subgraphs, have such cases in their own
tests (test_sparse.py, test_beam_search.py, test_greedy_search.py)."""

import re

import numpy as np
import pytest
import sardonyx
from node_model import node_model

F, S, L, U, I8 = np.float32, np.int32, np.int64, np.uint8, np.int8
RNG = np.random.default_rng(1)


def f(*shape):
    return RNG.standard_normal(shape).astype(F)


def n(dtype, *shape, high=2):
    return RNG.integers(0, high, shape).astype(dtype)


def a(dtype, *values):
    return np.array(values, dtype)


LSTM = {"hidden_size": 3}
EXPERTS = {"k": 1, "activation_type": "relu"}
QUANTIZED = {"k": 1, "activation_type": "relu", "expert_weight_bits": 8}
HASHES = {"max_ngram_size": 2, "n_head_per_ngram": 2, "pad_id": 0}
NBITS = {"N": 8, "K": 32, "bits": 4, "block_size": 32}
# Operator: inputs, element types of the outputs, attributes.
CALLS = {
    "AttnLSTM": (
        [f(2, 1, 4), f(1, 12, 6), f(1, 12, 3), f(1, 24), None, None, None, None, f(1, 3, 2), f(1, 5, 2), f(1, 2)]
        + [f(1, 4, 5), None, f(1, 8, 2)],
        [F],
        LSTM,
    ),
    "BifurcationDetector": ([n(L, 6), n(L, 3), np.array(2), n(L, 5)], [L, L], {}),
    "BranchwiseRMSNorm": ([f(2, 2, 4), f(4)], [F], {}),
    "ConvTransposeWithDynamicPads": ([f(1, 2, 4, 4), f(2, 3, 3, 3), a(L, 1, 1, 1, 1), f(3)], [F], {}),
    "CropAndResize": ([f(1, 1, 4, 4), f(2, 4), a(S, 0, 0), a(S, 2, 2)], [F], {}),
    "DynamicQuantizeLSTM": (
        [f(2, 1, 4), n(I8, 1, 4, 12), n(I8, 1, 3, 12), f(1, 24), None, None, None, None]
        + [np.abs(f(1)), n(I8, 1), np.abs(f(1)), n(I8, 1)],
        [F],
        LSTM,
    ),
    "DynamicTimeWarping": ([f(3, 4)], [S], {}),
    "EngramGate": ([f(1, 2, 2, 4), f(1, 2, 2, 4), f(1, 2, 4), f(2, 4), f(2, 4)], [F], {}),
    "ExpandDims": ([f(2, 3), np.array(1, S)], [F], {}),
    "GatedAdd": ([f(2, 3, 4), f(2, 3, 4), f(2, 3, 1)], [F], {}),
    "GatedRMSNorm": ([f(2, 3, 4), f(4), f(2, 3, 4)], [F], {}),
    "HyperConnectionPostMix": ([f(2, 2, 4), f(2, 4), f(2, 2, 4), f(2, 2, 2)], [F], {}),
    "HyperConnectionPreMix": ([f(2, 2, 4), f(2, 2)], [F], {}),
    "Inverse": ([f(2, 3, 3)], [F], {}),
    "LinearAttentionGate": ([f(1, 2, 3), f(3), f(3), f(1, 2, 3)], [F, F], {}),
    "MRotaryEmbedding": ([f(2, 3, 5, 16), n(L, 3, 2, 5), f(9, 8), f(9, 8)], [F], {"mrope_section": [3, 2, 3]}),
    "MatMulBnb4": ([f(2, 8), n(U, 16), f(1)], [F], {"N": 4, "K": 8, "block_size": 64, "quant_type": 1}),
    "MatMulFpQ4": ([f(2, 32), np.zeros(42, U), a(L, 32, 2)], [F], {}),
    "MatMulInteger16": ([n(np.int16, 2, 3), n(np.int16, 3, 4)], [S], {}),
    "MaxpoolWithMask": ([f(1, 1, 8, 8), n(S, 1, 1, 8, 8)], [F], {"kernel_shape": [2, 2]}),
    "MoE": ([f(4, 8), f(4, 2), f(2, 6, 8), f(2, 6), f(2, 8, 6), f(2, 8)], [F], EXPERTS),
    "QMoE": ([f(4, 8), f(4, 2), n(U, 2, 6, 8), f(2, 6), f(2, 6), n(U, 2, 8, 6), f(2, 8), f(2, 8)], [F], QUANTIZED),
    "NGramHashMapping": ([n(L, 1, 3), a(L, 3, 5), a(L, 7, 11), n(L, 1, 1)], [L, L], HASHES),
    "VarlenNGramHashMapping": ([n(L, 3), a(L, 3, 5), a(L, 7, 11), a(S, 0, 1, 3), n(L, 2, 1)], [L, L], HASHES),
    "NGramRepeatBlock": ([n(L, 2, 6), f(2, 5)], [F], {"ngram_size": 2}),
    "NhwcMaxPool": ([n(U, 1, 6, 7, 3)], [U], {"kernel_shape": [2, 2]}),
    "SparseAttention": (
        [f(1, 4, 32), f(1, 4, 32), f(1, 4, 32), f(1, 2, 16, 16), f(1, 2, 16, 16), a(S, [0, 1]), a(S, [0])]
        + [a(S, 4), a(S, 4)],
        [F, F, F],
        {"num_heads": 2, "kv_num_heads": 2, "sparse_block_size": 16},
    ),
    "UnfoldTensor": ([f(3, 5)], [F], {"size": 3}),
    "Unique": ([f(4)], [F, L, L], {}),
    "WordConvEmbedding": ([n(S, 2, 5, high=9), f(4, 1, 2, 3), f(4), f(9, 3)], [F], {}),
    "PackedAttention": (
        [f(5, 8), f(8, 24), f(24), a(S, [0, 1, 2, 5], [3, 4, 6, 7]), a(S, 0, 3, 5)],
        [F],
        {"num_heads": 2},
    ),
    "RemovePadding": ([f(2, 4, 3), a(S, 3, 2)], [F, S, S, S], {}),
    "RestorePadding": ([f(5, 3), a(S, [0, 1, 2, 5], [3, 4, 6, 7])], [F], {}),
    "RelativePositionBias": ([f(8, 2), a(L, 4), a(L, 4)], [F], {"max_distance": 16}),
    "LongformerAttention": (
        [f(1, 16, 8), f(8, 24), f(24), np.zeros((1, 16), F), f(8, 24), f(24), np.zeros((1, 16), S)],
        [F],
        {"num_heads": 2, "window": 4},
    ),
    "GroupNorm": ([f(1, 4, 4, 8), f(8), f(8)], [F], {"groups": 4, "activation": 0}),
    "SkipGroupNorm": ([f(1, 4, 4, 8), f(8), f(8), f(1, 4, 4, 8), f(8)], [F], {"groups": 4, "activation": 0}),
    "BiasSplitGelu": ([f(2, 3, 8), f(8)], [F], {}),
    "BiasAdd": ([f(2, 3, 4), f(4), f(2, 3, 4)], [F], {}),
    "BiasSoftmax": ([f(2, 3, 4), f(1, 1, 4)], [F], {"axis": 2, "is_inner_broadcast": 0}),
    "NhwcConv": ([f(1, 6, 6, 3), f(4, 2, 2, 3), f(4)], [F], {}),
    "GemmFastGelu": ([f(2, 3), f(3, 4), f(4)], [F], {}),
    "Rfft": ([f(2, 8)], [F], {"signal_ndim": 1, "onesided": 1, "normalized": 0}),
    "Irfft": ([f(2, 5, 2)], [F], {"signal_ndim": 1, "onesided": 1, "normalized": 0}),
    "ComplexMul": ([f(3, 2), f(3, 2)], [F], {}),
    "ComplexMulConj": ([f(3, 2), f(3, 2)], [F], {}),
    "TorchEmbedding": ([f(5, 3), n(L, 4)], [F], {}),
    "MatMulNBitsMlp": (
        [f(2, 32), f(2, 32), f(32), n(U, 8, 1, 16), f(8, 1), f(8), n(U, 8, 1, 16), f(8, 1), f(8)],
        [F, F],
        {**NBITS, "activation": "silu"},
    ),
}
# Inputs whose other rank or size means something, too: another image, another batch, one more token. Scales, biases and
# single numbers count by their elements, as in ONNX Runtime.
TAKEN = {
    "BifurcationDetector": "1 size, 2 rank",
    "BranchwiseRMSNorm": "0 rank",
    "ConvTransposeWithDynamicPads": "0 size, 1 size, 2 rank, 3 rank",
    "CropAndResize": "0 size, 3 rank",
    "DynamicQuantizeLSTM": "3 rank, 8 rank, 9 rank, 10 rank, 11 rank",
    "DynamicTimeWarping": "0 rank, 0 size",
    "ExpandDims": "0 rank, 0 size, 1 rank",
    "GatedRMSNorm": "1 rank",
    "HyperConnectionPreMix": "0 size",
    "Inverse": "0 rank",
    "LinearAttentionGate": "1 rank, 2 rank",
    "MatMulBnb4": "0 rank, 2 rank",
    "MatMulFpQ4": "0 rank, 2 rank",
    "MatMulInteger16": "0 rank, 1 rank, 1 size",
    "NGramHashMapping": "0 size, 1 size",
    "VarlenNGramHashMapping": "1 size",
    "NGramRepeatBlock": "0 size, 1 size",
    "NhwcMaxPool": "0 size",
    "SparseAttention": "5 size, 6 size, 7 rank, 8 rank",
    "UnfoldTensor": "0 rank, 0 size",
    "Unique": "0 size",
    "WordConvEmbedding": "0 size",
    "PackedAttention": "2 rank, 3 size",
    "RemovePadding": "0 size",
    "RestorePadding": "0 size, 1 size",
    "RelativePositionBias": "0 size, 1 rank, 1 size, 2 rank, 2 size",
    "GroupNorm": "0 rank",
    "BiasSplitGelu": "0 rank",
    "BiasSoftmax": "1 rank",
    "GemmFastGelu": "0 rank, 1 rank, 2 rank",
    "Rfft": "0 rank, 0 size",
    "Irfft": "0 rank",
    "ComplexMul": "0 rank, 1 rank",
    "ComplexMulConj": "0 rank, 1 rank",
    "TorchEmbedding": "0 size, 1 rank, 1 size",
    "QMoE": "0 rank, 3 rank, 4 rank, 6 rank, 7 rank",
    "MoE": "0 rank, 3 rank, 5 rank",
    "NhwcConv": "1 size, 2 rank",
    "MatMulNBitsMlp": "0 rank, 1 rank, 2 rank, 3 rank, 4 rank, 5 rank, 6 rank, 7 rank, 8 rank",
}
CHANGES = {
    "rank": lambda x: x[None],
    "size": lambda x: np.concatenate([x, x[..., -1:]], -1),
}


def run(op, inputs, outputs, attributes):
    model = node_model(op, inputs, outputs, **attributes)
    model.graph.node[0].name = "it"
    session = sardonyx.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {f"x{i}": x for i, x in enumerate(inputs) if x is not None})


def changes(op):
    taken = TAKEN.get(op, "").split(", ")
    for i, x in enumerate(CALLS[op][0]):
        for name in CHANGES:
            if x is not None and (name == "rank" or x.ndim > 0) and f"{i} {name}" not in taken:
                yield i, name


@pytest.mark.parametrize("op", CALLS)
def test_the_call_itself_is_right(op):
    assert all(y.size > 0 for y in run(op, *CALLS[op]))


@pytest.mark.parametrize("op,index,change", [(op, *change) for op in CALLS for change in changes(op)])
def test_wrong_ranks_and_sizes(op, index, change):
    inputs, outputs, attributes = CALLS[op]
    wrong = list(inputs)
    wrong[index] = CHANGES[change](wrong[index])
    with pytest.raises(Exception, match=r"node 'it' .*(expected|differ)") as raised:
        run(op, wrong, outputs, attributes)
    # The shape that was found, or a number of it, or the input by its name or number.
    found = {str(list(wrong[index].shape)).replace(" ", ""), *map(str, wrong[index].shape), str(wrong[index].size)}
    text = str(raised.value).replace(" ", "")
    assert any(word in text for word in found) or re.search(r"input\d", text)


def of(op, index, value, **attributes):
    inputs, outputs, given = CALLS[op]
    inputs = list(inputs)
    inputs[index] = value
    return op, inputs, outputs, given | attributes


RUNTIME = {
    "axis beyond the rank": (*of("ExpandDims", 1, np.array(3, S)), "rank 3|found 3"),
    "image of a box": (*of("CropAndResize", 2, a(S, 0, 5)), r"\[0, 0\], found 5"),
    "crop of one number": (*of("CropAndResize", 3, a(S, 2)), "found|expected"),
    "crop of three numbers": (*of("CropAndResize", 3, a(S, 2, 2, 2)), "found|expected"),
    "crop of nothing": (*of("CropAndResize", 3, a(S, 0, 2)), r"at least 1, found \[0, 2\]"),
    "negative crop": (*of("CropAndResize", 3, a(S, -1, 2)), r"at least 1, found \[-1, 2\]"),
    "index of a table": (*of("TorchEmbedding", 1, a(L, 5)), "found 5"),
    "index below a table": (*of("TorchEmbedding", 1, a(L, -6)), "found -6"),
    "character": (*of("WordConvEmbedding", 0, a(S, [1, 9])), "found 9"),
    "negative character": (*of("WordConvEmbedding", 0, a(S, [1, -1])), "found -1"),
    "place of a table of angles": (*of("MRotaryEmbedding", 1, n(L, 3, 2, 5) - 1), "found -1"),
    "token without a score": (*of("NGramRepeatBlock", 0, a(L, [1, 7, 1], [0, 1, 0])), "found 7"),
    "more tokens than there are": (*of("RemovePadding", 1, a(S, 3, 5)), "found 5"),
    "fewer tokens than none": (*of("RemovePadding", 1, a(S, -1, 3)), "found -1"),
    "offset of no token": (*of("RestorePadding", 1, a(S, [0, 1, 2, 9], [3, 4, 6, 7])), "found 9"),
    "offset of no packed token": (*of("PackedAttention", 3, a(S, [0, 1, 2, 9], [3, 4, 6, 7])), "found"),
    "keys below one": (*of("SparseAttention", 8, a(S, -5)), "found -5"),
    "no keys": (*of("SparseAttention", 8, a(S, 0)), "found 0"),
    "keys of two sequences": (*of("SparseAttention", 8, a(S, 4, 4)), "found|expected"),
    "more keys than the cache has": (*of("SparseAttention", 7, a(S, 40)), "found 40"),
    "column of no block": (*of("SparseAttention", 6, a(S, [3])), "found 3"),
    "request that ends before it begins": (*of("VarlenNGramHashMapping", 3, a(S, 0, 2, 2)), "from 0 to 3"),
    "vocabulary of nothing": (*of("NGramHashMapping", 2, a(L, 7, 0)), "found 0"),
    "match beyond the source": (*of("BifurcationDetector", 2, np.array(7)), "found 7"),
    "sequence longer than the input": (*of("DynamicQuantizeLSTM", 4, a(S, 3)), "found 3"),
    "memory longer than it is": (*of("AttnLSTM", 12, a(S, 5)), "found 5"),
    "kernel of another rank": (*of("NhwcMaxPool", 0, n(U, 1, 6, 7, 3), kernel_shape=[2]), "kernel_shape|expected"),
    "shape of one number": (*of("MatMulFpQ4", 2, np.array(32)), "B_shape|expected"),
    "shape of three numbers": (*of("MatMulFpQ4", 2, a(L, 32, 2, 0)), "B_shape|expected"),
    "negative shape": (*of("MatMulFpQ4", 2, a(L, -1, 2)), "found -1|expected"),
    "packed weights of no dimension": (*of("MatMulFpQ4", 1, np.array(0, U)), "expected"),
    "mask of another rank": (*of("MaxpoolWithMask", 1, n(S, 1, 1, 8)), "found"),
    "mask of another height": (*of("MaxpoolWithMask", 1, n(S, 1, 1, 4, 8)), "found"),
    "mask of no image": (*of("MaxpoolWithMask", 1, n(S, 0, 1, 8, 8)), "found"),
    "window of another rank": (*of("MaxpoolWithMask", 0, f(1, 1, 8)), "kernel|expected"),
    "matrix without columns": (*of("Inverse", 0, f(4)), "expected"),
    "no matrix": (*of("Inverse", 0, np.array(4, F)), "expected"),
    "filter without dimensions": (*of("ConvTransposeWithDynamicPads", 1, np.array(1, F)), "expected"),
    "flat filter": (*of("ConvTransposeWithDynamicPads", 1, f(9)), "expected"),
    "another window of words": (*of("WordConvEmbedding", 0, n(S, 2, 5), conv_window_size=1), "'conv_window_size'"),
    "other characters": (*of("WordConvEmbedding", 0, n(S, 2, 5), char_embedding_size=4), "'char_embedding_size'"),
    "other words": (*of("WordConvEmbedding", 0, n(S, 2, 5), embedding_size=3), "'embedding_size'"),
    "characters of another width than the filter": (*of("WordConvEmbedding", 1, f(4, 1, 2, 2)), "expected"),
}


@pytest.mark.parametrize("name", RUNTIME)
def test_what_only_a_run_sees(name):
    op, inputs, outputs, attributes, message = RUNTIME[name]
    with pytest.raises(Exception, match=f"(?s)node 'it' .*({message})"):
        run(op, inputs, outputs, attributes)
