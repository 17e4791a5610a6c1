"""The model that the functions of this package take and give."""
import os
from pathlib import Path

from sardonyx.quantization import onnx_model
from sardonyx.quantization.neural_compressor.util import MAXIMUM_PROTOBUF, find_by_name  # noqa: F401


class ONNXModel(onnx_model.ONNXModel):
    """`model`: an onnx.ModelProto, a path, or an ONNXModel, whose proto is shared."""

    model = model_path = q_config = None

    def __init__(self, model, **kwargs):  # noqa: ARG002
        self.model_path = os.fspath(model) if isinstance(model, (str, os.PathLike)) else getattr(
            model, "model_path", None)
        if isinstance(model, (str, os.PathLike)):
            import onnx

            model = onnx.load(os.fspath(model))
        super().__init__(getattr(model, "model", model))

    @staticmethod
    def framework():
        return "onnxruntime"

    @property
    def is_large_model(self):
        return self.model.ByteSize() > MAXIMUM_PROTOBUF

    def check_is_large_model(self):
        return self.is_large_model

    @property
    def hf_config(self):
        """None: configurations of Hugging Face are not looked for."""
        return None

    @property
    def graph_info(self):
        """{name: operator} of the nodes."""
        return {node.name: node.op_type for node in self.model.graph.node}

    def input(self):
        return [value.name for value in self.model.graph.input]

    def output(self):
        return [value.name for value in self.model.graph.output]

    def update(self):
        """Nothing has to be done after changes: what is asked for is read from the proto."""

    def save(self, root):
        """Writes the model to a path; weights of large models lie beside it."""
        self.save_model_to_file(root, self.is_large_model)

    @property
    def input_name_to_nodes(self):
        return super().input_name_to_nodes()

    @property
    def output_name_to_node(self):
        return super().output_name_to_node()

    def add_initializers(self, tensors):
        for tensor in tensors:
            self.add_initializer(tensor)

    def get_initializer_share_num(self, name):
        """How many inputs of nodes an initializer is."""
        return sum(list(node.input).count(name) for node in self.model.graph.node)

    def set_initializer(self, tensor, array, raw=False):  # noqa: ARG002
        """Replaces the contents of an initializer, given by its name."""
        import onnx

        known = self.get_initializer(tensor)
        if known is None:
            raise ValueError(f"expected an initializer of the model, found '{tensor}'")
        known.CopyFrom(onnx.numpy_helper.from_array(array.reshape(tuple(known.dims)), tensor))

    def get_node(self, name):
        return next((node for node in self.model.graph.node if node.name == name), None)

    def get_children(self, node, input_name_to_nodes=None):
        return super().get_children(node, input_name_to_nodes or self.input_name_to_nodes)

    def get_parents(self, node, output_name_to_node=None):
        return super().get_parents(node, output_name_to_node or self.output_name_to_node)

    def get_parent(self, node, idx, output_name_to_node=None):
        return super().get_parent(node, idx, output_name_to_node or self.output_name_to_node)

    def get_siblings(self, node):
        """The other nodes that read what this one's producers make."""
        parents = self.get_parents(node)
        return [child for parent in parents for child in self.get_children(parent) if child.name != node.name]

    def replace_input_of_all_nodes(self, old_input_name, new_input_name, white_optype=None, black_optype=None):
        """Of nodes of the operators in `white_optype`, or of all but those in `black_optype`."""
        for node in self.model.graph.node:
            if _is_chosen(node, white_optype, black_optype):
                self.replace_node_input(node, old_input_name, new_input_name)

    def replace_output_of_all_nodes(self, old_output_name, new_output_name, white_optype=None, black_optype=None):
        """Of nodes of the operators in `white_optype`, or of all but those in `black_optype`."""
        for node in self.model.graph.node:
            if _is_chosen(node, white_optype, black_optype):
                self.replace_node_output(node, old_output_name, new_output_name)

    def remove_unused_nodes(self):
        """Removes nodes that no output depends on."""
        while True:
            read = {name for node in self.model.graph.node for name in node.input} | set(self.output())
            unused = [node for node in self.model.graph.node
                      if not read & set(node.output) and not any(one.HasField("g") for one in node.attribute)]
            if not unused:
                return
            self.remove_nodes(unused)

    def is_smoothquant_model(self):
        """Whether a node's name tells that outliers were moved before."""
        return any("_smooth_scale" in name for name in self.get_initializer_name_set())

    def topological_sort(self, enable_subgraph=False):  # noqa: ARG002
        """Bodies of control flow are taken into account in any case."""
        super().topological_sort()

    def remove_unused_init(self):
        self.clean_initializers()

    def add_tensors_to_outputs(self, tensor_names):
        import onnx

        known = set(self.output())
        self.model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in tensor_names if name not in known)

    def remove_tensors_from_outputs(self, tensor_names):
        for value in [value for value in self.model.graph.output if value.name in tensor_names]:
            self.model.graph.output.remove(value)

    def write_external_data_to_new_location(self, external_data_location="external.data", overwrite=False):
        """Writes all weights into one file beside the model. Errors: FileExistsError for one that is there, without
        `overwrite`; ValueError for a model without a path."""
        import onnx

        if self.model_path is None:
            raise ValueError("expected a model that was loaded from a path")
        beside = Path(self.model_path).parent / external_data_location
        if beside.exists() and not overwrite:
            raise FileExistsError(f"'{beside}' is there already")
        beside.unlink(missing_ok=True)
        onnx.external_data_helper.convert_model_to_external_data(self.model, location=external_data_location)
        onnx.external_data_helper.write_external_data_tensors(self.model, str(beside.parent))


def _is_chosen(node, chosen, left_out):
    return node.op_type in chosen if chosen else node.op_type not in (left_out or ())
