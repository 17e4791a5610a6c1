"""Modules for the tables of a FlatBuffers schema, with the names that the FlatBuffers compiler gives: a class that
reads, functions that write with a flatbuffers.Builder of the caller. Reading needs no other package.

A schema has a line for each part, which goes on in lines that are indented:

    table Node: Name:string, Index:uint32, Inputs:[string], -, Offset:int64=-1
    struct EdgeEnd: NodeIndex:uint32, SrcArgIndex:int32
    enum NodeType: Primitive=0, Fused=1

A table lists its fields by slot: name and type, [types] for vectors, =default where it is not zero, - for a slot that
is not in use any more. A struct has its fields, of four bytes each, one behind the other."""
import importlib.machinery
import inspect
import re
import struct
import sys
import types

import numpy as np

_SIZES = {"bool": 1, "int8": 1, "uint8": 1, "int32": 4, "uint32": 4, "float32": 4, "int64": 8, "uint64": 8}
_FORMATS = {"bool": "<?", "int8": "<b", "uint8": "<B", "int32": "<i", "uint32": "<I", "float32": "<f", "int64": "<q",
            "uint64": "<Q"}
_OFFSET = 4  # bytes of a reference


class FlatTable:
    """A table of a buffer: `Bytes` and the position `Pos` in it. Fields are found through its vtable."""

    def __init__(self, buffer, position):
        self.Bytes, self.Pos = buffer, position

    def number(self, kind, position):
        return struct.unpack_from(_FORMATS[kind], self.Bytes, position)[0]

    def field(self, slot):
        """The position of a field; None if the table does not have it."""
        vtable = self.Pos - self.number("int32", self.Pos)
        entry = 4 + 2 * slot
        if entry >= struct.unpack_from("<H", self.Bytes, vtable)[0]:
            return None
        offset = struct.unpack_from("<H", self.Bytes, vtable + entry)[0]
        return self.Pos + offset if offset else None

    def follow(self, position):
        """Where an offset at a position leads to."""
        return position + self.number("uint32", position)

    def text(self, position):
        start = self.follow(position)
        return bytes(self.Bytes[start + 4:start + 4 + self.number("uint32", start)])

    def vector(self, position):
        """(the position of the first element, the number of elements) of the vector that a field leads to."""
        start = self.follow(position)
        return start + 4, self.number("uint32", start)

    def array(self, kind, position):
        start, count = self.vector(position)
        return np.frombuffer(self.Bytes, np.dtype(kind).newbyteorder("<"), count, start)


def make_modules(package, schema, identifiers):
    """{name: module} for each part of a schema; the modules are in sys.modules as parts of `package`.
    `identifiers(name)`: the four bytes that mark a buffer whose root is that table."""
    return _Schema(package, schema, identifiers).modules


def _named(function, name, parameters):
    """The function by a name, with these parameters in its signature."""
    function.__name__ = function.__qualname__ = name
    function.__signature__ = inspect.Signature(
        [inspect.Parameter(one, inspect.Parameter.POSITIONAL_OR_KEYWORD) for one in parameters])
    return function


def _first_small(name):
    return name[0].lower() + name[1:]


def _init(self, buf, pos):
    self._tab = FlatTable(buf, pos)


