"""Models of quantization-aware training, as their exporters spell them, run on integers: no product stays in float that
ONNX Runtime has in integers, and values are those of the graph as it stands."""
import collections
import os
import pathlib
import subprocess

import numpy as np
import onnx
import onnxruntime
import pytest
import sardonyx
from onnx.reference import ReferenceEvaluator
from qat_graphs import SPELLINGS, spelling

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = pathlib.Path(os.environ.get("SDX_BUILD", ROOT / "build/release")) / "bin/sardonyx"
INTEGERS = {"QLinearConv", "QLinearConvAdd", "ConvInteger", "QLinearMatMul", "QGemm", "MatMulIntegerToFloat"}
FLOATS = {"Conv", "FusedConv", "MatMul", "FusedMatMul", "Gemm", "FusedGemm"}
# The products of each spelling, all of integers.
PRODUCTS = {"torch fake quantize": 3, "torch converted": 3, "torch pt2e": 2, "tensorflow through tf2onnx": 3,
            "tflite with dynamic ranges": 3,
            "brevitas": 3, "brevitas of 4 bits": 3, "brevitas with parameters as inputs": 1,
            "brevitas with floats of 8 bits": 3, "brevitas with floats of 4 bits": 3,
            "brevitas with floats of 2 bits": 3, "modelopt": 3, "between floats": 0}


def optimized(package, model, path):
    options = package.SessionOptions()
    options.optimized_model_filepath = str(path)
    options.log_severity_level = 4
    package.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return collections.Counter(node.op_type for node in onnx.load(path).graph.node)


def count(operators, kinds):
    return sum(operators[kind] for kind in kinds)


def feeds(model, seed):
    constants = {each.name for each in model.graph.initializer}
    random = np.random.default_rng(seed)
    return {each.name: random.standard_normal([d.dim_value for d in each.type.tensor_type.shape.dim]).astype(np.float32)
            for each in model.graph.input if each.name not in constants}


@pytest.mark.parametrize("name", SPELLINGS)
def test_products_are_of_integers(name, tmp_path):
    model, _ = spelling(name)
    ours = optimized(sardonyx, model, tmp_path / "ours.onnx")
    assert (count(ours, INTEGERS), count(ours, FLOATS)) == (PRODUCTS[name], 0), ours
    try:
        theirs = optimized(onnxruntime, model, tmp_path / "theirs.onnx")
    except Exception as error:  # what it makes of torch's parameters of shape [1], it does not load
        assert name.startswith("torch fake") and "must be a scalar" in str(error)
    else:
        assert count(theirs, INTEGERS) <= PRODUCTS[name]


@pytest.mark.parametrize("name", SPELLINGS)
def test_values_are_those_of_the_graph_as_it_stands(name):
    """Sums of integers are exact and sums of floats are not: where they lie between two steps, one may be taken for the
    other. How many do depends on the scales; that only such do is what the next test shows."""
    model, step = spelling(name)
    session, plain = sardonyx.InferenceSession(model.SerializeToString()), ReferenceEvaluator(model)
    for seed in range(3):
        values = feeds(model, seed)
        got, want = session.run(None, values)[0], plain.run(None, values)[0]
        assert np.abs(got.astype(np.float64) - want).max() <= step * 1.001


class Rounding:
    """Where a model rounds activations to integers: the value as its readers see it, behind Clip and Cast."""

    def __init__(self, quantize, steps, name):
        self.quantize, self.steps, self.name = quantize, steps, name
        self.given = quantize.output if quantize.op_type == "DynamicQuantizeLinear" else [name]

    def of(self, quotients, zero_point, constants):
        kind = zero_point.dtype
        whole = np.clip(np.rint(quotients) + zero_point, np.iinfo(kind).min, np.iinfo(kind).max)
        for step in self.steps:
            if step.op_type == "Clip":
                bounds = [constants[each] if each else None for each in [*step.input, ""][1:3]]
                whole = np.clip(whole, *bounds) if any(each is not None for each in bounds) else whole
        return whole


def roundings(model):
    constants = {each.name for each in model.graph.initializer}
    found = []
    for quantize in model.graph.node:
        if not quantize.op_type.endswith("QuantizeLinear") or quantize.input[0] in constants:
            continue
        steps, name = [], quantize.output[0]
        while (readers := [each for each in model.graph.node if name in each.input])[0].op_type in ("Clip", "Cast"):
            assert len(readers) == 1
            steps, name = [*steps, readers[0]], readers[0].output[0]
        found.append(Rounding(quantize, steps, name))
    return found


def cut_at(model, places):
    """The model with the integers as inputs, and what is rounded to them as outputs."""
    cut = onnx.ModelProto()
    cut.CopyFrom(model)
    given = {name for place in places for name in place.given}
    for node in cut.graph.node:
        for at, name in enumerate(node.input):
            if name in given:
                node.input[at] = name + " given"
    types = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True).graph
    known = {each.name: each for each in [*types.value_info, *types.input, *types.output]}
    for name in given:
        each = cut.graph.input.add()
        each.CopyFrom(known[name])
        each.name = name + " given"
    cut.graph.output.extend(known[name] for name in {place.quantize.input[0] for place in places})
    return cut


