"""Everything in the extension module, under the name that other packages import."""
from onnxruntime._later import later as _later
from onnxruntime.capi import onnxruntime_pybind11_state as _state

__all__ = _state.__all__
globals().update({name: value for name, value in vars(_state).items() if name in __all__})
__getattr__, __dir__, _ = _later(globals(), {_state.__name__: _state._NAMES}, adopts=False)
