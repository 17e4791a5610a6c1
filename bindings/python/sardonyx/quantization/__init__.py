"""Smaller models: quantization to integers and float8, with the names and arguments of onnxruntime.quantization.

Modules are loaded when a name of them is used first; names whose module is not there are refused."""
import importlib

_HOMES = {
    "CalibraterBase": "calibrate", "CalibrationDataReader": "calibrate", "CalibrationMethod": "calibrate",
    "MinMaxCalibrater": "calibrate", "TensorData": "calibrate", "TensorsData": "calibrate",
    "create_calibrator": "calibrate", "load_tensors_data": "calibrate", "save_tensors_data": "calibrate",
    "CudaQuantizer": "cuda_quantizer", "DynamicQuantConfig": "quantize", "StaticQuantConfig": "quantize",
    "get_qdq_config": "quantize", "quantize_dynamic": "quantize", "quantize_static": "quantize",
    "QDQQuantizer": "qdq_quantizer", "QuantFormat": "quant_utils", "QuantType": "quant_utils",
    "QuantizationMode": "quant_utils", "quant_pre_process": "shape_inference",
    "write_calibration_table": "calibration_table",
}


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    home = f"{__name__}.{_HOMES[name]}"
    try:
        value = getattr(importlib.import_module(home), name)
    except ModuleNotFoundError as failure:
        if failure.name != home:
            raise
        from sardonyx.missing import MissingMember

        raise MissingMember(f"{__name__}.{name} is not implemented in Sardonyx") from None
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *_HOMES})
