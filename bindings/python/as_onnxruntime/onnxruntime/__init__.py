"""The package `onnxruntime`, run by Sardonyx: the names and behaviour of ONNX Runtime 1.31.1.

    import onnxruntime
    session = onnxruntime.InferenceSession("model.onnx")

`onnxruntime.sardonyx_version` tells that this package is the one in use. What Sardonyx lacks exists, and raises a
NotImplementedError with its name when it is used; docs/python_parity.md lists it.
"""
from sardonyx import preload_dlls, print_debug_info, sardonyx_version  # noqa: F401

from onnxruntime import capi  # noqa: F401
from onnxruntime._later import later as _later
from onnxruntime.capi import onnxruntime_validation  # noqa: F401
from onnxruntime.capi._pybind_state import (  # noqa: F401
    ModelMetadata,
    NodeArg,
    OrtEpAssignedNode,
    OrtEpAssignedSubgraph,
    OrtEpDevice,
    OrtHardwareDevice,
    OrtMemoryInfo,
    OrtSyncStream,
    RunOptions,
    SessionOptions,
    disable_telemetry_events,
    enable_telemetry_events,
    get_all_providers,
    get_available_providers,
    get_build_info,
    get_device,
    get_ep_devices,
    get_version_string,
    has_collective_ops,
    register_execution_provider_library,
    set_default_logger_severity,
    set_default_logger_verbosity,
    set_global_thread_pool_sizes,
    set_seed,
    unregister_execution_provider_library,
)
from onnxruntime.capi.build_and_package_info import __version__, package_name  # noqa: F401
from onnxruntime.capi.onnxruntime_inference_collection import (  # noqa: F401
    AdapterFormat,
    InferenceSession,
    OrtDevice,
    OrtValue,
    SparseTensor,
    copy_tensors,
)

__getattr__, __dir__, _ = _later(globals(), {
    "onnxruntime.capi.onnxruntime_pybind11_state": (
        "ExecutionMode", "ExecutionOrder", "GraphOptimizationLevel", "LoraAdapter", "OrtAllocatorType",
        "OrtArenaCfg", "OrtCompileApiFlags", "OrtDeviceMemoryType", "OrtEpContextData",
        "OrtEpContextDataBuffer", "OrtExecutionProviderDevicePolicy", "OrtExternalInitializerInfo",
        "OrtHardwareDeviceType", "OrtMemType", "OrtMemoryInfoDeviceType", "OrtSparseFormat",
        "SessionIOBinding", "create_and_register_allocator", "create_and_register_allocator_v2",
    ),
    "onnxruntime.capi.onnxruntime_inference_collection": ("IOBinding", "ModelCompiler", "OrtDeviceVendorId"),
}, adopts=False)

__author__ = "the Sardonyx project"
version, cuda_version = __version__, ""
__all__ = [name for name in __dir__() if not name.startswith("_")]
