"""benchmarks/growth_models.py - the models of `make bench-growth`, each of a size that the caller chooses.

To add one, write a function of its size that returns (ModelProto, feed), and add it to GRAPHS or RUNS.
"""
import math

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 21
OWN = "growth"  # the domain of functions
X = np.array([0.5, -1.5, 2.0, 0.25], np.float32)
FEED = {"x": X}
NESTED = 30  # branches within branches that a file may hold: protobuf reads 100 messages deep, a branch takes three


def node(op, inputs, outputs, domain="", **attributes):
    """As helper.make_node, which is slow, without a name."""
    made = onnx.NodeProto(op_type=op, input=inputs, output=outputs, domain=domain)
    made.attribute.extend(helper.make_attribute(key, value) for key, value in attributes.items())
    return made


def floats(name, dims=(4,)):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)


def tensor(name, value, dtype=np.float32):
    return numpy_helper.from_array(np.asarray(value, dtype), name)


def model(nodes, initializers=(), inputs=None, outputs=None, functions=()):
    graph = helper.make_graph(nodes, "growth", inputs or [floats("x")], outputs or [floats("y")], list(initializers))
    imports = [helper.make_opsetid("", OPSET), helper.make_opsetid(OWN, 1)]
    return helper.make_model(graph, opset_imports=imports, functions=list(functions), ir_version=10)


def links(count):
    """The names along a chain of `count` nodes, from x to y."""
    return ["x", *(f"v{i}" for i in range(count - 1)), "y"]


def pairs(count):
    names = links(count)
    return zip(names, names[1:], strict=False)


def chain(count):
    """Elementwise nodes, which an optimizer may join."""
    nodes = [node(("Add", "Mul", "Abs", "Sub")[i % 4], [a] if i % 4 == 2 else [a, "c"], [b])
             for i, (a, b) in enumerate(pairs(count))]
    return model(nodes, [tensor("c", 0.99)]), FEED


def products(count):
    """Products of 4 x 4 and activations in turns."""
    nodes = [node("Relu", [a], [b]) if i % 2 else node("MatMul", [a, f"w{i % 14}"], [b])
             for i, (a, b) in enumerate(pairs(count))]
    weights = [tensor(f"w{i}", np.eye(4) + i / 100) for i in range(0, 14, 2)]
    shape = [floats("x", (1, 4))], [floats("y", (1, 4))]
    return model(nodes, weights, *shape), {"x": X[None]}


def wide(count):
    """Readers of one value, and one reader of all of them."""
    nodes = [node("Mul", ["x", f"c{i % 7}"], [f"v{i}"]) for i in range(count - 1)]
    nodes.append(node("Sum", [f"v{i}" for i in range(count - 1)], ["y"]))
    return model(nodes, [tensor(f"c{i}", i) for i in range(7)]), FEED


