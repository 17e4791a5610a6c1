"""Weights of products in 2, 4 or 8 bits, in blocks with scales of their own; activations stay floats.

MatMul becomes MatMulNBits, or DequantizeLinear and MatMul; Gather becomes GatherBlockQuantized.

usage: python -m onnxruntime.quantization.matmul_nbits_quantizer --input_model MODEL --output_model MODEL [options]"""
import argparse
import copy
import logging
import os

import ml_dtypes
import numpy as np

from sardonyx.model import Model
from sardonyx.opset_conversion import convert_opset
from sardonyx.quantization import weight_only_math
from sardonyx.quantization.base_quantizer import QUANTIZABLE

# ONNX Runtime's module of this name has these, too, so programs may import them from here.
from sardonyx.quantization.calibrate import CalibrationDataReader  # noqa: F401
from sardonyx.quantization.neural_compressor import gptq_quantize, rtn_quantize  # noqa: F401
from sardonyx.quantization.onnx_model import (
    ChangedModel,
    ONNXModel,  # noqa: F401
)
from sardonyx.quantization.quant_types import INT8, UINT8, QuantFormat, ms_domain
from sardonyx.quantization.quant_utils import attribute_to_kwarg  # noqa: F401
from sardonyx.quantization.watched_values import watching
from sardonyx.quantization.weight_kernels import (  # noqa: F401
    block_params,
    pack,
    quantize_blocks,
    quantize_matmul_2bits,
    quantize_matmul_4bits,
    quantize_matmul_8bits,
    quantize_qdq_matmul_4bits,
)
from sardonyx.quantization.weight_only_config import (
    DefaultWeightOnlyQuantConfig,
    GPTQWeightOnlyQuantConfig,
    HQQWeightOnlyQuantConfig,
    KQuantWeightOnlyQuantConfig,
    RTNWeightOnlyQuantConfig,
    WeightOnlyQuantConfig,
)
from sardonyx.quantization.weight_only_modelopt import NVAWQWeightOnlyQuantConfig, NVAWQWeightOnlyQuantizer

__all__ = [
    "INT8", "UINT8", "DefaultWeightOnlyQuantConfig", "GPTQWeightOnlyQuantConfig", "HQQWeightOnlyQuantConfig",
    "KQuantWeightOnlyQuantConfig", "MatMulNBitsQuantizer", "NVAWQWeightOnlyQuantConfig", "NVAWQWeightOnlyQuantizer",
    "RTNWeightOnlyQuantConfig", "WeightOnlyQuantConfig", "is_divisible", "ort_convert_str_to_bool", "parse_args",
    "parse_key_value_pair", "transpose_packed_int4_matrix",
]

_WEIGHTS = (*QUANTIZABLE, "bfloat16")
_INT4_OPSET = 21


