"""The counterpart of onnxruntime.capi.onnxruntime_pybind11_state: exceptions and classes that programs import."""
import sardonyx
from sardonyx import *  # noqa: F403
from sardonyx import missing
from sardonyx.compile import (
    OrtCompiledModelCompatibility,
    OrtDeviceEpIncompatibilityReason,
    get_compatibility_info_from_model,
    get_compatibility_info_from_model_bytes,
    get_hardware_device_ep_incompatibility_details,
    get_hardware_devices,
    get_model_compatibility_for_ep_devices,
)
from sardonyx.operators import get_all_operator_schema, get_all_opkernel_def, get_registered_ep_kernel_defs
from sardonyx.quantization.weight_kernels import (
    quantize_matmul_2bits,
    quantize_matmul_4bits,
    quantize_matmul_8bits,
    quantize_matmul_bnb4,
    quantize_qdq_matmul_2bits,
    quantize_qdq_matmul_4bits,
)
from sardonyx.values import OrtValueVector, SparseBlockSparseView, SparseCooView, SparseCsrView

__all__ = [
    *sardonyx.__all__, "OrtCompiledModelCompatibility", "OrtDeviceEpIncompatibilityReason", "OrtValueVector",
    "SparseBlockSparseView", "SparseCooView", "SparseCsrView", "get_all_operator_schema", "get_all_opkernel_def",
    "get_compatibility_info_from_model", "get_compatibility_info_from_model_bytes",
    "get_hardware_device_ep_incompatibility_details", "get_hardware_devices", "get_model_compatibility_for_ep_devices",
    "get_registered_ep_kernel_defs", "quantize_matmul_2bits", "quantize_matmul_4bits", "quantize_matmul_8bits",
    "quantize_matmul_bnb4", "quantize_qdq_matmul_2bits", "quantize_qdq_matmul_4bits",
]


def __getattr__(name):
    missing.refuse("onnxruntime_pybind11_state", name, missing.EXTENSION)
