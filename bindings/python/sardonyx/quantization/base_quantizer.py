"""What the quantizers of both formats share: the model that is changed, what callers chose, and the weights."""
import logging

import numpy as np

from sardonyx.model import Model
from sardonyx.quantization.calibration_data import TensorData

# ONNX Runtime's module of this name has these, too, so programs may import them from here.
from sardonyx.quantization.onnx_model import (
    ChangedModel,
    ONNXModel,  # noqa: F401
)
from sardonyx.quantization.quant_math import (
    compute_data_quant_params,
    compute_scale_zp,
    normalize_axis,
    scale_zp_of_spread,
    snap_zero_point_to_uint8,
)
from sardonyx.quantization.quant_types import (
    DEQUANT_OP_NAME,
    FLOAT8E4M3FN,
    INT4,
    INT8,
    INT16,
    ONNX_TYPE_TO_NP_TYPE,
    QUANT_OP_NAME,
    TENSOR_NAME_QUANT_SUFFIX,
    UINT8,
    get_qmin_qmax_for_qType,
    ms_domain,
)
from sardonyx.quantization.quant_utils import (  # noqa: F401
    find_by_name,
    get_opset_version,
    model_has_infer_metadata,
    pack_bytes_to_4bit,
    quantize_data,
    quantize_nparray,
    save_and_reload_model_with_shape_infer,
    tensor_proto_to_array,
)
from sardonyx.quantization.tensor_quant_overrides import TensorQuantOverridesHelper

QUANTIZABLE = ("float", "float16")  # the element types of tensors that are quantized
_PRODUCER, _VERSION = "sardonyx.quantization", "1.31.1"
_INT32 = np.iinfo(np.int32)


class QuantizationParams:
    """Scale, zero point and type of a tensor, with the axis of channels or blocks where there is one."""

    def __init__(self, **data):
        self.data = {}
        for key, value in data.items():
            self[key] = value

    def get(self, key, default_value=None):
        return self.data.get(key, default_value)

    def __iter__(self):
        yield from self.data

    def __getitem__(self, key):
        return self.data[key]

    def __setitem__(self, key, value):
        if key == "axis":
            if value is not None and not isinstance(value, int):
                raise TypeError(f"axis: expected a number or None, found '{type(value).__name__}'")
        elif not isinstance(value, (int, str, np.ndarray, float)):
            raise TypeError(f"{key}: expected an array, a number or a text, found '{type(value).__name__}'")
        if key == "scale" and getattr(value, "dtype", None) not in (np.float32, np.float16):
            raise ValueError(f"scale: expected float32 or float16, found {getattr(value, 'dtype', type(value))}")
        self.data[key] = value

    def __len__(self):
        return len(self.data)


