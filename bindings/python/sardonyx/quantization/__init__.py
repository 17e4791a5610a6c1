"""Smaller models: quantization to integers and float8, with the names and arguments of onnxruntime.quantization.

Modules are loaded when a name of them is used first; names whose module is not there are refused."""
import importlib
import sys
import types

_HOMES = {
    "CalibraterBase": "calibrate", "CalibrationDataReader": "calibrate", "CalibrationMethod": "calibrate",
    "MinMaxCalibrater": "calibrate", "TensorData": "calibrate", "TensorsData": "calibrate",
    "create_calibrator": "calibrate", "load_tensors_data": "calibrate", "save_tensors_data": "calibrate",
    "CudaQuantizer": "cuda_quantizer", "DynamicQuantConfig": "quantize", "StaticQuantConfig": "quantize",
    "get_qdq_config": "quantize", "quantize": "quantize", "quantize_dynamic": "quantize",
    "quantize_static": "quantize", "QDQQuantizer": "qdq_quantizer", "QuantFormat": "quant_utils",
    "QuantType": "quant_utils", "QuantizationMode": "quant_utils", "quant_pre_process": "shape_inference",
    "write_calibration_table": "quant_utils",
}


def _member(name):
    home = f"{__name__}.{_HOMES[name]}"
    try:
        return getattr(importlib.import_module(home), name)
    except (ModuleNotFoundError, AttributeError) as failure:
        if isinstance(failure, ModuleNotFoundError) and failure.name != home:
            raise
        from sardonyx.missing import MissingMember

        raise MissingMember(f"{__name__}.{name} is not implemented in Sardonyx") from None


class _Package(types.ModuleType):
    """`quantize` is a function here and also a module, which importing it sets as a member of its package."""

    @property
    def quantize(self):
        return _member("quantize")

    @quantize.setter
    def quantize(self, module):
        pass

    def __getattr__(self, name):
        if name not in _HOMES:
            raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
        value = _member(name)
        self.__dict__[name] = value
        return value

    def __dir__(self):
        return sorted({*self.__dict__, *_HOMES})


sys.modules[__name__].__class__ = _Package
