"""Sam2OnnxModel: the image encoder and decoder of Segment Anything 2."""
from sardonyx.transformers.onnx_model_bert import BertOnnxModel


class Sam2OnnxModel(BertOnnxModel):
    model_type = "sam2"
    counted = ("MultiHeadAttention", "LayerNormalization", "SkipLayerNormalization")

    def adapted(self, choices):
        return choices | {"join_projections": False}
