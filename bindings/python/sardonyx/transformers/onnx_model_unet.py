"""UnetOnnxModel: the U-Net of Stable Diffusion. Its operators of images (GroupNorm, SkipGroupNorm, NhwcConv,
BiasSplitGelu, BiasAdd) and its packed queries, keys and values are ONNX Runtime's, which has most of them for GPUs
only; FusionOptions switches each of them off."""
from sardonyx.transformers.onnx_model_bert import BertOnnxModel


class UnetOnnxModel(BertOnnxModel):
    model_type = "unet"
    has_images = True
    packs_projections = True
    counted = ("Attention", "MultiHeadAttention", "LayerNormalization", "SkipLayerNormalization", "BiasSplitGelu",
               "GroupNorm", "SkipGroupNorm", "NhwcConv", "BiasAdd")
