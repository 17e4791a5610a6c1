"""onnxruntime.tools: what the modules of sardonyx.tools make of models, beside what ONNX Runtime's make."""
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime.tools.convert_onnx_models_to_ort as peer_convert
import onnxruntime.tools.mobile_helpers.usability_checker as peer_mobile
import onnxruntime.tools.offline_tuning as peer_tuning
import onnxruntime.tools.onnx_model_utils as peer_models
import onnxruntime.tools.reduced_build_config_parser as peer_parser
import pytest
import sardonyx
import sardonyx.tools.convert_onnx_models_to_ort as our_convert
import sardonyx.tools.mobile_helpers.usability_checker as our_mobile
import sardonyx.tools.offline_tuning as our_tuning
import sardonyx.tools.onnx_model_utils as our_models
import sardonyx.tools.reduced_build_config_parser as our_parser
from onnx import TensorProto, helper, numpy_helper
from sardonyx import shape_protos
from sardonyx.tools import onnx_randomizer, onnxruntime_test, pytorch_export_helpers
from sardonyx.tools.file_utils import files_from_file_or_dir, path_match_suffix_ignore_case
from sardonyx.tools.ort_format_model.ort_flatbuffers_py import fbs
from sardonyx.tools.remove_initializer_from_input import remove_initializer_from_input

BUILD = pathlib.Path(os.environ.get("SDX_BUILD", "build/release")).resolve()
N = helper.make_node


def graph(nodes, inputs, outputs, arrays, name="g"):
    return helper.make_graph(nodes, name, [helper.make_tensor_value_info(key, *kind) for key, kind in inputs.items()],
                             [helper.make_tensor_value_info(key, *kind) for key, kind in outputs.items()],
                             [numpy_helper.from_array(array, key) for key, array in arrays.items()])


def network(batch="n"):
    """Convolutions, a cast, OneHot and a branch whose body reads values around it."""
    weights = np.random.default_rng(1).standard_normal((4, 3, 3, 3)).astype(np.float32)
    then, otherwise = (graph([N(kind, ["r"], [f"b_{kind}"], f"in_{kind}")], {}, {f"b_{kind}": (1, None)}, {})
                       for kind in ("Abs", "Neg"))
    nodes = [N("Conv", ["x", "w"], ["c"], "conv", pads=[1] * 4), N("Relu", ["c"], ["r"], "relu"),
             N("If", ["flag"], ["b"], "if", then_branch=then, else_branch=otherwise),
             N("Where", ["flag", "b", "r"], ["v"], "where"), N("Cast", ["v"], ["d"], "cast", to=TensorProto.INT64),
             N("Cast", ["d"], ["y"], "back", to=1), N("OneHot", ["i", "depth", "values"], ["z"], "onehot")]
    made = graph(nodes, {"x": (1, [batch, 3, 8, 8]), "flag": (TensorProto.BOOL, []), "i": (TensorProto.INT64, [2])},
                 {"y": (1, [batch, 4, 8, 8]), "z": (1, None)},
                 {"w": weights, "depth": np.int64(3), "values": np.float32([0, 1])})
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def copied(proto):
    return onnx.ModelProto.FromString(proto.SerializeToString())


def run(*arguments, code=0):
    done = subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(BUILD / "as_onnxruntime")})
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def types_of(proto):
    return [str(value) for value in (*proto.graph.input, *proto.graph.output)]


@pytest.mark.parametrize(("change", "arguments"), [
    ("make_dim_param_fixed", ("n", 5)), ("make_input_shape_fixed", ("x", [7, 3, 8, 8])),
    ("remove_invalid_dim_values", ())])
def test_shapes_become_fixed_as_there(change, arguments):
    made = []
    for library in (our_models, peer_models):
        proto = network()
        if change == "remove_invalid_dim_values":
            proto.graph.input[0].type.tensor_type.shape.dim[0].dim_value = -1
        getattr(library, change)(proto.graph, *arguments)
        if arguments:
            library.fix_output_shapes(proto)
        made.append(proto)
    assert types_of(made[0]) == types_of(made[1])
    assert our_models.is_fixed_size_tensor(made[0].graph.output[0]) == bool(arguments)


