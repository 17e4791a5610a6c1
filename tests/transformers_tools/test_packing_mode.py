"""convert_to_packing_mode writes the graphs that ONNX Runtime's tool writes, and the packed models compute what they
did before. ONNX Runtime runs them on GPUs only, so outputs are compared here."""
import logging
import re

import numpy as np
import onnx
import pytest
import sardonyx
from onnx import TensorProto, helper
from onnxruntime.transformers import onnx_model_bert as their_bert
from sardonyx.transformers import convert_to_packing_mode, optimizer
from sardonyx.transformers.fusion_options import FusionOptions
from sardonyx.transformers.onnx_model_bert import BertOnnxModel
from small_transformers import HEADS, SIZE, WIDTH, WORDS, Writer, bert, distilbert
from test_optimizer import peer_fused

LENGTHS = [[7, 4, 1], [7, 7, 7], [1, 2, 3], [0, 5, 7], [7], [1]]  # of sequences, with padding up to 7 tokens
ROWS = 7
MICROSOFT = {"domain": "com.microsoft"}


class Fused(Writer):
    """Writes the operators that optimize_model makes."""

    def attend(self, x, counts, apart=False, bias="", context=None, **attributes):
        attributes = {"num_heads": HEADS, **MICROSOFT, **attributes}
        if not apart:
            return self.add("Attention", x, self.weight(WIDTH, 3 * WIDTH), self.weight(3 * WIDTH), counts, "", bias,
                            **attributes)
        products = [self.linear(one, bias=False) for one in (x, context or x, context or x)]
        if callable(bias):
            bias = bias(products[0])
        return self.add("MultiHeadAttention", *products, self.weight(3 * WIDTH), counts, bias, **attributes)

    def skip_norm(self, x, skip):
        return self.add("SkipLayerNormalization", x, skip, self.weight(WIDTH), self.weight(WIDTH), self.weight(WIDTH),
                        **MICROSOFT)

    def fused_norm(self, x, **attributes):
        return self.add("LayerNormalization", x, self.weight(WIDTH), self.weight(WIDTH), **attributes)

    def block(self, x, counts, **attributes):
        x = self.skip_norm(self.linear(self.attend(x, counts, **attributes), bias=False), x)
        y = self.add("BiasGelu", self.linear(x, WIDTH, 2 * WIDTH, bias=False), self.weight(2 * WIDTH), **MICROSOFT)
        return self.skip_norm(self.linear(y, 2 * WIDTH, WIDTH, bias=False), x)

    def scores_bias(self):
        return self.weight(1, HEADS, ROWS, ROWS)

    def gate(self, queries):
        """WavLM's and TNLR's bias of relative positions, which depends on the queries."""
        return self.add("GatedRelativePositionBias", queries, self.weight(WIDTH), self.scores_bias(),
                        self.weight(SIZE, 8), self.weight(8), self.weight(1, HEADS, 1, 1), num_heads=HEADS,
                        **MICROSOFT)

    def finished(self, output, inputs=None, **more):
        """`more`: further outputs by name, and their shapes."""
        graph = self.model({"x": (TensorProto.FLOAT, ["batch", ROWS, WIDTH]), **(inputs or {
            "counts": (TensorProto.INT32, ["batch"])})}, output, opset=17)
        for name, shape in more.items():
            graph.graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        graph.opset_import.append(helper.make_opsetid("com.microsoft", 1))
        return graph


def encoder(**attributes):
    w = Fused()
    x = w.fused_norm("x")
    for _ in range(2):
        x = w.block(x, "counts", **attributes)
    return w.finished(x)


def gated():
    w = Fused(1)
    x = w.fused_norm("x")
    for _ in range(2):
        x = w.block(x, "counts", apart=True, bias=w.gate)
    return w.finished(x)


def biased(apart):
    w = Fused(2)
    bias = w.scores_bias()
    return w.finished(w.block(w.fused_norm("x"), "counts", apart=apart, bias=bias))


def language_model():
    """A head with a normalization behind GELU, as masked language models have it."""
    w = Fused(3)
    x = w.block(w.fused_norm("x"), "counts")
    y = w.fused_norm(w.add("Gelu", w.linear(x), **MICROSOFT))
    return w.finished(w.linear(y))


