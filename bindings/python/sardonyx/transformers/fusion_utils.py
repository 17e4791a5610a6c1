"""FusionUtils and NumpyHelper: small changes of an OnnxModel, and arrays of onnx.TensorProto."""
import numpy as np

_CASTS = {"int32": 6, "float32": 1, "float16": 10}  # TensorProto.DataType
_INT8 = 3


class FusionUtils:
    """`model`: an OnnxModel."""

    def __init__(self, model):
        self.model = model

    # Casts.

    def cast_graph_input_to_int32(self, input_name):
        """Adds a Cast behind an input of the graph that is not int32: (True, the Cast's output); else (False, the
        name)."""
        value = self.model.find_graph_input(input_name)
        if value is None or value.type.tensor_type.elem_type == _CASTS["int32"]:
            return False, input_name
        return True, self.cast_input_to_int32(input_name)[0]

    def cast_input(self, input_name, target_type="int32"):
        """Adds a Cast of a value to "int32", "float32" or "float16": its output and the node."""
        if target_type not in _CASTS:
            raise ValueError(f"expected one of {', '.join(_CASTS)}, found {target_type!r}")
        output_name = f"{input_name}_{target_type}"
        return output_name, self.add_cast_node(input_name, _CASTS[target_type], output_name)

    def cast_input_to_int32(self, input_name):
        return self.cast_input(input_name, "int32")

    def add_cast_node(self, input_name, to_type, output_name=None, output_name_to_node=None, graph_name=None):
        """Adds a Cast, of what a Cast before it reads."""
        from onnx import helper

        producers = self.model.output_name_to_node() if output_name_to_node is None else output_name_to_node
        before = producers.get(input_name)
        source = before.input[0] if before is not None and before.op_type == "Cast" else input_name
        node = helper.make_node("Cast", [source], [output_name or f"{input_name}_cast_to_{to_type}"], to=int(to_type))
        self.model.add_node(node, graph_name=graph_name)
        return node

    def remove_cast_int32(self, input_name):
        """Removes the Casts of a value to int32; their readers read the value."""
        for node in self.model.input_name_to_nodes().get(input_name, []):
            if node.op_type == "Cast" and self.model.get_node_attribute(node, "to") == _CASTS["int32"]:
                output_name = node.output[0]
                self.model.remove_node(node)
                self.model.replace_input_of_all_nodes(output_name, input_name)

    def remove_cascaded_cast_nodes(self):
        self.model.remove_cascaded_cast_nodes()

    def remove_useless_cast_nodes(self):
        self.model.remove_useless_cast_nodes()

    # Inputs of nodes.

    @staticmethod
    def update_node_input(node, i, new_input_name, input_name_to_nodes):
        """Makes input `i` another value, in the dictionary of readers, too; how many readers the old one still has."""
        readers = input_name_to_nodes.get(node.input[i], [])
        left = 0
        if node in readers:
            readers.remove(node)
            left = len(readers)
        node.input[i] = new_input_name
        input_name_to_nodes.setdefault(new_input_name, []).append(node)
        return left

    @staticmethod
    def skip_parent(model, node, parent_node, input_name_to_nodes, node_input_index=0, parent_input_index=0):
        """Makes a node read what the node before it reads; whether nothing needs that one any more."""
        old = node.input[node_input_index]
        left = FusionUtils.update_node_input(node, node_input_index, parent_node.input[parent_input_index],
                                             input_name_to_nodes)
        return left == 0 and model.find_graph_output(old) is None

    def get_squeeze_or_unsqueeze_axes(self, node):
        """The axes of Squeeze or Unsqueeze, from its input or its attribute; None if they are not constant."""
        if node.op_type not in ("Squeeze", "Unsqueeze"):
            raise ValueError(f"expected Squeeze or Unsqueeze, found {node.op_type}")
        if len(node.input) > 1:
            return self.model.get_constant_value(node.input[1])
        return self.model.get_node_attribute(node, "axes")

    # Checks.

    @staticmethod
    def check_node_attribute(node, attribute_name, expected_value, default_value=None):
        """Whether an attribute, or its default, is this number, text or list."""
        from onnx import helper

        value = next((helper.get_attribute_value(one) for one in node.attribute if one.name == attribute_name),
                     default_value)
        return _is_same(value, expected_value)

    def check_node_input_value(self, node, input_index, expected_value):
        """Whether an input is a constant number or list of that value."""
        return bool(_is_same(self.model.get_constant_value(node.input[input_index]), expected_value))

    @staticmethod
    def transpose_2d_int8_tensor(tensor):
        """Transposes an onnx.TensorProto of int8 with two axes in place: its data, while `dims` stay. Returns it."""
        import onnx

        if not isinstance(tensor, onnx.TensorProto):
            raise TypeError(f"expected an onnx.TensorProto, found '{type(tensor).__name__}'")
        if len(tensor.dims) != 2 or tensor.data_type != _INT8 or not tensor.raw_data:
            raise ValueError("expected int8 with two axes in raw_data")
        tensor.raw_data = np.frombuffer(tensor.raw_data, np.int8).reshape(tensor.dims).T.tobytes()
        return tensor

    @staticmethod
    def check_qdq_node_for_fusion(node, model, allow_per_tensor_quantization_only=True):
        """Whether a QuantizeLinear or DequantizeLinear has a constant scale (a single one, unless more are allowed) and
        a zero point of 0."""
        scale = model.get_constant_value(node.input[1])
        if scale is None or (allow_per_tensor_quantization_only and (scale.ndim > 1 or scale.size != 1)):
            return False
        if len(node.input) == 2:
            return True
        zero_point = model.get_constant_value(node.input[2])
        return zero_point is not None and zero_point.ndim == scale.ndim and bool(np.all(zero_point == 0))

    # Nodes that do nothing.

    def remove_identity_nodes(self):
        """Removes Identity nodes, but for those that make outputs of a graph."""
        outputs = set(self.model.get_graphs_output_names())
        for node in self.model.get_nodes_by_op_type("Identity"):
            if node.output[0] not in outputs:
                self.model.replace_input_of_all_nodes(node.output[0], node.input[0])
                self.model.remove_node(node)

    def remove_useless_reshape_nodes(self):
        """Removes Reshapes to the shape that their input has."""
        shapes = self.model.infer_runtime_shape(update=True)
        if shapes is None:
            return
        outputs = set(self.model.get_graphs_output_names())
        for node in self.model.get_nodes_by_op_type("Reshape"):
            before, after = shapes.get_edge_shape(node.input[0]), shapes.get_edge_shape(node.output[0])
            if before is not None and None not in before and before == after and node.output[0] not in outputs:
                self.model.replace_input_of_all_nodes(node.output[0], node.input[0])
                self.model.remove_node(node)


class NumpyHelper:
    @staticmethod
    def to_array(tensor, fill_zeros=False):
        """The array of an onnx.TensorProto; zeros of its shape if `fill_zeros`, without reading its data."""
        from onnx import helper, numpy_helper

        if fill_zeros:
            return np.zeros(tuple(tensor.dims), helper.tensor_dtype_to_np_dtype(tensor.data_type))
        return numpy_helper.to_array(tensor)


def _is_same(value, expected):
    if isinstance(expected, list):
        return isinstance(value, (np.ndarray, list)) and np.array_equal(expected, value)
    return value == expected
