"""optimize_model makes ONNX Runtime's operators of diffusion models, as many as onnxruntime.transformers.optimizer, and
with the author's outputs in Sardonyx, which runs all of them on the CPU."""
import numpy as np
import onnx
import pytest
import sardonyx
from small_diffusion import images_of, unet
from test_optimizer import fused, operators

COUNTED = ["NhwcConv", "Conv", "GroupNorm", "SkipGroupNorm", "Attention", "MultiHeadAttention", "LayerNormalization",
           "SkipLayerNormalization", "BiasSplitGelu", "BiasAdd"]


def counts(proto):
    found = operators(proto)
    return {name: found[name] + found[f"com.microsoft.{name}"] for name in COUNTED}


def run(proto, level):
    options = sardonyx.SessionOptions()
    options.graph_optimization_level = level
    return sardonyx.InferenceSession(proto.SerializeToString(), options).run(None, images_of(proto))[0]


def check(proto, made):
    want = run(proto, sardonyx.GraphOptimizationLevel.ORT_DISABLE_ALL)
    for level in (sardonyx.GraphOptimizationLevel.ORT_DISABLE_ALL, sardonyx.GraphOptimizationLevel.ORT_ENABLE_ALL):
        np.testing.assert_allclose(run(made, level), want, rtol=1e-3, atol=1e-4 * np.abs(want).max(),
                                   err_msg=str(level))


def peer_fused(proto, model_type, **fields):
    from onnxruntime.transformers import fusion_options
    from onnxruntime.transformers import optimizer as peer

    options = fusion_options.FusionOptions(model_type)
    for name, value in fields.items():
        setattr(options, name, value)
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    return peer.optimize_model(copy, model_type, optimization_options=options, opt_level=0).model


@pytest.mark.parametrize("fields", [
    {}, {"enable_nhwc_conv": False}, {"enable_group_norm": False}, {"enable_skip_group_norm": False},
    {"group_norm_channels_last": False}, {"enable_packed_qkv": False}, {"enable_packed_kv": False},
    {"enable_bias_splitgelu": False, "enable_bias_add": False}, {"enable_bias_add": False},
], ids=str)
def test_unet_as_onnx_runtimes_tool(fields):
    proto = unet()
    made = fused(proto, "unet", **fields)
    assert counts(made) == counts(peer_fused(proto, "unet", **fields))
    check(proto, made)


def nodes(proto):
    """By operator: how many inputs and outputs each node has, and its attributes that are not the default."""
    usual = {"auto_pad": b"NOTSET", "channels_last": 1, "dilations": [1, 1], "strides": [1, 1]}
    found = {name: [] for name in ("NhwcConv", "SkipGroupNorm", "GroupNorm", "BiasSplitGelu", "MultiHeadAttention")}
    for node in proto.graph.node:
        attributes = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}
        attributes = sorted((name, str(value)) for name, value in attributes.items() if usual.get(name) != value)
        if node.op_type in found:
            found[node.op_type].append((len(node.input), len(node.output), attributes))
    return {name: sorted(each) for name, each in found.items()}


@pytest.mark.parametrize("projects", [False, True])
def test_the_same_nodes(projects):
    proto = unet(projects)
    made, theirs = fused(proto, "unet"), peer_fused(proto, "unet")
    assert counts(made) == counts(theirs)
    assert nodes(made) == nodes(theirs)
    assert operators(made)["Transpose"] <= operators(theirs)["Transpose"]
    packed = sorted(len(node.input) for node in made.graph.node if node.op_type == "MultiHeadAttention")
    assert packed == [1, 1, 2, 2]  # queries, keys and values in one; keys and values in one
    check(proto, made)


def test_vae():
    proto = unet()
    made = fused(proto, "vae")
    found = counts(made)
    assert (found["NhwcConv"], found["SkipGroupNorm"], found["Conv"]) == (13, 7, 0)
    assert all(len(node.input) > 1 for node in made.graph.node if node.op_type == "MultiHeadAttention")
    check(proto, made)


def test_other_model_types_have_none():
    found = counts(fused(unet(), "clip"))
    assert found["Conv"] == 13
    assert found["NhwcConv"] == found["GroupNorm"] == found["SkipGroupNorm"] == 0
