"""What every quantizer shares: types, formulas, names of tensors, and helpers for models as protos."""
import copy
import logging
import os
import pathlib
import tempfile

import ml_dtypes
import numpy as np

from sardonyx import GraphOptimizationLevel, InferenceSession, SessionOptions
from sardonyx.opset_conversion import convert_opset
from sardonyx.quantization.quant_math import (
    FLOAT8_DISTRIBUTIONS,
    _check_type,
    compute_data_quant_params,
    compute_scale_zp,
    compute_scale_zp_blocked,
    compute_scale_zp_float8,
    normalize_axis,
    pack_bytes_to_4bit,
    quantize_data,
    quantize_nparray,
    smooth_distribution,
    snap_zero_point_to_uint8,
)
from sardonyx.quantization.quant_types import (
    BFLOAT16,
    DEQUANT_OP_NAME,
    DEQUANT_OUTPUT_SUFFIX,
    ELEMENT_NUMBERS,
    FLOAT,
    FLOAT8_TYPES,
    FLOAT16,
    MODEL_SIZE_THRESHOLD,
    ONNX_INT_TYPE_RANGE,
    ONNX_INT_TYPE_REDUCED_RANGE,
    ONNX_INT_TYPE_SYMMETRIC_RANGE,
    ONNX_TYPE_TO_NP_TYPE,
    QUANT_INPUT_SUFFIX,
    QUANT_OP_NAME,
    TENSOR_NAME_QUANT_SUFFIX,
    QuantFormat,
    QuantizationMode,
    QuantizedValueType,
    QuantType,
    get_qmin_qmax_for_qType,
    get_qrange_for_qType,
    ms_domain,
    onnx_domain,
    type_to_name,
)

__producer__, __version__ = "onnx.quantize", "0.1.0"  # of ONNX Runtime's module
float8_e4m3fn, int4, uint4 = ml_dtypes.float8_e4m3fn, ml_dtypes.int4, ml_dtypes.uint4

__all__ = [
    "BiasToQuantize", "DEQUANT_OP_NAME", "DEQUANT_OUTPUT_SUFFIX", "FLOAT8_DISTRIBUTIONS", "FLOAT8_TYPES",
    "MODEL_SIZE_THRESHOLD", "ONNX_INT_TYPE_RANGE", "ONNX_INT_TYPE_REDUCED_RANGE", "ONNX_INT_TYPE_SYMMETRIC_RANGE",
    "ONNX_TYPE_TO_NP_TYPE", "QUANT_INPUT_SUFFIX", "QUANT_OP_NAME", "QuantFormat", "QuantType", "QuantizationMode",
    "QuantizedInitializer", "QuantizedValue", "QuantizedValueType", "TENSOR_NAME_QUANT_SUFFIX", "_check_type",
    "add_dequant_input_suffix", "add_dequant_output_suffix", "add_dequant_suffix", "add_infer_metadata",
    "add_pre_process_metadata", "add_quant_input_suffix", "add_quant_output_suffix", "add_quant_suffix", "apply_plot",
    "attribute_to_kwarg", "compute_data_quant_params", "compute_scale_zp", "compute_scale_zp_blocked",
    "compute_scale_zp_float8", "find_by_name", "float8_e4m3fn", "generate_identified_filename", "get_elem_index",
    "get_mul_node", "get_opset_version", "get_qmin_qmax_for_qType", "get_qrange_for_qType", "int4",
    "load_model_with_shape_infer", "model_has_external_data", "model_has_infer_metadata",
    "model_has_pre_process_metadata", "ms_domain", "normalize_axis", "onnx_domain", "optimize_model",
    "pack_bytes_to_4bit", "quantize_data", "quantize_nparray", "quantize_onnx_initializer",
    "save_and_reload_model_with_shape_infer", "smooth_distribution", "snap_zero_point_to_uint8",
    "tensor_proto_to_array", "type_to_name", "uint4", "update_opset_version", "write_calibration_table",
]

_METADATA = "onnxruntime.quant"
_INFERRED, _PREPROCESSED = "onnx.infer", "onnx.quant.pre_process"


class QuantizedInitializer:
    """A weight and what it was quantized with."""

    def __init__(self, name, initializer, rmins, rmaxs, zero_points, scales, data=[], quantized_data=[],  # noqa: B006
                 axis=None):
        self.name, self.initializer = name, initializer
        self.rmins, self.rmaxs = rmins, rmaxs
        self.zero_points, self.scales = zero_points, scales
        self.data, self.quantized_data = data, quantized_data
        self.axis = axis


class QuantizedValue:
    """The names of what stands for a value in the quantized graph."""

    def __init__(self, name, new_quantized_name, scale_name, zero_point_name, quantized_value_type, axis=None,
                 node_type=None, node_qtype=None, scale_type=None):
        self.original_name, self.q_name = name, new_quantized_name
        self.scale_name, self.zp_name = scale_name, zero_point_name
        self.value_type = quantized_value_type
        self.axis = axis
        self.node_type, self.node_qtype, self.scale_type = node_type, node_qtype, scale_type


