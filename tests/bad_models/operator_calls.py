"""Calls of single operators with a mistake that once caused a crash, a hang, a wrong read or an error without a place.

Rows have the form of small_models.py.
"""
import numpy as np
from small_models import ARGUMENT, F32, FAIL, GRAPH, I64, NOT_THERE, X, one, run

I32, MOST, LEAST = np.int32, 2**63 - 1, -2**63
MS = "com.microsoft."
ONES_40 = str([1] * 40)


def ones(*shape, dtype=F32):
    return np.ones(shape, dtype)


def bytes_of(numbers):
    return np.array(numbers, np.uint8)


MHA = "float[b, s, d] q, float[b, k, d] k, float[b, k, d] v"
QKV = {"q": ones(2, 1, 8), "k": ones(2, 1, 8), "v": ones(2, 1, 8)}
GQA = ("g (float[1, n, 16] q, float[1, n, 8] k, int32[1] l, int32[1] t, float[8, 4] c, int64[m] p) => "
       "(float[a, b, d] y) "
       f"{{ [it] y, pk, pv = {MS}GroupQueryAttention <num_heads = 2, kv_num_heads = 1, do_rotary = 1> "
       '(q, k, k, "", "", l, t, c, c, p) }')
ROTARY = one(f"y = {MS}RotaryEmbedding(x, p, c, c)", "float[1, n, 8] x, int64[m] p, float[4, 4] c", "float[a, b, d] y")
NBITS = f"y = {MS}MatMulNBits <N = 5, K = 32, bits = 4, block_size = 16> (x, w, s)"

