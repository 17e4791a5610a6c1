"""LayerNormalization as exporters spell it: (x - mean) / sqrt(mean of squares + epsilon) * scale + bias."""
from __future__ import annotations

from typing import TYPE_CHECKING

from sardonyx.quantization.fusions.fusion import Fusion
from sardonyx.quantization.onnx_model import ONNXModel

if TYPE_CHECKING:
    import onnx

_LARGEST_EPSILON = 1.0e-4
_ROOT = ["Sqrt", "Add", "ReduceMean"]
_WAYS = [([*_ROOT, square, *cast, "Sub"], [1, 0, 0, 0, *[0] * len(cast), 0])
         for square in ("Pow", "Mul") for cast in ([], ["Cast"])]


class FusionLayerNormalization(Fusion):
    """Makes LayerNormalization, which ONNX has from opset 17 on, along the last axis. The square is Pow with 2, or a
    product with itself; the difference can be there twice, as older versions of PyTorch write it."""

    def __init__(self, model: ONNXModel):
        super().__init__(model, "LayerNormalization", "ReduceMean")

    def fuse(
        self,
        reduce_mean_node: onnx.NodeProto,
        input_name_to_nodes: dict[str, list[onnx.NodeProto]],
        output_name_to_node: dict[str, onnx.NodeProto],
    ):
        import onnx

        source, differences = reduce_mean_node.input[0], self.model.get_children(reduce_mean_node, input_name_to_nodes)
        if len(differences) not in (1, 2) or any(one.op_type != "Sub" or one.input[0] != source
                                                 for one in differences):
            return
        quotients = [self.find_first_child_by_type(one, "Div", input_name_to_nodes, recursive=False)
                     for one in differences]
        quotient = next((one for one in quotients if one is not None), None)
        if quotient is None:
            return
        number, path, _ = self.match_parent_paths(quotient, _WAYS, output_name_to_node)
        if number < 0 or path[-1] not in differences or not self._is_square(path[3]):
            return
        _, epsilon = self.get_constant_input(path[1])
        if epsilon is None or epsilon.size != 1 or not 0 < epsilon.item() <= _LARGEST_EPSILON:
            return
        scaled = self._first_reader(quotient, "Mul", input_name_to_nodes)
        shifted = None if scaled is None else self._first_reader(scaled, "Add", input_name_to_nodes)
        if shifted is None:
            return
        nodes = [reduce_mean_node, *differences, *path[:-1], shifted, scaled, quotient]
        if not self.is_safe_to_fuse_nodes(nodes, shifted.output, input_name_to_nodes, output_name_to_node):
            return
        weight = scaled.input[1 - self.input_index(quotient.output[0], scaled)]
        bias = shifted.input[1 - self.input_index(scaled.output[0], shifted)]
        if not all(self.is_constant_with_specified_rank(name, 1) for name in (weight, bias)):
            return
        self.nodes_to_remove.extend(nodes)
        self.nodes_to_add.append(onnx.helper.make_node(
            "LayerNormalization", [source, weight, bias], [shifted.output[0]], self.create_unique_node_name(),
            epsilon=float(epsilon.item())))

    def _is_square(self, node):
        if node.op_type == "Mul":
            return node.input[0] == node.input[1]
        return self.find_constant_input(node, 2.0) == 1

    @staticmethod
    def _first_reader(node, kind, readers):
        found = readers.get(node.output[0], [])
        return found[0] if found and found[0].op_type == kind else None
