"""Models in memory that programs read and change: quantizers and converters are written with it.

    model = sardonyx.model.Model("model.onnx")
    for node in model.graph.nodes:
        if node.op_type == "Relu":
            node.set_operator("LeakyRelu")
            node.set_attribute("alpha", 0.1)
    model.save("changed.onnx")

What is not touched stays as it is: functions, bodies of control flow, sparse and external weights, descriptions."""
import json
import os
from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from sardonyx import _core
from sardonyx.values import element_type_of

_NO_VALUE = ""  # the name of an input or output that is left out


@dataclass(frozen=True)
class ValueType:
    """What is known of a value: the name of its element type ("float"), and its shape: numbers, names of symbols and
    None; or None if the rank is not known. A value that is no tensor has its whole type as `dtype`."""

    dtype: str
    shape: tuple | None


@dataclass(frozen=True)
class Initializer:
    name: str
    type: ValueType
    size: int  # in bytes
    is_constant: bool  # False: the default of an input


def _type_of(entry):
    return ValueType(entry["type"], tuple(entry["shape"]) if "shape" in entry else None)


def _float(text):
    return float(text) if isinstance(text, str) else text


class Node:
    """A node of a graph. `inputs` and `outputs` are names; "" is one that is left out."""

    def __init__(self, graph, entry):
        self.graph = graph
        self.id = entry["id"]
        self.name, self.domain, self.op_type = entry["name"], entry["domain"], entry["op_type"]
        self.inputs, self.outputs = list(entry["inputs"]), list(entry["outputs"])
        self._attributes = entry["attributes"]

    def __repr__(self):
        operator = f"{self.domain}.{self.op_type}" if self.domain else self.op_type
        return f"<Node {self.name!r}: {', '.join(self.outputs)} = {operator}({', '.join(self.inputs)})>"

    @property
    def attribute_names(self):
        return list(self._attributes)

    def attribute(self, name, default=None):
        """A number, a text, a list of them, or an array; `default` if the node does not have it."""
        if name not in self._attributes:
            return default
        entry = self._attributes[name]
        kind = entry["type"]
        if kind == "tensor":
            return self.graph.model._tensor(self.graph, self.id, name)
        if "value" not in entry:
            raise TypeError(f"attribute '{name}' of {self!r}: expected a number, a text, a tensor or a list, found "
                            f"{kind}")
        value = entry["value"]
        if kind == "floats":
            return [_float(number) for number in value]
        return _float(value) if kind == "float" else value

    def set_attribute(self, name, value):
        """Numbers, texts, lists of them and arrays; None removes the attribute."""
        if value is None:
            self._attributes.pop(name, None)
            self.graph._edit("set_attribute", node=self.id, name=name)
            return
        tensors, entry = [], _attribute_entry(value)
        if entry["type"] == "tensor":
            tensors, entry = [_handle_of(value, None)], {"type": "tensor", "value": 0}
        self._attributes[name] = entry
        self.graph._edit("set_attribute", tensors, node=self.id, name=name, attribute=entry)

    def set_input(self, index, name):
        before = self.inputs[index] if index < len(self.inputs) else _NO_VALUE
        self.graph._edit("set_input", node=self.id, index=index, value=name)
        if index == len(self.inputs):
            self.inputs.append(name)
        else:
            self.inputs[index] = name
        self.graph._unlink(self, before)
        self.graph._link(self, name)

    def set_output(self, index, name):
        self.graph._edit("set_output", node=self.id, index=index, value=name)
        self.graph._producers.pop(self.outputs[index], None)
        self.outputs[index] = name
        self.graph._producers[name] = self
        self.graph._names.add(name)

    def set_operator(self, op_type=None, domain=None, name=None):
        """Changes what is given."""
        self.graph._edit("set_operator", node=self.id, op_type=op_type, domain=domain, name=name)
        self.op_type = self.op_type if op_type is None else op_type
        self.domain = self.domain if domain is None else domain
        self.name = self.name if name is None else name


