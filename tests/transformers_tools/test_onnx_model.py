"""OnnxModel and FusionUtils do what onnxruntime.transformers' classes do, on the same models."""
import argparse
import inspect

import numpy as np
import onnx
import onnxruntime
import onnxruntime.transformers.fusion_options as their_options
import onnxruntime.transformers.fusion_utils as their_utils
import onnxruntime.transformers.onnx_model as theirs
import onnxruntime.transformers.onnx_model_bert as their_bert
import onnxruntime.transformers.optimizer as their_optimizer
import pytest
import sardonyx.transformers.fusion_options as our_options
import sardonyx.transformers.fusion_utils as our_utils
import sardonyx.transformers.onnx_model as ours
import sardonyx.transformers.onnx_model_bert as our_bert
from onnx import TensorProto, helper, numpy_helper
from sardonyx.transformers import optimizer
from sardonyx.transformers.dynamo_onnx_helper import DynamoOnnxHelper
from sardonyx.transformers.shape_infer_helper import SymbolicShapeInferenceHelper
from small_transformers import WIDTH, Writer, bert, inputs_of

BOTH = pytest.mark.parametrize("library", [theirs, ours], ids=["theirs", "ours"])


def public(cls):
    return {name: value for name, value in inspect.getmembers(cls, callable) if not name.startswith("_")}


@pytest.mark.parametrize(("their_class", "our_class"), [
    (theirs.OnnxModel, ours.OnnxModel), (their_bert.BertOnnxModel, our_bert.BertOnnxModel),
    (their_utils.FusionUtils, our_utils.FusionUtils), (their_options.FusionOptions, our_options.FusionOptions)])
def test_methods_and_their_arguments(their_class, our_class):
    mine = public(our_class)
    skipped = {"fuse_qordered_mamtul"}
    for name, method in public(their_class).items():
        if name in skipped:
            continue
        assert name in mine, name
        assert list(inspect.signature(mine[name]).parameters) == list(inspect.signature(method).parameters), name


@pytest.mark.parametrize("name", ["optimize_model", "optimize_by_fusion", "optimize_by_onnxruntime",
                                  "get_fusion_statistics"])
def test_functions_and_their_defaults(name):
    def parameters(function):
        return [(one.name, one.kind, one.default) for one in inspect.signature(function).parameters.values()]
    assert parameters(getattr(optimizer, name)) == parameters(getattr(their_optimizer, name))


def test_types_of_models():
    assert {name: (row[0].__name__, *row[1:]) for name, row in optimizer.MODEL_TYPES.items()} == {
        name: (row[0].__name__, *row[1:]) for name, row in their_optimizer.MODEL_TYPES.items()}
    for name, (cls, _, _) in optimizer.MODEL_TYPES.items():
        proto = bert(1)
        counts = cls(proto, 2, 8).get_fused_operator_statistics()
        their_class = their_optimizer.MODEL_TYPES[name][0]
        if name not in ("mmdit", "phi", "sam2"):  # they need more of the model
            assert counts == their_class(proto, 2, 8).get_fused_operator_statistics(), name


@pytest.mark.parametrize("model_type", ["bert", "vit", "qwen3", "clip", "unet", "gpt2"])
def test_fields_of_the_options(model_type):
    mine, other = (library.FusionOptions(model_type) for library in (our_options, their_options))
    assert vars(mine) == vars(other)
    for step in (lambda one: one.use_raw_attention_mask(), lambda one: one.use_raw_attention_mask(False),
                 lambda one: one.disable_attention_mask()):
        step(mine)
        step(other)
        assert vars(mine) == vars(other)


def test_each_argument_of_the_options():
    parsers = []
    for library in (our_options, their_options):
        parser = argparse.ArgumentParser()
        parser.add_argument("--model_type")
        library.FusionOptions.add_arguments(parser)
        parsers.append(parser)
    flags = [[action.option_strings for action in parser._actions] for parser in parsers]
    assert sorted(flags[0]) == sorted(flags[1])
    for (flag, *_), model_type in ((flag, kind) for flag in flags[0][2:] for kind in ("bert", "unet")):
        arguments = ["--model_type", model_type, flag]
        mine, other = (vars(library.FusionOptions.parse(parser.parse_args(arguments)))
                       for library, parser in zip((our_options, their_options), parsers, strict=True))
        assert mine == other, flag


@BOTH
def test_questions_about_a_graph(library):
    proto = bert(1)
    model = library.OnnxModel(proto)
    readers, producers = model.input_name_to_nodes(), model.output_name_to_node()
    softmax = model.get_nodes_by_op_type("Softmax")[0]
    assert [node.op_type for node in model.match_parent_path(softmax, ["Add", "Div", "MatMul"], [0, 0, 0])] == [
        "Add", "Div", "MatMul"]
    assert model.match_parent_path(softmax, ["Add", "Mul", "Div"], [0, 0, 0], producers) is None
    taken = []
    path = model.match_parent_path(softmax, ["Add", "Mul", "Sub", "Cast"], None, producers, taken)
    assert [node.op_type for node in path] == ["Add", "Mul", "Sub", "Cast"]
    assert taken == [0, 1, 0, 1]
    assert model.match_parent_paths(softmax, [(["Mul"], [0]), (["Add", "Mul"], [0, 1])], producers)[0] == 1
    assert [node.op_type for node in model.match_child_path(softmax, ["MatMul", "Transpose"], [(0, 0), (0, 0)])] == [
        "MatMul", "Transpose"]
    assert model.find_first_child_by_type(softmax, "Erf", readers).op_type == "Erf"
    assert model.find_first_child_by_type(softmax, "Erf", readers, recursive=False) is None
    assert model.find_first_parent_by_type(softmax, "Cast", producers).op_type == "Cast"
    assert set(model.get_graph_inputs(softmax, recursive=True)) == {"input_ids", "attention_mask", "token_type_ids"}
    assert model.get_operator_statistics() == model.get_operator_statistics(include_domain=True)
    div = path and model.match_parent_path(softmax, ["Add", "Div"], [0, 0])[1]
    assert model.find_constant_input(div, 2.0) == 1
    assert not model.has_constant_input(div, 3.0)
    assert model.get_opset_version() == 11
    assert model.get_dtype("input_ids") == TensorProto.INT64
    assert model.get_shape("input_ids") == ["batch", "row"]
    assert model.is_safe_to_fuse_nodes([softmax], list(softmax.output), readers, producers)
    assert not model.is_safe_to_fuse_nodes([softmax], [], readers, producers)


