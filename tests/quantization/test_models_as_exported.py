"""Models as exporters and users write them: shared weights, bodies, functions, weights that are inputs or nodes,
products of vectors and of stacks of matrices."""
import numpy as np
import onnx
import onnxruntime
import onnxruntime.quantization as peer
import pytest
import sardonyx
import sardonyx.quantization as ours
from onnx import TensorProto, helper, numpy_helper
from quantized_models import F, N, Reader, Weights, assert_same, by_both, contents, feed, model
from sardonyx.model import Model
from sardonyx.quantization.operators.qdq_base_operator import QDQOperatorBase
from sardonyx.quantization.registry import QDQRegistry

FORMS = {"dynamic": ("dynamic", {}), "QDQ": ("static", {"quant_format": "QDQ"}),
         "QOperator": ("static", {"quant_format": "QOperator", "activation_type": "QUInt8"})}


def quantized(how, proto, path, **arguments):
    """By our tool."""
    given = {key: ours.QuantType[value] if key.endswith("_type") else value for key, value in arguments.items()}
    if how == "static":
        given["quant_format"] = ours.QuantFormat[given["quant_format"]]
        given["calibration_data_reader"] = Reader(proto)
    getattr(ours, f"quantize_{how}")(proto, path, **given)
    return str(path)


def assert_near(proto, path, share=0.06):
    """The result runs in both libraries, node by node and with all optimizations, and is near the float model."""
    values = feed(proto, 10)
    floats = sardonyx.InferenceSession(proto.SerializeToString()).run(None, values)
    for library in (onnxruntime, sardonyx):
        for level in ("ORT_DISABLE_ALL", "ORT_ENABLE_ALL"):
            options = library.SessionOptions()
            options.graph_optimization_level = getattr(library.GraphOptimizationLevel, level)
            session = library.InferenceSession(path, options, providers=["CPUExecutionProvider"])
            for exact, found in zip(floats, session.run(None, values), strict=True):
                assert found.shape == exact.shape
                assert np.abs(found - exact).max() <= share * np.abs(exact).max()


@pytest.mark.parametrize("groups", [2, 3])
def test_channels_of_a_grouped_transposed_convolution_have_a_bias(tmp_path, groups):
    """ONNX Runtime's tool fails: its weight has the channels of one group, its bias those of all."""
    w = Weights(1)
    proto = model([N("ConvTranspose", ["x", w("w", 6, 4, 2, 2), w("b", 4 * groups)], ["y"], "conv", group=groups)],
                  {"x": [1, 6, 5, 5]}, ["y"], w.made)
    path = quantized("static", proto, tmp_path / "q.onnx", quant_format="QDQ", per_channel=True)
    assert contents(path)[1]["b_quantized_scale"].shape == (4 * groups,)
    assert_near(proto, path)


@pytest.mark.parametrize("form", ["QDQ", "QOperator"])
@pytest.mark.parametrize("shape", [(), (1,), (8,), (1, 8), (4, 8), (4, 1)])
def test_biases_of_gemm_per_channel(tmp_path, form, shape):
    w = Weights(2)
    proto = model([N("Gemm", ["x", w("w", 16, 8), w("b", *shape)], ["y"], "gemm")], {"x": [4, 16]}, ["y"], w.made)
    how, arguments = FORMS[form]
    assert_near(proto, quantized(how, proto, tmp_path / "q.onnx", per_channel=True, **arguments))


def test_a_bias_that_is_large_beside_the_products_of_a_group(tmp_path):
    """The scale of the group's weight grows until the bias fits into int32."""
    w = Weights(3)
    weight, bias = w("w", 4, 3, 2, 2), np.float32([30, 0, 0, 0, 0, -40])
    small = numpy_helper.to_array(w.made[0]) * np.float32([1e-8, 1, 1]).reshape(1, 3, 1, 1)
    w.made[0] = numpy_helper.from_array(small.astype(np.float32), "w")
    proto = model([N("ConvTranspose", ["x", weight, w.constant("b", bias)], ["y"], "conv", group=2)],
                  {"x": [1, 4, 5, 5]}, ["y"], w.made)
    path = quantized("static", proto, tmp_path / "q.onnx", quant_format="QDQ", per_channel=True)
    assert np.abs(contents(path)[1]["b_quantized"].astype(np.int64)).max() < 2**31 - 1
    assert_near(proto, path)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", [(16,), (2, 16, 8), (1, 16, 8), (3, 1, 16, 8)])
