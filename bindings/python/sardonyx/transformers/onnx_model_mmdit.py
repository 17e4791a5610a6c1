"""MmditOnnxModel: the multimodal diffusion transformers of Stable Diffusion 3 and Flux."""
from sardonyx.transformers.onnx_model_bert import BertOnnxModel

# What is left in its parts, as ONNX Runtime's tool leaves it.
_NOT_MADE = ("fuse_skip_layer_norm", "fuse_bias_skip_layer_norm", "fuse_bias_gelu", "fuse_embed_layer_norm")


class MmditOnnxModel(BertOnnxModel):
    model_type = "mmdit"
    counted = ("FastGelu", "MultiHeadAttention", "LayerNormalization", "SimplifiedLayerNormalization")

    def adapted(self, choices):
        disabled = sorted({*choices["disabled"], *_NOT_MADE})
        return choices | {"disabled": disabled, "join_projections": False}
