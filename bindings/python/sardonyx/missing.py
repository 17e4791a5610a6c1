"""What ONNX Runtime's package has and this one lacks: a use says so by name, or one warning does."""
import logging

logger = logging.getLogger("sardonyx")


class MissingMember(NotImplementedError, AttributeError):  # noqa: N818  (what it is, not that it is one)
    """NotImplementedError for who calls; an AttributeError too, so that hasattr() and `try: from ... import` work."""


def refuse(owner, name, members):
    """For __getattr__: raises for a name that is no attribute of `owner`; `members` are those of ONNX Runtime."""
    if name in members:
        raise MissingMember(f"{owner}.{name} is not implemented in Sardonyx")
    raise AttributeError(f"{owner} has no attribute '{name}'")


def warn_not_honoured(what, consequence="it is accepted and changes nothing"):
    logger.warning("%s is not honoured by Sardonyx: %s", what, consequence)


SESSION = {
    "create_ortvalue_from_shape_and_type", "end_profiling", "get_input_epdevices", "get_input_memory_infos",
    "get_output_memory_infos", "get_profiling_start_time_ns", "get_provider_graph_assignment_info",
    "get_tuning_results",
    "release_captured_graph", "run_with_ortvaluevector", "set_ep_dynamic_options", "set_tuning_results",
}
SESSION_OPTIONS = {
    "add_external_initializers_from_files_in_memory", "add_provider_for_devices", "clear_ep_context_data_read_func",
    "has_providers", "set_ep_context_data_read_func", "set_load_cancellation_flag", "set_provider_selection_policy",
    "set_provider_selection_policy_delegate",
}
RUN_OPTIONS = {"add_active_adapter", "set_sync_stream"}
VALUE = {"as_sparse_tensor", "from_dlpack", "ort_value_from_sparse_tensor", "__dlpack__", "__dlpack_device__"}
PACKAGE = {
    "AdapterFormat", "LoraAdapter", "ModelCompiler", "OrtAllocatorType", "OrtArenaCfg", "OrtCompileApiFlags",
    "OrtDeviceMemoryType", "OrtDeviceVendorId", "OrtEpAssignedNode", "OrtEpAssignedSubgraph", "OrtEpContextData",
    "OrtEpContextDataBuffer", "OrtEpDevice", "OrtExecutionProviderDevicePolicy", "OrtExternalInitializerInfo",
    "OrtHardwareDevice", "OrtHardwareDeviceType", "OrtMemType", "OrtMemoryInfo", "OrtMemoryInfoDeviceType",
    "OrtSparseFormat", "OrtSyncStream", "copy_tensors", "create_and_register_allocator",
    "create_and_register_allocator_v2", "get_ep_devices", "has_collective_ops", "preload_dlls", "print_debug_info",
    "register_execution_provider_library", "set_global_thread_pool_sizes", "unregister_execution_provider_library",
}
# The session configuration that the C interface reads.
HONOURED_KEYS = {
    "optimization.disable_specified_optimizers", "session.model_external_initializers_file_folder_path",
    "session.optimized_model_external_initializers_file_name",
    "session.optimized_model_external_initializers_min_size_in_bytes",
}
