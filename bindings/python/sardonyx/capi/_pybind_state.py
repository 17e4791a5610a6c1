"""The counterpart of onnxruntime.capi._pybind_state: everything in the extension module."""
from sardonyx.capi.onnxruntime_pybind11_state import *  # noqa: F403
from sardonyx.capi.onnxruntime_pybind11_state import __getattr__  # noqa: F401
