"""Models as protos: shapes made fixed, opsets raised, models optimized, and which node follows which."""
from __future__ import annotations

import logging
import os
import pathlib

import onnx

import sardonyx as ort
from sardonyx.model import Model
from sardonyx.opset_conversion import convert_opset


def _bodies(node):
    return [attribute.g for attribute in node.attribute if attribute.HasField("g")]


def iterate_graph_per_node_func(graph, per_node_func, **func_args):
    """Calls the function for each node of an onnx.GraphProto and of the bodies in it."""
    for node in graph.node:
        per_node_func(node, **func_args)
        for body in _bodies(node):
            iterate_graph_per_node_func(body, per_node_func, **func_args)


def iterate_graph_per_graph_func(graph, per_graph_func, **func_args):
    """Calls the function for an onnx.GraphProto and for each body in it."""
    per_graph_func(graph, **func_args)
    for node in graph.node:
        for body in _bodies(node):
            iterate_graph_per_graph_func(body, per_graph_func, **func_args)


def get_opsets_imported(model: onnx.ModelProto):
    """Versions by domain; ONNX's own is "ai.onnx"."""
    return {entry.domain or "ai.onnx": entry.version for entry in model.opset_import}


def update_onnx_opset(
    model_path: pathlib.Path,
    opset: int,
    out_path: pathlib.Path | None = None,
    logger: logging.Logger | None = None,
):
    """The onnx.ModelProto of a model converted to a later opset, which is also written to `out_path`."""
    source = os.fspath(model_path.resolve(strict=True))
    if logger:
        logger.info("%s is converted to opset %d", source, opset)
    converted = convert_opset(onnx.load(source), opset)
    if out_path:
        onnx.save(converted, os.fspath(out_path))
        if logger:
            logger.info("the model of opset %d is in %s", opset, out_path)
    return converted


def optimize_model(
    model_path: pathlib.Path,
    output_path: pathlib.Path,
    level: ort.GraphOptimizationLevel = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    log_level: int = 3,
    use_external_initializers: bool = False,
):
    """Writes the model as a session of that level has it. `log_level`: 0 (everything) to 4 (fatal errors).
    `use_external_initializers`: weights lie in external_data.pb beside it, as models over 2 GB need."""
    options = ort.SessionOptions()
    options.optimized_model_filepath = os.fspath(output_path.resolve())
    options.graph_optimization_level = level
    options.log_severity_level = log_level
    if use_external_initializers:
        options.add_session_config_entry("session.optimized_model_external_initializers_file_name", "external_data.pb")
    ort.InferenceSession(os.fspath(model_path.resolve(strict=True)), options, providers=["CPUExecutionProvider"])


def _dimensions(graph):
    """All dimensions of tensors that an onnx.GraphProto states itself."""
    for value in (*graph.input, *graph.output, *graph.value_info):
        if value.type.HasField("tensor_type"):
            yield from value.type.tensor_type.shape.dim


def _fix(dimension, value):
    dimension.Clear()
    dimension.dim_value = value


def remove_invalid_dim_values(graph: onnx.GraphProto):
    """Numbers below 1 in shapes, which converters write for what is not known, become unknown; in bodies, too."""
    def clear(part):
        for dimension in _dimensions(part):
            if dimension.HasField("dim_value") and dimension.dim_value < 1:
                dimension.Clear()
    iterate_graph_per_graph_func(graph, clear)


def make_dim_param_fixed(graph: onnx.GraphProto, param_name: str, value: int):
    """A symbol in shapes becomes a number; in bodies, too."""
    def fix(part):
        for dimension in _dimensions(part):
            if dimension.HasField("dim_param") and dimension.dim_param == param_name:
                _fix(dimension, value)
    iterate_graph_per_graph_func(graph, fix)