@pytest.mark.parametrize(("name", "shape", "message"), [
    ("q", [1], "'q'; its inputs are x, flag, i"), ("x", [1, 3], "expected 4 dimensions, found 2"),
    ("x", [1, 4, 8, 8], "dimension 1 is 3")])
def test_shapes_that_an_input_cannot_have(name, shape, message):
    with pytest.raises(ValueError, match=message):
        our_models.make_input_shape_fixed(network().graph, name, shape)


def test_links_between_nodes():
    proto = network()
    maps = [[{node.name: {one.name for one in others} for node, others in part.items()}
             for part in library.get_producer_consumer_maps(proto.graph)] for library in (our_models, peer_models)]
    assert maps[0] == maps[1] and maps[0][0]["if"] == {"relu"}
    del proto.graph.node[0]
    with pytest.raises(ValueError, match="gives c"):
        our_models.get_producer_consumer_maps(proto.graph)


def test_models_are_optimized_and_converted(tmp_path):
    path = tmp_path / "m.onnx"
    onnx.save(network(), path)
    for level in ("disable", "basic", "extended", "layout", "all"):
        assert int(our_models.get_optimization_level(level)) == int(peer_models.get_optimization_level(level).value)
    with pytest.raises(ValueError, match="found 'none'"):
        our_models.get_optimization_level("none")
    our_models.optimize_model(path, tmp_path / "o.onnx", use_external_initializers=True)
    assert (tmp_path / "o.onnx").exists()
    versions = [library.get_opsets_imported(library.update_onnx_opset(path, 19, tmp_path / "u.onnx"))
                for library in (our_models, peer_models)]
    assert versions[0] == versions[1] == {"ai.onnx": 19}
    known = [library.ModelProtoWithShapeInfo(path).model_with_shape_info for library in (our_models, peer_models)]
    named = [{value.name for value in one.graph.value_info} for one in known]
    assert named[0] >= named[1] and len(named[1]) > 3


def test_ort_format_and_its_configuration(tmp_path, monkeypatch, capsys):
    """The same files with the same lines, but for what sessions here fuse otherwise: at the lowest level."""
    monkeypatch.setenv("ORT_CONVERT_ONNX_MODELS_TO_ORT_OPTIMIZATION_LEVEL", "disable")
    files, lines = [], []
    for library in (our_convert, peer_convert):
        folder = tmp_path / library.__name__.partition(".")[0]
        folder.mkdir()
        onnx.save(network(), folder / "m.onnx")
        for target, reduced, platform in ((None, False, None), (folder / "out", True, "arm")):
            library.convert_onnx_models_to_ort(
                folder, target, list(library.OptimizationStyle), target_platform=platform,
                enable_type_reduction=reduced, save_optimized_onnx_model=reduced, allow_conversion_failures=True)
        files.append(sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()))
        lines.append([[line for line in path.read_text().splitlines() if not line.startswith("#")]
                      for path in sorted(folder.rglob("*.config"))])
    assert files[0] == files[1] and lines[0] == lines[1] and len(lines[0]) == 4
    assert "OneHot{\"custom\": [[\"int64_t\", \"float\", \"int64_t\"]]}" in str(lines[0]).replace("\\", "")
    session = sardonyx.InferenceSession(str(tmp_path / "sardonyx/m.disable.ort"))
    assert [value.name for value in session.get_outputs()] == ["y", "z"]
    with pytest.raises(ValueError, match="expected models"):
        our_convert.convert_onnx_models_to_ort(tmp_path / "sardonyx/out", None, [our_convert.OptimizationStyle.Fixed])
    with pytest.raises(FileNotFoundError):
        our_convert.convert_onnx_models_to_ort(tmp_path / "nothing")
    assert "1 of 1 models are converted" in capsys.readouterr().out
    parsed = [library.parse_config(str(tmp_path / "sardonyx/out/required_operators_and_types.disable.config"), True)
              for library in (our_parser, peer_parser)]
    assert parsed[0][0] == parsed[1][0]
    assert parsed[0][1].get_cpp_entries() == parsed[1][1].get_cpp_entries() != []
    for operator, kind in (("Cast", "float"), ("Cast", "int64_t"), ("OneHot", "int64_t_float_int64_t"),
                           ("Add", "int32_t"), ("OneHot", "int32_t_string_int32_t"), ("Unknown", "float")):
        needed = [one.is_typed_registration_needed("ai.onnx", operator, kind) for _, one in parsed]
        assert needed[0] == needed[1], (operator, kind)


