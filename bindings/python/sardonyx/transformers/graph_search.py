"""Questions about the graphs of an onnx.ModelProto: who makes a value, who reads it, what lies above and below a node.
The names are those of onnxruntime.transformers.onnx_model.OnnxModel."""
from collections import deque


def bodies_of(node):
    """The graphs in the attributes of a node."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


class GraphSearch:
    """`self.model` is an onnx.ModelProto. Nodes and values of bodies count as those of the main graph do."""

    def graph(self):
        return self.model.graph

    def graphs(self):
        """The main graph, then the bodies of its nodes, level by level."""
        found = [self.model.graph]
        for graph in found:
            found.extend(body for node in graph.node for body in bodies_of(node))
        return found

    def functions(self):
        return [list(self.model.functions)]

    def nodes(self):
        return [node for graph in self.graphs() for node in graph.node]

    def get_nodes_by_op_type(self, op_type):
        return [node for node in self.nodes() if node.op_type == op_type]

    def get_graphs_input_names(self):
        return [value.name for graph in self.graphs() for value in graph.input]

    def get_graphs_output_names(self):
        return [value.name for graph in self.graphs() for value in graph.output]

    def get_graph_by_node(self, node):
        return next((graph for graph in self.graphs() if node in graph.node), None)

    def get_graph_by_name(self, graph_name):
        return next((graph for graph in self.graphs() if graph.name == graph_name), None)

    def input_name_to_nodes(self, exclude_subgraphs=False):
        """The nodes that read each value, a node as often as it reads it."""
        readers = {}
        for node in self.model.graph.node if exclude_subgraphs else self.nodes():
            for name in filter(None, node.input):
                readers.setdefault(name, []).append(node)
        return readers

    def output_name_to_node(self, exclude_subgraphs=False):
        return {name: node for node in (self.model.graph.node if exclude_subgraphs else self.nodes())
                for name in node.output if name}

    # Neighbours.

    def get_children(self, node, input_name_to_nodes=None, output_index=None):
        readers = self.input_name_to_nodes() if input_name_to_nodes is None else input_name_to_nodes
        made = node.output if output_index is None else node.output[output_index:output_index + 1]
        return [child for name in made for child in readers.get(name, [])]

    def get_parents(self, node, output_name_to_node=None):
        producers = self.output_name_to_node() if output_name_to_node is None else output_name_to_node
        return [producers[name] for name in node.input if name in producers]

    def get_parent(self, node, i, output_name_to_node=None):
        producers = self.output_name_to_node() if output_name_to_node is None else output_name_to_node
        return producers.get(node.input[i]) if i < len(node.input) else None

    def find_first_child_by_type(self, node, child_type, input_name_to_nodes=None, recursive=True):
        """The nearest node of that operator below a node; only among those that read it unless `recursive`."""
        readers = self.input_name_to_nodes() if input_name_to_nodes is None else input_name_to_nodes
        return _nearest(node, child_type, lambda one: self.get_children(one, readers), recursive)

    def find_first_parent_by_type(self, node, parent_type, output_name_to_node=None, recursive=True):
        producers = self.output_name_to_node() if output_name_to_node is None else output_name_to_node
        return _nearest(node, parent_type, lambda one: self.get_parents(one, producers), recursive)

    def get_children_subgraph_nodes(self, root_node, stop_nodes, input_name_to_nodes=None):
        """All nodes below the first output of a node, without `stop_nodes` and what lies only behind them."""
        readers = self.input_name_to_nodes() if input_name_to_nodes is None else input_name_to_nodes
        return _reached(readers[root_node.output[0]], stop_nodes, lambda one: self.get_children(one, readers))

    def get_parent_subgraph_nodes(self, node, stop_nodes, output_name_to_node=None):
        producers = self.output_name_to_node() if output_name_to_node is None else output_name_to_node
        return _reached(self.get_parents(node, producers), stop_nodes, lambda one: self.get_parents(one, producers))

    def get_graph_inputs(self, current_node, recursive=False):
        """Names of the main graph's inputs that a node reads; with `recursive` those that it depends on, too."""
        nodes = [current_node, *(self.get_parent_subgraph_nodes(current_node, []) if recursive else [])]
        inputs = {value.name for value in self.model.graph.input}
        return list(dict.fromkeys(name for node in nodes for name in node.input if name in inputs))

    # Paths.

    def match_first_parent(self, node, parent_op_type, output_name_to_node, exclude=[]):  # noqa: B006
        """The first input that a node of that operator makes: the node and the input's index, or None twice."""
        for index, name in enumerate(node.input):
            parent = output_name_to_node.get(name)
            if parent is not None and parent.op_type == parent_op_type and parent not in exclude:
                return parent, index
        return None, None

    def match_parent(self, node, parent_op_type, input_index=None, output_name_to_node=None, exclude=[],  # noqa: B006
                     return_indice=None):
        """The node of that operator that makes input `input_index`; without an index the first such input, whose index
        is appended to `return_indice`. None if there is no such node."""
        if input_index is not None and input_index < 0:
            raise ValueError(f"expected the index of an input, found {input_index}")
        producers = self.output_name_to_node() if output_name_to_node is None else output_name_to_node
        if input_index is None:
            parent, index = self.match_first_parent(node, parent_op_type, producers, exclude)
            if return_indice is not None:
                return_indice.append(index)
            return parent
        parent = self.get_parent(node, input_index, producers)
        fits = parent is not None and parent.op_type == parent_op_type and parent not in exclude
        return parent if fits else None

    def match_parent_path(self, node, parent_op_types, parent_input_index=None, output_name_to_node=None,
                          return_indice=None):
        """The nodes of these operators above one another, from the given node upwards; None unless all are there.
        `parent_input_index` says which input to follow at each step, None being any."""
        indices = [None] * len(parent_op_types) if parent_input_index is None else parent_input_index
        if len(indices) != len(parent_op_types):
            raise ValueError(f"expected {len(parent_op_types)} indices of inputs, found {len(indices)}")
        producers = self.output_name_to_node() if output_name_to_node is None else output_name_to_node
        path = []
        for op_type, index in zip(parent_op_types, indices, strict=True):
            node = self.match_parent(node, op_type, index, producers, return_indice=return_indice)
            if node is None:
                return None
            path.append(node)
        return path

    def match_parent_paths(self, node, paths, output_name_to_node):
        """The first of several (operators, indices) that matches: its number, nodes and indices; or -1, None, None."""
        for number, (op_types, indices) in enumerate(paths):
            taken = []
            path = self.match_parent_path(node, op_types, indices, output_name_to_node, taken)
            if path:
                return number, path, taken
        return -1, None, None

    def match_parent_paths_all(self, node, paths, output_name_to_node):
        """The numbers, nodes and indices of all that match."""
        numbers, found, indices_taken = [], [], []
        for number, (op_types, indices) in enumerate(paths):
            taken = []
            path = self.match_parent_path(node, op_types, indices, output_name_to_node, taken)
            if path:
                numbers.append(number)
                found.append(path)
                indices_taken.append(taken)
        return numbers, found, indices_taken

    def match_child_path(self, node, child_op_types, edges=None, input_name_to_nodes=None, exclude=[]):  # noqa: B006
        """The nodes of these operators below one another, of several candidates always the first. `edges`: pairs of the
        output of the upper node and the input of the lower one."""
        if edges is not None and len(edges) != len(child_op_types):
            raise ValueError(f"expected {len(child_op_types)} edges, found {len(edges)}")
        readers = self.input_name_to_nodes() if input_name_to_nodes is None else input_name_to_nodes
        path = []
        for step, op_type in enumerate(child_op_types):
            made, read = (None, None) if edges is None else edges[step]
            node = next((child for child in self.get_children(node, readers, made)
                         if child.op_type == op_type and child not in exclude
                         and (read is None or child.input[read] == node.output[made])), None)
            if node is None:
                return None
            path.append(node)
        return path

    @staticmethod
    def input_index(node_output, child_node):
        """Which input of a node a value is; -1 if none."""
        return next((index for index, name in enumerate(child_node.input) if name == node_output), -1)

    # Values.

    def get_initializer(self, name):
        return next((one for graph in self.graphs() for one in graph.initializer if one.name == name), None)

    def get_constant_value(self, output_name):
        """The array that a Constant node or an initializer holds; None for other values."""
        from onnx import numpy_helper

        for node in self.get_nodes_by_op_type("Constant"):
            if node.output[0] == output_name:
                for attribute in node.attribute:
                    if attribute.name == "value":
                        return numpy_helper.to_array(attribute.t)
        known = self.get_initializer(output_name)
        return None if known is None else numpy_helper.to_array(known)

    def get_constant_input(self, node):
        """Index and array of a node's first constant input; None twice if it has none."""
        for index, name in enumerate(node.input):
            value = self.get_constant_value(name)
            if value is not None:
                return index, value
        return None, None

    def find_constant_input(self, node, expected_value, delta=0.000001):
        """The index of the first constant input if that is one number near `expected_value`, else -1."""
        index, value = self.get_constant_input(node)
        return index if value is not None and value.size == 1 and abs(value - expected_value) < delta else -1

    def has_constant_input(self, node, expected_value, delta=0.000001):
        return self.find_constant_input(node, expected_value, delta) >= 0

    def is_constant_with_specified_dimension(self, output_name, dimensions, description):  # noqa: ARG002
        value = self.get_constant_value(output_name)
        return value is not None and value.ndim == dimensions

    def find_graph_input(self, input_name):
        return next((one for one in self.model.graph.input if one.name == input_name), None)

    def find_graph_output(self, output_name):
        return next((one for one in self.model.graph.output if one.name == output_name), None)

    def get_graph_inputs_excluding_initializers(self):
        held = {one.name for graph in self.graphs() for one in graph.initializer}
        return [value for value in self.model.graph.input if value.name not in held]

    def tensor_shape_to_list(self, tensor_type):
        """The dimensions of an onnx.TypeProto.Tensor: numbers, names, and "?" for what is neither."""
        return [dim.dim_value if dim.HasField("dim_value") else dim.dim_param or "?" for dim in tensor_type.shape.dim]

    @staticmethod
    def get_node_attribute(node, attribute_name):
        from onnx import helper

        return next((helper.get_attribute_value(one) for one in node.attribute if one.name == attribute_name), None)

    def get_opset_version(self):
        for opset in self.model.opset_import:
            if opset.domain in ("", "ai.onnx"):
                return opset.version
        raise RuntimeError("expected an opset of ONNX's own domain, found none")

    def get_operator_statistics(self, include_domain=False):
        """How many nodes of each operator there are; with `include_domain` as "domain:operator"."""
        counts = {}
        for node in self.nodes():
            name = f"{node.domain}:{node.op_type}" if include_domain and node.domain else node.op_type
            counts[name] = counts.get(name, 0) + 1
        return counts

    def is_safe_to_fuse_nodes(self, nodes_to_remove, keep_outputs, input_name_to_nodes, output_name_to_node):  # noqa: ARG002
        """Whether nothing else reads what these nodes make, but for `keep_outputs`."""
        return all(reader in nodes_to_remove for node in nodes_to_remove for name in node.output
                   if name not in keep_outputs for reader in input_name_to_nodes.get(name, []))


def _nearest(node, op_type, neighbours, recursive):
    seen, waiting = set(), deque(neighbours(node))
    while waiting:
        here = waiting.popleft()
        if here.op_type == op_type:
            return here
        if recursive and id(here) not in seen:
            seen.add(id(here))
            waiting.extend(neighbours(here))
    return None


def _reached(first, stop_nodes, neighbours):
    found, waiting = [], deque(first)
    while waiting:
        here = waiting.popleft()
        if here in stop_nodes or here in found:
            continue
        found.append(here)
        waiting.extend(neighbours(here))
    return found
