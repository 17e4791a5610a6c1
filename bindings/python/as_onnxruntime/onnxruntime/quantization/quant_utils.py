"""The names of onnxruntime.quantization.quant_utils."""
from sardonyx.quantization import quant_utils as _ours
from sardonyx.quantization.quant_utils import *  # noqa: F403

from onnxruntime._not_implemented import refusing

__all__ = _ours.__all__
__getattr__ = refusing(__name__)
