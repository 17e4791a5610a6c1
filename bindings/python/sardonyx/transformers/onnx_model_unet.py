"""UnetOnnxModel: the U-Net of Stable Diffusion. Its operators of images (GroupNorm, NhwcConv, BiasSplitGelu, BiasAdd)
are ONNX Runtime's, which has most of them for GPUs only; FusionOptions switches each of them off."""
from logging import getLogger

from sardonyx.transformers.onnx_model_bert import BertOnnxModel

logger = getLogger(__name__)

# What ONNX Runtime's tool makes for GPUs with these options, and Sardonyx does not.
_NOT_MADE = {"enable_nhwc_conv": "NhwcConv", "enable_skip_group_norm": "SkipGroupNorm",
             "enable_packed_qkv": "packed queries, keys and values", "enable_packed_kv": "packed keys and values"}


class UnetOnnxModel(BertOnnxModel):
    model_type = "unet"
    has_images = True
    counted = ("Attention", "MultiHeadAttention", "LayerNormalization", "SkipLayerNormalization", "BiasSplitGelu",
               "GroupNorm", "SkipGroupNorm", "NhwcConv", "BiasAdd")

    def run_fusions(self, options, level="disable", source=None):
        missing = [what for field, what in _NOT_MADE.items() if getattr(options, field, False)]
        if missing:
            logger.warning("not implemented in Sardonyx, and left as the graph has it: %s", ", ".join(missing))
        super().run_fusions(options, level, source)

    def adapted(self, choices):
        return choices | {"join_projections": False}
