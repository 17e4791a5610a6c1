"""Quantizes models: with ranges of activations that are measured in each run (quantize_dynamic) or found by calibration
before (quantize_static). What both take is described at QuantConfig and quantize_static."""
import copy
import logging
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from sardonyx.model import Model
from sardonyx.opset_conversion import convert_opset
from sardonyx.quantization.calibrate import (
    CalibrationDataReader,
    CalibrationMethod,
    TensorsData,
    create_calibrator,
    load_tensors_data,
    save_tensors_data,
)
from sardonyx.quantization.onnx_quantizer import ONNXQuantizer
from sardonyx.quantization.qdq_quantizer import QDQQuantizer
from sardonyx.quantization.quant_types import MODEL_SIZE_THRESHOLD, QuantFormat, QuantizationMode, QuantType

# ONNX Runtime's module of this name has these, too, so programs may import them from here.
from sardonyx.quantization.quant_utils import (  # noqa: F401
    get_opset_version,
    load_model_with_shape_infer,
    model_has_pre_process_metadata,
    needed_opset,
    save_and_reload_model_with_shape_infer,
    update_opset_version,
)
from sardonyx.quantization.registry import IntegerOpsRegistry, QDQRegistry, QLinearOpsRegistry
from sardonyx.quantization.tensor_quant_overrides import TensorQuantOverridesHelper, check_form

_PREPROCESSED = ("onnx.quant.pre_process", "onnxruntime.quant")
_CHANNELS, _HALF = 13, 19  # the opsets from which on DequantizeLinear has an axis, and takes half precision
_SIXTEEN_BITS, _FOUR_BITS = {QuantType.QInt16, QuantType.QUInt16}, {QuantType.QInt4, QuantType.QUInt4}
# What calibrators take, and the names of these options among those of quantize_static.
_CALIBRATION_OPTIONS = {
    "CalibTensorRangeSymmetric": "symmetric", "CalibMovingAverage": "moving_average",
    "CalibMovingAverageConstant": "averaging_constant", "CalibMaxIntermediateOutputs": "max_intermediate_outputs",
    "CalibPercentile": "percentile",
}


class QuantConfig:
    """What both ways of quantization take.

    `activation_type`, `weight_type`: QuantType. `op_types_to_quantize`: operators; without any, all that have a rule.
    `nodes_to_quantize`, `nodes_to_exclude`: names of nodes; without the former, all. `per_channel`: weights have a
    scale for each channel. `reduce_range`: weights have one bit less. `use_external_data_format`: weights lie in a file
    beside the model, which models over 2 GB need."""

    def __init__(self, activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8, op_types_to_quantize=None,
                 nodes_to_quantize=None, nodes_to_exclude=None, per_channel=False, reduce_range=False,
                 use_external_data_format=False):
        self.activation_type, self.weight_type = activation_type, weight_type
        self.op_types_to_quantize = op_types_to_quantize or []
        self.nodes_to_quantize, self.nodes_to_exclude = nodes_to_quantize or [], nodes_to_exclude or []
        self.per_channel, self.reduce_range = per_channel, reduce_range
        self.use_external_data_format = use_external_data_format


class StaticQuantConfig(QuantConfig):
    """The arguments of quantize_static."""

    def __init__(self, calibration_data_reader: CalibrationDataReader, calibrate_method=CalibrationMethod.MinMax,
                 quant_format=QuantFormat.QDQ, activation_type=QuantType.QInt8, weight_type=QuantType.QInt8,
                 op_types_to_quantize=None, nodes_to_quantize=None, nodes_to_exclude=None, per_channel=False,
                 reduce_range=False, use_external_data_format=False, calibration_providers=None, extra_options=None):
        super().__init__(activation_type, weight_type, op_types_to_quantize, nodes_to_quantize, nodes_to_exclude,
                         per_channel, reduce_range, use_external_data_format)
        self.calibration_data_reader, self.calibrate_method = calibration_data_reader, calibrate_method
        self.quant_format, self.calibration_providers = quant_format, calibration_providers
        self.extra_options = extra_options or {}