# Biases that are floats are rounded to whole steps of the products; half of one, in steps of what is made of them, is
# 0.03 * 0.05 / 0.05 / 2 where parameters are inputs, and less in the other.
ROUNDED_BIASES = {"torch fake quantize": 0.015, "brevitas with parameters as inputs": 0.015}


@pytest.mark.parametrize("name", [each for each in SPELLINGS if PRODUCTS[each]])
def test_every_rounding_is_that_of_the_graph(name, tmp_path):
    """Every integer is the nearest one to what the graph makes of the integers before it: to within 1e-3 of a step, as
    far as a sum of float32 may be off. Nothing adds up, so that no share of the values has to be allowed for."""
    model, _ = spelling(name)
    places, most = roundings(model), 1e-3 + ROUNDED_BIASES.get(name, 0)
    shown, known = onnx.ModelProto(), onnx.shape_inference.infer_shapes(model).graph.value_info
    known = {each.name: each for each in known}
    shown.CopyFrom(model)
    shown.graph.output.extend(known[each] for place in places for each in place.given)
    assert count(optimized(sardonyx, shown, tmp_path / "shown.onnx"), INTEGERS) == PRODUCTS[name]
    session, cut = sardonyx.InferenceSession(shown.SerializeToString()), ReferenceEvaluator(cut_at(model, places))
    constants = {each.name: onnx.numpy_helper.to_array(each) for each in model.graph.initializer}
    for seed in range(3):
        values = feeds(model, seed)
        got = dict(zip([each.name for each in shown.graph.output], session.run(None, values), strict=True))
        given = {each + " given": got[each] for place in places for each in place.given}
        want = dict(zip(cut.output_names, cut.run(None, values | given), strict=True))
        for place in places:
            source = place.quantize.input[0]
            rounded = want[source] if source in want else values[source]
            scale, zero_point = (got[each] if each in got else constants[each]
                                 for each in (place.given[1:] or place.quantize.input[1:]))
            quotients = rounded.astype(np.float64) / scale
            low, high = (place.of(quotients + off, zero_point, constants) for off in (-most, most))
            assert ((low <= got[place.name]) & (got[place.name] <= high)).all(), place.name
        np.testing.assert_allclose(got["y"], want["y"], rtol=1e-5, atol=1e-5 * np.abs(want["y"]).max())


IN_ONNXRUNTIME = [name for name in SPELLINGS if "brevitas" not in name or name.endswith("inputs")]


@pytest.mark.parametrize("name", IN_ONNXRUNTIME)
def test_what_is_saved_runs_in_onnxruntime(name, tmp_path):
    """Not where a convolution reads int8 and makes uint8: ONNX Runtime's QLinearConv has one type for both. Its sums
    saturate on processors without VNNI, so its values are not compared."""
    model, _ = spelling(name)
    options = sardonyx.SessionOptions()
    options.graph_optimization_level = sardonyx.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(tmp_path / "saved.onnx")
    values = feeds(model, 1)
    got = sardonyx.InferenceSession(model.SerializeToString(), options).run(None, values)[0]
    theirs = onnxruntime.InferenceSession(tmp_path / "saved.onnx", providers=["CPUExecutionProvider"])
    assert theirs.run(None, values)[0].shape == got.shape


def explained(model, path):
    onnx.save(model, path)
    return subprocess.run([TOOL, "optimize", path, "--explain"], capture_output=True, text=True, check=True).stdout


def test_explanation_names_what_stays_in_float(tmp_path):
    text = explained(spelling("between floats")[0], tmp_path / "model.onnx")
    stays = [line for line in text.splitlines() if "stays in float between quantized nodes" in line]
    for kind in ("ConvTranspose", "LayerNormalization", "GRU"):
        assert any(f"({kind}" in line and f"{kind} has no form of 8-bit integers" in line for line in stays), text
    assert any("(Add" in line and "is made in float by node" in line for line in stays), text
    for name in ("torch fake quantize", "torch converted", "brevitas", "tflite with dynamic ranges"):
        assert "stays in float" not in explained(spelling(name)[0], tmp_path / "model.onnx"), name


def test_explanation_names_weights_that_were_never_quantized(tmp_path):
    model, _ = spelling("tensorflow through tf2onnx")
    weights = next(each for each in model.graph.initializer if each.name == "w")
    random = np.random.default_rng(1).standard_normal(weights.dims).astype(np.float32)
    weights.CopyFrom(onnx.numpy_helper.from_array(random, "w"))
    text = explained(model, tmp_path / "model.onnx")
    assert "its weights 'w' are floats that were never quantized" in text


def test_spellings_have_names():
    assert set(PRODUCTS) == set(SPELLINGS)
