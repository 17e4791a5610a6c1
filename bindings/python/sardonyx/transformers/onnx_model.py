"""OnnxModel: an onnx.ModelProto with what programs around the optimizer do with it, under the names of
onnxruntime.transformers.onnx_model. The questions that it answers are in graph_search.py."""
import os
from logging import getLogger
from pathlib import Path

from sardonyx.transformers.graph_search import GraphSearch, bodies_of

logger = getLogger(__name__)

_FLOAT16 = 10  # TensorProto.DataType
_HALF_ARGUMENTS = ("keep_io_types", "min_positive_val", "max_finite_val", "op_block_list", "node_block_list",
                   "force_fp16_initializers", "force_fp16_inputs", "use_bfloat16_as_blocked_nodes_dtype")


class OnnxModel(GraphSearch):
    """`model`: an onnx.ModelProto, which is changed in place."""

    def __init__(self, model):
        self.initialize(model)

    def initialize(self, model):
        self.model = model
        self.shape_infer_helper = None
        self.enable_shape_infer = True
        self._last_numbers = {}  # of the names that create_node_name gave, by prefix

    # Types and shapes.

    def disable_shape_inference(self):
        self.enable_shape_infer = False

    def infer_runtime_shape(self, dynamic_axis_mapping={}, update=False):  # noqa: B006
        """A SymbolicShapeInferenceHelper that knows the shapes of all values as far as they follow from the inputs';
        None if shape inference is switched off or fails."""
        if not self.enable_shape_infer:
            return None
        if self.shape_infer_helper is None or update:
            from sardonyx.transformers.shape_infer_helper import SymbolicShapeInferenceHelper

            self.shape_infer_helper = SymbolicShapeInferenceHelper(self.model)
        try:
            return self.shape_infer_helper if self.shape_infer_helper.infer(dynamic_axis_mapping) else None
        except Exception as error:
            logger.warning("shapes are not inferred: %s", error)
            self.enable_shape_infer = False
            return None

    def get_dtype(self, name, symbolic_shape_helper=None):
        """The TensorProto.DataType of a value; None if nothing is known of it."""
        value = self._declared(name)
        if value is not None:
            return value.type.tensor_type.elem_type
        tensor = next((one for one in self.model.graph.initializer if one.name == name), None)
        if tensor is not None:
            return tensor.data_type
        known = None if symbolic_shape_helper is None else symbolic_shape_helper.known_vi_.get(name)
        return None if known is None else known.type.tensor_type.elem_type

    def get_shape(self, name, symbolic_shape_helper=None):
        """The dimensions of a value, numbers and names; None if nothing is known of them."""
        value = self._declared(name)
        if value is not None and value.type.tensor_type.HasField("shape"):
            return [dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim]
        tensor = next((one for one in self.model.graph.initializer if one.name == name), None)
        if tensor is not None:
            return list(tensor.dims)
        known = None if symbolic_shape_helper is None else symbolic_shape_helper.known_vi_.get(name)
        if known is None or not known.type.tensor_type.HasField("shape"):
            return None
        return [dim.dim_param or dim.dim_value for dim in known.type.tensor_type.shape.dim]

    def clean_shape_infer(self):
        self.model.graph.ClearField("value_info")

    def use_float16(self):
        """Whether a value, an initializer, or an attribute of a node has half precision."""
        return any(_has_half(graph) for graph in self.graphs())

    def _declared(self, name):
        graph = self.model.graph
        return next((value for values in (graph.value_info, graph.input, graph.output) for value in values
                     if value.name == name), None)

    # Changes.

    def add_node(self, node, graph_name=None):
        self._graph_named(graph_name).node.append(node)

    def add_nodes(self, nodes_to_add, node_name_to_graph_name=None):
        for node in nodes_to_add:
            self.add_node(node, None if node_name_to_graph_name is None else node_name_to_graph_name[node.name])

    def remove_node(self, node):
        for graph in self.graphs():
            if node in graph.node:
                graph.node.remove(node)
                return
        logger.warning("there is no node '%s' (%s) to remove", node.name, node.op_type)

    def remove_nodes(self, nodes_to_remove):
        for node in nodes_to_remove:
            self.remove_node(node)

    def add_initializer(self, tensor, graph_name=None):
        self._graph_named(graph_name).initializer.append(tensor)

    def remove_initializer(self, tensor):
        for graph in self.graphs():
            if tensor in graph.initializer:
                graph.initializer.remove(tensor)
                return
        logger.warning("there is no initializer '%s' to remove", tensor.name)

    def add_input(self, input, graph_name=None):
        self._graph_named(graph_name).input.append(input)

    def get_topological_insert_id(self, graph, outputs):
        """The place of the first node that reads one of these values, or the end."""
        return next((index for index, node in enumerate(graph.node) if any(name in outputs for name in node.input)),
                    len(graph.node))

    @staticmethod
    def replace_node_input(node, old_input_name, new_input_name):
        _replace(node.input, old_input_name, new_input_name)

    @staticmethod
    def replace_node_output(node, old_output_name, new_output_name):
        _replace(node.output, old_output_name, new_output_name)

    def replace_input_of_all_nodes(self, old_input_name, new_input_name):
        for node in self.nodes():
            _replace(node.input, old_input_name, new_input_name)

    def replace_output_of_all_nodes(self, old_output_name, new_output_name):
        for node in self.nodes():
            _replace(node.output, old_output_name, new_output_name)

    def create_node_name(self, op_type, name_prefix=None):
        """A name that no node has, and that was not given before: the prefix (or the operator) with a number."""
        prefix = f"{(name_prefix or op_type).removesuffix('_')}_"
        if prefix not in self._last_numbers:
            tails = [node.name[len(prefix):] for node in self.nodes() if node.name.startswith(prefix)]
            self._last_numbers[prefix] = max((int(tail) for tail in tails if tail.isdecimal()), default=-1)
        self._last_numbers[prefix] += 1
        return f"{prefix}{self._last_numbers[prefix]}"

    def rename_graph_output(self, old_name, new_name):
        if new_name in self.output_name_to_node():
            raise RuntimeError(f"expected a name that is new, found '{new_name}', which the graph has already")
        output = self.find_graph_output(old_name)
        if output is not None:
            self.replace_input_of_all_nodes(old_name, new_name)
            self.replace_output_of_all_nodes(old_name, new_name)
            output.name = new_name

    def add_prefix_to_names(self, prefix):
        """Puts a prefix before the names of all values of the main graph but its inputs and outputs."""
        graph = self.model.graph
        kept = {value.name for values in (graph.input, graph.output) for value in values} | {""}

        def named(name):
            return name if name in kept or prefix + name in kept else prefix + name

        for one in (*graph.initializer, *graph.value_info):
            one.name = named(one.name)
        for node in graph.node:
            for names in (node.input, node.output):
                for index, name in enumerate(names):
                    names[index] = named(name)

    def _graph_named(self, name):
        if name is None or name == self.model.graph.name:
            return self.model.graph
        graph = self.get_graph_by_name(name)
        if graph is None:
            raise ValueError(f"expected the name of a graph, found '{name}'")
        return graph

    # What nobody needs.

    def remove_unused_constant(self):
        """Removes Constant nodes that nothing reads."""
        used = self._names_read()
        self.remove_nodes([node for node in self.get_nodes_by_op_type("Constant") if node.output[0] not in used])

    def prune_graph(self, outputs=None, allow_remove_graph_inputs=True):
        """Removes nodes and initializers of the main graph that its outputs do not depend on (with `outputs` those of
        them; the others go), and, if allowed, inputs that nothing reads then."""
        graph = self.model.graph
        wanted = {value.name for value in graph.output} if outputs is None else set(outputs)
        producers = {name: node for node in graph.node for name in node.output if name}
        needed, waiting = set(), [name for name in wanted if name in producers]
        while waiting:
            node = producers[waiting.pop()]
            if id(node) not in needed:
                needed.add(id(node))
                waiting.extend(name for name in names_read_by(node) if name in producers)
        kept = [node for node in graph.node if id(node) in needed]
        if len(kept) < len(graph.node):
            _set_nodes(graph, kept)
        for value in [value for value in graph.output if value.name not in wanted]:
            graph.output.remove(value)
        self.update_graph(allow_remove_graph_inputs=allow_remove_graph_inputs)

    def update_graph(self, verbose=False, allow_remove_graph_inputs=False):  # noqa: ARG002
        """Removes initializers and, if allowed, inputs of the main graph that nothing reads."""
        used, graph = self._names_read(), self.model.graph
        if allow_remove_graph_inputs:
            for value in [value for value in graph.input if value.name not in used]:
                graph.input.remove(value)
        for tensor in [tensor for tensor in graph.initializer if tensor.name not in used]:
            graph.initializer.remove(tensor)
        self.remove_unused_constant()

    def _names_read(self):
        return {name for node in self.model.graph.node for name in names_read_by(node)} | {
            value.name for graph in self.graphs() for value in graph.output}

    def remove_cascaded_cast_nodes(self):
        """Makes a Cast of a Cast read what that one reads: this changes numbers that the first one rounds."""
        producers, changed = self.output_name_to_node(), False
        for node in self.get_nodes_by_op_type("Cast"):
            parent = self.get_parent(node, 0, producers)
            if parent is not None and parent.op_type == "Cast":
                node.input[0] = parent.input[0]
                changed = True
        if changed:
            self.prune_graph(allow_remove_graph_inputs=False)

    def remove_useless_cast_nodes(self):
        """Removes Casts to the type that their input has."""
        shapes = self.infer_runtime_shape(update=True)
        inputs, outputs = set(self.get_graphs_input_names()), set(self.get_graphs_output_names())
        for node in self.get_nodes_by_op_type("Cast"):
            source, made = node.input[0], node.output[0]
            dtype = self.get_dtype(source, shapes)
            if not dtype or dtype != self.get_node_attribute(node, "to"):
                continue
            if made not in outputs:
                self.replace_input_of_all_nodes(made, source)
            elif source not in inputs | outputs and self.get_initializer(source) is None:
                self.remove_node(node)
                self.replace_output_of_all_nodes(source, made)
                self.replace_input_of_all_nodes(source, made)
                continue
            else:
                continue
            self.remove_node(node)

    # Types of inputs and outputs.

    def change_graph_input_type(self, graph_input, new_type):
        """Gives an input of the graph another element type. Nodes read it through a Cast to the old type; Casts to the
        new one go. Returns the Cast that was added, or None, and those that were removed."""
        from onnx import helper

        old_type = graph_input.type.tensor_type.elem_type
        if self.find_graph_input(graph_input.name) is None:
            raise ValueError(f"expected an input of the graph, found '{graph_input.name}'")
        if old_type == int(new_type):
            return None, []
        readers = self.input_name_to_nodes().get(graph_input.name, [])
        added, removed = None, []
        others = [node for node in readers if node.op_type != "Cast"]
        if others:
            name = self.create_node_name("Cast")
            cast = f"{name}_{graph_input.name}"
            value = self.model.graph.value_info.add()
            value.CopyFrom(graph_input)
            value.name = cast
            self.model.graph.node.append(helper.make_node("Cast", [graph_input.name], [cast], name, to=int(old_type)))
            added = self.model.graph.node[-1]
            for node in others:
                self.replace_node_input(node, graph_input.name, cast)
        for node in readers:
            if node.op_type == "Cast" and self.get_node_attribute(node, "to") == int(new_type) and (
                    self.find_graph_output(node.output[0]) is None):
                self.replace_input_of_all_nodes(node.output[0], graph_input.name)
                removed.append(node)
        self.remove_nodes(removed)
        graph_input.type.tensor_type.elem_type = int(new_type)
        return added, removed

    def change_graph_output_type(self, graph_output, new_type):
        """Gives an output of the graph another element type, by a Cast, which is returned; None if it has it."""
        from onnx import helper

        if self.find_graph_output(graph_output.name) is None:
            raise ValueError(f"expected an output of the graph, found '{graph_output.name}'")
        if graph_output.type.tensor_type.elem_type == int(new_type):
            return None
        name = self.create_node_name("Cast")
        before = f"{name}_{graph_output.name}"
        self.replace_input_of_all_nodes(graph_output.name, before)
        self.replace_output_of_all_nodes(graph_output.name, before)
        value = self.model.graph.value_info.add()
        value.CopyFrom(graph_output)
        value.name = before
        self.model.graph.node.append(helper.make_node("Cast", [before], [graph_output.name], name, to=int(new_type)))
        graph_output.type.tensor_type.elem_type = int(new_type)
        return self.model.graph.node[-1]

    # Half precision.

    def convert_model_float32_to_float16(self, cast_input_output=True):
        """By its old name."""
        self.convert_float_to_float16(use_symbolic_shape_infer=True, keep_io_types=cast_input_output)

    def convert_float_to_float16(self, use_symbolic_shape_infer=True, **kwargs):  # noqa: ARG002
        """Floats in half precision: sardonyx.float16.convert_float_to_float16 with these arguments (`keep_io_types`,
        `op_block_list`, `node_block_list` ...). Inputs and outputs stay floats unless `keep_io_types` says otherwise;
        types are always inferred with the operators of com.microsoft. `model` may be a path then."""
        from sardonyx.float16 import convert_float_to_float16

        arguments = {"keep_io_types": True} | {key: kwargs[key] for key in _HALF_ARGUMENTS if key in kwargs}
        self.initialize(convert_float_to_float16(self.model, **arguments))
        self.remove_cascaded_cast_nodes()
        self.remove_useless_cast_nodes()

    # Equal initializers.

    @staticmethod
    def to_data_hash(tensor, base_dir=""):
        """A hash of an onnx.TensorProto's data; `base_dir` is where its external data lies."""
        return hash(_array_of(tensor, base_dir).tobytes())

    @staticmethod
    def has_same_value(tensor1, tensor2, signature_cache1=None, signature_cache2=None, rtol=1e-05, atol=1e-08):
        """Whether two tensors have one type and shape and the same numbers, within the tolerances. The caches hold
        hashes by name."""
        import numpy as np

        if tensor1.data_type != tensor2.data_type or list(tensor1.dims) != list(tensor2.dims):
            return False
        for tensor, cache in ((tensor1, signature_cache1), (tensor2, signature_cache2)):
            if cache is not None and tensor.name not in cache:
                cache[tensor.name] = OnnxModel.to_data_hash(tensor)
        one, other = _array_of(tensor1), _array_of(tensor2)
        if one.dtype == object or one.dtype.kind not in "fc":
            return bool(np.array_equal(one, other))
        return bool(np.allclose(one, other, rtol=rtol, atol=atol))

    def remove_duplicated_initializer(self, cache=None):
        """Keeps one of several equal initializers of the main graph."""
        kept = {}
        for tensor in self.model.graph.initializer:
            alike = kept.setdefault((tensor.data_type, tuple(tensor.dims)), [])
            same = next((one for one in alike if self.has_same_value(one, tensor, cache, cache)), None)
            if same is None:
                alike.append(tensor)
            else:
                self.replace_input_of_all_nodes(tensor.name, same.name)
        self.update_graph()

    # Order and files.

    @staticmethod
    def graph_topological_sort(graph, is_deterministic=False):
        """Puts each node behind those whose values it or its bodies read; otherwise their order stays, or, if it shall
        be deterministic, is that of their names."""
        nodes = sorted(graph.node, key=lambda node: node.name) if is_deterministic else list(graph.node)
        producers = {name: index for index, node in enumerate(nodes) for name in node.output if name}
        placed, order = set(), []
        while len(order) < len(nodes):
            before = len(order)
            for index, node in enumerate(nodes):
                if index in placed:
                    continue
                if all(producers[name] in placed for name in names_read_by(node) if name in producers):
                    placed.add(index)
                    order.append(node)
            if len(order) == before:
                stuck = next(node for index, node in enumerate(nodes) if index not in placed)
                raise RuntimeError(f"node '{stuck.name}' ({stuck.op_type}) reads what depends on its own output")
        _set_nodes(graph, order)

    def topological_sort(self, is_deterministic=False, dump_model_on_failure=False):
        try:
            self.graph_topological_sort(self.model.graph, is_deterministic)
        except RuntimeError:
            if dump_model_on_failure:
                self.save(self.model, "_topo_sort_failed.onnx", save_as_external_data=True)
            raise

    @staticmethod
    def save(model, output_path, save_as_external_data=False, all_tensors_to_one_file=True, size_threshold=1024,
             convert_attribute=False):
        """Writes an onnx.ModelProto; its weights into "NAME.data" beside it, or each into a file, if so asked."""
        import onnx

        path = Path(output_path)
        path.parent.mkdir(parents=True, exist_ok=True)
        domains = {opset.domain for opset in model.opset_import}
        if "com.microsoft" not in domains and any(node.domain == "com.microsoft" for node in model.graph.node):
            model.opset_import.add(domain="com.microsoft", version=1)
        if not save_as_external_data:
            onnx.save_model(model, os.fspath(path))
            return
        beside = path.with_name(f"{path.name}.data")
        for old in (path, *([beside] if all_tensors_to_one_file else [])):
            old.unlink(missing_ok=True)  # the package onnx writes behind what is there
        if not all_tensors_to_one_file and any(path.parent.iterdir()):
            raise RuntimeError(f"expected an empty folder for a file of each weight, found files in {path.parent}")
        onnx.save_model(model, os.fspath(path), save_as_external_data=True,
                        all_tensors_to_one_file=all_tensors_to_one_file, size_threshold=size_threshold,
                        location=beside.name if all_tensors_to_one_file else None, convert_attribute=convert_attribute)

    def save_model_to_file(self, output_path, use_external_data_format=False, all_tensors_to_one_file=True,
                           size_threshold=1024, convert_attribute=False):
        self.topological_sort()
        self.save(self.model, output_path, use_external_data_format, all_tensors_to_one_file, size_threshold,
                  convert_attribute)


