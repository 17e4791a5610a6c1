"""The counterpart of ONNX Runtime's extension module: what its package stands on, and programs import from there."""
from sardonyx import (  # noqa: F401
    EngineError,
    EPFail,
    Fail,
    InvalidArgument,
    InvalidGraph,
    InvalidProtobuf,
    ModelLoadCanceled,
    ModelLoaded,
    ModelMetadata,
    ModelRequiresCompilation,
    NodeArg,
    NoModel,
    NoSuchFile,
    NotFound,
    NotImplemented,  # noqa: A004  (the peer's name)
    OrtEpAssignedNode,
    OrtEpAssignedSubgraph,
    OrtEpDevice,
    OrtHardwareDevice,
    OrtMemoryInfo,
    RunOptions,
    RuntimeException,
    SessionOptions,
    copy_tensors,
    disable_telemetry_events,
    enable_telemetry_events,
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
from sardonyx.devices import PROVIDERS_OF_ONNX_RUNTIME as _PROVIDERS
from sardonyx.devices import OrtSyncStream  # noqa: F401
from sardonyx.values import SparseBlockSparseView, SparseCooView, SparseCsrView  # noqa: F401

from onnxruntime._later import later as _later
from onnxruntime.capi._values import OrtDevice, OrtValue, OrtValueVector, SparseTensor  # noqa: F401

__getattr__, __dir__, _NAMES = _later(globals(), {
    "onnxruntime.capi._adapters": ("AdapterFormat",),
    "onnxruntime.capi._extension": (
        "ArenaExtendStrategy", "ModelCompiler", "kNextPowerOfTwo", "kSameAsRequested", "opkernel", "schemadef",
    ),
    "onnxruntime.capi._refused": ("DeviceReset", "pack_fp4_weights_for_cuda_moe_gemm"),
    "onnxruntime.capi._session": ("InferenceSession", "SessionIOBinding"),
    "sardonyx.adapters": ("LoraAdapter",),
    "sardonyx.allocators": ("OrtArenaCfg", "create_and_register_allocator", "create_and_register_allocator_v2"),
    "sardonyx.compile": (
        "OrtCompiledModelCompatibility", "OrtDeviceEpIncompatibilityReason", "OrtEpContextData",
        "OrtEpContextDataBuffer", "OrtExternalInitializerInfo", "get_compatibility_info_from_model",
        "get_compatibility_info_from_model_bytes", "get_hardware_device_ep_incompatibility_details",
        "get_hardware_devices", "get_model_compatibility_for_ep_devices",
    ),
    "sardonyx.enumerations": (
        "ExecutionMode", "ExecutionOrder", "GraphOptimizationLevel", "OrtAllocatorType", "OrtCompileApiFlags",
        "OrtDeviceMemoryType", "OrtExecutionProviderDevicePolicy", "OrtHardwareDeviceType", "OrtMemType",
        "OrtMemoryInfoDeviceType", "OrtSparseFormat",
    ),
    "sardonyx.operators": ("get_all_operator_schema", "get_all_opkernel_def", "get_registered_ep_kernel_defs"),
    "sardonyx.quantization.weight_kernels": (
        "quantize_matmul_2bits", "quantize_matmul_4bits", "quantize_matmul_8bits", "quantize_matmul_bnb4",
        "quantize_qdq_matmul_2bits", "quantize_qdq_matmul_4bits",
    ),
})


def get_all_providers():
    """The names of all execution providers that ONNX Runtime and this build know."""
    known = [f"{name}ExecutionProvider" for name in _PROVIDERS]
    return [*(name for name in get_available_providers() if name not in known), *known]


def get_default_session_options():
    """New options with the defaults."""
    return SessionOptions()


class SessionObjectInitializer:
    """An argument of sessions in old releases."""

    def __init__(self):
        raise TypeError("SessionObjectInitializer: expected get_session_initializer() to make it")


def get_session_initializer():
    """An object that sessions needed in old releases."""
    return object.__new__(SessionObjectInitializer)


def is_dlpack_uint8_tensor(capsule):
    """Whether the elements in a DLPack capsule are of type uint8. This uses the capsule up."""
    return OrtValue.from_dlpack(capsule).data_type() == "tensor(uint8)"


__all__ = [name for name in __dir__() if not name.startswith("_")]


def _name_the_classes():
    """Tracebacks, logs and pickles name this module, as programs expect."""
    for name, thing in list(globals().items()):
        if isinstance(thing, type) and thing.__name__ == name and thing.__module__ != __name__:
            thing.__module__ = __name__


_name_the_classes()