class DynamicQuantConfig(QuantConfig):
    """The arguments of quantize_dynamic."""

    def __init__(self, weight_type=QuantType.QInt8, op_types_to_quantize=None, nodes_to_quantize=None,
                 nodes_to_exclude=None, per_channel=False, reduce_range=False, use_external_data_format=False,
                 extra_options=None):
        super().__init__(weight_type=weight_type, op_types_to_quantize=op_types_to_quantize,
                         nodes_to_quantize=nodes_to_quantize, nodes_to_exclude=nodes_to_exclude,
                         per_channel=per_channel, reduce_range=reduce_range,
                         use_external_data_format=use_external_data_format)
        self.extra_options = extra_options or {}


def get_qdq_config(model_input, calibration_data_reader: CalibrationDataReader,
                   calibrate_method=CalibrationMethod.MinMax, calibrate_args: dict[str, Any] | None = None,
                   activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8, activation_symmetric: bool = False,
                   weight_symmetric: bool | None = None, per_channel: bool = False, reduce_range: bool = False,
                   keep_removable_activations: bool = False, min_real_range: float | None = None,
                   tensor_quant_overrides: dict[str, list[dict[str, Any]]] | None = None,
                   calibration_providers: list[str] | None = None, op_types_to_quantize: list[str] | None = None,
                   nodes_to_exclude: list[str] | Callable | None = None,
                   extra_options: dict | None = None) -> StaticQuantConfig:
    """A StaticQuantConfig that quantizes all operators of a model (a path or an onnx.ModelProto), other than Cast,
    QuantizeLinear and DequantizeLinear.

    `nodes_to_exclude`: names, or a function of the onnx.ModelProto and an onnx.NodeProto. `calibrate_args`: arguments
    of the calibrator. The others stand for options of quantize_static, which `extra_options` can override."""
    import onnx

    model = model_input
    if not isinstance(model_input, onnx.ModelProto):
        model = onnx.load_model(os.fspath(model_input), load_external_data=False)
    excluded = set(nodes_to_exclude) if isinstance(nodes_to_exclude, list) else set()
    if callable(nodes_to_exclude):
        excluded.update(node.name for node in model.graph.node if nodes_to_exclude(model, node))
    kinds = {node.op_type for node in model.graph.node if node.name not in excluded}
    overrides = TensorQuantOverridesHelper(copy.deepcopy(tensor_quant_overrides or {}))
    options = {
        "MinimumRealRange": min_real_range, "QDQKeepRemovableActivations": keep_removable_activations,
        "ActivationSymmetric": activation_symmetric, "WeightSymmetric": weight_symmetric,
        "ForceQuantizeNoInputCheck": True, "TensorQuantOverrides": overrides.get_dict(),
    }
    options.update({name: calibrate_args[key] for name, key in _CALIBRATION_OPTIONS.items()
                    if key in (calibrate_args or {})})
    types = {activation_type, weight_type, *overrides.get_quant_types()}
    versions = [opset.version for opset in model.opset_import if opset.domain in ("", "ai.onnx")]
    # 16 bits bring the model to opset 21, which has 4 bits, too.
    if versions and versions[0] < 21 and types & _FOUR_BITS and not types & _SIXTEEN_BITS:
        options["UseQDQContribOps"] = True
    is_external = any(onnx.external_data_helper.uses_external_data(one) for one in model.graph.initializer)
    return StaticQuantConfig(
        calibration_data_reader, calibrate_method=calibrate_method, quant_format=QuantFormat.QDQ,
        activation_type=activation_type, weight_type=weight_type,
        op_types_to_quantize=op_types_to_quantize or list(kinds - {"Cast", "DequantizeLinear", "QuantizeLinear"}),
        nodes_to_exclude=list(excluded), per_channel=per_channel, reduce_range=reduce_range,
        use_external_data_format=is_external or model.ByteSize() >= MODEL_SIZE_THRESHOLD,
        calibration_providers=calibration_providers, extra_options={**options, **(extra_options or {})})