class Graph:
    """The graph of a model, or the body of a node of control flow."""

    def __init__(self, model, number, entry):
        self.model, self.number, self.name = model, number, entry["name"]
        self.parent, self.parent_node = entry.get("parent"), entry.get("node")  # of a body: number and id
        self.inputs, self.outputs = list(entry["inputs"]), list(entry["outputs"])
        self.initializers = {one["name"]: Initializer(one["name"], _type_of(one), one["bytes"], one["constant"])
                             for one in entry["initializers"]}
        self._types = {name: _type_of(value) for name, value in entry["values"].items()}
        self._nodes = {}
        self._producers, self._consumers = {}, defaultdict(list)
        for one in entry["nodes"]:
            self._add(Node(self, one))
        self._names = {*self.inputs, *self.initializers, *self._producers}

    @property
    def nodes(self):
        """In topological order, but for nodes that were added since the model was loaded: they come last."""
        return list(self._nodes.values())

    def producer(self, name):
        """The node that makes a value; None for inputs, initializers and values of the graphs around."""
        return self._producers.get(name)

    def consumers(self, name):
        """The nodes of this graph that read a value, once each; not those of bodies (see is_read_by_bodies)."""
        return list(dict.fromkeys(self._consumers.get(name, ())))

    def is_read_by_bodies(self, name):
        for body in self.model.graphs:
            if body is not None and self.number in body._enclosing() and (body._consumers.get(name) or
                                                                        name in body.outputs):
                return True
        return False

    def type_of(self, name):
        """A ValueType; None if nothing is known."""
        if name in self.initializers:
            return self.initializers[name].type
        return self._types.get(name)

    def tensor(self, name):
        """The contents of an initializer as an array, which must not be written to."""
        return self.model._tensor(self, -1, name)

    def constant(self, name):
        """The contents of an initializer that nobody may override, or of a Constant node; None for other values."""
        if name in self.initializers:
            return self.tensor(name) if self.initializers[name].is_constant else None
        node = self._producers.get(name)
        if node is None or node.op_type != "Constant" or node.domain not in ("", "ai.onnx"):
            return None
        for attribute, dtype in (("value", None), ("value_float", np.float32), ("value_floats", np.float32),
                                 ("value_int", np.int64), ("value_ints", np.int64)):
            if attribute in node._attributes:
                return np.asarray(node.attribute(attribute), dtype)
        return None

    def unique_name(self, prefix):
        """`prefix`, with a number behind it where a value has that name."""
        name, number = prefix, 0
        while name in self._names:
            number += 1
            name = f"{prefix}_{number}"
        return name

    def add_node(self, op_type, inputs, outputs, name="", domain="", attributes=None, like=None):
        """`like`: a node of this graph whose attributes, bodies included, the new one gets before `attributes`."""
        entries, tensors = {}, []
        for key, value in (attributes or {}).items():
            if value is None:
                continue
            entries[key] = _attribute_entry(value)
            if entries[key]["type"] == "tensor":
                entries[key]["value"] = len(tensors)
                tensors.append(_handle_of(value, None))
        number = self._edit("add_node", tensors, op_type=op_type, inputs=list(inputs), outputs=list(outputs), name=name,
                            domain=domain, attributes=entries, like=None if like is None else like.id)
        known = {} if like is None else dict(like._attributes)
        node = Node(self, {"id": number, "name": name, "domain": domain, "op_type": op_type, "inputs": inputs,
                           "outputs": outputs, "attributes": known | entries})
        self._add(node)
        self._names.update(outputs)
        return node

    def remove_node(self, node):
        """What it makes has no producer then, until another node makes it."""
        self._edit("remove_node", node=node.id)
        del self._nodes[node.id]
        for name in node.inputs:
            self._unlink(node, name)
        for name in node.outputs:
            self._producers.pop(name, None)

    def replace_uses(self, old, new):
        """Nodes that read `old`, and bodies inside them, read `new`. Outputs of the graph stay."""
        self._edit("replace_uses", **{"from": old, "to": new})
        for body in self.model.graphs:
            if body is None or not (body is self or self.number in body._enclosing()):
                continue
            for node in body._consumers.pop(old, []):
                node.inputs = [new if name == old else name for name in node.inputs]
                body._consumers[new].append(node)

    def set_initializer(self, name, array, onnx_type=None, as_numbers=False):
        """Adds an initializer or replaces its contents. `onnx_type` (TensorProto.DataType) is for types that NumPy
        lacks; the array has the same bytes then. `as_numbers`: it is saved in float_data or int32_data, as programs
        read scales and zero points, and not in raw_data."""
        handle = _handle_of(array, onnx_type)
        self._edit("set_initializer", [handle], name=name, tensor=0, as_numbers=as_numbers)
        value_type = ValueType(handle.type_text()[len("tensor("):-1], tuple(handle.shape()))
        self.initializers[name] = Initializer(name, value_type, handle.size_in_bytes(), name not in self.inputs)
        self._names.add(name)

    def remove_initializer(self, name):
        self._edit("set_initializer", name=name)
        self.initializers.pop(name, None)

    def set_type(self, name, dtype, shape=None):
        """`dtype` is the name of an element type ("float"); None makes the type unknown."""
        if dtype is None:
            self._edit("set_type", value=name)
            self._types.pop(name, None)
            return
        self._edit("set_type", value=name, type=dtype, shape=None if shape is None else list(shape))
        self._types[name] = ValueType(dtype, None if shape is None else tuple(shape))

    def add_input(self, name, dtype, shape=None):
        self._edit("add_input", value=name, type=dtype, shape=None if shape is None else list(shape))
        self.inputs.append(name)
        self._names.add(name)
        self._types[name] = ValueType(dtype, None if shape is None else tuple(shape))

    def remove_input(self, name):
        """A default becomes a constant."""
        self._edit("remove_input", value=name)
        self.inputs.remove(name)
        if name in self.initializers:
            known = self.initializers[name]
            self.initializers[name] = Initializer(known.name, known.type, known.size, True)

    def fix_defaults(self):
        """Weights are inputs with defaults in models as old as IR version 3, and in those that exporters wrote like
        these: they become constants. So do not scalars, which callers may want to set, unless the model is that old."""
        for name in [one for one in self.inputs if one in self.initializers]:
            known = self.initializers[name].type
            if self.model.ir_version < 4 or (known.dtype in ("float", "float16", "bfloat16") and known.shape):
                self.remove_input(name)

    def add_output(self, name):
        self._edit("add_output", value=name)
        self.outputs.append(name)

    def remove_output(self, name):
        self._edit("remove_output", value=name)
        self.outputs.remove(name)

    def remove_unused_initializers(self):
        """Those that no node, body or output reads."""
        for name in list(self.initializers):
            used = self._consumers.get(name) or name in self.outputs or self.is_read_by_bodies(name)
            if not used and name not in self.inputs:
                self.remove_initializer(name)

    def _enclosing(self):
        numbers, here = set(), self
        while here.parent is not None:
            numbers.add(here.parent)
            here = self.model.graphs[here.parent]
        return numbers

    def _add(self, node):
        self._nodes[node.id] = node
        for name in node.inputs:
            self._link(node, name)
        for name in node.outputs:
            if name != _NO_VALUE:
                self._producers[name] = node

    def _link(self, node, name):
        if name != _NO_VALUE:
            self._consumers[name].append(node)

    def _unlink(self, node, name):
        if name != _NO_VALUE:
            self._consumers[name].remove(node)

    def _edit(self, edit, tensors=(), **keys):
        entry = {"edit": edit, "graph": self.number, **{key: value for key, value in keys.items() if value is not None}}
        return json.loads(self.model._handle.edit(json.dumps([entry]), list(tensors)))[0]


