"""The quantizer that puts QuantizeLinear and DequantizeLinear around float operators.

First the rules mark tensors, in the order of the nodes; then scales are found; then nodes are added. A tensor can have
two types at once, one for some of its readers: see TensorQuantOverrides."""
import logging
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from sardonyx.quantization.base_quantizer import QUANTIZABLE, BaseQuantizer, QuantizationParams, checked_axis

# ONNX Runtime's module of this name has these, too, so programs may import them from here.
from sardonyx.quantization.calibrate import TensorData  # noqa: F401
from sardonyx.quantization.qdq_nodes import QDQNodes
from sardonyx.quantization.quant_math import compute_data_quant_params, compute_scale_zp_blocked, normalize_axis
from sardonyx.quantization.quant_types import (
    DEQUANT_OP_NAME,
    INT4,
    INT8,
    INT16,
    ONNX_TYPE_TO_NP_TYPE,
    UINT4,
    UINT16,
    ms_domain,
)
from sardonyx.quantization.quant_utils import (  # noqa: F401
    QUANT_OP_NAME,
    QuantizedValue,
    QuantizedValueType,
    __version__,
    add_dequant_output_suffix,
    add_dequant_suffix,
    add_quant_input_suffix,
    add_quant_output_suffix,
    add_quant_suffix,
    compute_scale_zp,
    compute_scale_zp_float8,
    find_by_name,
    get_qmin_qmax_for_qType,
    quantize_onnx_initializer,
    snap_zero_point_to_uint8,
    tensor_proto_to_array,
)
from sardonyx.quantization.registry import CreateQDQQuantizer

_OPSET_21_TYPES = (UINT16, INT16, UINT4, INT4)


class QDQQuantTensorType(Enum):
    ACTIVATION = 0
    WEIGHT = 1
    BIAS = 2


@dataclass
class QDQQuantParamProvider:
    """The input of a node whose scale and zero point an output takes over."""

    input_name: str
    node_name: str


@dataclass
class QDQTensorQuantInfo:
    """A tensor that is to be quantized; `axis` of its channels, None if it is quantized as a whole."""

    tensor_type: QDQQuantTensorType = QDQQuantTensorType.ACTIVATION
    quant_para_provider: QDQQuantParamProvider | None = None
    axis: int | None = None

    @property
    def is_shared(self):
        return self.quant_para_provider is not None


@dataclass
class QDQBiasQuantInfo:
    node_name: str
    input_name: str
    weight_name: str
    beta: float


@dataclass
class QDQTensorQuantParams:
    """The parameters of a tensor, and those that some of its readers (None: all) see after a change of its type."""

    original: QuantizationParams
    converted: QuantizationParams | None
    converted_recv_nodes: set[str] | None

    def get_for_consumer(self, consumer_node_name) -> QuantizationParams:
        return _seen_by(self, consumer_node_name)


def _seen_by(pair, node_name):
    if pair.converted is None:
        return pair.original
    readers = pair.converted_recv_nodes
    return pair.converted if readers is None or node_name in readers else pair.original


