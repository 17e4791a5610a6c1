"""Graphs with a hundred thousand nodes, initializers, or readers of one value.

Each loads and runs, or causes the error of a limit. Code that takes quadratic time would need hours and exceed the time
limit of these tests.
"""
import functools

import numpy as np
import onnx
import pytest
import sardonyx
from onnx import TensorProto, helper

MANY = 100_000
LIMITS = {"load_timeout_ms": 240_000, "run_timeout_ms": 120_000, "max_load_memory": 4 << 30, "max_run_memory": 4 << 30}
LEVELS = sardonyx.GraphOptimizationLevel
OWN = "tests"
X = np.array([0.5, -1.5], np.float32)


def floats(name, dims=("n",)):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)


def number(name, value):
    return helper.make_tensor(name, TensorProto.FLOAT, [], [value])


def model(nodes, initializers=(), functions=()):
    graph = helper.make_graph(nodes, "g", [floats("x")], [floats("y")], list(initializers))
    imports = [helper.make_opsetid("", 21), helper.make_opsetid(OWN, 1)]
    made = helper.make_model(graph, opset_imports=imports, functions=list(functions), ir_version=10)
    return made.SerializeToString()


def named(op, inputs, output, **attributes):
    """As helper.make_node, which is slow, without a name."""
    node = onnx.NodeProto(op_type=op, input=inputs, output=[output])
    node.attribute.extend(helper.make_attribute(key, value) for key, value in attributes.items())
    return node


def chain():
    names = ["x", *(f"v{i}" for i in range(MANY - 1)), "y"]
    nodes = [named("Add", [one, "one"], other) for one, other in zip(names, names[1:], strict=False)]
    return model(nodes, [number("one", 1)]), X + MANY


def chain_backwards():
    """A node reads what the next one in the file makes."""
    names = ["x", *(f"v{i}" for i in range(MANY - 1)), "y"]
    nodes = [named("Sub", [one, "one"], other) for one, other in zip(names, names[1:], strict=False)]
    return model(nodes[::-1], [number("one", 1)]), X - MANY


def chain_of_views():
    names = ["x", *(f"v{i}" for i in range(MANY - 1)), "y"]
    nodes = [named(("Identity", "Neg")[i % 2], [one], other) for i, (one, other) in
             enumerate(zip(names, names[1:], strict=False))]
    return model(nodes), X


def equal_readers_of_one_value():
    nodes = [named("Neg", ["x"], f"v{i}") for i in range(MANY)]
    return model([*nodes, named("Sum", [f"v{i}" for i in range(MANY)], "y")]), -X * MANY


def other_readers_of_one_value():
    nodes = [named("Mul", ["x", f"c{i % 7}"], f"v{i}") for i in range(MANY)]
    made = model([*nodes, named("Sum", [f"v{i}" for i in range(MANY)], "y")], [number(f"c{i}", i) for i in range(7)])
    return made, X * sum(i % 7 for i in range(MANY))


