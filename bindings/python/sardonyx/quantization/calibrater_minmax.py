"""Calibraters: what all share, and the one that keeps the smallest and largest value of each tensor."""
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sardonyx.model import Model
from sardonyx.quantization.calibration_data import CalibrationDataReader, CalibrationMethod, TensorData, TensorsData

_CALIBRATED = ("float", "float16")  # the element types of tensors that have ranges
_MOVING = ("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Identity")  # make what they are given


class CalibraterBase:
    """A model whose float tensors are watched while data runs through it.

    `model` is a sardonyx.model.Model with the types of its values. Subclasses write a model that gives what they need
    to `augmented_model_path` (augment_graph), run it (collect_data), and make TensorsData of that (compute_data)."""

    def __init__(self, model_path: str | Path, op_types_to_calibrate: Sequence[str] | None = None,
                 augmented_model_path="augmented_model.onnx", symmetric=False, use_external_data_format=False,
                 per_channel=False):
        """`op_types_to_calibrate`: only inputs and outputs of nodes of these operators have ranges. `symmetric`: ranges
        reach equally far on both sides of zero. `use_external_data_format`: the augmented model's weights lie in a file
        beside it."""
        if not isinstance(model_path, (str, Path)):
            raise ValueError(f"expected the path of a model, found '{type(model_path).__name__}'")
        self.model = Model(model_path)
        self.model.infer_types()
        self.op_types_to_calibrate = op_types_to_calibrate
        self.augmented_model_path = augmented_model_path
        self.symmetric = symmetric
        self.use_external_data_format = use_external_data_format
        self.per_channel = per_channel
        self._following = {}  # of a tensor whose ends follow from another's: that one's name, and whether by Relu
        self.augment_model = None
        self.infer_session = None
        self.execution_providers = ["CPUExecutionProvider"]

    def set_execution_providers(self, execution_providers=["CPUExecutionProvider"]):  # noqa: B006  (as in the API)
        self.execution_providers = execution_providers
        self.create_inference_session()

    def create_inference_session(self):
        """A session of the augmented model in which nothing is fused: values are those of the model as it is."""
        import sardonyx

        options = sardonyx.SessionOptions()
        options.graph_optimization_level = sardonyx.GraphOptimizationLevel.ORT_DISABLE_ALL
        self.infer_session = sardonyx.InferenceSession(os.fspath(self.augmented_model_path), options,
                                                       providers=self.execution_providers)

    def select_tensors_to_calibrate(self, model):
        """(names of the tensors that have ranges, types of all values by name) of a Model or an onnx.ModelProto."""
        if not isinstance(model, Model):
            model = Model(model)
        graph, kinds = model.graph, self.op_types_to_calibrate
        seen = {name for node in graph.nodes if not kinds or node.op_type in kinds
                for name in (*node.inputs, *node.outputs) if name}
        types = {name: graph.type_of(name) for name in (*graph.inputs, *graph.outputs)}
        types |= {name: graph.type_of(name) for node in graph.nodes for name in node.outputs if name}
        types = {name: kind for name, kind in types.items() if kind is not None}
        return {name for name in seen if name in types and types[name].dtype in _CALIBRATED
                and name not in graph.initializers}, types

    def _selected(self):
        """What select_tensors_to_calibrate says of this model."""
        if self._has_own("select_tensors_to_calibrate"):
            return self.select_tensors_to_calibrate(self.model)
        selected, values = self.select_tensors_to_calibrate(self.model.to_proto())
        types = {name: self.model.graph.type_of(name) for name in values}
        return selected, {name: kind for name, kind in types.items() if kind is not None}

    def _follows(self, name, node, selected):
        """Notes a tensor whose values need not be looked at, as those that its node reads tell them."""
        is_relu = node is not None and node.op_type == "Relu"
        is_moved = node is not None and node.op_type in _MOVING and not self.per_channel
        if not (is_relu or is_moved) or node.domain or node.inputs[0] not in selected:
            return False
        self._following[name] = (node.inputs[0], is_relu)
        return True

    def _has_own(self, *methods):
        """Whether these methods are Sardonyx's. Programs put functions of their own into the classes, which expect the
        ModelProto and the outputs that ONNX Runtime's calibraters have."""
        return all(getattr(type(self), name).__module__.startswith("sardonyx.") for name in methods)

    def get_augment_model(self):
        """The augmented model as an onnx.ModelProto."""
        return self.model.to_proto()

    def augment_graph(self):
        raise NotImplementedError(f"{type(self).__name__} has no augment_graph")

    def collect_data(self, data_reader: CalibrationDataReader):
        raise NotImplementedError(f"{type(self).__name__} has no collect_data")

    def compute_data(self) -> TensorsData:
        raise NotImplementedError(f"{type(self).__name__} has no compute_data")

    def _save(self):
        path = Path(self.augmented_model_path)
        self.model.save(os.fspath(path), path.name + ".data" if self.use_external_data_format else None)