def check_static_quant_arguments(quant_format: QuantFormat, activation_type: QuantType, weight_type: QuantType):
    """Raises ValueError for types that do not go together."""
    float8 = QuantType.QFLOAT8E4M3FN
    if activation_type == QuantType.QInt8 and weight_type == QuantType.QUInt8:
        raise ValueError("expected weights of QInt8 beside activations of QInt8, found QUInt8")
    if (activation_type == float8) != (weight_type == float8):
        raise ValueError(f"expected QFLOAT8E4M3FN for both activations and weights, found {activation_type} and "
                         f"{weight_type}")
    if {activation_type, weight_type} & _SIXTEEN_BITS and quant_format != QuantFormat.QDQ:
        raise ValueError("types of 16 bits need QuantFormat.QDQ: operators on integers have 8 bits")


def _opened(model_input, weight_type, activation_type, extra_options, oldest=1):
    """The model as a sardonyx.model.Model, of an opset that has what the types need."""
    model = Model(model_input)
    version = model.opsets.get("", model.opsets.get("ai.onnx"))
    if version is None:
        raise ValueError("the model has no operators of ONNX's own domain, so there is nothing to quantize")
    wanted = needed_opset(version, weight_type, activation_type, extra_options.get("TensorQuantOverrides"),
                          extra_options.get("BlockSize", 0))
    if any(known.type.dtype == "float16" for known in model.graph.initializers.values()):
        oldest = max(oldest, _HALF)
    if wanted < oldest:
        logging.warning("the model is of opset %d, whose QuantizeLinear does not do: it is converted to opset %d",
                        version, oldest)
        wanted = oldest
    if wanted != version:
        model = Model(convert_opset(model.to_proto(), wanted))
    if model.metadata.get(_PREPROCESSED[0]) != _PREPROCESSED[1]:
        logging.warning("the model was not prepared by quant_pre_process: nodes may stay on floats that could be fused "
                        "or folded before")
    return model, wanted != version


def _save(model, model_output, use_external_data_format):
    path = Path(model_output)
    model.save(os.fspath(path), f"{path.name}.data" if use_external_data_format else None)


def quantize_static(model_input, model_output: str | Path, calibration_data_reader: CalibrationDataReader | None = None,
                    quant_format=QuantFormat.QDQ, op_types_to_quantize=None, per_channel=False, reduce_range=False,
                    activation_type=QuantType.QInt8, weight_type=QuantType.QInt8, nodes_to_quantize=None,
                    nodes_to_exclude=None, use_external_data_format=False, calibrate_method=CalibrationMethod.MinMax,
                    calibration_providers=None, extra_options=None, calibration_cache_path: str | Path | None = None):
    """Quantizes a model (a path or an onnx.ModelProto) with the ranges that its values have on data.

    `calibration_data_reader` gives the data: inputs by name, until None. With `calibration_cache_path` the ranges are
    kept in that file and read from there if it exists; no data is needed then. The others are those of QuantConfig.

    Options: ActivationSymmetric, WeightSymmetric (ranges reach equally far on both sides of zero),
    ActivationRestrictedAsymmetric (the zero point is the lowest number or the middle), MinimumRealRange (narrower
    ranges are widened), TensorQuantOverrides (types, ranges or scales of single tensors), ForceQuantizeNoInputCheck
    (operators that only move elements are quantized wherever they stand), MatMulConstBOnly (products of two activations
    stay floats), EnableSubgraph (bodies of control flow, too), DefaultTensorType (for tensors of unknown type),
    extra.Sigmoid.nnapi (Sigmoid's scale is 1/256);
    for QDQ: AddQDQPairToWeight (weights stay floats behind both nodes), OpTypesToExcludeOutputQuantization,
    DedicatedQDQPair (one pair for each reader), QDQOpTypePerChannelSupportToAxis, QuantizeBias, UseQDQContribOps (nodes
    of com.microsoft), QDQKeepRemovableActivations (Relu and Clip stay), QDQDisableWeightAdjustForInt32Bias, BlockSize;
    for calibration: CalibTensorRangeSymmetric, CalibMovingAverage, CalibMovingAverageConstant,
    CalibMaxIntermediateOutputs, CalibPercentile, CalibStridedMinMax (data is read in portions of that size);
    SmoothQuant, SmoothQuantAlpha, SmoothQuantFolding (outliers of activations move into the weights before).

    Errors: ValueError for types that do not go together, an unknown tensor in an option, or a range that is not
    known."""
    options = extra_options or {}
    if QuantType.QFLOAT8E4M3FN in (activation_type, weight_type) and calibrate_method != CalibrationMethod.Distribution:
        raise ValueError(f"float8 needs CalibrationMethod.Distribution, found {calibrate_method}")
    check_static_quant_arguments(quant_format, activation_type, weight_type)
    check_form(options.get("TensorQuantOverrides"))
    kinds = op_types_to_quantize or sorted({*QLinearOpsRegistry, *QDQRegistry})
    excluded = list(nodes_to_exclude or [])
    has_channels = quant_format is QuantFormat.QDQ and (per_channel or any(
        "axis" in entry for entries in (options.get("TensorQuantOverrides") or {}).values() for entry in entries))
    model, is_changed = _opened(model_input, weight_type, activation_type, options, _CHANNELS if has_channels else 1)
    if options.get("SmoothQuant", False):
        if calibration_data_reader is None:
            raise ValueError("SmoothQuant needs data: a cache of ranges does not tell the ranges of channels")
        from sardonyx.quantization.smooth_quant import smooth

        before = {node.name for node in model.graph.nodes}
        smooth(model, copy.deepcopy(calibration_data_reader), options.get("SmoothQuantAlpha", 0.5),
               options.get("SmoothQuantFolding", True), calibration_providers)
        excluded += [node.name for node in model.graph.nodes if node.name not in before]
        is_changed = True
    ranges = _ranges(model, model_input if isinstance(model_input, (str, os.PathLike)) and not is_changed else None,
                     calibration_data_reader, kinds, calibrate_method, use_external_data_format, calibration_providers,
                     options, calibration_cache_path)
    ranges, endless = _without_endless(model, ranges)
    excluded += endless
    shared = (weight_type, activation_type, ranges, list(nodes_to_quantize or []), excluded, kinds, options)
    if quant_format is QuantFormat.QOperator:
        quantizer = ONNXQuantizer(model, per_channel, reduce_range, QuantizationMode.QLinearOps, True, *shared)
    else:
        quantizer = QDQQuantizer(model, per_channel, reduce_range, *shared)
    quantizer.change_model()
    _save(quantizer.changed, model_output, use_external_data_format)