CONFIGURATIONS = [
    'ai.onnx;11,12;Add,Cast{"inputs": {"0": ["float"]}, "outputs": {"0": ["int64_t"]}},Concat\n# comment\n\n',
    "!globally_allowed_types;float,int64_t\nai.onnx;9;Relu\ncom.microsoft;1;FusedConv",
    "!no_ops_specified_means_all_ops_are_required\n", "ai.onnx;1;Abs\nai.onnx;1;Neg"]


@pytest.mark.parametrize("text", CONFIGURATIONS)
@pytest.mark.parametrize("reduced", [False, True])
def test_configurations_are_read(tmp_path, text, reduced):
    path = tmp_path / "c.config"
    path.write_text(text)
    (mine, kept), (other, there) = (library.parse_config(str(path), reduced) for library in (our_parser, peer_parser))
    assert mine == other and (kept is None) == (there is None)
    assert kept is None or kept.get_cpp_entries() == there.get_cpp_entries()


@pytest.mark.parametrize(("text", "message"), [
    ("ai.onnx;1;Abs{\"inputs\": ", "as JSON"),
    ("!globally_allowed_types;float\n!globally_allowed_types;bool", "several"),
    ("!globally_allowed_types;float\nai.onnx;1;Abs{\"inputs\": {\"0\": [\"float\"]}}", "found both")])
def test_configurations_that_say_nothing(tmp_path, text, message):
    path = tmp_path / "c.config"
    path.write_text(text)
    with pytest.raises(RuntimeError, match=message):
        our_parser.parse_config(str(path), True)
    with pytest.raises(ValueError, match="found nothing at"):
        our_parser.parse_config(str(tmp_path / "nothing"))


def test_readers_and_writers_of_ort_format(tmp_path):
    """What flatbuffers' own builder writes with these functions is read again; so is a model, beside the peer's
    reader."""
    import flatbuffers
    import onnxruntime.tools.ort_format_model  # noqa: F401  (puts the peer's readers on the path)
    import ort_flatbuffers_py.fbs as theirs

    builder = flatbuffers.Builder(0)
    name = builder.CreateString("a")
    fbs.Attribute.StartIntsVector(builder, 2)
    builder.PrependInt64(-7), builder.PrependInt64(3)
    ints = builder.EndVector()
    fbs.Attribute.AttributeStart(builder)
    fbs.Attribute.AddName(builder, name), fbs.Attribute.AddInts(builder, ints)
    fbs.Attribute.AttributeAddF(builder, 0.5)
    builder.Finish(fbs.Attribute.End(builder))
    data = bytes(builder.Output())
    for library in (fbs, theirs):
        read = library.Attribute.Attribute.GetRootAs(data)
        values = read.Name(), read.F(), read.I(), read.Ints(1), read.IntsLength(), read.T()
        assert values == (b"a", 0.5, 0, -7, 2, None)
        assert read.IntsAsNumpy().tolist() == [3, -7] and read.FloatsIsNone() and read.Strings(0) == ""
    path = tmp_path / "m.ort"
    options = sardonyx.SessionOptions()
    options.optimized_model_filepath = str(path)
    onnx.save(network(), tmp_path / "m.onnx")
    sardonyx.InferenceSession(str(tmp_path / "m.onnx"), options)
    seen = []
    for library in (fbs, theirs):
        root = library.InferenceSession.InferenceSession.GetRootAsInferenceSession(bytearray(path.read_bytes()), 0)
        main = root.Model().Graph()
        edges = [main.NodeEdges(index) for index in range(main.NodeEdgesLength())]
        seen.append([root.OrtVersion(), root.Model().IrVersion(), [
            (node.OpType(), node.SinceVersion(), [node.Inputs(j) for j in range(node.InputsLength())])
            for node in map(main.Nodes, range(main.NodesLength()))], [
            (one.NodeIndex(), [one.InputEdges(j).SrcArgIndex() for j in range(one.InputEdgesLength())])
            for one in edges]])
    assert seen[0] == seen[1] and seen[0][2]
    assert fbs.InferenceSession.InferenceSession.InferenceSessionBufferHasIdentifier(path.read_bytes(), 0)
    assert fbs.EdgeEnd.EdgeEnd.SizeOf() == 12 and fbs.Tensor.Tensor.__module__.endswith("fbs.Tensor")


