"""What fusions share: they look at each node of an operator, and put nodes in place of those that belong together."""
from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from sardonyx.quantization.onnx_model import ONNXModel

if TYPE_CHECKING:
    import onnx


class Fusion:
    """Looks at nodes of `search_op_type`, and makes nodes of `fused_op_type`. A subclass has `fuse`, which adds to
    `nodes_to_remove` and `nodes_to_add`."""

    def __init__(self, model: ONNXModel, fused_op_type: str, search_op_type: str):
        self.model, self.fused_op_type, self.search_op_type = model, fused_op_type, search_op_type
        self.nodes_to_remove: list = []
        self.nodes_to_add: list = []
        self._next_number = None

    def fuse(
        self,
        node: onnx.NodeProto,
        input_name_to_nodes: dict[str, list[onnx.NodeProto]],
        output_name_to_node: dict[str, onnx.NodeProto],
    ):
        """Looks at one node; the dictionaries have the readers and the producer of each value."""
        raise NotImplementedError(f"{type(self).__name__}.fuse")

    def apply(self) -> bool:
        """Looks at all nodes and changes the model; returns whether there was something to change."""
        readers, producers = self.model.input_name_to_nodes(), self.model.output_name_to_node()
        for node in self.model.nodes():
            if node.op_type == self.search_op_type:
                self.fuse(node, readers, producers)
        self.model.remove_nodes(self.nodes_to_remove)
        self.model.add_nodes(self.nodes_to_add)
        is_changed = bool(self.nodes_to_remove or self.nodes_to_add)
        if is_changed:
            self.model.remove_unused_constant()
        return is_changed

    def create_unique_node_name(self):
        prefix = f"{self.fused_op_type}_fused_{self.search_op_type}_"
        if self._next_number is None:
            self._next_number = self.model.get_largest_node_name_suffix(prefix) + 1
        self._next_number += 1
        return f"{prefix}{self._next_number - 1}"

    @staticmethod
    def is_safe_to_fuse_nodes(
        nodes_to_remove: list[onnx.NodeProto],
        keep_outputs: list[str],
        input_name_to_nodes: dict[str, list[onnx.NodeProto]],
        output_name_to_node: dict[str, onnx.NodeProto],
    ) -> bool:
        """Whether no other node reads what these make, but for `keep_outputs`."""
        made = {name for node in nodes_to_remove for name in node.output} - set(keep_outputs)
        return all(reader in nodes_to_remove for name in made for reader in input_name_to_nodes.get(name, ()))

    @staticmethod
    def get_node_attribute(node: onnx.NodeProto, attribute_name: str):
        """The value of an attribute; None if the node does not have it."""
        import onnx

        found = next((one for one in node.attribute if one.name == attribute_name), None)
        return None if found is None else onnx.helper.get_attribute_value(found)

    @staticmethod
    def input_index(node_output: str, child_node: onnx.NodeProto) -> int:
        """At which input a node reads a value first; -1 if it does not."""
        names = list(child_node.input)
        return names.index(node_output) if node_output in names else -1

    @staticmethod
    def tensor_shape_to_list(tensor_type) -> list[int]:
        """The shape of an onnx.TypeProto.Tensor: numbers, symbols, "?" for what is not known."""
        return [dimension.dim_value if dimension.HasField("dim_value") else dimension.dim_param or "?"
                for dimension in tensor_type.shape.dim]

    def get_constant_input(self, node: onnx.NodeProto):
        """(index, array) of the first input that is constant, or (None, None)."""
        for index, name in enumerate(node.input):
            value = self.model.get_constant_value(name)
            if value is not None:
                return index, value
        return None, None

    def find_constant_input(self, node: onnx.NodeProto, expected_value: float, delta: float = 0.000001) -> int:
        """The index of the first constant input, if it is one number near `expected_value`; otherwise -1."""
        index, value = self.get_constant_input(node)
        is_near = value is not None and value.size == 1 and abs(value.item() - expected_value) < delta
        return index if is_near else -1

    def has_constant_input(self, node: onnx.NodeProto, expected_value: float, delta: float = 0.000001) -> bool:
        return self.find_constant_input(node, expected_value, delta) >= 0

    def is_constant_with_specified_rank(self, output_name: str, rank: int) -> bool:
        value = self.model.get_constant_value(output_name)
        return value is not None and value.ndim == rank

    def match_first_parent(
        self,
        node: onnx.NodeProto,
        parent_op_type: str,
        output_name_to_node: dict[str, onnx.NodeProto] | None = None,
        exclude: list[onnx.NodeProto] = [],  # noqa: B006
    ) -> tuple[onnx.NodeProto | None, int | None]:
        """(producer, index) of the first input that a node of this operator makes, or (None, None)."""
        producers = self._producers(output_name_to_node)
        for index, name in enumerate(node.input):
            found = producers.get(name)
            if found is not None and found.op_type == parent_op_type and found not in exclude:
                return found, index
        return None, None

    def match_parent(
        self,
        node: onnx.NodeProto,
        parent_op_type: str,
        input_index: int | None = None,
        output_name_to_node: dict[str, onnx.NodeProto] | None = None,
        exclude: list[onnx.NodeProto] = [],  # noqa: B006
        return_indice: list[int] | None = None,
    ) -> onnx.NodeProto | None:
        """The node of this operator that makes an input, or, without an index, the first such; its index is added to
        `return_indice` then. None if there is none."""
        producers = self._producers(output_name_to_node)
        if input_index is None:
            found, index = self.match_first_parent(node, parent_op_type, producers, exclude)
            if return_indice is not None:
                return_indice.append(index)
            return found
        found = self.model.get_parent(node, input_index, producers)
        return found if found is not None and found.op_type == parent_op_type and found not in exclude else None

    def match_parent_path(
        self,
        node: onnx.NodeProto,
        parent_op_types: list[str],
        parent_input_index: list[int] | None = None,
        output_name_to_node: dict[str, onnx.NodeProto] | None = None,
        return_indice: list[int] | None = None,
    ) -> list[onnx.NodeProto] | None:
        """The nodes on the way from a node up through producers of these operators, by these inputs (None: any); None
        if there is no such way."""
        indices = parent_input_index or [None] * len(parent_op_types)
        producers, path = self._producers(output_name_to_node), []
        for kind, index in zip(parent_op_types, indices, strict=True):
            node = self.match_parent(node, kind, index, producers, return_indice=return_indice)
            if node is None:
                return None
            path.append(node)
        return path

    def match_parent_paths(
        self,
        node: onnx.NodeProto,
        paths: list[tuple[list[str], list[int]]],
        output_name_to_node: dict[str, onnx.NodeProto],
    ) -> tuple[int, list[onnx.NodeProto] | None, list[int] | None]:
        """(number, nodes, indices) of the first of several ways that is there, or (-1, None, None)."""
        for number, (kinds, indices) in enumerate(paths):
            found = []
            path = self.match_parent_path(node, kinds, indices, output_name_to_node, found)
            if path:
                return number, path, found
        return -1, None, None

    def find_first_child_by_type(
        self,
        node: onnx.NodeProto,
        child_type: str,
        input_name_to_nodes: dict[str, list[onnx.NodeProto]] | None = None,
        recursive: bool = True,
    ) -> onnx.NodeProto | None:
        """The nearest node of an operator that reads what a node makes, or, with `recursive`, what follows from it."""
        readers = self.model.input_name_to_nodes() if input_name_to_nodes is None else input_name_to_nodes
        waiting = deque(reversed(self.model.get_children(node, readers)))
        while waiting:
            found = waiting.popleft()
            if found.op_type == child_type:
                return found
            if recursive:
                waiting.extend(self.model.get_children(found, readers))
        return None

    def _producers(self, known):
        return self.model.output_name_to_node() if known is None else known
