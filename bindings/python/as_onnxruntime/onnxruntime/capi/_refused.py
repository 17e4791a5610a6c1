"""Classes and functions of ONNX Runtime's extension module that Sardonyx lacks: they exist, and raise when used.

Give what Sardonyx learns its own place, and remove it here; tests/python/test_parity.py says what is left.
"""
from sardonyx.missing import refused


class DeviceReset(Exception):  # noqa: N818  (the peer's name)
    """A device has to be reset. There is no device here that can raise it."""


@refused
def pack_fp4_weights_for_cuda_moe_gemm(q_weights, N, K):  # noqa: N803  (the peer's names)
    """Would arrange 4-bit weights for a GPU."""


__all__ = [name for name, value in globals().items() if getattr(value, "is_refused", False) or value is DeviceReset]
