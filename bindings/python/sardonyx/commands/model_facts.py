"""What a model has that can be quantized, and what of that the user excludes."""
import fnmatch
from collections import Counter

from sardonyx.commands.failure import Failure
from sardonyx.quantization.base_quantizer import QUANTIZABLE

# Operators that only quantized models have.
QUANTIZED = {
    "QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "MatMulInteger", "ConvInteger", "QLinearConv",
    "QLinearMatMul", "MatMulIntegerToFloat", "DynamicQuantizeMatMul", "DynamicQuantizeLSTM", "QAttention", "QGemm",
    "MatMulNBits", "MatMulBnb4", "GatherBlockQuantized", "QMoE", "QLinearAdd", "QLinearMul", "QEmbedLayerNormalization",
}
# Operators with weights, and the place of these among their inputs.
PRODUCTS = {"Conv": 1, "ConvTranspose": 1, "MatMul": 1, "Gemm": 1, "Attention": 1, "LSTM": 1}
_CONVOLUTIONS = {"Conv", "ConvTranspose"}
_MOST_NAMED = 5


def refuse_quantized(model, name):
    """Raises a Failure if the model is quantized already."""
    counts = Counter(node.op_type for graph in model.graphs if graph is not None for node in graph.nodes
                     if node.op_type in QUANTIZED)
    if counts:
        raise Failure(f"'{name}' is quantized already: it has " + ", ".join(
            f"{count} {kind}" for kind, count in counts.most_common(_MOST_NAMED))
            + ". Give the model that it was made from.")


def products(graph):
    """Nodes with weights of floats that nobody may override."""
    found = []
    for node in graph.nodes:
        place = PRODUCTS.get(node.op_type)
        if place is None or len(node.inputs) <= place:
            continue
        known = graph.initializers.get(node.inputs[place])
        is_constant = known is not None and known.is_constant
        if not is_constant:
            maker = graph.producer(node.inputs[place])
            is_constant = maker is not None and maker.op_type in ("Constant", "Transpose", "Identity") and (
                maker.op_type == "Constant" or maker.inputs[0] in graph.initializers)
        kind = known.type.dtype if known is not None else "float"
        if is_constant and kind in QUANTIZABLE:
            found.append(node)
    return found


def products_of_values(graph):
    """Names of the MatMul nodes without weights, such as those of attention."""
    weighted = {node.name for node in products(graph)}
    return [node.name for node in graph.nodes if node.op_type == "MatMul" and node.name not in weighted]


def refuse_without_products(model, name):
    """Raises a Failure if there is nothing to quantize."""
    if products(model.graph):
        return
    counts = Counter(node.op_type for node in model.graph.nodes)
    inner = sum(len(products(graph)) for graph in model.graphs[1:] if graph is not None)
    note = (f" {inner} nodes in bodies of control flow have weights; bodies stay as they are here: use "
            "sardonyx.quantization with EnableSubgraph." if inner else "")
    raise Failure(f"'{name}' has nothing to quantize: no {', '.join(sorted(PRODUCTS))} with weights of floats; its "
                  "operators are " + ", ".join(f"{count} {kind}" for kind, count in counts.most_common(_MOST_NAMED))
                  + ("" if len(counts) <= _MOST_NAMED else " ...") + "." + note)


def is_convolutional(graph):
    """Whether convolutions do most of the work, by their number."""
    found = products(graph)
    return sum(node.op_type in _CONVOLUTIONS for node in found) * 2 > len(found)


def has_recurrence(graph):
    return any(node.op_type == "LSTM" for node in products(graph))


def name_all(model):
    """Gives nodes without names, or with one that another has, a name of their own."""
    seen = set()
    for graph in model.graphs:
        for node in graph.nodes if graph is not None else ():
            if not node.name or node.name in seen:
                base = node.name or f"{node.op_type}_{next((one for one in node.outputs if one), node.id)}"
                name, number = base, 0
                while name in seen:
                    number += 1
                    name = f"{base}_{number}"
                node.set_operator(name=name)
            seen.add(node.name)


def excluded_names(model, prepared, patterns):
    """Names of the prepared model's nodes that are excluded by name, by pattern or by operator. A node that another
    absorbed while the model was prepared excludes that one."""
    chosen = set()
    for pattern in patterns:
        found = {node.name for node in prepared.graph.nodes if _fits(node, pattern)}
        before = [node for node in model.graph.nodes if _fits(node, pattern)]
        if not found and not before:
            kinds = sorted({node.op_type for node in model.graph.nodes})
            names = [node.name for node in products(prepared.graph)]
            raise Failure(f"--exclude: no node has the name '{pattern}', and no pattern or operator fits it; operators "
                          f"are {', '.join(kinds)}; nodes with weights are {', '.join(names[:_MOST_NAMED])}"
                          + (" ..." if len(names) > _MOST_NAMED else ""))
        left = {node.name for node in prepared.graph.nodes}
        for node in before:
            if node.name not in left:
                found |= _absorbers(model.graph, node, left)
        chosen |= found
    return sorted(chosen)


def _fits(node, pattern):
    return node.name == pattern or node.op_type == pattern or fnmatch.fnmatchcase(node.name, pattern)


def _absorbers(graph, node, left):
    """The next nodes before this one that are still there."""
    waiting, seen = [node], set()
    while waiting:
        one = waiting.pop()
        for name in one.inputs:
            maker = graph.producer(name)
            if maker is None or maker.name in seen:
                continue
            seen.add(maker.name)
            if maker.name in left:
                return {maker.name}
            waiting.append(maker)
    return set()
