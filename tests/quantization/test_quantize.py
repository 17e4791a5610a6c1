"""quantize_dynamic and quantize_static make what ONNX Runtime's functions make of the same model, data and arguments,
and what they make runs in both."""
import importlib
import inspect
import json

import numpy as np
import onnx
import onnxruntime
import onnxruntime.quantization as peer
import pytest
import sardonyx
import sardonyx.quantization as ours
from onnx import TensorProto, helper
from quantized_models import (
    N,
    Reader,
    Weights,
    assert_same,
    branches,
    by_both,
    cnn,
    contents,
    feed,
    fused,
    mlp,
    model,
    of,
    recurrent,
    run_both,
    transformer,
)
from sardonyx.quantization import histograms
from sardonyx.quantization.calibrate import create_calibrator

MODELS = {"mlp": mlp, "cnn": cnn, "recurrent": recurrent, "transformer": transformer, "branches": branches}


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    folder = tmp_path_factory.mktemp("floats")
    for name, make in MODELS.items():
        onnx.save(make(), folder / f"{name}.onnx")
    return folder


def check(sources, name, how, folder, **arguments):
    source = str(sources / f"{name}.onnx")
    paths = by_both(how, source, folder, **arguments)
    assert_same(paths)
    agree(source, paths["ours"])


def agree(source, path):
    """Both runtimes give nearly the floats of the model that it was made of. A step of one of the scales is allowed.
    With operators on integers ONNX Runtime has to run only: its sums saturate on processors without VNNI."""
    values = feed(onnx.load(source), 5)
    on_integers = any(kind.endswith("Integer") or kind == "DynamicQuantizeLSTM" or
                      (kind.startswith("Q") and kind != "QuantizeLinear") for _, kind in contents(path)[0])
    floats = sardonyx.InferenceSession(source).run(None, values)
    for exact, stock, mine in zip(floats, *run_both(path, values), strict=True):
        if exact.dtype.kind == "f":
            spread = np.abs(exact.astype(np.float64)).max()
            assert mine.shape == stock.shape
            assert on_integers or np.abs(mine - stock.astype(np.float64)).max() <= 0.1 * spread + 1e-5
            assert np.abs(mine - exact.astype(np.float64)).mean() <= 0.2 * spread


@pytest.mark.parametrize("arguments", [
    {}, {"per_channel": True}, {"reduce_range": True}, {"per_channel": True, "reduce_range": True},
    {"weight_type": "QUInt8"}, {"op_types_to_quantize": ["MatMul", "Conv"]}, {"op_types_to_quantize": ["Gather"]},
    {"nodes_to_quantize": ["product", "conv0", "lstm", "head"]},
    {"nodes_to_exclude": ["product", "conv1", "attention"]},
    {"extra_options": {"WeightSymmetric": False}}, {"extra_options": {"MatMulConstBOnly": False}},
    {"extra_options": {"MinimumRealRange": 2.0}}, {"use_external_data_format": True}], ids=str)
@pytest.mark.parametrize("name", ["mlp", "cnn", "recurrent", "transformer"])
def test_ranges_that_are_measured_in_each_run(sources, tmp_path, name, arguments):
    check(sources, name, "dynamic", tmp_path, **arguments)


@pytest.mark.parametrize("per_channel", [False, True])
def test_bodies_of_control_flow(sources, tmp_path, per_channel):
    check(sources, "branches", "dynamic", tmp_path, per_channel=per_channel)
    paths = by_both("dynamic", str(sources / "branches.onnx"), tmp_path, per_channel=per_channel,
                    extra_options={"EnableSubgraph": True})
    counts = contents(paths["ours"])[0]
    assert counts["", "MatMulInteger"] == 3 and counts["", "MatMul"] == 0
    assert counts["", "MatMulInteger"] == contents(paths["peer"])[0]["", "MatMulInteger"]
    agree(str(sources / "branches.onnx"), paths["ours"])


def test_ranges_of_half_precision_and_of_old_models(tmp_path):
    """ONNX Runtime's tool writes DynamicQuantizeLinear for float16, which the operator does not take, and ranges
    without zero for opset 10."""
    for name, made in {"half": mlp(19, np.float16), "ten": mlp(10)}.items():
        source, result = str(tmp_path / f"{name}.onnx"), str(tmp_path / f"{name}_quantized.onnx")
        onnx.save(made, source)
        ours.quantize_dynamic(source, result)
        counts = contents(result)[0]
        found = [counts["", kind] for kind in ("MatMulInteger", "QuantizeLinear", "DynamicQuantizeLinear")]
        assert found == ([4, 0, 2] if name == "half" else [4, 2, 0])
        values = feed(made, 5)
        exact = sardonyx.InferenceSession(source).run(None, values)[0]
        np.testing.assert_allclose(sardonyx.InferenceSession(result).run(None, values)[0], exact, atol=0.02)