class _Schema:
    def __init__(self, package, schema, identifiers):
        self.package, self.identifiers, self.modules = package, identifiers, {}
        parts = [re.match(r"(\w+) (\w+): (.*)", line).groups()
                 for line in re.sub(r"\n +", " ", schema).strip().split("\n")]
        parts = [(kind, name, [re.match(r"([^:=]+)(?::([^=]+))?(?:=(.*))?", one).groups() for one in rest.split(", ")])
                 for kind, name, rest in parts]
        self.structs = {name: 4 * len(fields) for kind, name, fields in parts if kind == "struct"}  # sizes in bytes
        makers = {"enum": self.enum_members, "struct": self.struct_members, "table": self.table_members}
        for kind, name, fields in parts:
            made = types.ModuleType(f"{package}.{name}", f"{name} of a FlatBuffers schema.")
            made.__dict__.update(makers[kind](made.__name__, name, fields))
            for member in vars(made).values():
                if inspect.isfunction(member):
                    member.__module__ = made.__name__
            made.__spec__ = importlib.machinery.ModuleSpec(made.__name__, None)
            self.modules[name] = sys.modules[made.__name__] = made

    def value(self, table, kind, position):
        """What lies at a position: a number, bytes of a text, a table of the module of that name."""
        if kind in _SIZES:
            return table.number(kind, position)
        if kind == "string":
            return table.text(position)
        if kind == "union":
            return FlatTable(table.Bytes, table.follow(position))
        made = getattr(self.modules[kind], kind)()
        made.Init(table.Bytes, position if kind in self.structs else table.follow(position))
        return made

    def reader(self, name, kind, slot, default):
        nothing = {"bool": False, "float32": 0.0}.get(kind, int(default or 0)) if kind in _SIZES else None

        def read(table):
            position = table._tab.field(slot)
            return nothing if position is None else self.value(table._tab, kind, position)
        return {name: _named(read, name, ["self"])}

    def vector_readers(self, name, kind, slot):
        nothing = "" if kind == "string" else 0 if kind in _SIZES else None
        size = _SIZES.get(kind) or self.structs.get(kind, _OFFSET)

        def element(table, index):
            position = table._tab.field(slot)
            return nothing if position is None else self.value(
                table._tab, kind, table._tab.vector(position)[0] + index * size)

        def length(table):
            position = table._tab.field(slot)
            return 0 if position is None else table._tab.vector(position)[1]

        def is_none(table):
            return table._tab.field(slot) is None

        def as_numpy(table):
            position = table._tab.field(slot)
            return 0 if position is None else table._tab.array(kind, position)
        readers = {name: (element, ["self", "j"]), f"{name}Length": (length, ["self"]),
                   f"{name}IsNone": (is_none, ["self"])}
        if kind in _SIZES:
            readers[f"{name}AsNumpy"] = as_numpy, ["self"]
        return {key: _named(function, key, parameters) for key, (function, parameters) in readers.items()}

    def table_members(self, module, name, fields):
        members = {"Init": _init, "__slots__": ["_tab"], "__module__": module, "__doc__": f"A table {name}."}
        for slot, (field, kind, default) in enumerate(fields):
            if kind is not None:
                members |= self.vector_readers(field, kind[1:-1], slot) if kind.startswith("[") else self.reader(
                    field, kind, slot, default)
        identifier = self.identifiers(name)

        def get_root(cls, buf, offset=0):
            made = cls()
            made.Init(buf, offset + struct.unpack_from("<I", buf, offset)[0])
            return made

        def has_identifier(cls, buf, offset, size_prefixed=False):  # noqa: ARG001
            start = offset + (8 if size_prefixed else 4)
            return bytes(buf[start:start + 4]) == identifier
        members |= {"GetRootAs": classmethod(get_root), f"GetRootAs{name}": classmethod(get_root),
                    f"{name}BufferHasIdentifier": classmethod(has_identifier)}
        return self.writers(name, fields) | {name: type(name, (), members)}

    def writers(self, name, fields):
        """The functions of a table that call a flatbuffers.Builder, under their long and their short names."""
        made = {}

        def add(key, parameters, function):
            made[key] = _named(function, f"{name}{key}", parameters)
        add("Start", ["builder"], lambda builder: builder.StartObject(len(fields)))
        for slot, (field, kind, default) in enumerate(fields):
            if kind is None:
                continue
            method = f"Prepend{kind.capitalize()}Slot" if kind in _SIZES else "PrependUOffsetTRelativeSlot"
            value = 0.0 if kind == "float32" else int(default or 0)
            add(f"Add{field}", ["builder", _first_small(field)],
                lambda builder, given, method=method, slot=slot, value=value: getattr(builder, method)(
                    slot, given, value))
            if kind.startswith("["):
                size = _SIZES.get(kind[1:-1]) or self.structs.get(kind[1:-1], _OFFSET)
                align = _OFFSET if kind[1:-1] in self.structs else size
                add(f"Start{field}Vector", ["builder", "numElems"],
                    lambda builder, count, size=size, align=align: builder.StartVector(size, count, align))
        add("End", ["builder"], lambda builder: builder.EndObject())
        return made | {f"{name}{key}": function for key, function in made.items()}

    def struct_members(self, module, name, fields):
        """The class of a struct, and the function that writes one."""
        members = {"Init": _init, "__slots__": ["_tab"], "__module__": module, "__doc__": f"A struct {name}.",
                   "SizeOf": classmethod(lambda cls: self.structs[name])}
        for index, (field, kind, _) in enumerate(fields):
            members[field] = _named(lambda table, kind=kind, index=index: table._tab.number(
                kind, table._tab.Pos + 4 * index), field, ["self"])

        def create(builder, *values):
            builder.Prep(4, self.structs[name])
            for (_, kind, _), value in reversed(list(zip(fields, values, strict=True))):
                getattr(builder, f"Prepend{kind.capitalize()}")(value)
            return builder.Offset()
        names = ["builder", *(_first_small(field) for field, _, _ in fields)]
        return {name: type(name, (), members), f"Create{name}": _named(create, f"Create{name}", names)}

    @staticmethod
    def enum_members(module, name, fields):
        return {name: type(name, (), {**{field: int(number) for field, _, number in fields}, "__module__": module})}
