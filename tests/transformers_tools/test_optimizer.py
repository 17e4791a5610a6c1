"""optimize_model makes the fused operators that onnxruntime.transformers.optimizer makes, and the same outputs in both
runtimes."""
import sys
import types
from collections import Counter

import numpy as np
import onnx
import onnxruntime
import pytest
import sardonyx
from sardonyx.transformers import optimizer
from sardonyx.transformers.fusion_options import AttentionMaskFormat, FusionOptions
from small_transformers import HEADS, WIDTH, bert, decoder, distilbert, inputs_of, t5


def outputs(library, proto, feeds):
    options = library.SessionOptions()
    options.log_severity_level = 3
    session = library.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)[0]


def operators(proto):
    return Counter(f"{node.domain}.{node.op_type}" if node.domain else node.op_type for node in proto.graph.node)


def check(proto, fused, feeds=None, rows=slice(None)):
    """The fused model is valid, and computes what the author's does, in both runtimes."""
    feeds = inputs_of(proto) if feeds is None else feeds
    want = outputs(onnxruntime, proto, feeds)[rows]
    for library in (onnxruntime, sardonyx):
        np.testing.assert_allclose(outputs(library, fused, feeds)[rows], want, rtol=1e-3, atol=1e-4,
                                   err_msg=library.__name__)


def test_bert_from_end_to_end(tmp_path):
    proto = bert()
    onnx.save(proto, tmp_path / "model.onnx")
    made = optimizer.optimize_model(str(tmp_path / "model.onnx"), "bert", num_heads=2, hidden_size=8)
    assert {name: count for name, count in made.get_fused_operator_statistics().items() if count} == {
        "EmbedLayerNormalization": 1, "Attention": 2, "BiasGelu": 2, "SkipLayerNormalization": 4}
    assert made.is_fully_optimized()
    assert operators(made.model)["Softmax"] == operators(made.model)["Erf"] == 0
    assert made.model.producer_name == "sardonyx.transformers"
    check(proto, made.model)
    made.save_model_to_file(str(tmp_path / "fused.onnx"), use_external_data_format=True, size_threshold=0)
    assert (tmp_path / "fused.onnx.data").exists()
    assert optimizer.get_fusion_statistics(str(tmp_path / "fused.onnx"))["Attention"] == 2


def test_a_proto_stays_as_it_is():
    proto = bert(1)
    before = proto.SerializeToString()
    optimizer.optimize_model(proto)
    assert proto.SerializeToString() == before


def fused(proto, model_type="bert", opt_level=None, **fields):
    options = FusionOptions(model_type)
    for name, value in fields.items():
        assert hasattr(options, name), name
        setattr(options, name, value)
    return optimizer.optimize_model(proto, model_type, optimization_options=options, opt_level=opt_level).model


@pytest.mark.parametrize(("field", "value", "gone", "there"), [
    ("enable_gelu", False, "com.microsoft.BiasGelu", "Erf"),
    ("enable_layer_norm", False, "com.microsoft.SkipLayerNormalization", "ReduceMean"),
    ("enable_attention", False, "com.microsoft.Attention", "Softmax"),
    ("enable_skip_layer_norm", False, "com.microsoft.SkipLayerNormalization", "LayerNormalization"),
    ("enable_embed_layer_norm", False, "com.microsoft.EmbedLayerNormalization", "Gather"),
    ("enable_bias_gelu", False, "com.microsoft.BiasGelu", "com.microsoft.Gelu"),
    ("enable_gelu_approximation", True, "com.microsoft.BiasGelu", "com.microsoft.FastGelu"),
    ("use_multi_head_attention", True, "com.microsoft.Attention", "com.microsoft.MultiHeadAttention"),
    ("enable_gemm_fast_gelu", True, "com.microsoft.GemmFastGelu", "com.microsoft.BiasGelu"),
])
def test_each_option(field, value, gone, there):
    proto = bert(1)
    made = fused(proto, **{field: value})
    found = operators(made)
    assert found[gone] == 0
    assert found[there] > 0
    check(proto, made)


def test_the_bias_of_a_residual_sum():
    proto = bert(1)
    counts = {flag: operators(fused(proto, enable_bias_skip_layer_norm=flag)) for flag in (True, False)}
    assert counts[True]["com.microsoft.SkipLayerNormalization"] == counts[False]["com.microsoft.SkipLayerNormalization"]
    assert counts[False]["Add"] == counts[True]["Add"] + 2


@pytest.mark.parametrize(("form", "rank"), [
    (AttentionMaskFormat.MaskIndexEnd, 1), (AttentionMaskFormat.AttentionMask, 2), (AttentionMaskFormat.NoMask, None)])
