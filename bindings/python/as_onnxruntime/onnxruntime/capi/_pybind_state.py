"""Everything in the extension module, under the name that other packages import."""
from onnxruntime.capi.onnxruntime_pybind11_state import *  # noqa: F403
