"""Models of a single node with hostile numbers, shapes, types and attributes, made from calls that work.

The calls are those of the official suite and of single_nodes.py. The same name and seed always make the same case.
To add a kind of change, write a method of Mutation and add its row to CHANGES.
"""
import copy
import dataclasses
import functools
import random
import warnings

import numpy as np
import onnx
import onnxruntime.capi.onnxruntime_pybind11_state as ort
import single_nodes
from onnx import AttributeProto, helper

NODE = "it"
INTEGERS = [0, 1, -1, 2, -2, 3, 7, 64, 255, -128, 1 << 15, 1 << 24, (1 << 31) - 1, -(1 << 31), 1 << 31, 1 << 32,
            1 << 40, (1 << 62) + 1, (1 << 63) - 1, -(1 << 63), -(1 << 63) + 1]
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, 1e-45, 1e-30, 3e38, -3e38, float("inf"), float("-inf"), float("nan"), 2.0**31,
          2.0**63, -1e10, 65536.0]
STRINGS = ["", "x", "NOTSET", "SAME_UPPER", "VALID", "max", "sum", "linear", "\xff", "a" * 5000, "\n", "...",
           "ij,jk->ik", "[", "(a*)*b", "Relu", "LOGISTIC", "BRANCH_EQ", "LEAF", "reverse", "bidirectional"]
DTYPES = [np.float32, np.float64, np.float16, np.int64, np.int32, np.int8, np.uint8, np.uint64, np.bool_, object]
GRAPHS = (AttributeProto.GRAPH, AttributeProto.GRAPHS)


@dataclasses.dataclass
class Case:
    """One node: `model` names its inputs as the keys of `feeds`."""
    name: str
    model: onnx.ModelProto
    feeds: dict
    changes: list = dataclasses.field(default_factory=list)


def type_of(value, shape=True):
    if isinstance(value, list):
        return helper.make_sequence_type_proto(type_of(value[0] if value else np.zeros(0, np.float32), False))
    element = onnx.TensorProto.STRING if value.dtype == object else helper.np_dtype_to_tensor_dtype(value.dtype)
    return helper.make_tensor_type_proto(element, list(value.shape) if shape else None)


def tensor_of(value, name):
    """An initializer; numpy knows the small floats and integers by ml_dtypes alone."""
    if value.dtype == object:
        return helper.make_tensor(name, onnx.TensorProto.STRING, value.shape,
                                  [str(word).encode("utf-8") for word in value.reshape(-1)])
    element = helper.np_dtype_to_tensor_dtype(value.dtype)
    if value.dtype.kind == "V":
        return helper.make_tensor(name, element, value.shape, value.reshape(-1).astype(np.float32))
    return onnx.numpy_helper.from_array(value, name)


def call_model(domain, op, inputs, outputs, attributes):
    names = [f"x{at}" if value is not None else "" for at, value in enumerate(inputs)]
    node = helper.make_node(op, names, [f"y{at}" for at in range(outputs)], NODE, domain=domain, **attributes)
    infos = [helper.make_value_info(name, type_of(value)) for name, value in zip(names, inputs, strict=True) if name]
    graph = helper.make_graph([node], "g", infos, [helper.make_empty_tensor_value_info(name) for name in node.output])
    imports = [helper.make_opsetid(*each) for each in (("", 21), (single_nodes.MS, 1), (single_nodes.ML, 3),
                                                            (single_nodes.OWN, 1), (single_nodes.LAST, 1),
                                                            (single_nodes.BLOCKED, 1))]
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


def own_calls():
    for at, (domain, op, inputs, outputs, attributes) in enumerate(single_nodes.CALLS):
        inputs = [value if value is None or isinstance(value, list) else np.asarray(value) for value in inputs]
        feeds = {f"x{k}": value for k, value in enumerate(inputs) if value is not None}
        yield Case(f"{op}#{at}", call_model(domain, op, inputs, outputs, attributes), feeds)


def suite_calls():
    from onnx.backend.test.case.node import collect_testcases
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = collect_testcases(None)
    for case in sorted(found, key=lambda case: case.name):
        graph = case.model.graph
        if len(graph.node) != 1 or not case.data_sets or case.model.ByteSize() > 100_000:
            continue
        model = copy.deepcopy(case.model)
        model.graph.node[0].name = NODE
        given = [onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value
                 for value in case.data_sets[0][0]]
        given = [value if value is None or isinstance(value, (list, np.ndarray)) else np.asarray(value)
                 for value in given]
        if sum(value.size for value in given if isinstance(value, np.ndarray)) > 20_000:
            continue
        names = [value.name for value in graph.input]
        yield Case(case.name, model, dict(zip(names, given, strict=False)))


