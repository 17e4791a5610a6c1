"""The quantizer that replaces nodes by operators on integers: with ranges that are measured in each run (MatMulInteger,
ConvInteger, DynamicQuantizeLSTM ...), or with ranges that are known (QLinearConv, QLinearMatMul, QGemm ...)."""
import copy
import logging

import numpy as np

# ONNX Runtime's module of this name has these, too, so programs may import them from here.
from sardonyx.quantization.base_quantizer import (
    QUANTIZABLE,
    BaseQuantizer,
    QuantizationParams,  # noqa: F401
    checked_axis,
)
from sardonyx.quantization.calibrate import TensorData
from sardonyx.quantization.dynamic_ranges import add_measured_quantization
from sardonyx.quantization.gemm_to_matmul import replace_gemm_with_matmul
from sardonyx.quantization.onnx_model import ONNXModel  # noqa: F401
from sardonyx.quantization.quant_math import compute_data_quant_params
from sardonyx.quantization.quant_types import (
    ELEMENT_NUMBERS,
    FLOAT,
    FLOAT16,
    INT8,
    TENSOR_NAME_QUANT_SUFFIX,
    QuantizationMode,
    QuantizedValueType,
)
from sardonyx.quantization.quant_utils import (  # noqa: F401
    QuantizedValue,
    __version__,
    add_infer_metadata,
    attribute_to_kwarg,
    compute_scale_zp,
    compute_scale_zp_float8,
    find_by_name,
    get_qmin_qmax_for_qType,
    get_qrange_for_qType,
    ms_domain,
    quantize_onnx_initializer,
    quantize_weight_array,
    save_and_reload_model_with_shape_infer,
    snap_zero_point_to_uint8,
    tensor_proto_to_array,
)
from sardonyx.quantization.registry import CreateOpQuantizer


def _widened(data):
    """A range of half precision as floats, so that its scale is one."""
    if not hasattr(data, "lowest") or np.asarray(data.lowest).dtype != np.float16:
        return data
    spread = {key: np.float32(getattr(data, key)) for key in ("avg", "std") if hasattr(data, key)}
    return TensorData(lowest=np.float32(data.lowest), highest=np.float32(data.highest), **spread)


