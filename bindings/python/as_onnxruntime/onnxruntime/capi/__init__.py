"""The modules below the package: what other packages import from onnxruntime.capi."""
from onnxruntime.capi import (  # noqa: F401
    _ld_preload,
    _pybind_state,
    build_and_package_info,
    onnxruntime_inference_collection,
    onnxruntime_pybind11_state,
    onnxruntime_validation,
)
