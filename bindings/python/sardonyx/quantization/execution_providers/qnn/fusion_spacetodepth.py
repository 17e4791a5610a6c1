"""SpaceToDepth as early versions of YOLO spell it: four Reshapes with a Transpose between each two."""
import onnx

from sardonyx.quantization import fusions, onnx_model


class FusionSpaceToDepth(fusions.Fusion):
    """Makes SpaceToDepth of [N, C, H, W], where all shapes are known."""

    def __init__(self, model: onnx_model.ONNXModel):
        super().__init__(model, "SpaceToDepth", "Reshape")

    def fuse(
        self,
        node: onnx.NodeProto,
        input_name_to_nodes: dict[str, list[onnx.NodeProto]],
        output_name_to_node: dict[str, onnx.NodeProto],
    ):
        nodes = [node]
        for kind in ("Transpose", "Reshape") * 3:
            readers = input_name_to_nodes.get(nodes[-1].output[0], [])
            if len(readers) != 1 or readers[0].op_type != kind:
                return
            nodes.append(readers[0])
        block = self._block_size(nodes)
        if block is not None:
            self.nodes_to_remove.extend(nodes)
            self.nodes_to_add.append(onnx.helper.make_node(
                self.fused_op_type, [node.input[0]], [nodes[-1].output[0]], self.create_unique_node_name(),
                blocksize=block))

    def _block_size(self, nodes):
        """The size of the blocks; None if these nodes do something else."""
        shapes = [self._shape(nodes[0].input[0]), *(self._shape(node.output[0]) for node in nodes[::2])]
        if [len(shape) for shape in shapes] != [4, 6, 4, 5, 4]:
            return None
        if not all(isinstance(size, int) for size in shapes[0]) or not isinstance(shapes[1][3], int):
            return None
        (batch, channels, height, width), block = shapes[0], shapes[1][3]
        rows, columns, area = height // block, width // block, block * block
        wanted = [[batch, channels, rows, block, columns, block], [batch, channels, rows * columns, area],
                  [batch, channels, area, rows, columns], [batch, area * channels, rows, columns]]
        orders = [self.get_node_attribute(node, "perm") for node in nodes[1::2]]
        is_block = shapes[1:] == wanted and orders == [[0, 1, 2, 4, 3, 5], [0, 1, 3, 2], [0, 2, 1, 3, 4]]
        return block if is_block else None

    def _shape(self, name):
        known = self.model.get_tensor_type(name)
        return [] if known is None else self.tensor_shape_to_list(known)