class Model:
    """A model from a file name, from bytes, from an onnx.ModelProto, or a copy of another Model."""

    def __init__(self, source):
        if isinstance(source, Model):
            source = source.to_bytes()
        elif hasattr(source, "SerializeToString"):
            source = source.SerializeToString()
        elif not isinstance(source, (str, bytes, os.PathLike)):
            raise TypeError(f"expected a file name, bytes or an onnx.ModelProto, found '{type(source).__name__}'")
        self.path = None if isinstance(source, bytes) else os.fspath(source)
        self._handle = _core.ModelHandle(source)
        self._read()

    def _read(self):
        entry = json.loads(self._handle.json())
        self.ir_version, self.opsets, self.metadata = entry["ir_version"], entry["opsets"], entry["metadata"]
        self.producer_name, self.producer_version = entry["producer_name"], entry["producer_version"]
        self.functions = [(one["domain"], one["name"]) for one in entry["functions"]]
        self.graphs = [None if one is None else Graph(self, number, one) for number, one in enumerate(entry["graphs"])]

    @property
    def graph(self):
        """The model's own graph; `graphs` also has the bodies of its nodes."""
        return self.graphs[0]

    def set_opset(self, domain, version):
        """`domain` "" is ONNX's own."""
        self.graph._edit("set_opset", domain=domain, version=version)
        self.opsets[domain] = version

    def set_metadata(self, key, value):
        """None removes the entry."""
        self.graph._edit("set_metadata", key=key, value=value)
        self.metadata.pop(key, None)
        if value is not None:
            self.metadata[key] = value

    def set_producer(self, name, version=""):
        self.graph._edit("set_producer", name=name, version=version)
        self.producer_name, self.producer_version = name, version

    def infer_types(self, standard_only=False):
        """Fills in the types and shapes that follow from those of the inputs, symbolic ones included; nothing follows
        from operators that are not known (with `standard_only`: from those of other domains than ONNX's own). Nodes and
        graphs that were taken from this model before are not those of the model any more."""
        self.graph._edit("infer_types", standard_only=standard_only)
        self._read()

    def optimize(self, level="basic", target=None, disabled=(), **choices):
        """Runs the optimizer's passes (docs/optimizer.md): at level "basic" those that keep to the author's opset, at
        "disable" none of them. `target` "onnxruntime" then fuses operators as ONNX Runtime has them. `disabled`: names
        of passes. `choices`: `passes`, the only ones to run behind the basic ones; `padding`, what attention reads of a
        mask ("mask", "length" or "none"); `join_projections`, `multi_head_bias` and `approximate_gelu`, flags. Calls of
        functions are inlined. Nodes and graphs that were taken from this model before are not those of the model any
        more."""
        self.graph._edit("optimize", level=level, disabled=list(disabled), **{"for": target}, **choices)
        self._read()

    def save(self, path, external_data=None, min_bytes=1024):
        """Writes the model; with `external_data`, the name of a file beside it, larger weights go there."""
        self._handle.save(path, external_data or "", min_bytes)

    def to_bytes(self):
        return self._handle.to_bytes()

    def to_proto(self):
        """An onnx.ModelProto, by the package onnx."""
        import onnx

        return onnx.load_model_from_string(self.to_bytes())

    def _tensor(self, graph, node, name):
        return self._handle.tensor(graph.number, node, name).numpy()


