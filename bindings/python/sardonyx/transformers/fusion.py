"""The optimizer's passes on an onnx.ModelProto or a file: what the model classes and optimize_model are made of."""
import os
import tempfile
from pathlib import Path

from sardonyx.model import Model

_MOST_BYTES = 3 << 29  # of a model that passes through memory as one protobuf, which cannot exceed 2 GB

# The passes that an option of FusionOptions switches off when it is False.
_PASSES = {
    "enable_gelu": ("fuse_gelu", "fuse_bias_gelu", "spell_gelu"),
    "enable_layer_norm": ("fuse_layer_norm", "spell_normalization"),
    "enable_attention": ("fuse_attention", "spell_attention"),
    "enable_rotary_embeddings": ("fuse_rotary_embedding",),
    "enable_skip_layer_norm": ("fuse_skip_layer_norm", "fuse_bias_skip_layer_norm"),
    "enable_bias_skip_layer_norm": ("fuse_bias_skip_layer_norm",),
    "enable_embed_layer_norm": ("fuse_embed_layer_norm",),
    "enable_bias_gelu": ("fuse_bias_gelu",),
}
# The options that do not count behind a session's passes of level 2 and above, which make these fusions anyway.
_MADE_BY_SESSIONS = ("enable_gelu", "enable_layer_norm", "enable_bias_gelu")
# The passes that run only where an option of diffusion models is there, and True.
_IMAGE_PASSES = {
    "enable_bias_splitgelu": ("fuse_bias_split_gelu",),
    "enable_bias_add": ("fuse_bias_add",),
    "enable_skip_group_norm": ("fuse_skip_group_norm",),
    "enable_nhwc_conv": ("spell_nhwc_conv",),
}
# And of those for the model type unet alone.
_PACKING_PASSES = {
    "enable_packed_qkv": "pack_projections",
    "enable_packed_kv": "pack_keys_and_values",
}
_PADDING = {0: "length", 1: "length_and_start", 2: "mask", 3: "none"}  # by AttentionMaskFormat


def choices_of(options, images=False, reads_op_type=False, packs=False, as_session=False, splits_biases=False):
    """What Model.optimize gets for the FusionOptions. `images`: with the operators of diffusion models.
    `reads_op_type`: attention_op_type counts, as for the model type phi alone in ONNX Runtime. `packs`: so do
    enable_packed_qkv and enable_packed_kv, as for unet alone; without the first of them self-attention is Attention.
    `as_session`: behind what a session of level 2 fuses. `splits_biases`: disable_multi_head_attention_bias counts."""
    off = {field for field in _PASSES if not getattr(options, field)} - set(_MADE_BY_SESSIONS if as_session else ())
    disabled = {name for field in off for name in _PASSES[field]}
    optional = {name for field, passes in _IMAGE_PASSES.items() if images and getattr(options, field, False)
                for name in passes}
    if images and getattr(options, "enable_group_norm", False):
        optional.add("fuse_group_norm")
        optional.add("spell_group_norm" if options.group_norm_channels_last else "spell_group_norm_channels_first")
    optional |= {name for field, name in _PACKING_PASSES.items() if packs and getattr(options, field, False)}
    if options.enable_gemm_fast_gelu and options.enable_gelu:
        optional.add("fuse_gemm_fast_gelu")
    if options.attention_mask_format not in _PADDING:
        raise ValueError("FusionOptions.attention_mask_format: expected one of AttentionMaskFormat, found "
                         f"{options.attention_mask_format!r}")
    kind = getattr(options.attention_op_type, "value", options.attention_op_type) if reads_op_type else None
    if kind not in (None, "Attention", "MultiHeadAttention"):
        raise NotImplementedError(f"FusionOptions.attention_op_type {kind} is not implemented in Sardonyx; Attention "
                                  "and MultiHeadAttention are")
    return {"disabled": sorted(disabled), "optional": sorted(optional),
            "padding": _PADDING[options.attention_mask_format],
            "approximate_gelu": bool(options.enable_gelu_approximation),
            "join_projections": (not options.use_multi_head_attention and kind != "MultiHeadAttention"
                                 and "pack_projections" not in optional),
            "multi_head_bias": not (splits_biases and options.disable_multi_head_attention_bias)}


class Held:
    """A sardonyx.model.Model of an onnx.ModelProto, of whatever size, or of a file; a context, as a large one lies in a
    folder of its own meanwhile."""

    def __init__(self, source):
        self._source, self._folder = source, tempfile.TemporaryDirectory()

    def __enter__(self):
        source = self._source
        if not isinstance(source, (str, os.PathLike)) and source.ByteSize() > _MOST_BYTES:
            path = Path(self._folder.name) / "model.onnx"
            _save_apart(source, path)
            source = path
        return Model(source)

    def __exit__(self, *error):
        self._folder.cleanup()


def proto_of(model):
    """The onnx.ModelProto of a sardonyx.model.Model, of whatever size."""
    import onnx

    weights = sum(one.size for graph in model.graphs if graph is not None for one in graph.initializers.values())
    if weights <= _MOST_BYTES:
        return model.to_proto()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        model.save(path, "model.onnx.data")
        return onnx.load(path)


def _save_apart(proto, path):
    """Weights in a file beside the model; the proto stays as it is."""
    import onnx

    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    onnx.save_model(copy, os.fspath(path), save_as_external_data=True, location=f"{path.name}.data",
                    convert_attribute=True)