FORMS = [
    {}, {"per_channel": True}, {"activation_type": "QUInt8"}, {"activation_type": "QUInt8", "weight_type": "QUInt8"},
    {"reduce_range": True}, {"per_channel": True, "reduce_range": True, "activation_type": "QUInt8"},
    {"extra_options": {"ActivationSymmetric": True}}, {"extra_options": {"WeightSymmetric": False}},
    {"extra_options": {"ForceQuantizeNoInputCheck": True}}, {"extra_options": {"MinimumRealRange": 5.0}},
    {"extra_options": {"MatMulConstBOnly": True}},
    {"activation_type": "QUInt8", "extra_options": {"extra.Sigmoid.nnapi": True}},
    {"nodes_to_exclude": ["conv0", "gemm", "head"]}, {"nodes_to_quantize": ["conv0", "gemm", "product", "head"]},
    {"op_types_to_quantize": ["Conv", "MatMul"]}, {"extra_options": {"CalibMovingAverage": True}},
    {"activation_type": "QUInt8", "extra_options": {"ActivationRestrictedAsymmetric": True}},
    {"extra_options": {"CalibMovingAverage": True, "CalibMovingAverageConstant": 0.3}},
    {"extra_options": {"CalibStridedMinMax": 3}},
    {"use_external_data_format": True}]


@pytest.mark.parametrize("arguments", FORMS, ids=str)
@pytest.mark.parametrize("quant_format", ["QDQ", "QOperator"])
@pytest.mark.parametrize("name", ["mlp", "cnn"])
def test_ranges_from_data(sources, tmp_path, name, quant_format, arguments):
    check(sources, name, "static", tmp_path, quant_format=quant_format, **arguments)


@pytest.mark.parametrize("quant_format", ["QDQ", "QOperator"])
@pytest.mark.parametrize("name", ["mlp", "cnn"])
def test_ranges_made_symmetric_by_calibration(sources, tmp_path, name, quant_format):
    """The zero point of such a range lies between two integers: the last digit of the range decides."""
    source = str(sources / f"{name}.onnx")
    paths = by_both("static", source, tmp_path, quant_format=quant_format,
                    extra_options={"CalibTensorRangeSymmetric": True})
    assert_same(paths, steps=1)
    agree(source, paths["ours"])


@pytest.mark.parametrize("most", [1, 2, 3])
def test_ranges_of_few_runs_at_a_time(sources, tmp_path, most):
    """ONNX Runtime's tool forgets the runs before the last ones."""
    for name, options in (("all", {}), ("few", {"CalibMaxIntermediateOutputs": most})):
        ours.quantize_static(str(sources / "cnn.onnx"), str(tmp_path / f"{name}.onnx"), Reader(cnn()),
                             extra_options=options)
    assert_same({"ours": str(tmp_path / "few.onnx"), "peer": str(tmp_path / "all.onnx")}, rtol=0)


@pytest.mark.parametrize(("how", "arguments"), [
    ("dynamic", {}), ("static", {"quant_format": "QDQ"}),
    ("static", {"quant_format": "QOperator", "activation_type": "QUInt8"})], ids=str)
def test_types_that_do_not_follow_from_the_model(tmp_path, how, arguments):
    """Of what a custom operator makes: a product of it is quantized where the type to take is given."""
    w, options = Weights(3), {"extra_options": {"DefaultTensorType": TensorProto.FLOAT}}
    proto = model([N("MatMul", ["x", w("a", 16, 16)], ["p"], "first"), N("Gelu", ["p"], ["g"], "gelu", domain="my"),
                   N("MatMul", ["g", w("b", 16, 8)], ["y"], "last")], {"x": [4, 16]}, ["y"], w.made)
    proto.opset_import.append(helper.make_opsetid("my", 1))
    proto.functions.append(helper.make_function(
        "my", "Gelu", ["v"], ["r"], [N("Relu", ["v"], ["r"])], [helper.make_opsetid("", 17)]))
    source = str(tmp_path / "f.onnx")
    del proto.graph.value_info[:]
    onnx.save(proto, source)
    assert_same(by_both(how, source, tmp_path, **arguments, **options))


@pytest.mark.parametrize("quant_format", ["QDQ", "QOperator"])
def test_beta_of_gemm(tmp_path, quant_format):
    """ONNX Runtime's tool divides the bias by beta where it has to multiply."""
    made = mlp()
    made.graph.node[3].attribute.append(helper.make_attribute("beta", 0.5))
    made.graph.initializer[3].CopyFrom(onnx.numpy_helper.from_array(np.arange(8, dtype=np.float32), "b1"))
    onnx.save(made, tmp_path / "beta.onnx")
    ours.quantize_static(str(tmp_path / "beta.onnx"), str(tmp_path / "q.onnx"), Reader(made),
                         quant_format=ours.QuantFormat[quant_format])
    agree(str(tmp_path / "beta.onnx"), str(tmp_path / "q.onnx"))
    _, arrays = contents(str(tmp_path / "q.onnx"))
    scale = arrays["a3_scale" if "a3_scale" in arrays else "a2_scale"] * arrays["w1_scale"]
    np.testing.assert_allclose(arrays["b1_quantized"] * scale, np.arange(8) / 2, atol=1e-3)


