"""As onnxruntime.capi._pybind_state: everything the extension has."""
from sardonyx.capi.onnxruntime_pybind11_state import *  # noqa: F403
from sardonyx.capi.onnxruntime_pybind11_state import __getattr__  # noqa: F401
