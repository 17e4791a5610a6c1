"""The counterpart of ONNX Runtime's extension module: what its package stands on, and programs import from there."""
import types as _types

from sardonyx import (  # noqa: F401
    EngineError,
    EPFail,
    ExecutionMode,
    ExecutionOrder,
    Fail,
    GraphOptimizationLevel,
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
    OrtAllocatorType,
    OrtCompileApiFlags,
    OrtDeviceMemoryType,
    OrtEpAssignedNode,
    OrtEpAssignedSubgraph,
    OrtEpDevice,
    OrtExecutionProviderDevicePolicy,
    OrtHardwareDevice,
    OrtHardwareDeviceType,
    OrtMemoryInfo,
    OrtMemoryInfoDeviceType,
    OrtMemType,
    OrtSparseFormat,
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
from sardonyx import compile as _compile
from sardonyx.adapters import LoraAdapter  # noqa: F401
from sardonyx.allocators import (  # noqa: F401
    OrtArenaCfg,
    create_and_register_allocator,
    create_and_register_allocator_v2,
)
from sardonyx.compile import (  # noqa: F401
    OrtCompiledModelCompatibility,
    OrtDeviceEpIncompatibilityReason,
    OrtEpContextData,
    OrtEpContextDataBuffer,
    OrtExternalInitializerInfo,
    get_compatibility_info_from_model,
    get_compatibility_info_from_model_bytes,
    get_hardware_device_ep_incompatibility_details,
    get_hardware_devices,
    get_model_compatibility_for_ep_devices,
)
from sardonyx.devices import PROVIDERS_OF_ONNX_RUNTIME as _PROVIDERS
from sardonyx.devices import OrtSyncStream  # noqa: F401
from sardonyx.enumerations import Enumeration as _Enumeration
from sardonyx.operators import KernelDef as _KernelDef
from sardonyx.operators import OpSchema as _OpSchema
from sardonyx.operators import (  # noqa: F401
    get_all_operator_schema,
    get_all_opkernel_def,
    get_registered_ep_kernel_defs,
)
from sardonyx.quantization.weight_kernels import *  # noqa: F403
from sardonyx.values import SparseBlockSparseView, SparseCooView, SparseCsrView  # noqa: F401

from onnxruntime.capi._refused import *  # noqa: F403
from onnxruntime.capi._session import InferenceSession, SessionIOBinding  # noqa: F401
from onnxruntime.capi._values import (  # noqa: F401
    AdapterFormat,
    OrtDevice,
    OrtValue,
    OrtValueVector,
    SparseTensor,
)

opkernel = _types.SimpleNamespace(KernelDef=_KernelDef)
schemadef = _types.SimpleNamespace(OpSchema=_OpSchema)


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


class ArenaExtendStrategy(_Enumeration):
    kNextPowerOfTwo = 0  # noqa: N815
    kSameAsRequested = 1  # noqa: N815


kNextPowerOfTwo, kSameAsRequested = ArenaExtendStrategy  # noqa: N816


class ModelCompiler(_compile.ModelCompiler):
    """A sardonyx.ModelCompiler with the arguments in the extension module's order."""

    _value_class = OrtValue

    def __init__(self, options, model, is_path, embed, external_file, external_threshold, flags, level, location):
        if is_path != isinstance(model, str):
            raise TypeError(f"model: expected {'a path' if is_path else 'bytes'}, found {type(model).__name__}")
        super().__init__(options, model, embed, external_file, external_threshold, flags, level, location)

    def compile_to_file(self, path):
        """Writes the compiled model."""
        super().compile_to_file(path)


__all__ = [name for name in dir() if not name.startswith("_")]


def _name_the_classes():
    """Tracebacks, logs and pickles name this module, as programs expect."""
    for name, thing in list(globals().items()):
        if isinstance(thing, type) and thing.__name__ == name and thing.__module__ != __name__:
            thing.__module__ = __name__


_name_the_classes()