@pytest.mark.parametrize("name", ["recurrent", "transformer"])
@pytest.mark.parametrize("quant_format", ["QDQ", "QOperator"])
def test_ranges_from_data_in_other_networks(sources, tmp_path, name, quant_format):
    check(sources, name, "static", tmp_path, quant_format=quant_format)


CONVERTED = {"quant_type": "QUInt16", "convert": {"quant_type": "QUInt8"}}
READERS = {"quant_type": "QUInt16", "convert": {"quant_type": "QUInt8", "recv_nodes": ["maxpool", "global"]}}


@pytest.mark.parametrize("options", [
    {"AddQDQPairToWeight": True}, {"OpTypesToExcludeOutputQuantization": ["Conv", "Add"]}, {"DedicatedQDQPair": True},
    {"QuantizeBias": False}, {"UseQDQContribOps": True}, {"QDQKeepRemovableActivations": True},
    {"QDQDisableWeightAdjustForInt32Bias": True}, {"QDQOpTypePerChannelSupportToAxis": {"LayerNormalization": 0}},
    {"TensorQuantOverrides": {"w0": [{"quant_type": "QInt16", "symmetric": True}]}},
    {"TensorQuantOverrides": {"w0": [{"reduce_range": True}], "b0": [{"quant_type": "QInt8"}]}},
    {"TensorQuantOverrides": {"a": [CONVERTED]}}, {"TensorQuantOverrides": {"r0": [READERS]}},
    {"TensorQuantOverrides": {"ct": [CONVERTED]}}, {"TensorQuantOverrides": {"ct": [READERS]}},
    {"TensorQuantOverrides": {"w2": [{"axis": 0, "rmin": -1.0, "rmax": 1.0}] * 4}},
    {"TensorQuantOverrides": {"w2": [{"axis": 1}]}},
    {"TensorQuantOverrides": {"a": [{"rmin": np.float32(-2), "rmax": np.float32(3)}]}},
], ids=str)
@pytest.mark.parametrize("per_channel", [False, True])
def test_options_of_pairs(sources, tmp_path, options, per_channel):
    check(sources, "cnn", "static", tmp_path, activation_type="QUInt8", per_channel=per_channel, extra_options=options)


def test_scales_that_are_given(sources, tmp_path):
    """ONNX Runtime's tool takes neither numbers of NumPy's integer types nor plain ones here."""
    fixed = {"a": [{"scale": np.array(0.125, np.float32), "zero_point": np.array(3, np.uint8)}],
             "w0": [{"scale": np.array(0.0625, np.float32), "zero_point": np.array(0, np.int8)}],
             "w1": [{"axis": 0, "scale": np.float32(0.5), "zero_point": np.int8(0)}] * 4}
    ours.quantize_static(str(sources / "cnn.onnx"), str(tmp_path / "q.onnx"), Reader(cnn()),
                         activation_type=ours.QuantType.QUInt8, extra_options={"TensorQuantOverrides": fixed})
    arrays = contents(str(tmp_path / "q.onnx"))[1]
    assert (arrays["a_scale"], arrays["a_zero_point"], arrays["w0_scale"]) == (0.125, 3, 0.0625)
    assert arrays["w1_scale"].tolist() == [0.5] * 4 and arrays["w1_zero_point"].tolist() == [0] * 4
    weight = np.round(onnx.numpy_helper.to_array(cnn().graph.initializer[2]) / 0.0625)
    np.testing.assert_array_equal(arrays["w0_quantized"], np.clip(weight, -128, 127))


@pytest.mark.parametrize("kinds", [("QInt16", "QInt16"), ("QUInt16", "QInt8"), ("QInt8", "QInt4"),
                                   ("QUInt8", "QUInt4")])
@pytest.mark.parametrize("name", ["mlp", "cnn"])
def test_types_of_4_and_16_bits(sources, tmp_path, name, kinds):
    source = str(sources / f"{name}.onnx")
    paths = by_both("static", source, tmp_path, activation_type=kinds[0], weight_type=kinds[1])
    assert_same(paths, 2e-6)  # biases are sums of quotients by 2^-15
    agree(source, paths["ours"])