@pytest.mark.parametrize("joined", [True, False])
def test_forms_of_the_mask(form, rank, joined):
    proto = bert(1)
    made = fused(proto, attention_mask_format=form, use_multi_head_attention=not joined)
    node = next(node for node in made.graph.node if node.op_type in ("Attention", "MultiHeadAttention"))
    mask = node.input[3 if joined else 4] if len(node.input) > (3 if joined else 4) else ""
    types = {value.name: value.type.tensor_type for value in (*made.graph.value_info, *made.graph.input)}
    assert (len(types[mask].shape.dim) if mask else None) == rank
    check(proto, made, inputs_of(proto, padding=rank is not None))


def test_where_the_tokens_stand():
    """MaskIndexEndAndStart: padding in front, too."""
    proto = distilbert()
    made = fused(proto, attention_mask_format=AttentionMaskFormat.MaskIndexEndAndStart)
    feeds = inputs_of(proto)
    feeds["attention_mask"][:] = [[0, 0, 1, 1, 1, 1, 1], [0, 1, 1, 1, 1, 0, 0]]
    kept = feeds["attention_mask"].astype(bool)
    assert operators(made)["com.microsoft.Attention"] == 2
    check(proto, made, feeds, kept)
    proto = bert(1)
    made = fused(proto, attention_mask_format=AttentionMaskFormat.MaskIndexEndAndStart, use_multi_head_attention=True)
    check(proto, made)  # which reads the mask itself


def peer_fused(proto, **fields):
    from onnxruntime.transformers import fusion_options
    from onnxruntime.transformers import optimizer as peer

    options = fusion_options.FusionOptions("bert")
    for name, value in fields.items():
        setattr(options, name, value)
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    return peer.optimize_model(copy, "bert", HEADS, WIDTH, options, opt_level=0).model


FUSED = ["EmbedLayerNormalization", "Attention", "MultiHeadAttention", "SkipLayerNormalization", "LayerNormalization",
         "Gelu", "BiasGelu", "FastGelu"]


def fused_nodes(proto):
    """By operator: which inputs each node has, and its attributes, but for two that say more precisely what holds."""
    found = {}
    for node in proto.graph.node:
        if node.op_type in FUSED:
            inputs = [index for index, name in enumerate(node.input) if name]
            attributes = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute
                          if one.name not in ("mask_filter_value", "axis")}
            found.setdefault(node.op_type, []).append((inputs, attributes))
    return found


@pytest.mark.parametrize("fields", [
    {}, {"enable_embed_layer_norm": False}, {"enable_gelu": False}, {"enable_bias_gelu": False},
    {"enable_skip_layer_norm": False, "enable_embed_layer_norm": False, "enable_attention": False},
    {"enable_bias_skip_layer_norm": False}, {"enable_gelu_approximation": True}, {"use_multi_head_attention": True},
    {"attention_mask_format": 0}, {"attention_mask_format": 2}, {"attention_mask_format": 3},
    {"attention_op_type": "MultiHeadAttention"}, {"attention_op_type": "GroupQueryAttention"},
    {"use_multi_head_attention": True, "disable_multi_head_attention_bias": True},  # which is for bart and conformer
    {"enable_shape_inference": False}, {"enable_qordered_matmul": False}, {"enable_rotary_embeddings": False},
], ids=str)
def test_the_same_nodes_as_onnx_runtimes_tool(fields):
    proto = bert()
    ours, theirs = fused(proto, **fields), peer_fused(proto, **fields)
    assert fused_nodes(ours) == fused_nodes(theirs)
    feeds = inputs_of(proto, padding=fields.get("attention_mask_format") != 3)
    left = {value.name for value in theirs.graph.input}  # their tool drops a mask that nothing reads
    want = outputs(onnxruntime, theirs, {name: value for name, value in feeds.items() if name in left})
    for library in (onnxruntime, sardonyx):
        np.testing.assert_allclose(outputs(library, ours, feeds), want, rtol=1e-3, atol=1e-4, err_msg=library.__name__)


@pytest.mark.parametrize("form", [0, 2])
def test_a_mask_of_the_lowest_number(form):
    """As transformers writes it: other numbers than zeros and ones would make -infinity of it."""
    proto = bert(hides=np.finfo(np.float32).min)
    made = fused(proto, attention_mask_format=form)
    assert fused_nodes(made) == fused_nodes(peer_fused(proto, attention_mask_format=form))
    check(proto, made)


def test_a_mask_at_places_that_are_counted():
    """As torch's vmap writes it, and sizes that are read off the embeddings."""
    proto = distilbert()
    made = fused(proto)
    found = fused_nodes(made)
    assert found["EmbedLayerNormalization"] == [([0, 2, 3, 5, 6, 7], {"epsilon": pytest.approx(1e-5)})]
    assert found["Attention"] == 2 * [([0, 1, 2, 3], {"num_heads": HEADS})]
    assert not {"Shape", "Range", "Gather", "ReduceSum", "LayerNormalization"} & set(operators(made))
    check(proto, made)


