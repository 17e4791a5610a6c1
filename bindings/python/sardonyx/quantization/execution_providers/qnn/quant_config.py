"""How a model is quantized for QNN's provider."""
from __future__ import annotations

import copy
import logging
import os
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from sardonyx.quantization.calibrate import CalibrationDataReader, CalibrationMethod
from sardonyx.quantization.execution_providers.qnn.mixed_precision_overrides_utils import (
    MixedPrecisionTensorQuantOverridesFixer,
)
from sardonyx.quantization.quant_utils import QuantType, get_opset_version
from sardonyx.quantization.quantize import StaticQuantConfig
from sardonyx.quantization.tensor_quant_overrides import TensorQuantOverridesHelper

Q16_TYPES = {QuantType.QInt16, QuantType.QUInt16}
Q8_TYPES = {QuantType.QInt8, QuantType.QUInt8}
Q4_TYPES = {QuantType.QInt4, QuantType.QUInt4}
OP_TYPES_TO_EXCLUDE = {"Cast"}
MODEL_SIZE_THRESHOLD = 2**31  # in bytes: larger models have their weights in files of their own
_NARROWEST_RANGE = 0.0001
# Scale and zero point of what Sigmoid and Tanh make with 16 bits: their ranges are known.
_FIXED_SCALES = {
    ("Sigmoid", QuantType.QUInt16): (1 / 65536, np.uint16(0)), ("Sigmoid", QuantType.QInt16): (1 / 32768, np.int16(0)),
    ("Tanh", QuantType.QUInt16): (1 / 32768, np.uint16(32768)), ("Tanh", QuantType.QInt16): (1 / 32768, np.int16(0)),
}


def warn_unable_to_override(
    node: onnx.NodeProto,
    what_str: str,
    tensor_name: str,
    io_kind: str,
):
    """Logs that an override of the caller stands where QNN needs another."""
    logging.warning("node '%s' (%s): %s of its %s '%s' stays as the overrides have it, which QNN may not take",
                    node.name, node.op_type, what_str, io_kind, tensor_name)


def get_qnn_qdq_config(
    model_input: str | Path | onnx.ModelProto,
    calibration_data_reader: CalibrationDataReader,
    calibrate_method: CalibrationMethod = CalibrationMethod.MinMax,
    activation_type: QuantType = QuantType.QUInt8,
    weight_type: QuantType = QuantType.QUInt8,
    per_channel: bool = False,
    init_overrides: dict[str, list[dict[str, Any]]] | None = None,
    add_qtype_converts: bool = True,
    activation_symmetric: bool = False,
    weight_symmetric: bool | None = None,
    keep_removable_activations: bool = False,
    stride: int | None = None,
    calibration_providers: list[str] | None = None,
    op_types_to_quantize: list[str] | None = None,
    nodes_to_exclude: list[str] | None = None,
) -> StaticQuantConfig:
    """A StaticQuantConfig (QuantFormat.QDQ) whose result QNN's provider takes.

    `init_overrides`: TensorQuantOverrides, of which a copy is completed: with `add_qtype_converts` by conversions where
    types change, and by what QNN needs of MatMul, LayerNormalization, Sigmoid and Tanh. `weight_symmetric`: if None,
    weights of signed types are. `stride`: data is read in portions of that size. The others are those of
    quantize_static; without `op_types_to_quantize`, all operators but Cast."""
    model = model_input
    if not isinstance(model_input, onnx.ModelProto):
        model = onnx.load_model(os.fspath(model_input), load_external_data=False)
    if weight_symmetric is None:
        weight_symmetric = weight_type in (QuantType.QInt8, QuantType.QInt16)
    overrides = TensorQuantOverridesHelper(copy.deepcopy(init_overrides or {}))
    if add_qtype_converts and not overrides.empty():
        MixedPrecisionTensorQuantOverridesFixer.create_from_model(overrides, model, activation_type).apply(
            activation_type, activation_symmetric)
    weights = {one.name: one for one in model.graph.initializer}
    compatibility = QnnCompatibilityOverrides(activation_type, weight_type, activation_symmetric, weight_symmetric,
                                              per_channel, overrides, weights)
    kinds = set()
    for node in model.graph.node:
        if node.op_type in (op_types_to_quantize or [node.op_type]) and node.name not in (nodes_to_exclude or []):
            kinds.add(node.op_type)
            compatibility.process_node(node)
    options = {
        "MinimumRealRange": _NARROWEST_RANGE, "DedicatedQDQPair": False,
        "QDQKeepRemovableActivations": keep_removable_activations, "TensorQuantOverrides": overrides.get_dict(),
        "ActivationSymmetric": activation_symmetric, "WeightSymmetric": weight_symmetric, "CalibStridedMinMax": stride,
    }
    types = {activation_type, weight_type, *overrides.get_quant_types()}
    if get_opset_version(model) < 21 and types & (Q16_TYPES | Q4_TYPES):
        options["UseQDQContribOps"] = True
    is_external = any(onnx.external_data_helper.uses_external_data(one) for one in weights.values())
    return StaticQuantConfig(
        calibration_data_reader, calibrate_method=calibrate_method, activation_type=activation_type,
        weight_type=weight_type, op_types_to_quantize=op_types_to_quantize or list(kinds - OP_TYPES_TO_EXCLUDE),
        nodes_to_exclude=nodes_to_exclude, per_channel=per_channel,
        use_external_data_format=is_external or model.ByteSize() >= MODEL_SIZE_THRESHOLD,
        calibration_providers=calibration_providers, extra_options=options)


