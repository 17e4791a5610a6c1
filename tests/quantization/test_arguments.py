"""Arguments that no other file here tries with a value other than the default: both tools make the same of them. The
last test walks all arguments of the public functions and finds those that no test names."""
import importlib
import inspect
import json
import pathlib
import re
import sys
import types

import numpy as np
import onnx
import onnxruntime.quantization as peer
import pytest
import sardonyx.quantization as ours
from quantized_models import Reader, Weights, assert_same, by_both, cnn, contents, feed, mlp, model

BOTH = (ours, peer)


def part(library, name):
    return importlib.import_module(f"{library.__name__}.{name}")


@pytest.mark.parametrize("quant_format", ["QDQ", "QOperator"])
def test_providers_of_calibration(tmp_path, quant_format):
    onnx.save(mlp(), tmp_path / "f.onnx")
    assert_same(by_both("static", str(tmp_path / "f.onnx"), tmp_path, quant_format=quant_format,
                        calibration_providers=["CPUExecutionProvider"]))
    with pytest.raises(Exception, match="NoSuchProvider"):  # noqa: B017, PT011
        ours.quantize_static(str(tmp_path / "f.onnx"), str(tmp_path / "q.onnx"), Reader(mlp()),
                             calibration_providers=["NoSuchProvider"])
    configs = [library.get_qdq_config(str(tmp_path / "f.onnx"), Reader(mlp()),
                                      calibration_providers=["CPUExecutionProvider"]) for library in BOTH]
    assert [one.calibration_providers for one in configs] == [["CPUExecutionProvider"]] * 2
    configs = [library.StaticQuantConfig(Reader(mlp()), calibration_providers=["CPUExecutionProvider"])
               for library in BOTH]
    assert [one.calibration_providers for one in configs] == [["CPUExecutionProvider"]] * 2


def overrides(library):
    kind = library.QuantType
    return part(library, "tensor_quant_overrides").TensorQuantOverridesHelper({
        "x": [{"quant_type": kind.QUInt16, "symmetric": False,
               "convert": {"quant_type": kind.QUInt8, "recv_nodes": {"reader"}}}],
        "w": [{"axis": 0, "quant_type": kind.QInt4, "rmin": -1.0}, {"rmin": -2.0}],
        "s": [{"scale": np.float32(0.5), "zero_point": np.uint8(3)}], "plain": [{"reduce_range": True}]})


QUESTIONS = {
    "has_per_tensor_overrides": [("x",), ("w",), ("absent",)], "has_per_channel_overrides": [("x",), ("w",), ("y",)],
    "overrides_scale_zp": [("s",), ("x",), ("absent",)],
    "get_per_tensor_overrides": [("plain",), ("absent", {"reduce_range": False}), ("absent",), ("w",)],
    "get_per_channel_overrides": [("w",), ("absent", [{"axis": 1}]), ("absent",), ("x",)], "empty": [()],
    "pprint_str": [(), (2,)]}


@pytest.mark.parametrize("name", QUESTIONS)
def test_questions_to_overrides(name):
    for arguments in QUESTIONS[name]:
        found = []
        for library in BOTH:
            try:
                answer = getattr(overrides(library), name)(*arguments)
                answer = bool(answer) if name.startswith(("has", "over")) else answer  # None is no, too
                found.append(str(answer).replace(library.__name__, ""))
            except ValueError:
                found.append("ValueError")
        assert found[0] == found[1], arguments


def described(info):
    return tuple(getattr(getattr(info, field), "name", getattr(info, field))
                 for field in ("quant_type", "symmetric", "reduce_range", "axis"))


@pytest.mark.parametrize("name", ["x", "w", "plain", "absent"])
@pytest.mark.parametrize("defaults", [{}, {"default_symmetric": True}], ids=str)
def test_types_at_both_ends(name, defaults):
    found = []
    for library in BOTH:
        helper, kind = overrides(library), library.QuantType.QInt8
        found.append((described(helper.get_node_output_qtype_info(name, kind, **defaults)),
                      described(helper.get_node_input_qtype_info(name, "reader", kind, **defaults)),
                      described(helper.get_node_input_qtype_info(name, "other", kind, default_symmetric=False,
                                                                 default_reduce_range=True)),
                      sorted(one.name for one in helper.get_quant_types())))
    assert found[0] == found[1]


