"""What Sardonyx has of onnxruntime.quantization; using another name of it raises an error with that name."""
from sardonyx.quantization.quant_utils import QuantFormat as QuantFormat
from sardonyx.quantization.quant_utils import QuantizationMode as QuantizationMode
from sardonyx.quantization.quant_utils import QuantType as QuantType

from onnxruntime._not_implemented import refusing

__getattr__ = refusing(__name__)
