"""DynamoOnnxHelper: changes of models that torch's newer exporter wrote."""
import numpy as np

from sardonyx.transformers.onnx_model import OnnxModel


class DynamoOnnxHelper:
    """`model`: an onnx.ModelProto; `self.model` is its OnnxModel."""

    def __init__(self, model):
        self.model = OnnxModel(model)

    def update_edges(self, edge_mapping):
        """Renames values of the main graph: {old: new}."""
        graph = self.model.model.graph
        for node in graph.node:
            for names in (node.input, node.output):
                for index, name in enumerate(names):
                    names[index] = edge_mapping.get(name, name)
        for value in (*graph.input, *graph.output):
            value.name = edge_mapping.get(value.name, value.name)

    def unroll_function(self, func_name):
        """Puts the body of a function in the place of its only call; the call's values get the body's names."""
        graph, functions = self.model.model.graph, self.model.model.functions
        calls = [node for node in graph.node if node.op_type == func_name]
        body = next((one for one in functions if one.name == func_name), None)
        if body is None or len(calls) != 1:
            raise ValueError(f"expected one call of a function '{func_name}', found {len(calls)}")
        (call,) = calls
        mapping = dict(zip((*call.input, *call.output), (*body.input, *body.output), strict=True))
        graph.node.remove(call)
        graph.node.extend(body.node)
        functions.remove(body)
        self.update_edges({old: new for old, new in mapping.items() if old != new})

    def remove_function(self, func_name, input_id, output_id):
        """Removes the nodes whose operator has this in its name; what makes their input makes their output instead."""
        graph, mapping = self.model.model.graph, {}
        for node in [node for node in graph.node if func_name in node.op_type]:
            mapping[node.input[input_id]] = node.output[output_id]
            graph.node.remove(node)
        self.update_edges(mapping)

    def remove_dropout_layer(self):
        self.remove_function("Dropout", 0, 0)

    def remove_lm_head_layer(self):
        self.remove_function("Linear_lm_head", 2, 0)

    def add_initializer(self, name, data_type, dims, vals, raw=True):
        """Adds numbers as an initializer of this TensorProto.DataType and shape, and returns its onnx.TensorProto."""
        from onnx import helper

        if raw:
            vals = np.asarray(vals).astype(helper.tensor_dtype_to_np_dtype(data_type)).tobytes()
        tensor = helper.make_tensor(name, data_type, dims, vals, raw=raw)
        self.model.add_initializer(tensor)
        return tensor

    def convert_constants_to_initializers(self, min_size=1):
        """Constant nodes of at least so many elements become initializers."""
        from onnx import numpy_helper

        for node in self.model.get_nodes_by_op_type("Constant"):
            value = self.model.get_constant_value(node.output[0])
            if value is not None and value.size >= min_size:
                self.model.add_initializer(numpy_helper.from_array(value, node.output[0]))
                self.model.remove_node(node)

    def clear_metadata(self):
        for graph in self.model.graphs():
            graph.ClearField("metadata_props")
        for node in self.model.nodes():
            node.ClearField("metadata_props")

    @staticmethod
    def fold_transpose_initializers(model):
        """In an onnx_ir.Model, initializers that only a Transpose reads are stored transposed, under their names."""
        import onnx_ir as ir

        for name, old in list(model.graph.initializers.items()):
            readers = old.consumers()
            if len(readers) != 1 or readers[0].op_type != "Transpose":
                continue
            node = readers[0]
            perm = node.attributes.get("perm")
            held = ir.tensor(old.const_value.numpy().transpose(None if perm is None else perm.as_ints()))
            new = ir.Value(name=name, shape=held.shape, type=ir.TensorType(held.dtype), const_value=held)
            ir.convenience.replace_all_uses_with(node.outputs[0], new)
            model.graph.initializers[name] = new
            node.graph.remove(node, safe=True)
