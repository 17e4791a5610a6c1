"""Calibraters that choose ranges from histograms: by entropy, by percentile, and by distribution (for float8)."""
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sardonyx.quantization.calibrater_minmax import CalibraterBase
from sardonyx.quantization.calibration_data import CalibrationDataReader, CalibrationMethod, TensorsData
from sardonyx.quantization.histograms import HistogramCollector


class HistogramCalibrater(CalibraterBase):
    """Runs the model twice on each input: once for the range of its values, once for their counts. Of the data only the
    inputs are kept in between."""

    def __init__(self, model_path: str | Path, op_types_to_calibrate: Sequence[str] | None = None,
                 augmented_model_path="augmented_model.onnx", use_external_data_format=False, method="percentile",
                 symmetric=False, num_bins=128, num_quantized_bins=2048, percentile=99.999, scenario="same"):
        """`num_bins`: those of the first data; more come with data that reaches farther. `num_quantized_bins`: of
        entropy. `percentile`: of the values that lie inside. `scenario`: "same" or "p3", of distribution."""
        super().__init__(model_path, op_types_to_calibrate=op_types_to_calibrate,
                         augmented_model_path=augmented_model_path, symmetric=symmetric,
                         use_external_data_format=use_external_data_format)
        self.intermediate_outputs = []  # the inputs between the two runs
        self.calibrate_tensors_range = None
        self.num_model_outputs = len(self.model.graph.outputs)
        self.model_original_outputs = set(self.model.graph.outputs)
        self.collector = None
        self.method = method
        self.num_bins = num_bins
        self.num_quantized_bins = num_quantized_bins
        self.percentile = percentile
        self.tensors_to_calibrate = None
        self.scenario = scenario

    def augment_graph(self):
        """Makes the tensors outputs of the model; inputs are known without."""
        graph = self.model.graph
        self.tensors_to_calibrate, types = self.select_tensors_to_calibrate(self.model)
        for name in types:
            if name in self.tensors_to_calibrate and name not in (*graph.outputs, *graph.inputs):
                graph.add_output(name)
        self._save()

    def clear_collected_data(self):
        self.intermediate_outputs = []

    def collect_data(self, data_reader: CalibrationDataReader):
        if self.collector is None:
            self.collector = HistogramCollector(self.method, self.symmetric, self.num_bins, self.num_quantized_bins,
                                                self.percentile, self.scenario)
        names = [one.name for one in self.infer_session.get_outputs() if one.name in self.tensors_to_calibrate]
        while inputs := data_reader.get_next():
            # A reader may use its arrays again for what it gives next.
            self.intermediate_outputs.append({name: _copy(value) for name, value in inputs.items()})
            self.collector.add_range(self._values(names, self.intermediate_outputs[-1]))
        if not self.intermediate_outputs:
            raise ValueError("expected data to calibrate with, but the reader gave none")
        self.collector.start_counts()
        for inputs in self.intermediate_outputs:
            self.collector.add_counts(self._values(names, inputs))
        self.collector.finish_counts()
        self.clear_collected_data()

    def _values(self, names, inputs):
        given = {name: np.asarray(value) for name, value in inputs.items()
                 if name in self.tensors_to_calibrate and name not in names}
        return given | dict(zip(names, self.infer_session.run(names, inputs) if names else ()))

    def compute_data(self) -> TensorsData:
        if self.collector is None:
            raise ValueError("expected collect_data to come first")
        for kind, method in ((EntropyCalibrater, CalibrationMethod.Entropy),
                             (PercentileCalibrater, CalibrationMethod.Percentile),
                             (DistributionCalibrater, CalibrationMethod.Distribution)):
            if isinstance(self, kind):
                return TensorsData(method, self.collector.compute_collection_result())
        raise TypeError(f"{type(self).__name__} needs a compute_data of its own: it is no calibrater of a known method")


def _copy(value):
    return value.copy() if isinstance(value, np.ndarray) else value


class EntropyCalibrater(HistogramCalibrater):
    def __init__(self, model_path: str | Path, op_types_to_calibrate: Sequence[str] | None = None,
                 augmented_model_path="augmented_model.onnx", use_external_data_format=False, method="entropy",
                 symmetric=False, num_bins=128, num_quantized_bins=128):
        super().__init__(model_path, op_types_to_calibrate, augmented_model_path, use_external_data_format,
                         method=method, symmetric=symmetric, num_bins=num_bins, num_quantized_bins=num_quantized_bins)


class PercentileCalibrater(HistogramCalibrater):
    def __init__(self, model_path: str | Path, op_types_to_calibrate: Sequence[str] | None = None,
                 augmented_model_path="augmented_model.onnx", use_external_data_format=False, method="percentile",
                 symmetric=False, num_bins=2048, percentile=99.999):
        super().__init__(model_path, op_types_to_calibrate, augmented_model_path, use_external_data_format,
                         method=method, symmetric=symmetric, num_bins=num_bins, percentile=percentile)


class DistributionCalibrater(HistogramCalibrater):
    def __init__(self, model_path: str | Path, op_types_to_calibrate: Sequence[str] | None = None,
                 augmented_model_path="augmented_model.onnx", use_external_data_format=False, method="distribution",
                 num_bins=128, scenario="same"):
        super().__init__(model_path, op_types_to_calibrate, augmented_model_path, use_external_data_format,
                         method=method, num_bins=num_bins, scenario=scenario)
