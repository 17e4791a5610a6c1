"""Sardonyx: run ONNX models. The names are those of the onnxruntime package, so `import sardonyx as onnxruntime` works.

    import numpy as np, sardonyx
    session = sardonyx.InferenceSession("model.onnx")
    outputs = session.run(None, {"x": np.zeros((1, 3), np.float32)})
"""
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
from sardonyx.inference import (
    InferenceSession,
    IOBinding,
    ModelMetadata,
    OrtDevice,
    OrtValue,
    SparseTensor,
    disable_telemetry_events,
    enable_telemetry_events,
    get_all_providers,
    get_available_providers,
    get_build_info,
    get_device,
    get_version_string,
    set_default_logger_severity,
    set_default_logger_verbosity,
    set_seed,
)
from sardonyx.options import ExecutionMode, ExecutionOrder, GraphOptimizationLevel, RunOptions, SessionOptions

# Packages parse this to learn which ONNX Runtime they talk to; our own version is sardonyx_version.
__version__ = get_version_string()
from sardonyx.inference import sardonyx_version  # noqa: E402

__all__ = [
    "EPFail", "EngineError", "ExecutionMode", "ExecutionOrder", "Fail", "GraphOptimizationLevel", "IOBinding",
    "InferenceSession",
    "InvalidArgument", "InvalidGraph", "InvalidProtobuf", "ModelLoadCanceled", "ModelLoaded", "ModelMetadata",
    "ModelRequiresCompilation", "NoModel", "NoSuchFile", "NodeArg", "NotFound", "NotImplemented", "OrtDevice",
    "OrtValue",
    "RunOptions", "RuntimeException", "SessionOptions", "SparseTensor", "disable_telemetry_events",
    "enable_telemetry_events", "get_all_providers", "get_available_providers",
    "get_build_info", "get_device", "get_version_string", "sardonyx_version", "set_default_logger_severity",
    "set_default_logger_verbosity", "set_seed",
]


def __getattr__(name):
    _missing.refuse("sardonyx", name, _missing.PACKAGE)
