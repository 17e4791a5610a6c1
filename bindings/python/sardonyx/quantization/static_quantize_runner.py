"""Quantizes a model with the data beside it: folders test_data_set_*, with input_0.pb, input_1.pb ... in each.

usage: python -m onnxruntime.quantization.static_quantize_runner -i MODEL -o MODEL [options]"""
import argparse
import json
from pathlib import Path

import numpy as np
import onnx

import sardonyx
from sardonyx.quantization.calibrate import CalibrationDataReader, CalibrationMethod
from sardonyx.quantization.quant_utils import QuantFormat, QuantType
from sardonyx.quantization.quantize import StaticQuantConfig, quantize

_TYPES = {f"q{name}": kind for name, kind in (
    ("int8", QuantType.QInt8), ("uint8", QuantType.QUInt8), ("int16", QuantType.QInt16), ("uint16", QuantType.QUInt16),
    ("int4", QuantType.QInt4), ("uint4", QuantType.QUInt4), ("float8e4m3fn", QuantType.QFLOAT8E4M3FN))}
_METHODS = {kind.name.lower(): kind for kind in CalibrationMethod}
_FORMATS = {"qdq": QuantFormat.QDQ, "qoperator": QuantFormat.QOperator}

# Switches, the option of quantize_static that each sets, and what it says.
_SWITCHES = {
    "enable_subgraph": ("EnableSubgraph", "bodies of control flow are quantized, too"),
    "force_quantize_no_input_check": ("ForceQuantizeNoInputCheck",
                                      "operators that only move elements are quantized wherever they stand"),
    "matmul_const_b_only": ("MatMulConstBOnly", "products of two activations stay floats"),
    "add_qdq_pair_to_weight": ("AddQDQPairToWeight", "weights stay floats behind QuantizeLinear and DequantizeLinear"),
    "dedicated_qdq_pair": ("DedicatedQDQPair", "each reader of a value has a pair of nodes of its own"),
    "calib_tensor_range_symmetric": ("CalibTensorRangeSymmetric", "ranges reach equally far on both sides of zero"),
    "calib_moving_average": ("CalibMovingAverage", "minmax: moving averages of the ends of ranges"),
    "use_qdq_contrib_ops": ("UseQDQContribOps", "QuantizeLinear and DequantizeLinear are those of com.microsoft"),
    "qdq_keep_removable_activations": ("QDQKeepRemovableActivations", "Relu and Clip stay"),
    "qdq_disable_weight_adjust_for_int32_bias": ("QDQDisableWeightAdjustForInt32Bias",
                                                 "scales of weights do not grow for biases that do not fit"),
}


class OnnxModelCalibrationDataReader(CalibrationDataReader):
    """The inputs in the folders test_data_set_* beside a model. Errors: ValueError if there is no such folder."""

    def __init__(self, model_path):
        self.model_dir = str(Path(model_path).parent)
        folders = sorted(path for path in Path(self.model_dir).glob("test_data_set_*") if path.is_dir())
        if not folders:
            raise ValueError(f"expected data in folders '{self.model_dir}/test_data_set_*', found none")
        names = [value.name for value in sardonyx.InferenceSession(model_path).get_inputs()]
        self.calibration_data = iter([
            {name: self.read_onnx_pb_data(folder / f"input_{index}.pb") for index, name in enumerate(names)}
            for folder in folders])

    def get_next(self) -> dict:
        return next(self.calibration_data, None)

    def read_onnx_pb_data(self, file_pb):
        """The array of a file that holds an onnx.TensorProto."""
        return onnx.numpy_helper.to_array(onnx.TensorProto.FromString(Path(file_pb).read_bytes()))


def parse_arguments():
    """The arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("-i", "--input_model_path", required=True, help="the model")
    parser.add_argument("-o", "--output_quantized_model_path", required=True, help="where the result is written")
    parser.add_argument("--activation_type", choices=list(_TYPES), default="quint8", help="(quint8)")
    parser.add_argument("--weight_type", choices=list(_TYPES), default="qint8", help="(qint8)")
    parser.add_argument("--calibration_method", choices=list(_METHODS), default="minmax", help="(minmax)")
    parser.add_argument("--quant_format", choices=list(_FORMATS), default="qdq", help="(qdq)")
    for name, (_, text) in _SWITCHES.items():
        parser.add_argument(f"--{name}", action="store_true", help=text)
    parser.add_argument("--disable_quantize_bias", action="store_true", help="biases stay floats")
    parser.add_argument("--per_channel", action="store_true", help="each channel of a weight has a scale of its own")
    parser.add_argument("--minimum_real_range", type=float, default=0.0001,
                        help="narrower ranges are widened (0.0001)")
    parser.add_argument("--op_types_to_exclude_output_quantization", nargs="+", default=[],
                        help="operators whose outputs stay floats")
    parser.add_argument("--nodes_to_quantize", nargs="+", help="names of the nodes that are quantized (all)")
    parser.add_argument("--nodes_to_exclude", nargs="+", help="names of nodes that are not quantized")
    parser.add_argument("--op_per_channel_axis", nargs=2, action="append", default=[], metavar=("OPERATOR", "AXIS"),
                        help="the axis of channels of an operator's weight; can be given several times")
    parser.add_argument("--tensor_quant_overrides", help="a JSON file of scales and zero points by tensors")
    return parser.parse_args()


def get_tensor_quant_overrides(file):
    """TensorQuantOverrides of a JSON file, {"tensor": [{"scale": 0.5, "zero_point": 0}]}; {} without a file."""
    if not file:
        return {}
    overrides = json.loads(Path(file).read_text())
    for entry in (one for entries in overrides.values() for one in entries):
        for key, kind in (("scale", np.float32), ("zero_point", None)):
            if key in entry:
                entry[key] = np.array(entry[key], kind)
        if isinstance(entry.get("quant_type"), str):
            entry["quant_type"] = QuantType.from_string(entry["quant_type"])
    return overrides


def main():
    given = parse_arguments()
    options = {option: getattr(given, name) for name, (option, _) in _SWITCHES.items()}
    options |= {
        "OpTypesToExcludeOutputQuantization": given.op_types_to_exclude_output_quantization,
        "QDQOpTypePerChannelSupportToAxis": {name: int(axis) for name, axis in given.op_per_channel_axis},
        "QuantizeBias": not given.disable_quantize_bias, "MinimumRealRange": given.minimum_real_range,
        "TensorQuantOverrides": get_tensor_quant_overrides(given.tensor_quant_overrides),
    }
    quantize(given.input_model_path, given.output_quantized_model_path, StaticQuantConfig(
        OnnxModelCalibrationDataReader(given.input_model_path), _METHODS[given.calibration_method],
        _FORMATS[given.quant_format], _TYPES[given.activation_type], _TYPES[given.weight_type],
        nodes_to_quantize=given.nodes_to_quantize, nodes_to_exclude=given.nodes_to_exclude,
        per_channel=given.per_channel, extra_options=options))


if __name__ == "__main__":
    main()
