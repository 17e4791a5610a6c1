"""SymbolicShapeInferenceHelper: the shapes of a model's values by name, with numbers in the place of named sizes."""
from sardonyx.model import Model
from sardonyx.symbolic_shape_infer import SymbolicShapeInference
from sardonyx.transformers.fusion import Held, proto_of


class SymbolicShapeInferenceHelper(SymbolicShapeInference):
    """`model`: an onnx.ModelProto. The other arguments are those of SymbolicShapeInference."""

    def __init__(self, model, verbose=0, int_max=2**31 - 1, auto_merge=True, guess_output_rank=False):
        super().__init__(int_max, auto_merge, guess_output_rank, verbose)
        self.model_ = model
        self.all_shapes_inferred_ = self.is_inferred_ = False
        self.dynamic_axis_mapping_ = {}
        self.known_vi_ = {}  # onnx.ValueInfoProto by name

    def infer(self, dynamic_axis_mapping, max_runs=200):  # noqa: ARG002  (one run infers all)
        """Infers all shapes, with `dynamic_axis_mapping` in the place of named sizes ({"batch": 4}); whether all of
        them are known."""
        if self.is_inferred_ and self.dynamic_axis_mapping_ == dynamic_axis_mapping:
            return self.all_shapes_inferred_
        self.dynamic_axis_mapping_ = dict(dynamic_axis_mapping)
        with Held(self.model_) as held:
            self._fix_sizes(held)
            held.infer_types()
            self.all_shapes_inferred_ = self._first_unknown(held.graph) is None
            graph = proto_of(held).graph
        self.known_vi_ = {value.name: value for values in (graph.value_info, graph.input, graph.output)
                          for value in values}
        self.is_inferred_ = True
        return self.all_shapes_inferred_

    def get_edge_shape(self, edge):
        """A list of numbers and names; None if nothing is known of the value."""
        known = self.known_vi_.get(edge)
        if known is None or not known.type.tensor_type.HasField("shape"):
            return None
        return [dim.dim_value if dim.HasField("dim_value") else self.dynamic_axis_mapping_.get(
            dim.dim_param, dim.dim_param or None) for dim in known.type.tensor_type.shape.dim]

    def compare_shape(self, edge, edge_other):
        """Whether two values have one shape; fails with ValueError if one of the shapes is not known."""
        shape, other = self.get_edge_shape(edge), self.get_edge_shape(edge_other)
        if shape is None or other is None:
            raise ValueError(f"expected two values of known shape, found {edge}: {shape} and {edge_other}: {other}")
        return shape == other

    def _fix_sizes(self, model: Model):
        for name in model.graph.inputs:
            known = model.graph.type_of(name)
            if known is not None and known.shape is not None:
                model.graph.set_type(name, known.dtype, tuple(
                    self.dynamic_axis_mapping_.get(size, size) for size in known.shape))
