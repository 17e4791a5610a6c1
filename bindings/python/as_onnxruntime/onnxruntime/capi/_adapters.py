"""Files of LoRA parameters as ONNX Runtime's extension module has them."""
from sardonyx import adapters

from onnxruntime.capi._values import OrtValue


class AdapterFormat(adapters.AdapterFormat):
    """The contents of a file of LoRA parameters, with values of the extension module."""

    _value_class = OrtValue