@pytest.mark.parametrize(("name", "arguments"), [
    ("x", {"new_vals": {"symmetric": True}}), ("x", {"new_vals": {"symmetric": True}, "overwrite": False}),
    ("w", {"new_vals": {"rmin": -9.0}, "channels": [1]}), ("w", {"new_vals": {"rmin": -9.0}, "overwrite": False}),
    ("new", {"new_vals": {"reduce_range": True}})], ids=str)
def test_overrides_are_changed(name, arguments):
    found = []
    for library in BOTH:
        helper = overrides(library)
        changed = helper.update_tensor_overrides(name, **arguments)
        found.append((changed, str(helper.get_dict()[name]).replace(library.__name__, "")))
    assert found[0] == found[1]


def two_products():
    w = Weights(5)
    return model([onnx.helper.make_node("MatMul", ["x", w("w0", 64, 128)], ["a"], "product"),
                  onnx.helper.make_node("Tanh", ["a"], ["b"], "tanh"),
                  onnx.helper.make_node("MatMul", ["b", w("w1", 128, 64)], ["y"], "second")],
                 {"x": [4, 64]}, ["y"], w.made, 21)


@pytest.mark.parametrize("arguments", [
    {"num_bits": 8}, {"group_size": 16}, {"scheme": "sym"}, {"ratios": {"product": 0.8}}, {"accuracy_level": 4},
    {"algorithm": "k_quant"}, {"weight_config": {"second": {"bits": 8, "group_size": 16, "scheme": "sym"}}},
    {"weight_config": {"second": "fp32"}}], ids=str)
def test_rounding_as_in_neural_compressor(arguments):
    found = []
    for library in BOTH:
        tool = part(library, "neural_compressor.weight_only")
        made = tool.rtn_quantize(two_products(), **{"algorithm": "rtn", **arguments})
        made = getattr(made, "model", made)
        nodes = [(node.op_type, str(sorted((one.name, one.i) for one in node.attribute))) for node in made.graph.node]
        found.append((nodes, {one.name: onnx.numpy_helper.to_array(one) for one in made.graph.initializer}))
    assert found[0][0] == found[1][0] and set(found[0][1]) == set(found[1][1])
    exact = arguments.get("algorithm") != "k_quant"  # there the error is measured with another zero point
    for name, other in found[1][1].items():
        assert found[0][1][name].shape == other.shape and found[0][1][name].dtype == other.dtype
        if exact:
            np.testing.assert_allclose(found[0][1][name].astype(np.float64), other.astype(np.float64), 1e-6, 0)


class Batches(list):
    batch_size = 1


@pytest.mark.parametrize("arguments", [{"num_bits": 3}, {"group_size": 16}, {"n_samples": 2}, {"blocksize": 32},
                                       {"percdamp": 0.1}, {"accuracy_level": 4}, {"mse": True},
                                       {"scheme": "sym"}, {"weight_config": {"product": "fp32"}},
                                       {"perchannel": False}, {"actorder": True},
                                       {"providers": ["CPUExecutionProvider"]}], ids=str)
def test_gptq_as_in_neural_compressor(monkeypatch, arguments):
    """The same nodes and shapes; ours errs less (test_gptq)."""
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(Tensor=()))
    found = []
    for library in BOTH:
        tool = part(library, "neural_compressor.weight_only")
        made = tool.gptq_quantize(two_products(), Batches((feed(two_products(), seed), 0) for seed in range(4)),
                                  **arguments)
        made = getattr(made, "model", made)
        found.append(([node.op_type for node in made.graph.node],
                      {one.name: (one.data_type, tuple(one.dims)) for one in made.graph.initializer}))
    assert found[0] == found[1]