class BiasToQuantize:
    """A bias, and the input and weight whose scales give its own."""

    def __init__(self, bias_name, input_name, weight_name):
        self.bias_name, self.input_name, self.weight_name = bias_name, input_name, weight_name


def add_quant_suffix(tensor_name: str) -> str:
    return tensor_name + "_QuantizeLinear"


def add_quant_input_suffix(tensor_name: str) -> str:
    return tensor_name + QUANT_INPUT_SUFFIX


def add_quant_output_suffix(tensor_name) -> str:
    return tensor_name + "_QuantizeLinear_Output"


def add_dequant_suffix(tensor_name) -> str:
    return tensor_name + "_DequantizeLinear"


def add_dequant_input_suffix(tensor_name) -> str:
    return tensor_name + "_DequantizeLinear_Input"


def add_dequant_output_suffix(tensor_name) -> str:
    return tensor_name + DEQUANT_OUTPUT_SUFFIX


def generate_identified_filename(filename: pathlib.Path, identifier: str) -> pathlib.Path:
    """The path with `identifier` before its extension."""
    return filename.parent.joinpath(filename.stem + identifier).with_suffix(filename.suffix)


def find_by_name(item_name, item_list):
    """The first item of that name; None if there is none."""
    return next((item for item in item_list if item.name == item_name), None)


def get_elem_index(elem_name, elem_list):
    """Where the name stands in the list; -1 if it is not there."""
    return next((index for index, name in enumerate(elem_list) if name == elem_name), -1)


def get_mul_node(inputs, output, name):
    """A Mul as an onnx.NodeProto."""
    import onnx

    return onnx.helper.make_node("Mul", inputs, [output], name)


def attribute_to_kwarg(attribute):
    """An onnx.AttributeProto as an argument of onnx.helper.make_node."""
    import onnx

    return {attribute.name: onnx.helper.get_attribute_value(attribute)}


def apply_plot(hist, hist_edges):
    """Shows a histogram in a window; it needs matplotlib."""
    from matplotlib import pyplot

    pyplot.bar(hist_edges[:-1], hist, width=np.diff(hist_edges), align="edge")
    pyplot.title("Tensor value distribution")
    pyplot.xlabel("Tensor value")
    pyplot.ylabel("Counts")
    pyplot.show()


def write_calibration_table(calibration_cache, dir="."):
    """See sardonyx.quantization.calibration_table."""
    from sardonyx.quantization import calibration_table

    calibration_table.write_calibration_table(calibration_cache, dir)


def tensor_proto_to_array(initializer) -> np.ndarray:
    """The contents of an onnx.TensorProto of floats."""
    import onnx

    if initializer.data_type not in (FLOAT, FLOAT16, BFLOAT16):
        raise ValueError(f"initializer '{initializer.name}': expected a tensor of floats, found "
                         f"{type_to_name.get(initializer.data_type, initializer.data_type)}")
    return onnx.numpy_helper.to_array(initializer)


def quantize_weight_array(data, quant_type, zero_point, scale, axis=None, block_size=0):
    """An array quantized as a whole, per channel along `axis`, or in blocks along it."""
    zero_point, scale = np.asarray(zero_point), np.asarray(scale)
    if axis is not None and block_size > 0:
        zero_point, scale = (np.repeat(one, block_size, axis=axis).take(range(data.shape[axis]), axis=axis)
                             for one in (zero_point, scale))
    elif axis is not None:
        shape = [1] * data.ndim
        shape[axis] = -1
        zero_point, scale = zero_point.reshape(shape), scale.reshape(shape)
    elif scale.size == 1:
        zero_point, scale = zero_point.reshape(()), scale.reshape(())
    return quantize_nparray(quant_type, data, scale, zero_point)


def quantize_onnx_initializer(weight, quant_type, zero_point: np.ndarray, scale: np.ndarray, axis: int | None = None,
                              quant_weight_name: str | None = None, block_size: int = 0):
    """An onnx.TensorProto quantized: as a whole, per channel along `axis`, or in blocks along it."""
    import onnx

    data = quantize_weight_array(tensor_proto_to_array(weight), quant_type, zero_point, scale, axis, block_size)
    made = onnx.TensorProto(name=quant_weight_name or f"{weight.name}{TENSOR_NAME_QUANT_SUFFIX}", data_type=quant_type,
                            dims=weight.dims)
    packed = data.dtype in (np.dtype(int4), np.dtype(uint4))
    made.raw_data = bytes(pack_bytes_to_4bit(data.astype(np.int8).tobytes())) if packed else data.tobytes()
    return made


def _metadata(model, key):
    return any(entry.key == key and entry.value == _METADATA for entry in model.metadata_props)


