"""Sequences, optionals and control flow."""
import numpy as np
from calls import KINDS, Call, Optional, Sequence, dtype_of
from onnx import TensorProto, helper

from recipes import recipe

BOOL, INT64 = TensorProto.BOOL, TensorProto.INT64


def tensor(kind):
    return helper.make_tensor_type_proto(kind, None)


def sequence(kind):
    return helper.make_sequence_type_proto(tensor(kind))


def element(d, variable="S"):
    """The element type of a type variable that stands for sequences."""
    if variable not in d.types:
        allowed = [KINDS[t[4:-1]] for t in d.allowed[variable] if t[4:-1] in KINDS]
        d.types[variable] = d.pick(*allowed)
    return d.types[variable]


def some(d, kind, low=1, shape=None):
    return Sequence([d.values(kind, shape or d.shape(0, 3, 40)) for _ in range(d.whole(low, 4))], kind)


def position(d, n, last):
    return np.array(d.whole(-n, last), dtype_of(d.kind("I")))


@recipe("SequenceConstruct")
def construct(d):
    kind = d.kind("T")
    return Call(some(d, kind).items, output_types=[sequence(kind)])


@recipe("SequenceEmpty")
def empty(d):
    kind = element(d)
    return Call([], {"dtype": None if kind == 1 and d.chance() else kind}, output_types=[sequence(kind)])


@recipe("SequenceAt")
def at(d):
    given = some(d, element(d))
    n = len(given.items)
    return Call([given, position(d, n, n - 1)], output_types=[tensor(given.kind)])


@recipe("SequenceErase")
def erase(d):
    given = some(d, element(d))
    n = len(given.items)
    return Call([given, position(d, n, n - 1)] if d.chance(0.8) else [given], output_types=[sequence(given.kind)])


@recipe("SequenceInsert")
def insert(d):
    given = some(d, element(d), 1)
    n = len(given.items)
    inputs = [given, d.values(given.kind, d.shape(0, 3, 40))]
    return Call(inputs + ([position(d, n, n)] if d.chance(0.8) else []), output_types=[sequence(given.kind)])


@recipe("SequenceLength")
def length(d):
    return Call([some(d, element(d))], output_types=[tensor(INT64)])


@recipe("SplitToSequence")
def split_to_sequence(d):
    shape = list(d.shape(1, 3))
    shape = [max(n, 1) for n in shape]
    axis = d.axis(len(shape))
    kind = d.kind("T")
    inputs, attributes = [None], {"axis": axis if axis or d.chance() else None}
    dtype = dtype_of(d.kind("I"))
    way = d.pick("none", "scalar", "sizes")
    if way == "scalar":
        inputs.append(np.array(d.whole(1, shape[axis]), dtype))
    elif way == "sizes":
        sizes = [d.whole(1, 3) for _ in range(d.whole(1, 3))]
        shape[axis] = sum(sizes)
        inputs.append(np.array(sizes, dtype))
    else:
        attributes["keepdims"] = d.pick(None, 0, 1)
    inputs[0] = d.values(kind, shape)
    return Call(inputs, attributes, output_types=[sequence(kind)])


@recipe("ConcatFromSequence")
def concat_from_sequence(d):
    shape = list(d.shape(1, 3, 60))
    kind, new = element(d), d.pick(None, 0, 1)
    rank = len(shape) + (1 if new else 0)
    axis, items = d.axis(rank), []
    for _ in range(d.whole(1, 4)):
        if not new:
            shape[axis] = d.dim()
        items.append(d.values(kind, shape))
    return Call([Sequence(items, kind)], {"axis": axis, "new_axis": new}, output_types=[tensor(kind)])


def plain_kind(d, variable="V"):
    kinds = [KINDS[t] for t in d.allowed[variable] if t in KINDS]
    if variable not in d.types:
        d.types[variable] = d.pick(*kinds)
    return d.types[variable]


@recipe("SequenceMap")
def sequence_map(d):
    kind = element(d)
    given = some(d, kind)
    body = helper.make_graph([helper.make_node("Identity", ["a"], ["b"])], "body",
                             [helper.make_value_info("a", tensor(kind))], [helper.make_value_info("b", tensor(kind))])
    return Call([given], {"body": body}, output_types=[sequence(kind)])