def test_searching_ranges_of_gptq_errs_less():
    """`mse` chooses among narrower ranges: heavy-tailed weights err less by its own measure."""
    random = np.random.default_rng(0)
    weight, x = random.standard_t(3, (64, 24)).astype(np.float32), random.standard_normal((400, 64))
    tool = part(ours, "neural_compressor.weight_only")
    errors = [np.square(x @ (tool.gptq(weight, x.T @ x, mse=mse, num_bits=3) - weight)).mean()
              for mse in (False, True)]
    assert errors[1] < errors[0]


@pytest.mark.parametrize("arguments", [{"qmin": 1, "qmax": 200}, {"symmetric": True}, {"min_real_range": 3.0}], ids=str)
@pytest.mark.parametrize("ends", [(-1.0, 2.0), (0.0, 2.0), (-3.0, 0.0), (-0.01, 5.0)])
def test_zero_points_that_snap_to_other_numbers(arguments, ends):
    name = "snap_zero_point_to_uint8" if "symmetric" not in arguments else "compute_scale_zp"
    if name == "compute_scale_zp":
        arguments = {"qmin": np.array(0, np.uint8), "qmax": np.array(255, np.uint8), **arguments}
    found = [getattr(part(library, "quant_utils"), name)(*map(np.float32, ends), **arguments) for library in BOTH]
    np.testing.assert_array_equal(np.asarray(found[0], np.float64), np.asarray(found[1], np.float64))


@pytest.mark.parametrize("eps", [1e-4, 0.01])
def test_smooth_distributions(eps):
    p = np.array([0, 1, 0, 5, 2, 0], np.float32)
    found = [part(library, "quant_utils").smooth_distribution(p, eps=eps) for library in BOTH]
    np.testing.assert_allclose(*found, rtol=1e-6)


def test_losses_by_another_measure(tmp_path):
    """`err_func` of both functions, and the options of the session."""
    onnx.save(mlp(), tmp_path / "f.onnx")
    ours.quantize_static(tmp_path / "f.onnx", tmp_path / "q.onnx", Reader(mlp()))
    found = []
    for library in BOTH:
        tool = part(library, "qdq_loss_debug")
        runtime = importlib.import_module(library.__name__.partition(".")[0])
        options = runtime.SessionOptions()
        options.intra_op_num_threads = 1
        values = {}
        for name in ("f", "q"):
            path = str(tmp_path / f"{name}.{runtime.__name__}.onnx")
            tool.modify_model_output_intermediate_tensors(str(tmp_path / f"{name}.onnx"), path,
                                                          op_types_for_saving=["MatMul", "Gemm", "DequantizeLinear"])
            values[name] = tool.collect_activations(path, Reader(mlp()), session_options=options,
                                                    execution_providers=["CPUExecutionProvider"])
        matched = tool.create_activation_matching(values["q"], float_activations=values["f"])
        matched = {name: entry for name, entry in matched.items() if entry.get("float") is not None}

        def largest(one, other):
            return max(float(np.abs(np.asarray(a, np.float64) - b).max()) for a, b in zip(one, other, strict=True))
        found.append(tool.compute_activation_error(matched, err_func=largest))
        weights = tool.create_weight_matching(str(tmp_path / "f.onnx"), str(tmp_path / "q.onnx"))
        found.append({name: 1.0 for name in weights})
        if library is ours:
            errors = tool.compute_weight_error(weights, err_func=lambda one, other: float(np.abs(one - other).max()))
            assert 0 < max(errors.values()) < 0.1
    assert set(found[0]) == set(found[2]) and found[1] == found[3] and len(found[0]) >= 3
    for name, errors in found[2].items():
        for key, value in errors.items():
            assert found[0][name][key] == pytest.approx(value, abs=1e-4)


def test_largest_integer_of_shape_inference(tmp_path):
    """`int_max` bounds what Slice's ends count as; both write models of the same shapes."""
    made = model([onnx.helper.make_node("Slice", ["x", "start", "end"], ["s"], "slice"),
                  onnx.helper.make_node("Relu", ["s"], ["y"], "relu")], {"x": ["n", 8]}, ["y"],
                 [onnx.numpy_helper.from_array(np.int64(values), name) for name, values in
                  (("start", [0]), ("end", [1000]))])
    onnx.save(made, tmp_path / "f.onnx")
    shapes = []
    for library in BOTH:
        path = tmp_path / f"{library.__name__}.onnx"
        library.quant_pre_process(str(tmp_path / "f.onnx"), str(path), int_max=100, skip_optimization=True)
        values = onnx.load(path).graph
        shapes.append([[dim.dim_value or "?" for dim in value.type.tensor_type.shape.dim] for value in values.output])
    assert shapes[0] == shapes[1]