def test_vectors_and_stacks_of_matrices_have_no_channels(tmp_path, form, shape):
    """With scales of channels ONNX Runtime fails in the run, that of its own tool's result included."""
    w = Weights(4)
    proto = model([N("MatMul", ["x", w("w", *shape)], ["y"], "product")], {"x": [2, 4, 16]}, ["y"], w.made)
    how, arguments = FORMS[form]
    path = quantized(how, proto, tmp_path / "q.onnx", per_channel=True, **arguments)
    assert contents(path)[1]["w_scale"].shape == ()
    assert_near(proto, path)


@pytest.mark.parametrize("head", ["Gemm", "MatMul"])
@pytest.mark.parametrize("form", FORMS)
def test_a_table_that_is_the_weight_of_a_product_too(tmp_path, form, head):
    """Tied embeddings. With scales of the table's rows, what Gather takes out of it has no scale. Seven bits, as
    ONNX Runtime's sums saturate on processors without VNNI."""
    w = Weights(16)
    nodes = [N("Gather", [w("table", 20, 16), "ids"], ["e"], "gather"), N("MatMul", ["e", w("w", 16, 16)], ["h"], "up")]
    nodes += [N("Gemm", ["h", "table"], ["y"], "head", transB=1)] if head == "Gemm" else [
        N("Transpose", ["table"], ["turned"], "turn", perm=[1, 0]), N("MatMul", ["h", "turned"], ["y"], "head")]
    proto = model(nodes, {"ids": [5]}, ["y"], w.made, ids=TensorProto.INT64)
    how, arguments = FORMS[form]
    assert_near(proto, quantized(how, proto, tmp_path / "q.onnx", per_channel=True, reduce_range=True, **arguments))


def test_attention_of_onnx_stays_as_it_is(tmp_path):
    """It has the name of an operator of com.microsoft, which has weights."""
    w = Weights(5)
    proto = model([N("MatMul", ["x", w(name, 16, 16)], [name[1:]], name) for name in ("wq", "wk", "wv")] +
                  [N("Attention", ["q", "k", "v"], ["y"], "attention", q_num_heads=2, kv_num_heads=2)],
                  {"x": [1, 6, 16]}, ["y"], w.made, opset=23)
    # Seven bits: the sums of ONNX Runtime saturate on processors without VNNI.
    path = quantized("dynamic", proto, tmp_path / "q.onnx", per_channel=True, reduce_range=True)
    counts = contents(path)[0]
    assert (counts["", "Attention"], counts["", "MatMulInteger"]) == (1, 3)
    assert_near(proto, path)


def test_attention_with_a_bias_of_its_scores_stays_as_it_is(tmp_path):
    """QAttention has none."""
    w = Weights(6)
    node = N("Attention", ["x", w("w", 16, 48), w("b", 48), "", "", "bias"], ["y"], "attention",
             domain="com.microsoft", num_heads=2)
    proto = model([node], {"x": [1, 6, 16], "bias": [1, 2, 6, 6]}, ["y"], w.made)
    path = quantized("dynamic", proto, tmp_path / "q.onnx")
    assert contents(path)[0] == {("com.microsoft", "Attention"): 1}


def test_an_operator_of_another_domain_with_the_name_of_one_that_is_quantized(tmp_path):
    w = Weights(7)
    body = helper.make_function("mine", "MatMul", ["a", "b"], ["c"], [N("Add", ["a", "b"], ["c"])],
                                [helper.make_opsetid("", 17)])
    proto = model([N("MatMul", ["x", w("w", 8)], ["s"], "sum", domain="mine"),
                   N("MatMul", ["s", w("v", 8, 4)], ["y"], "product")], {"x": [2, 8]}, ["y"], w.made)
    proto.functions.append(body)
    proto.opset_import.append(helper.make_opsetid("mine", 1))
    for form, (how, arguments) in FORMS.items():
        path = quantized(how, proto, tmp_path / "q.onnx", **arguments)
        assert contents(path)[0]["mine", "MatMul"] == 1, form
        assert_near(proto, path)


