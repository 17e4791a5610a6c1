"""VaeOnnxModel: the decoder and encoder of Stable Diffusion's images."""
from sardonyx.transformers.onnx_model_unet import UnetOnnxModel


class VaeOnnxModel(UnetOnnxModel):
    model_type = "vae"
    packs_projections = False
    counted = ("Attention", "GroupNorm", "SkipGroupNorm", "NhwcConv")