@pytest.mark.parametrize("arguments", [{"ratio": 0.7}, {"ratio": 0.7, "scheme": "sym"}, {"dtype": "uint"},
                                       {"num_bits": 8, "group_size": 16}], ids=str)
def test_tensors_in_groups(arguments):
    data = np.random.default_rng(0).standard_normal((6, 64)).astype(np.float32)
    for name in ("quant_tensor", "qdq_tensor"):
        found = [getattr(part(library, "neural_compressor.weight_only"), name)(data, **arguments) for library in BOTH]
        for mine, other in zip(*([one] if name[0] == "q" and name[1] == "d" else one for one in found), strict=True):
            np.testing.assert_allclose(np.asarray(mine, np.float64), np.asarray(other, np.float64), 1e-6, 1e-7)


def test_names_of_quantized_weights():
    tensor = onnx.numpy_helper.from_array(np.float32([[1, -2], [0.5, 4]]), "w")
    found = []
    for library in BOTH:
        tool = part(library, "quant_utils")
        made = tool.quantize_onnx_initializer(tensor, onnx.TensorProto.INT8, np.array(0, np.int8), np.float32(0.04),
                                              quant_weight_name="named")
        found.append((made.name, onnx.numpy_helper.to_array(made).tolist()))
    assert found[0] == found[1] and found[0][0] == "named"


def test_preparing_aloud(tmp_path):
    onnx.save(mlp(), tmp_path / "f.onnx")
    for library in BOTH:
        library.quant_pre_process(str(tmp_path / "f.onnx"), str(tmp_path / f"{library.__name__}.onnx"), verbose=3,
                                  skip_optimization=True)
    assert contents(str(tmp_path / f"{ours.__name__}.onnx"))[0] == contents(str(tmp_path / f"{peer.__name__}.onnx"))[0]


def test_weights_beside_models_for_qnn(tmp_path):
    """Fuses Gelu's parts, so that the model is written; its weights lie in files, those of attributes as well."""
    nodes = [onnx.helper.make_node("Constant", [], ["half"], value=onnx.numpy_helper.from_array(np.float32(2**0.5))),
             onnx.helper.make_node("Div", ["x", "half"], ["a"]), onnx.helper.make_node("Erf", ["a"], ["b"]),
             onnx.helper.make_node("Add", ["b", "one"], ["c"]), onnx.helper.make_node("Mul", ["x", "c"], ["d"]),
             onnx.helper.make_node("Mul", ["d", "part"], ["e"]), onnx.helper.make_node("Add", ["e", "w"], ["y"])]
    made = model(nodes, {"x": [4, 512]}, ["y"], [
        onnx.numpy_helper.from_array(np.asarray(value, np.float32), name)
        for name, value in (("one", 1), ("part", 0.5), ("w", np.ones(512)))], 20)
    onnx.save(made, tmp_path / "f.onnx")
    found = []
    for library in BOTH:
        folder = tmp_path / library.__name__
        folder.mkdir()
        path = folder / "q.onnx"
        changed = part(library, "execution_providers.qnn").qnn_preprocess_model(
            str(tmp_path / "f.onnx"), str(path), save_as_external_data=True, external_data_convert_attribute=True,
            external_data_size_threshold=0)
        found.append((changed, [node.op_type for node in onnx.load(path).graph.node],
                      sum(file.stat().st_size for file in folder.iterdir() if file != path) >= 4 * 512))
    assert found[0] == found[1] and found[0][2]


def test_neighbours_by_given_tables():
    found = []
    for library in BOTH:
        one = part(library, "onnx_model").ONNXModel(cnn())
        readers, makers = one.input_name_to_nodes(), one.output_name_to_node()
        node = next(node for node in one.nodes() if node.name == "add")
        found.append(([node.name for node in one.get_children(node, input_name_to_nodes=readers)],
                      [node.name for node in one.get_parents(node, output_name_to_node=makers)],
                      one.get_parent(node, 1, output_name_to_node=makers).name))
    assert found[0] == found[1] and found[0][0]