def _attribute_entry(value):
    if isinstance(value, (bool, int, np.integer)):
        return {"type": "int", "value": int(value)}
    if isinstance(value, (float, np.floating)):
        return {"type": "float", "value": _number(value)}
    if isinstance(value, (str, bytes)):
        return {"type": "string", "value": value.decode() if isinstance(value, bytes) else value}
    if isinstance(value, np.ndarray):
        return {"type": "tensor"}
    if isinstance(value, (list, tuple)):
        if all(isinstance(one, (int, np.integer)) for one in value):
            return {"type": "ints", "value": [int(one) for one in value]}
        if all(isinstance(one, (int, float, np.floating, np.integer)) for one in value):
            return {"type": "floats", "value": [_number(one) for one in value]}
        if all(isinstance(one, (str, bytes)) for one in value):
            return {"type": "strings", "value": [one.decode() if isinstance(one, bytes) else one for one in value]}
    raise TypeError(f"expected a number, a text, an array or a list of numbers or texts, found {value!r}")


def _number(value):
    value = float(value)
    return value if np.isfinite(value) else str(value)


def _handle_of(array, onnx_type):
    array = np.asarray(array)
    if onnx_type is None:
        return _core.ValueHandle.from_numpy(array)
    return _core.ValueHandle.from_array_with_type(array, element_type_of(onnx_type))