def tree(count):
    """Each level adds pairs of the one before."""
    level = [f"l{i}" for i in range(max(2, count // 2))]
    nodes = [node("Mul", ["x", f"c{i % 7}"], [name]) for i, name in enumerate(level)]
    while len(level) > 1:
        above = [f"t{len(nodes)}_{i}" for i in range(len(level) // 2)]
        nodes += [node("Add", level[2 * i:2 * i + 2], [name]) for i, name in enumerate(above)]
        level = above + level[2 * len(above):]
    return model([*nodes, node("Abs", level, ["y"])], [tensor(f"c{i}", i + 1) for i in range(7)]), FEED


def initializers(count):
    """A chain in which every node has a constant of its own."""
    nodes = [node("Add" if i % 2 else "Mul", [a, f"c{i}"], [b]) for i, (a, b) in enumerate(pairs(count))]
    return model(nodes, [tensor(f"c{i}", [1, 1, 1, 1 + i / count]) for i in range(count)]), FEED


def constants(count):
    """As `initializers`, with Constant nodes: half of the nodes are these."""
    nodes = []
    for i, (a, b) in enumerate(pairs(count // 2)):
        nodes.append(node("Constant", [], [f"c{i}"], value=tensor("", [1, 1, 1, 1 + i / count])))
        nodes.append(node("Add" if i % 2 else "Mul", [a, f"c{i}"], [b]))
    return model(nodes), FEED


def shapes(count):
    """Blocks of six as exporters write x.view(x.shape[0], -1): every value has an axis that is known when it runs."""
    nodes, at = [], "x"
    blocks = max(1, count // 6)
    for i in range(blocks):
        out = "y" if i == blocks - 1 else f"v{i}"
        nodes += [node("Shape", [at], [f"s{i}"]), node("Gather", [f"s{i}", "zero"], [f"g{i}"], axis=0),
                  node("Unsqueeze", [f"g{i}", "axes"], [f"u{i}"]), node("Concat", [f"u{i}", "rest"], [f"k{i}"], axis=0),
                  node("Reshape", [at, f"k{i}"], [f"r{i}"]), node("Sigmoid", [f"r{i}"], [out])]
        at = out
    constant = [tensor("zero", 0, np.int64), tensor("axes", [0], np.int64), tensor("rest", [-1], np.int64)]
    return model(nodes, constant, [floats("x", ("n", 4))], [floats("y", ("n", 4))]), {"x": X[None]}


def blocks(count):
    """Normalization, a product with bias, GELU written out and a residual: ten nodes each, weights of 16 x 16."""
    nodes, at = [], "x"
    layers = max(1, count // 10)
    for i in range(layers):
        out = "y" if i == layers - 1 else f"v{i}"
        nodes += [node("LayerNormalization", [at, "scale", "shift"], [f"n{i}"]),
                  node("MatMul", [f"n{i}", f"w{i % 8}"], [f"m{i}"]), node("Add", [f"m{i}", "b"], [f"a{i}"]),
                  node("Div", [f"a{i}", "root"], [f"d{i}"]), node("Erf", [f"d{i}"], [f"e{i}"]),
                  node("Add", [f"e{i}", "one"], [f"p{i}"]), node("Mul", [f"a{i}", f"p{i}"], [f"q{i}"]),
                  node("Mul", [f"q{i}", "half"], [f"h{i}"]), node("Identity", [f"h{i}"], [f"i{i}"]),
                  node("Add", [at, f"i{i}"], [out])]
        at = out
    random = np.random.default_rng(0)
    weights = [tensor(f"w{i}", random.standard_normal((16, 16)) / 16) for i in range(8)]
    weights += [tensor("scale", np.ones(16)), tensor("shift", np.zeros(16)), tensor("b", np.full(16, 0.1))]
    weights += [tensor("root", math.sqrt(2)), tensor("one", 1), tensor("half", 0.5)]
    dims = ("n", 16)
    return (model(nodes, weights, [floats("x", dims)], [floats("y", dims)]),
            {"x": random.standard_normal((2, 16), np.float32)})


def convolutions(count):
    """Conv, BatchNormalization, Relu and a residual in turns, 8 channels of 4 x 4."""
    nodes, at = [], "x"
    layers = max(1, count // 4)
    for i in range(layers):
        out = "y" if i == layers - 1 else f"v{i}"
        nodes += [node("Conv", [at, f"w{i % 8}"], [f"c{i}"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
                  node("BatchNormalization", [f"c{i}", *"smtv"], [f"b{i}"]), node("Relu", [f"b{i}"], [f"r{i}"]),
                  node("Add", [at, f"r{i}"], [out])]
        at = out
    random = np.random.default_rng(0)
    weights = [tensor(f"w{i}", random.standard_normal((8, 8, 3, 3)) / 900) for i in range(8)]
    weights += [tensor(name, np.full(8, value)) for name, value in zip("smtv", (1, 0, 0, 1), strict=True)]
    dims = (1, 8, 4, 4)
    return (model(nodes, weights, [floats("x", dims)], [floats("y", dims)]),
            {"x": random.standard_normal(dims, np.float32)})


def quantized(count):
    """QuantizeLinear, DequantizeLinear and Relu in turns."""
    kinds, count = ("QuantizeLinear", "DequantizeLinear", "Relu"), count // 3 * 3
    nodes = [node(kinds[i % 3], [a] if i % 3 == 2 else [a, "s", "z"], [b]) for i, (a, b) in enumerate(pairs(count))]
    return model(nodes, [tensor("s", 0.05), tensor("z", 3, np.uint8)]), FEED


def function(name, body):
    return helper.make_function(OWN, name, ["a"], ["b"], body, [helper.make_opsetid("", OPSET)])


def calls(count):
    """Calls of one function of two nodes."""
    nodes = [node("F", [a], [b], OWN) for a, b in pairs(count)]
    return model(nodes, functions=[function("F", [node("Neg", ["a"], ["t"]), node("Abs", ["t"], ["b"])])]), FEED


def functions(count):
    """Each is called once."""
    first = function("F", [node("Neg", ["a"], ["t"]), node("Abs", ["t"], ["b"])])
    made = []
    for i in range(count):
        made.append(onnx.FunctionProto())
        made[-1].CopyFrom(first)
        made[-1].name = f"F{i}"
    return model([node(f"F{i}", [a], [b], OWN) for i, (a, b) in enumerate(pairs(count))], functions=made), FEED


def outputs(count):
    nodes = [node("Mul", ["x", f"c{i % 7}"], [f"y{i}"]) for i in range(count)]
    return model(nodes, [tensor(f"c{i}", i) for i in range(7)], outputs=[floats(f"y{i}") for i in range(count)]), FEED


def inputs(count):
    names = [f"x{i}" for i in range(count)]
    return (model([node("Sum", names, ["y"])], inputs=[floats(name) for name in names]), dict.fromkeys(names, X))


def branch(name, source, target, op):
    return helper.make_graph([node(op, [source], [target])], name, [], [floats(target)])


def conditions(count):
    """If after If; the condition is an input."""
    nodes = []
    for i, (a, b) in enumerate(pairs(count)):
        nodes.append(node("If", ["flag"], [b], then_branch=branch("t", a, f"t{i}", "Neg"),
                          else_branch=branch("e", a, f"e{i}", "Abs")))
    flag = helper.make_tensor_value_info("flag", TensorProto.BOOL, [])
    return model(nodes, inputs=[floats("x"), flag]), FEED | {"flag": np.array(True)}


def nested_conditions(depth):
    """If in If: every level reads what is outside of all."""
    body = [node("Neg", ["x"], [f"o{depth}"])]
    for at in range(depth, 0, -1):
        graphs = [helper.make_graph(inner, "b", [], [floats(f"o{at}")])
                  for inner in (body, [node("Abs", ["x"], [f"o{at}"])])]
        body = [node("If", ["flag"], [f"o{at - 1}"], then_branch=graphs[0], else_branch=graphs[1])]
    flag = helper.make_tensor_value_info("flag", TensorProto.BOOL, [])
    return model([*body, node("Identity", ["o0"], ["y"])], inputs=[floats("x"), flag]), FEED | {"flag": np.array(True)}


def nested_loops(depth):
    """Loop in Loop, each with one iteration, a number that is an input."""
    body = [node("Neg", [f"a{depth}"], [f"o{depth}"])]
    for at in range(depth, 0, -1):
        ports = [helper.make_tensor_value_info(f"i{at}", TensorProto.INT64, []),
                 helper.make_tensor_value_info(f"k{at}", TensorProto.BOOL, []), floats(f"a{at}")]
        keep = node("Identity", [f"k{at}"], [f"q{at}"])
        graph = helper.make_graph([keep, *body], "b", ports, [
            helper.make_tensor_value_info(f"q{at}", TensorProto.BOOL, []), floats(f"o{at}")])
        body = [node("Loop", ["trips", "", f"a{at - 1}"], [f"o{at - 1}"], body=graph)]
    trips = helper.make_tensor_value_info("trips", TensorProto.INT64, [])
    nodes = [node("Identity", ["x"], ["a0"]), *body, node("Identity", ["o0"], ["y"])]
    return model(nodes, inputs=[floats("x"), trips]), FEED | {"trips": np.array(1)}


def iterations(count):
    """One Loop of `count` iterations over two nodes."""
    ports = [helper.make_tensor_value_info("i", TensorProto.INT64, []),
             helper.make_tensor_value_info("k", TensorProto.BOOL, []), floats("a")]
    results = [helper.make_tensor_value_info("q", TensorProto.BOOL, []), floats("b")]
    nodes = [node("Identity", ["k"], ["q"]), node("Sin", ["a"], ["s"]), node("Add", ["s", "x"], ["b"])]
    loop = node("Loop", ["trips", "", "x"], ["y"], body=helper.make_graph(nodes, "b", ports, results))
    trips = helper.make_tensor_value_info("trips", TensorProto.INT64, [])
    return model([loop], inputs=[floats("x"), trips]), FEED | {"trips": np.array(count)}


def encoder(layers=6, width=384, heads=12):
    """Layers of a transformer as exporters write them, over x [batch, length, width]."""
    random = np.random.default_rng(0)
    weights = [tensor("split", [0, 0, heads, width // heads], np.int64), tensor("merged", [0, 0, width], np.int64),
               tensor("root", math.sqrt(2)), tensor("one", 1), tensor("half", 0.5),
               tensor("scaled", math.sqrt(heads / width)), tensor("scale", np.ones(width)),
               tensor("shift", np.zeros(width))]
    nodes = []

    def product(source, name, columns, rows=width):
        weights.append(tensor(f"{name}_w", random.standard_normal((rows, columns)) / math.sqrt(rows)))
        weights.append(tensor(f"{name}_b", random.standard_normal(columns) / 10))
        nodes.append(node("MatMul", [source, f"{name}_w"], [f"{name}_m"]))
        nodes.append(node("Add", [f"{name}_m", f"{name}_b"], [name]))
        return name

    def one(op, sources, name, **attributes):
        nodes.append(node(op, sources, [name], **attributes))
        return name

    def split(source, name, perm):
        return one("Transpose", [one("Reshape", [source, "split"], f"{name}_r")], f"{name}_t", perm=perm)

    at = "x"
    for i in range(layers):
        query, key, value = (split(product(at, f"{name}{i}", width), f"{name}{i}", perm)
                             for name, perm in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])))
        scores = one("Mul", [one("MatMul", [query, key], f"dot{i}"), "scaled"], f"scores{i}")
        mixed = one("MatMul", [one("Softmax", [scores], f"share{i}", axis=-1), value], f"mixed{i}")
        back = one("Reshape", [one("Transpose", [mixed], f"turn{i}", perm=[0, 2, 1, 3]), "merged"], f"back{i}")
        added = one("Add", [at, product(back, f"o{i}", width)], f"first{i}")
        normal = one("LayerNormalization", [added, "scale", "shift"], f"n{i}", axis=-1)
        wider = product(normal, f"up{i}", 4 * width)
        curve = one("Add", [one("Erf", [one("Div", [wider, "root"], f"d{i}")], f"erf{i}"), "one"], f"curve{i}")
        gelu = one("Mul", [one("Mul", [wider, curve], f"g{i}"), "half"], f"gelu{i}")
        added = one("Add", [normal, product(gelu, f"down{i}", width, 4 * width)], f"second{i}")
        at = one("LayerNormalization", [added, "scale", "shift"], "y" if i == layers - 1 else f"l{i}", axis=-1)
    dims = ("batch", "length", width)
    return model(nodes, weights, [floats("x", dims)], [floats("y", dims)])


def residual_network(width=32, stages=4):
    """Stages of two residual blocks with doubled channels and halved maps, over x [batch, 3, height, width]."""
    random = np.random.default_rng(0)
    nodes, weights = [], []

    def convolution(source, name, channels, filters, size, stride):
        weights.append(tensor(f"{name}_w", random.standard_normal((filters, channels, size, size))
                              / math.sqrt(channels * size * size)))
        weights.append(tensor(f"{name}_b", random.standard_normal(filters) / 10))
        nodes.append(node("Conv", [source, f"{name}_w", f"{name}_b"], [name], kernel_shape=[size, size],
                          strides=[stride, stride], pads=[size // 2] * 4))
        return name

    def relu(source):
        nodes.append(node("Relu", [source], [f"{source}_a"]))
        return f"{source}_a"

    channels, at = 3, "x"
    at = relu(convolution(at, "stem", channels, width, 7, 4))
    channels = width
    for stage in range(stages):
        for block in range(2):
            filters, stride, name = width << stage, 1 + (block == 0 and stage > 0), f"s{stage}b{block}"
            first = relu(convolution(at, f"{name}c1", channels, filters, 3, stride))
            second = convolution(first, f"{name}c2", filters, filters, 3, 1)
            if channels != filters:
                at = convolution(at, f"{name}p", channels, filters, 1, stride)
            nodes.append(node("Add", [at, second], [f"{name}s"]))
            at, channels = relu(f"{name}s"), filters
    nodes.append(node("GlobalAveragePool", [at], ["pooled"]))
    nodes.append(node("Flatten", ["pooled"], ["y"]))
    return model(nodes, weights, [floats("x", ("batch", 3, "height", "width"))], [floats("y", ("batch", channels))])


TENS = (10, 100, 1_000, 10_000, 100_000)
# Name: (what grows, sizes, function of a size). Time of creation, of the first and of a later run, and memory.
GRAPHS = {make.__name__: ("nodes", TENS, make) for make in (
    chain, products, wide, tree, blocks, convolutions, quantized, shapes, constants, calls, conditions)}
GRAPHS |= {"initializers": ("initializers", TENS, initializers), "functions": ("functions", TENS, functions),
           "inputs": ("inputs", TENS, inputs), "outputs": ("outputs", TENS, outputs),
           "nested-conditions": ("levels", (1, 3, 10, NESTED), nested_conditions),
           "nested-loops": ("levels", (1, 3, 10, 20, NESTED), nested_loops),
           "iterations": ("iterations", TENS, iterations)}
# Name: (what grows, sizes, function that makes the model, dimensions of x for a size). Time of a run.
RUNS = {
    "encoder-batch": ("batch", (1, 2, 4, 8, 16, 32, 64), encoder, lambda size: (size, 32, 384)),
    "encoder-length": ("length", (16, 32, 64, 128, 256, 512, 1024, 2048, 4096), encoder,
                        lambda size: (1, size, 384)),
    "cnn-batch": ("batch", (1, 2, 4, 8, 16, 32, 64), residual_network,
                                     lambda size: (size, 3, 224, 224)),
    "cnn-image": ("pixels a side", (32, 64, 128, 224, 384, 512, 1024), residual_network,
                                     lambda size: (1, 3, size, size)),
}


def free_axes():
    """`blocks` over x [a, b, c, d, 16], whose axes a to d are free."""
    made = blocks(60)[0]
    for port in (*made.graph.input, *made.graph.output):
        port.CopyFrom(floats(port.name, ("a", "b", "c", "d", 16)))
    return made


def mixed(shapes):
    """In an order without a trend."""
    return [tuple(int(size) for size in shapes[place]) for place in np.random.default_rng(0).permutation(len(shapes))]


def grid(*sizes):
    return np.stack([axis.ravel() for axis in np.meshgrid(*(np.arange(1, size + 1) for size in sizes))], axis=1)


# Name: (function that makes the model, numbers of distinct shapes, function that returns the shapes of x).
DISTINCT = {
    "new-shapes": (free_axes, (1, 10, 100, 1_000, 10_000),
                                lambda: [(*shape, 16) for shape in mixed(grid(10, 10, 10, 10))]),
    "new-shapes-encoder": (lambda: encoder(2, 32, 4), (1, 10, 100, 1_000),
                                 lambda: [(*shape, 32) for shape in mixed(grid(20, 50))]),
}