def test_float8(tmp_path):
    """Scales come from the spread of the data, counted in bins."""
    source, kinds = str(tmp_path / "f.onnx"), {"activation_type": "QFLOAT8E4M3FN", "weight_type": "QFLOAT8E4M3FN"}
    onnx.save(mlp(19), source)
    paths = {}
    for name, library in (("ours", ours), ("peer", peer)):
        paths[name] = str(tmp_path / f"{name}.onnx")
        library.quantize_static(source, paths[name], Reader(mlp(19)), op_types_to_quantize=["MatMul", "Gemm"],
                                calibrate_method=library.CalibrationMethod.Distribution, **of(library, kinds))
    (counts, arrays), (other_counts, others) = contents(paths["ours"]), contents(paths["peer"])
    assert counts == other_counts and set(arrays) == set(others)
    for name, array in others.items():
        assert arrays[name].dtype == array.dtype
        np.testing.assert_allclose(arrays[name].astype(np.float64), array.astype(np.float64), 1e-6, 1e-7)
    # ONNX Runtime's optimizer makes a QLinearMatMul of float8, which it refuses then.
    exact, found = (sardonyx.InferenceSession(path).run(None, feed(mlp(19), 5))[0] for path in (source, paths["ours"]))
    np.testing.assert_allclose(found, exact, atol=0.1)


def test_float8_of_constants_and_behind_softmax(tmp_path):
    """ONNX Runtime's tool fails: what Softmax makes has no deviation there, and a bias of zeros becomes NaN."""
    w = Weights(4)
    zeros, same = w.constant("zeros", np.zeros(16, np.float32)), w.constant("same", np.full(16, 0.02, np.float32))
    proto = model([N("MatMul", ["x", w("w", 16, 16)], ["a"], "first"), N("Add", ["a", zeros], ["b"], "add"),
                   N("Add", ["b", same], ["c"], "more"), N("Softmax", ["c"], ["s"], "softmax"),
                   N("MatMul", ["s", w("v", 16, 16)], ["y"], "last")], {"x": [4, 16]}, ["y"], w.made, 19)
    path = str(tmp_path / "q.onnx")
    ours.quantize_static(proto, path, Reader(proto), calibrate_method=ours.CalibrationMethod.Distribution,
                         **of(ours, {"activation_type": "QFLOAT8E4M3FN", "weight_type": "QFLOAT8E4M3FN"}))
    arrays = contents(path)[1]
    assert arrays["zeros_scale"] == 1 and arrays["same_scale"] == np.float32(0.02) and 0 < arrays["s_scale"] < 0.1
    assert not arrays["zeros_quantized"].astype(np.float32).any()
    exact, found = (sardonyx.InferenceSession(one).run(None, feed(proto, 5))[0]
                    for one in (proto.SerializeToString(), path))
    assert np.corrcoef(found.ravel(), exact.ravel())[0, 1] > 0.9  # numbers far from the mean saturate


def test_counts_of_a_distribution_without_room_for_its_values(tmp_path, monkeypatch):
    """Values are counted as they come then, in bins that are not quite those of the histogram."""
    ranges = []
    for kept in (1 << 26, 2000):
        monkeypatch.setattr(histograms, "_KEPT_BYTES", kept)
        source = str(tmp_path / "f.onnx")
        onnx.save(mlp(19), source)
        calibrater = create_calibrator(source, augmented_model_path=str(tmp_path / "a.onnx"),
                                       calibrate_method=ours.CalibrationMethod.Distribution)
        calibrater.collect_data(Reader(mlp(19)))
        ranges.append(calibrater.compute_data())
    for name, exact in ranges[0].data.items():
        assert ranges[1].data[name].hist.sum() == exact.hist.sum()
        np.testing.assert_allclose(ranges[1].data[name].std, exact.std, 2e-3)


def test_weights_in_blocks(sources, tmp_path):
    """A bias has no scale then; ONNX Runtime's tool fails for it."""
    source, result = str(sources / "mlp.onnx"), str(tmp_path / "q.onnx")
    ours.quantize_static(source, result, Reader(mlp()), extra_options={"BlockSize": 4},
                         weight_type=ours.QuantType.QInt4, op_types_to_quantize=["MatMul", "Gemm"])
    counts, arrays = contents(result)
    assert arrays["w0_scale"].shape == (4, 80) and "b1_quantized" not in arrays
    agree(source, result)
    paths = by_both("static", source, tmp_path, op_types_to_quantize=["MatMul"], extra_options={"BlockSize": 4})
    assert_same(paths)


def test_values_that_are_dequantized_in_the_model_already(sources, tmp_path):
    """A quantized model is quantized once more where it was left out before."""
    source = str(sources / "cnn.onnx")
    first = by_both("static", source, tmp_path, nodes_to_quantize=["conv0", "relu0", "maxpool"])
    paths = by_both("static", first["ours"], tmp_path, nodes_to_exclude=["conv0", "relu0", "maxpool"])
    assert_same(paths, source=first["ours"])
    agree(source, paths["ours"])