class BaseQuantizer:
    """A model and how it is to be quantized. `model`: an onnx.ModelProto, bytes, a path, or a sardonyx.model.Model,
    which is changed: a copy of it would have to fit into 2 GB. `tensors_range`: the TensorData of activations by name,
    None where they are measured in each run.

    Lists of nodes hold names; an empty `nodes_to_quantize` means all. `extra_options` are those of quantize_static."""

    def __init__(self, model, per_channel, reduce_range, weight_qType, activation_qType, tensors_range,  # noqa: N803
                 nodes_to_quantize, nodes_to_exclude, op_types_to_quantize, extra_options=None):
        self.changed, self._model = model if isinstance(model, Model) else Model(model), None
        # What follows from operators of other domains alone stays as it is, unless quant_pre_process wrote its types.
        self.changed.infer_types(standard_only=True)
        self.graph, self._added = self.changed.graph, {}
        self.graph.fix_defaults()
        self.opset_version = self.changed.opsets.get("", self.changed.opsets.get("ai.onnx", 1))
        self.per_channel, self.reduce_range = per_channel, reduce_range
        options = self.extra_options = extra_options or {}
        self.enable_subgraph_quantization = bool(options.get("EnableSubgraph", False))
        self.force_quantize_no_input_check = bool(options.get("ForceQuantizeNoInputCheck", False))
        self._is_weight_symmetric = options.get("WeightSymmetric")
        self.is_activation_symmetric = options.get("ActivationSymmetric", False)
        self.is_activation_restricted_asymmetric = options.get("ActivationRestrictedAsymmetric", False)
        self.min_real_range = options.get("MinimumRealRange")
        self.activation_qType = getattr(activation_qType, "tensor_type", activation_qType)
        self.weight_qType = getattr(weight_qType, "tensor_type", weight_qType)
        self.parent = None
        for name, data in (tensors_range or {}).items():
            if not isinstance(data, TensorData):
                raise TypeError(f"range of '{name}': expected TensorData, found '{type(data).__name__}'")
        self.tensors_range = tensors_range
        self.nodes_to_quantize, self.nodes_to_exclude = nodes_to_quantize, nodes_to_exclude
        self.op_types_to_quantize = op_types_to_quantize
        self.tensor_quant_overrides = TensorQuantOverridesHelper(options.get("TensorQuantOverrides") or {})
        self._check_overrides(activation_qType)

    def _check_overrides(self, activation_type):
        weights = {name: known.type.shape for name, known in self.graph.initializers.items()}
        values = {*self.graph.inputs, *(name for node in self.graph.nodes for name in node.outputs)}
        is_valid, fault = self.tensor_quant_overrides.is_valid(weights, values, activation_type)
        if not is_valid:
            raise ValueError(fault)
        self.tensor_quant_override_qtypes = self.tensor_quant_overrides.get_quant_types()

    @property
    def model(self):
        """The ONNXModel of what is quantized, to be taken when that is done."""
        if self._model is None:
            self._model = ChangedModel(self.changed)
        return self._model

    def quantize_model(self):
        """Quantizes and returns an onnx.ModelProto."""
        self.change_model()
        self._model = None
        return self.model.model

    def change_model(self):
        """Quantizes `changed`."""
        raise NotImplementedError

    def finish(self):
        """What is written of the tool and of the operators' domain."""
        self.changed.set_producer(_PRODUCER, _VERSION)
        if ms_domain not in self.changed.opsets and any(node.domain == ms_domain for graph in self.changed.graphs
                                                        if graph is not None for node in graph.nodes):
            self.changed.set_opset(ms_domain, 1)

    def is_weight_symmetric(self, weight_quant_type) -> bool:
        """What the caller says; if nothing, weights of signed types are."""
        if self._is_weight_symmetric is not None:
            return self._is_weight_symmetric
        return weight_quant_type in (INT4, INT8, INT16, FLOAT8E4M3FN)

    def is_input_a_initializer(self, input_name):
        return input_name in self.graph.initializers

    def is_per_channel(self):
        return self.per_channel

    def is_valid_quantize_weight(self, weight_name):
        """Whether it is an initializer of floats, in this graph or, if bodies are quantized, in one around it."""
        if weight_name in self.graph.initializers:
            return self.graph.initializers[weight_name].type.dtype in QUANTIZABLE
        return self.parent is not None and self.parent.is_valid_quantize_weight(weight_name)

    def should_quantize_node(self, node):
        if self.nodes_to_quantize and node.name not in self.nodes_to_quantize:
            return False
        if node.op_type not in self.op_types_to_quantize or node.op_type in (DEQUANT_OP_NAME, QUANT_OP_NAME):
            return False
        return not (self.nodes_to_exclude and node.name in self.nodes_to_exclude)

    def add_scale_and_zero_point(self, scale_name, scale, zero_point_name, zero_point, quant_type):
        """As initializers, unless this quantizer has added some of these names: the first decide. Returns their names,
        which differ where the model has others so called."""
        zero_point = np.asarray(zero_point).astype(ONNX_TYPE_TO_NP_TYPE[quant_type])
        for name, array in ((scale_name, np.asarray(scale)), (zero_point_name, zero_point)):
            if (self.graph.number, name) not in self._added:
                free = self._added[self.graph.number, name] = self.graph.unique_name(name)
                self.graph.set_initializer(free, array, as_numbers=True)
        return tuple(self._added[self.graph.number, name] for name in (scale_name, zero_point_name))

    def add_quantized_bias(self, bias_name, input_scale, weight_scale, beta=1.0):
        """Adds a bias times `beta` as int32 of the scale input_scale * weight_scale, which the products have, too; for
        float8 as floats, which are cast. Returns the names of it, its scale and its zero point, and the scale."""
        graph, bias = self.graph, self.graph.tensor(bias_name)
        if beta != 1.0:
            bias = (bias * beta).astype(bias.dtype)
        name = graph.unique_name(bias_name + TENSOR_NAME_QUANT_SUFFIX)
        if self.weight_qType == FLOAT8E4M3FN:
            quantized, scale = bias.astype(np.float32), np.ones(1, np.float32)
            zero_point = np.zeros(1, ONNX_TYPE_TO_NP_TYPE[FLOAT8E4M3FN])
        else:
            exact = np.asarray(input_scale * weight_scale)
            bias, exact = _by_channels(bias, exact)
            numbers = np.round(bias.astype(np.float64) / exact.astype(np.float64))
            if np.any(numbers < _INT32.min) or np.any(numbers > _INT32.max):
                logging.warning("bias '%s' does not fit into int32: its scale is too small", bias_name)
            quantized = np.clip(numbers, _INT32.min, _INT32.max).astype(np.int32).reshape(bias.shape)
            scale = exact.astype(np.promote_types(bias.dtype, exact.dtype)).reshape(-1)
            zero_point = np.zeros(scale.shape if scale.size > 1 else (), np.int32)
        scale_name, zero_point_name = graph.unique_name(f"{name}_scale"), graph.unique_name(f"{name}_zero_point")
        for key, array in ((name, quantized), (scale_name, scale), (zero_point_name, zero_point)):
            graph.set_initializer(key, array, as_numbers=key == zero_point_name and array.size == 1)
        return name, scale_name, zero_point_name, scale

    def channel_params(self, data, quant_type, axis, symmetric, reduce_range, overrides):
        """(zero points, scales) of the channels of an array along `axis`. `overrides`: one entry, or one a channel."""
        lines = np.moveaxis(data, axis, 0).reshape(data.shape[axis], -1)
        zero_points, scales = [], []
        for channel, line in enumerate(lines):
            entry = overrides[channel] if channel < len(overrides) else {}
            zero_point, scale = compute_data_quant_params(
                line, quant_type, symmetric, reduce_range=reduce_range, min_real_range=self.min_real_range,
                rmin_override=entry.get("rmin"), rmax_override=entry.get("rmax"))
            zero_points.append(zero_point)
            scales.append(scale)
        return np.asarray(zero_points), np.asarray(scales)

    def activation_params(self, data: TensorData, overrides) -> QuantizationParams:
        """Of a tensor whose range is known; `overrides` is its entry of TensorQuantOverrides."""
        quant_type = self.activation_qType
        if "quant_type" in overrides:
            quant_type = overrides["quant_type"].tensor_type
        if "scale" in overrides and "zero_point" in overrides:
            zero_point, scale = overrides["zero_point"], overrides["scale"]
        elif quant_type == FLOAT8E4M3FN:
            zero_point, scale = scale_zp_of_spread(quant_type, *data.avg_std)
        else:
            lowest, highest = (np.asarray(overrides.get(key, bound)).reshape(())
                               for key, bound in zip(("rmin", "rmax"), data.range_value, strict=True))
            symmetric = overrides.get("symmetric", self.is_activation_symmetric)
            qmin, qmax = get_qmin_qmax_for_qType(quant_type, overrides.get("reduce_range", False), symmetric)
            if self.is_activation_restricted_asymmetric and quant_type == UINT8 and not symmetric:
                zero_point, scale = snap_zero_point_to_uint8(lowest, highest, qmin=int(qmin), qmax=int(qmax),
                                                             min_real_range=self.min_real_range)
            else:
                zero_point, scale = compute_scale_zp(lowest, highest, qmin, qmax, symmetric, self.min_real_range)
        scale = np.asarray(scale)
        if scale.dtype not in (np.float32, np.float16):
            scale = scale.astype(np.float32)
        return QuantizationParams(zero_point=np.asarray(zero_point).squeeze(), scale=scale.squeeze(),
                                  quant_type=quant_type)

    def enlarged_scale(self, bias, input_scale, weight_scale, what):
        """The weight's scale (of the whole or of each channel), enlarged where the bias would not fit into int32 with
        the product of the scales; None if it fits everywhere."""
        largest = np.abs(bias.astype(np.float64))
        if weight_scale.size == 1 or largest.ndim == 0 or largest.shape[-1] % weight_scale.size:
            largest = largest.max() if largest.size else np.float64(0)
        else:  # of each channel in all rows and groups
            largest = largest.reshape(-1, weight_scale.size).max(0)
        needed = 1.0001 * (2.0 * largest) / (float(_INT32.max) - float(_INT32.min + 1))
        found = np.float64(np.asarray(input_scale).item()) * weight_scale.astype(np.float64)
        too_small = (found < needed) & (found > 0)
        if not np.any(too_small):
            return None
        logging.info("%s: the scale of the weight grows so that the bias fits into int32", what)
        ratio = np.where(too_small, needed / np.where(too_small, found, 1.0), 1.0)
        return np.asarray(weight_scale.astype(np.float64) * ratio, weight_scale.dtype).reshape(weight_scale.shape)

    def adjust_tensor_ranges(self):
        """Ranges that follow from operators: what goes into Clip and Relu needs no more than what comes out, and
        Softmax gives 0 to 1."""
        for node in self.graph.nodes if self.tensors_range is not None else ():
            if node.op_type not in ("Clip", "Relu", "Softmax") or not self.should_quantize_node(node):
                continue
            source, result = node.inputs[0], node.outputs[0]
            if node.op_type == "Softmax":
                known = self.graph.type_of(result)
                dtype = np.float16 if known is not None and known.dtype == "float16" else np.float32
                found = vars(self.tensors_range[result]) if result in self.tensors_range else {}
                spread = {key: found[key] for key in ("avg", "std") if key in found}
                self.tensors_range[result] = TensorData(lowest=dtype(0.0), highest=dtype(1.0), **spread)
            elif (self.readings(source) == 1 and source in self.tensors_range and result in self.tensors_range
                  and source not in self.graph.outputs and not self.graph.is_read_by_bodies(source)):
                self.tensors_range[source] = self.tensors_range[result]

    def readings(self, name):
        """How often nodes of this graph read a value."""
        return sum(node.inputs.count(name) for node in self.graph.consumers(name))


def _by_channels(bias, scale):
    """(a bias, the scales of its last axis) where the scales are those of channels. The groups of a ConvTranspose share
    the channels of its weight; a Gemm's bias may be one number for all channels."""
    if scale.size == 1:
        return bias, scale
    if bias.ndim == 0 or bias.shape[-1] == 1:
        return np.broadcast_to(bias, (*bias.shape[:-1], scale.size)), scale
    return bias, np.tile(scale, bias.shape[-1] // scale.size)


def checked_axis(name, axis, rank):
    is_valid, axis = normalize_axis(axis, rank)
    if not is_valid:
        raise ValueError(f"weight '{name}': expected an axis of a tensor of rank {rank}, found {axis}")
    return axis
