"""Weights for ONNX Runtime's CUDA kernels MatMulNBits and QMoE. The methods take and give tensors of PyTorch, which is
needed when they are called; a GPU is not."""
from __future__ import annotations

import numpy as np

from sardonyx.quantization.mixed_gemm_layout import pack_for_mixed_gemm, packed
from sardonyx.quantization.weight_kernels import quantize_matmul_4bits, quantize_matmul_8bits

_EPSILON = np.finfo(np.float32).eps
_SMALLEST = np.float32(1e-8)  # scale of symmetric_blockwise_quantize


def _torch():
    try:
        import torch
    except ImportError as failure:
        raise ImportError("CudaQuantizer takes and gives tensors of PyTorch: it needs the package torch, which is not "
                          "installed", name="torch") from failure
    return torch


def has_cuda_weight_prepacking() -> bool:
    """Whether weights can be packed for CUDA kernels: whether PyTorch is there."""
    try:
        _torch()
    except ImportError:
        return False
    return True


def _range(bits, is_full):
    """(the lowest number, the highest, the divisor of the largest magnitude, the zero point) of symmetric ranges."""
    if bits not in (4, 8):
        raise ValueError(f"bits: expected 4 or 8, found {bits}")
    middle = 1 << (bits - 1)
    return (-middle, middle - 1, middle, middle) if is_full else (1 - middle, middle - 1, middle - 1, middle)


def _array(weights):
    torch = _torch()
    return np.ascontiguousarray(weights.detach().cpu().to(torch.float32).numpy())


def _tensors(*arrays):
    return tuple(_torch().from_numpy(np.ascontiguousarray(one)) for one in arrays)