class ONNXQuantizer(BaseQuantizer):
    """`mode`: IntegerOps or QLinearOps. `static`: ranges of activations are known, from `tensors_range`."""

    def __init__(self, model, per_channel, reduce_range, mode, static, weight_qType, activation_qType,  # noqa: N803
                 tensors_range, nodes_to_quantize, nodes_to_exclude, op_types_to_quantize, extra_options=None):
        super().__init__(model, per_channel, reduce_range, weight_qType, activation_qType, tensors_range,
                         nodes_to_quantize, nodes_to_exclude, op_types_to_quantize, extra_options)
        if not isinstance(mode, QuantizationMode):
            raise ValueError(f"expected a QuantizationMode, found {mode!r}")
        self.mode, self.static = mode, static
        if not static:
            replace_gemm_with_matmul(self.changed)
            self.changed.infer_types()
            self.graph = self.changed.graph
        self.fuse_dynamic_quant = self.opset_version > 10
        self.q_matmul_const_b_only = bool(self.extra_options.get("MatMulConstBOnly"))
        self.quantization_params = self.calculate_quantization_params()
        self.quantized_value_map = {}

    def calculate_quantization_params(self):
        """The QuantizationParams of each tensor whose range is known, by name."""
        if self.tensors_range is None:
            return {}
        self.adjust_tensor_ranges()
        return {name: self.activation_params(_widened(self.tensors_range[name]),
                                             self.tensor_quant_overrides.get_per_tensor_overrides(name, {}))
                for name in self.tensors_range}

    def _as_float_scale(self, scale):
        """Operators with known ranges take scales of float32 only, also in models of half precision."""
        return np.asarray(scale, np.float32 if self.static and scale.dtype == np.float16 else scale.dtype)

    def is_half(self, name):
        """Whether a value with a known range is of half precision; calibration knows it behind operators of other
        domains, too."""
        if not self.static:
            return False
        known = self.graph.type_of(name)
        if known is not None and known.dtype != "undefined":
            return known.dtype == "float16"
        if name not in self.tensors_range:
            return False
        return np.asarray(getattr(self.tensors_range[name], "lowest", None)).dtype == np.float16

    def has_QDQ_nodes(self):  # noqa: N802
        return any(node.op_type in ("QuantizeLinear", "DequantizeLinear") for node in self.graph.nodes)

    def change_model(self):
        if self.has_QDQ_nodes():
            logging.warning("the model has nodes that quantize already: models from training with quantization run as "
                            "they are")
        self._change_graph()
        for graph in reversed([graph for graph in self.changed.graphs if graph is not None]):
            graph.remove_unused_initializers()
        self.finish()

    def _change_graph(self):
        for node in self.graph.nodes:
            if self.enable_subgraph_quantization:
                for body in self._bodies_of(node):
                    self._for_body(body)._change_graph()
            CreateOpQuantizer(self, node).quantize()
        for name in list(self.quantized_value_map):
            if name not in self.graph.initializers and (name in self.graph.outputs or
                                                        self.graph.is_read_by_bodies(name)):
                self.restore(name)

    def _bodies_of(self, node):
        return [graph for graph in self.changed.graphs if graph is not None and graph.parent == self.graph.number and
                graph.parent_node == node.id]

    def _for_body(self, graph):
        """The same quantizer for a body: it finds what is quantized around it."""
        inner = copy.copy(self)
        inner.graph, inner.parent, inner.quantized_value_map = graph, self, {}
        return inner

    def find_initializer_in_path(self, initializer_name):
        """Whether a name is an initializer of this graph or of one around it."""
        if initializer_name in self.graph.initializers:
            return True
        return self.parent is not None and self.parent.find_initializer_in_path(initializer_name)

    def contains_tensor(self, tensor_name):
        """Whether it is a value of this graph, other than an initializer."""
        return (tensor_name in self.graph.inputs or self.graph.producer(tensor_name) is not None or
                tensor_name in self.quantized_value_map)

    def get_tensor_type(self, tensor_name, mandatory=False):
        """The number of a tensor's element type (TensorProto.DataType). Where it does not follow from the model: that
        of the option DefaultTensorType, or an error, if it is `mandatory`; otherwise None."""
        known = self.graph.type_of(tensor_name)
        if known is None and self.parent is not None:
            return self.parent.get_tensor_type(tensor_name, mandatory)
        number = None if known is None else ELEMENT_NUMBERS.get(known.dtype)
        if number is not None or not mandatory:
            return number
        if "DefaultTensorType" in self.extra_options:
            return self.extra_options["DefaultTensorType"]
        raise RuntimeError(f"tensor '{tensor_name}': its element type does not follow from the model; the extra option "
                           "'DefaultTensorType' (say, onnx.TensorProto.FLOAT) stands for those that are not known")

    def is_float_tensor(self, tensor_name):
        if self.is_input_a_initializer(tensor_name):
            return self.is_valid_quantize_weight(tensor_name)
        known = self.graph.type_of(tensor_name)
        if known is not None:
            return known.dtype in QUANTIZABLE
        if self.parent is not None:
            return self.parent.is_float_tensor(tensor_name)
        if self.extra_options.get("DefaultTensorType") is not None:
            return self.extra_options["DefaultTensorType"] == FLOAT
        logging.warning("tensor '%s' is not quantized: its element type does not follow from the model", tensor_name)
        return False

    def find_quantized_value(self, input_name):
        """The QuantizedValue of a tensor, here or in a graph around; None if it is not quantized."""
        if input_name in self.quantized_value_map:
            return self.quantized_value_map[input_name]
        return None if self.parent is None else self.parent.find_quantized_value(input_name)

    def output_params(self, name, scale=None, zero_point=None):
        """(name of the scale, name of the zero point) of a node's output, as initializers; None if its range is not
        known. `scale` and `zero_point` stand for what the range says."""
        params = self.quantization_params.get(name)
        if params is None:
            return None
        if scale is None:
            scale, zero_point, kind = params["scale"], params["zero_point"], params["quant_type"]
        else:
            scale, kind = np.asarray(scale, params["scale"].dtype), self.activation_qType
        return self.add_scale_and_zero_point(f"{name}_scale", np.asarray(scale).reshape(()), f"{name}_zero_point",
                                             np.asarray(zero_point).reshape(()), kind)

    def quantize_activation(self, node, indices):
        """The QuantizedValue of each of these inputs of a node, quantized where they are not yet; None if the range of
        one is not known."""
        return self._quantize_inputs(node, indices, self.activation_qType)

    def quantize_weight(self, node, indices, reduce_range=False, op_level_per_channel=False, axis=-1):
        """The same of inputs of which those that are initializers get the type of weights; per channel along `axis` if
        the operator (`op_level_per_channel`) and the caller allow it."""
        return self._quantize_inputs(node, indices, self.weight_qType, reduce_range,
                                     axis if self.per_channel and op_level_per_channel else None)

    def _quantize_inputs(self, node, indices, kind, reduce_range=False, axis=None):
        names = [node.inputs[index] for index in indices]
        if self.static and any(name and not self._can_be_quantized(name) for name in names):
            return None
        return [self._quantize_input(name, kind, reduce_range, axis) for name in names]

    def _can_be_quantized(self, name):
        if self.find_quantized_value(name) is not None or self.find_initializer_in_path(name):
            return True
        return name in self.quantization_params

    def _quantize_input(self, name, kind, reduce_range, axis):
        if not name:
            return QuantizedValue("", "", "", "", QuantizedValueType.Input)
        if name in self.quantized_value_map:
            return self.quantized_value_map[name]
        if name in self.graph.initializers:
            # Products on integers take scales of the columns of a matrix, but none of a vector or of a stack.
            if axis is not None and len(self.graph.initializers[name].type.shape) == 2:
                return self.quantize_weight_per_channel(name, kind, axis, reduce_range)
            return self.quantize_initializer(name, kind, reduce_range)
        if self.contains_tensor(name) or self.parent is None:
            if not self.contains_tensor(name):
                raise ValueError(f"no node, input or initializer gives '{name}'")
            return self._quantize_value(name)
        return self.parent._quantize_input(name, kind, reduce_range, axis)

    def _quantize_value(self, name):
        """Adds the node that quantizes a value of this graph."""
        names = self.output_params(name)
        quantized = self.graph.unique_name(name + TENSOR_NAME_QUANT_SUFFIX)
        if names is not None:
            source = name
            if self.is_half(name):
                source = self.graph.unique_name(f"{name}_as_float")
                self.graph.add_node("Cast", [name], [source], f"{name}_to_float", attributes={"to": FLOAT})
            self.graph.add_node("QuantizeLinear", [source, *names], [quantized], f"{name}_QuantizeLinear")
        else:
            known = self.graph.type_of(name)
            element = QUANTIZABLE[0] if known is None else known.dtype
            names = add_measured_quantization(self.graph, name, quantized, element, self.activation_qType,
                                              self.fuse_dynamic_quant)
        return self.remember(name, quantized, *names, QuantizedValueType.Input)

    def remember(self, name, quantized, scale, zero_point, kind=QuantizedValueType.Input, axis=None):
        value = QuantizedValue(name, quantized, scale, zero_point, kind, axis)
        self.quantized_value_map[name] = value
        return value

    def quantize_initializer(self, weight, qType, reduce_range=False):  # noqa: N803
        """The QuantizedValue of an initializer (its name), quantized as a whole."""
        if weight in self.quantized_value_map:
            return self.quantized_value_map[weight]
        data = self.graph.tensor(weight)
        overrides = self.tensor_quant_overrides.get_per_tensor_overrides(weight, {})
        if "quant_type" in overrides:
            qType = overrides["quant_type"].tensor_type  # noqa: N806
        if "scale" in overrides and "zero_point" in overrides:
            zero_point, scale = np.asarray(overrides["zero_point"]), np.asarray(overrides["scale"], data.dtype)
        else:
            is_weight = qType == self.weight_qType
            symmetric = self.is_weight_symmetric(qType) if is_weight else self.is_activation_symmetric
            zero_point, scale = compute_data_quant_params(
                data.reshape(-1), qType, overrides.get("symmetric", symmetric),
                reduce_range=overrides.get("reduce_range", self.reduce_range and reduce_range),
                min_real_range=self.min_real_range, rmin_override=overrides.get("rmin"),
                rmax_override=overrides.get("rmax"))
        return self._add_weight(weight, data, qType, np.asarray(scale).reshape(()), np.asarray(zero_point).reshape(()))

    def quantize_weight_per_channel(self, weight_name, weight_qType, channel_axis, reduce_range=True):  # noqa: N803
        """The QuantizedValue of an initializer whose slices along an axis have scales of their own."""
        if weight_name in self.quantized_value_map:
            return self.quantized_value_map[weight_name]
        data = self.graph.tensor(weight_name)
        axis = checked_axis(weight_name, channel_axis, data.ndim)
        entries = self.tensor_quant_overrides.get_per_channel_overrides(weight_name, [{"axis": axis}])
        if checked_axis(weight_name, entries[0]["axis"], data.ndim) != axis:
            raise ValueError(f"TensorQuantOverrides of '{weight_name}': expected axis {axis}, found "
                             f"{entries[0]['axis']}")
        first = entries[0]
        kind = first["quant_type"].tensor_type if "quant_type" in first else weight_qType
        per_channel = entries if len(entries) > 1 else entries * data.shape[axis]
        if "scale" in first and "zero_point" in first:
            zero_point = np.asarray([entry["zero_point"] for entry in per_channel])
            scale = np.asarray([entry["scale"] for entry in per_channel], data.dtype)
        else:
            zero_point, scale = self.channel_params(
                data, kind, axis, first.get("symmetric", self.is_weight_symmetric(kind)),
                first.get("reduce_range", self.reduce_range and reduce_range), per_channel)
        return self._add_weight(weight_name, data, kind, scale, zero_point, axis)

    def _add_weight(self, name, data, kind, scale, zero_point, axis=None):
        quantized, scale = self.graph.unique_name(name + TENSOR_NAME_QUANT_SUFFIX), self._as_float_scale(scale)
        self.graph.set_initializer(quantized, quantize_weight_array(data, kind, zero_point, scale, axis))
        scale_name, zero_point_name = self.add_scale_and_zero_point(f"{name}_scale", scale, f"{name}_zero_point",
                                                                    zero_point, kind)
        return self.remember(name, quantized, scale_name, zero_point_name, QuantizedValueType.Initializer, axis)

    def quantize_bias_static(self, bias_name, input_name, weight_name, beta=1.0):
        """The name of beta * bias as int32, of the scale of input and weight. The scale of a symmetric int8 weight
        grows where the bias would not fit otherwise."""
        if bias_name in self.quantized_value_map:
            return self.quantized_value_map[bias_name].q_name
        weight, source = self.quantized_value_map[weight_name], self.quantized_value_map[input_name]
        weight_scale, input_scale = self.graph.tensor(weight.scale_name), self.graph.tensor(source.scale_name)
        if self.weight_qType == INT8 and not self.graph.tensor(weight.zp_name).any():
            enlarged = self.enlarged_scale(self.graph.tensor(bias_name) * beta, input_scale, weight_scale,
                                           f"weight '{weight_name}', bias '{bias_name}'")
            if enlarged is not None:
                weight_scale = enlarged
                self.graph.set_initializer(weight.scale_name, enlarged)
                self.graph.set_initializer(weight.q_name, quantize_weight_array(
                    self.graph.tensor(weight_name), self.weight_qType, self.graph.tensor(weight.zp_name), enlarged,
                    weight.axis))
        name, scale_name, zero_point_name, scale = self.add_quantized_bias(bias_name, input_scale, weight_scale, beta)
        self.remember(bias_name, name, scale_name, zero_point_name, QuantizedValueType.Initializer,
                      0 if scale.size > 1 else None)
        return name

    def restore(self, value_name):
        """Adds the DequantizeLinear that gives a value as floats again, if it is only there quantized."""
        value = self.quantized_value_map.get(value_name)
        if value is None or self.graph.producer(value_name) is not None:
            return
        is_half = self.is_half(value_name)
        if value_name in self.graph.initializers:
            self.graph.remove_initializer(value_name)
        elif value_name in self.graph.inputs:
            return
        result = self.graph.unique_name(f"{value_name}_as_float") if is_half else value_name
        self.graph.add_node("DequantizeLinear", [value.q_name, value.scale_name, value.zp_name], [result],
                            f"{value_name}_DequantizeLinear", attributes={"axis": value.axis})
        if is_half:
            self.graph.add_node("Cast", [result], [value_name], f"{value_name}_to_half", attributes={"to": FLOAT16})

    def replace(self, node, op_type, inputs, output, domain="", attributes=None, drop=()):
        """Puts a node on integers in the place of one: with its attributes but those in `drop`, and with `_quant`
        behind its name. `output` is what the new one makes."""
        output = self.graph.unique_name(output)
        made = self.graph.add_node(op_type, inputs, [output], f"{node.name}_quant" if node.name else "", domain,
                                   attributes, like=node)
        for name in drop:
            made.set_attribute(name, None)
        self.graph.remove_node(node)
        return made