def test_a_gemm_that_stays_in_float_leaves_no_node_that_nobody_reads(tmp_path):
    """Exporters make Identity nodes of weights that are shared: its bias is not an initializer."""
    w = Weights(8)
    proto = model([N("Identity", [w("b", 8)], ["same"], "same"), N("Gather", ["x", w.constant("i", np.int64([0, 2]))],
                                                                   ["g"], "gather"),
                   N("Gemm", ["g", w("w", 16, 8), "same"], ["y"], "gemm")], {"x": [4, 16]}, ["y"], w.made)
    path = quantized("static", proto, tmp_path / "q.onnx", quant_format="QOperator", activation_type="QUInt8")
    graph = onnx.load(path).graph
    read = {name for node in graph.node for name in node.input} | {one.name for one in graph.output}
    assert [node.name for node in graph.node if not read.intersection(node.output)] == []


def with_functions(opset=18):
    w = Weights(10)
    nodes = [N("MatMul", ["x", "w"], ["t"], "product"), N("Add", ["t", "b"], ["y"], "sum")]
    linear = helper.make_function("mine", "Linear", ["x", "w", "b"], ["y"], nodes, [helper.make_opsetid("", opset)])
    graph = helper.make_graph(
        [N("Linear", ["x", w("w0", 12, 16), w("b0", 16)], ["a"], "first", domain="mine"),
         N("Linear", ["a", w("w1", 16, 16), w("b1", 16)], ["b"], "second", domain="mine"),
         N("MatMul", ["b", w("w2", 16, 4)], ["y"], "last")], "g", [helper.make_tensor_value_info("x", F, ["n", 12])],
        [helper.make_tensor_value_info("y", F, ["n", 4])], w.made)
    return helper.make_model(graph, functions=[linear], ir_version=8, opset_imports=[
        helper.make_opsetid("", opset), helper.make_opsetid("mine", 1)])


@pytest.mark.parametrize("form", FORMS)
def test_what_functions_give_is_quantized(tmp_path, form):
    onnx.save(with_functions(), tmp_path / "f.onnx")
    how, arguments = FORMS[form]
    paths = by_both(how, str(tmp_path / "f.onnx"), tmp_path, **arguments)
    assert_same(paths)
    assert_near(with_functions(), paths["ours"])


def test_models_with_functions_are_prepared_and_converted(tmp_path):
    """ONNX's converter drops functions, whose calls nothing knows then."""
    ours.quant_pre_process(with_functions(), tmp_path / "p.onnx")
    assert contents(str(tmp_path / "p.onnx"))[0]["", "Gemm"] == 2
    path = quantized("static", with_functions(), tmp_path / "q.onnx", quant_format="QDQ", activation_type="QUInt16",
                     weight_type="QUInt8")
    assert_near(with_functions(), path)
    types = ours.QuantType
    ours.quantize_static(with_functions(), tmp_path / "o.onnx", Reader(with_functions()), extra_options={
        "TensorQuantOverrides": {"a": [{"quant_type": types.QUInt16}]}})
    assert onnx.load(tmp_path / "o.onnx").opset_import[0].version == 21
    assert_near(with_functions(), str(tmp_path / "o.onnx"))


def weights_that_are_inputs():
    w = Weights(11)
    proto = model([N("MatMul", ["x", w("w0", 10, 16)], ["a"], "m0"), N("Add", ["a", w("b0", 16)], ["b"], "a0"),
                   N("Relu", ["b"], ["c"], "relu"),
                   N("Gemm", ["c", w("w1", 4, 16), w("b1", 4)], ["y"], "gemm", transB=1)],
                  {"x": ["n", 10]}, ["y"], w.made)
    w("unused", 5, 5)
    proto.graph.initializer.append(w.made[-1])
    proto.graph.input.extend(helper.make_tensor_value_info(one.name, F, list(one.dims)) for one in w.made)
    return proto


