"""Which fusions optimize_model makes, with the names of onnxruntime.transformers.fusion_options."""
from enum import Enum

_IMAGES = ("unet", "vae", "clip")  # model types with the options of diffusion models


class AttentionMaskFormat:
    """What the attention operators read of a mask of padding."""

    MaskIndexEnd = 0  # the number of tokens in each row; padding must stand at the end
    MaskIndexEndAndStart = 1
    AttentionMask = 2  # the mask itself, 0 for padding
    NoMask = 3


class AttentionOpType(Enum):
    Attention = "Attention"
    MultiHeadAttention = "MultiHeadAttention"
    GroupQueryAttention = "GroupQueryAttention"
    PagedAttention = "PagedAttention"

    def __str__(self):
        return self.value

    def __hash__(self):
        return hash(self.value)

    def __eq__(self, other):
        return self.value == getattr(other, "value", other)


class FusionOptions:
    """Every field may be changed before the options are used. Those of diffusion models exist only for the model types
    "unet", "vae" and "clip"."""

    def __init__(self, model_type):
        self.enable_gelu = True
        self.enable_layer_norm = True
        self.enable_attention = True
        self.enable_rotary_embeddings = True
        self.use_multi_head_attention = False
        self.disable_multi_head_attention_bias = False
        self.enable_skip_layer_norm = True
        self.enable_embed_layer_norm = model_type not in ("clip", "qwen3")
        self.enable_bias_skip_layer_norm = True
        self.enable_bias_gelu = True
        self.enable_gelu_approximation = False
        self.enable_qordered_matmul = True
        self.enable_shape_inference = True
        self.enable_gemm_fast_gelu = False
        self.group_norm_channels_last = True
        self.attention_mask_format = {
            "bert": AttentionMaskFormat.MaskIndexEnd, "vit": AttentionMaskFormat.NoMask,
            "qwen3": AttentionMaskFormat.NoMask}.get(model_type, AttentionMaskFormat.AttentionMask)
        self.attention_op_type = None
        if model_type in _IMAGES:
            self.enable_nhwc_conv = True
            self.enable_group_norm = True
            self.enable_skip_group_norm = True
            self.enable_bias_splitgelu = True
            self.enable_packed_qkv = True
            self.enable_packed_kv = True
            self.enable_bias_add = True

    def use_raw_attention_mask(self, use_raw_mask=True):
        self.attention_mask_format = (AttentionMaskFormat.AttentionMask if use_raw_mask
                                      else AttentionMaskFormat.MaskIndexEnd)

    def disable_attention_mask(self):
        self.attention_mask_format = AttentionMaskFormat.NoMask

    def set_attention_op_type(self, attn_op_type: AttentionOpType):
        self.attention_op_type = attn_op_type

    @staticmethod
    def parse(args):
        """The options that the arguments of `add_arguments` say, for `args.model_type`."""
        options = FusionOptions(args.model_type)
        for argument, field, value in _SWITCHES:
            if getattr(args, argument):
                setattr(options, field, value)
        if args.use_mask_index:
            options.use_raw_attention_mask(False)
        if args.use_raw_attention_mask:
            options.use_raw_attention_mask(True)
        if args.no_attention_mask:
            options.disable_attention_mask()
        if args.model_type in _IMAGES:
            for argument, field, value in _IMAGE_SWITCHES:
                if getattr(args, argument):
                    setattr(options, field, value)
        return options

    @staticmethod
    def add_arguments(parser):
        """Adds a flag for each option to an argparse.ArgumentParser."""
        for argument, text in _ARGUMENTS.items():
            parser.add_argument(f"--{argument}", required=False, action="store_true", default=False, help=text)


# Argument, field and value of the flags.
_SWITCHES = [
    ("disable_gelu", "enable_gelu", False),
    ("disable_layer_norm", "enable_layer_norm", False),
    ("disable_rotary_embeddings", "enable_rotary_embeddings", False),
    ("disable_attention", "enable_attention", False),
    ("use_multi_head_attention", "use_multi_head_attention", True),
    ("disable_skip_layer_norm", "enable_skip_layer_norm", False),
    ("disable_embed_layer_norm", "enable_embed_layer_norm", False),
    ("disable_bias_skip_layer_norm", "enable_bias_skip_layer_norm", False),
    ("disable_bias_gelu", "enable_bias_gelu", False),
    ("enable_gelu_approximation", "enable_gelu_approximation", True),
    ("disable_shape_inference", "enable_shape_inference", False),
    ("enable_gemm_fast_gelu", "enable_gemm_fast_gelu", True),
]
_IMAGE_SWITCHES = [
    ("use_group_norm_channels_first", "group_norm_channels_last", False),
    ("disable_nhwc_conv", "enable_nhwc_conv", False),
    ("disable_group_norm", "enable_group_norm", False),
    ("disable_skip_group_norm", "enable_skip_group_norm", False),
    ("disable_bias_splitgelu", "enable_bias_splitgelu", False),
    ("disable_packed_qkv", "enable_packed_qkv", False),
    ("disable_packed_kv", "enable_packed_kv", False),
    ("disable_bias_add", "enable_bias_add", False),
]
_ARGUMENTS = {
    "disable_attention": "leave attention in its parts",
    "disable_skip_layer_norm": "make no SkipLayerNormalization",
    "disable_embed_layer_norm": "make no EmbedLayerNormalization",
    "disable_bias_skip_layer_norm": "leave the bias before SkipLayerNormalization in an Add",
    "disable_bias_gelu": "leave the bias before Gelu and FastGelu in an Add",
    "disable_layer_norm": "leave layer normalization in its parts",
    "disable_gelu": "leave GELU in its parts",
    "enable_gelu_approximation": "compute GELU by its tanh form, which is faster and changes results by up to 5e-4",
    "disable_shape_inference": "infer no shapes while a model is converted to half precision",
    "enable_gemm_fast_gelu": "make GemmFastGelu, which runs on few devices",
    "use_mask_index": "attention reads the length of each row; padding must stand at the end of the rows",
    "use_raw_attention_mask": "attention reads the mask of padding as it is, wherever the padding stands",
    "no_attention_mask": "drop the mask of padding: for inputs that have none",
    "use_multi_head_attention": "make MultiHeadAttention also where Attention could hold the projections",
    "disable_group_norm": "make no GroupNorm (model types unet, vae and clip, as the next ones)",
    "disable_skip_group_norm": "make no SkipGroupNorm",
    "disable_packed_kv": "do not pack keys and values of cross attention into one tensor",
    "disable_packed_qkv": "do not pack queries, keys and values of self-attention into one tensor",
    "disable_bias_add": "make no BiasAdd",
    "disable_bias_splitgelu": "make no BiasSplitGelu",
    "disable_nhwc_conv": "make no NhwcConv",
    "use_group_norm_channels_first": "GroupNorm on images that are stored channels first",
    "disable_rotary_embeddings": "make no RotaryEmbedding",
}
