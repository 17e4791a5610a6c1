"""A model as an onnx.ModelProto with helpers to read and change it, as programs around the quantizers expect it. What
Sardonyx itself changes is a sardonyx.model.Model."""
import os
from pathlib import Path

from sardonyx.quantization.quant_types import FLOAT8E4M3FN

# ONNX Runtime's module of this name has these, too, so programs may import them from here.
from sardonyx.quantization.quant_utils import attribute_to_kwarg, find_by_name  # noqa: F401


def _bodies(node):
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


class ONNXModel:
    """`model`: an onnx.ModelProto, which is changed in place."""

    def __init__(self, model):
        self.model = model

    def nodes(self):
        return self.model.graph.node

    def initializer(self):
        return self.model.graph.initializer

    def graph(self):
        return self.model.graph

    def ir_version(self):
        return self.model.ir_version

    def opset_import(self):
        return self.model.opset_import

    def set_opset_import(self, domain, version):
        known = next((opset for opset in self.model.opset_import if opset.domain == domain), None)
        if known is None:
            self.model.opset_import.add(domain=domain, version=version)
        else:
            known.version = version

    # Initializers.

    def initializer_extend(self, inits):
        if len(inits) == 0:
            raise ValueError("expected initializers to add, found an empty list")
        self.model.graph.initializer.extend(_checked(one) for one in inits)

    def add_initializer(self, tensor):
        """Does nothing if there is one of that name."""
        if self.get_initializer(tensor.name) is None:
            self.model.graph.initializer.append(_checked(tensor))

    def get_initializer(self, name):
        return next((one for one in self.model.graph.initializer if one.name == name), None)

    def get_initializer_name_set(self):
        return {one.name for one in self.model.graph.initializer}

    def remove_initializer(self, tensor):
        if tensor in self.model.graph.initializer:
            name = tensor.name
            self.model.graph.initializer.remove(tensor)
            self._remove_inputs({name})

    def remove_initializers(self, init_to_remove):
        for one in init_to_remove:
            self.remove_initializer(one)

    def clean_initializers(self):
        """Removes those that nothing reads, in bodies, too. Returns the graph, and names that it reads of outside."""
        return self.model.graph, _clean(self.model.graph)

    def get_constant_value(self, output_name):
        """The array of an initializer or a Constant node; None for other values."""
        import onnx

        for node in self.model.graph.node:
            if node.op_type == "Constant" and node.output[0] == output_name:
                for attribute in node.attribute:
                    if attribute.name == "value":
                        return onnx.numpy_helper.to_array(attribute.t)
        known = self.get_initializer(output_name)
        return None if known is None else onnx.numpy_helper.to_array(known)

    def get_largest_initializer_name_suffix(self, initializer_name_prefix):
        """The largest number behind the prefix in the name of an initializer; -1 if there is none."""
        return _largest_suffix(self.model.graph.initializer, initializer_name_prefix)

    def find_nodes_by_initializer(self, graph, initializer):
        return [node for node in graph.node if initializer.name in node.input]

    # Values.

    def find_graph_input(self, input_name):
        return next((one for one in self.model.graph.input if one.name == input_name), None)

    def find_graph_output(self, output_name):
        return next((one for one in self.model.graph.output if one.name == output_name), None)

    def is_graph_input(self, tensor_name: str) -> bool:
        return self.find_graph_input(tensor_name) is not None

    def is_graph_output(self, output_name):
        return self.find_graph_output(output_name) is not None

    def get_non_initializer_inputs(self):
        return {one.name for one in self.model.graph.input} - self.get_initializer_name_set()

    def get_tensor_type(self, tensor_name: str):
        """The onnx.TypeProto.Tensor of a value; None if nothing is known of it."""
        graph = self.model.graph
        for value in (*graph.value_info, *graph.input, *graph.output):
            if value.name == tensor_name:
                return value.type.tensor_type
        return None

    # Nodes.

    def add_node(self, node):
        self.model.graph.node.append(node)

    def add_nodes(self, nodes_to_add):
        self.model.graph.node.extend(nodes_to_add)

    def remove_node(self, node):
        if node in self.model.graph.node:
            self.model.graph.node.remove(node)

    def remove_nodes(self, nodes_to_remove):
        for node in nodes_to_remove:
            self.remove_node(node)

    def input_name_to_nodes(self):
        """The nodes that read each value, a node as often as it reads it."""
        readers = {}
        for node in self.model.graph.node:
            for name in node.input:
                if name:
                    readers.setdefault(name, []).append(node)
        return readers

    def output_name_to_node(self):
        return {name: node for node in self.model.graph.node for name in node.output if name}

    def get_children(self, node, input_name_to_nodes=None):
        readers = self.input_name_to_nodes() if input_name_to_nodes is None else input_name_to_nodes
        return [child for name in node.output for child in readers.get(name, [])]

    def get_parents(self, node, output_name_to_node=None):
        producers = self.output_name_to_node() if output_name_to_node is None else output_name_to_node
        return [producers[name] for name in node.input if name in producers]

    def get_parent(self, node, idx, output_name_to_node=None):
        producers = self.output_name_to_node() if output_name_to_node is None else output_name_to_node
        return producers.get(node.input[idx]) if idx < len(node.input) else None

    def find_node_by_name(self, node_name, new_nodes_list, graph):
        return next((node for node in (*graph.node, *new_nodes_list) if node.name == node_name), None)

    def get_largest_node_name_suffix(self, node_name_prefix):
        """The largest number behind the prefix in the name of a node; -1 if there is none."""
        return _largest_suffix(self.model.graph.node, node_name_prefix)

    @staticmethod
    def replace_node_input(node, old_input_name, new_input_name):
        _replace(node.input, old_input_name, new_input_name)

    @staticmethod
    def replace_node_output(node, old_output_name, new_output_name):
        _replace(node.output, old_output_name, new_output_name)

    def replace_input_of_all_nodes(self, old_input_name, new_input_name):
        for node in self.model.graph.node:
            _replace(node.input, old_input_name, new_input_name)

    def replace_input_of_nodes(self, old_input_name, new_input_name, node_names_set):
        for node in self.model.graph.node:
            if node.name in node_names_set:
                _replace(node.input, old_input_name, new_input_name)

    def replace_output_of_all_nodes(self, old_output_name, new_output_name):
        for node in self.model.graph.node:
            _replace(node.output, old_output_name, new_output_name)

    def replace_output_of_nodes(self, old_output_name, new_output_name, node_names_set):
        for node in self.model.graph.node:
            if node.name in node_names_set:
                _replace(node.output, old_output_name, new_output_name)

    def replace_gemm_with_matmul(self):
        """Each Gemm as MatMul and Add, where alpha and beta are 1 and the first input is not transposed."""
        from sardonyx.model import Model
        from sardonyx.quantization.gemm_to_matmul import replace_gemm_with_matmul

        changed = Model(self.model)
        replace_gemm_with_matmul(changed)
        self.model.CopyFrom(changed.to_proto())

    def remove_unused_constant(self):
        """Removes Constant nodes and initializers that no node of the main graph reads."""
        readers, graph = self.input_name_to_nodes(), self.model.graph

        def is_unused(name):
            return name not in readers and not self.is_graph_output(name)
        self.remove_nodes([node for node in graph.node if node.op_type == "Constant" and is_unused(node.output[0])])
        unused = [one for one in graph.initializer if is_unused(one.name)]
        self._remove_inputs({one.name for one in unused})
        self.remove_initializers(unused)

    def topological_sort(self):
        """Puts nodes behind those whose values they or their bodies read; otherwise their order stays."""
        nodes, producers = list(self.model.graph.node), {}
        for index, node in enumerate(nodes):
            producers.update({name: index for name in node.output if name})
        waits_for = [{producers[name] for name in _read_by(node) if name in producers} for node in nodes]
        order, done = [], set()
        while len(order) < len(nodes):
            ready = [index for index in range(len(nodes)) if index not in done and waits_for[index] <= done]
            if not ready:
                circle = next(node for index, node in enumerate(nodes) if index not in done)
                raise ValueError(f"node '{circle.name}' ({circle.op_type}) reads what depends on its own output")
            for index in ready:  # what became ready by these comes in the next turn
                order.append(index)
                done.add(index)
        self.model.graph.ClearField("node")
        self.model.graph.node.extend(nodes[index] for index in order)

    def save_model_to_file(self, output_path, use_external_data_format=False):
        """Writes the model; with `use_external_data_format` weights lie in a file beside it, as models over 2 GB
        need."""
        import onnx

        self.topological_sort()
        for one in self.model.graph.initializer:
            _checked(one)
        path = Path(output_path)
        if use_external_data_format:
            beside = path.parent / f"{path.name}.data"
            if beside.exists():  # the package onnx writes behind what is there
                beside.unlink()
            onnx.external_data_helper.convert_model_to_external_data(
                self.model, all_tensors_to_one_file=True, location=beside.name, convert_attribute=True)
        onnx.save_model(self.model, os.fspath(path))

    def _remove_inputs(self, names):
        for value in [one for one in self.model.graph.input if one.name in names]:
            self.model.graph.input.remove(value)