@pytest.mark.parametrize("form", FORMS)
def test_weights_that_are_inputs_of_the_model(tmp_path, form):
    onnx.save(weights_that_are_inputs(), tmp_path / "f.onnx")
    how, arguments = FORMS[form]
    reader = Reader(weights_that_are_inputs())
    for one in reader.feeds:
        for name in list(one):
            if name != "x":
                del one[name]
    paths = {}
    for name, library in (("peer", peer), ("ours", ours)):
        given = {key: library.QuantType[value] if key.endswith("_type") else library.QuantFormat[value]
                 for key, value in arguments.items()}
        if how == "static":
            given["calibration_data_reader"] = reader
            reader.at = 0
        paths[name] = str(tmp_path / f"{name}.onnx")
        getattr(library, f"quantize_{how}")(str(tmp_path / "f.onnx"), paths[name], **given)
    assert_same(paths)
    values = {"x": np.random.default_rng(1).standard_normal((3, 10)).astype(np.float32)}
    results = [sardonyx.InferenceSession(path).run(None, values)[0] for path in paths.values()]
    np.testing.assert_allclose(*results, atol=1e-5)


def test_bodies_go_on_reading_floats(tmp_path):
    """They are not quantized: what they read loses nothing, as in ONNX Runtime."""
    w = Weights(12)
    body = helper.make_graph([N("MatMul", ["p", "w"], ["t"], "inner")], "yes", [],
                             [helper.make_tensor_value_info("t", F, ["n", 8])])
    other = helper.make_graph([N("Identity", ["p"], ["e"], "same")], "no", [],
                              [helper.make_tensor_value_info("e", F, ["n", 8])])
    proto = model([N("MatMul", ["x", w("w", 8, 8)], ["p"], "outer"),
                   N("If", ["c"], ["q"], "choose", then_branch=body, else_branch=other),
                   N("MatMul", ["q", "w"], ["r"], "behind"), N("Add", ["p", "r"], ["y"], "sum")],
                  {"c": [], "x": ["n", 8]}, ["y"], w.made, c=TensorProto.BOOL)
    onnx.save(proto, tmp_path / "f.onnx")
    paths = by_both("static", str(tmp_path / "f.onnx"), tmp_path, quant_format="QDQ")
    assert_same(paths)
    inner = {}
    for name, path in paths.items():
        node = next(node for node in onnx.load(path).graph.node if node.op_type == "If")
        inner[name] = [list(node.input) for one in node.attribute for node in one.g.node]
    assert inner["ours"] == inner["peer"]


@pytest.mark.parametrize(("source", "weight", "bias", "swapped"), [
    (["n", 8], (8, 4), (4,), False), ([5, 8], (8, 4), (4,), True), (["n", 8], (8, 4), (1, 4), False),
    ([3, 8], (8, 4), (3, 4), False), ([3, 8], (8, 4), (3, 1), False), ([3, 8], (8, 4), (), False),
    ([3, 8], (8, 4), (1,), False), ([8], (8, 4), (4,), False), ([2, 5, 8], (8, 4), (4,), False),
    (["n", 5, 8], (8, 4), (4,), False), ([2, 3, 8], (8, 4), (3, 4), False), ([3, 8], (8, 1), (4,), False)], ids=str)
def test_preparation_joins_products_and_biases(tmp_path, source, weight, bias, swapped):
    w = Weights(13)
    summands = ["m", w("b", *bias)]
    proto = model([N("MatMul", ["x", w("w", *weight)], ["m"], "product"),
                   N("Add", summands[::-1] if swapped else summands, ["y"], "sum")], {"x": source}, ["y"], w.made)
    onnx.save(proto, tmp_path / "f.onnx")
    for name, library in (("ours", ours), ("peer", peer)):
        library.quant_pre_process(str(tmp_path / "f.onnx"), tmp_path / f"{name}.onnx")
    kinds = [[node.op_type for node in onnx.load(tmp_path / f"{name}.onnx").graph.node] for name in ("ours", "peer")]
    assert kinds[0] == kinds[1]
    values = feed(proto)
    results = [sardonyx.InferenceSession(str(tmp_path / name)).run(None, values)[0] for name in ("f.onnx", "ours.onnx")]
    np.testing.assert_allclose(*results, rtol=1e-5, atol=1e-6)