def test_models_as_protos_and_configurations(sources, tmp_path):
    source, proto = str(sources / "mlp.onnx"), mlp()
    shared = {"op_types_to_quantize": ["MatMul"], "per_channel": True, "reduce_range": True}
    ours.quantize_dynamic(proto, tmp_path / "a.onnx", **shared)
    ours.quantize(source, tmp_path / "b.onnx", ours.DynamicQuantConfig(**shared))
    assert_same({"ours": str(tmp_path / "a.onnx"), "peer": str(tmp_path / "b.onnx")})
    ours.quantize_static(proto, tmp_path / "a.onnx", Reader(proto), **shared)
    ours.quantize(source, tmp_path / "b.onnx", ours.StaticQuantConfig(Reader(proto), **shared))
    assert_same({"ours": str(tmp_path / "a.onnx"), "peer": str(tmp_path / "b.onnx")})
    with pytest.raises(TypeError, match="StaticQuantConfig"):
        ours.quantize(source, tmp_path / "b.onnx", {"per_channel": True})


@pytest.mark.parametrize("arguments", [
    {}, {"activation_type": "QUInt16", "weight_type": "QInt8", "per_channel": True}, {"weight_type": "QInt4"},
    {"calibrate_args": {"symmetric": True}, "weight_symmetric": True, "min_real_range": 0.5},
    {"keep_removable_activations": True, "activation_symmetric": True, "reduce_range": True},
    {"tensor_quant_overrides": {"w0": [{"quant_type": "QUInt16"}]}, "extra_options": {"QuantizeBias": False}},
    {"op_types_to_quantize": ["Conv", "Gemm"], "nodes_to_exclude": ["conv0"]}], ids=str)
def test_configurations_for_whole_models(sources, tmp_path, arguments):
    source, configs = str(sources / "cnn.onnx"), {}
    for library in (peer, ours):
        configs[library] = library.get_qdq_config(source, Reader(cnn()), **of(library, arguments))
    mine, other = (vars(configs[library]) for library in (ours, peer))
    for name in set(other) - {"calibration_data_reader", "extra_options"}:
        values = [sorted(one[name]) if isinstance(one[name], list) else str(one[name]) for one in (mine, other)]
        assert values[0] == values[1], name
    assert str(mine["extra_options"]) == str(other["extra_options"])
    paths = {name: str(tmp_path / f"{name}.onnx") for name in ("ours", "peer")}
    for name, library in (("ours", ours), ("peer", peer)):
        library.quantize(source, paths[name], configs[library])
    assert_same(paths, 2e-6, steps="symmetric" in str(arguments))


def test_nodes_excluded_by_a_function(sources):
    def is_conv(_, node):
        return node.op_type == "Conv"
    configs = [library.get_qdq_config(str(sources / "cnn.onnx"), None, nodes_to_exclude=is_conv)
               for library in (peer, ours)]
    assert sorted(configs[0].nodes_to_exclude) == sorted(configs[1].nodes_to_exclude) == ["conv0", "conv1", "conv2"]


def test_channels_in_old_models(tmp_path):
    """DequantizeLinear has an axis from opset 13 on; ONNX Runtime's tool writes a model that does not load."""
    source, result = str(tmp_path / "f.onnx"), str(tmp_path / "q.onnx")
    onnx.save(mlp(11), source)
    ours.quantize_static(source, result, Reader(mlp(11)), per_channel=True)
    assert {one.domain: one.version for one in onnx.load(result).opset_import}[""] == 13
    agree(source, result)
    ours.quantize_static(source, result, Reader(mlp(11)), per_channel=True, quant_format=ours.QuantFormat.QOperator)
    assert {one.domain: one.version for one in onnx.load(result).opset_import}[""] == 11
    agree(source, result)


def test_ranges_are_kept_in_a_file(sources, tmp_path):
    source, cache = str(sources / "mlp.onnx"), tmp_path / "ranges.json"
    ours.quantize_static(source, tmp_path / "a.onnx", Reader(mlp()), calibration_cache_path=cache)
    assert json.loads(cache.read_text())
    ours.quantize_static(source, tmp_path / "b.onnx", calibration_cache_path=cache)
    peer.quantize_static(source, tmp_path / "c.onnx", calibration_cache_path=cache)
    for other in ("b", "c"):
        assert_same({"ours": str(tmp_path / "a.onnx"), "peer": str(tmp_path / f"{other}.onnx")})
    with pytest.raises(ValueError, match="MinMax.*Entropy"):
        ours.quantize_static(source, tmp_path / "b.onnx", calibration_cache_path=cache,
                             calibrate_method=ours.CalibrationMethod.Entropy)
    with pytest.raises(ValueError, match="calibration_data_reader"):
        ours.quantize_static(source, tmp_path / "b.onnx", calibration_cache_path=tmp_path / "none.json")