def test_the_weights_of_models_that_are_read_lie_apart(tmp_path):
    onnx.save(mlp(), tmp_path / "f.onnx")
    counts = []
    for library in BOTH:
        tool, path = part(library, "quant_utils"), tmp_path / f"{library.__name__}.onnx"
        made = tool.load_model_with_shape_infer(tmp_path / "f.onnx")
        onnx.save(tool.save_and_reload_model_with_shape_infer(made), path)
        counts.append((contents(str(path))[0], [value.name for value in made.graph.value_info]))
    assert counts[0][0] == counts[1][0] and set(counts[0][1]) == set(counts[1][1])
    assert feed(mlp())


# Arguments of a class's own, or of what is not called by programs.
NOT_TRIED = {
    "method": "each histogram calibrator has its own; create_calibrator chooses",
    "data": "of QuantizedInitializer, a record", "quantized_data": "of QuantizedInitializer, a record",
    "node_type": "of QuantizedValue, a record", "node_qtype": "of QuantizedValue", "scale_type": "of QuantizedValue",
    "dir": "tried by position in test_loss_debug.py", "dataset_name": "AWQ needs modelopt's data",
    "cache_dir": "AWQ needs modelopt's data", "input_model": "its place is tried by position",
    "output_model_path": "its place is tried by position", "default_val": "tried by position above",
    "indent": "tried by position above", "base": "tried by position in test_calibrate.py"}
MODULES = ("", ".calibrate", ".quantize", ".quant_utils", ".tensor_quant_overrides", ".qdq_loss_debug", ".preprocess",
           ".matmul_nbits_quantizer", ".matmul_bnb4_quantizer", ".shape_inference", ".neural_compressor.weight_only",
           ".static_quantize_runner", ".execution_providers.qnn")


def public_arguments():
    """(function, argument) of what ONNX Runtime's modules have, too, where the argument has a default."""
    for module in MODULES:
        mine = importlib.import_module(f"sardonyx.quantization{module}")
        theirs = importlib.import_module(f"onnxruntime.quantization{module}")
        for name, value in vars(mine).items():
            if name.startswith("_") or not hasattr(theirs, name) or not callable(value):
                continue
            if not getattr(value, "__module__", "").startswith("sardonyx.quantization"):
                continue
            if inspect.isclass(value) and issubclass(value, json.JSONEncoder):  # its arguments are json's
                continue
            calls = [value] if inspect.isfunction(value) else [value.__init__]
            for call in calls:
                if inspect.isfunction(call):
                    for argument in inspect.signature(call).parameters.values():
                        if argument.default is not inspect.Parameter.empty:
                            yield name, argument.name


def test_every_argument_is_tried():
    text = "\n".join(path.read_text() for path in pathlib.Path(__file__).parent.glob("*.py"))
    missing = {f"{name}, {argument}" for name, argument in public_arguments() if argument not in NOT_TRIED
               and not re.search(rf"\b{argument}=|[\"']{argument}[\"']:", text)}
    assert sorted(missing) == []


def extra_options():
    """The keys that ONNX Runtime's modules read from extra_options."""
    folder = pathlib.Path(inspect.getfile(importlib.import_module("onnxruntime.quantization"))).parent
    patterns = (r'extra_options\.get\(\s*"(\w+)"', r'"([A-Z]\w+)" (?:not )?in (?:self\.)?extra_options',
                r'extra_options\["([A-Z]\w+)"\]', r'\("(Calib\w+)"')
    texts = [path.read_text() for path in folder.rglob("*.py")]
    return {key for text in texts for pattern in patterns for key in re.findall(pattern, text)}


def test_every_extra_option_is_tried():
    text, keys = "\n".join(path.read_text() for path in pathlib.Path(__file__).parent.glob("*.py")), extra_options()
    assert len(keys) >= 25
    assert [key for key in sorted(keys) if not re.search(rf'"{key}": ', text)] == []
