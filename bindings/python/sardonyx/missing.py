"""Members of ONNX Runtime's package that this one lacks: using one raises an error with its name, or logs a warning."""
import logging

logger = logging.getLogger("sardonyx")


class MissingMember(NotImplementedError, AttributeError):  # noqa: N818  (what it is, not that it is one)
    """A NotImplementedError that is also an AttributeError, so that hasattr() and `try: from ... import` work."""


def refuse(owner, name, members):
    """For __getattr__: raises the error for a name that `owner` lacks; `members` are names that ONNX Runtime has."""
    if name in members:
        raise MissingMember(f"{owner}.{name} is not implemented in Sardonyx")
    raise AttributeError(f"{owner} has no attribute '{name}'")


def warn_not_honoured(what, consequence="it is accepted and changes nothing"):
    logger.warning("%s is not honoured by Sardonyx: %s", what, consequence)


SESSION = {"release_captured_graph", "set_ep_dynamic_options"}
SESSION_OPTIONS = {
    "clear_ep_context_data_read_func", "set_ep_context_data_read_func", "set_load_cancellation_flag",
    "set_provider_selection_policy_delegate",
}
RUN_OPTIONS = {"add_active_adapter", "set_sync_stream"}
VALUE = set()
SPARSE = {"as_blocksparse_view", "as_csrc_view", "sparse_csr_from_numpy", "to_cuda"}
BINDING = set()
PACKAGE = {
    "AdapterFormat", "LoraAdapter", "ModelCompiler", "OrtArenaCfg", "OrtEpContextData", "OrtEpContextDataBuffer",
    "OrtExternalInitializerInfo", "OrtSyncStream", "SessionIOBinding", "create_and_register_allocator",
    "create_and_register_allocator_v2", "register_execution_provider_library", "unregister_execution_provider_library",
}
# What ONNX Runtime's extension module has in addition; programs use it through onnxruntime.capi.
EXTENSION = PACKAGE | {
    "ArenaExtendStrategy", "DeviceReset", "SessionObjectInitializer",
    "OrtCompiledModelCompatibility", "OrtDeviceEpIncompatibilityReason", "SparseBlockSparseView", "SparseCsrView",
    "get_all_operator_schema", "get_all_opkernel_def", "get_compatibility_info_from_model",
    "get_compatibility_info_from_model_bytes", "get_default_session_options",
    "get_hardware_device_ep_incompatibility_details", "get_hardware_devices", "get_model_compatibility_for_ep_devices",
    "get_registered_ep_kernel_defs", "get_session_initializer", "is_dlpack_uint8_tensor",
    "quantize_matmul_2bits", "quantize_matmul_4bits", "quantize_matmul_8bits", "quantize_matmul_bnb4",
    "quantize_qdq_matmul_2bits", "quantize_qdq_matmul_4bits",
}
