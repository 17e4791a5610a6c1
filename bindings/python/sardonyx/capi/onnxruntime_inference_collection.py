"""The counterpart of onnxruntime.capi.onnxruntime_inference_collection."""
from sardonyx import (
    InferenceSession,
    IOBinding,
    ModelCompiler,
    OrtDevice,
    OrtDeviceVendorId,
    OrtValue,
    SparseTensor,
    copy_tensors,
    missing,
)

__all__ = [
    "IOBinding", "InferenceSession", "ModelCompiler", "OrtDevice", "OrtDeviceVendorId", "OrtValue", "SparseTensor",
    "copy_tensors",
]


def __getattr__(name):
    missing.refuse("onnxruntime_inference_collection", name, missing.PACKAGE)
