"""Models as QNN's provider takes them best: nodes fused, shapes fixed, channels last at the ends."""
from __future__ import annotations

import logging
import os
import tempfile
from pathlib import Path

import onnx

from sardonyx.model import Model
from sardonyx.quantization.execution_providers.qnn.fusion_lpnorm import FusionLpNormalization
from sardonyx.quantization.execution_providers.qnn.fusion_spacetodepth import FusionSpaceToDepth
from sardonyx.quantization.fusions import FusionGelu, FusionLayerNormalization
from sardonyx.quantization.onnx_model import ONNXModel
from sardonyx.quantization.quant_utils import get_opset_version
from sardonyx.tools.onnx_model_utils import fix_output_shapes, make_input_shape_fixed, optimize_model
from sardonyx.tools.remove_initializer_from_input import remove_initializer_from_input

_LAYER_NORMALIZATION = 17  # the first opset that has it
_UNNAMED = "qnn_preproc_node_"


def qnn_preprocess_model(
    model_input: str | Path | onnx.ModelProto,
    model_output: str | Path,
    exclude_initializer_from_input: bool = False,
    fuse_layernorm: bool = False,
    save_as_external_data: bool = False,
    all_tensors_to_one_file: bool = False,
    external_data_location: str | None = None,
    external_data_size_threshold: int = 1024,
    external_data_convert_attribute: bool = False,
    inputs_to_make_channel_last: list[str] | None = None,
    outputs_to_make_channel_last: list[str] | None = None,
    dynamic_input_shapes: list[tuple[str, str]] | None = None,
) -> bool:
    """Fuses Gelu, LpNormalization and SpaceToDepth, and gives all nodes names. Writes the model only if that changed
    something, and returns whether it did.

    `exclude_initializer_from_input`: defaults of inputs become constants. `fuse_layernorm`: LayerNormalization, too
    (opset 17). `inputs_to_make_channel_last`, `outputs_to_make_channel_last`: names of those that become
    [N, D1, ..., C], with a Transpose from and to [N, C, D1, ...] inside. `dynamic_input_shapes`: pairs of an input and
    its shape as text, ("x", "1,3,224,224"). The others are those of onnx.save_model."""
    model = model_input if isinstance(model_input, onnx.ModelProto) else onnx.load_model(os.fspath(model_input))
    model = save_and_reload_optimize_model(model, shape_infer=True)
    changed, graph = ONNXModel(model), model.graph
    for name, shape in dynamic_input_shapes or []:
        make_input_shape_fixed(graph, name, [int(size) for size in shape.split(",")])
    if dynamic_input_shapes:
        fix_output_shapes(model)
    is_changed = bool(dynamic_input_shapes)
    if exclude_initializer_from_input:
        is_changed |= remove_initializer_from_input(model)
    fusions = [FusionGelu, FusionLpNormalization, FusionSpaceToDepth]
    if fuse_layernorm and get_opset_version(model) >= _LAYER_NORMALIZATION:
        fusions.append(FusionLayerNormalization)
    elif fuse_layernorm:
        logging.warning("fuse_layernorm: LayerNormalization needs opset %d, and the model is of %d: convert it first",
                        _LAYER_NORMALIZATION, get_opset_version(model))
    for fusion in fusions:
        is_changed |= fusion(changed).apply()
    if inputs_to_make_channel_last or outputs_to_make_channel_last:
        prefix = "Transpose_channel_"
        update_io_to_channel_last(model, inputs_to_make_channel_last, outputs_to_make_channel_last, prefix,
                                  changed.get_largest_node_name_suffix(prefix) + 1)
        is_changed = True
    number = changed.get_largest_node_name_suffix(_UNNAMED) + 1
    for node in graph.node:
        if not node.name and node.op_type != "Constant":
            node.name, number, is_changed = f"{_UNNAMED}{number}", number + 1, True
            logging.warning("a node %s had no name: it is called %s now", node.op_type, node.name)
    if is_changed:
        changed.topological_sort()
        onnx.save_model(model, os.fspath(model_output), save_as_external_data=save_as_external_data,
                        all_tensors_to_one_file=all_tensors_to_one_file, location=external_data_location,
                        size_threshold=external_data_size_threshold, convert_attribute=external_data_convert_attribute)
    return is_changed