def _blockwise(weights, bits, size, symmetric, abs_scales, is_full):
    """(bytes [N, blocks, size * bits / 8], scales [N, blocks], zero points) of weights [N, K]. For symmetric ranges the
    zero points are zeros: kernels take the middle then."""
    lowest, highest, divisor, middle = _range(bits, is_full)
    if size <= 0:
        raise ValueError(f"block_size: expected at least 1, found {size}")
    rows, columns = weights.shape
    blocks, values = -(-columns // size), 8 // bits
    zero_points = np.zeros((rows, -(-blocks // values)), np.uint8)
    if symmetric:
        parts = np.pad(weights, ((0, 0), (0, blocks * size - columns))).reshape(rows, blocks, size)
        scales = np.maximum(np.abs(parts).max(2) / np.float32(divisor), _EPSILON)
        numbers = np.clip(np.rint(parts / scales[:, :, None]), lowest, highest) + middle
        return packed(numbers, bits), scales, zero_points
    made, scales = np.zeros((rows, blocks, -(-size // values)), np.uint8), np.zeros((rows, blocks), np.float32)
    kernel = quantize_matmul_4bits if bits == 4 else quantize_matmul_8bits
    kernel(made, np.ascontiguousarray(weights.T), scales, zero_points, size, rows, columns, False)
    return made, np.abs(scales) if abs_scales else scales, zero_points


class CudaQuantizer:
    """Weights of one expert [N, K], quantized. `bits`: 4 or 8. `unsigned_full_range`: symmetric ranges have all numbers
    (-8 to 7), otherwise one less (-7 to 7). `force_arch`: the layout for Ampere (80) or Hopper (90)."""

    @staticmethod
    def qmoe_symmetric_per_channel_quantize(
        weights,
        bits: int,
        *,
        unsigned_full_range: bool = True,
    ):
        """(bytes [N, K * bits / 8], scales [N]): each row has a range of its own."""
        lowest, highest, divisor, middle = _range(int(bits), unsigned_full_range)
        values = _array(weights)
        if values.shape[1] % (8 // bits):
            raise ValueError(f"expected K to be a multiple of {8 // bits}, found weights {list(values.shape)}")
        scales = np.maximum(np.abs(values).max(1, keepdims=True) / np.float32(divisor), _EPSILON)
        numbers = np.clip(np.rint(values / scales), lowest, highest) + middle
        return _tensors(packed(numbers, bits), scales[:, 0])

    @staticmethod
    def qmoe_per_channel_quantize(
        weights,
        bits: int,
        prepack: bool,
        force_arch: int = 80,
        *,
        unsigned_full_range: bool = True,
    ):
        """The same; with `prepack` bytes [K, N * bits / 8] in the layout of CUDA kernels."""
        made, scales = CudaQuantizer.qmoe_symmetric_per_channel_quantize(
            weights, bits, unsigned_full_range=unsigned_full_range)
        if not prepack:
            return made, scales
        rows, columns = weights.shape
        return (*_tensors(_packed_transposed(made.numpy(), rows, columns, int(bits), force_arch)), scales)

    @staticmethod
    def matmulnbits_blockwise_quantize(
        weights,
        bits: int,
        block_size: int,
        *,
        symmetric: bool = True,
        return_zero_points: bool = False,
        abs_scales: bool = True,
        flatten_qweight: bool = True,
        unsigned_full_range: bool = True,
    ):
        """(bytes [N, blocks * block_size * bits / 8], scales [N, blocks], and zero points if they are asked for) of
        MatMulNBits. `abs_scales`: scales without their signs. `flatten_qweight` False: bytes [N, blocks, ...]."""
        made, scales, zero_points = _blockwise(_array(weights), int(bits), int(block_size), symmetric, abs_scales,
                                               unsigned_full_range)
        made = made.reshape(len(made), -1) if flatten_qweight else made
        return _tensors(made, scales, *([zero_points] if return_zero_points else []))

    @staticmethod
    def matmulnbits_prepacked_blockwise_quantize(
        weights,
        bits: int,
        block_size: int,
        force_arch: int = 80,
        *,
        symmetric: bool = True,
        return_zero_points: bool = False,
        abs_scales: bool = True,
        unsigned_full_range: bool = True,
    ):
        """(bytes [N, blocks, block_size * bits / 8], scales, and zero points if they are asked for) of a MatMulNBits
        node whose attribute weight_prepacked is 1 (Ampere) or 2 (Hopper). Blocks of 32 (Ampere only), 64 or 128."""
        sizes = {80: (32, 64, 128), 90: (64, 128)}
        if force_arch not in sizes:
            raise ValueError(f"force_arch: expected 80 (Ampere) or 90 (Hopper), found {force_arch}")
        if block_size not in sizes[force_arch]:
            raise ValueError(f"block_size: expected one of {sizes[force_arch]} with force_arch={force_arch}, found "
                             f"{block_size}")
        rows, columns = _checked_blocks(weights, block_size)
        made, scales, zero_points = _blockwise(_array(weights), int(bits), int(block_size), symmetric, abs_scales,
                                               unsigned_full_range)
        layout = pack_for_mixed_gemm(made, rows, columns, int(bits), force_arch).reshape(made.shape)
        return _tensors(layout, scales, *([zero_points] if return_zero_points else []))

    @staticmethod
    def qmoe_prepacked_blockwise_quantize(
        weights,
        bits: int,
        block_size: int,
        force_arch: int = 80,
        *,
        symmetric: bool = True,
        return_zero_points: bool = False,
        abs_scales: bool = False,
        unsigned_full_range: bool = True,
    ):
        """(bytes [K, N * bits / 8] in the layout of CUDA kernels, scales [N, blocks], and zero points if they are asked
        for) of QMoE."""
        rows, columns = _checked_blocks(weights, block_size)
        made, scales, zero_points = _blockwise(_array(weights), int(bits), int(block_size), symmetric, abs_scales,
                                               unsigned_full_range)
        layout = _packed_transposed(made, rows, columns, int(bits), force_arch)
        return _tensors(layout, scales, *([zero_points] if return_zero_points else []))

    @staticmethod
    def symmetric_blockwise_quantize(
        weights,
        bits: int,
        block_size: int,
        *,
        unsigned_full_range: bool = True,
    ):
        """(numbers, scales [..., blocks]) of blocks along the last axis, the last of which can be shorter: bytes of two
        numbers around 8 for 4 bits, int8 for 8."""
        lowest, highest, divisor, middle = _range(int(bits), unsigned_full_range)
        torch = _torch()
        kind, values = weights.dtype, _array(weights)
        length = values.shape[-1]
        blocks = -(-length // block_size)
        padding = [(0, 0)] * (values.ndim - 1) + [(0, blocks * block_size - length)]
        parts = np.pad(values, padding).reshape(*values.shape[:-1], blocks, block_size)
        scales = np.maximum(np.abs(parts).max(-1) / np.float32(divisor), _SMALLEST)
        scales = torch.from_numpy(scales).to(kind)  # what kernels multiply by
        steps = np.clip(np.rint(parts / scales.float().numpy()[..., None]), lowest, highest)
        steps = steps.reshape(*values.shape[:-1], -1)[..., :length]
        return (*_tensors(packed(steps + middle, 4) if bits == 4 else steps.astype(np.int8)), scales)


def _checked_blocks(weights, block_size):
    rows, columns = weights.shape
    if columns % block_size:
        raise ValueError(f"expected K to be a multiple of block_size, {block_size}, found weights [{rows}, {columns}]")
    return rows, columns


def _packed_transposed(made, rows, columns, bits, architecture):
    if rows % (8 // bits):
        raise ValueError(f"expected N to be a multiple of {8 // bits}, found weights [{rows}, {columns}]")
    return pack_for_mixed_gemm(made.reshape(rows, -1), rows, columns, bits, architecture)