def made(proto, model_type="bert", **fields):
    options = FusionOptions(model_type)
    for name, value in fields.items():
        setattr(options, name, value)
    return optimizer.optimize_model(proto, model_type, optimization_options=options, opt_level=0).model


def copy_of(proto):
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    return copy


def packed(proto, symbolic=False, cls=BertOnnxModel):
    model = cls(copy_of(proto), HEADS, WIDTH)
    model.convert_to_packing_mode(use_symbolic_shape_infer=symbolic)
    return model.model


def nodes_of(proto):
    """All that a node is, but for its name; empty inputs at the end count as none."""
    found = []
    for node in proto.graph.node:
        attributes = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}
        inputs = ",".join(node.input).rstrip(",")
        found.append((node.op_type, node.domain, inputs, list(node.output), sorted(attributes.items(), key=str)))
    return sorted(found, key=str)


def feeds_of(proto, lengths, seed=0):
    random, batch = np.random.default_rng(seed), len(lengths)
    feeds = {"x": random.normal(size=(batch, ROWS, WIDTH)).astype(np.float32), "counts": np.int32(lengths),
             "attention_mask": np.int64(np.arange(ROWS) < np.int64(lengths)[:, None]),
             "input_ids": random.integers(0, WORDS, (batch, ROWS)),
             "token_type_ids": random.integers(0, 2, (batch, ROWS))}
    return {value.name: feeds[value.name] for value in proto.graph.input}


def session(proto, level="ORT_ENABLE_ALL"):
    options = sardonyx.SessionOptions()
    options.graph_optimization_level = getattr(sardonyx.GraphOptimizationLevel, level)
    return sardonyx.InferenceSession(proto.SerializeToString(), options)


def check(proto, changed, batches=LENGTHS, bound=1e-5):
    """The same for each token, at all levels. Returns what stands in the places of padding."""
    before, padding = session(proto), []
    sessions = [session(changed, level) for level in ("ORT_DISABLE_ALL", "ORT_ENABLE_ALL")]
    for lengths in batches:
        feeds = feeds_of(proto, lengths)
        kept = np.arange(ROWS) < np.int64(lengths)[:, None]
        want = before.run(None, feeds)[0]
        for after in sessions:
            got = after.run(None, feeds)[0]
            assert got.shape == want.shape
            np.testing.assert_allclose(got[kept], want[kept], rtol=0, atol=bound, err_msg=str(lengths))
            padding.append(got[~kept])
    return np.concatenate(padding)


PACKED = {
    "bert": lambda: made(bert()),
    "bert_apart": lambda: made(bert(), use_multi_head_attention=True),
    "bert_without_embeddings": lambda: made(bert(), enable_embed_layer_norm=False),
    "bert_apart_without_embeddings": lambda: made(bert(), enable_embed_layer_norm=False, use_multi_head_attention=True),
    "bert_with_fast_gelu": lambda: made(bert(gelu_tanh=True)),
    "bert_unfused_sums": lambda: made(bert(), enable_skip_layer_norm=False, enable_embed_layer_norm=False),
    "bert_one_layer": lambda: made(bert(1)),
    "distilbert": lambda: made(distilbert()),
    "encoder": encoder,
    "encoder_apart": lambda: encoder(apart=True),
    "scale": lambda: encoder(scale=0.3),
    "scale_apart": lambda: encoder(apart=True, scale=0.3, mask_filter_value=-1e4),
    "gated_positions": gated,
    "biased_apart": lambda: biased(True),
    "language_model": language_model,
}
EACH = pytest.mark.parametrize("name", PACKED)


def as_theirs_takes_it(proto):
    """Their tool takes an input of past values, even an empty one, for a reason not to pack Attention."""
    for node in proto.graph.node:
        if node.op_type == "Attention":
            while not node.input[-1]:
                del node.input[-1]
    return proto


