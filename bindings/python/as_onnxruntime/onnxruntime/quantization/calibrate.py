"""The names of onnxruntime.quantization.calibrate."""
from sardonyx.quantization import calibrate as _ours
from sardonyx.quantization.calibrate import *  # noqa: F403

from onnxruntime._not_implemented import refusing

__all__ = _ours.__all__
__getattr__ = refusing(__name__)
