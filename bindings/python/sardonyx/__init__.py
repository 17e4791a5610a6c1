"""Sardonyx runs ONNX models. It has the names of the onnxruntime package, so `import sardonyx as onnxruntime` works.

    import numpy as np, sardonyx
    session = sardonyx.InferenceSession("model.onnx")
    outputs = session.run(None, {"x": np.zeros((1, 3), np.float32)})
"""
from importlib import import_module as _import_module

from sardonyx import missing as _missing
from sardonyx._core import (
    EngineError,
    EPFail,
    Fail,
    InvalidArgument,
    InvalidGraph,
    InvalidProtobuf,
    ModelLoadCanceled,
    ModelLoaded,
    ModelRequiresCompilation,
    NodeArg,
    NoModel,
    NoSuchFile,
    NotFound,
    NotImplemented,  # noqa: A004  (the peer's name)
    RuntimeException,
)
from sardonyx.devices import (
    OrtDevice,
    OrtEpDevice,
    OrtHardwareDevice,
    OrtMemoryInfo,
    OrtSyncStream,
    get_ep_devices,
    register_execution_provider_library,
    unregister_execution_provider_library,
)
from sardonyx.inference import (
    InferenceSession,
    ModelMetadata,
    OrtEpAssignedNode,
    OrtEpAssignedSubgraph,
)
from sardonyx.options import RunOptions, SessionOptions
from sardonyx.process import (
    disable_telemetry_events,
    enable_telemetry_events,
    get_all_providers,
    get_available_providers,
    get_build_info,
    get_device,
    get_version_string,
    has_collective_ops,
    preload_dlls,
    print_debug_info,
    sardonyx_version,
    set_default_logger_severity,
    set_default_logger_verbosity,
    set_global_thread_pool_sizes,
    set_seed,
)
from sardonyx.values import OrtValue, SparseTensor, copy_tensors

# Packages parse this to learn which ONNX Runtime they talk to; our own version is sardonyx_version.
__version__ = get_version_string()

__all__ = [
    "EPFail", "EngineError", "ExecutionMode", "ExecutionOrder", "Fail", "GraphOptimizationLevel", "IOBinding",
    "InferenceSession", "InvalidArgument", "InvalidGraph", "InvalidProtobuf", "LoraAdapter", "ModelCompiler",
    "ModelLoadCanceled", "ModelLoaded", "ModelMetadata", "ModelRequiresCompilation", "NoModel", "NoSuchFile", "NodeArg",
    "NotFound", "NotImplemented", "OrtAllocatorType", "OrtArenaCfg", "OrtCompileApiFlags", "OrtDevice",
    "OrtDeviceMemoryType", "OrtDeviceVendorId", "OrtEpAssignedNode", "OrtEpAssignedSubgraph", "OrtEpContextData",
    "OrtEpContextDataBuffer", "OrtEpDevice", "OrtExecutionProviderDevicePolicy", "OrtExternalInitializerInfo",
    "OrtHardwareDevice", "OrtHardwareDeviceType", "OrtMemType", "OrtMemoryInfo", "OrtMemoryInfoDeviceType",
    "OrtSparseFormat", "OrtSyncStream", "OrtValue", "RunOptions", "RuntimeException", "SessionOptions", "SparseTensor",
    "copy_tensors", "create_and_register_allocator", "create_and_register_allocator_v2", "disable_telemetry_events",
    "enable_telemetry_events", "get_all_providers", "get_available_providers", "get_build_info", "get_device",
    "get_ep_devices", "get_version_string", "has_collective_ops", "preload_dlls", "print_debug_info",
    "register_execution_provider_library", "sardonyx_version", "set_default_logger_severity",
    "set_default_logger_verbosity", "set_global_thread_pool_sizes", "set_seed", "unregister_execution_provider_library",
]

# What most programs do without: imported when it is first used, as it takes as long to import as all the rest.
_LATER = {
    "adapters": ("LoraAdapter",),
    "allocators": ("OrtArenaCfg", "create_and_register_allocator", "create_and_register_allocator_v2"),
    "binding": ("IOBinding",),
    "compile": ("ModelCompiler", "OrtEpContextData", "OrtEpContextDataBuffer", "OrtExternalInitializerInfo"),
    "enumerations": (
        "ExecutionMode", "ExecutionOrder", "GraphOptimizationLevel", "OrtAllocatorType", "OrtCompileApiFlags",
        "OrtDeviceMemoryType", "OrtDeviceVendorId", "OrtExecutionProviderDevicePolicy", "OrtHardwareDeviceType",
        "OrtMemoryInfoDeviceType", "OrtMemType", "OrtSparseFormat",
    ),
}
_MODULE_OF = {name: module for module, names in _LATER.items() for name in names}


def __getattr__(name):
    if name in _LATER:
        return _import_module(f"sardonyx.{name}")
    if name not in _MODULE_OF:
        _missing.refuse("sardonyx", name, _missing.PACKAGE)
    value = globals()[name] = getattr(_import_module(f"sardonyx.{_MODULE_OF[name]}"), name)
    return value


def __dir__():
    return sorted({*globals(), *_LATER, *_MODULE_OF})
