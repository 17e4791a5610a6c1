"""What quantization costs: values and weights of a quantized model beside those of the float one, and their errors.

    modify_model_output_intermediate_tensors("float.onnx", "float_all.onnx")
    modify_model_output_intermediate_tensors("qdq.onnx", "qdq_all.onnx")
    matched = create_activation_matching(collect_activations("qdq_all.onnx", reader()),
                                         collect_activations("float_all.onnx", reader()))
    print(compute_activation_error(matched))  # in dB, of each value"""
import logging
import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from sardonyx.model import Model
from sardonyx.quantization.calibrate import CalibraterBase, CalibrationDataReader

# ONNX Runtime's module of this name has these, too, so programs may import them from here.
from sardonyx.quantization.onnx_model import ONNXModel  # noqa: F401
from sardonyx.quantization.quant_types import (
    DEQUANT_OP_NAME,
    DEQUANT_OUTPUT_SUFFIX,
    QUANT_INPUT_SUFFIX,
    TENSOR_NAME_QUANT_SUFFIX,
)
from sardonyx.quantization.quant_utils import find_by_name, load_model_with_shape_infer  # noqa: F401

_SAVED = "_ReshapedSavedOutput"


def modify_model_output_intermediate_tensors(input_model_path: str | Path, output_model_path: str | Path,
                                             op_types_for_saving: Sequence[str] | None = None,
                                             save_as_external_data: bool = False) -> None:
    """Writes a model that also gives all floats which its nodes (of these operators, if some are named) read and make,
    as vectors."""
    saver = CalibraterBase(input_model_path, op_types_to_calibrate=op_types_for_saving or [])
    graph = saver.model.graph
    tensors, types = saver.select_tensors_to_calibrate(saver.model)
    flat = graph.unique_name("sardonyx_saved_shape")
    graph.set_initializer(flat, np.array([-1], np.int64))
    for name in sorted(tensors):
        made = name + _SAVED
        graph.add_node("Reshape", [name, flat], [made], made)
        graph.set_type(made, types[name].dtype, (None,))
        graph.add_output(made)
    path = Path(output_model_path)
    saver.model.save(os.fspath(path), f"{path.name}.data" if save_as_external_data else None)


def collect_activations(augmented_model: str, input_reader: CalibrationDataReader, session_options=None,
                        execution_providers: Sequence[str] | None = None) -> dict[str, list[np.ndarray]]:
    """The values of such a model on all inputs, by name. Without `session_options` nothing is optimized."""
    import sardonyx

    if session_options is None:
        session_options = sardonyx.SessionOptions()
        session_options.graph_optimization_level = sardonyx.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = sardonyx.InferenceSession(os.fspath(augmented_model), session_options,
                                        providers=execution_providers or ["CPUExecutionProvider"])
    names = [one.name for one in session.get_outputs() if one.name.endswith(_SAVED)]
    found = {}
    for feed in input_reader:
        for name, value in zip(names, session.run(names, feed) if names else (), strict=True):
            found.setdefault(name[:-len(_SAVED)], []).append(value)
    if not found:
        raise RuntimeError(f"'{augmented_model}': expected data and outputs of intermediate values, found none")
    return found


def create_activation_matching(qdq_activations: dict[str, Sequence[np.ndarray]],
                               float_activations: dict[str, Sequence[np.ndarray]] | None = None
                               ) -> dict[str, dict[str, Sequence[np.ndarray]]]:
    """For each quantized value: "pre_qdq" and "post_qdq", in front of and behind the two nodes, and "float", as the
    float model has it, if its values are given."""
    matched = {}
    for name, values in qdq_activations.items():
        for suffix, is_before in ((QUANT_INPUT_SUFFIX, True), (DEQUANT_OUTPUT_SUFFIX, False),
                                  (f"{DEQUANT_OUTPUT_SUFFIX}_1", False)):
            original = name.removesuffix(suffix)
            other = qdq_activations.get(original)
            if original == name or other is None:
                continue
            before, behind = (values, other) if is_before else (other, values)
            matched[original] = {"pre_qdq": before, "post_qdq": behind}
            break
    for name, entry in matched.items():
        if float_activations and name in float_activations:
            entry["float"] = float_activations[name]
    return matched


def create_weight_matching(float_model_path: str, qdq_model_path: str) -> dict[str, dict[str, np.ndarray]]:
    """For each quantized weight: "float" and "dequantized"."""
    exact, quantized = Model(float_model_path).graph, Model(qdq_model_path).graph
    matched = {}
    for node in quantized.nodes:
        if node.op_type != DEQUANT_OP_NAME or node.inputs[0] not in quantized.initializers:
            continue
        name = node.inputs[0].removesuffix(TENSOR_NAME_QUANT_SUFFIX)
        if name == node.inputs[0] or name not in exact.initializers:
            logging.error("weight '%s' of '%s' is not one of the float model", node.inputs[0], qdq_model_path)
            continue
        matched[name] = {"float": exact.tensor(name), "dequantized": _dequantized(quantized, node)}
    return matched


def _dequantized(graph, node):
    numbers = graph.tensor(node.inputs[0]).astype(np.float64)
    scale = graph.tensor(node.inputs[1])
    has_zero = len(node.inputs) > 2 and node.inputs[2]
    zero_point = graph.tensor(node.inputs[2]).astype(np.float64) if has_zero else np.zeros(scale.shape)
    axis, size = node.attribute("axis", 1), node.attribute("block_size", 0)
    if size:
        scale, zero_point = (np.repeat(one, size, axis).take(range(numbers.shape[axis]), axis)
                             for one in (scale, zero_point))
    elif scale.size > 1:
        shape = [1] * numbers.ndim
        shape[axis] = -1
        scale, zero_point = scale.reshape(shape), zero_point.reshape(shape)
    return ((numbers - zero_point) * scale.astype(np.float64)).astype(scale.dtype)


def compute_signal_to_quantization_noice_ratio(x: Sequence[np.ndarray] | np.ndarray,
                                               y: Sequence[np.ndarray] | np.ndarray) -> float:
    """In dB, of arrays or lists of arrays, of which `x` are exact."""
    exact, other = ([one] if isinstance(one, (np.ndarray, np.generic)) else one for one in (x, y))
    if len(exact) != len(other):
        raise RuntimeError(f"expected as many arrays in both, found {len(exact)} and {len(other)}")
    exact, other = (np.concatenate([np.ravel(one) for one in several]) for several in (exact, other))
    least = np.finfo("float").eps
    return 20 * math.log10(max(np.linalg.norm(exact), least) / max(np.linalg.norm(exact - other), least))


def compute_weight_error(weights_match: dict[str, dict[str, np.ndarray]],
                         err_func: Callable[[np.ndarray, np.ndarray],
                                            float] = compute_signal_to_quantization_noice_ratio) -> dict[str, float]:
    return {name: err_func(entry["float"], entry["dequantized"]) for name, entry in weights_match.items()}


def compute_activation_error(activations_match: dict[str, dict[str, Sequence[np.ndarray]]],
                             err_func: Callable[[Sequence[np.ndarray], Sequence[np.ndarray]],
                                                float] = compute_signal_to_quantization_noice_ratio
                             ) -> dict[str, dict[str, float]]:
    """For each value "qdq_err", of its own two nodes, and "xmodel_err", against the float model."""
    errors = {}
    for name, entry in activations_match.items():
        errors[name] = {"qdq_err": err_func(entry["pre_qdq"], entry["post_qdq"])}
        if entry.get("float"):
            errors[name]["xmodel_err"] = err_func(entry["float"], entry["post_qdq"])
    return errors
