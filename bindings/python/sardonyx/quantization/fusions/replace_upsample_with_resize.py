"""Upsample, which ONNX has not any more from opset 10 on, as Resize."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sardonyx.quantization.fusions.fusion import Fusion
from sardonyx.quantization.onnx_model import ONNXModel

if TYPE_CHECKING:
    import onnx


class ReplaceUpsampleWithResize(Fusion):
    """`opset`: the version that the model was written for; it tells where Upsample has its scales: in attributes of
    height and width before 7, in one attribute at 7, in an input from 8 on."""

    def __init__(self, model: ONNXModel, opset):
        super().__init__(model, "Resize", "Upsample")
        self.opset = opset

    def fuse(
        self,
        node: onnx.NodeProto,
        input_name_to_nodes: dict[str, list[onnx.NodeProto]],
        output_name_to_node: dict[str, onnx.NodeProto],
    ):
        import onnx

        if self.opset > 7:
            scales = node.input[1] if len(node.input) > 1 else ""
            known = self.model.get_constant_value(scales)
            rank = self._rank(node) if known is None else known.size
        else:
            factors = self.get_node_attribute(node, "scales") if self.opset == 7 else [
                1, 1, *(self.get_node_attribute(node, name) or 1 for name in ("height_scale", "width_scale"))]
            scales, rank = self._constant(f"{node.name}_scales", factors), len(factors)
        region = self._constant(f"{node.name}_roi", [0] * rank + [1] * rank)
        mode = self.get_node_attribute(node, "mode")
        self.nodes_to_remove.append(node)
        self.nodes_to_add.append(onnx.helper.make_node(
            "Resize", [node.input[0], region, scales], node.output, mode=mode, nearest_mode="floor",
            coordinate_transformation_mode="asymmetric"))

    def apply(self) -> bool:
        is_changed = super().apply()
        if is_changed:
            self.model.topological_sort()
        return is_changed

    def _rank(self, node):
        known = self.model.get_tensor_type(node.input[0])
        return len(known.shape.dim) if known is not None else 4

    def _constant(self, name, values):
        """Adds a Constant node of floats and returns the name of what it gives."""
        import onnx

        tensor = onnx.numpy_helper.from_array(np.asarray(values, np.float32), name)
        self.nodes_to_add.append(onnx.helper.make_node("Constant", [], [name], value=tensor))
        return name