@recipe("Optional")
def optional(d):
    kind = plain_kind(d)
    return Call([d.values(kind, d.shape())], output_types=[helper.make_optional_type_proto(tensor(kind))])


def optional_value(d, among):
    kinds = [KINDS[t[9:-1]] for t in d.allowed["O"] if t.startswith("optional(") and t[9:-1] in KINDS]
    kind = d.types.setdefault("O", d.pick(*kinds))
    if among == "sequence":
        return Optional(some(d, kind), kind, True), sequence(kind)
    return Optional(d.values(kind, d.shape()), kind), tensor(kind)


@recipe("OptionalGetElement")
def optional_element(d):
    value, kind = optional_value(d, d.pick("tensor", "sequence"))
    return Call([value], output_types=[kind])


@recipe("OptionalHasElement")
def optional_has(d):
    value, _ = optional_value(d, d.pick("tensor", "sequence"))
    if d.chance(0.3):
        value.value = None
    return Call([value], output_types=[tensor(BOOL)])


@recipe("If")
def branch(d):
    kind = plain_kind(d)
    graphs = []
    for name in ("a", "b"):
        value = d.values(kind, d.shape())
        from calls import constant
        graphs.append(helper.make_graph([helper.make_node("Identity", [name], ["r"])], "branch", [],
                                        [helper.make_value_info("r", tensor(kind))], [constant(value, name)]))
    return Call([np.array(d.chance())], {"then_branch": graphs[0], "else_branch": graphs[1]},
                output_types=[tensor(kind)])


@recipe("Loop")
def loop(d):
    kind = plain_kind(d)
    value = d.values(kind, d.shape(0, 3, 60))
    nodes = [helper.make_node("Identity", ["c"], ["go"]), helper.make_node("Identity", ["v"], ["next"]),
             helper.make_node("Identity", ["i"], ["number"]), helper.make_node("Identity", ["v"], ["each"])]
    infos = {name: helper.make_value_info(name, helper.make_tensor_type_proto(k, s)) for name, k, s in (
        ("i", INT64, ()), ("c", BOOL, ()), ("v", kind, value.shape), ("go", BOOL, ()), ("next", kind, value.shape),
        ("number", INT64, ()), ("each", kind, value.shape))}
    body = helper.make_graph(nodes, "body", [infos[n] for n in "icv"],
                             [infos[n] for n in ("go", "next", "number", "each")])
    turns = d.whole(0, 3)
    scans = [tensor(INT64), tensor(kind)]
    return Call([np.array(turns, np.int64), np.array(True) if d.chance() else None, value], {"body": body}, 3,
                [tensor(kind), *scans], variable={1})


@recipe("Scan")
def scan(d):
    kind = plain_kind(d)
    shape = d.shape(0, 2, 30)
    turns = d.whole(1, 4)
    state = d.values(kind, shape)
    first = d.version == 8  # this version has a batch and lengths of sequences
    rows = d.values(kind, (turns, *shape))
    infos = {n: helper.make_value_info(n, helper.make_tensor_type_proto(kind, shape)) for n in ("s", "x", "t", "y")}
    nodes = [helper.make_node("Identity", ["x"], ["t"]), helper.make_node("Identity", ["s"], ["y"])]
    body = helper.make_graph(nodes, "body", [infos["s"], infos["x"]], [infos["t"], infos["y"]])
    attributes = {"body": body, "num_scan_inputs": 1}
    if first:
        return Call([None, state[None], rows[None]], {**attributes, "directions": d.pick(None, [0], [1])}, 2,
                    [tensor(kind)] * 2)
    attributes["scan_input_directions"] = d.pick(None, [0], [1])
    attributes["scan_output_directions"] = d.pick(None, [0], [1])
    if shape and d.chance(0.4):
        axis = d.whole(0, len(shape))
        rows = np.ascontiguousarray(np.moveaxis(rows, 0, axis))
        attributes["scan_input_axes"] = [axis - len(shape) - 1 if d.version >= 11 and d.chance() else axis]
    if d.chance(0.4):
        attributes["scan_output_axes"] = [d.whole(0, len(shape))]
    return Call([state, rows], attributes, 2, [tensor(kind)] * 2)