def test_other_spellings_of_attention():
    proto = decoder()
    made = fused(proto, "bart")
    assert operators(made)["com.microsoft.Attention"] == 1  # of one source
    assert operators(made)["com.microsoft.MultiHeadAttention"] == 1  # of two
    check(proto, made)
    proto = bert(1, gelu_tanh=True, masked=False)
    made = fused(proto)
    assert operators(made)["com.microsoft.FastGelu"] == 1
    check(proto, made)


@pytest.mark.parametrize(("level", "attentions"), [(1, 0), (2, 1), (99, 1)])
def test_levels_of_onnx_runtime_alone(tmp_path, level, attentions):
    proto = bert(1)
    made = optimizer.optimize_model(proto, opt_level=level, only_onnxruntime=True).model
    assert operators(made)["com.microsoft.Attention"] == attentions
    check(proto, made)
    path = optimizer.optimize_by_onnxruntime(proto, optimized_model_path=str(tmp_path / "made.onnx"), opt_level=level,
                                             disabled_optimizers=["AttentionFusion", "ConstantSharing"],
                                             save_as_external_data=True, external_data_file_threshold=0)
    assert operators(onnx.load(path))["com.microsoft.Attention"] == 0
    assert (tmp_path / "made.onnx.data").exists()


def counts(proto):
    found = operators(proto)
    return {name: found[name] + found[f"com.microsoft.{name}"] for name in (
        *FUSED, "QuickGelu", "SimplifiedLayerNormalization", "SkipSimplifiedLayerNormalization")}


def peer_at_level(tmp_path, monkeypatch, proto, model_type, level, **fields):
    """Their tool with what a session fuses before; it asks torch which GPU there is."""
    from onnxruntime.transformers import fusion_options
    from onnxruntime.transformers import optimizer as peer

    torch = types.ModuleType("torch")
    torch.version = types.SimpleNamespace(cuda=None, hip=None)
    monkeypatch.setitem(sys.modules, "torch", torch)
    options = fusion_options.FusionOptions(model_type)
    for name, value in fields.items():
        setattr(options, name, value)
    onnx.save(proto, tmp_path / "model.onnx")
    return peer.optimize_model(str(tmp_path / "model.onnx"), model_type, HEADS, WIDTH, options, opt_level=level).model


@pytest.mark.parametrize("level", [2, 99])
@pytest.mark.parametrize("field", ["enable_layer_norm", "enable_gelu", "enable_bias_gelu", "enable_skip_layer_norm",
                                   "enable_embed_layer_norm", "enable_attention"])
def test_levels_fuse_what_a_session_does(tmp_path, monkeypatch, level, field):
    proto = bert(1)
    made = fused(proto, opt_level=level, **{field: False})
    assert counts(made) == counts(peer_at_level(tmp_path, monkeypatch, proto, "bert", level, **{field: False}))
    check(proto, made)


@pytest.mark.parametrize("model_type", ["t5", "mmdit"])
@pytest.mark.parametrize("field", [None, "enable_layer_norm", "enable_gelu", "enable_skip_layer_norm"])
def test_root_mean_square_normalizations(tmp_path, monkeypatch, model_type, field):
    """t5's default level is 2; mmdit leaves sums in front of normalizations alone."""
    proto, fields = t5(), {} if field is None else {field: False}
    made = fused(proto, model_type, opt_level=2, **fields)
    theirs = peer_at_level(tmp_path, monkeypatch, proto, model_type, 2, **fields)
    ours_found, found = counts(made), counts(theirs)
    assert ours_found | {"Attention": 0, "MultiHeadAttention": 0} == found  # theirs fuses no attention here
    if model_type == "t5":
        assert counts(fused(proto, model_type, **fields)) == ours_found
    check(proto, made)


def test_what_is_refused():
    with pytest.raises(ValueError, match="opt_level: expected None, 0, 1, 2 or 99, found 5"):
        optimizer.optimize_model(bert(1), opt_level=5)
    with pytest.raises(NotImplementedError, match="attention_op_type GroupQueryAttention is not implemented"):
        fused(bert(1), "phi", attention_op_type="GroupQueryAttention")
    with pytest.raises(ValueError, match="expected a hidden size that 3 heads share equally, found 8"):
        optimizer.optimize_model(bert(1), num_heads=3, hidden_size=8)
    assert type(optimizer.optimize_model(bert(1), "no such type")).__name__ == "OnnxModel"
