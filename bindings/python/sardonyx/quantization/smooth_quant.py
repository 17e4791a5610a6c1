"""SmoothQuant (Xiao et al. 2022): channels of activations that are much larger than others are divided by a factor, and
the rows of the weights that they meet are multiplied by it, so that one scale fits all channels."""
import numpy as np

from sardonyx.quantization.quant_types import ELEMENT_NUMBERS, FLOAT_NUMPY_TYPES
from sardonyx.quantization.watched_values import watching

_FLOATS = ("float", "float16")


def smooth(model, data_reader, alpha=0.5, folding=True, providers=None):
    """Changes a sardonyx.model.Model: in front of the products (MatMul, Gemm) with a constant matrix as second input.

    `data_reader` gives inputs as for calibration. `alpha`: 1 moves all of the difference between channels from the
    activations to the weights, 0 nothing. `folding`: the factors become part of the weights of the node before where
    that can be (LayerNormalization, Mul, Add, Gemm, MatMul); otherwise a Mul divides.

    Errors: ValueError for an alpha outside of 0 to 1, or if there is no data."""
    if not 0 <= alpha <= 1:
        raise ValueError(f"expected SmoothQuantAlpha from 0 to 1, found {alpha}")
    model.infer_types()
    graph, products = model.graph, {}
    for node in graph.nodes:
        if _weight_axis(graph, node) is not None:
            products.setdefault(node.inputs[0], []).append(node)
    largest = _largest_of_channels(model, data_reader, list(products), providers)
    for name, nodes in products.items():
        weights = [_rows(graph, node) for node in nodes]
        below = np.max([np.abs(weight).max(1) for weight in weights], axis=0)
        above = largest.get(name)
        if above is None or above.shape != below.shape:
            continue
        with np.errstate(divide="ignore", invalid="ignore"):
            factors = above ** alpha / below ** (1 - alpha)
        factors[~np.isfinite(factors) | (factors <= 0)] = 1
        _apply(graph, name, nodes, weights, factors, folding)


def _weight_axis(graph, node):
    """The axis of a product's constant matrix that its input channels lie along; None for other nodes."""
    if node.op_type not in ("MatMul", "Gemm") or node.domain not in ("", "ai.onnx") or not node.inputs[0]:
        return None
    known = graph.initializers.get(node.inputs[1])
    if known is None or not known.is_constant or len(known.type.shape) != 2 or known.type.dtype not in _FLOATS:
        return None
    if node.op_type == "Gemm" and node.attribute("transA", 0):
        return None
    source = graph.type_of(node.inputs[0])
    if source is None or source.shape is None or len(source.shape) < 2 or node.inputs[0] in graph.initializers:
        return None
    return 1 if node.op_type == "Gemm" and node.attribute("transB", 0) else 0


def _rows(graph, node):
    """The weight as [input channels, outputs], in double precision."""
    weight = graph.tensor(node.inputs[1]).astype(np.float64)
    return weight.T if _weight_axis(graph, node) == 1 else weight


def _largest_of_channels(model, data_reader, names, providers):
    """The largest magnitude in each channel (of the last axis) of the named values."""
    largest, runs = {}, 0
    with watching(model, names, providers) as session:
        while (feed := data_reader.get_next()) is not None:
            runs += 1
            for name, value in zip(names, session.run(names, feed) if names else (), strict=True):
                found = np.abs(value.reshape(-1, value.shape[-1]).astype(np.float64)).max(0, initial=0)
                largest[name] = np.maximum(largest[name], found) if name in largest else found
    if not runs:
        raise ValueError("SmoothQuant: the calibration_data_reader gave no data")
    return largest


def _apply(graph, name, nodes, weights, factors, folding):
    for node, weight in zip(nodes, weights, strict=True):
        scaled = weight * factors[:, None]
        _replace_weight(graph, node, 1, scaled.T if _weight_axis(graph, node) == 1 else scaled)
    if folding and _is_read_only_by(graph, name, nodes) and _fold(graph, name, 1 / factors):
        return
    divided, inverse = graph.unique_name(f"{name}_smooth_output"), graph.unique_name(f"{name}_smooth_scale")
    for node in nodes:
        node.set_input(0, divided)
    known = graph.type_of(name)
    graph.set_initializer(inverse, (1 / factors).astype(FLOAT_NUMPY_TYPES[ELEMENT_NUMBERS[known.dtype]]))
    graph.set_type(divided, known.dtype, known.shape)
    graph.add_node("Mul", [name, inverse], [divided], f"{name}_smooth_mul")


def _replace_weight(graph, node, index, array):
    """Gives a node a weight of its own, which nobody else reads."""
    name = node.inputs[index]
    dtype = graph.tensor(name).dtype
    own = graph.unique_name(f"{name}_smooth")
    graph.set_initializer(own, np.ascontiguousarray(array).astype(dtype))
    node.set_input(index, own)
    if not graph.consumers(name) and name not in graph.outputs and not graph.is_read_by_bodies(name):
        graph.remove_initializer(name)


def _is_read_only_by(graph, name, nodes):
    others = [node for node in graph.consumers(name) if node not in nodes or node.inputs.count(name) > 1]
    return not others and name not in graph.outputs and not graph.is_read_by_bodies(name)


def _fold(graph, name, inverse):
    """Multiplies the channels of a value by the numbers given, in the weights of the node that makes it. Returns
    whether it could; nothing is changed if not."""
    changes = _changes(graph, name, inverse)
    for node, index, array in changes or ():
        _replace_weight(graph, node, index, array)
    return changes is not None


def _changes(graph, name, inverse):
    """(node, index of an input, its new contents) that together multiply a value by `inverse`; None if there are
    none."""
    node = graph.producer(name)
    if node is None or node.domain not in ("", "ai.onnx"):
        return None

    def of(index):
        known = graph.initializers.get(node.inputs[index]) if index < len(node.inputs) else None
        return graph.tensor(node.inputs[index]) if known is not None and known.is_constant else None

    def spread(array):
        return array is not None and array.shape[-1:] in ((1,), inverse.shape, ())
    if node.op_type == "LayerNormalization" and of(1) is not None and of(1).shape == inverse.shape:
        has_bias = len(node.inputs) > 2 and node.inputs[2]
        if has_bias and of(2) is None:
            return None
        return [(node, 1, of(1) * inverse), *([(node, 2, of(2) * inverse)] if has_bias else [])]
    if node.op_type in ("Mul", "Add"):
        place = next((index for index in (0, 1) if spread(of(index))), None)
        if place is None:
            return None
        own = [(node, place, of(place) * inverse)]
        if node.op_type == "Mul":
            return own
        source = node.inputs[1 - place]
        if not _is_read_only_by(graph, source, [node]):
            return None
        before = _changes(graph, source, inverse)
        return None if before is None else own + before
    if _weight_axis(graph, node) is None:
        return None
    weight = of(1)
    scaled = [(node, 1, weight * (inverse[:, None] if _weight_axis(graph, node) == 1 else inverse))]
    if node.op_type == "Gemm" and len(node.inputs) > 2 and node.inputs[2]:
        if not spread(of(2)):
            return None
        scaled.append((node, 2, of(2) * inverse))
    return scaled
