"""Subjects of ONNX Runtime's own tests of these tools that no other file here has (peer_subjects.tsv lists all)."""
import numpy as np
import onnx
import onnxruntime.quantization as peer
import pytest
import sardonyx
import sardonyx.quantization as ours
from onnx import helper
from quantized_models import N, Reader, Weights, assert_same, by_both, cnn, contents, feed, mlp, model


def given(*values):
    """A reader of one input "x", with these numbers."""
    class Given:
        def __init__(self):
            self.rest = [{"x": np.full((1, 2, 8, 8), value, np.float32)} for value in values]

        def get_next(self):
            return self.rest.pop(0) if self.rest else None
    return Given()


@pytest.mark.parametrize("quant_format", ["QDQ", "QOperator"])
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("highest", [1.0, 2.0])
def test_zero_points_of_symmetric_and_other_ranges(tmp_path, quant_format, symmetric, highest):
    w = Weights()
    weight = w.constant("w", np.float32([[[[-1, -1], [-1, -1]], [[highest, highest], [highest, highest]]]]))
    source = str(tmp_path / "f.onnx")
    onnx.save(model([N("Conv", ["x", weight], ["y"], "conv")], {"x": [1, 2, 8, 8]}, ["y"], w.made), source)
    paths = {}
    for name, library in (("ours", ours), ("peer", peer)):
        paths[name] = str(tmp_path / f"{name}.onnx")
        library.quantize_static(source, paths[name], given(-1, highest), quant_format=library.QuantFormat[quant_format],
                                activation_type=library.QuantType.QInt8, weight_type=library.QuantType.QInt8,
                                extra_options={"WeightSymmetric": symmetric, "ActivationSymmetric": symmetric})
    assert_same(paths)
    arrays = contents(paths["ours"])[1]
    is_zero = symmetric or highest == 1.0
    # A range from -1 to 1 has 255 steps, so that its zero lies between two of 256 integers.
    assert (abs(int(arrays["x_zero_point"])) <= 1) == is_zero and (abs(int(arrays["w_zero_point"])) <= 1) == is_zero


@pytest.mark.parametrize("quant_format", ["QDQ", "QOperator"])
@pytest.mark.parametrize("per_channel", [False, True])
def test_weights_whose_bias_would_not_fit_into_int32(tmp_path, quant_format, per_channel):
    w = Weights(3)
    weight = w("w", 4, 2, 1, 1)
    w.made[0] = onnx.numpy_helper.from_array((onnx.numpy_helper.to_array(w.made[0]) * np.float32(
        [1e-7, 1, 1e-7, 1]).reshape(4, 1, 1, 1)).astype(np.float32), "w")
    bias, source = w.constant("b", np.float32([20, 20, -20, 1])), str(tmp_path / "f.onnx")
    onnx.save(model([N("Conv", ["x", weight, bias], ["y"], "conv")], {"x": [1, 2, 8, 8]}, ["y"], w.made), source)
    paths = by_both("static", source, tmp_path, quant_format=quant_format, per_channel=per_channel)
    assert_same(paths)
    array = contents(paths["ours"])[1]["b_quantized"]
    assert np.abs(array.astype(np.int64)).max() < 2**31 - 1
    values = feed(onnx.load(source))
    exact, found = (sardonyx.InferenceSession(path).run(None, values)[0] for path in (source, paths["ours"]))
    np.testing.assert_allclose(found, exact, atol=0.4)


@pytest.mark.parametrize("per_channel", [False, True])
def test_a_small_network_calibrated_by_percentile(tmp_path, per_channel):
    source, paths = str(tmp_path / "f.onnx"), {}
    onnx.save(cnn(), source)
    for name, library in (("ours", ours), ("peer", peer)):
        paths[name] = str(tmp_path / f"{name}.onnx")
        library.quantize_static(source, paths[name], Reader(cnn()), per_channel=per_channel,
                                calibrate_method=library.CalibrationMethod.Percentile,
                                extra_options={"CalibPercentile": 99.9})
    (counts, arrays), (other_counts, others) = (contents(paths[name]) for name in ("ours", "peer"))
    assert counts == other_counts and set(arrays) == set(others)
    for name, other in others.items():
        if name.endswith("_scale"):  # edges of bins follow the last digits of the data
            np.testing.assert_allclose(arrays[name], other, 0.02)


def test_gemm_becomes_a_product_and_a_sum(tmp_path):
    """quantize_dynamic has a rule for MatMul only: Gemm is rewritten, but for alpha and beta other than 1."""
    w = Weights(5)
    made = model([N("Gemm", ["x", w("w0", 8, 16), w("b0", 8)], ["a"], "plain", transB=1),
                  N("Gemm", ["a", w("w1", 8, 5)], ["b"], "no_bias"),
                  N("Gemm", ["b", w("w2", 5, 4), w("b2", 4)], ["y"], "scaled", alpha=0.5)],
                 {"x": [3, 16]}, ["y"], w.made)
    source = str(tmp_path / "f.onnx")
    onnx.save(made, source)
    paths = by_both("dynamic", source, tmp_path)
    assert_same(paths)
    counts = contents(paths["ours"])[0]
    assert (counts["", "MatMulInteger"], counts["", "Gemm"]) == (2, 1)