@pytest.mark.parametrize(("arguments", "message"), [
    ({"activation_type": "QInt8", "weight_type": "QUInt8"}, "QInt8"),
    ({"activation_type": "QInt16", "quant_format": "QOperator"}, "16 bits"),
    ({"weight_type": "QFLOAT8E4M3FN"}, "Distribution"),
    ({"extra_options": {"TensorQuantOverrides": {"nothing": [{}]}}}, "'nothing'"),
    ({"extra_options": {"TensorQuantOverrides": {"w0": [{"scale": 1.0}]}}}, "zero_point"),
    ({"extra_options": {"TensorQuantOverrides": {"w0": [3]}}}, "dictionary, found 'int'"),
    ({"extra_options": {"TensorQuantOverrides": {"w0": {"axis": 0}}}}, "list of dictionaries, found 'dict'"),
    ({"extra_options": {"TensorQuantOverrides": {"w0": [{"convert": {"quant_type": "QUInt16"}}]}}}, "weight"),
    ({"extra_options": {"TensorQuantOverrides": {"w0": [{"axis": 7}]}}}, "7"),
    ({"extra_options": {"TensorQuantOverrides": {"w0": [{"axis": 0}, {"axis": 0}]}}}, "4"),
    ({"extra_options": {"TensorQuantOverrides": {"a": [{"convert": {"quant_type": "QInt8"}}]}}}, "QInt8"),
    ({"extra_options": {"TensorQuantOverrides": {"a": [{"reduce_range": True}]}}}, "reduce_range"),
    ({"extra_options": {"CalibStridedMinMax": 2}}, "3 samples")], ids=str)
def test_wrong_arguments_are_refused_by_both(sources, tmp_path, arguments, message):
    for library in (peer, ours):
        given = of(library, arguments)
        given["quant_format"] = library.QuantFormat[arguments.get("quant_format", "QDQ")]
        with pytest.raises(ValueError, match=message if library is ours else "."):
            library.quantize_static(str(sources / "cnn.onnx"), tmp_path / "q.onnx", Reader(cnn()), **given)


def test_signatures():
    # As members of their packages these names are functions.
    our_quantize, peer_quantize = (importlib.import_module(f"{library}.quantization.quantize")
                                   for library in ("sardonyx", "onnxruntime"))
    assert {"quantize", "quantize_static", "QuantConfig"} <= set(vars(peer_quantize))
    for name, other in vars(peer_quantize).items():
        if inspect.isfunction(other) and other.__module__ == peer_quantize.__name__:
            mine = getattr(our_quantize, name)
        elif inspect.isclass(other) and other.__module__ == peer_quantize.__name__:
            mine, other = getattr(our_quantize, name).__init__, other.__init__
        else:
            continue
        assert [(one.name, str(one.default)) for one in inspect.signature(mine).parameters.values()] == [
            (one.name, str(one.default)) for one in inspect.signature(other).parameters.values()], name


def test_the_registry_has_the_rules_of_onnx_runtime():
    import onnxruntime.quantization.registry as peer_registry
    import sardonyx.quantization.registry as our_registry

    for name in ("CommonOpsRegistry", "IntegerOpsRegistry", "QLinearOpsRegistry", "QDQRegistry"):
        mine, other = getattr(our_registry, name), getattr(peer_registry, name)
        assert {op: rule.__name__ for op, rule in mine.items()} == {op: rule.__name__ for op, rule in other.items()}


def test_quantizers_as_optimum_calls_them(tmp_path):
    """A model as a proto, a quantizer, and its model, which saves itself."""
    from sardonyx.quantization.onnx_quantizer import ONNXQuantizer
    from sardonyx.quantization.registry import IntegerOpsRegistry

    quantizer = ONNXQuantizer(model=mlp(), static=False, per_channel=True, mode=ours.QuantizationMode.IntegerOps,
                              weight_qType=ours.QuantType.QInt8, activation_qType=ours.QuantType.QUInt8,
                              tensors_range=None, reduce_range=False, nodes_to_quantize=[], nodes_to_exclude=[],
                              op_types_to_quantize=list(IntegerOpsRegistry), extra_options={})
    quantizer.quantize_model()
    quantizer.model.save_model_to_file(str(tmp_path / "q.onnx"), True)
    assert (tmp_path / "q.onnx.data").exists()
    assert contents(str(tmp_path / "q.onnx"))[0]["", "MatMulInteger"] == 4


def test_parameters_that_a_program_chooses(tmp_path):
    """Both quantizers of pairs ask a method for the parameters of each range, which programs override."""
    made = {}
    for name, library in (("peer", peer), ("ours", ours)):
        base = importlib.import_module(f"{library.__name__}.qdq_quantizer").QDQQuantizer
        data_type = importlib.import_module(f"{library.__name__}.calibrate").TensorData

        class Coarse(base):
            def calc_quant_params(self, tensor_data, quant_overrides):
                params = super().calc_quant_params(tensor_data, quant_overrides)
                params["scale"] = np.asarray(params["scale"] * 2, np.float32)
                return params

        source = mlp()
        ranges = {value: data_type(lowest=np.float32(-1), highest=np.float32(3)) for node in source.graph.node
                  for value in (*node.input, *node.output)}
        quantizer = Coarse(source, False, False, library.QuantType.QInt8, library.QuantType.QUInt8, ranges, [], [],
                           ["MatMul", "Gemm", "Add"], {})
        assert set(quantizer.calc_graph_quant_params()) == set(ranges)
        quantizer.quantize_model()
        made[name] = str(tmp_path / f"{name}.onnx")
        quantizer.model.save_model_to_file(made[name])
    assert_same(made)
    np.testing.assert_allclose(contents(made["ours"])[1]["x_scale"], 2 * 4 / 255, 1e-6)


