"""Types of the package; tests/python/test_stubs.py compares them with the code."""
import enum
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__version__: str
sardonyx_version: str

class EPFail(Exception): ...  # noqa: N818
class EngineError(Exception): ...  # noqa: N818
class Fail(Exception): ...  # noqa: N818
class InvalidArgument(Exception): ...  # noqa: N818
class InvalidGraph(Exception): ...  # noqa: N818
class InvalidProtobuf(Exception): ...  # noqa: N818
class ModelLoadCanceled(Exception): ...  # noqa: N818
class ModelLoaded(Exception): ...  # noqa: N818
class ModelRequiresCompilation(Exception): ...  # noqa: N818
class NoModel(Exception): ...  # noqa: N818
class NoSuchFile(Exception): ...  # noqa: N818
class NotFound(Exception): ...  # noqa: N818
class NotImplemented(Exception): ...  # noqa: N818
class RuntimeException(Exception): ...  # noqa: N818

class GraphOptimizationLevel(enum.IntEnum):
    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99

class ExecutionMode(enum.IntEnum):
    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1

class ExecutionOrder(enum.IntEnum):
    DEFAULT = 0
    PRIORITY_BASED = 1
    MEMORY_EFFICIENT = 2

class OrtAllocatorType(enum.IntEnum):
    INVALID = -1
    ORT_DEVICE_ALLOCATOR = 0
    ORT_ARENA_ALLOCATOR = 1

class OrtMemType(enum.IntEnum):
    CPU_INPUT = -2
    CPU_OUTPUT = -1
    CPU = -1
    DEFAULT = 0

class OrtDeviceMemoryType(enum.IntEnum):
    DEFAULT = 0
    HOST_ACCESSIBLE = 5

class OrtMemoryInfoDeviceType(enum.IntEnum):
    CPU = 0
    GPU = 1
    FPGA = 2
    NPU = 3

class OrtHardwareDeviceType(enum.IntEnum):
    CPU = 0
    GPU = 1
    NPU = 2

class OrtDeviceVendorId(enum.IntEnum):
    NONE = 0x0000
    AMD = 0x1002
    NVIDIA = 0x10DE
    ARM = 0x13B5
    MICROSOFT = 0x1414
    HUAWEI = 0x19E5
    QUALCOMM = 0x5143
    INTEL = 0x8086

class OrtExecutionProviderDevicePolicy(enum.IntEnum):
    DEFAULT = 0
    PREFER_CPU = 1
    PREFER_NPU = 2
    PREFER_GPU = 3
    MAX_PERFORMANCE = 4
    MAX_EFFICIENCY = 5
    MIN_OVERALL_POWER = 6

class OrtCompileApiFlags(enum.IntFlag):
    NONE = 0
    ERROR_IF_NO_NODES_COMPILED = 1
    ERROR_IF_OUTPUT_FILE_EXISTS = 2

class OrtSparseFormat(enum.IntEnum):
    ORT_SPARSE_UNDEFINED = 0
    ORT_SPARSE_COO = 1
    ORT_SPARSE_CSRC = 2
    ORT_SPARSE_BLOCK_SPARSE = 4

class SessionOptions:
    execution_mode: ExecutionMode
    graph_optimization_level: GraphOptimizationLevel
    intra_op_num_threads: int
    inter_op_num_threads: int
    log_severity_level: int
    log_verbosity_level: int
    logid: str
    enable_mem_pattern: bool
    enable_cpu_mem_arena: bool
    use_deterministic_compute: bool
    optimized_model_filepath: str | os.PathLike[str]
    use_per_session_threads: bool
    enable_mem_reuse: bool
    execution_order: ExecutionOrder
    enable_profiling: bool
    profile_file_prefix: str
    def __init__(self) -> None: ...
    def add_session_config_entry(self, key: str, value: str) -> None: ...
    def get_session_config_entry(self, key: str) -> str: ...
    def has_session_config_entry(self, key: str) -> bool: ...
    def add_free_dimension_override_by_name(self, name: str, size: int) -> None: ...
    def add_free_dimension_override_by_denotation(self, denotation: str, size: int) -> None: ...
    def add_initializer(self, name: str, ortvalue: OrtValue) -> None: ...
    def add_external_initializers(self, names: Iterable[str], ortvalues: Iterable[OrtValue]) -> None: ...
    def add_external_initializers_from_files_in_memory(
        self, names: Sequence[str], buffers: Sequence[bytes | bytearray | memoryview], lengths: Sequence[int]
    ) -> None: ...
    def add_provider(self, name: str, options: Mapping[str, Any] | None = None) -> None: ...
    def add_provider_for_devices(
        self, devices: Iterable[OrtEpDevice], options: Mapping[str, Any] | None = None
    ) -> None: ...
    def set_provider_selection_policy(self, policy: OrtExecutionProviderDevicePolicy) -> None: ...
    def has_providers(self) -> bool: ...
    def register_custom_ops_library(self, path: str | os.PathLike[str]) -> None: ...