@pytest.mark.parametrize("per_channel", [False, True])
def test_channels_of_transposed_convolutions(tmp_path, per_channel):
    w = Weights(6)
    nodes = [N("ConvTranspose", ["x", w("w0", 3, 5, 2, 2), w("b0", 5)], ["a"], "one", strides=[2, 2]),
             N("ConvTranspose", ["a", w("w1", 5, 4, 3, 3)], ["y"], "two")]
    source = str(tmp_path / "f.onnx")
    onnx.save(model(nodes, {"x": [1, 3, 6, 6]}, ["y"], w.made), source)
    paths = by_both("static", source, tmp_path, per_channel=per_channel)
    assert_same(paths)
    assert contents(paths["ours"])[1]["w0_scale"].shape == ((5,) if per_channel else ())


def test_weights_of_zeros_and_of_one_number(tmp_path):
    """A range without width has a scale that is no zero."""
    w = Weights(7)
    nodes = [N("MatMul", ["x", w.constant("w0", np.zeros((16, 4), np.float32))], ["a"], "zeros"),
             N("MatMul", ["x", w.constant("w1", np.full((16, 4), 0.25, np.float32))], ["b"], "equal"),
             N("Add", ["a", "b"], ["y"], "sum")]
    source = str(tmp_path / "f.onnx")
    onnx.save(model(nodes, {"x": [3, 16]}, ["y"], w.made), source)
    for how, arguments in (("dynamic", {}), ("static", {"quant_format": "QDQ"}), ("static", {
            "quant_format": "QOperator"}), ("static", {"per_channel": True})):
        paths = by_both(how, source, tmp_path, **arguments)
        assert_same(paths)
        assert all((array > 0).all() for name, array in contents(paths["ours"])[1].items() if name.endswith("_scale"))
        values = feed(onnx.load(source), 10)
        exact, found = (sardonyx.InferenceSession(path).run(None, values)[0] for path in (source, paths["ours"]))
        np.testing.assert_allclose(found, exact, atol=0.05)


def test_outputs_of_the_model_that_others_read(tmp_path):
    """Relu is not dropped where what it reads is an output; ONNX Runtime's tool gives that output the range of Relu's
    result, so that it loses all below zero."""
    w = Weights(8)
    nodes = [N("MatMul", ["x", w("w0", 16, 8)], ["a"], "product"), N("Relu", ["a"], ["b"], "relu"),
             N("MatMul", ["b", w("w1", 8, 4)], ["y"], "next")]
    source = str(tmp_path / "f.onnx")
    onnx.save(model(nodes, {"x": [5, 16]}, ["a", "y"], w.made), source)
    for quant_format in ("QDQ", "QOperator"):
        paths = by_both("static", source, tmp_path, quant_format=quant_format)
        values = feed(onnx.load(source), 10)
        floats, mine, theirs = (sardonyx.InferenceSession(path).run(None, values) for path in (
            source, paths["ours"], paths["peer"]))
        assert floats[0].min() < -1 and theirs[0].min() > -0.1
        for exact, found in zip(floats, mine, strict=True):
            assert np.abs(found - exact).max() < 0.03 * np.abs(exact).max()


def test_models_without_shapes(tmp_path):
    """Ranks and dimensions that the model does not tell are not needed."""
    made = mlp()
    made.graph.ClearField("value_info")
    for value in (*made.graph.input, *made.graph.output):
        value.type.tensor_type.ClearField("shape")
    source = str(tmp_path / "f.onnx")
    onnx.save(made, source)
    for how, arguments in (("dynamic", {}), ("static", {"quant_format": "QDQ"}), ("static", {
            "quant_format": "QOperator"})):
        if how == "static":
            arguments["calibration_data_reader"] = Reader(mlp())
        given_ours = dict(arguments)
        if how == "static":
            given_ours["quant_format"] = ours.QuantFormat[arguments["quant_format"]]
        getattr(ours, f"quantize_{how}")(source, str(tmp_path / "q.onnx"), **given_ours)
        counts = contents(str(tmp_path / "q.onnx"))[0]
        assert counts["", "MatMulInteger"] + counts["", "QuantizeLinear"] > 0
        exact, found = (sardonyx.InferenceSession(path).run(None, feed(mlp(), 10))[0] for path in (
            source, str(tmp_path / "q.onnx")))
        np.testing.assert_allclose(found, exact, atol=0.05)


def test_functions_of_the_model(tmp_path):
    """Nodes that call a function of the model stay, and its products stay floats; the function goes with the model."""
    w = Weights(9)
    made = model([N("MatMul", ["x", w("w0", 16, 8)], ["a"], "product")], {"x": [5, 16]}, ["a"], w.made)
    made.graph.node.append(N("Twice", ["a"], ["y"], "twice", domain="mine"))
    made.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", 1, [5, 8]))
    made.opset_import.append(helper.make_opsetid("mine", 1))
    made.functions.append(helper.make_function("mine", "Twice", ["p"], ["q"], [N("Add", ["p", "p"], ["q"])],
                                               [helper.make_opsetid("", 17)]))
    source = str(tmp_path / "f.onnx")
    onnx.save(made, source)
    exact = sardonyx.InferenceSession(source).run(None, feed(made, 10))[0]
    for how in ("dynamic", "static"):
        arguments = {} if how == "dynamic" else {"calibration_data_reader": Reader(made)}
        getattr(ours, f"quantize_{how}")(source, str(tmp_path / "q.onnx"), **arguments)
        counts = contents(str(tmp_path / "q.onnx"))[0]
        assert counts["mine", "Twice"] == 1 and counts["", "MatMulInteger"] + counts["", "QuantizeLinear"] > 0
        assert [one.name for one in onnx.load(tmp_path / "q.onnx").functions] == ["Twice"]
        found = sardonyx.InferenceSession(str(tmp_path / "q.onnx")).run(None, feed(made, 10))[0]
        np.testing.assert_allclose(found, exact, atol=0.1)
