"""The exceptions and classes under the names that programs import from onnxruntime.capi.onnxruntime_pybind11_state."""
from sardonyx._core import *  # noqa: F403
from sardonyx._core import (  # noqa: F401
    EngineError,
    EPFail,
    Fail,
    InvalidArgument,
    InvalidGraph,
    InvalidProtobuf,
    ModelLoaded,
    NodeArg,
    NoModel,
    NoSuchFile,
    NotImplemented,  # noqa: A004
    RuntimeException,
)
from sardonyx.inference import OrtDevice, OrtValue, get_available_providers, get_device  # noqa: F401
from sardonyx.options import ExecutionMode, ExecutionOrder, GraphOptimizationLevel, RunOptions, SessionOptions  # noqa: F401