class MinMaxCalibrater(CalibraterBase):
    def __init__(self, model_path: str | Path, op_types_to_calibrate: Sequence[str] | None = None,
                 augmented_model_path="augmented_model.onnx", symmetric=False, use_external_data_format=False,
                 moving_average=False, averaging_constant=0.01, max_intermediate_outputs=None, per_channel=False):
        """`moving_average`: the mean of the runs' ends instead of the farthest; a later collect_data moves it by
        `averaging_constant` of the difference. `max_intermediate_outputs`: after so many runs their range is merged
        into that of the runs before, as if a new collect_data began. `per_channel`: a range for each index of axis
        1."""
        super().__init__(model_path, op_types_to_calibrate=op_types_to_calibrate,
                         augmented_model_path=augmented_model_path, symmetric=symmetric,
                         use_external_data_format=use_external_data_format, per_channel=per_channel)
        if moving_average and not 0 <= averaging_constant <= 1:
            raise ValueError(f"expected an averaging_constant from 0 to 1, found {averaging_constant}")
        self.intermediate_outputs = []
        self.calibrate_tensors_range = None
        self.num_model_outputs = len(self.model.graph.outputs)
        self.model_original_outputs = set(self.model.graph.outputs)
        self.moving_average = moving_average
        self.averaging_constant = averaging_constant
        self.max_intermediate_outputs = max_intermediate_outputs
        self._outputs = {}  # of a tensor: the outputs that hold its smallest and largest values
        self._calibrated = []  # the names of both

    def augment_graph(self):
        """Adds nodes that reduce each tensor, so that a run hands out two numbers of it and not the tensor. The ends of
        what Relu and operators that only move numbers make follow from those of what they read."""
        graph, is_own = self.model.graph, self._has_own("collect_data", "compute_data")
        selected, types = self._selected()
        self._calibrated = [name for name in types if name in selected]
        flat = graph.unique_name("sardonyx_calibration_shape")
        graph.set_initializer(flat, np.array([-1], np.int64))
        for name in self._calibrated:
            if not is_own or not self._follows(name, graph.producer(name), selected):
                self._outputs[name] = [self._add_reduction(operator, name, types[name], flat)
                                       for operator in ("ReduceMin", "ReduceMax")]
        self._save()

    def _ends(self, values, name):
        """The smallest and largest values of a tensor, of what a run gave for the tensors in self._outputs."""
        if name not in self._following:
            return values[name]
        source, is_relu = self._following[name]
        ends = self._ends(values, source)
        return [np.maximum(end, end.dtype.type(0)) for end in ends] if is_relu else ends

    def _add_reduction(self, operator, name, kind, flat):
        graph, attributes, inputs = self.model.graph, {"keepdims": 1}, [name]
        if self.per_channel:
            if kind.shape is None:
                raise ValueError(f"tensor '{name}': ranges per channel need its rank, which the model does not tell")
            axes = [axis for axis in range(len(kind.shape)) if axis != 1]
            if axes and self.model.opsets.get("", 0) >= 18:
                inputs.append(graph.unique_name(f"{name}_{operator}_axes"))
                graph.set_initializer(inputs[1], np.array(axes, np.int64))
            elif axes:
                attributes["axes"] = axes
        made = graph.unique_name(f"{name}_{operator}")
        reduced = graph.unique_name(f"{made}_Reshape")
        graph.add_node(operator, inputs, [reduced], name=made, attributes=attributes)
        graph.add_node("Reshape", [reduced, flat], [made], name=reduced)
        graph.set_type(made, kind.dtype, (None,))
        graph.add_output(made)
        return made

    def clear_collected_data(self):
        self.intermediate_outputs = []

    def collect_data(self, data_reader: CalibrationDataReader):
        wanted = [output for pair in self._outputs.values() for output in pair]
        while inputs := data_reader.get_next():
            if not self._has_own("compute_data"):
                self.intermediate_outputs.append(self.infer_session.run(None, inputs))
                continue
            found = iter(self.infer_session.run(wanted, inputs) if wanted else [])
            values = {name: (low, next(found)) for name, low in zip(self._outputs, found)}
            self.intermediate_outputs.append([end for name in self._calibrated for end in self._ends(values, name)])
            if len(self.intermediate_outputs) == self.max_intermediate_outputs:
                self.compute_data()
                self.clear_collected_data()
        if not self.intermediate_outputs and self.calibrate_tensors_range is None:
            raise ValueError("expected data to calibrate with, but the reader gave none")
        self.compute_data()
        self.clear_collected_data()

    def merge_range(self, old_range, new_range):
        """`new_range` with that of earlier runs in it."""
        for name, value in (old_range.items() if old_range else ()):
            (old_low, old_high), (low, high) = (one.range_value if isinstance(one, TensorData) else one
                                                for one in (value, new_range[name]))
            if self.moving_average:
                low = old_low + self.averaging_constant * (low - old_low)
                high = old_high + self.averaging_constant * (high - old_high)
            else:
                low, high = np.minimum(old_low, low), np.maximum(old_high, high)
            plain = not isinstance(value, TensorData) and not isinstance(new_range[name], TensorData)
            new_range[name] = (low, high) if plain else TensorData(lowest=low, highest=high)
        return new_range

    def compute_data(self) -> TensorsData:
        """The ranges of all that was collected."""
        if not self.intermediate_outputs:
            return self.calibrate_tensors_range
        lowest, highest = (np.nanmean, np.nanmean) if self.moving_average else (np.nanmin, np.nanmax)
        first = 0 if self._has_own("collect_data") else self.num_model_outputs
        ranges = {}
        for index, name in enumerate(self._calibrated):
            low = lowest([run[first + 2 * index] for run in self.intermediate_outputs], axis=0)
            high = highest([run[first + 2 * index + 1] for run in self.intermediate_outputs], axis=0)
            if self.symmetric:
                high = np.fmax(np.abs(low), np.abs(high))
                low = -high
            ranges[name] = (low, high)
        ranges = TensorsData(CalibrationMethod.MinMax, ranges)
        self.calibrate_tensors_range = self.merge_range(self.calibrate_tensors_range, ranges)
        return self.calibrate_tensors_range
