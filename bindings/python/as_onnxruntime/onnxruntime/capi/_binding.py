"""Bindings of the package `onnxruntime`."""
import numpy as np
import sardonyx

from onnxruntime.capi import _pybind_state as C  # noqa: N812  (the peer's name)
from onnxruntime.capi.onnxruntime_inference_collection import _runtime_errors


class IOBinding(sardonyx.IOBinding):
    __doc__ = sardonyx.IOBinding.__doc__
    _iobinding = property(lambda self: C.SessionIOBinding._below(self))

    def bind_cpu_input(self, name, arr_on_cpu):
        if not isinstance(arr_on_cpu, np.ndarray):
            raise RuntimeError(f"input '{name}': expected an array, found '{type(arr_on_cpu).__name__}'")
        with _runtime_errors():
            super().bind_cpu_input(name, arr_on_cpu)

    def bind_ortvalue_input(self, name, ortvalue):
        with _runtime_errors():
            super().bind_ortvalue_input(name, ortvalue)

    def bind_input(self, name, device_type, device_id, element_type, shape, buffer_ptr):
        with _runtime_errors():
            super().bind_input(name, device_type, device_id, element_type, shape, buffer_ptr)

    def bind_output(self, name, device_type="cpu", device_id=0, element_type=None, shape=None, buffer_ptr=None):
        with _runtime_errors():
            super().bind_output(name, device_type, device_id, element_type, shape, buffer_ptr)

    def bind_ortvalue_output(self, name, ortvalue):
        with _runtime_errors():
            super().bind_ortvalue_output(name, ortvalue)
