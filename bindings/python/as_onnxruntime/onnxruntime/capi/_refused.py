"""Classes and functions of ONNX Runtime's extension module that Sardonyx lacks: they exist, and raise when used.

Give what Sardonyx learns its own place, and remove it here; tests/python/test_parity.py says what is left.
"""
from sardonyx.missing import refused


class DeviceReset(Exception):  # noqa: N818  (the peer's name)
    """A device has to be reset. There is no device here that can raise it."""


@refused
def pack_fp4_weights_for_cuda_moe_gemm(q_weights, N, K):  # noqa: N803  (the peer's names)
    """Would arrange 4-bit weights for a GPU."""


@refused
def quantize_matmul_2bits(result, source, scales, zero_points, block_size, columns, rows, symmetric):
    """Would quantize the weights of a matrix product."""


@refused
def quantize_matmul_4bits(result, source, scales, zero_points, block_size, columns, rows, symmetric):
    """Would quantize the weights of a matrix product."""


@refused
def quantize_matmul_8bits(result, source, scales, zero_points, block_size, columns, rows, symmetric):
    """Would quantize the weights of a matrix product."""


@refused
def quantize_matmul_bnb4(result, source, maxima, block_size, kind, columns, rows):
    """Would quantize the weights of a matrix product."""


@refused
def quantize_qdq_matmul_2bits(result, source, scales, zero_points, block_size, columns, rows, symmetric):
    """Would quantize the weights of a matrix product."""


@refused
def quantize_qdq_matmul_4bits(result, source, scales, zero_points, block_size, columns, rows, symmetric):
    """Would quantize the weights of a matrix product."""


__all__ = [name for name, value in globals().items() if getattr(value, "is_refused", False) or value is DeviceReset]