class MatMulNBitsQuantizer:
    """`model`: an onnx.ModelProto or a path. Without `algo_config` weights are rounded to the nearest number
    (DefaultWeightOnlyQuantConfig) with the other arguments. `nodes_to_include`: names of nodes that are quantized
    whatever their operator is. process() does it; `model` has the result."""

    def __init__(self, model, bits: int = 4, block_size: int = 128, is_symmetric: bool = False,
                 accuracy_level: int | None = None, nodes_to_exclude=None, nodes_to_include: list[str] | None = None,
                 quant_format=QuantFormat.QOperator, op_types_to_quantize: tuple[str, ...] | None = None,
                 quant_axes: tuple[tuple[str, int], ...] | None = None, channel_wised_quantize: bool = False,
                 algo_config: WeightOnlyQuantConfig | None = None):
        self.model_path = os.fspath(model) if isinstance(model, (str, os.PathLike)) else None
        self.changed = Model(model)
        self.changed.graph.fix_defaults()
        self.changed.infer_types()
        self.model = ChangedModel(self.changed)
        self.bits, self.block_size, self.is_symmetric = bits, block_size, is_symmetric
        self.accuracy_level = accuracy_level
        self.nodes_to_exclude = set(nodes_to_exclude or [])
        self.nodes_to_include = set(nodes_to_include) if nodes_to_include else None
        if algo_config is None:
            algo_config = DefaultWeightOnlyQuantConfig(
                block_size=block_size, is_symmetric=is_symmetric, accuracy_level=accuracy_level,
                quant_format=quant_format, op_types_to_quantize=op_types_to_quantize, quant_axes=quant_axes, bits=bits,
                channel_wised_quantize=channel_wised_quantize)
        self.algo_config = algo_config
        found = getattr(algo_config, "bits", 4)
        if found not in (2, 4, 8):
            raise ValueError(f"expected 2, 4 or 8 bits, found {found}")
        if found == 2 and algo_config.quant_format == QuantFormat.QDQ:
            raise NotImplementedError("DequantizeLinear takes no integers of 2 bits before opset 25: expected "
                                      "QuantFormat.QOperator for 2 bits, or 4 or 8 bits")
        size = algo_config.block_size if algo_config.algorithm in ("DEFAULT", "HQQ") else block_size
        if size < 16 or size & (size - 1):
            raise ValueError(f"expected a block size that is a power of 2 from 16 on, found {size}")

    def process(self):
        config = self.algo_config
        if config.algorithm == "nvidia_awq":
            source = self.model_path or self.changed.to_proto()
            self.changed = Model(NVAWQWeightOnlyQuantizer(config).quantize_awq(source))
            self.model = ChangedModel(self.changed)
            return
        if config.quant_format == QuantFormat.QDQ or "Gather" in config.op_types_to_quantize:
            self._raise_opset()
        hessians = self._hessians() if config.algorithm == "GPTQ" else {}
        for graph in [graph for graph in self.changed.graphs if graph is not None]:
            for node in graph.nodes:
                if self._is_chosen(node):
                    self._quantize(graph, node, hessians)
        for graph in reversed([graph for graph in self.changed.graphs if graph is not None]):
            graph.remove_unused_initializers()
        if any(node.domain == ms_domain for graph in self.changed.graphs if graph is not None for node in graph.nodes):
            self.changed.set_opset(ms_domain, max(1, self.changed.opsets.get(ms_domain, 1)))
        self.model = ChangedModel(self.changed)

    def _raise_opset(self):
        """Integers of 4 bits exist from opset 21 on."""
        version = self.changed.opsets.get("", _INT4_OPSET)
        if version >= _INT4_OPSET:
            return
        logging.warning("the model is of opset %d, which has no integers of 4 bits: it is converted to opset %d",
                        version, _INT4_OPSET)
        converted = convert_opset(self.changed.to_proto(), _INT4_OPSET)
        converted.ir_version = max(converted.ir_version, 10)
        self.changed = Model(converted)
        self.changed.infer_types()

    def _is_chosen(self, node):
        if node.name in self.nodes_to_exclude:
            return False
        if node.op_type not in ("MatMul", "Gather") or node.domain not in ("", "ai.onnx"):
            return False
        included = self.nodes_to_include is not None and node.name in self.nodes_to_include
        return included or node.op_type in self.algo_config.op_types_to_quantize

    def _quantize(self, graph, node, hessians):
        config, is_default = self.algo_config, self.algo_config.algorithm == "DEFAULT"
        place = 1 if node.op_type == "MatMul" else 0
        home = self._home(graph, node.inputs[place])
        if home is None:
            logging.info("%r is not quantized: its weight is no constant of floats", node)
        elif node.op_type == "Gather" and is_default and config.bits != 4:
            logging.error("%r is not quantized: expected 4 bits for Gather, found %d", node, config.bits)
        elif node.op_type == "Gather":
            if not is_default or config.quant_format != QuantFormat.QOperator:
                raise NotImplementedError(f"{node!r}: Gather is quantized by DefaultWeightOnlyQuantConfig with "
                                          "QuantFormat.QOperator")
            self._quantize_gather(graph, home, node)
        else:
            self._quantize_product(graph, home, node, hessians)

    def _home(self, graph, name):
        """The graph, this one or one around it, whose constant of floats it is; None if it is none."""
        while graph is not None:
            known = graph.initializers.get(name)
            if known is not None:
                return graph if known.type.dtype in _WEIGHTS else None
            if name in graph.inputs or graph.producer(name) is not None:
                return None
            graph = None if graph.parent is None else self.changed.graphs[graph.parent]
        return None

    def _quantize_product(self, graph, home, node, hessians):
        name = node.inputs[1]
        weight = home.tensor(name)
        outer = weight.shape[:-2]
        if weight.ndim < 2 or any(dim != 1 for dim in outer):
            logging.info("%r is not quantized: its weight is no matrix, but of the shape %s", node, weight.shape)
            return
        missing = self._missing_dimensions(graph, node, len(outer))
        if missing is None:
            logging.warning("%r is not quantized: the rank of its first input does not follow from the model", node)
            return
        matrix = weight.reshape(weight.shape[-2:])
        if weight.dtype == ml_dtypes.bfloat16:
            matrix = matrix.astype(np.float32)
        if self.algo_config.quant_format == QuantFormat.QDQ:
            made = self._add_pair(graph, home, node, name, matrix, weight.dtype)
        else:
            made = self._add_nbits(graph, home, node, name, matrix, weight.dtype, hessians)
        if made is not None and missing:
            output = made.outputs[0]
            made.set_output(0, f"{output}_without_ones")
            axes = graph.unique_name(f"{output}_axes")
            graph.set_initializer(axes, np.arange(missing, dtype=np.int64))
            graph.add_node("Unsqueeze", [made.outputs[0], axes], [output], f"{made.name}_unsqueeze")

    def _missing_dimensions(self, graph, node, outer):
        """How many dimensions of 1 the output lacks, as a weight without its outer ones is multiplied; None:
        unknown."""
        if outer == 0:
            return 0
        known = graph.type_of(node.inputs[0])
        if known is None or known.shape is None or (self.changed.opsets.get("", 13) < 13):
            return None
        if len(known.shape) < 2:
            return None
        return max(outer + 2 - len(known.shape), 0)

    def _settings(self, node):
        """(bits, size of blocks, whether symmetric) for a node."""
        config = self.algo_config
        if config.algorithm in ("DEFAULT", "HQQ"):
            return config.bits, config.block_size, getattr(config, "is_symmetric", False)
        own = (config.customized_weight_config or {}).get(node.name, {})
        symmetric = own["scheme"] == "sym" if "scheme" in own else self.is_symmetric
        return own.get("bits", 4), own.get("group_size", self.block_size), symmetric

    def _add_nbits(self, graph, home, node, name, matrix, dtype, hessians):
        bits, size, symmetric = self._settings(node)
        if self.algo_config.algorithm in ("DEFAULT", "HQQ"):
            names = f"{name}_Q{bits}", f"{name}_scales", f"{name}_zero_points"
        else:
            names = f"{name}_Q{bits}G{size}", f"{name}_scale", f"{name}_zp"
        if names[0] not in home.initializers:
            numbers, scales, zero_points = self._numbers(node, name, matrix, bits, size, symmetric, hessians)
            rows, columns = matrix.shape
            blocks = -(-rows // size)
            home.set_initializer(names[0], pack(numbers.reshape(columns, blocks, size), bits))
            flat = self.algo_config.algorithm == "HQQ"
            scale_shape = (-1,) if flat else (columns, blocks)
            home.set_initializer(names[1], scales.astype(dtype).reshape(scale_shape))
            if flat:
                home.set_initializer(names[2], zero_points.astype(dtype).reshape(-1))
            elif zero_points is not None:
                home.set_initializer(names[2], pack(zero_points.reshape(columns, blocks), bits, 1 << (bits - 1)))
        inputs = [node.inputs[0], *names[:2], *names[2:] * (names[2] in home.initializers)]
        level = getattr(self.algo_config, "accuracy_level", None) or self.accuracy_level
        attributes = {"K": matrix.shape[0], "N": matrix.shape[1], "bits": bits, "block_size": size,
                      "accuracy_level": level or None}
        output, label = node.outputs[0], f"{node.name}_Q{bits}" if node.name else ""
        graph.remove_node(node)
        return graph.add_node("MatMulNBits", inputs, [output], label, ms_domain, attributes)

    def _numbers(self, node, name, matrix, bits, size, symmetric, hessians):
        """Numbers of all groups, their scales and their zero points (None: the middle)."""
        algorithm = self.algo_config.algorithm
        if algorithm == "DEFAULT":
            groups = weight_only_math.grouped(matrix.astype(np.float32), size)
            scales, zero_points = block_params(groups, bits, symmetric)
            numbers = quantize_blocks(groups, scales, zero_points, bits).reshape(matrix.shape[1], -1)
            numbers[:, matrix.shape[0]:] = 0
            return numbers, scales, None if symmetric else zero_points
        if algorithm == "HQQ":
            return weight_only_math.hqq(weight_only_math.grouped(matrix.astype(np.float32), size), bits)
        if algorithm == "k_quant":
            return weight_only_math.k_quant(weight_only_math.grouped(matrix, size), bits)
        ratio = 1.0
        if algorithm == "GPTQ":
            config = self.algo_config
            rounding = weight_only_math.Gptq(bits, size, symmetric, config.percdamp, config.block_size, config.actorder,
                                             config.mse, config.perchannel)
            matrix = rounding.rounded(np.array(matrix), hessians[node.inputs[0]].copy())
        else:
            ratio = self.algo_config.ratios.get(name, 1.0)
        numbers, scales, zero_points = weight_only_math.round_to_nearest(
            weight_only_math.grouped(matrix, size), bits, symmetric, ratio)
        return numbers, scales, None if symmetric else zero_points

    def _add_pair(self, graph, home, node, name, matrix, dtype):
        """DequantizeLinear with blocks along K, and the MatMul; with one block for each column and without zero points
        the weight is stored transposed."""
        config = self.algo_config
        rows = matrix.shape[0]
        size = rows if config.channel_wised_quantize else config.block_size
        turned = config.channel_wised_quantize and config.is_symmetric
        quantized = f"{name}_DQ_Q{config.bits}"
        scale, zero_point = f"{name}_DQ_scales", f"{name}_DQ_zero_points"
        if quantized not in home.initializers:
            groups = weight_only_math.grouped(matrix.astype(np.float32), size)
            scales, zero_points = block_params(groups, config.bits, config.is_symmetric)
            numbers = quantize_blocks(groups, scales, zero_points, config.bits).reshape(matrix.shape[1], -1)[:, :rows]
            kind = _element(config.bits, config.is_symmetric)
            middle = 1 << (config.bits - 1) if config.is_symmetric else 0
            numbers, scales = (numbers.astype(np.int16) - middle).astype(kind), scales.reshape(matrix.shape[1], -1)
            home.set_initializer(quantized, np.ascontiguousarray(numbers if turned else numbers.T))
            home.set_initializer(scale, np.ascontiguousarray(scales if turned else scales.T).astype(dtype))
            if not config.is_symmetric:
                zeros = zero_points.reshape(matrix.shape[1], -1).T
                home.set_initializer(zero_point, np.ascontiguousarray(zeros).astype(kind))
        inputs = [quantized, scale, *[zero_point] * (zero_point in home.initializers)]
        source, output, label = node.inputs[0], node.outputs[0], node.name
        restored = graph.unique_name(f"{quantized}_output")
        graph.add_node("DequantizeLinear", inputs, [restored], f"{label}_DQ_Q{config.bits}" if label else "",
                       attributes={"axis": 1 if turned else 0, "block_size": size})
        if turned:
            graph.add_node("Transpose", [restored], [f"{restored}_transposed"], attributes={"perm": [1, 0]})
            restored += "_transposed"
        graph.remove_node(node)
        return graph.add_node("MatMul", [source, restored], [output], f"{label}_matmul_Q{config.bits}" if label else "")

    def _quantize_gather(self, graph, home, node):
        config, name = self.algo_config, node.inputs[0]
        data = home.tensor(name)
        axis = config.quant_axes.get("Gather", 1)
        if not -data.ndim <= axis < data.ndim:
            raise ValueError(f"{node!r}: expected an axis of a weight of the shape {data.shape} in quant_axes, found "
                             f"{axis}")
        axis %= data.ndim
        names = f"{name}_Q4", f"{name}_scales", f"{name}_zero_points"
        if names[0] not in home.initializers:
            made = quantized_along(data, axis, config.block_size, config.is_symmetric)
            for key, array in zip(names, made, strict=True):
                if array is not None:
                    home.set_initializer(key, array)
        inputs = [names[0], node.inputs[1], names[1], *[names[2]] * (names[2] in home.initializers)]
        attributes = {"gather_axis": node.attribute("axis", 0), "quantize_axis": axis, "block_size": config.block_size}
        output, label = node.outputs[0], f"{node.name}_Q4" if node.name else ""
        graph.remove_node(node)
        graph.add_node("GatherBlockQuantized", inputs, [output], label, ms_domain, attributes)

    def _hessians(self):
        """X^T X of the rows of each product's first input, as a mean of twice that over the samples."""
        graph, reader = self.changed.graph, copy.deepcopy(self.algo_config.calibration_data_reader)
        if reader is None:
            raise ValueError("GPTQWeightOnlyQuantConfig: expected a calibration_data_reader")
        names = sorted({node.inputs[0] for node in graph.nodes if self._is_chosen(node) and node.op_type == "MatMul" and
                        self._home(graph, node.inputs[1]) is graph})
        sums, count = {}, dict.fromkeys(names, 0)
        with watching(self.changed, names) as session:
            while (feed := reader.get_next()) is not None:
                for name, value in zip(names, session.run(names, feed), strict=True):
                    rows = value.reshape(-1, value.shape[-1]).astype(np.float64)
                    before, count[name] = count[name], count[name] + value.shape[0]
                    sums[name] = sums.get(name, 0) * (before / count[name]) + 2 / count[name] * (rows.T @ rows)
        if names and not sums:
            raise ValueError("GPTQWeightOnlyQuantConfig: the calibration_data_reader gave no data")
        return sums


def _element(bits, is_signed):
    name = f"{'' if is_signed else 'u'}int{bits}"
    return np.dtype(name if bits == 8 else getattr(ml_dtypes, name))


def quantized_along(data, axis, block_size, is_symmetric):
    """(numbers of 4 bits, scales, zero points or None) of an array in blocks along an axis, for
    GatherBlockQuantized."""
    moved = np.moveaxis(data, axis, -1)
    length = moved.shape[-1]
    count = -(-length // block_size)
    # What fills the last block changes neither its smallest nor its largest number.
    padded = np.concatenate([moved, np.repeat(moved[..., -1:], count * block_size - length, -1)], -1)
    blocks = padded.reshape(*moved.shape[:-1], count, block_size)
    lowest, highest = blocks.min(-1, keepdims=True), blocks.max(-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        if is_symmetric:
            scale = np.where(np.abs(highest) > np.abs(lowest), highest, lowest) / data.dtype.type(-8)
            numbers, zero_point, kind = np.where(scale == 0, 0, blocks / scale), None, ml_dtypes.int4
            numbers = np.clip(np.round(numbers), -8, 7)
        else:
            lowest, highest = np.minimum(lowest, 0), np.maximum(highest, 0)
            scale, kind = (highest - lowest) / data.dtype.type(15), ml_dtypes.uint4
            zero_point = np.clip(np.round(np.where(scale == 0, 8, -lowest / scale)), 0, 15)
            numbers = np.clip(np.round(np.where(scale == 0, 8, blocks / scale + zero_point)), 0, 15)

    def back(array, size):
        return np.ascontiguousarray(np.moveaxis(array.reshape(*moved.shape[:-1], -1)[..., :size], -1, axis))
    return (back(numbers, length).astype(kind), back(scale, count),
            None if zero_point is None else back(zero_point, count).astype(kind))


def is_divisible(val1, val2):
    """Whether val1 is a multiple of val2."""
    return val1 % val2 == 0


def transpose_packed_int4_matrix(packed, rows, cols):
    """Bytes of two numbers of 4 bits, the first in the lower half, of a matrix [rows, cols], as those of the transposed
    one."""
    numbers = np.stack([packed & 15, packed >> 4], -1).reshape(-1)[:rows * cols].reshape(rows, cols)
    return pack(np.ascontiguousarray(numbers.T).reshape(-1), 4)


def ort_convert_str_to_bool(value):
    """Whether a text is "true" or "1"."""
    return value.lower() in ("true", "1")


def parse_key_value_pair(s):
    """("MatMul", 0) of "MatMul:0"."""
    key, value = s.split(":")
    return key, int(value)


def parse_args():
    """The arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--input_model", required=True, help="the model")
    parser.add_argument("--output_model", required=True, help="where the result is written; it must not be there")
    parser.add_argument("--block_size", default=32, type=int, help="numbers of a column with one scale (32)")
    parser.add_argument("--quant_method", default="default", help="how weights are rounded (default)",
                        choices=["default", "hqq", "rtn", "k_quant", "gptq", "nvidia_awq"])
    parser.add_argument("--bits", default=4, type=int, help="2, 4 or 8 (4)")
    parser.add_argument("--symmetric", default=True, const=True, nargs="?", type=ort_convert_str_to_bool,
                        choices=[True, False], help="ranges around 0, without zero points (true); not with hqq")
    parser.add_argument("--accuracy_level", type=int, help="the attribute of MatMulNBits: 4 computes with int8")
    parser.add_argument("-v", "--verbose", action="store_true", help="log what is not quantized, and why")
    parser.add_argument("--nodes_to_exclude", nargs="+", default=[], help="names of nodes that are not quantized")
    parser.add_argument("--nodes_to_include", nargs="+", help="names of nodes that are, whatever their operator is")
    parser.add_argument("--quant_format", default="QOperator", choices=["QOperator", "QDQ"],
                        help="MatMulNBits, or DequantizeLinear before MatMul (QOperator)")
    parser.add_argument("--op_types_to_quantize", nargs="+", choices=["MatMul", "Gather"], help="(MatMul)")
    parser.add_argument("--quant_axes", type=parse_key_value_pair, nargs="+",
                        help="axes along which blocks lie (MatMul:0 Gather:1)")
    awq = parser.add_argument_group("nvidia_awq", "by NVIDIA's modelopt, on a data set of Hugging Face")
    awq.add_argument("--calib_dataset_name", default="cnn", help="cnn or pile (cnn)")
    awq.add_argument("--tokenizer_dir", help="the folder of the model's tokenizer")
    awq.add_argument("--calibration_method", choices=["awq", "awq_clip"], help="(awq)")
    awq.add_argument("--cache_dir", default="./cache", help="where data is kept (./cache)")
    return parser.parse_args()


def _config_of(options):
    """The WeightOnlyQuantConfig of the command line."""
    kinds = tuple(options.op_types_to_quantize or ["MatMul"])
    axes = tuple(options.quant_axes) if options.quant_axes else None
    if options.quant_method == "hqq":
        return HQQWeightOnlyQuantConfig(options.block_size, options.bits, op_types_to_quantize=kinds, quant_axes=axes)
    if options.quant_method == "rtn":
        return RTNWeightOnlyQuantConfig(op_types_to_quantize=kinds)
    if options.quant_method == "k_quant":
        return KQuantWeightOnlyQuantConfig(op_types_to_quantize=kinds)
    if options.quant_method == "gptq":
        return GPTQWeightOnlyQuantConfig(block_size=options.block_size, op_types_to_quantize=kinds)
    if options.quant_method == "nvidia_awq":
        method = "awq_clip" if options.calibration_method == "awq_clip" else "awq_lite"
        return NVAWQWeightOnlyQuantConfig(options.tokenizer_dir, options.calib_dataset_name, options.cache_dir, method)
    return DefaultWeightOnlyQuantConfig(options.block_size, options.symmetric, options.accuracy_level,
                                        QuantFormat[options.quant_format], kinds, axes, options.bits)


def _main():
    options = parse_args()
    if options.verbose:
        logging.getLogger().setLevel(logging.DEBUG)
    if os.path.exists(options.output_model):
        raise SystemExit(f"--output_model: '{options.output_model}' is there already")
    if options.symmetric and options.quant_method == "hqq":
        logging.warning("--symmetric has no effect with hqq, whose zero points are no integers")
    quantizer = MatMulNBitsQuantizer(
        options.input_model, options.bits, options.block_size, options.symmetric, options.accuracy_level,
        options.nodes_to_exclude, options.nodes_to_include, algo_config=_config_of(options))
    quantizer.process()
    quantizer.model.save_model_to_file(options.output_model, True)


if __name__ == "__main__":
    _main()