@functools.cache
def parents():
    """{operator: its cases}"""
    found = {}
    for case in [*own_calls(), *suite_calls()]:
        node = case.model.graph.node[0]
        found.setdefault((node.domain, node.op_type), []).append(case)
    return found


@functools.cache
def attribute_types():
    """{(domain, operator): {name: AttributeProto's type}} of the newest version."""
    found = {}
    for schema in ort.get_all_operator_schema():
        types = {name: int(getattr(AttributeProto, str(a.type).split(".")[-1], 0))
                 for name, a in schema.attributes.items()}
        found.setdefault((schema.domain, schema.name), {}).update(types)
    return found


class Mutation:
    """Changes of one case. What can't be changed that way stays as it is."""

    def __init__(self, case, seed):
        self.random = random.Random(f"{case.name}/{seed}")
        self.case = Case(f"{case.name}/{seed}", copy.deepcopy(case.model), dict(case.feeds))
        self.node = self.case.model.graph.node[0]

    def any(self, items):
        return self.random.choice(items)

    def number(self):
        return self.any(INTEGERS) if self.random.random() < 0.7 else self.random.randrange(-9, 10)

    def real(self):
        return self.any(FLOATS) if self.random.random() < 0.8 else self.random.uniform(-4, 4)

    def note(self, *words):
        self.case.changes.append(" ".join(str(word)[:60] for word in words))

    def tensor(self, smallest=0):
        names = [name for name, value in self.case.feeds.items()
                 if isinstance(value, np.ndarray) and value.size >= smallest]
        return self.any(names) if names else None

    def put(self, name, value):
        self.case.feeds[name] = value

    # ---- inputs

    def dimension(self):
        name = self.tensor()
        if name is None or self.case.feeds[name].ndim == 0:
            return
        value = self.case.feeds[name]
        axis = self.random.randrange(value.ndim)
        count = self.any([0, 0, 1, 2, value.shape[axis] + 1, max(0, value.shape[axis] - 1), 2 * value.shape[axis], 17])
        if value.size == 0:
            shape = list(value.shape)
            shape[axis] = count
            if np.prod([float(dim) for dim in shape]) > 1e6:
                return
            value = np.zeros(shape, value.dtype) if value.dtype != object else np.full(shape, "", object)
        else:
            value = np.take(value, np.arange(count) % value.shape[axis], axis)
        self.put(name, value)
        self.note("dimension", axis, "of", name, "is", count)

    def empty_but_huge(self):
        name = self.tensor()
        if name is None or self.case.feeds[name].ndim < 2:
            return
        value = self.case.feeds[name]
        shape = list(value.shape)
        if self.random.random() < 0.3:
            shape = [self.any([1 << 20, 1 << 31, 1 << 40, 3]) for _ in shape]
        empty, huge = self.random.sample(range(value.ndim), 2)
        shape[huge] = self.any([1 << 20, 1 << 31, 1 << 40, 1 << 56])
        shape[empty] = 0
        if np.prod([float(dim) for dim in shape if dim]) < 2.0**58:
            self.put(name, np.zeros(shape, value.dtype))
            self.note(name, "has shape", shape)

    def rank(self):
        name = self.tensor()
        if name is None:
            return
        value = self.case.feeds[name]
        which = self.random.randrange(6)
        if which == 5:  # more dimensions than kernels have room for
            ones = (1,) * (self.any([9, 17, 33, 64]) - value.ndim)
            value = value.reshape((*ones, *value.shape) if self.random.random() < 0.5 else (*value.shape, *ones))
        elif which == 0 and value.ndim < 64:  # numpy has no more
            value = value[None]
        elif which == 1 and value.ndim < 64:
            value = value[..., None]
        elif which == 2:
            value = value.reshape(-1)
        elif which == 3 and value.ndim and value.shape[0]:
            value = value[0]
        elif value.size:
            value = value.reshape(-1)[0]
        self.put(name, np.asarray(value))
        self.note("shape of", name, "is", list(np.asarray(value).shape))

    def contents(self):
        name = self.tensor(smallest=1)
        if name is None:
            return
        value = self.case.feeds[name].copy()
        flat = value.reshape(-1)
        for _ in range(self.any([1, 1, 2, flat.size])):
            at = self.random.randrange(flat.size)
            if value.dtype == object:
                flat[at] = self.any(STRINGS)
            elif value.dtype.kind in "iu":
                bounds = np.iinfo(value.dtype)
                flat[at] = min(max(self.number(), bounds.min), bounds.max)
            elif value.dtype.kind == "b":
                flat[at] = self.random.random() < 0.5
            else:
                with np.errstate(all="ignore"), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    flat[at] = np.array(self.real()).astype(value.dtype)
            self.note(name, "at", at, "is", flat[at])
        self.put(name, value)

    def integers(self):
        """What indexes or counts is more often an integer than not."""
        names = [name for name, value in self.case.feeds.items()
                 if isinstance(value, np.ndarray) and value.size and value.dtype.kind in "iu" and value.itemsize >= 4]
        if not names:
            self.contents()
            return
        name = self.any(names)
        value = self.case.feeds[name].copy()
        bounds, at = np.iinfo(value.dtype), self.random.randrange(value.size)
        value.reshape(-1)[at] = min(max(self.number(), bounds.min), bounds.max)
        self.put(name, value)
        self.note(name, "at", at, "is", value.reshape(-1)[at])

    def element_type(self):
        name = self.tensor()
        if name is None:
            return
        value, dtype = self.case.feeds[name], self.any(DTYPES)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if dtype is object or value.dtype.kind in "OUS":
                value = np.full(value.shape, "1", object) if dtype is object else np.ones(value.shape, dtype)
            else:
                value = value.astype(np.float64).astype(dtype)
        self.put(name, value)
        self.note("type of", name, "is", np.dtype(dtype))

    def precision(self):
        """All floats, or all integers of one width, of another type."""
        kind, dtypes = self.any([("f", DTYPES[:3]), ("iu", DTYPES[3:8])])
        dtype = self.any(dtypes)
        for name, value in self.case.feeds.items():
            if isinstance(value, np.ndarray) and value.dtype.kind in kind:
                with np.errstate(all="ignore"):
                    self.put(name, value.astype(dtype))
        self.note("type of all of", kind, "is", np.dtype(dtype))

    def missing_input(self):
        if self.node.input:
            at = self.random.randrange(len(self.node.input))
            self.note("input", at, "is missing")
            if self.random.random() < 0.3:
                del self.node.input[at:]
            else:
                self.node.input[at] = ""

    def other_input(self):
        used = [name for name in self.case.feeds if self.case.feeds[name] is not None]
        if not used:
            return
        at = self.random.randrange(len(self.node.input) + 1)
        name = self.any(used)
        if at == len(self.node.input):
            self.node.input.append(name)
        else:
            self.node.input[at] = name
        self.note("input", at, "is", name)

    def sequence(self):
        names = [name for name, value in self.case.feeds.items() if isinstance(value, list)]
        if not names:
            return
        name = self.any(names)
        value = list(self.case.feeds[name])
        if value and isinstance(value[0], np.ndarray):
            which = self.random.randrange(3)
            value = [[], [*value, value[0][..., :1] if value[0].ndim else value[0]],
                     [item.reshape(-1) for item in value]][which]
            self.put(name, value)
            self.note("another sequence in", name)

    # ---- attributes

    def attribute(self):
        attributes = [a for a in self.node.attribute if a.type not in GRAPHS]
        if not attributes or self.random.random() < 0.25:
            self.new_attribute()
            return
        a = self.any(attributes)
        if self.random.random() < 0.06:
            self.node.attribute.remove(a)
            self.note("no attribute", a.name)
            return
        self.change(a)
        self.note("attribute", a.name, "is", helper.get_attribute_value(a))

    def change(self, a):
        if a.type == AttributeProto.INT:
            a.i = self.number()
        elif a.type == AttributeProto.FLOAT:
            a.f = self.real()
        elif a.type == AttributeProto.STRING:
            a.s = self.any(STRINGS).encode("latin-1")
        elif a.type in (AttributeProto.INTS, AttributeProto.FLOATS, AttributeProto.STRINGS):
            field = {AttributeProto.INTS: a.ints, AttributeProto.FLOATS: a.floats,
                     AttributeProto.STRINGS: a.strings}[a.type]
            items = list(field)
            self.change_list(items, {AttributeProto.INTS: self.number, AttributeProto.FLOATS: self.real}.get(
                a.type, lambda: self.any(STRINGS).encode("latin-1")))
            del field[:]
            field.extend(items)
        elif a.type == AttributeProto.TENSOR:
            if a.t.dims and self.random.random() < 0.7:
                a.t.dims[self.random.randrange(len(a.t.dims))] = self.number()
            else:
                a.t.data_type = self.random.randrange(27)

    def change_list(self, items, make):
        which = self.random.random()
        if which < 0.6 and items:
            items[self.random.randrange(len(items))] = make()
        elif which < 0.75:
            items.append(make())
        elif which < 0.85 and items:
            items.pop(self.random.randrange(len(items)))
        elif which < 0.9:
            items.clear()
        else:
            items[:] = [make() for _ in items]

    def new_attribute(self):
        types = attribute_types().get((self.node.domain, self.node.op_type), {})
        known = {a.name for a in self.node.attribute}
        names = sorted(name for name in types if name not in known and types[name] not in (0, *GRAPHS))
        if not names:
            return
        a = AttributeProto(name=self.any(names))
        a.type = types[a.name]
        if a.type in (AttributeProto.INTS, AttributeProto.FLOATS, AttributeProto.STRINGS):
            count = self.random.randrange(5)
            if a.type == AttributeProto.INTS:
                a.ints.extend(self.number() for _ in range(count))
            elif a.type == AttributeProto.FLOATS:
                a.floats.extend(self.real() for _ in range(count))
            else:
                a.strings.extend(self.any(STRINGS).encode("latin-1") for _ in range(count))
        elif a.type == AttributeProto.TENSOR:
            a.t.CopyFrom(onnx.numpy_helper.from_array(self.any([np.zeros((2, 0), np.float32), np.ones(3, np.int64)])))
        else:
            self.change(a)
        self.node.attribute.append(a)
        self.note("attribute", a.name, "is", helper.get_attribute_value(a))

    # ---- the rest

    def opset(self):
        imported = self.any(list(self.case.model.opset_import))
        imported.version = self.random.randrange(1, 26)
        self.note("opset of", imported.domain or "ai.onnx", "is", imported.version)

    def outputs(self):
        if len(self.node.output) > 1 and self.random.random() < 0.7:
            at = self.random.randrange(len(self.node.output))
            name = self.node.output[at]
            self.node.output[at] = ""
            kept = [o for o in self.case.model.graph.output if o.name != name]
            if kept:
                del self.case.model.graph.output[:]
                self.case.model.graph.output.extend(kept)
            else:
                self.node.output[at] = name
            self.note("output", at, "is missing")
        else:
            self.node.output.append("more")
            self.note("an output more")

    def seal(self, declare):
        """The graph's inputs as the values are now; constants where `declare` is "constant"."""
        graph = self.case.model.graph
        infos, constants = [], []
        for name, value in list(self.case.feeds.items()):
            old = [info for info in graph.input if info.name == name]
            if value is None or (isinstance(value, list) and old):
                infos.extend(old)
                continue
            if declare == "constant" and isinstance(value, np.ndarray) and self.random.random() < 0.7:
                constants.append(tensor_of(value, name))
                del self.case.feeds[name]
            else:
                infos.append(helper.make_value_info(name, type_of(value, declare == "shapes")))
        del graph.input[:]
        graph.input.extend(infos)
        graph.initializer.extend(constants)
        outputs = [helper.make_empty_tensor_value_info(o.name) for o in graph.output]
        del graph.output[:]
        graph.output.extend(outputs)
        return self.case


CHANGES = {Mutation.dimension: 5, Mutation.empty_but_huge: 1, Mutation.rank: 3, Mutation.contents: 4,
           Mutation.integers: 6, Mutation.element_type: 1, Mutation.precision: 2, Mutation.missing_input: 2,
           Mutation.other_input: 1, Mutation.sequence: 2, Mutation.attribute: 7, Mutation.opset: 1, Mutation.outputs: 1}


def make(case, seed):
    """`case` with one to three changes."""
    mutation = Mutation(case, seed)
    for _ in range(mutation.any([1, 1, 2, 3])):
        change = mutation.random.choices(list(CHANGES), list(CHANGES.values()))[0]
        change(mutation)
    return mutation.seal(mutation.any(["ranks", "shapes", "constant"]))