@pytest.mark.parametrize("batch", ["n", 2])
@pytest.mark.parametrize("fixed", [True, False])
def test_models_are_cut_into_parts_for_phones_as_there(batch, fixed):
    """CoreML's MLProgram apart, whose list names ArgMax only here."""
    proto = onnx.shape_inference.infer_shapes(network(batch))
    for check, arguments in (("check_nnapi_partitions", ()),
                             ("check_coreml_partitions", ("coreml_supported_neuralnetwork_ops.md",)),
                             ("check_coreml_partitions", ("coreml_supported_mlprogram_ops.md",))):
        found = [vars(getattr(library, check)(copied(proto), fixed, *arguments))
                 for library in (our_mobile, peer_mobile)]
        for key in set(found[1]) - {"supported_ops_checker", "supported_groups"}:
            assert found[0][key] == found[1][key], key
        groups = [[[node.name for node in group] for group in one["supported_groups"]] for one in found]
        assert groups[0] == groups[1]


@pytest.mark.parametrize("counts", [(10, 9, 1), (10, 6, 1), (10, 3, 1), (10, 9, 2), (10, 6, 2), (10, 9, 3), (4, 0, 0)])
def test_what_suits_a_phone(counts):
    made = [library.PartitioningInfo(*counts, None, [], set(), 0, 0, 0, set()) for library in (our_mobile, peer_mobile)]
    assert made[0].suitability().name == made[1].suitability().name


def test_results_of_tuning():
    parts = [[{"ep": "A", "validators": {"v": "1"}, "results": {"op": {"s": 1, "t": 2}}}],
             [{"ep": "A", "validators": {"v": "1"}, "results": {"op": {"s": 9, "u": 3}}},
              {"ep": "B", "validators": {"v": "1"}, "results": {}}]]
    merged = []
    for library in (our_tuning, peer_tuning):
        merger = library.Merger()
        for part in parts:
            merger.merge(part)
        merged.append(merger.get_merged())
    assert merged[0] == merged[1]
    proto = network()
    assert our_tuning.extract(proto) is None
    assert our_tuning.extract(our_tuning.embed(proto, merged[0])) == peer_tuning.extract(proto) == merged[0]
    with pytest.raises(ValueError, match="already"):
        our_tuning.embed(proto, merged[0])
    assert our_tuning.extract(our_tuning.embed(proto, [], True)) == []