ROWS = {
    # ---- com.microsoft: sizes that disagree
    "MultiHeadAttention of one axis": (
        one(f"y = {MS}MultiHeadAttention <num_heads = 2> (q)", "float[n] q", "float[a, b, d] y"), FAIL,
        ["it", "MultiHeadAttention", "input 0", "rank", "float[n]"], None),
    "MultiHeadAttention of too many heads": (
        one(f"y = {MS}MultiHeadAttention <num_heads = {2**62}> (q, k, v)", MHA, "float[a, b, d] y"), FAIL,
        ["it", "MultiHeadAttention", "num_heads", f"found {2**62}"], run(**QKV)),
    "MultiHeadAttention with few rows of beams": (
        "g (float[2, 1, 8] q, float[2, 2, 4, 4] c, int32[1] p, int32[a, b, c] t) => (float[d, e, f] y) "
        f"{{ [it] y, pk, pv = {MS}DecoderMaskedMultiHeadAttention <num_heads = 2, past_present_share_buffer = 1> "
        '(q, q, q, "", "", c, c, p, "", t) }',
        ARGUMENT, ["it", "DecoderMaskedMultiHeadAttention", "cache_indirection [2 / beams, beams, 4]", "[1, 1, 8]"],
        run(q=ones(2, 1, 8), c=ones(2, 2, 4, 4), p=np.array([3], I32), t=np.zeros((1, 1, 8), I32))),
    "LinearAttention of too many heads": (
        one(f'y, p = {MS}LinearAttention <q_num_heads = {2**62}, kv_num_heads = {2**62}, update_rule = "linear"> '
            "(q, k, v)", MHA, "float[a, b, d] y"), FAIL,
        ["it", "LinearAttention", "q_num_heads", f"found {2**62}"],
        run(q=ones(1, 0, 8), k=ones(1, 0, 8), v=ones(1, 0, 8))),
    "GroupQueryAttention at a place that no number is": (
        GQA, ARGUMENT, ["it", "GroupQueryAttention", "positions in [0, 8)", f"found {MOST}"],
        run(q=ones(1, 2, 16), k=ones(1, 2, 8), l=np.array([1], I32), t=np.array([2], I32), c=ones(8, 4),
            p=np.array([MOST]))),
    "RotaryEmbedding at a place that no number is": (
        ROTARY, ARGUMENT, ["it", "RotaryEmbedding", "position_ids in [0, 4)", f"found {MOST}"],
        run(x=ones(1, 2, 8), p=np.array([MOST]), c=ones(4, 4))),
    "SkipLayerNormalization with an empty skip": (
        one(f"y = {MS}SkipLayerNormalization(x, s, w)", "float[2, 8] x, float[a, b] s, float[8] w"), ARGUMENT,
        ["it", "SkipLayerNormalization", "skip that broadcasts to [2, 8]", "found [2, 0]"],
        run(x=ones(2, 8), s=ones(2, 0), w=ones(8))),
    "SkipLayerNormalization with a short bias": (
        one(f'y = {MS}SkipLayerNormalization(x, x, w, "", b)', "float[2, 8] x, float[8] w, float[k] b"), ARGUMENT,
        ["it", "SkipLayerNormalization", "bias of 8 elements", "found [2]"], run(x=ones(2, 8), w=ones(8), b=ones(2))),
    "MatMulNBits without weights": (
        one(NBITS, "float[2, 32] x, uint8[a, b, c] w, float[d, e] s"), FAIL,
        ["it", "MatMulNBits", f"expected {5 * 32 * 4 // 8} elements of B", "found 0"],
        run(x=ones(2, 32), w=ones(0, 2, 8, dtype=np.uint8), s=ones(5, 2))),
    "MatMulNBits without scales": (
        one(NBITS, "float[2, 32] x, uint8[a, b, c] w, float[d, e] s"), FAIL,
        ["it", "MatMulNBits", f"expected {5 * 32 // 16} elements of scales", "found 0"],
        run(x=ones(2, 32), w=ones(5, 2, 8, dtype=np.uint8), s=ones(0, 2))),
    "MatMulNBits of a size that is no size": (
        one(NBITS.replace("N = 5", f"N = {2**62}"), "float[2, 32] x, uint8[a, b, c] w, float[d, e] s"), FAIL,
        ["it", "MatMulNBits", "N and K", f"found {2**62}, 32 and 16"], None),
    "MatMulNBits of bits beyond 32 bits": (
        one(NBITS.replace("bits = 4", f"bits = {2**32 + 4}"), "float[2, 32] x, uint8[a, b, c] w, float[d, e] s"),
        FAIL, ["it", "MatMulNBits", "'bits': expected 2, 4 or 8", f"found {2**32 + 4}"], None),
    "QGemm without a zero point of the result": (
        one(f'y = {MS}QGemm(x, s, z, x, s, z, "", s, e)', "uint8[2, 2] x, float s, uint8 z, uint8[k] e",
            "uint8[a, b] y"), FAIL, ["it", "QGemm", "expected 1 elements of input 8", "found [0]"],
        run(x=bytes_of([[1, 2], [3, 4]]), s=np.array(1, F32), z=bytes_of(0), e=bytes_of([]))),
    # ---- More dimensions than a kernel has room for
    "LpNormalization of 40 dimensions": (
        one("y = LpNormalization(x)", f"float{ONES_40} x", f"float{ONES_40} y"), NOT_THERE,
        ["it", "LpNormalization", "rank 40", "at most 32"], run(x=ones(*[1] * 40))),
    "QLinearReduceMean of 40 dimensions": (
        one(f"y = {MS}QLinearReduceMean <axes = [39], keepdims = 1> (x, s, z, s, z)",
            f"uint8{ONES_40} x, float s, uint8 z", f"uint8{ONES_40} y"), NOT_THERE,
        ["it", "QLinearReduceMean", "rank 40", "at most 32"],
        run(x=ones(*[1] * 40, dtype=np.uint8), s=np.array(1, F32), z=bytes_of(0))),
    # ---- Sizes from values
    "AffineGrid below nothing": (
        one("y = AffineGrid(x, s)", "float[n, 2, 3] x, int64[4] s", "float[a, b, c, d] y"), ARGUMENT,
        ["it", "AffineGrid", "at least 0", "-3"], run(x=ones(2, 2, 3), s=np.array([2, 1, -3, 4]))),
    "CenterCropPad below nothing": (
        one("y = CenterCropPad(x, s)", "float[a, b] x, int64[2] s"), FAIL,
        ["it", "CenterCropPad", "at least 0", "[2, -1]"], run(x=X, s=np.array([2, -1]))),
    "Col2Im of an image below nothing": (
        one("y = Col2Im(x, s, b)", "float[1, a, b] x, int64[2] s, int64[2] b", "float[c, d, e, f] y"), FAIL,
        ["it", "Col2Im", "-5"], run(x=ones(1, 5, 5), s=np.array([-5, 5]), b=np.array([1, 5]))),
    "Reshape to too many dimensions": (
        "g (float[n] x, int64[k] s) => (int64 y) { [it] z = Reshape(x, s) y = Size(z) }", NOT_THERE,
        ["it", "Reshape", "rank 1000", "64"], run(x=ones(1), s=np.ones(1000, I64))),
    "Reshape to far too many dimensions": (
        "g (float[n] x, int64[k] s) => (int64 y) { [it] z = Reshape(x, s) y = Size(z) }", NOT_THERE,
        ["it", "Reshape", "rank 1000000", "64"], run(x=ones(1), s=np.ones(1000000, I64))),
    "MelWeightMatrix without an edge": (
        one("y = MelWeightMatrix(n, n, n, e, f)", "int64 n, float[k] e, float f"), FAIL,
        ["it", "MelWeightMatrix", "one lower_edge_hertz", "found shape [0]"],
        run(n=np.array(8), e=ones(0), f=np.array(4, F32))),
    "ScatterElements by an unknown reduction": (
        one('y = ScatterElements <reduction = "div"> (x, i, x)', "float[2, 3] x, int64[2, 3] i"), FAIL,
        ["it", "ScatterElements", "'reduction'", "none, add, mul, min or max", "'div'"], None),
    "Expand against what the model says of it": (
        one("y = Expand(x, s)", "float[2, 3] x, int64[2] s", "float[2, 3] y"), ARGUMENT,
        ["it", "Expand", "[2, 3] does not broadcast to [2, 4]"], run(x=X, s=np.array([2, 4]))),
}


def imports(count):
    listed = ", ".join(f'"d{i}" : 1' for i in range(count))
    return f'<ir_version: 10, opset_import: ["" : 21, {listed}]> ' + one("y = Relu(x)")


ROWS["opset imports without end"] = (imports(3000), GRAPH, ["at most 1000 opset imports"], None)
