"""MatMul and the Add behind it as Gemm, whose bias becomes int32 with the scale of the products: it neither loses
accuracy nor costs a rounding of its own."""
import numpy as np

_FLOATS = ("float", "double", "float16", "bfloat16")


def replace_matmul_and_add(model):
    """In all graphs, where the product is one of matrices and the sum adds a row, a column or a matrix to it. Types
    have to be known. A first input of another rank is reshaped before and behind where its shape is known, but not in
    attention."""
    views = sum(node.op_type == "Reshape" for graph in model.graphs if graph is not None for node in graph.nodes)
    for graph in model.graphs:
        for node in graph.nodes if graph is not None else ():
            if node.op_type == "MatMul" and node.domain in ("", "ai.onnx"):
                _replace(model, graph, node)
    if views < sum(node.op_type == "Reshape" for graph in model.graphs if graph is not None for node in graph.nodes):
        model.optimize("basic")  # joins views of the same value and views behind each other


def _replace(model, graph, product):
    addition = _only_reader(graph, product.outputs[0])
    if addition is None or addition.op_type != "Add" or addition.domain not in ("", "ai.onnx"):
        return
    bias = addition.inputs[1 - addition.inputs.index(product.outputs[0])]
    known = [_type(model, graph, name) for name in (*product.inputs, bias)]
    if any(one is None or one.shape is None or one.dtype not in _FLOATS for one in known):
        return
    source, weight, summand = (one.shape for one in known)
    if len(weight) != 2:
        return
    rows, columns = source[0] if len(source) == 2 else None, weight[1]
    is_row = summand == (columns,) or summand == (1, columns)
    if not is_row and not (rows is not None and summand in ((rows, columns), (rows, 1))):
        return
    if len(source) == 2:
        _put(graph, product, addition, product.inputs[0], bias, addition.outputs[0])
    elif all(isinstance(one, int) for one in source) and np.prod(source) and not _is_of_attention(
            graph, product, addition):
        _put_between_views(graph, product, addition, bias, source, columns)


def _is_of_attention(graph, product, addition):
    """One of the four products of a layer that adds its attention to what a LayerNormalization gives: fusions look for
    them as they are, and ONNX Runtime leaves them, too."""
    sums = [node for node in graph.consumers(addition.outputs[0]) if node.op_type == "Add"]
    return any(_feeds_attention(graph, graph.producer(name))
               for name in (product.inputs[0], *(name for node in sums for name in node.inputs)))


def _feeds_attention(graph, node):
    if node is None or node.op_type != "LayerNormalization":
        return False
    kinds = [reader.op_type for reader in graph.consumers(node.outputs[0])]
    return kinds.count("MatMul") == 3 and kinds.count("Add") == 1 and kinds.count("Shape") == len(kinds) - 4


def _only_reader(graph, name):
    readers = graph.consumers(name)
    if len(readers) != 1 or readers[0].inputs.count(name) != 1:
        return None
    return None if name in graph.outputs or graph.is_read_by_bodies(name) else readers[0]


def _type(model, graph, name):
    """Of a value of this graph or of one around it; None if it is not known."""
    while graph.parent is not None and not (name in graph.inputs or name in graph.initializers or graph.producer(name)):
        graph = model.graphs[graph.parent]
    return graph.type_of(name)


def _put(graph, product, addition, source, bias, output):
    graph.remove_node(addition)
    graph.remove_node(product)
    graph.add_node("Gemm", [source, product.inputs[1], bias], [output],
                   f"{product.name}/MatMulAddFusion" if product.name else "")


def _put_between_views(graph, product, addition, bias, source, columns):
    output, rows = addition.outputs[0], int(np.prod(source[:-1]))
    names = {}
    for what, shape in (("before", [rows, source[-1]]), ("behind", [*source[:-1], columns])):
        names[what] = graph.unique_name(f"{output}_shape_{what}")
        graph.set_initializer(names[what], np.int64(shape))
    matrix, made = graph.unique_name(f"{output}_rows"), graph.unique_name(f"{output}_sums")
    graph.add_node("Reshape", [product.inputs[0], names["before"]], [matrix], f"{product.name}/before"
                   if product.name else "")
    _put(graph, product, addition, matrix, bias, made)
    graph.add_node("Reshape", [made, names["behind"]], [output], f"{product.name}/behind" if product.name else "")