def _without_endless(model, ranges):
    """(the ranges that are finite, names of the nodes that read or make other values, as the logarithm of 0 is): no
    scale would hold those, so that they stay in float."""
    endless = {name for name, one in ranges.items() if hasattr(one, "lowest")
               and not (np.isfinite(one.lowest).all() and np.isfinite(one.highest).all())
               and not np.all(one.lowest > one.highest)}  # of no elements, as Resize's regions are
    if endless:
        logging.warning("values that are infinite on the data stay in float: %s", ", ".join(sorted(endless)))
    else:
        return ranges, []
    names = set()
    for graph in model.graphs:
        for node in graph.nodes if graph is not None else ():
            if endless.intersection((*node.inputs, *node.outputs)):
                if not node.name:  # nodes are left out by their names
                    node.set_operator(name=graph.unique_name(f"{node.op_type}_of_{node.outputs[0]}"))
                names.add(node.name)
    finite = {name: one for name, one in ranges.items() if name not in endless}
    return TensorsData(ranges.calibration_method, finite), sorted(names)


def _ranges(model, path, reader, kinds, method, is_external, providers, options, cache):
    """The ranges from the cache, if it is there and fits, or from data. `path`: where the model lies unchanged."""
    cache = None if cache is None else Path(cache)
    if cache is not None and cache.exists():
        known = _cached_ranges(cache, method, bool(options.get("SmoothQuant", False)))
        if known is not None:
            return known
    if reader is None:
        raise ValueError("expected a calibration_data_reader, or a calibration_cache_path with a file of ranges")
    arguments = {key: options[name] for name, key in _CALIBRATION_OPTIONS.items() if name in options}
    with tempfile.TemporaryDirectory(prefix="sardonyx.quantize.") as folder:
        if path is None:
            path = os.path.join(folder, "model.onnx")
            model.save(path, "model.onnx.data")
        calibrator = create_calibrator(Path(path), kinds, os.path.join(folder, "augmented.onnx"), method, is_external,
                                       providers, arguments)
        stride = options.get("CalibStridedMinMax")
        if stride:
            total = len(reader)
            if total % stride:
                raise ValueError(f"CalibStridedMinMax is {stride}, which does not divide the {total} samples of the "
                                 "calibration_data_reader")
            for start in range(0, total, stride):
                reader.set_range(start_index=start, end_index=start + stride)
                calibrator.collect_data(reader)
        else:
            calibrator.collect_data(reader)
        ranges = calibrator.compute_data()
        del calibrator
    if not isinstance(ranges, TensorsData):
        raise TypeError(f"expected TensorsData of the calibrator, found '{type(ranges).__name__}'")
    if cache is not None:
        save_tensors_data(ranges, cache, smooth_quant=bool(options.get("SmoothQuant", False)))
    return ranges