class QnnCompatibilityOverrides:
    """Adds to `overrides` what QNN needs of the nodes that are given to `process_node`. `initializers`: protos by
    name; the others are the defaults of the quantizer."""

    def __init__(
        self,
        default_activation_qtype: QuantType,
        default_weight_qtype: QuantType,
        activation_symmetric: bool,
        weight_symmetric: bool,
        per_channel: bool,
        overrides: TensorQuantOverridesHelper,
        initializers: dict[str, onnx.TensorProto],
    ):
        self.default_activation_qtype, self.default_weight_qtype = default_activation_qtype, default_weight_qtype
        self.activation_symmetric, self.weight_symmetric = activation_symmetric, weight_symmetric
        self.per_channel, self.overrides, self.initializers = per_channel, overrides, initializers

    def process_node(self, node: onnx.NodeProto):
        if node.op_type in ("Sigmoid", "Tanh"):
            self._fix_scale(node)
        elif node.op_type in ("MatMul", "LayerNormalization") and not self.per_channel:
            self._give_weight_its_type(node)
        elif node.op_type == "MatMul":  # QNN has no channels there
            for name in node.input:
                if name in self.initializers and name not in self.overrides:
                    self.overrides.update_tensor_overrides(name, self._weight_type())

    def _weight_type(self):
        return {"quant_type": self.default_weight_qtype, "symmetric": self.weight_symmetric}

    def _fix_scale(self, node):
        kind = self.overrides.get_node_output_qtype_info(node.output[0], self.default_activation_qtype).quant_type
        if (node.op_type, kind) in _FIXED_SCALES:
            scale, zero_point = _FIXED_SCALES[node.op_type, kind]
            self.overrides.update_tensor_overrides(node.output[0], {
                "quant_type": kind, "scale": np.array(scale, np.float32), "zero_point": np.array(zero_point)})

    def _give_weight_its_type(self, node):
        """An initializer beside an activation of 16 bits gets the type of weights, if that has 8 bits; the quantizer
        would give it that of activations."""
        if self.default_weight_qtype not in Q8_TYPES:
            return
        activation = weight = None
        for name in filter(None, node.input[:2]):
            is_weight = name in self.initializers
            known = self.overrides.get_node_input_qtype_info(
                name, node.name, None if is_weight else self.default_activation_qtype)
            is_done = known.quant_type == self.default_weight_qtype and known.symmetric == self.weight_symmetric
            if known.axis is not None or (is_weight and is_done):
                return
            if is_weight:
                weight = name
            elif known.quant_type in Q16_TYPES:
                activation = name
        if activation and weight and not self.overrides.update_tensor_overrides(weight, self._weight_type(),
                                                                                overwrite=False):
            warn_unable_to_override(node, "quant_type/symmetric", weight, "input weight")
