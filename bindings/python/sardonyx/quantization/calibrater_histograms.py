"""Calibraters that choose ranges from histograms: by entropy, by percentile, and by distribution (for float8)."""
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sardonyx.quantization.calibrater_minmax import CalibraterBase
from sardonyx.quantization.calibration_data import CalibrationDataReader, CalibrationMethod, TensorsData
from sardonyx.quantization.histograms import HistogramCollector


class HistogramCalibrater(CalibraterBase):
    """Runs the model once on each input and counts the values of its tensors; no tensor is kept."""

    def __init__(self, model_path: str | Path, op_types_to_calibrate: Sequence[str] | None = None,
                 augmented_model_path="augmented_model.onnx", use_external_data_format=False, method="percentile",
                 symmetric=False, num_bins=128, num_quantized_bins=2048, percentile=99.999, scenario="same"):
        """`num_bins`: those of the first data; more come with data that reaches farther. `num_quantized_bins`: of
        entropy. `percentile`: of the values that lie inside. `scenario`: "same" or "p3", of distribution."""
        super().__init__(model_path, op_types_to_calibrate=op_types_to_calibrate,
                         augmented_model_path=augmented_model_path, symmetric=symmetric,
                         use_external_data_format=use_external_data_format)
        self.intermediate_outputs = []  # stays empty: values are counted as they come
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
        """Makes the tensors outputs of the model; inputs are known without, and so is what follows from others."""
        graph, is_own = self.model.graph, self._has_own("collect_data")
        known = [*graph.outputs, *(graph.inputs if is_own else ())]
        self.tensors_to_calibrate, types = self._selected()
        for name in types:
            if name not in self.tensors_to_calibrate or (
                    is_own and self._follows(name, graph.producer(name), self.tensors_to_calibrate)):
                continue
            if name not in known:
                graph.add_output(name)
        self._save()

    def clear_collected_data(self):
        self.intermediate_outputs = []

    def collect_data(self, data_reader: CalibrationDataReader):
        if self.collector is None:
            self.collector = HistogramCollector(self.method, self.symmetric, self.num_bins, self.num_quantized_bins,
                                                self.percentile, self.scenario)
        names = [one.name for one in self.infer_session.get_outputs()
                 if one.name in self.tensors_to_calibrate and one.name not in self._following]
        outputs, runs = _ReusedOutputs(self.infer_session, names), 0
        while inputs := data_reader.get_next():
            given = {name: np.asarray(value) for name, value in inputs.items()
                     if name in self.tensors_to_calibrate and name not in names}
            self.collector.stream(given | outputs.run(inputs))
            runs += 1
        if not runs:
            raise ValueError("expected data to calibrate with, but the reader gave none")
        self.collector.follow(self._following)
        self.collector.finish_stream()

    def compute_data(self) -> TensorsData:
        if self.collector is None:
            raise ValueError("expected collect_data to come first")
        for kind, method in ((EntropyCalibrater, CalibrationMethod.Entropy),
                             (PercentileCalibrater, CalibrationMethod.Percentile),
                             (DistributionCalibrater, CalibrationMethod.Distribution)):
            if isinstance(self, kind):
                return TensorsData(method, self.collector.compute_collection_result())
        raise TypeError(f"{type(self).__name__} needs a compute_data of its own: it is no calibrater of a known method")


class _ReusedOutputs:
    """Runs of a session whose outputs lie in the same memory as those of the run before, as long as inputs have the
    same shapes: new memory would cost as much as the model's own work."""

    def __init__(self, session, names):
        self.session, self.names = session, names
        self.binding = self.shapes = None

    def run(self, inputs):
        if not self.names:
            return {}
        inputs = {name: np.ascontiguousarray(value) for name, value in inputs.items()}
        shapes = {name: value.shape for name, value in inputs.items()}
        is_known = shapes == self.shapes
        if not is_known:
            self.binding, self.shapes = self.session.io_binding(), shapes
        for name, value in inputs.items():
            self.binding.bind_cpu_input(name, value)
        if not is_known:
            for name in self.names:
                self.binding.bind_output(name)
        self.session.run_with_iobinding(self.binding)
        values = self.binding.get_outputs()
        if not is_known:
            for name, value in zip(self.names, values, strict=True):
                self.binding.bind_ortvalue_output(name, value)
        return {name: value.numpy() for name, value in zip(self.names, values, strict=True)}


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