def test_preparation_leaves_the_products_of_attention(tmp_path):
    """Those of a layer whose sums are normalized behind; the ones of its feed-forward part are joined."""
    w = Weights(17)

    def linear(source, target, *shape):
        return [N("MatMul", [source, w(f"w_{target}", *shape)], [f"m_{target}"], f"m_{target}"),
                N("Add", [f"m_{target}", w(f"b_{target}", shape[1])], [target], f"a_{target}")]

    nodes = [N("LayerNormalization", ["x", w("g0", 8), w("c0", 8)], ["n"], "norm0"),
             *linear("n", "q", 8, 8), *linear("n", "k", 8, 8), *linear("n", "v", 8, 8),
             N("Transpose", ["k"], ["t"], "turn", perm=[0, 2, 1]), N("MatMul", ["q", "t"], ["s"], "scores"),
             N("Softmax", ["s"], ["p"], "softmax"), N("MatMul", ["p", "v"], ["o"], "mix"), *linear("o", "h", 8, 8),
             N("Add", ["h", "n"], ["r"], "residual"),
             N("LayerNormalization", ["r", w("g1", 8), w("c1", 8)], ["f"], "norm1"),
             *linear("f", "up", 8, 16), N("Relu", ["up"], ["a"], "relu"), *linear("a", "y", 16, 8)]
    proto = model(nodes, {"x": [1, 4, 8]}, ["y"], w.made)
    onnx.save(proto, tmp_path / "f.onnx")
    for name, library in (("ours", ours), ("peer", peer)):
        library.quant_pre_process(str(tmp_path / "f.onnx"), tmp_path / f"{name}.onnx")
    mine, other = (contents(str(tmp_path / f"{name}.onnx"))[0] for name in ("ours", "peer"))
    assert mine == other and mine["", "Gemm"] == 2


def test_rules_may_remove_nodes(tmp_path):
    """As ONNX Runtime's do, with quantizer.remove_node."""
    class Dropped(QDQOperatorBase):
        def quantize(self):
            self.quantizer.quantize_activation_tensor(self.node.inputs[0])
            for node in self.quantizer.graph.consumers(self.node.outputs[0]):
                node.set_input(0, self.node.inputs[0])
            self.quantizer.remove_node(self.node)

    w = Weights(14)
    proto = model([N("Mish", ["x"], ["a"], "mish"), N("MatMul", ["a", w("w", 8, 4)], ["y"], "product")],
                  {"x": [2, 8]}, ["y"], w.made, opset=18)
    QDQRegistry["Mish"] = Dropped
    try:
        ours.quantize_static(proto, tmp_path / "q.onnx", Reader(proto), op_types_to_quantize=["Mish", "MatMul"])
    finally:
        del QDQRegistry["Mish"]
    assert contents(str(tmp_path / "q.onnx"))[0]["", "Mish"] == 0
    assert len(Model(str(tmp_path / "q.onnx")).graph.nodes) > 3


def convolutions_of_one_weight(**attributes):
    """As torch exports two layers that share a weight: the second one's is an Identity, whose type is not written."""
    w = Weights(18)
    proto = model([N("Identity", [w("w", 4, 4, 3, 3)], ["same"], "same"),
                   N("Conv", ["x", "w", w("b", 4)], ["h"], "first", pads=[1] * 4),
                   N("Conv", ["h", "same", w("c", 4)], ["y"], "second", pads=[1] * 4, **attributes)],
                  {"x": [1, 4, 6, 6]}, ["y"], w.made)
    del proto.graph.value_info[:]
    return proto


@pytest.mark.parametrize("attributes", [{}, {"kernel_shape": [3, 3]}], ids=str)
@pytest.mark.parametrize("form", FORMS)
def test_convolutions_that_share_a_weight(tmp_path, form, attributes):
    """ONNX Runtime's tool fails for the dynamic form: "Expected same to be an initializer"."""
    proto = convolutions_of_one_weight(**attributes)
    how, arguments = FORMS[form]
    assert_near(proto, quantized(how, proto, tmp_path / "q.onnx", **arguments))


def test_a_bias_beside_a_weight_of_unknown_rank(tmp_path):
    proto = convolutions_of_one_weight()
    proto.graph.node[0].domain, proto.graph.node[0].op_type = "of.somebody", "Draw"
    proto.opset_import.add(domain="of.somebody", version=1)
    with pytest.raises(ValueError, match="'second'.*weight of known shape, found 'same'.*quant_pre_process"):
        quantized("dynamic", proto, tmp_path / "q.onnx")