def _set_metadata(model, key):
    entry = next((entry for entry in model.metadata_props if entry.key == key), None)
    if entry is None:
        entry = model.metadata_props.add(key=key)
    entry.value = _METADATA


def add_infer_metadata(model):
    """Notes in an onnx.ModelProto that its shapes were inferred."""
    _set_metadata(model, _INFERRED)


def model_has_infer_metadata(model) -> bool:
    return _metadata(model, _INFERRED)


def add_pre_process_metadata(model):
    """Notes in an onnx.ModelProto that it was prepared for quantization."""
    _set_metadata(model, _PREPROCESSED)


def model_has_pre_process_metadata(model) -> bool:
    return _metadata(model, _PREPROCESSED)


def model_has_external_data(model_path: pathlib.Path):
    """Whether a weight of the model lies in another file."""
    import onnx

    model = onnx.load(os.fspath(model_path), load_external_data=False)
    return any(onnx.external_data_helper.uses_external_data(tensor) for tensor in model.graph.initializer)


def optimize_model(model_path: pathlib.Path, opt_model_path: pathlib.Path):
    """Writes the model with constants folded and nodes removed that need no particular device."""
    options = SessionOptions()
    options.optimized_model_filepath = os.fspath(opt_model_path)
    options.graph_optimization_level = GraphOptimizationLevel.ORT_ENABLE_BASIC
    InferenceSession(os.fspath(model_path), options, providers=["CPUExecutionProvider"])


def load_model_with_shape_infer(model_path: pathlib.Path):
    """An onnx.ModelProto with the types and shapes of its values, as far as they follow from those of the inputs."""
    import onnx

    path = pathlib.Path(model_path)
    with tempfile.TemporaryDirectory(prefix="sardonyx.quantize.") as folder:
        inferred = os.path.join(folder, "inferred.onnx")
        model = onnx.load(os.fspath(path), load_external_data=False)
        try:
            onnx.shape_inference.infer_shapes_path(os.fspath(path), inferred)
            model = onnx.load(inferred, load_external_data=False)
        finally:
            onnx.load_external_data_for_model(model, os.fspath(path.parent))
    add_infer_metadata(model)
    return model


def save_and_reload_model_with_shape_infer(model):
    """The same for an onnx.ModelProto, also for one that is too large for a message."""
    import onnx

    with tempfile.TemporaryDirectory(prefix="sardonyx.quantize.") as folder:
        path = pathlib.Path(folder) / "model.onnx"
        onnx.save_model(copy.deepcopy(model), os.fspath(path), save_as_external_data=True)
        return load_model_with_shape_infer(path)


def get_opset_version(model) -> int:
    """The version of ONNX's own operators that an onnx.ModelProto is written for."""
    versions = [opset.version for opset in model.opset_import if opset.domain in ("", onnx_domain)]
    if len(versions) != 1:
        raise ValueError(f"expected one opset of the domain ai.onnx, found {len(versions)}")
    return versions[0]


def needed_opset(version, weight_type, activation_type=None, tensor_quant_overrides=None, block_size=0):
    """The opset that a model of `version` is converted to before it is quantized to these types."""
    kinds = {kind for kind in (activation_type, weight_type) if kind is not None}
    if tensor_quant_overrides:
        for override in (one for several in tensor_quant_overrides.values() for one in several):
            given = (override.get("quant_type"), override.get("convert", {}).get("quant_type"))
            kinds.update(kind for kind in given if kind is not None)
    numbers = {getattr(kind, "tensor_type", kind) for kind in kinds}
    wanted, what = 11, "quantization"
    if version < 21 and block_size > 0:
        wanted, what = 21, "quantization in blocks"
    elif version < 19 and FLOAT8_TYPES[0] in numbers:
        wanted, what = 19, "quantization to float8"
    elif version < 21 and numbers & {ELEMENT_NUMBERS["int16"], ELEMENT_NUMBERS["uint16"]}:
        wanted, what = 21, "quantization to 16 bits"
    elif version == 10:
        logging.warning("the model is of opset 10: it is quantized as it is, and runs faster from opset 11 on, where "
                        "nodes are fused")
        return version
    if version < wanted:
        logging.warning("the model is of opset %d, which lacks %s: it is converted to opset %d; check what comes out",
                        version, what, wanted)
    return max(version, wanted)


def update_opset_version(model, weight_type: QuantType, activation_type: QuantType | None = None,
                         tensor_quant_overrides: dict | None = None, block_size: int = 0):
    """The onnx.ModelProto itself, or one of the opset that quantization to these types needs."""
    version = get_opset_version(model)
    wanted = needed_opset(version, weight_type, activation_type, tensor_quant_overrides, block_size)
    if wanted == version:
        return model
    return save_and_reload_model_with_shape_infer(convert_opset(model, wanted))
