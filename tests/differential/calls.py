"""Random calls of one operator: what a recipe draws from, and the model that a call becomes.

A recipe (recipes/*.py) is a function of a Draw that returns a Call. The Draw knows the schema of the operator in one
version, chooses a type for each of its type variables, and draws shapes and values. All choices come from its seed.
"""
import dataclasses
import zlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

KINDS = {f"tensor({name})": kind for name, kind in {
    "float": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "string": 8, "bool": 9,
    "float16": 10, "double": 11, "uint32": 12, "uint64": 13, "complex64": 14, "complex128": 15, "bfloat16": 16,
    "float8e4m3fn": 17, "float8e4m3fnuz": 18, "float8e5m2": 19, "float8e5m2fnuz": 20, "uint4": 21, "int4": 22,
    "float4e2m1": 23, "float8e8m0": 24, "uint2": 25, "int2": 26}.items()}
NAMES = {kind: name[7:-1] for name, kind in KINDS.items()}
INTEGERS = {2, 3, 4, 5, 6, 7, 12, 13}
SIGNED = {3, 5, 6, 7}
FLOATS = {1, 10, 11, 16}
SMALL_INTEGERS = {21, 22, 25, 26}
NARROW_FLOATS = {17, 18, 19, 20, 23, 24}
WORDS = ["", "a", "B", "ab c", "Straße", "x,y", "12", "-0.5", "zz", "日本", " a "]
DOMAINS = {"": "ai.onnx"}
NEWEST_OF_PEER = 26  # ONNX Runtime 1.31 refuses newer opsets


def dtype_of(kind):
    return helper.tensor_dtype_to_np_dtype(kind)


@dataclasses.dataclass
class Sequence:
    items: list
    kind: int  # of the elements' elements


@dataclasses.dataclass
class Optional:
    value: object  # an array, a Sequence or None
    kind: int
    of_sequence: bool = False


@dataclasses.dataclass
class Call:
    inputs: list  # arrays; None: left out; Sequence; Optional
    attributes: dict = dataclasses.field(default_factory=dict)
    outputs: int = 1
    output_types: list | None = None  # TypeProto of each output, where the schema doesn't say them
    constants: set = dataclasses.field(default_factory=set)  # inputs that are initializers
    variable: set = dataclasses.field(default_factory=set)  # inputs that are never initializers
    random: bool = False  # only types and shapes can be compared
    tolerance: float = 1.0  # factor
    off_by: int = 0  # by which integers may differ that are cut or rounded from a real number
    newest: "Call | None" = None  # the same call as the newest version spells it, for references without the old one


