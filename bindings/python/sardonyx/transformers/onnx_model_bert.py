"""BertOnnxModel: an OnnxModel with the fusions of transformers. The classes of other models differ from it in what they
count."""
from logging import getLogger

from sardonyx.transformers.convert_to_packing_mode import PackingMode
from sardonyx.transformers.fusion import Held, choices_of, proto_of
from sardonyx.transformers.fusion_options import AttentionMaskFormat, FusionOptions
from sardonyx.transformers.onnx_model import OnnxModel

logger = getLogger(__name__)

_INT32 = 6  # TensorProto.DataType


class BertOnnxModel(OnnxModel):
    """`model`: an onnx.ModelProto. `num_heads`, `hidden_size`: of all attention layers; 0: what the graph says, which
    the fusions go by in any case."""

    model_type = "bert"
    has_images = False  # and the operators of diffusion models
    packs_projections = False  # where FusionOptions.enable_packed_qkv and enable_packed_kv say so
    reads_op_type = False  # FusionOptions.attention_op_type counts
    splits_biases = False  # FusionOptions.disable_multi_head_attention_bias does
    counted = ("EmbedLayerNormalization", "Attention", "MultiHeadAttention", "Gelu", "FastGelu", "BiasGelu",
               "GemmFastGelu", "LayerNormalization", "SimplifiedLayerNormalization", "SkipLayerNormalization",
               "SkipSimplifiedLayerNormalization", "RotaryEmbedding", "QOrderedAttention", "QOrderedGelu",
               "QOrderedLayerNormalization", "QOrderedMatMul")

    def __init__(self, model, num_heads=0, hidden_size=0):
        fits = (num_heads == 0 and hidden_size == 0) or (num_heads > 0 and hidden_size % num_heads == 0)
        if not fits:
            raise ValueError(f"expected a hidden size that {num_heads} heads share equally, found {hidden_size}")
        super().__init__(model)
        self.num_heads, self.hidden_size = num_heads, hidden_size

    # Fusions.

    def optimize(self, options=None, add_dynamic_axes=False):
        """All fusions that the FusionOptions allow; without them those of the model type. `add_dynamic_axes`: see
        use_dynamic_axes."""
        self.run_fusions(self.default_options() if options is None else options)
        if add_dynamic_axes:
            self.use_dynamic_axes()

    def default_options(self):
        return FusionOptions(self.model_type)

    def run_fusions(self, options, level="disable", source=None, as_session=False):
        """`level`: "basic" simplifies the graph before. `source`: a file to take in place of the model. `as_session`:
        see choices_of."""
        with Held(self.model if source is None else source) as held:
            choices = self.adapted(choices_of(options, self.has_images, self.reads_op_type,
                                              self.packs_projections, as_session, self.splits_biases))
            held.optimize(level, target="onnxruntime", **choices)
            self.initialize(proto_of(held))
        if not options.enable_shape_inference:
            self.disable_shape_inference()
        self._compare_heads()

    def adapted(self, choices):
        """What a model type changes in the choices."""
        return choices

    def _only(self, *passes, **choices):
        with Held(self.model) as held:
            held.optimize("disable", target="onnxruntime", passes=list(passes), **choices)
            self.initialize(proto_of(held))

    def _compare_heads(self):
        found = {self.get_node_attribute(node, "num_heads") for op_type in ("Attention", "MultiHeadAttention")
                 for node in self.get_nodes_by_op_type(op_type)}
        if self.num_heads and found and found != {self.num_heads}:
            logger.warning("expected %d heads, found %s in the graph, which are used", self.num_heads,
                           ", ".join(map(str, sorted(found))))
        if self.num_heads == 0 and len(found) == 1:
            self.num_heads = found.pop()

    def fuse_constant_fold(self):
        self._only("fold_constants")

    def fuse_attention(self):
        self._only("fuse_attention", "spell_attention", "merge_views", "fold_constants", "eliminate_dead_nodes")

    def fuse_gelu(self):
        self._only("fuse_gelu", "spell_gelu")

    def fuse_bias_gelu(self, is_fastgelu):  # noqa: ARG002  (both forms in one pass)
        self._only("fuse_bias_gelu")

    def gelu_approximation(self):
        self._only("approximate_gelu", "spell_gelu", approximate_gelu=True)

    def fuse_gemm_fast_gelu(self):
        self._only("fuse_gemm_fast_gelu", optional=["fuse_gemm_fast_gelu"])

    def fuse_add_bias_skip_layer_norm(self):
        self._only("fuse_bias_skip_layer_norm")

    def fuse_reshape(self):
        self._only("fold_shapes", "merge_views", "fold_constants")

    def fuse_shape(self):
        self._only("fold_shapes", "fold_constants")

    def fuse_embed_layer(self, use_mask_index):  # noqa: ARG002  (attention makes its mask from the graph's)
        self._only("fuse_embed_layer_norm")

    def fuse_layer_norm(self):
        self._only("fuse_layer_norm", "spell_normalization")

    def fuse_simplified_layer_norm(self):
        self._only("fuse_layer_norm", "spell_normalization")

    def fuse_skip_layer_norm(self, shape_infer=True):  # noqa: ARG002  (shapes are always inferred)
        self._only("fuse_skip_layer_norm")

    def fuse_skip_simplified_layer_norm(self):
        self._only("fuse_skip_layer_norm")

    def fuse_rotary_embeddings(self):
        self._only("fuse_rotary_embedding")

    def preprocess(self):
        self.adjust_reshape_and_expand()

    def adjust_reshape_and_expand(self):
        self._only("simplify_nodes", "merge_views")

    def clean_graph(self):
        self._only("fold_constants", "eliminate_casts", "eliminate_dead_nodes")

    def postprocess(self):
        self.clean_graph()
        self.prune_graph()

    def convert_to_packing_mode(self, use_symbolic_shape_infer=False):
        """Attention and the layers around it skip padding: see PackingMode."""
        PackingMode(self).convert(use_symbolic_shape_infer)

    # Inputs.

    def get_graph_inputs_from_node_type(self, op_type, input_indices, casted):
        """Names of the graph's inputs that nodes of an operator read at these places: directly, or, if `casted`,
        through a Cast."""
        producers, found = self.output_name_to_node(), []
        for node in self.get_nodes_by_op_type(op_type):
            for name in [node.input[index] for index in input_indices if index < len(node.input)]:
                cast = producers.get(name)
                if not casted and self.find_graph_input(name) is not None:
                    found.append(name)
                elif casted and cast is not None and cast.op_type == "Cast" and (
                        self.find_graph_input(cast.input[0]) is not None):
                    found.append(cast.input[0])
        return found

    def get_graph_inputs_from_fused_nodes(self, casted):
        return (self.get_graph_inputs_from_node_type("EmbedLayerNormalization", [0, 1, 7], casted)
                + self.get_graph_inputs_from_node_type("Attention", [3], casted))

    def change_graph_inputs_to_int32(self):
        """All inputs of the graph become int32."""
        for value in self.model.graph.input:
            self.change_graph_input_type(value, _INT32)

    def use_dynamic_axes(self, dynamic_batch_dim="batch_size", dynamic_seq_len="max_seq_len"):
        """Names the first axis of outputs, and the first two of inputs that fused nodes read."""
        inputs = {*self.get_graph_inputs_from_fused_nodes(True), *self.get_graph_inputs_from_fused_nodes(False)}
        for value in self.model.graph.input:
            if value.name in inputs:
                dims = value.type.tensor_type.shape.dim
                dims[0].dim_param = dynamic_batch_dim
                if dynamic_seq_len is not None:
                    dims[1].dim_param = dynamic_seq_len
        for value in self.model.graph.output:
            value.type.tensor_type.shape.dim[0].dim_param = dynamic_batch_dim

    # What was fused.

    def get_fused_operator_statistics(self):
        """How many nodes of each fused operator there are, by name."""
        counts = {op_type: len(self.get_nodes_by_op_type(op_type)) for op_type in self.counted}
        logger.info("fused operators: %s", counts)
        return counts

    def is_fully_optimized(self, fused_op_count=None):
        """Whether the embeddings are fused, and each layer has an attention, a GELU and two normalizations."""
        counts = self.get_fused_operator_statistics() if fused_op_count is None else fused_op_count

        def count(*op_types):
            return sum(counts.get(op_type) or 0 for op_type in op_types)

        layers = count("Attention", "MultiHeadAttention", "QOrderedAttention")
        norms = max(count("LayerNormalization", "SkipLayerNormalization"),
                    count("SimplifiedLayerNormalization", "SkipSimplifiedLayerNormalization"))
        if layers == 0:
            logger.warning("no attention was fused")
        return (count("EmbedLayerNormalization") > 0 and layers > 0 and layers == count("Gelu", "BiasGelu", "FastGelu")
                and norms >= 2 * layers)


__all__ = ["AttentionMaskFormat", "BertOnnxModel", "FusionOptions"]
