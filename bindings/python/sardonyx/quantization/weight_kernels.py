"""Weights in blocks of 2, 4 and 8 bits and in the 4-bit floats of bitsandbytes, as MatMulNBits and MatMulBnb4 read
them. Each function fills arrays that the caller made, as the functions of these names in onnxruntime do."""
import numpy as np

__all__ = [
    "quantize_matmul_2bits", "quantize_matmul_4bits", "quantize_matmul_8bits", "quantize_matmul_bnb4",
    "quantize_qdq_matmul_2bits", "quantize_qdq_matmul_4bits",
]


def _blocks(weight, block_size):
    """A matrix [K, N] as float32 blocks [N, number of blocks, block_size], behind K zeros."""
    rows, columns = weight.shape
    count = -(-rows // block_size)
    padded = np.zeros((columns, count * block_size), np.float32)
    padded[:, :rows] = weight.T
    return padded.reshape(columns, count, block_size)


def _rounded(values):
    """To the nearest integer, halves away from zero."""
    return np.trunc(values + np.copysign(np.float32(0.5), values))


def block_params(blocks, bits, symmetric):
    """(scales, zero points) of blocks along the last axis.

    Symmetric: the number of largest magnitude becomes the lowest integer, and the zero point is the middle. Otherwise
    the range with zero inside is spread over all integers."""
    top = (1 << bits) - 1
    lowest, highest = blocks.min(-1), blocks.max(-1)
    if symmetric:
        middle = 1 << (bits - 1)
        largest = np.where(np.abs(highest) > np.abs(lowest), highest, lowest)
        return largest / np.float32(-middle), np.full(largest.shape, middle, np.uint8)
    lowest, highest = np.minimum(lowest, np.float32(0)), np.maximum(highest, np.float32(0))
    scales = (highest - lowest) / np.float32(top)
    with np.errstate(divide="ignore", invalid="ignore"):
        zero_points = np.where(scales != 0, np.clip(_rounded(-lowest / scales), 0, top), 0)
    return scales, zero_points.astype(np.uint8)


def quantize_blocks(blocks, scales, zero_points, bits):
    """The integers of blocks [..., block_size] with a scale and a zero point for each."""
    with np.errstate(divide="ignore"):
        inverse = np.where(scales != 0, np.float32(1) / scales, np.float32(0)).astype(np.float32)
    shifted = blocks * inverse[..., None] + zero_points[..., None].astype(np.float32)
    return np.clip(_rounded(shifted), 0, (1 << bits) - 1).astype(np.uint8)


def pack(numbers, bits, fill=0):
    """Numbers of `bits` bits along the last axis as bytes, the first in the lowest bits; `fill` behind the last."""
    each = 8 // bits
    missing = -numbers.shape[-1] % each
    if missing:
        tail = np.full((*numbers.shape[:-1], missing), fill, np.uint8)
        numbers = np.concatenate([numbers, tail], -1)
    parts = numbers.reshape(*numbers.shape[:-1], -1, each)
    packed = np.zeros(parts.shape[:-1], np.uint8)
    for place in range(each):
        packed |= (parts[..., place] << (place * bits)).astype(np.uint8)
    return packed


def _quantize_nbits(bits, dst, src, scale, zero_points, block_size, columns, rows, is_symmetric):
    blocks = _blocks(src[:rows, :columns], block_size)
    scales, zeros = block_params(blocks, bits, is_symmetric)
    numbers = quantize_blocks(blocks, scales, zeros, bits).reshape(columns, -1)
    numbers[:, rows:] = 0
    dst[...] = pack(numbers.reshape(blocks.shape), bits).reshape(dst.shape)
    scale[...] = scales.astype(scale.dtype).reshape(scale.shape)
    zero_points[...] = 0
    if not is_symmetric:
        zero_points[...] = pack(zeros, bits, fill=1 << (bits - 1)).reshape(zero_points.shape)


def quantize_matmul_2bits(dst, src, scale, zero_points, block_size, N, K, is_symmetric):  # noqa: N803
    """Fills dst [N, blocks, block_size / 4], scale [N, blocks] and zero_points [N, blocks / 4] from src [K, N]."""
    _quantize_nbits(2, dst, src, scale, zero_points, block_size, N, K, is_symmetric)


def quantize_matmul_4bits(dst, src, scale, zero_points, block_size, N, K, is_symmetric):  # noqa: N803
    """Fills dst [N, blocks, block_size / 2], scale [N, blocks] and zero_points [N, blocks / 2] from src [K, N]."""
    _quantize_nbits(4, dst, src, scale, zero_points, block_size, N, K, is_symmetric)


def quantize_matmul_8bits(dst, src, scale, zero_points, block_size, N, K, is_symmetric):  # noqa: N803
    """Fills dst [N, blocks, block_size], scale [N, blocks] and zero_points [N, blocks] from src [K, N]."""
    _quantize_nbits(8, dst, src, scale, zero_points, block_size, N, K, is_symmetric)


def _quantize_qdq(bits, dst, src, scale, zero_points, block_size, columns, rows, is_symmetric):
    """Numbers of [K, N] and zero points of [blocks, N], as DequantizeLinear with blocks along axis 0 reads them: signed
    without zero points if it is symmetric."""
    blocks = _blocks(src[:rows, :columns], block_size)
    scales, zeros = block_params(blocks, bits, is_symmetric)
    numbers = quantize_blocks(blocks, scales, zeros, bits).reshape(columns, -1)[:, :rows].T
    if is_symmetric:
        numbers = (numbers.astype(np.int8) - (1 << (bits - 1))).view(np.uint8) & ((1 << bits) - 1)
    dst[...] = pack(np.ascontiguousarray(numbers).reshape(-1), bits)
    scale[...] = scales.T.astype(scale.dtype)
    zero_points[...] = 0
    if not is_symmetric:
        zero_points[...] = pack(np.ascontiguousarray(zeros.T).reshape(-1), bits)


def quantize_qdq_matmul_2bits(dst, src, scale, zero_points, quant_block_size, N, K, is_symmetric):  # noqa: N803
    """Fills dst [K * N / 4], scale [blocks, N] and zero_points [blocks * N / 4] from src [K, N]."""
    _quantize_qdq(2, dst, src, scale, zero_points, quant_block_size, N, K, is_symmetric)


def quantize_qdq_matmul_4bits(dst, src, scale, zero_points, quant_block_size, N, K, is_symmetric):  # noqa: N803
    """Fills dst [K * N / 2], scale [blocks, N] and zero_points [blocks * N / 2] from src [K, N]."""
    _quantize_qdq(4, dst, src, scale, zero_points, quant_block_size, N, K, is_symmetric)


# What the 16 codes of 4-bit floats stand for (bitsandbytes, "QLoRA", Dettmers et al. 2023); 0: FP4, 1: NF4.
_FP4 = np.array([0, 5.208333333e-03, 2 / 3, 1, 1 / 3, 0.5, 1 / 6, 0.25], np.float32)
_NF4 = np.array([-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635,
                 -0.18477343022823334, -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725,
                 0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941, 0.7229568362236023,
                 1.0], np.float32)
CODES = {0: np.concatenate([_FP4, -_FP4]), 1: _NF4}


def quantize_matmul_bnb4(dst, src, absmax, block_size, quant_type, N, K):  # noqa: N803
    """Fills dst [N * K / 2] and absmax [blocks] from src [N, K], which is read as one line: the largest magnitude of
    each block, and the codes nearest to the quotients, the first of two in the upper half of a byte."""
    line = np.zeros(-(-N * K // block_size) * block_size, np.float32)
    line[:N * K] = np.asarray(src, np.float32).reshape(-1)[:N * K]
    blocks = line.reshape(-1, block_size)
    largest = np.abs(blocks).max(-1)
    scaled = blocks * np.where(largest > 0, np.float32(1) / np.where(largest > 0, largest, 1), 0)[:, None]
    codes, order = CODES[quant_type], np.lexsort((~np.signbit(CODES[quant_type]), CODES[quant_type]))
    ordered = codes[order]
    borders = (ordered[1:] + ordered[:-1]) / np.float32(2)
    of_zero = np.uint8(7 * quant_type)
    numbers = order[np.searchsorted(borders, scaled, side="left")].astype(np.uint8)
    numbers = np.where(scaled == 0, of_zero, numbers).reshape(-1)[:N * K]
    if numbers.size % 2:
        numbers = np.append(numbers, of_zero)
    dst[...] = (numbers[0::2] << 4 | numbers[1::2]).reshape(dst.shape)
    absmax[...] = largest.astype(absmax.dtype).reshape(absmax.shape)