@EACH
def test_the_graph_of_onnx_runtimes_tool(name):
    proto = as_theirs_takes_it(PACKED[name]())
    ours, theirs = packed(proto), packed(proto, cls=their_bert.BertOnnxModel)
    assert nodes_of(ours) == nodes_of(theirs)
    assert [value.name for value in ours.graph.value_info] == []
    kinds = [node.op_type for node in ours.graph.node]
    assert kinds.count("RemovePadding") == kinds.count("RestorePadding") == 1
    assert kinds.count("PackedAttention") + kinds.count("PackedMultiHeadAttention") in (1, 2)
    assert not {"Attention", "MultiHeadAttention"} & set(kinds)


@pytest.mark.parametrize("fields", [{}, {"use_multi_head_attention": True}, {"enable_embed_layer_norm": False},
                                    {"enable_bias_gelu": False}, {"attention_mask_format": 3}], ids=str)
def test_counts_beside_onnx_runtimes_tool_from_end_to_end(fields):
    def counts(proto):
        kinds = [node.op_type for node in proto.graph.node if node.op_type != "Identity"]
        return {kind: kinds.count(kind) for kind in sorted(set(kinds))}

    ours = packed(made(bert(), **fields))
    theirs = packed(peer_fused(bert(), **fields), cls=their_bert.BertOnnxModel)
    assert counts(ours) == counts(theirs)


@EACH
def test_tokens_have_the_values_that_they_had(name):
    proto = PACKED[name]()
    padding = check(proto, packed(proto))
    if name != "language_model":  # whose output has a bias
        assert not padding.any()


def test_attention_with_a_bias_of_scores():
    """Which theirs leaves alone, as the place of the bias is behind that of past values."""
    proto = biased(False)
    assert nodes_of(packed(proto, cls=their_bert.BertOnnxModel)) == nodes_of(proto)
    changed = packed(proto)
    assert [node.op_type for node in changed.graph.node].count("PackedAttention") == 1
    check(proto, changed)


def test_the_bias_of_projections_by_itself():
    """A query that is a sum; theirs looks for a product."""
    proto = made(bert(), "bart", use_multi_head_attention=True, disable_multi_head_attention_bias=True,
                 attention_mask_format=0)
    changed = packed(proto)
    assert [node.op_type for node in changed.graph.node].count("PackedMultiHeadAttention") == 2
    check(proto, changed)


def test_what_reads_the_tokens_beside_the_layers():
    """The bias of the scores has the sizes of the padded batch, and a head for classes begins behind the last layer:
    theirs reads the sizes without padding, too, and puts the padding back behind the head's normalization."""
    w = Fused(4)
    x = w.fused_norm("x")
    rows = w.add("Shape", x, start=1, end=2)
    one = onnx.numpy_helper.from_array(np.float32([0.5]))
    bias = w.add("ConstantOfShape", w.add("Concat", w.constant([1, HEADS], np.int64), rows, rows, axis=0), value=one)
    y = w.block(x, "counts", apart=True, bias=bias)
    first = w.add("Gather", y, w.constant(0, np.int64), axis=1)
    pooled = w.fused_norm(first)
    proto = w.finished(w.add("Add", y, w.add("Unsqueeze", pooled, w.constant([1], np.int64))))
    changed = packed(proto)
    (restore,) = [node for node in changed.graph.node if node.op_type == "RestorePadding"]
    assert list(restore.output) == [y]
    check(proto, changed)


def test_shapes_of_the_packed_model():
    changed = packed(made(bert()), symbolic=True)
    types = {value.name: value.type.tensor_type for value in changed.graph.value_info}
    for node in changed.graph.node:
        for name in node.output[:1]:
            if node.op_type.startswith("Packed"):
                assert types[name].shape.dim[-1].dim_value == WIDTH
                assert len(types[name].shape.dim) == 2
    (removed,) = [node for node in changed.graph.node if node.op_type == "RemovePadding"]
    assert [len(types[name].shape.dim) for name in removed.output] == [2, 2, 1, 1]
    assert [types[name].elem_type for name in removed.output] == [TensorProto.FLOAT] + 3 * [TensorProto.INT32]
    check(made(bert()), changed)


def test_names_that_are_taken():
    w = Fused(5)
    x = w.fused_norm("x")
    y = w.block(x, "counts")
    w.nodes.append(helper.make_node("Identity", ["x"], [f"{x}_no_padding"]))
    proto = w.finished(w.add("Add", y, f"{x}_no_padding"))
    check(proto, packed(proto))


