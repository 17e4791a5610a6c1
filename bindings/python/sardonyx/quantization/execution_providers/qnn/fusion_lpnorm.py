"""LpNormalization as PyTorch's normalize is exported: x / Expand(Clip(ReduceL2(x), epsilon), shape of x)."""
from __future__ import annotations

import onnx

from sardonyx.quantization.fusions import Fusion
from sardonyx.quantization.onnx_model import ONNXModel


class FusionLpNormalization(Fusion):
    """Makes LpNormalization with p = 2 along the last axis, where Clip has the lower bound `epsilon` and no upper
    one."""

    def __init__(self, model: ONNXModel, epsilon: float = 1e-12):
        super().__init__(model, "LpNormalization", "ReduceL2")
        self.epsilon = epsilon

    def fuse(
        self,
        reduce_node: onnx.NodeProto,
        input_name_to_nodes: dict[str, list[onnx.NodeProto]],
        output_name_to_node: dict[str, onnx.NodeProto],
    ):
        source, nodes = reduce_node.input[0], [reduce_node]
        for kind in ("Clip", "Expand", "Div"):
            readers = input_name_to_nodes.get(nodes[-1].output[0], [])
            if len(readers) != 1 or readers[0].op_type != kind:
                return
            nodes.append(readers[0])
        _, clipped, expanded, quotient = nodes
        if not self._is_along_last_axis(reduce_node) or not self._has_epsilon(clipped):
            return
        if list(quotient.input) != [source, expanded.output[0]]:
            return
        output = quotient.output[0]
        if self.is_safe_to_fuse_nodes(nodes, [output], input_name_to_nodes, output_name_to_node):
            self.nodes_to_remove.extend(nodes)
            self.nodes_to_add.append(onnx.helper.make_node(
                self.fused_op_type, [source], [output], self.create_unique_node_name(), p=2, axis=-1))

    def _option(self, node, name, index):
        """An attribute, which is an input in later opsets: an array or a number, or None."""
        value = self.get_node_attribute(node, name)
        if value is None and index < len(node.input):
            value = self.model.get_constant_value(node.input[index])
        return value

    def _is_along_last_axis(self, node):
        known, axes = self.model.get_tensor_type(node.input[0]), self._option(node, "axes", 1)
        rank = 0 if known is None else len(known.shape.dim)
        keeps = self.get_node_attribute(node, "keepdims") == 1
        return keeps and rank > 0 and axes is not None and list(axes) in ([-1], [rank - 1])

    def _has_epsilon(self, node):
        lowest, highest = self._option(node, "min", 1), self._option(node, "max", 2)
        return highest is None and lowest is not None and lowest > 0 and abs(lowest - self.epsilon) < 1e-13
