"""MmditOnnxModel: the multimodal diffusion transformers of Stable Diffusion 3 and Flux."""
from sardonyx.transformers.onnx_model_bert import BertOnnxModel


class MmditOnnxModel(BertOnnxModel):
    model_type = "mmdit"
    counted = ("FastGelu", "MultiHeadAttention", "LayerNormalization", "SimplifiedLayerNormalization")

    def adapted(self, choices):
        return choices | {"join_projections": False}
