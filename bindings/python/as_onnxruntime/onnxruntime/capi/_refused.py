"""Classes and functions of ONNX Runtime's extension module that Sardonyx lacks: they exist, and raise when used.

Give what Sardonyx learns its own place, and remove it here; tests/python/test_parity.py says what is left.
"""
from sardonyx.missing import refused


@refused
class ModelCompiler:
    """Writes models that providers have compiled."""

    def __init__(self, options, model, is_path, embed, external_file, external_threshold, flags, level, location):
        pass

    def compile_to_bytes(self):
        """Would give the compiled model."""

    def compile_to_file(self, path):
        """Would write the compiled model."""

    def compile_to_stream(self, write_function):
        """Would hand the compiled model to a function."""

    def set_ep_context_data_write_func(self, write_func):
        """Would write the data of providers through a function."""

    def clear_ep_context_data_write_func(self):
        """Would undo set_ep_context_data_write_func."""


@refused
class OrtEpContextData:
    """Data of a compiled model."""

    size = None

    def read(self, offset=0, length=None):
        """Would give a part of the data."""


@refused
class OrtEpContextDataBuffer:
    """Memory for the data of a compiled model."""

    is_allocated = max_size = size = None

    def allocate(self, size):
        """Would allocate the memory."""

    def write(self, data, offset=0):
        """Would write into the memory."""


@refused
class OrtSyncStream:
    """A stream of a device."""

    def get_handle(self):
        """Would give the address of the stream."""


@refused
class SessionObjectInitializer:
    """An argument of sessions in old releases."""


@refused
class KernelDef:
    """What an implementation of an operator supports."""

    domain = op_name = provider = type_constraints = version_range = None


@refused
class OpSchema:
    """What an operator accepts. The package onnx has schemas of all its operators (onnx.defs)."""


class DeviceReset(Exception):  # noqa: N818  (the peer's name)
    """A device has to be reset. There is no device here that can raise it."""


@refused
def get_all_operator_schema():
    """Would list the operators."""


@refused
def get_all_opkernel_def():
    """Would list the implementations of operators."""


@refused
def get_registered_ep_kernel_defs(ep_name):
    """Would list a provider's implementations of operators."""


@refused
def get_compatibility_info_from_model(path, provider):
    """Would say for which devices a model was compiled."""


@refused
def get_compatibility_info_from_model_bytes(model, provider):
    """Would say for which devices a model was compiled."""


@refused
def get_model_compatibility_for_ep_devices(devices, info):
    """Would say whether a compiled model fits devices."""


@refused
def get_hardware_device_ep_incompatibility_details(provider, device):
    """Would say why a provider cannot use a device."""


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