def test_small_tools(tmp_path, capsys):
    proto = network("n")
    proto.graph.input.append(helper.make_tensor_value_info("w", 1, [4, 3, 3, 3]))
    before = numpy_helper.to_array(proto.graph.initializer[0])
    onnx_randomizer.graph_iterator(proto, onnx_randomizer.randomize_graph_initializer)
    after = numpy_helper.to_array(proto.graph.initializer[0])
    assert not np.array_equal(before, after) and before.min() <= after.min() and after.max() <= before.max()
    assert numpy_helper.to_array(proto.graph.initializer[1]) == 3  # small ones stay
    onnx.save(proto, tmp_path / "m.onnx")
    done, feeds, outputs = onnxruntime_test.run_model(str(tmp_path / "m.onnx"), 2, symbolic_dims={"n": "5"})
    assert done == 0 and feeds["x"].shape == (5, 3, 8, 8) and feeds["w"].shape == (4, 3, 3, 3) and len(outputs) == 2
    assert "iterations: 2" in capsys.readouterr().out
    assert remove_initializer_from_input(proto) and not remove_initializer_from_input(proto)
    assert [value.name for value in proto.graph.input] == ["x", "flag", "i"]
    proto.ir_version = 3
    assert not remove_initializer_from_input(proto) and "below 4" in capsys.readouterr().out
    assert path_match_suffix_ignore_case(tmp_path / "A.ONNX", ".onnx")
    assert files_from_file_or_dir(tmp_path, lambda path: path.suffix == ".onnx") == [tmp_path / "m.onnx"]

    class Module:
        def forward(self, a, *rest, b=None, **others):
            pass
    names, values = pytorch_export_helpers.infer_input_info(Module(), [1, 2], {"k": np.zeros(1)}, b=np.ones(1), c=None)
    assert names == ["a_0", "a_1", "rest_0_k", "b"] and len(values) == 3


def test_shapes_in_protos():
    import onnxruntime.tools.symbolic_shape_infer as peer
    values = [*network().graph.input, helper.make_tensor_sequence_value_info("s", 1, [2, None]),
              helper.make_tensor_value_info("u", 1, None), onnx.ValueInfoProto(name="w")]
    for value in values:
        assert shape_protos.get_shape_from_value_info(value) == peer.get_shape_from_value_info(value)
        if value.type.WhichOneof("value"):
            kinds = [one.get_elem_type_from_type_proto(value.type) for one in (shape_protos, peer)]
            assert kinds[0] == kinds[1] == 1 or value.name in ("flag", "i")
    symbols = [3, np.int64(4), peer.sympy.Symbol("n") * 2, peer.sympy.Integer(5), None]
    assert shape_protos.get_shape_from_sympy_shape(symbols) == peer.get_shape_from_sympy_shape(symbols)
    assert shape_protos.sympy_reduce_product(symbols[:3]) == peer.sympy_reduce_product(symbols[:3])
    assert shape_protos.handle_negative_axis(-1, 3) == 2
    for one in ([7], np.array([7]), 7):
        assert shape_protos.as_scalar(one) == peer.as_scalar(one)
        assert shape_protos.as_list(one, True) == peer.as_list(one, True)
    assert shape_protos.get_opset(network()) == 17 and shape_protos.get_opset(network(), "q") is None


def test_commands(tmp_path):
    source, target = tmp_path / "m.onnx", tmp_path / "o.onnx"
    onnx.save(network(), source)
    tool = "onnxruntime.tools."
    run("-m", tool + "make_dynamic_shape_fixed", "--dim_param", "n", "--dim_value", 4, source, target)
    assert onnx.load(target).graph.output[0].type.tensor_type.shape.dim[0].dim_value == 4
    assert "either" in run("-m", tool + "make_dynamic_shape_fixed", source, target, code=2)
    run("-m", tool + "update_onnx_opset", "--opset", 18, source, target)
    assert onnx.load(target).opset_import[0].version == 18
    run("-m", tool + "optimize_onnx_model", "--opt_level", "disable", source, target)
    assert "NNAPI" in run("-m", tool + "check_onnx_model_mobile_usability", source)
    run("-m", tool + "convert_onnx_models_to_ort", source, "--optimization_style", "Fixed")
    assert (tmp_path / "m.ort").exists() and (tmp_path / "m.required_operators.config").exists()
    assert "avg latency" in run("-m", tool + "onnxruntime_test", source, 1)
    assert "stays as it is" in run("-m", tool + "qdq_helpers.optimize_qdq_model", source, target)
    (tmp_path / "t.json").write_text(json.dumps([{"ep": "A", "validators": {}, "results": {}}]))
    run("-m", tool + "offline_tuning", "embed", target, source, tmp_path / "t.json")
    assert "'ep': 'A'" in run("-m", tool + "offline_tuning", "pprint", target)
    assert "holds no tuning results" in run("-m", tool + "offline_tuning", "extract", source, target, code=1)