def save_and_reload_optimize_model(model: onnx.ModelProto, shape_infer: bool) -> onnx.ModelProto:
    """The model with the optimizations of level basic, and with shapes of its values if `shape_infer` is set."""
    source = Model(model)
    if shape_infer:
        source.infer_types()
    with tempfile.TemporaryDirectory(prefix="sardonyx.quantize.") as folder:
        before, after = Path(folder) / "before.onnx", Path(folder) / "after.onnx"
        source.save(os.fspath(before), "before.onnx.data")
        optimize_model(before, after)
        optimized = Model(os.fspath(after))
    if shape_infer:
        optimized.infer_types()
    optimized.set_metadata("onnx.infer", "onnxruntime.tools.qnn.preprocess")
    return optimized.to_proto()


class InputOutputNameMap:
    """Names inside of the model for inputs and outputs (`orig_graph_inputs`, `orig_graph_outputs` by name) that change
    their layout. `updated_io_names` has those that were given, `new_value_infos` their types."""

    def __init__(
        self,
        orig_tensor_names: set[str],
        orig_graph_inputs: dict[str, onnx.ValueInfoProto],
        orig_graph_outputs: dict[str, onnx.ValueInfoProto],
    ):
        self.orig_tensor_names = orig_tensor_names
        self.orig_graph_inputs, self.orig_graph_outputs = orig_graph_inputs, orig_graph_outputs
        self.updated_io_names, self.new_value_infos = {}, []

    def get_new_name(self, orig_name: str):
        """The name inside; a new one the first time."""
        if orig_name not in self.updated_io_names:
            prefix = f"{orig_name}_channel_first_"
            tails = [name[len(prefix):] for name in self.orig_tensor_names if name.startswith(prefix)]
            number = max((int(tail) for tail in tails if tail.isdecimal()), default=-1) + 1
            value = onnx.ValueInfoProto()
            value.CopyFrom(self.orig_graph_inputs.get(orig_name) or self.orig_graph_outputs[orig_name])
            value.name = self.updated_io_names[orig_name] = f"{prefix}{number}"
            self.new_value_infos.append(value)
        return self.updated_io_names[orig_name]


def update_io_to_channel_last(
    model: onnx.ModelProto,
    inputs_to_update: list[str] | None,
    outputs_to_update: list[str] | None,
    transpose_node_name_prefix: str = "Transpose_channel_",
    transpose_node_name_start_suffix: int = 0,
):
    """Changes inputs and outputs of [N, C, D1, ...] to [N, D1, ..., C], with Transposes inside, which are numbered.

    Errors: ValueError for names that are no inputs or outputs, and for values without a shape of rank 3 at least."""
    graph, number = model.graph, transpose_node_name_start_suffix
    sides = [({value.name: value for value in values}, list(dict.fromkeys(names or [])), side)
             for values, names, side in ((graph.input, inputs_to_update, "input"),
                                         (graph.output, outputs_to_update, "output"))]
    for known, names, side in sides:
        for name in names:
            if name not in known:
                raise ValueError(f"expected an {side} of the model, found '{name}'")
    chosen = {name for _, names, _ in sides for name in names}
    names = InputOutputNameMap({*sides[0][0], *sides[1][0], *(name for node in graph.node for name in node.input)},
                               sides[0][0], sides[1][0])
    for node in graph.node:
        for part in (node.input, node.output):
            for index, name in enumerate(part):
                if name in chosen:
                    part[index] = names.get_new_name(name)
    for known, chosen_here, side in sides:
        for name in chosen_here:
            inner, rank = names.get_new_name(name), _move_channels_last(known[name], side)
            order = [0, rank - 1, *range(1, rank - 1)] if side == "input" else [0, *range(2, rank), 1]
            ends = (name, inner) if side == "input" else (inner, name)
            graph.node.append(onnx.helper.make_node("Transpose", [ends[0]], [ends[1]],
                                                    f"{transpose_node_name_prefix}{number}", perm=order))
            number += 1
    graph.value_info.extend(names.new_value_infos)


def _move_channels_last(value, side):
    """Changes the shape of an onnx.ValueInfoProto and returns its rank."""
    kind = value.type
    if not kind.HasField("tensor_type") or not kind.tensor_type.HasField("shape"):
        raise ValueError(f"{side} '{value.name}': expected a tensor whose shape is known")
    sizes = list(kind.tensor_type.shape.dim)
    if len(sizes) < 3:
        raise ValueError(f"{side} '{value.name}': expected a rank of at least 3, found {len(sizes)}")
    copies = [onnx.TensorShapeProto.Dimension.FromString(one.SerializeToString()) for one in sizes]
    for size, moved in zip(sizes, [copies[0], *copies[2:], copies[1]], strict=True):
        size.CopyFrom(moved)
    return len(sizes)