@BOTH
def test_changes_of_a_graph(library):
    proto = bert(1)
    model = library.OnnxModel(proto)
    assert model.create_node_name("Softmax", "new") == "new_0"
    assert model.create_node_name("Softmax", "new") == "new_1"
    value = model.find_graph_input("attention_mask")
    added, removed = model.change_graph_input_type(value, TensorProto.INT32)
    assert added.op_type == "Cast"
    assert removed == []
    before = len(model.graph().initializer)
    model.add_initializer(numpy_helper.from_array(np.float32([1]), "unused"))
    model.prune_graph()
    assert len(model.graph().initializer) == before
    model.topological_sort()
    onnx.checker.check_model(model.model)
    model.add_prefix_to_names("p_")
    assert {value.name for value in model.graph().input} == {"input_ids", "attention_mask", "token_type_ids"}
    assert all(name.startswith("p_") for node in model.nodes() for name in node.output if name != "y")
    onnx.checker.check_model(model.model)


@BOTH
def test_equal_initializers(library):
    w = Writer()
    same = w.weight(WIDTH), None
    w.initializers.append(numpy_helper.from_array(numpy_helper.to_array(w.initializers[0]), "copy"))
    y = w.add("Add", w.add("Mul", "x", same[0]), "copy")
    model = library.OnnxModel(w.model({"x": (TensorProto.FLOAT, [2, WIDTH])}, y, shape=[2, WIDTH]))
    assert library.OnnxModel.has_same_value(*model.graph().initializer)
    model.remove_duplicated_initializer({})
    assert len(model.graph().initializer) == 1


@pytest.mark.parametrize(("more", "left"), [([], []), (["--disable_embed_layer_norm"], 2 * [TensorProto.INT64])])
def test_half_precision_and_int32_inputs(tmp_path, more, left):
    proto = bert(1)
    onnx.save(proto, tmp_path / "model.onnx")
    arguments = ["--input", str(tmp_path / "model.onnx"), "--output", str(tmp_path / "made.onnx"), "--float16",
                 "--input_int32", "--use_raw_attention_mask", "--num_heads", "2", "--hidden_size", "8", *more]
    optimizer.main(arguments)
    made = onnx.load(tmp_path / "made.onnx")
    assert {one.data_type for one in made.graph.initializer} >= {TensorProto.FLOAT16}
    assert TensorProto.FLOAT not in {one.data_type for one in made.graph.initializer}
    assert {value.type.tensor_type.elem_type for value in made.graph.input} == {TensorProto.INT32}
    casts = [node for node in made.graph.node if node.op_type == "Cast" and node.input[0] in inputs_of(proto)]
    assert [ours.OnnxModel.get_node_attribute(node, "to") for node in casts] == left  # before Gather
    feeds = {name: value.astype(np.int32) for name, value in inputs_of(proto).items()}
    session = onnxruntime.InferenceSession(str(tmp_path / "made.onnx"), providers=["CPUExecutionProvider"])
    want = onnxruntime.InferenceSession(proto.SerializeToString()).run(None, inputs_of(proto))[0]
    np.testing.assert_allclose(session.run(None, feeds)[0], want, atol=2e-2)


def test_single_fusions():
    model = our_bert.BertOnnxModel(bert(1))
    model.fuse_layer_norm()
    model.fuse_gelu()
    assert model.get_fused_operator_statistics()["LayerNormalization"] == 3
    assert model.get_fused_operator_statistics()["Gelu"] == 1
    model.fuse_skip_layer_norm()
    model.fuse_add_bias_skip_layer_norm()
    model.fuse_bias_gelu(False)
    assert model.get_fused_operator_statistics()["BiasGelu"] == 1
    assert model.get_fused_operator_statistics()["SkipLayerNormalization"] == 2


def test_shapes_with_numbers_for_symbols():
    shapes = SymbolicShapeInferenceHelper(bert(1))
    assert shapes.infer({"batch": 2})
    softmax = ours.OnnxModel(shapes.model_).get_nodes_by_op_type("Softmax")[0]
    assert shapes.get_edge_shape(softmax.output[0]) == [2, 2, "row", "row"]
    assert shapes.compare_shape(softmax.input[0], softmax.output[0])


def test_changes_of_models_of_the_newer_exporter():
    w = Writer()
    constant = helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(np.float32([1, 2])))
    w.nodes.append(constant)
    proto = w.model({"x": (TensorProto.FLOAT, [2])}, w.add("Dropout", w.add("Add", "x", "c")), opset=13,
                    shape=[2])
    changed = DynamoOnnxHelper(proto)
    changed.remove_dropout_layer()
    changed.convert_constants_to_initializers()
    changed.update_edges({"x": "z"})
    assert [node.op_type for node in proto.graph.node] == ["Add", "Identity"]
    onnx.checker.check_model(proto)
    np.testing.assert_array_equal(onnxruntime.InferenceSession(proto.SerializeToString()).run(
        None, {"z": np.float32([1, 1])})[0], [2, 3])