def test_types_of_half_precision():
    model = BertOnnxModel(made(bert()))
    model.convert_float_to_float16(keep_io_types=True)
    before = copy_of(model.model)
    model.convert_to_packing_mode()
    check(before, model.model, bound=5e-3)


# What stays as it is, and what the log says.

def hidden_state():
    w = Fused(6)
    first = w.block(w.fused_norm("x"), "counts")
    return w.finished(w.block(first, "counts"), **{first: ["batch", ROWS, WIDTH]})


def read_elsewhere():
    w = Fused(6)
    first = w.block(w.fused_norm("x"), "counts")
    return w.finished(w.add("Add", w.block(first, "counts"), w.add("Tanh", first)))


def normalized_before():
    """The sums around attention have padding."""
    w = Fused(7)
    y = w.add("Add", "x", w.attend(w.fused_norm("x"), "counts"))
    return w.finished(w.fused_norm(y))


def across():
    """Keys and values of other tokens."""
    w = Fused(8)
    x = w.fused_norm("x")
    return w.finished(w.skip_norm(w.attend(x, "counts", apart=True, context="x"), x))


def mixed():
    w = Fused(9)
    return w.finished(w.block(w.block(w.fused_norm("x"), "counts"), "counts", apart=True))


def two_masks():
    w = Fused(10)
    x = w.block(w.fused_norm("x"), "counts")
    return w.finished(w.block(x, w.add("Identity", "counts")))


def between(op_type, *inputs, **attributes):
    """An operator between attention and the normalization behind it."""
    w = Fused(11)
    x = w.fused_norm("x")
    y = w.add(op_type, w.attend(x, "counts"), *(w.constant(one, one.dtype) for one in inputs), **attributes)
    return w.finished(w.skip_norm(y, x))


def without_normalization():
    w = Fused(12)
    return w.finished(w.attend(w.fused_norm("x"), "counts"))


def in_a_body():
    w = Fused(13)
    x = w.fused_norm("x")
    inner = Fused(14)
    made = inner.attend(x, "counts")
    body = helper.make_graph(inner.nodes, "body", [], [helper.make_tensor_value_info(made, TensorProto.FLOAT, None)],
                             [])
    w.initializers += inner.initializers
    for one, name in zip(inner.initializers, ("w", "b"), strict=True):
        one.name, old = f"inner_{name}", one.name
        for node in body.node:
            node.input[:] = [one.name if each == old else each for each in node.input]
    y = w.add("If", w.constant(True, bool), then_branch=body, else_branch=body)
    return w.finished(w.skip_norm(y, x))


def packed_together():
    w = Fused(15)
    x = w.fused_norm("x")
    y = w.add("Reshape", w.linear(x, WIDTH, 3 * WIDTH), w.constant([0, 0, HEADS, 3, SIZE], np.int64))
    y = w.add("MultiHeadAttention", y, "", "", "", "counts", num_heads=HEADS, **MICROSOFT)
    return w.finished(w.skip_norm(y, x))


def with_present():
    w = Fused(16)
    x = w.fused_norm("x")
    y, present = w.add("Attention", x, w.weight(WIDTH, 3 * WIDTH), w.weight(3 * WIDTH), "counts", outputs=2,
                       num_heads=HEADS, **MICROSOFT)
    return w.finished(w.skip_norm(y, x), **{present: [2, "batch", HEADS, ROWS, SIZE]})


def with_past():
    w = Fused(17)
    x = w.fused_norm("x")
    past = (TensorProto.FLOAT, [2, "batch", HEADS, "past", SIZE])
    y = w.add("Attention", x, w.weight(WIDTH, 3 * WIDTH), w.weight(3 * WIDTH), "counts", "past", num_heads=HEADS,
              **MICROSOFT)
    return w.finished(w.skip_norm(y, x), {"counts": (TensorProto.INT32, ["batch"]), "past": past})


def without_bias():
    w = Fused(18)
    x = w.fused_norm("x")
    y = w.add("Attention", x, w.weight(WIDTH, 3 * WIDTH), "", "counts", num_heads=HEADS, **MICROSOFT)
    return w.finished(w.skip_norm(y, x))