def test_a_weight_of_several_nodes_and_a_bias_of_two(tmp_path):
    """A shared bias is copied, as each node's scales give it another one; a shared weight is quantized once."""
    random = np.random.default_rng(1)
    weights = {"w": (4, 4, 3, 3), "w2": (4, 4, 1, 1), "b": (4,), "t": (8, 4)}
    made = helper.make_model(helper.make_graph(
        [helper.make_node("Conv", ["x", "w", "b"], ["p"], "one", pads=[1] * 4),
         helper.make_node("Conv", ["p", "w", "b"], ["q"], "two", pads=[1] * 4),
         helper.make_node("Conv", ["q", "w2", "b"], ["y"], "three"),
         helper.make_node("Gemm", ["v", "t"], ["g"], "four", transB=1),
         helper.make_node("Gemm", ["v", "t"], ["h"], "five", transB=1)], "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4, 8, 8]),
         helper.make_tensor_value_info("v", TensorProto.FLOAT, [3, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 8, 8]),
         helper.make_tensor_value_info("g", TensorProto.FLOAT, [3, 8]),
         helper.make_tensor_value_info("h", TensorProto.FLOAT, [3, 8])],
        [onnx.numpy_helper.from_array((random.standard_normal(shape) * 0.3).astype(np.float32), name)
         for name, shape in weights.items()]), opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    source = str(tmp_path / "shared.onnx")
    onnx.save(made, source)
    for quant_format in ("QDQ", "QOperator"):
        paths = by_both("static", source, tmp_path, quant_format=quant_format)
        if quant_format == "QDQ":
            assert_same(paths)
            assert {"b_quantized", "b0_quantized", "b1_quantized"} <= set(contents(paths["ours"])[1])
        agree(source, paths["ours"])
    ours.quantize_dynamic(source, tmp_path / "q.onnx")
    assert contents(str(tmp_path / "q.onnx"))[0]["", "MatMulInteger"] == 2
    agree(source, str(tmp_path / "q.onnx"))


def test_the_float_model_is_left_as_it_was(sources, tmp_path):
    before = (sources / "cnn.onnx").read_bytes()
    options = {"TensorQuantOverrides": {"w0": [{"symmetric": True}]}}
    ours.quantize_static(str(sources / "cnn.onnx"), tmp_path / "q.onnx", Reader(cnn()), extra_options=options)
    ours.quantize_dynamic(str(sources / "cnn.onnx"), tmp_path / "d.onnx", extra_options=options)
    assert (sources / "cnn.onnx").read_bytes() == before and sorted(options) == ["TensorQuantOverrides"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.onnx", "q.onnx"]
    assert onnxruntime.InferenceSession(str(tmp_path / "q.onnx")) is not None


def test_names_that_are_taken(tmp_path):
    """A model that was quantized before has such names; ONNX Runtime's tool writes two nodes with one name."""
    source, first, second = (str(tmp_path / f"{name}.onnx") for name in ("f", "q", "qq"))
    onnx.save(mlp(), source)
    ours.quantize_static(source, first, Reader(mlp()), op_types_to_quantize=["MatMul"])
    ours.quantize_static(first, second, Reader(mlp()), extra_options={"ActivationSymmetric": True})
    nodes = onnx.load(second).graph.node
    assert len({node.name for node in nodes}) == len(nodes)
    agree(source, second)


def test_values_behind_operators_of_other_domains(tmp_path):
    """As with ONNX Runtime's tool, their types are not known without preparation, so they stay floats."""
    made = transformer()
    made.graph.ClearField("value_info")
    onnx.save(made, tmp_path / "f.onnx")
    paths = by_both("static", str(tmp_path / "f.onnx"), tmp_path)
    assert contents(paths["ours"])[0] == contents(paths["peer"])[0]
    agree(str(tmp_path / "f.onnx"), paths["ours"])
    ours.quant_pre_process(str(tmp_path / "f.onnx"), tmp_path / "p.onnx", skip_optimization=True)
    ours.quantize_static(tmp_path / "p.onnx", tmp_path / "q.onnx", Reader(made))
    counts = [contents(path)[0]["", "QuantizeLinear"] for path in (str(tmp_path / "q.onnx"), paths["ours"])]
    assert counts[0] > counts[1]


def test_large_sums_of_half_precision(tmp_path):
    """Sums of integers go beyond the largest number of half precision: they are scaled as floats."""
    weights = Weights(1, np.float16)
    made = model([helper.make_node("Conv", ["x", weights("w", 8, 64, 3, 3)], ["y"], "conv", pads=[1] * 4)],
                 {"x": [1, 64, 8, 8]}, ["y"], weights.made, 17, x=TensorProto.FLOAT16, y=TensorProto.FLOAT16)
    onnx.save(made, tmp_path / "f.onnx")
    ours.quantize_dynamic(tmp_path / "f.onnx", tmp_path / "q.onnx")
    values = {"x": np.abs(feed(made)["x"])}
    exact, found = (sardonyx.InferenceSession(str(tmp_path / f"{name}.onnx")).run(None, values)[0] for name in "fq")
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found.astype(np.float32), exact.astype(np.float32), atol=0.3)