class RunOptions:
    log_severity_level: int
    log_verbosity_level: int
    logid: str
    terminate: bool
    only_execute_path_to_fetches: bool
    def __init__(self) -> None: ...
    def add_run_config_entry(self, key: str, value: str) -> None: ...
    def get_run_config_entry(self, key: str) -> str: ...

class NodeArg:
    @property
    def name(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def shape(self) -> list[int | str | None]: ...

class ModelMetadata:
    producer_name: str
    graph_name: str
    domain: str
    description: str
    graph_description: str
    version: int
    custom_metadata_map: dict[str, str]

class OrtDevice:
    def __init__(self, device_type: int = 0, device_id: int = 0) -> None: ...
    @staticmethod
    def make(ort_device_name: str, device_id: int, vendor_id: int = -1) -> OrtDevice: ...
    def device_type(self) -> int: ...
    def device_id(self) -> int: ...
    def device_vendor_id(self) -> int: ...
    def device_mem_type(self) -> int: ...

class OrtMemoryInfo:
    name: str
    allocator_type: OrtAllocatorType
    device_id: int
    mem_type: OrtMemType
    device_type: OrtMemoryInfoDeviceType
    device_vendor_id: int
    device_mem_type: OrtDeviceMemoryType
    def __init__(
        self,
        name: str,
        allocator_type: OrtAllocatorType,
        device_id: int,
        mem_type: OrtMemType,
        *,
        device_type: OrtMemoryInfoDeviceType = ...,
        device_vendor_id: int = 0,
        device_mem_type: OrtDeviceMemoryType = ...,
    ) -> None: ...
    @staticmethod
    def create_v2(
        name: str,
        device_type: OrtMemoryInfoDeviceType,
        vendor_id: int,
        device_id: int,
        device_mem_type: OrtDeviceMemoryType,
        alignment: int,
        allocator_type: OrtAllocatorType,
    ) -> OrtMemoryInfo: ...

class OrtHardwareDevice:
    type: OrtHardwareDeviceType
    vendor: str
    vendor_id: int
    device_id: int
    metadata: dict[str, str]

class OrtEpDevice:
    ep_name: str
    ep_vendor: str
    ep_metadata: dict[str, str]
    ep_options: dict[str, str]
    device: OrtHardwareDevice
    def memory_info(self, mem_type: OrtDeviceMemoryType) -> OrtMemoryInfo | None: ...

class OrtEpAssignedNode:
    name: str
    domain: str
    op_type: str

class OrtEpAssignedSubgraph:
    ep_name: str
    def get_nodes(self) -> list[OrtEpAssignedNode]: ...

class OrtValue:
    @classmethod
    def ortvalue_from_numpy(
        cls, numpy_obj: ArrayLike, /, device_type: str = "cpu", device_id: int = 0, vendor_id: int = -1
    ) -> OrtValue: ...
    @classmethod
    def ortvalue_from_numpy_with_onnx_type(cls, data: NDArray[Any], /, onnx_element_type: int) -> OrtValue: ...
    @classmethod
    def ortvalue_from_shape_and_type(
        cls,
        shape: Sequence[int],
        element_type: int | np.dtype[Any] | type,
        device_type: str = "cpu",
        device_id: int = 0,
        vendor_id: int = -1,
        memory_info: OrtMemoryInfo | None = None,
    ) -> OrtValue: ...
    @classmethod
    def ort_value_from_sparse_tensor(cls, sparse_tensor: SparseTensor) -> OrtValue: ...
    @classmethod
    def from_dlpack(cls, data: Any, /) -> OrtValue: ...
    def as_sparse_tensor(self) -> SparseTensor: ...
    def numpy(self) -> Any: ...
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]: ...
    def __dlpack__(self, *, stream: Any = None) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def shape(self) -> list[int]: ...
    def element_type(self) -> int: ...
    def data_type(self) -> str: ...
    def data_ptr(self) -> int: ...
    def tensor_size_in_bytes(self) -> int: ...
    def device_name(self) -> str: ...
    def has_value(self) -> bool: ...
    def is_tensor(self) -> bool: ...
    def is_sparse_tensor(self) -> bool: ...
    def is_tensor_sequence(self) -> bool: ...
    def update_inplace(self, data: NDArray[Any] | OrtValue) -> None: ...

class SparseTensor:
    @classmethod
    def sparse_coo_from_numpy(
        cls, dense_shape: ArrayLike, values: NDArray[Any], coo_indices: NDArray[np.int64], ort_device: OrtDevice
    ) -> SparseTensor: ...
    def as_coo_view(self) -> Any: ...
    def values(self) -> NDArray[Any]: ...
    def format(self) -> OrtSparseFormat: ...
    def dense_shape(self) -> list[int]: ...
    def data_type(self) -> str: ...
    def device_name(self) -> str: ...

