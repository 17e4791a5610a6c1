"""The fusions of onnxruntime.quantization, and the models and configurations for QNN's provider, beside ONNX Runtime's:
same nodes, same overrides."""
import copy

import numpy as np
import onnx
import onnxruntime.quantization.execution_providers.qnn as peer_qnn
import onnxruntime.quantization.execution_providers.qnn.fusion_spacetodepth as peer_depth
import onnxruntime.quantization.fusions as peer_fusions
import pytest
import sardonyx
import sardonyx.quantization.execution_providers.qnn as our_qnn
import sardonyx.quantization.execution_providers.qnn.fusion_spacetodepth as our_depth
import sardonyx.quantization.fusions as our_fusions
from onnx import TensorProto, helper
from onnxruntime.quantization.onnx_model import ONNXModel as PeerModel
from quantized_models import Reader, Weights, assert_same, feed, mlp, model, of
from sardonyx import quantization as ours
from sardonyx.quantization.onnx_model import ONNXModel

N = helper.make_node


def gelu(form):
    w = Weights(1)
    root, half, one = (w.constant(name, np.float32(value)) for name, value in (
        ("root", np.sqrt(2)), ("half", 0.5), ("one", 1)))
    w.constant("inverse", np.float32(np.sqrt(0.5))), w.constant("two", np.float32(2))
    start = [N("Div", ["x", root], ["d"], "d")]
    tail = [N("Erf", ["d"], ["e"], "e"), N("Add", [one, "e"] if form == "swapped" else ["e", one], ["a"], "a")]
    ends = {
        "pytorch": [N("Mul", ["x", half], ["h"], "h"), N("Mul", ["h", "a"], ["y"], "m")],
        "swapped": [N("Mul", ["x", "a"], ["m"], "m"), N("Mul", ["m", half], ["y"], "h")],
        "keras": [N("Mul", [half, "a"], ["m"], "m"), N("Mul", ["x", "m"], ["y"], "h")],
        "read": [N("Mul", [half, "a"], ["m"], "m"), N("Mul", ["x", "m"], ["y0"], "h"),
                 N("Add", ["y0", "e"], ["y"], "r")]}
    if form == "root":
        start = [N("Sqrt", ["two"], ["s"], "s"), N("Div", ["x", "s"], ["d"], "d")]
    if form == "tensorflow":
        start = [N("Mul", ["x", "inverse"], ["d"], "d")]
    return model([*start, *tail, *ends.get(form, ends["keras"])], {"x": [2, 3]}, ["y"], w.made)


def normalization(square="Pow", epsilon=1e-5, opset=17, twice=False, scale_rank=1):
    w = Weights(2)
    w.constant("two", np.float32(2)), w.constant("epsilon", np.float32(epsilon))
    w("g", *[8][:scale_rank], *[1] * (1 - scale_rank)), w("b", 8)
    if scale_rank == 2:
        w.made.pop(), w.made.pop(), w("g", 1, 8), w("b", 8)
    nodes = [N("ReduceMean", ["x"], ["m"], "m", axes=[-1]), N("Sub", ["x", "m"], ["s"], "s")]
    nodes += [N("Sub", ["x", "m"], ["s2"], "s2")] if twice else []
    nodes += [N("Pow", ["s", "two"], ["q"], "q") if square == "Pow" else N("Mul", ["s", "s"], ["q"], "q"),
              N("ReduceMean", ["q"], ["v"], "v", axes=[-1]), N("Add", ["v", "epsilon"], ["ve"], "ve"),
              N("Sqrt", ["ve"], ["r"], "r"), N("Div", ["s2" if twice else "s", "r"], ["n"], "n"),
              N("Mul", ["n", "g"], ["ng"], "ng"), N("Add", ["ng", "b"], ["y"], "y")]
    return model(nodes, {"x": [2, 8]}, ["y"], w.made, opset)


def unit(minimum=1e-12, keepdims=1, axes=(-1,)):
    """x / max(|x|, epsilon), as PyTorch exports it."""
    w = Weights(3)
    return model(
        [N("ReduceL2", ["x"], ["l"], "l", axes=list(axes), keepdims=keepdims),
         N("Clip", ["l", w.constant("least", np.float32(minimum))], ["c"], "c"),
         N("Expand", ["c", w.constant("shape", np.int64([2, 8] if axes == (-1,) else [8, 8]))], ["e"], "e"),
         N("Div", ["x", "e"], ["y"], "d")], {"x": [2, 8]}, ["y"], w.made)