class ChangedModel(ONNXModel):
    """The ONNXModel of a sardonyx.model.Model, which becomes a proto only when that is asked for: models over 2 GB can
    be saved without."""

    def __init__(self, changed):
        self._changed, self._proto = changed, None

    @property
    def model(self):
        if self._proto is None:
            self._proto = self._changed.to_proto()
        return self._proto

    def save_model_to_file(self, output_path, use_external_data_format=False):
        if self._proto is not None:
            super().save_model_to_file(output_path, use_external_data_format)
            return
        path = Path(output_path)
        self._changed.save(os.fspath(path), f"{path.name}.data" if use_external_data_format else None)


def _replace(names, old, new):
    if not isinstance(old, str) or not isinstance(new, str):
        raise TypeError(f"expected names of values, found {old!r} and {new!r}")
    for index, name in enumerate(names):
        if name == old:
            names[index] = new


def _read_by(node):
    """The names that a node and its bodies read, those of the bodies' own values among them."""
    names = set(node.input)
    for body in _bodies(node):
        names.update(value.name for value in body.output)
        for inner in body.node:
            names |= _read_by(inner)
    return names


def _clean(graph):
    read = {value.name for value in graph.output} | {name for node in graph.node for name in node.input}
    for node in graph.node:
        for body in _bodies(node):
            read |= _clean(body)
    read -= {name for node in graph.node for name in node.output} | {""}
    unused = [one for one in graph.initializer if one.name not in read]
    for value in [value for value in graph.input if value.name in {one.name for one in unused}]:
        graph.input.remove(value)
    for one in unused:
        graph.initializer.remove(one)
    return read - {one.name for one in graph.initializer} - {value.name for value in graph.input}


def _largest_suffix(items, prefix):
    tails = [item.name[len(prefix):] for item in items if item.name.startswith(prefix)]
    return max((int(tail) for tail in tails if tail.isdecimal()), default=-1)


def _checked(tensor):
    if tensor.data_type == FLOAT8E4M3FN and any((byte & 127) == 127 for byte in tensor.raw_data):
        raise ValueError(f"initializer '{tensor.name}' of float8 has elements that are NaN")
    return tensor
