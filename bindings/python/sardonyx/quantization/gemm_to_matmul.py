"""Gemm as MatMul and Add, which quantizers with ranges measured in each run have rules for."""
import numpy as np


def replace_gemm_with_matmul(model):
    """Replaces each Gemm of all graphs whose alpha and beta are 1 and whose first input is not transposed."""
    for graph in model.graphs:
        if graph is not None:
            transposed = {}
            for node in graph.nodes:
                if node.op_type == "Gemm" and node.domain in ("", "ai.onnx"):
                    _replace(model, graph, node, transposed)


def _replace(model, graph, node, transposed):
    if not _is_product(node):
        return
    source, weight, output, name = node.inputs[0], node.inputs[1], node.outputs[0], node.name
    bias = node.inputs[2] if len(node.inputs) > 2 else ""
    if node.attribute("transB", 0):
        weight = _transposed(model, graph, node, weight, transposed)
    graph.remove_node(node)
    product = f"{output}_MatMul" if bias else output
    graph.add_node("MatMul", [source, weight], [product], f"{name}_MatMul" if name else "")
    if bias:
        graph.add_node("Add", [product, bias], [output], f"{name}_Add" if name else "")


def _transposed(model, graph, node, weight, transposed):
    """The name of the transposed weight: the same one, if nothing else reads it, or another one."""
    if weight in transposed:
        return transposed[weight]
    home = _home(model, graph, weight)
    if home is None:
        output = graph.unique_name(f"{weight}_Transposed")
        graph.add_node("Transpose", [weight], [output], f"{node.name}_Transpose" if node.name else "")
        return output
    flipped = np.ascontiguousarray(home.tensor(weight).T)
    if home is graph and _only_in_such_gemms(graph, weight):
        graph.set_initializer(weight, flipped)
        transposed[weight] = weight
        return weight
    output = graph.unique_name(f"{weight}_Transposed")
    graph.set_initializer(output, flipped)
    transposed[weight] = output
    return output


def _home(model, graph, name):
    """The graph, this one or one around it, whose constant it is."""
    while graph is not None:
        if name in graph.initializers:
            return graph if graph.initializers[name].is_constant else None
        if name in graph.inputs or graph.producer(name) is not None:
            return None
        graph = None if graph.parent is None else model.graphs[graph.parent]
    return None


def _only_in_such_gemms(graph, name):
    """Whether nodes read it only as the transposed second input of a Gemm that is replaced."""
    if name in graph.outputs or graph.is_read_by_bodies(name):
        return False
    return all(node.op_type == "Gemm" and _is_product(node) and node.attribute("transB", 0) and
               [index for index, one in enumerate(node.inputs) if one == name] == [1]
               for node in graph.consumers(name))


def _is_product(gemm):
    return (gemm.attribute("alpha", 1.0) == 1.0 and gemm.attribute("beta", 1.0) == 1.0 and
            not gemm.attribute("transA", 0))
