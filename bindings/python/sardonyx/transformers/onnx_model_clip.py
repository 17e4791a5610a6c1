"""ClipOnnxModel: the text and image towers of CLIP."""
from sardonyx.transformers.onnx_model_bert import BertOnnxModel


class ClipOnnxModel(BertOnnxModel):
    model_type = "clip"
    counted = ("Attention", "FastGelu", "Gelu", "LayerNormalization", "QuickGelu", "BiasGelu", "SkipLayerNormalization")