def pairs():
    """A tree: each level joins two of the one before."""
    level, nodes = [f"c{i}" for i in range(MANY // 2)], []
    initializers = [number(name, 1) for name in level]
    while len(level) > 1:
        above = [f"{len(nodes)}_{i}" for i in range(len(level) // 2)]
        nodes += [named("Add", [level[2 * i], level[2 * i + 1]], name) for i, name in enumerate(above)]
        level = above + level[2 * len(above):]
    return model([*nodes, named("Add", ["x", level[0]], "y")], initializers), X + MANY // 2


def initializers():
    return model([named("Sum", ["x", *(f"c{i}" for i in range(MANY))], "y")],
                 [number(f"c{i}", 1) for i in range(MANY)]), X + MANY


def initializers_that_nobody_reads():
    return model([named("Neg", ["x"], "y")], [number(f"c{i}", i) for i in range(MANY)]), -X


def function(name, body):
    return helper.make_function(OWN, name, ["a"], ["b"], body, [helper.make_opsetid("", 21),
                                                                helper.make_opsetid(OWN, 1)])


def functions(count=MANY):
    """Each is called once."""
    names = ["x", *(f"v{i}" for i in range(count - 1)), "y"]
    calls = [onnx.NodeProto(op_type=f"F{i}", domain=OWN, input=[names[i]], output=[names[i + 1]]) for i in range(count)]
    neg = function("F", [named("Neg", ["a"], "b")])
    made = []
    for i in range(count):
        other = onnx.FunctionProto()
        other.CopyFrom(neg)
        other.name = f"F{i}"
        made.append(other)
    return model(calls, functions=made), X


def branches(depth):
    """If in If in If."""
    body = [named("Neg", ["x"], f"o{depth}")]
    for at in range(depth, 0, -1):
        graphs = [helper.make_graph(inner, "b", [], [floats(f"o{at}")])
                  for inner in (body, [named("Abs", ["x"], f"o{at}")])]
        body = [named("If", ["yes"], f"o{at - 1}", then_branch=graphs[0], else_branch=graphs[1])]
    yes = helper.make_tensor("yes", TensorProto.BOOL, [], [True])
    return model([*body, named("Identity", ["o0"], "y")], [yes]), -X


def message(field, contents):
    """A field of a message, as protobuf writes it, which onnx does only to its own depth."""
    length, size = bytearray(), len(contents)
    while size > 127:
        length.append(size & 127 | 128)
        size >>= 7
    return bytes([field << 3 | 2, *length, size]) + contents


def branches_as_bytes(depth):
    graph = b""
    for _ in range(depth):
        branch = message(1, b"then_branch") + message(6, graph)
        graph = message(1, message(2, b"y") + message(4, b"If") + message(5, branch))
    return b"\x08\x0a" + message(7, graph) + message(8, b"\x10\x15")


CASES = {make.__name__: make for make in (
    chain, chain_backwards, chain_of_views, equal_readers_of_one_value, other_readers_of_one_value, pairs, initializers,
    initializers_that_nobody_reads, functions)}
CASES["branches"] = functools.partial(branches, 20)


def run(data, level, limits=()):
    options = sardonyx.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = level
    options.intra_op_num_threads = 1
    for name, limit in {**LIMITS, **dict(limits)}.items():
        options.add_session_config_entry(f"sardonyx.{name}", str(limit))
    return sardonyx.InferenceSession(data, options).run(None, {"x": X})[0]


@pytest.mark.parametrize(("name", "level"), [*((name, LEVELS.ORT_ENABLE_ALL) for name in CASES),
                                             ("chain", LEVELS.ORT_DISABLE_ALL), ("functions", LEVELS.ORT_DISABLE_ALL)])
def test_a_hundred_thousand_of_one_thing(name, level):
    data, want = CASES[name]()
    assert run(data, level).tolist() == want.tolist()


def test_the_limit_of_time_ends_loading():
    with pytest.raises(sardonyx.ModelLoadCanceled, match="load_timeout_ms"):
        run(chain()[0], LEVELS.ORT_ENABLE_ALL, {"load_timeout_ms": 1})


def test_the_limit_of_memory_ends_loading():
    with pytest.raises(sardonyx.Fail, match="max_load_memory"):
        run(initializers()[0], LEVELS.ORT_ENABLE_ALL, {"max_load_memory": 1 << 16})


def test_branches_in_branches_beyond_the_limit():
    """A file may nest a hundred messages; a branch takes three."""
    with pytest.raises(sardonyx.InvalidProtobuf, match="100"):
        run(branches_as_bytes(200), LEVELS.ORT_DISABLE_ALL)
    with pytest.raises(sardonyx.InvalidGraph, match="If"):  # read, and no good model
        run(branches_as_bytes(5), LEVELS.ORT_DISABLE_ALL)