class Draw:
    """Choices for one case."""

    def __init__(self, schema, seed, index, fixed=None, mood=None):
        key = [seed, zlib.crc32(f"{schema.domain}.{schema.name}.{schema.since_version}".encode()), index]
        if fixed:
            key += [value for _, value in sorted(fixed.items())]
        self.rng = np.random.default_rng(key)
        self.schema, self.op, self.version = schema, schema.name, schema.since_version
        self.mood = mood or self.pick("tame", "tame", "tame", "special", "extreme")
        self.types = dict(fixed or {})
        self.allowed = {c.type_param_str: list(c.allowed_type_strs) for c in schema.type_constraints}

    def pick(self, *choices):
        return choices[self.rng.integers(len(choices))]

    def chance(self, p=0.5):
        return bool(self.rng.random() < p)

    def whole(self, low, high):
        """An integer of low..high."""
        return int(self.rng.integers(low, high + 1))

    def real(self, low, high):
        return float(np.float32(self.rng.uniform(low, high)))

    def kind(self, variable, among=None):
        """The element type chosen for a type variable."""
        if variable not in self.types:
            allowed = [KINDS[t] for t in self.allowed[variable] if t in KINDS]
            narrowed = [k for k in allowed if among is None or k in among]
            self.types[variable] = self.pick(*(narrowed or allowed))
        return self.types[variable]

    def dim(self):
        return self.pick(1, 1, 2, 2, 3, 3, 4, 5, 7) if self.chance(0.96) else 0

    def shape(self, low=0, high=4, most=400):
        rank = self.whole(low, high)
        dims = [self.dim() for _ in range(rank)]
        if rank and self.chance(0.15):
            dims[-1] = self.whole(8, 70)
        while np.prod(dims) > most:
            dims[int(np.argmax(dims))] = self.pick(1, 2, 3)
        return tuple(dims)

    def broadcast(self, shape):
        """A shape that broadcasts to `shape` (in both directions if `shape` has ones)."""
        dims = [1 if self.chance(0.3) else d for d in shape]
        return tuple(dims[self.whole(0, len(dims)):] if self.chance(0.3) else dims)

    def pair(self, high=4):
        """Two shapes that broadcast to one."""
        whole = self.shape(0, high)
        one, other = self.broadcast(whole), self.broadcast(whole)
        return (whole, other) if self.chance(0.5) else (one, whole) if self.chance(0.3) else (one, other)

    def axis(self, rank, negative=True):
        axis = self.whole(0, rank - 1)
        return axis - rank if negative and self.chance(0.4) else axis

    def axes(self, rank, low=0, negative=True):
        count = self.whole(min(low, rank), rank)
        chosen = sorted(int(a) for a in self.rng.permutation(rank)[:count])
        return [a - rank if negative and self.chance(0.3) else a for a in chosen]

    def ints(self, *numbers, dtype=np.int64):
        return np.array(list(numbers), dtype)

    def values(self, variable, shape, mood=None, low=None, high=None):
        """An array of a type variable's or given element type."""
        kind = variable if isinstance(variable, int) else self.kind(variable)
        return random_values(self.rng, kind, tuple(shape), mood or self.mood, low, high)


def random_values(rng, kind, shape, mood, low=None, high=None):
    dtype, count = dtype_of(kind), int(np.prod(shape))
    if kind == TensorProto.STRING:
        return np.array([WORDS[i] for i in rng.integers(0, len(WORDS), count)], object).reshape(shape)
    if kind == TensorProto.BOOL:
        return rng.integers(0, 2, shape).astype(bool)
    if kind in INTEGERS:
        info = np.iinfo(dtype)
        if low is not None:
            return rng.integers(low, high + 1, shape).astype(dtype)
        x = rng.integers(max(info.min, -9), 10, shape).astype(dtype)
        if mood == "extreme":
            hard = np.array([info.min, info.max, info.min + 1, info.max - 1, 0, 1], dtype)
            x = np.where(rng.random(shape) < 0.5, hard[rng.integers(0, len(hard), shape)], x).astype(dtype)
        return x
    if kind in SMALL_INTEGERS:
        bits = 2 if "2" in NAMES[kind] else 4
        first = 0 if NAMES[kind].startswith("u") else -(1 << (bits - 1))
        return np.array(rng.integers(first, first + (1 << bits), shape), np.int8).astype(dtype)
    if kind in (TensorProto.COMPLEX64, TensorProto.COMPLEX128):
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    if low is not None:
        return np.array(rng.uniform(low, high, shape)).astype(dtype)
    x = np.array(rng.standard_normal(shape) * 2)
    if kind in FLOATS and mood in ("special", "extreme"):
        hard = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0] if mood == "special" else
                        [0.0, -0.0, 1e-7, 100.0, -100.0, 0.5, -0.5, 1.5, 2.5, 1e4, -1e4])
        x = np.where(rng.random(shape) < 0.3, hard[rng.integers(0, len(hard), shape)], x)
    with np.errstate(all="ignore"):
        return np.asarray(np.abs(x) if kind == 24 else x).astype(dtype)


def type_proto(text, kinds):
    """The TypeProto of a schema's type string or type variable, with the chosen element types; None if unknown."""
    if text in kinds:
        return helper.make_tensor_type_proto(kinds[text], None)
    if text in KINDS:
        return helper.make_tensor_type_proto(KINDS[text], None)
    if text.startswith("seq(tensor("):
        return helper.make_sequence_type_proto(helper.make_tensor_type_proto(KINDS[text[4:-1]], None))
    return None