def make_input_shape_fixed(graph: onnx.GraphProto, input_name: str, fixed_shape: [int]):
    """The shape of an input becomes that; what is a symbol there becomes the number wherever the symbol stands.

    Errors: ValueError for an input that is not there or not a tensor, another rank, or a number that differs."""
    remove_invalid_dim_values(graph)
    value = next((one for one in graph.input if one.name == input_name), None)
    if value is None:
        raise ValueError(f"expected an input of the model, found '{input_name}'; its inputs are "
                         f"{', '.join(one.name for one in graph.input)}")
    if not value.type.HasField("tensor_type"):
        raise ValueError(f"input '{input_name}' is not a tensor")
    dimensions = value.type.tensor_type.shape.dim
    if len(dimensions) != len(fixed_shape):
        raise ValueError(f"input '{input_name}': expected {len(dimensions)} dimensions, found {len(fixed_shape)}")
    for axis, (dimension, number) in enumerate(zip(dimensions, fixed_shape, strict=True)):
        if dimension.HasField("dim_param"):
            make_dim_param_fixed(graph, dimension.dim_param, number)
        elif not dimension.HasField("dim_value"):
            _fix(dimension, number)
        elif dimension.dim_value != number:
            raise ValueError(f"input '{input_name}': dimension {axis} is {dimension.dim_value} in the model, and "
                             f"cannot become {number}")


def fix_output_shapes(model: onnx.ModelProto):
    """Fills in shapes of outputs that follow from those of the inputs."""
    known = Model(model)
    known.infer_types()
    for value, inferred in zip(model.graph.output, known.to_proto().graph.output, strict=True):
        if not is_fixed_size_tensor(value) and is_fixed_size_tensor(inferred):
            value.type.tensor_type.shape.CopyFrom(inferred.type.tensor_type.shape)


def get_producer_consumer_maps(graph: onnx.GraphProto):
    """(the set of nodes whose values a node reads, the set of nodes that read a node's values), both by nodes
    (onnx.NodeProto), in bodies, too. What a body reads of the graph around it is read by the node of the body.

    Nodes become hashable by their identity, as in ONNX Runtime: the keys are those of this GraphProto. Errors:
    ValueError for a model that reads a value which nothing gives."""
    onnx.NodeProto.__hash__ = lambda node: id(node)
    producers_of, consumers_of = {}, {}
    unknown = _link_nodes(graph, producers_of, consumers_of)
    if unknown:
        raise ValueError(f"no node, input or initializer gives {', '.join(sorted(unknown))}")
    return producers_of, consumers_of


def _link_nodes(graph, producers_of, consumers_of):
    """Returns the names that the graph reads of the graphs around it."""
    given = {one.name for one in (*graph.input, *graph.initializer)}
    made_by, outer = {}, set()
    for node in graph.node:
        read = list(node.input)
        for body in _bodies(node):
            read += _link_nodes(body, producers_of, consumers_of)
        for name in filter(None, read):
            if name in made_by:
                producers_of.setdefault(node, set()).add(made_by[name])
                consumers_of.setdefault(made_by[name], set()).add(node)
            elif name not in given:
                outer.add(name)
        made_by.update(dict.fromkeys(node.output, node))
    return outer


def is_fixed_size_tensor(value: onnx.ValueInfoProto):
    """Whether it is a tensor whose dimensions are all known numbers, as are those of a scalar."""
    return value.type.HasField("tensor_type") and all(
        dimension.HasField("dim_value") and dimension.dim_value > 0 for dimension in value.type.tensor_type.shape.dim)


def get_optimization_level(level):
    """The GraphOptimizationLevel of "disable", "basic", "extended", "layout" or "all"."""
    levels = {"disable": ort.GraphOptimizationLevel.ORT_DISABLE_ALL,
              **{name: getattr(ort.GraphOptimizationLevel, f"ORT_ENABLE_{name.upper()}")
                 for name in ("basic", "extended", "layout", "all")}}
    if level not in levels:
        raise ValueError(f"expected one of {', '.join(levels)} as level of optimization, found '{level}'")
    return levels[level]


class ModelProtoWithShapeInfo:
    """A model with the types and shapes that follow from its inputs: `model_with_shape_info`, an onnx.ModelProto."""

    def __init__(self, model_path: pathlib.Path):
        self.model_path = model_path
        known = Model(os.fspath(model_path))
        known.infer_types()
        self.model_with_shape_info = known.to_proto()