def _cached_ranges(cache, method, is_smooth):
    """None if the file was made for a model that was smoothed otherwise."""
    import json

    if not cache.is_file():
        raise ValueError(f"expected a file as calibration_cache_path, found '{cache}'")
    with cache.open(encoding="utf-8") as file:
        was_smooth = bool(json.load(file).get("smooth_quant", False))
    if was_smooth != is_smooth:
        logging.warning("the ranges in '%s' were found %s SmoothQuant: they are found again and written there", cache,
                        "with" if was_smooth else "without")
        return None
    ranges = load_tensors_data(cache)
    if ranges.calibration_method != method:
        raise ValueError(f"the ranges in '{cache}' were found with {ranges.calibration_method}, and {method} is asked "
                         "for: delete the file or ask for that method")
    return ranges


def quantize_dynamic(model_input, model_output: str | Path, op_types_to_quantize=None, per_channel=False,
                     reduce_range=False, weight_type=QuantType.QInt8, nodes_to_quantize=None, nodes_to_exclude=None,
                     use_external_data_format=False, extra_options=None):
    """Quantizes the weights of a model (a path or an onnx.ModelProto); the ranges of activations, which become uint8,
    are measured in each run. The arguments are those of QuantConfig; options as at quantize_static, without those for
    QDQ and calibration. MatMulConstBOnly is True here if it is not given."""
    options = {"MatMulConstBOnly": True, **(extra_options or {})}
    model, _ = _opened(model_input, weight_type, None, {})
    quantizer = ONNXQuantizer(
        model, per_channel, reduce_range, QuantizationMode.IntegerOps, False, weight_type, QuantType.QUInt8, None,
        list(nodes_to_quantize or []), list(nodes_to_exclude or []), op_types_to_quantize or list(IntegerOpsRegistry),
        options)
    quantizer.change_model()
    _save(quantizer.changed, model_output, use_external_data_format)


def quantize(model_input, model_output: str | Path, quant_config: QuantConfig):
    """Quantizes as a StaticQuantConfig, a DynamicQuantConfig or a WeightOnlyQuantConfig says."""
    config = quant_config
    if isinstance(config, (StaticQuantConfig, DynamicQuantConfig)):
        shared = {name: getattr(config, name) for name in (
            "weight_type", "op_types_to_quantize", "nodes_to_quantize", "nodes_to_exclude", "per_channel",
            "reduce_range", "use_external_data_format", "extra_options")}
    if isinstance(config, StaticQuantConfig):
        quantize_static(model_input, model_output, config.calibration_data_reader,
                        calibrate_method=config.calibrate_method, quant_format=config.quant_format,
                        activation_type=config.activation_type, calibration_providers=config.calibration_providers,
                        **shared)
        return
    if isinstance(config, DynamicQuantConfig):
        quantize_dynamic(model_input, model_output, **shared)
        return
    from sardonyx.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer, WeightOnlyQuantConfig

    if not isinstance(config, WeightOnlyQuantConfig):
        raise TypeError("expected a StaticQuantConfig, a DynamicQuantConfig or a WeightOnlyQuantConfig, found "
                        f"'{type(config).__name__}'")
    quantizer = MatMulNBitsQuantizer(model_input if not isinstance(model_input, Path) else os.fspath(model_input),
                                     algo_config=config)
    quantizer.process()
    quantizer.model.save_model_to_file(os.fspath(model_output), True)