def input_type(value, shaped=True):
    if isinstance(value, Sequence):
        return helper.make_sequence_type_proto(helper.make_tensor_type_proto(value.kind, None))
    if isinstance(value, Optional):
        element = helper.make_tensor_type_proto(value.kind, None)
        return helper.make_optional_type_proto(helper.make_sequence_type_proto(element) if value.of_sequence
                                               else element)
    return helper.make_tensor_type_proto(element_kind(value), value.shape if shaped else None)


def element_kind(array):
    return TensorProto.STRING if array.dtype.kind in "OUS" else helper.np_dtype_to_tensor_dtype(array.dtype)


def constant(array, name):
    return numpy_helper.from_array(np.asarray(array), name)


def feed_of(value):
    if isinstance(value, Sequence):
        return list(value.items)
    if isinstance(value, Optional):
        return feed_of(value.value) if value.value is not None else None
    return value


@dataclasses.dataclass
class Case:
    name: str
    model: onnx.ModelProto
    feeds: dict
    call: Call
    draw: Draw
    newest: onnx.ModelProto | None = None


def opset_imports(schema, opset):
    imports = [helper.make_opsetid(schema.domain, opset)]
    if schema.domain:
        imports.append(helper.make_opsetid("", 21))
    return imports


def last_opset(schema):
    """The newest opset in which this version of the operator is the one that counts."""
    newer = [s.since_version for s in HISTORY[schema.domain, schema.name] if s.since_version > schema.since_version]
    newest = max(s.since_version for group in HISTORY.values() for s in group if s.domain == schema.domain)
    return min(newer) - 1 if newer else newest


def opset_for(schema, draw):
    first, last = schema.since_version, last_opset(schema)
    if schema.domain == "" and first <= NEWEST_OF_PEER:
        last = min(last, NEWEST_OF_PEER)
    return draw.pick(first, last, draw.whole(first, last))


def build(schema, draw, call, name, opset=None):
    """The model of one call, and what it is fed with."""
    opset = opset or opset_for(schema, draw)
    names = ["" if x is None else f"x{i}" for i, x in enumerate(call.inputs)]
    results = [f"y{i}" for i in range(call.outputs)]
    node = helper.make_node(schema.name, names, results, name="it", domain=schema.domain,
                            **{k: v for k, v in call.attributes.items() if v is not None})
    fixed = {i for i, x in enumerate(call.inputs) if isinstance(x, np.ndarray)
             and (i in call.constants or (i > 0 and i not in call.variable and draw.chance(0.3)))}
    shaped = draw.chance(0.8)
    given = [helper.make_value_info(names[i], input_type(x, shaped)) for i, x in enumerate(call.inputs)
             if x is not None and i not in fixed]
    outputs = call.output_types or output_types(schema, draw, call.outputs)
    asked = [helper.make_value_info(result, kind) if kind else onnx.ValueInfoProto(name=result)
             for result, kind in zip(results, outputs, strict=True)]
    weights = [constant(call.inputs[i], names[i]) for i in sorted(fixed)]
    graph = helper.make_graph([node], "g", given, asked, weights)
    imports = opset_imports(schema, opset)
    model = helper.make_model(graph, opset_imports=imports, ir_version=ir_version(opset if not schema.domain else 21))
    feeds = {names[i]: feed_of(x) for i, x in enumerate(call.inputs) if x is not None and i not in fixed}
    return Case(name, model, feeds, call, draw)


def ir_version(opset):
    return 14 if opset > 26 else 13 if opset > 24 else 11 if opset > 22 else 10


def output_types(schema, draw, count):
    formal = schema.outputs
    strings = [formal[min(i, len(formal) - 1)].type_str for i in range(count)]
    return [type_proto(text, draw.types) for text in strings]


def history():
    found = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        found.setdefault((schema.domain, schema.name), []).append(schema)
    for group in found.values():
        group.sort(key=lambda s: s.since_version)
    return found


HISTORY = history()


def main_variable(schema):
    """The type variable that a row of the matrix is about: that of the first input, or of the first output."""
    for formal in [*schema.inputs[:1], *schema.outputs[:1]]:
        if any(c.type_param_str == formal.type_str for c in schema.type_constraints):
            return formal.type_str
    return None