def depth(last=(1, 12, 2, 3)):
    """[1, 3, 4, 6] in blocks of 2."""
    w, shapes = Weights(4), [(1, 3, 2, 2, 3, 2), (1, 3, 6, 4), (1, 3, 4, 2, 3), last]
    orders, nodes, name = [[0, 1, 2, 4, 3, 5], [0, 1, 3, 2], [0, 2, 1, 3, 4]], [], "x"
    for index, shape in enumerate(shapes):
        w.constant(f"s{index}", np.int64(shape))
        out = "y" if index == 3 else f"r{index}"
        nodes.append(N("Reshape", [name, f"s{index}"], [out], out))
        if index < 3:
            name = f"t{index}"
            nodes.append(N("Transpose", [out], [name], name, perm=orders[index]))
    return model(nodes, {"x": [1, 3, 4, 6]}, ["y"], w.made)


def nodes_of(proto):
    return sorted((node.domain, node.op_type, node.name, list(node.input), list(node.output),
                   sorted((one.name, helper.get_attribute_value(one)) for one in node.attribute))
                  for node in proto.graph.node)


def fused_by(library, kind, proto):
    made = (ONNXModel if library in (our_fusions, our_depth, our_norm) else PeerModel)(copy.deepcopy(proto))
    return getattr(library, kind)(made).apply(), made.model


our_norm = __import__("sardonyx.quantization.execution_providers.qnn.fusion_lpnorm", fromlist=["x"])
peer_norm = __import__("onnxruntime.quantization.execution_providers.qnn.fusion_lpnorm", fromlist=["x"])
FUSED = {**{form: (True, gelu(form)) for form in ("pytorch", "swapped", "keras", "root", "tensorflow")},
         "gelu that is read elsewhere": (False, gelu("read")),
         "normalization": (True, normalization()), "normalization by a product": (True, normalization("Mul")),
         "normalization with two differences": (True, normalization(twice=True)),
         "normalization with a large epsilon": (False, normalization(epsilon=0.1)),
         "normalization with a scale of rank 2": (False, normalization(scale_rank=2)),
         "unit": (True, unit()), "unit with another epsilon": (False, unit(1e-6)),
         "depth": (True, depth()), "depth with another shape": (False, depth((1, 12, 3, 2)))}