@pytest.mark.parametrize("quant_format", ["QDQ", "QOperator"])
def test_ranges_from_data_of_half_precision(tmp_path, quant_format):
    """ONNX Runtime's tool writes scales of float16, which QLinearConv and its like do not take."""
    source, result = str(tmp_path / "f.onnx"), str(tmp_path / "q.onnx")
    onnx.save(mlp(19, np.float16), source)
    ours.quantize_static(source, result, Reader(mlp(19, np.float16)), quant_format=ours.QuantFormat[quant_format],
                         activation_type=ours.QuantType.QUInt8)
    counts = contents(result)[0]
    if quant_format == "QOperator":
        assert counts["", "QLinearMatMul"] + counts["com.microsoft", "QGemm"] == 4
    agree(source, result)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("form", ["dynamic", "QDQ", "QOperator"])
def test_fused_layers(tmp_path, form, dtype):
    """Of half precision, too: operators on integers make floats, so that casts stand around them. ONNX Runtime's tool
    refuses such models or writes what does not load."""
    source, result = str(tmp_path / "f.onnx"), str(tmp_path / "q.onnx")
    made = fused(dtype)
    onnx.save(made, source)
    if form == "dynamic":
        ours.quantize_dynamic(source, result, per_channel=True)
    else:
        ours.quantize_static(source, result, Reader(made), quant_format=ours.QuantFormat[form], per_channel=True,
                             activation_type=ours.QuantType.QUInt8)
    counts = contents(result)[0]
    if form == "dynamic":
        assert counts["com.microsoft", "QEmbedLayerNormalization"] == counts["com.microsoft", "QAttention"] == 1
        assert counts["", "MatMulInteger"] == 3
    agree(source, result)


@pytest.mark.parametrize("per_channel", [False, True])
def test_lstm_of_half_precision(tmp_path, per_channel):
    source, result = str(tmp_path / "f.onnx"), str(tmp_path / "q.onnx")
    onnx.save(recurrent(dtype=np.float16), source)
    ours.quantize_dynamic(source, result, per_channel=per_channel)
    assert contents(result)[0]["com.microsoft", "DynamicQuantizeLSTM"] == 1
    agree(source, result)


def test_positions_that_are_given_stay(tmp_path):
    """QEmbedLayerNormalization counts them from 0: ONNX Runtime's tool drops them."""
    source, result = str(tmp_path / "f.onnx"), str(tmp_path / "q.onnx")
    made = fused()
    made.graph.node[0].input.extend(["", "positions"])
    made.graph.input.append(helper.make_tensor_value_info("positions", TensorProto.INT32, [2, 8]))
    onnx.save(made, source)
    ours.quantize_dynamic(source, result)
    assert contents(result)[0]["com.microsoft", "EmbedLayerNormalization"] == 1
    agree(source, result)


@pytest.mark.parametrize("quant_format", ["QDQ", "QOperator"])
def test_infinite_values_stay_in_float(tmp_path, caplog, quant_format):
    """The logarithm of 0 has no scale: ONNX Runtime's tool writes an infinite one, and the model gives no numbers. The
    node has no name."""
    weights = Weights(1)
    made = model([helper.make_node("Relu", ["x"], ["positive"], "relu"), helper.make_node("Log", ["positive"], ["l"]),
                  helper.make_node("Mul", ["l", weights("w", 8)], ["m"]),
                  helper.make_node("Clip", ["m", weights("low"), weights("high")], ["c"], "clip"),
                  helper.make_node("MatMul", ["c", weights("v", 8, 4)], ["y"], "product")],
                 {"x": [4, 8]}, ["y"], weights.made)
    for tensor, value in zip(made.graph.initializer[1:3], (-3, 3), strict=True):
        tensor.CopyFrom(onnx.numpy_helper.from_array(np.array(value, np.float32), tensor.name))
    onnx.save(made, tmp_path / "f.onnx")
    ours.quantize_static(tmp_path / "f.onnx", tmp_path / "q.onnx", Reader(made),
                         quant_format=ours.QuantFormat[quant_format], activation_type=ours.QuantType.QUInt8)
    assert "infinite on the data stay in float: l, m" in caplog.text
    counts = contents(str(tmp_path / "q.onnx"))[0]
    assert (counts["", "Mul"], counts["", "Log"]) == (1, 1)
    agree(str(tmp_path / "f.onnx"), str(tmp_path / "q.onnx"))
