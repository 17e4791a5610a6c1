"""The layout of weights of 4 and 8 bits that ONNX Runtime's CUDA kernels for mixed products (CUTLASS) read. It is made
here without a GPU, so that models can be prepared for one."""
import numpy as np

_TILE_ROWS = 64  # rows between which columns are interleaved
# Rows within a tile of the tensor cores' instruction, in the order in which threads load them.
_ROW_ORDERS = {8: [8 * part + 2 * group + pair for group in range(4) for part in range(2) for pair in range(2)],
               4: [8 * part + 2 * group + pair for group in range(4) for part in range(4) for pair in range(2)]}
# Elements of a word, in the order in which they are converted to half precision.
_ELEMENT_ORDERS = {8: [0, 2, 1, 3], 4: [0, 2, 4, 6, 1, 3, 5, 7]}


def unpacked(packed, bits):
    """Numbers of 4 bits, two in a byte (the lower half first), or of 8: uint8 with the last axis as long as there are
    numbers."""
    if bits == 8:
        return packed
    return np.stack([packed & 15, packed >> 4], -1).reshape(*packed.shape[:-1], -1)


def packed(numbers, bits):
    """The opposite of `unpacked`; a last number without a partner stands alone."""
    if bits == 8:
        return numbers.astype(np.uint8)
    padded = np.pad(numbers, [(0, 0)] * (numbers.ndim - 1) + [(0, numbers.shape[-1] % 2)]).astype(np.uint8)
    return padded[..., 0::2] | padded[..., 1::2] << 4


def pack_for_mixed_gemm(weights, rows, columns, bits, architecture=80):
    """Weights [rows, columns * bits / 8] (uint8, zero point in the middle; a row is an output channel) as bytes
    [columns, rows * bits / 8]. `architecture`: 80 (Ampere) or 90 (Hopper).

    Errors: ValueError for other numbers of bits and architectures, and for sizes that do not fill tiles."""
    if bits not in (4, 8):
        raise ValueError(f"bits: expected 4 or 8, found {bits}")
    if architecture not in (80, 90):
        raise ValueError(f"force_arch: expected 80 (Ampere) or 90 (Hopper), found {architecture}")
    order = np.asarray(_ROW_ORDERS[bits])
    tile = len(order)
    if columns % tile or (rows * bits // 8) % 8:
        raise ValueError(f"expected weights [N, K] with K a multiple of {tile} and N of {64 // bits}, found [{rows}, "
                         f"{columns}]")
    if architecture < 90 and columns % _TILE_ROWS:
        raise ValueError(f"expected K to be a multiple of {_TILE_ROWS} for Ampere, found {columns}")
    numbers = unpacked(np.ascontiguousarray(weights).view(np.uint8).reshape(rows, -1), bits)
    numbers = numbers.reshape(rows, columns // tile, tile)[:, :, order]
    words = packed(numbers.reshape(rows, columns), bits)
    if architecture < 90:  # neighbouring rows take turns, a tile of each
        turns = 16 // bits
        width = _TILE_ROWS * bits // 8
        words = words.reshape(-1, turns, columns // _TILE_ROWS, width).transpose(0, 2, 1, 3)
    numbers = unpacked(words.reshape(-1), bits).reshape(-1, len(_ELEMENT_ORDERS[bits]))
    return packed(numbers[:, _ELEMENT_ORDERS[bits]].reshape(-1), bits).reshape(columns, rows * bits // 8)
