"""Ranges of tensors from data: the calibraters of all methods, and what they take and give."""
from collections.abc import Sequence
from pathlib import Path

from sardonyx.quantization.calibrater_histograms import (
    DistributionCalibrater,
    EntropyCalibrater,
    HistogramCalibrater,
    PercentileCalibrater,
)
from sardonyx.quantization.calibrater_minmax import CalibraterBase, MinMaxCalibrater
from sardonyx.quantization.calibration_data import (
    CalibrationCacheEncoder,
    CalibrationDataReader,
    CalibrationMethod,
    TensorData,
    TensorsData,
    load_tensors_data,
    save_tensors_data,
)
from sardonyx.quantization.histograms import CalibrationDataCollector, HistogramCollector, entropy, rel_entr

# ONNX Runtime's module of this name has these, too, so programs may import them from here.
from sardonyx.quantization.quant_utils import (  # noqa: F401
    apply_plot,
    load_model_with_shape_infer,
    smooth_distribution,
)

__all__ = [
    "CalibraterBase", "CalibrationCacheEncoder", "CalibrationDataCollector", "CalibrationDataReader",
    "CalibrationMethod", "DistributionCalibrater", "EntropyCalibrater", "HistogramCalibrater", "HistogramCollector",
    "MinMaxCalibrater", "PercentileCalibrater", "TensorData", "TensorsData", "apply_plot", "create_calibrator",
    "entropy", "load_model_with_shape_infer", "load_tensors_data", "rel_entr", "save_tensors_data",
    "smooth_distribution",
]

# Of each method: the calibrater, and what it takes from extra_options with the value where it is not given.
_METHODS = {
    CalibrationMethod.MinMax: (MinMaxCalibrater, {
        "symmetric": False, "moving_average": False, "averaging_constant": 0.01, "max_intermediate_outputs": None,
        "per_channel": False}),
    CalibrationMethod.Entropy: (EntropyCalibrater, {"num_bins": 128, "num_quantized_bins": 128, "symmetric": False}),
    CalibrationMethod.Percentile: (PercentileCalibrater, {"num_bins": 2048, "percentile": 99.999, "symmetric": True}),
    CalibrationMethod.Distribution: (DistributionCalibrater, {"num_bins": 2048, "scenario": "same"}),
}


def create_calibrator(model: str | Path, op_types_to_calibrate: Sequence[str] | None = None,
                      augmented_model_path="augmented_model.onnx", calibrate_method=CalibrationMethod.MinMax,
                      use_external_data_format=False, providers=None, extra_options={}):  # noqa: B006  (as in the API)
    """A calibrater with a session that is ready for collect_data. `extra_options`: arguments of the method."""
    if calibrate_method not in _METHODS:
        raise ValueError(f"expected a CalibrationMethod, found {calibrate_method!r}")
    kind, defaults = _METHODS[calibrate_method]
    options = {name: extra_options.get(name, value) for name, value in defaults.items()}
    calibrator = kind(model, op_types_to_calibrate, augmented_model_path,
                      use_external_data_format=use_external_data_format, **options)
    calibrator.augment_graph()
    if providers:
        calibrator.execution_providers = providers
    calibrator.create_inference_session()
    return calibrator
