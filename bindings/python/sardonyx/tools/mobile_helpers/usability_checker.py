"""Tells whether the providers of phones, NNAPI and CoreML, are likely to run a model fast.

usage: python -m onnxruntime.tools.mobile_helpers.usability_checker [--log_level debug|info] [--skip_optimize] MODEL"""
from __future__ import annotations

import argparse
import logging
import pathlib
import tempfile

import onnx

from sardonyx.tools.mobile_helpers.mobile_operators import COREML_ML_PROGRAM, COREML_NEURAL_NETWORK, NNAPI
from sardonyx.tools.mobile_helpers.partitioning import Partitioning, PartitioningInfo, SupportedOperators
from sardonyx.tools.onnx_model_utils import (
    ModelProtoWithShapeInfo,
    get_producer_consumer_maps,
    is_fixed_size_tensor,
    optimize_model,
)

_COREML_RANK = 5  # the largest that CoreML takes
_COREML_LISTS = {"coreml_supported_neuralnetwork_ops.md": COREML_NEURAL_NETWORK,
                 "coreml_supported_mlprogram_ops.md": COREML_ML_PROGRAM}


def check_partitioning(
    main_graph: onnx.GraphProto,
    supported_ops_checker: SupportedOperators,
    require_fixed_input_sizes: bool,
    max_rank: int = 999,
) -> PartitioningInfo:
    """Into how many parts a provider would cut an onnx.GraphProto, judged by operators (conditions on attributes are
    only listed), ranks up to `max_rank` and, with `require_fixed_input_sizes`, by known shapes of inputs.

    Errors: ValueError if these are asked for, and no shapes of inner values are known."""
    if require_fixed_input_sizes and not main_graph.value_info and len(main_graph.node) > 1:
        raise ValueError("expected a model with shapes of its values: run shape inference first")
    links = get_producer_consumer_maps(main_graph)

    def check(graph, values, outer):
        if require_fixed_input_sizes:
            values = values | {one.name: one for one in (*graph.input, *graph.output, *graph.value_info)}
        found = Partitioning(graph, links, supported_ops_checker, outer, require_fixed_input_sizes, values,
                             max_rank).found()
        inner = outer | {one.name for one in graph.initializer}
        return [found, *(one for node in graph.node for attribute in node.attribute if attribute.HasField("g")
                         for one in check(attribute.g, values, inner))]
    whole, *bodies = check(main_graph, {}, set())
    for body in bodies:
        whole.merge(body)
    return whole


def check_nnapi_partitions(model, require_fixed_input_sizes: bool):
    """check_partitioning of an onnx.ModelProto for NNAPI."""
    return check_partitioning(model.graph, SupportedOperators(NNAPI), require_fixed_input_sizes)


def check_coreml_partitions(model: onnx.ModelProto, require_fixed_input_sizes: bool, config_filename: str):
    """check_partitioning of an onnx.ModelProto for CoreML. `config_filename`: the name of one of ONNX Runtime's lists,
    coreml_supported_neuralnetwork_ops.md or coreml_supported_mlprogram_ops.md."""
    if config_filename not in _COREML_LISTS:
        raise ValueError(f"expected one of {', '.join(_COREML_LISTS)}, found '{config_filename}'")
    return check_partitioning(model.graph, SupportedOperators(_COREML_LISTS[config_filename]),
                              require_fixed_input_sizes, _COREML_RANK)


def check_shapes(graph: onnx.GraphProto, logger: logging.Logger | None = None):
    """(inputs whose shapes are not known numbers, the number of such values in all) of an onnx.GraphProto; logs them
    if a logger is given."""
    dynamic = {side: [one for one in values if not is_fixed_size_tensor(one)]
               for side, values in (("input", graph.input), ("output", graph.output), ("value", graph.value_info))}
    count = sum(map(len, dynamic.values()))
    if logger:
        for side in ("input", "output"):
            for value in dynamic[side]:
                logger.info(f"the shape of {side} '{value.name}' is not known: {' '.join(str(value.type).split())}")
        if not graph.value_info and len(graph.node) != 1 and len(dynamic["input"]) != len(graph.input):
            logger.warning("no shapes of inner values are known: run shape inference first")
        total = len(graph.input) + len(graph.output) + len(graph.value_info)
        logger.info(f"{total - count} values have known shapes, {count} do not")
        if dynamic["input"]:
            logger.info("the model takes inputs of any size; fixed sizes, from the start or early in the model, run "
                        "faster on NNAPI and CoreML")
    return dynamic["input"], count


def checker(model_path: pathlib.Path, logger: logging.Logger):
    """Whether NNAPI or CoreML may suit a model; logs why."""
    model = ModelProtoWithShapeInfo(model_path).model_with_shape_info
    dynamic_inputs, _ = check_shapes(model.graph)
    checks = {"NNAPI": lambda fixed: check_nnapi_partitions(model, fixed)}
    for kind, config in zip(("NeuralNetwork", "MLProgram"), _COREML_LISTS, strict=True):
        checks[f"CoreML {kind}"] = lambda fixed, config=config: check_coreml_partitions(model, fixed, config)
    no = PartitioningInfo.TryWithEP.NO
    return any([_suitability(name, check, dynamic_inputs, logger) != no for name, check in checks.items()])


def _suitability(name, check, dynamic_inputs, logger):
    logger.info(f"{name}, with the shapes as they are:")
    found = check(True)
    found.print_analysis(logger, name)
    best = found.suitability()
    if best != PartitioningInfo.TryWithEP.YES and dynamic_inputs:
        logger.info(f"{name}, if the shapes of inputs were fixed:")
        found = check(False)
        found.print_analysis(logger, name)
        if found.suitability() != PartitioningInfo.TryWithEP.NO:
            logger.info("shapes become fixed with python -m onnxruntime.tools.make_dynamic_shape_fixed")
        best = max(best, found.suitability())
    return best


def analyze_model(model_path: pathlib.Path, skip_optimize: bool = False, logger: logging.Logger | None = None):
    """Whether NNAPI or CoreML may suit a model, after the optimizations that conversion to ORT format makes (not with
    `skip_optimize`); logs why."""
    if not logger:
        logger = logging.getLogger("usability_checker")
        logger.setLevel(logging.INFO)
    logger.info(f"{model_path} is checked for phones")
    with tempfile.TemporaryDirectory(prefix="sardonyx.tools.") as folder:
        if not skip_optimize:
            optimized = pathlib.Path(folder) / model_path.name
            optimize_model(model_path, optimized, use_external_initializers=True)
            model_path = optimized
        return checker(model_path.resolve(strict=True), logger)


def parse_args():
    """The arguments of the command line."""
    parser = argparse.ArgumentParser("usability_checker", description=__doc__.split("\n")[0])
    parser.add_argument("--log_level", choices=["debug", "info"], default="info", help="what is logged (info)")
    parser.add_argument("--skip_optimize", action="store_true", help="check the model as it is")
    parser.add_argument("model_path", type=pathlib.Path, help="the model")
    return parser.parse_args()


def run_analyze_model():
    options = parse_args()
    logging.basicConfig(format="%(levelname)s:  %(message)s")
    logger = logging.getLogger("default")
    logger.setLevel(options.log_level.upper())
    analyze_model(options.model_path.resolve(), options.skip_optimize, logger)


if __name__ == "__main__":
    run_analyze_model()
