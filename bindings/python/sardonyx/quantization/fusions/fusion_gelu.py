"""Gelu as PyTorch, Keras and TensorFlow spell it with Erf: x / sqrt(2) -> Erf -> + 1, times x and 0.5."""
from __future__ import annotations

from typing import TYPE_CHECKING

from sardonyx.quantization.fusions.fusion import Fusion
from sardonyx.quantization.onnx_model import ONNXModel

if TYPE_CHECKING:
    import onnx

_NEAR = 0.001  # of the square root of 2


class FusionGelu(Fusion):
    """Makes Gelu of com.microsoft."""

    def __init__(self, model: ONNXModel):
        super().__init__(model, "Gelu", "Erf")

    def fuse(
        self,
        erf_node: onnx.NodeProto,
        input_name_to_nodes: dict[str, list[onnx.NodeProto]],
        output_name_to_node: dict[str, onnx.NodeProto],
    ):
        for form in (self.fuse_1, self.fuse_2, self.fuse_3):
            if form(erf_node, input_name_to_nodes, output_name_to_node):
                self.model.set_opset_import("com.microsoft", 1)
                return

    def fuse_1(
        self,
        erf_node: onnx.NodeProto,
        input_name_to_nodes: dict[str, list[onnx.NodeProto]],
        output_name_to_node: dict[str, onnx.NodeProto],
    ) -> bool:
        """PyTorch's: (x * 0.5) * (Erf(x / 1.414...) + 1), or x * (...) * 0.5."""
        added, product = self._after_erf(erf_node, input_name_to_nodes)
        divided = self.match_parent(erf_node, "Div", 0, output_name_to_node)
        if product is None or divided is None or self.find_constant_input(divided, 1.4142, _NEAR) != 1:
            return False
        source, other = divided.input[0], 1 if product.input[0] == added.output[0] else 0
        if product.input[other] == source:
            half = self._only_reader(product, "Mul", input_name_to_nodes)
            output = None if half is None else half.output[0]
        else:
            half, output = self.match_parent(product, "Mul", other, output_name_to_node), product.output[0]
        if half is None or not self.has_constant_input(half, 0.5):
            return False
        if product.input[other] != source and source not in half.input:
            return False
        return self._replace([divided, erf_node, added, product, half], source, output, input_name_to_nodes,
                             output_name_to_node)

    def fuse_2(
        self,
        erf_node: onnx.NodeProto,
        input_name_to_nodes: dict[str, list[onnx.NodeProto]],
        output_name_to_node: dict[str, onnx.NodeProto],
    ) -> bool:
        """Keras's: x * (0.5 * (Erf(x / 1.414...) + 1)), where 1.414... can be a square root of 2."""
        added, half = self._after_erf(erf_node, input_name_to_nodes)
        product = None if half is None else self._only_reader(half, "Mul", input_name_to_nodes)
        divided = self.match_parent(erf_node, "Div", 0, output_name_to_node)
        if product is None or divided is None or not self.has_constant_input(half, 0.5):
            return False
        nodes = [divided, erf_node, added, half, product]
        if self.find_constant_input(divided, 1.4142, _NEAR) != 1:
            root = self.match_parent(divided, "Sqrt", 1, output_name_to_node)
            if root is None or not self.has_constant_input(root, 2.0):
                return False
            nodes.append(root)
        return divided.input[0] in product.input and self._replace(
            nodes, divided.input[0], product.output[0], input_name_to_nodes, output_name_to_node)

    def fuse_3(
        self,
        erf_node: onnx.NodeProto,
        input_name_to_nodes: dict[str, list[onnx.NodeProto]],
        output_name_to_node: dict[str, onnx.NodeProto],
    ) -> bool:
        """TensorFlow's: x * (0.5 * (Erf(x * 0.707...) + 1))."""
        added, half = self._after_erf(erf_node, input_name_to_nodes)
        product = None if half is None else self._only_reader(half, "Mul", input_name_to_nodes)
        scaled = self.match_parent(erf_node, "Mul", 0, output_name_to_node)
        if product is None or scaled is None or not self.has_constant_input(half, 0.5):
            return False
        index = self.find_constant_input(scaled, 0.7071067690849304, _NEAR)
        if index < 0 or scaled.input[1 - index] not in product.input:
            return False
        return self._replace([scaled, erf_node, added, half, product], scaled.input[1 - index], product.output[0],
                             input_name_to_nodes, output_name_to_node)

    def _only_reader(self, node, kind, readers):
        """The only node that reads what a node makes, if it is of this operator; otherwise None."""
        found = readers.get(node.output[0], [])
        return found[0] if len(found) == 1 and found[0].op_type == kind else None

    def _after_erf(self, erf_node, readers):
        """(the node that adds 1, the product that reads it); None for what is not there."""
        added = self._only_reader(erf_node, "Add", readers)
        if added is None or not self.has_constant_input(added, 1):
            return None, None
        return added, self._only_reader(added, "Mul", readers)

    def _replace(self, nodes, source, output, readers, producers):
        import onnx

        if not self.is_safe_to_fuse_nodes(nodes, [output], readers, producers):
            return False
        self.nodes_to_remove.extend(nodes)
        self.nodes_to_add.append(onnx.helper.make_node(
            "Gelu", [source], [output], self.create_unique_node_name(), domain="com.microsoft"))
        return True