@pytest.mark.parametrize("name", FUSED)
def test_nodes_become_one_as_there(name):
    is_fused, proto = FUSED[name]
    mine, theirs, kind = ((our_norm, peer_norm, "FusionLpNormalization") if name.startswith("unit") else
                          (our_depth, peer_depth, "FusionSpaceToDepth") if name.startswith("depth") else
                          (our_fusions, peer_fusions, "FusionLayerNormalization") if name.startswith("norm") else
                          (our_fusions, peer_fusions, "FusionGelu"))
    (changed, made), (there, other) = fused_by(mine, kind, proto), fused_by(theirs, kind, proto)
    assert changed == there == is_fused
    assert nodes_of(made) == nodes_of(other)
    values = feed(proto, 3)
    before, after = (sardonyx.InferenceSession(one.SerializeToString()).run(None, values)[0] for one in (proto, made))
    np.testing.assert_allclose(after, before, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("opset", [7, 9])
def test_upsample_becomes_resize_of_the_same_values(opset):
    """ONNX Runtime's tool leaves the positions of pixels as Resize has them by default, which shifts the image."""
    scales = np.float32([1, 1, 2, 3])
    inputs, attributes = (["x"], {"scales": scales.tolist()}) if opset == 7 else (["x", "scales"], {})
    graph = helper.make_graph([N("Upsample", inputs, ["y"], "up", mode="nearest", **attributes)], "g",
                              [helper.make_tensor_value_info("x", 1, [1, 2, 3, 4])],
                              [helper.make_tensor_value_info("y", 1, [1, 2, 6, 12])],
                              [] if opset == 7 else [onnx.numpy_helper.from_array(scales, "scales")])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    made = ONNXModel(copy.deepcopy(proto))
    assert our_fusions.ReplaceUpsampleWithResize(made, opset).apply()
    made.set_opset_import("", 11)
    values = feed(proto, 3)
    before, after = (sardonyx.InferenceSession(one.SerializeToString()).run(None, values)[0]
                     for one in (proto, made.model))
    np.testing.assert_array_equal(after, before)


def unnamed():
    proto = gelu("keras")
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "n"
    proto.graph.node.extend([N("Relu", ["y"], ["z"])])
    proto.graph.output[0].name = "z"
    return proto


def image():
    w = Weights(5)
    return model([N("Conv", ["x", w("w", 4, 3, 3, 3)], ["c"], "conv"), N("Relu", ["c"], ["y"], "relu")],
                 {"x": [1, 3, 8, 8]}, ["y"], w.made)


@pytest.mark.parametrize(("make", "arguments"), [
    (unnamed, {}), (unnamed, {"dynamic_input_shapes": [("x", "2,3")]}), (image, {}),
    (normalization, {"fuse_layernorm": True, "dynamic_input_shapes": [("x", "2,8")]}),
    (lambda: normalization(opset=13), {"fuse_layernorm": True}),
    (image, {"inputs_to_make_channel_last": ["x"]}), (image, {"outputs_to_make_channel_last": ["y"]}),
    (image, {"inputs_to_make_channel_last": ["x"], "outputs_to_make_channel_last": ["y"],
             "exclude_initializer_from_input": True, "save_as_external_data": True, "all_tensors_to_one_file": True,
             "external_data_location": "w.bin", "external_data_size_threshold": 0})],
    ids=lambda one: one.__name__ if callable(one) else str(one))
def test_models_for_qnn(tmp_path, make, arguments):
    made = {}
    for name, library in (("mine", our_qnn), ("theirs", peer_qnn)):
        (tmp_path / name).mkdir()
        path = tmp_path / name / "m.onnx"
        changed = library.qnn_preprocess_model(make(), path, **arguments)
        assert changed == path.exists()
        made[name] = onnx.load(path) if changed else None
        assert (tmp_path / name / "w.bin").exists() == ("external_data_location" in arguments)
    if made["theirs"] is None:
        assert made["mine"] is None
        return
    kinds = [sorted(node.op_type for node in one.graph.node) for one in made.values()]
    assert kinds[0] == kinds[1] and all(node.name for node in made["mine"].graph.node)
    ends = [[str(value.type) for value in (*one.graph.input, *one.graph.output)] for one in made.values()]
    assert ends[0] == ends[1]
    values = feed(made["mine"], 3)
    results = [sardonyx.InferenceSession(one.SerializeToString()).run(None, values)[0] for one in made.values()]
    np.testing.assert_allclose(*results, rtol=1e-4, atol=1e-5)


def chain():
    """Sigmoid, Tanh, MatMul and LayerNormalization with weights, and a branch."""
    w = Weights(6)
    return model(
        [N("MatMul", ["x", w("w0", 8, 8)], ["a"], "m0"), N("Sigmoid", ["a"], ["s"], "sigmoid"),
         N("Add", ["s", "a"], ["t"], "add"), N("Tanh", ["t"], ["h"], "tanh"),
         N("LayerNormalization", ["h", w("g", 8), w("b", 8)], ["n"], "norm"),
         N("MatMul", ["n", w("w1", 8, 4)], ["y"], "m1"), N("Relu", ["a"], ["z"], "relu")],
        {"x": [2, 8]}, ["y", "z"], w.made)


QNN = [{}, {"per_channel": True}, {"activation_type": "QUInt16"}, {"activation_type": "QInt16", "weight_type": "QInt8"},
       {"activation_type": "QUInt16", "per_channel": True, "keep_removable_activations": True},
       {"activation_symmetric": True, "weight_symmetric": False, "stride": 2}, {"op_types_to_quantize": ["MatMul"]},
       {"nodes_to_exclude": ["m0", "tanh"], "calibrate_method": "Entropy"},
       {"init_overrides": {"s": [{"quant_type": "QUInt16"}]}}, {"init_overrides": {"t": [{"quant_type": "QUInt16"}]}},
       {"init_overrides": {"a": [{"quant_type": "QUInt16"}], "n": [{"quant_type": "QUInt16"}]}},
       {"init_overrides": {"h": [{"quant_type": "QInt16"}]}, "add_qtype_converts": False},
       {"init_overrides": {"w0": [{"quant_type": "QInt8", "symmetric": True}]}, "activation_type": "QUInt16"}]


def plain(value):
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.tolist()
    return getattr(value, "name", value)


@pytest.mark.parametrize("arguments", QNN, ids=str)
def test_configurations_for_qnn(arguments):
    made = []
    for library, package in ((our_qnn, ours), (peer_qnn, __import__("onnxruntime.quantization", fromlist=["x"]))):
        own = {name: of(package, value) for name, value in copy.deepcopy(arguments).items()}
        if "calibrate_method" in own:
            own["calibrate_method"] = package.CalibrationMethod[arguments["calibrate_method"]]
        for entries in own.get("init_overrides", {}).values():
            entries[0]["quant_type"] = package.QuantType[getattr(entries[0]["quant_type"], "name",
                                                                 entries[0]["quant_type"])]
        found = vars(library.get_qnn_qdq_config(chain(), None, **own))
        made.append({name: plain(value) for name, value in found.items()})
        made[-1]["op_types_to_quantize"] = sorted(made[-1]["op_types_to_quantize"])
    assert made[0] == made[1]


def test_a_model_quantized_for_qnn_is_theirs(tmp_path):
    paths = {}
    for name, library, package in (("ours", our_qnn, ours),
                                   ("peer", peer_qnn, __import__("onnxruntime.quantization", fromlist=["x"]))):
        config = library.get_qnn_qdq_config(
            chain(), Reader(chain(), 3), activation_type=package.QuantType.QUInt8,
            init_overrides={"t": [{"quant_type": package.QuantType.QUInt16}]})
        paths[name] = str(tmp_path / f"{name}.onnx")
        package.quantize(chain(), paths[name], config)
    assert_same(paths)


def test_overrides_that_contradict_each_other():
    kind = ours.QuantType.QUInt16
    overrides = {"s": [{"quant_type": kind}], "a": [{"quant_type": ours.QuantType.QInt16}]}
    with pytest.raises(ValueError, match="two types"):
        our_qnn.get_qnn_qdq_config(chain(), None, init_overrides=overrides)
    with pytest.raises(ValueError, match="no such tensor"):
        our_qnn.get_qnn_qdq_config(chain(), None, init_overrides={"nothing": [{"quant_type": kind}]})
    with pytest.raises(ValueError, match="expected an input of the model, found 'nothing'"):
        our_qnn.qnn_preprocess_model(mlp(), "m.onnx", inputs_to_make_channel_last=["nothing"])
    with pytest.raises(ValueError, match="rank of at least 3"):
        our_qnn.qnn_preprocess_model(mlp(), "m.onnx", inputs_to_make_channel_last=["x"])


def test_functions_of_fusions():
    proto = gelu("keras")
    mine, theirs = our_fusions.Fusion(ONNXModel(proto), "A", "B"), peer_fusions.Fusion(PeerModel(proto), "A", "B")
    by_name = {node.name: node for node in proto.graph.node}
    for one in (mine, theirs):
        assert one.create_unique_node_name() == "A_fused_B_0" and one.create_unique_node_name() == "A_fused_B_1"
        assert one.match_first_parent(by_name["a"], "Erf")[1] == 0
        assert one.match_parent(by_name["h"], "Mul", 1).name == "m" and one.match_parent(by_name["h"], "Mul", 5) is None
        found = []
        assert [node.name for node in one.match_parent_path(by_name["h"], ["Mul", "Add"], None, None, found)] == [
            "m", "a"]
        assert found == [1, 1]
        assert one.find_first_child_by_type(by_name["d"], "Mul").name == "m"
        assert one.find_first_child_by_type(by_name["d"], "Mul", recursive=False) is None
        assert one.input_index("a", by_name["m"]) == 1 and one.input_index("q", by_name["m"]) == -1
        assert one.is_constant_with_specified_rank("half", 0) and not one.is_constant_with_specified_rank("x", 2)
        with pytest.raises(NotImplementedError):
            one.fuse(None, {}, {})
    value = helper.make_tensor_value_info("v", TensorProto.FLOAT, [2, "n", None])
    assert mine.tensor_shape_to_list(value.type.tensor_type) == [2, "n", "?"]