class IOBinding:
    def __init__(self, session: InferenceSession) -> None: ...
    def bind_cpu_input(self, name: str, arr_on_cpu: ArrayLike) -> None: ...
    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None: ...
    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None: ...
    def bind_input(
        self, name: str, device_type: str, device_id: int, element_type: Any, shape: Sequence[int], buffer_ptr: int
    ) -> None: ...
    def bind_output(
        self,
        name: str,
        device_type: str = "cpu",
        device_id: int = 0,
        element_type: Any = None,
        shape: Sequence[int] | None = None,
        buffer_ptr: int | None = None,
    ) -> None: ...
    def synchronize_inputs(self) -> None: ...
    def synchronize_outputs(self) -> None: ...
    def get_outputs(self) -> list[OrtValue]: ...
    def get_outputs_as_ortvaluevector(self) -> list[OrtValue]: ...
    def copy_outputs_to_cpu(self) -> list[Any]: ...
    def clear_binding_inputs(self) -> None: ...
    def clear_binding_outputs(self) -> None: ...

class InferenceSession:
    def __init__(
        self,
        path_or_bytes: str | bytes | os.PathLike[str],
        sess_options: SessionOptions | None = None,
        providers: Sequence[str | tuple[str, dict[str, Any]]] | None = None,
        provider_options: Sequence[dict[str, Any]] | None = None,
        **kwargs: Any,
    ) -> None: ...
    def get_inputs(self) -> list[NodeArg]: ...
    def get_outputs(self) -> list[NodeArg]: ...
    def get_overridable_initializers(self) -> list[NodeArg]: ...
    def get_modelmeta(self) -> ModelMetadata: ...
    def get_session_options(self) -> SessionOptions: ...
    def get_providers(self) -> list[str]: ...
    def get_provider_options(self) -> dict[str, dict[str, str]]: ...
    def set_providers(
        self,
        providers: Sequence[str | tuple[str, dict[str, Any]]] | None = None,
        provider_options: Sequence[dict[str, Any]] | None = None,
    ) -> None: ...
    def disable_fallback(self) -> None: ...
    def enable_fallback(self) -> None: ...
    def get_input_memory_infos(self) -> list[OrtMemoryInfo]: ...
    def get_output_memory_infos(self) -> list[OrtMemoryInfo]: ...
    def get_input_epdevices(self) -> list[OrtEpDevice | None]: ...
    def get_provider_graph_assignment_info(self) -> list[OrtEpAssignedSubgraph]: ...
    def placement(self) -> list[dict[str, Any]]: ...
    def run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        run_options: RunOptions | None = None,
    ) -> list[Any]: ...
    def run_with_ort_values(
        self,
        output_names: Sequence[str] | None,
        input_dict_ort_values: Mapping[str, OrtValue],
        run_options: RunOptions | None = None,
    ) -> list[OrtValue]: ...
    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        callback: Callable[[list[Any], Any, str], None],
        user_data: Any,
        run_options: RunOptions | None = None,
    ) -> None: ...
    def io_binding(self) -> IOBinding: ...
    def run_with_iobinding(self, iobinding: IOBinding, run_options: RunOptions | None = None) -> None: ...
    def run_with_ortvaluevector(
        self,
        run_options: RunOptions | None,
        feed_names: Sequence[str],
        feeds: Sequence[OrtValue],
        fetch_names: Sequence[str],
        fetches: list[OrtValue],
        fetch_devices: Sequence[OrtDevice],
    ) -> None: ...
    def create_ortvalue_from_shape_and_type(
        self,
        shape: Sequence[int],
        element_type: int | np.dtype[Any] | type,
        device_type: str,
        device_id: int = 0,
        vendor_id: int = -1,
    ) -> OrtValue: ...
    def get_tuning_results(self) -> list[Any]: ...
    def set_tuning_results(self, results: Sequence[Any], *, error_on_invalid: bool = False) -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> InferenceSession: ...

def copy_tensors(src: Sequence[OrtValue], dst: Sequence[OrtValue], stream: Any = None) -> None: ...
def disable_telemetry_events() -> None: ...
def enable_telemetry_events() -> None: ...
def get_all_providers() -> list[str]: ...
def get_available_providers() -> list[str]: ...
def get_build_info() -> str: ...
def get_device() -> str: ...
def get_ep_devices() -> list[OrtEpDevice]: ...
def get_version_string() -> str: ...
def has_collective_ops() -> bool: ...
def preload_dlls(
    cuda: bool = True, cudnn: bool = True, msvc: bool = True, directory: str | None = None
) -> None: ...
def print_debug_info() -> None: ...
def set_default_logger_severity(severity: int) -> None: ...
def set_default_logger_verbosity(verbosity: int) -> None: ...
def set_global_thread_pool_sizes(intra_op_num_threads: int = 0, inter_op_num_threads: int = 0) -> None: ...
def set_seed(seed: int) -> None: ...