def mask_of(shape):
    w = Fused(19)
    return w.finished(w.block(w.fused_norm("x"), "counts"), {"counts": (TensorProto.INT32, shape)})


@pytest.mark.parametrize(("make", "message"), [
    (lambda: made(bert(masked=False)), "one mask, found some without one"),
    (lambda: made(bert(), attention_mask_format=3), "one mask, found some without one"),
    (lambda: made(bert(), attention_mask_format=2), r"number of tokens of each sequence .*'Cast_10' \[batch, row\]"),
    (lambda: made(bert(), attention_mask_format=1), r"number of tokens of each sequence .*\[2\*batch\]"),
    (lambda: made(bert(), enable_attention=False), "expected Attention or MultiHeadAttention, found neither"),
    (lambda: mask_of(["batch", ROWS]), r"number of tokens of each sequence .*'counts' \[batch, 7\]"),
    (mixed, "expected Attention or MultiHeadAttention, found both"),
    (two_masks, "one mask, found 2 of them: Identity_.*, counts"),
    (without_normalization, "expected a LayerNormalization or SkipLayerNormalization behind the last attention"),
    (hidden_state, "found that 'SkipLayerNormalization_.*' is read elsewhere"),
    (read_elsewhere, "found that 'SkipLayerNormalization_.*' is read elsewhere"),
    (normalized_before, "by itself between the layers, found Add 'Add_"),
    (across, "only tokens of the layers, found 'MultiHeadAttention_.*', which reads 'MatMul_"),
    (lambda: between("Reshape", np.int64([0, -1, WIDTH])), "by itself between the layers, found Reshape 'Reshape_"),
    (lambda: between("Add", np.zeros((ROWS, 1), np.float32)), "by itself between the layers, found Add"),
    (lambda: between("Add", np.zeros((1, 1, WIDTH), np.float32)), "by itself between the layers, found Add"),
    (lambda: between("MatMul", np.zeros((1, WIDTH, WIDTH), np.float32)), "between the layers, found MatMul"),
    (lambda: between("Softmax", axis=1), "by itself between the layers, found Softmax"),
    (lambda: between("LayerNormalization", np.ones((ROWS, WIDTH), np.float32)), "found LayerNormalization"),
    (lambda: between("LayerNormalization", np.ones(WIDTH, np.float32), axis=2), "found LayerNormalization"),
    (in_a_body, "expected Attention in the main graph alone"),
    (packed_together, "found 'MultiHeadAttention_.*', which reads them packed"),
    (with_present, "expected attention without keys and values of earlier runs, found more than one output"),
    (with_past, "expected attention without keys and values of earlier runs, found input 4"),
    (without_bias, "with a bias of the projections"),
    (lambda: encoder(unidirectional=1), "without the attribute unidirectional"),
    (lambda: encoder(apart=True, unidirectional=1), "without the attribute unidirectional"),
])
def test_what_is_not_packed(make, message, caplog):
    proto = make()
    with caplog.at_level(logging.ERROR):
        changed = packed(proto)
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert record.getMessage().startswith("the model is not packed: expected")
    assert re.search(message, record.getMessage())
    assert nodes_of(changed) == nodes_of(proto)


def test_a_wrong_number_of_sequences_is_an_error():
    """Where the sizes are not known before."""
    changed = packed(mask_of(["counted"]))
    with pytest.raises(Exception, match="a number of tokens for each sequence"):
        session(changed).run(None, feeds_of(changed, [7, 4]) | {"counts": np.int32([7, 4, 1])})


# Programs.

def test_the_program(tmp_path):
    source, target = tmp_path / "model.onnx", tmp_path / "packed.onnx"
    onnx.save(made(bert()), source)
    convert_to_packing_mode.main(["--input", str(source), "--output", str(target), "--use_external_data_format"])
    assert "PackedAttention" in [node.op_type for node in onnx.load(target).graph.node]
    check(made(bert()), onnx.load(target))


def test_the_optimizers_argument(tmp_path):
    proto = bert()
    source, target = tmp_path / "model.onnx", tmp_path / "packed.onnx"
    onnx.save(proto, source)
    optimizer.main(["--input", str(source), "--output", str(target), "--convert_to_packing_mode"])
    check(made(proto), onnx.load(target))