def _replace(names, old, new):
    if not isinstance(old, str) or not isinstance(new, str):
        raise TypeError(f"expected names of values, found {old!r} and {new!r}")
    for index, name in enumerate(names):
        if name == old:
            names[index] = new


def names_read_by(node):
    """The names that a node and its bodies read, those of the bodies' own values among them."""
    names = set(node.input) - {""}
    for body in bodies_of(node):
        names.update(value.name for value in body.output)
        for inner in body.node:
            names |= names_read_by(inner)
    return names


def _set_nodes(graph, nodes):
    copies = [type(node)() for node in nodes]
    for copy, node in zip(copies, nodes, strict=True):
        copy.CopyFrom(node)
    graph.ClearField("node")
    graph.node.extend(copies)


def _array_of(tensor, base_dir=""):
    from onnx import numpy_helper

    return numpy_helper.to_array(tensor, base_dir)


def _has_half(graph):
    kinds = [value.type.tensor_type.elem_type for values in (graph.input, graph.output, graph.value_info)
             for value in values]
    kinds += [value.type.sequence_type.elem_type.tensor_type.elem_type
              for values in (graph.input, graph.output, graph.value_info) for value in values
              if value.type.HasField("sequence_type")]
    kinds += [tensor.data_type for tensor in graph.initializer]
    for node in graph.node:
        for attribute in node.attribute:
            kinds += [tensor.data_type for tensor in (attribute.t, *attribute.tensors)]
            if node.op_type == "Cast" and attribute.name == "to":
                kinds.append(attribute.i)
    return _FLOAT16 in kinds