class QDQQuantizer(BaseQuantizer):
    """See BaseQuantizer for the arguments and quantize_static for the options."""

    def __init__(self, model, per_channel, reduce_range, weight_qType, activation_qType, tensors_range,  # noqa: N803
                 nodes_to_quantize, nodes_to_exclude, op_types_to_quantize, extra_options=None):
        super().__init__(model, per_channel, reduce_range, weight_qType, activation_qType, tensors_range,
                         nodes_to_quantize, nodes_to_exclude, op_types_to_quantize, extra_options)
        options = self.extra_options
        self.op_types_to_exclude_output_quantization = options.get("OpTypesToExcludeOutputQuantization") or []
        self.add_qdq_pair_to_weight = options.get("AddQDQPairToWeight", False)
        self.quantize_bias = options.get("QuantizeBias", True)
        self.dedicated_qdq_pair = options.get("DedicatedQDQPair", False)
        self.qdq_op_type_per_channel_support_to_axis = options.get("QDQOpTypePerChannelSupportToAxis") or {}
        self.qdq_keep_removable_activations = options.get("QDQKeepRemovableActivations", False)
        self.qdq_disable_weight_adjust_for_int32_bias = options.get("QDQDisableWeightAdjustForInt32Bias", False)
        self.block_size = options.get("BlockSize", 0)
        self.qdq_op_domain = ms_domain if options.get("UseQDQContribOps", False) else ""
        self._choose_domain()
        self.tensors_to_quantize = {}  # name: QDQTensorQuantInfo, in the order in which rules marked them
        self.bias_to_quantize = {}  # name: QDQBiasQuantInfo
        self.tensor_to_its_receiving_nodes = {}  # nodes that are quantized, by the names that they read
        self.nodes_to_remove = []  # what rules no longer need
        self.tensor_to_producing_dq = {}  # of values that the model itself dequantizes
        self.quantization_params = self.calc_graph_quant_params()
        self.initializer_quant_params = {}

    def _choose_domain(self):
        kinds = {self.activation_qType, self.weight_qType,
                 *(kind.tensor_type for kind in self.tensor_quant_override_qtypes)}
        if self.opset_version < 21 and not self.qdq_op_domain and kinds.intersection(_OPSET_21_TYPES):
            logging.warning("opset %d quantizes to 8 bits only: QuantizeLinear and DequantizeLinear are those of "
                            "com.microsoft", self.opset_version)
            self.qdq_op_domain = ms_domain

    def calc_quant_params(self, tensor_data: TensorData, quant_overrides: dict[str, Any]) -> QuantizationParams:
        """Of a tensor whose range is known; `quant_overrides` is its entry of TensorQuantOverrides."""
        return self.activation_params(tensor_data, quant_overrides)

    def calc_graph_quant_params(self) -> dict[str, QDQTensorQuantParams]:
        """The QDQTensorQuantParams of each tensor whose range is known, by name."""
        if self.tensors_range is None:
            return {}
        self.adjust_tensor_ranges()
        params = {}
        for name in self.tensors_range:
            overrides = self.tensor_quant_overrides.get_per_tensor_overrides(name, {}) or {}
            params[name] = QDQTensorQuantParams(self.calc_quant_params(self.tensors_range[name], overrides), None, None)
            if "convert" in overrides:
                params[name].converted = self.calc_quant_params(self.tensors_range[name], overrides["convert"])
                params[name].converted_recv_nodes = overrides["convert"].get("recv_nodes")
        return params

    def _is_tensor_quantizable(self, tensor_name):
        known = self.graph.type_of(tensor_name)
        if known is None:
            logging.warning("tensor '%s' is not quantized: its element type does not follow from the model",
                            tensor_name)
        return known is not None and known.dtype in QUANTIZABLE

    # What the rules call.

    def quantize_activation_tensor(self, tensor_name: str):
        """Marks a tensor; an initializer among them gets the type of activations."""
        self._mark(tensor_name, QDQTensorQuantInfo())

    def quantize_weight_tensor(self, tensor_name: str):
        self._mark(tensor_name, QDQTensorQuantInfo(QDQQuantTensorType.WEIGHT))

    def quantize_output_same_as_input(self, output_name: str, input_name: str, node):
        """Marks an output of a node that gets the scale and zero point of one of its inputs. `node`, or its name."""
        if self._is_tensor_quantizable(output_name):
            provider = QDQQuantParamProvider(input_name, getattr(node, "name", node))
            self.tensors_to_quantize[output_name] = QDQTensorQuantInfo(quant_para_provider=provider)

    def quantize_weight_tensor_per_channel(self, tensor_name, axis):
        known = self.graph.initializers.get(tensor_name)
        if known is None:
            logging.warning("tensor '%s' is not quantized: only weights have channels", tensor_name)
        elif known.type.dtype in QUANTIZABLE:
            self.tensors_to_quantize[tensor_name] = QDQTensorQuantInfo(QDQQuantTensorType.WEIGHT, axis=axis)

    def quantize_weight_of(self, tensor_name, default_axis, op_type=None):
        """Marks a weight, per channel if the caller says so."""
        is_per_channel, axis = self.is_tensor_per_channel(tensor_name, default_axis, op_type)
        if is_per_channel:
            self.quantize_weight_tensor_per_channel(tensor_name, axis)
        else:
            self.quantize_weight_tensor(tensor_name)

    def quantize_bias_tensor(self, node, bias_name, input_name, weight_name, beta=1.0):
        """Marks a bias, which becomes beta * bias as int32 with the scale of the products. A bias of several nodes is
        copied, as each needs a scale of its own. With an entry in TensorQuantOverrides it is a weight like others;
        returns whether beta is part of it."""
        if self.tensor_quant_overrides.get(bias_name):
            self.quantize_weight_of(bias_name, default_axis=0)
            return False
        known = self.graph.initializers.get(bias_name)
        if known is None or known.type.dtype not in QUANTIZABLE:
            logging.warning("bias '%s' of %r is not quantized: it is no initializer of floats", bias_name, node)
            return False
        if not self.quantize_bias or self.block_size > 0:  # weights in blocks have no scale for it
            return False
        if bias_name in self.bias_to_quantize:
            copy = self._free_initializer_name(bias_name)
            self.graph.set_initializer(copy, self.graph.tensor(bias_name))
            node.set_input(node.inputs.index(bias_name), copy)
            bias_name = copy
        self.bias_to_quantize[bias_name] = QDQBiasQuantInfo(node.name, input_name, weight_name, beta)
        return True

    def _free_initializer_name(self, prefix):
        numbers = [int(name[len(prefix):]) for name in self.graph.initializers
                   if name.startswith(prefix) and name[len(prefix):].isdecimal()]
        return self.graph.unique_name(f"{prefix}{max(numbers, default=-1) + 1}")

    def is_tensor_quantized(self, tensor_name: str):
        """Whether a rule marked it."""
        return tensor_name in self.tensors_to_quantize or tensor_name in self.bias_to_quantize

    def is_tensor_per_channel(self, tensor_name: str, default_axis: int,
                              op_type: str | None = None) -> tuple[bool, int | None]:
        """(whether a weight is quantized per channel, along which axis): TensorQuantOverrides decides before
        QDQOpTypePerChannelSupportToAxis for `op_type`, and that before `default_axis`."""
        known = self.graph.initializers.get(tensor_name)
        if known is None or self.tensor_quant_overrides.has_per_tensor_overrides(tensor_name):
            return False, None
        has_entries = self.tensor_quant_overrides.has_per_channel_overrides(tensor_name)
        if not self.per_channel and not has_entries:
            return False, None
        axis = self.qdq_op_type_per_channel_support_to_axis.get(op_type, default_axis) if op_type else default_axis
        if has_entries:
            axis = self.tensor_quant_overrides[tensor_name][0]["axis"]
        is_valid, axis = normalize_axis(axis, len(known.type.shape))
        if not is_valid:
            logging.warning("weight '%s' of rank %d has no axis %d: it is quantized as a whole", tensor_name,
                            len(known.type.shape), axis)
            return False, None
        return True, axis

    def try_replacing_upstream_output(self, node):
        """Removes an activation whose input was given its output's range, so that clipping to the range does its work.
        Returns whether it could."""
        source, output = node.inputs[0], node.outputs[0]
        params, producer = self.quantization_params, self.graph.producer(source)
        if output not in params or source not in params or producer is None or self.readings(source) != 1:
            return False
        if params[output].converted is not None or params[source].converted is not None:
            return False
        if source in self.graph.outputs or self.graph.is_read_by_bodies(source):
            return False
        self.graph.remove_node(node)
        producer.set_output(producer.outputs.index(source), output)
        self.tensors_to_quantize.pop(source, None)
        return True

    def remove_node(self, node):
        """A node that is not in the result: it goes when all tensors are done, or when remove_nodes() is called."""
        self.nodes_to_remove.append(node)

    def remove_nodes(self):
        for node in self.nodes_to_remove:
            self.graph.remove_node(node)
        self.nodes_to_remove = []

    def _mark(self, tensor_name, info):
        if tensor_name not in self.tensors_to_quantize and self._is_tensor_quantizable(tensor_name):
            self.tensors_to_quantize[tensor_name] = info

    # The steps.

    def change_model(self):
        for node in self.graph.nodes:
            if self.should_quantize_node(node):
                CreateQDQQuantizer(self, node).quantize()
                for name in node.inputs:
                    self.tensor_to_its_receiving_nodes.setdefault(name, []).append(node)
            if node.op_type == DEQUANT_OP_NAME:
                self.tensor_to_producing_dq.update(dict.fromkeys(node.outputs, node))
        self._quantize_shared_weights_as_a_whole()
        self.initializer_quant_params = self._params_of_initializers()
        if not self.qdq_disable_weight_adjust_for_int32_bias:
            self._enlarge_scales_for_biases()
        QDQNodes(self).add_all()
        self.remove_nodes()
        if not self.add_qdq_pair_to_weight:
            for graph in reversed([graph for graph in self.changed.graphs if graph is not None]):
                graph.remove_unused_initializers()
        self.finish()

    def _quantize_shared_weights_as_a_whole(self):
        """Of tied embeddings: what Gather takes out of a table has the table's scale, and other shapes than its
        channels."""
        for info in list(self.tensors_to_quantize.values()):
            table = self.tensors_to_quantize.get(info.quant_para_provider.input_name) if info.is_shared else None
            if table is not None and table.axis is not None:
                table.axis = None

    def _params_of_initializers(self):
        return {name: self._params_of_initializer(name, info) for name, info in self.tensors_to_quantize.items()
                if name in self.graph.initializers}

    def _params_of_initializer(self, name, info):
        data, entries = self.graph.tensor(name), self.tensor_quant_overrides.get(name) or [{}]
        is_weight, first = info.tensor_type is QDQQuantTensorType.WEIGHT, entries[0]
        kind = self.weight_qType if is_weight else self.activation_qType
        if "quant_type" in first:
            kind = first["quant_type"].tensor_type
        axis = first.get("axis", info.axis)
        axis = None if axis is None else checked_axis(name, axis, data.ndim)
        if "scale" in first and "zero_point" in first:
            per_channel = first if axis is None else {key: [entry[key] for entry in entries]
                                                      for key in ("scale", "zero_point")}
            return QuantizationParams(
                zero_point=np.asarray(per_channel["zero_point"]).astype(ONNX_TYPE_TO_NP_TYPE[kind]),
                scale=np.asarray(per_channel["scale"], data.dtype), quant_type=kind, axis=axis)
        # Operators on integers have one zero point for all channels, which symmetric ranges give.
        symmetric = axis is not None or (self.is_weight_symmetric(kind) if is_weight else self.is_activation_symmetric)
        symmetric = first.get("symmetric", symmetric)
        reduce_range = first.get("reduce_range", self.reduce_range)
        if is_weight and self.block_size > 0:
            axis = checked_axis(name, 0 if axis is None else axis, data.ndim)
            zero_point, scale = compute_scale_zp_blocked(data, kind, axis, self.block_size, symmetric)
            return QuantizationParams(zero_point=zero_point, scale=scale, quant_type=kind, axis=axis,
                                      block_size=self.block_size)
        if axis is not None:
            zero_point, scale = self.channel_params(data, kind, axis, symmetric, reduce_range, entries)
        else:
            zero_point, scale = compute_data_quant_params(
                data.reshape(-1), kind, symmetric, reduce_range=reduce_range, min_real_range=self.min_real_range,
                rmin_override=first.get("rmin"), rmax_override=first.get("rmax"))
        return QuantizationParams(zero_point=zero_point, scale=scale, quant_type=kind, axis=axis)

    def _enlarge_scales_for_biases(self):
        """Of symmetric weights whose bias would not fit into int32."""
        for bias, info in self.bias_to_quantize.items():
            weight = self.initializer_quant_params.get(info.weight_name)
            known = self.quantization_params.get(info.input_name)
            if weight is None or known is None or info.input_name not in self.tensors_to_quantize:
                continue
            if weight["quant_type"] not in (INT8, INT16) or weight["zero_point"].any() or weight.get("block_size"):
                continue
            enlarged = self.enlarged_scale(
                self.graph.tensor(bias) * info.beta, known.get_for_consumer(info.node_name)["scale"], weight["scale"],
                f"weight '{info.weight_name}', bias '{bias}'")
            if enlarged is not None:
                weight["scale"] = enlarged
