"""Real models agree with ONNX Runtime within 1e-4 of the largest output value, with and without optimizations.

The reference is ONNX Runtime with its default optimizations. If ONNX Runtime itself is less exact than that, a row of
FAULTS says so, and a run in float64 shows it.
"""
import pathlib

import numpy as np
import onnxruntime
import pytest
import sardonyx
import zoo
from float64_reference import float64_run

LEVELS = ("ORT_DISABLE_ALL", "ORT_ENABLE_ALL")
MODELS = zoo.models()
TOLERANCE = 1e-4
# (model, run): why ONNX Runtime is no reference there.
FAULTS = {
    ("magika", 0): "the variance of 512 nearly equal rows is a difference of two sums, and with a batch of one ONNX "
                   "Runtime forms them one row after another: 6e-4 off",
}


def session(engine, path, level):
    options = engine.SessionOptions()
    options.graph_optimization_level = getattr(engine.GraphOptimizationLevel, level)
    options.intra_op_num_threads = 2
    options.log_severity_level = 3
    return engine.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def outputs_of(engine, model, level):
    """One dictionary of outputs per run; states go from run to run within the engine."""
    running = session(engine, model.path, level)
    names = [output.name for output in running.get_outputs()]
    results = []
    for run in model.runs():
        feeds = {name: results[-1][value[1:]] if isinstance(value, str) else value for name, value in run.items()}
        results.append(dict(zip(names, running.run(None, feeds), strict=True)))
    return results


def distance(got, want):
    """The largest difference, and the largest value of `want`."""
    return np.abs(got.astype(np.float64) - want.astype(np.float64)).max(), np.abs(want).max()


def assert_close(got, want, where):
    assert got.dtype == want.dtype and got.shape == want.shape, (where, got.dtype, got.shape, want.dtype, want.shape)
    assert np.isfinite(want).all(), f"{where}: the reference is not finite, so nothing can be compared"
    error, largest = distance(got, want)
    assert error <= TOLERANCE * largest, f"{where}: differs by {error:.3g}, with values up to {largest:.3g}"


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("model", MODELS, ids=[model.name for model in MODELS])
def test_outputs_are_those_of_onnx_runtime(model, level):
    want = outputs_of(onnxruntime, model, "ORT_ENABLE_ALL")
    got = outputs_of(sardonyx, model, level)
    for index, (ours, theirs) in enumerate(zip(got, want, strict=True)):
        if (model.name, index) in FAULTS:
            continue
        for name, value in theirs.items():
            assert_close(ours[name], value, f"{model.name}, {level}, run {index}, output '{name}'")


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("name", "index"), FAULTS)
def test_where_onnx_runtime_is_off_a_float64_run_shows_it_and_we_are_not(name, index, level):
    model = next(model for model in MODELS if model.name == name)
    exact = float64_run(model.path, list(model.runs())[index])
    theirs = outputs_of(onnxruntime, model, "ORT_ENABLE_ALL")[index]
    ours = outputs_of(sardonyx, model, level)[index]
    faults = {output: distance(theirs[output], want) for output, want in exact.items()}
    assert any(error > TOLERANCE * largest for error, largest in faults.values()), f"no fault: {faults}"
    for output, want in exact.items():
        error, largest = distance(ours[output], want)
        assert error <= TOLERANCE * largest, f"{output} differs by {error:.3g}, with values up to {largest:.3g}"


def test_no_model_of_the_packages_is_left_out():
    found = {path for package in ("magika", "silero_vad", "rapidocr") for path in zoo.package(package).rglob("*.onnx")}
    found |= set(zoo.light_path("*").parent.glob("light_*.onnx"))
    assert found == {model.path for model in MODELS}


def test_the_voice_is_heard_and_the_pause_too():
    """The comparison means something only if the models tell speech from silence on this signal."""
    model = next(model for model in MODELS if model.name == "silero_16k")
    probabilities = [run["output"].item() for run in outputs_of(sardonyx, model, "ORT_ENABLE_ALL")]
    third = len(probabilities) // 3
    assert max(probabilities[:third]) > 0.5
    assert min(probabilities[third + 2:2 * third]) < 0.1


@pytest.mark.parametrize("name", zoo.LIGHT)
def test_light_models_give_the_output_that_onnx_ships(name):
    import onnx

    model = next(model for model in MODELS if model.name == f"light_{name}")
    expected = onnx.TensorProto()
    expected.ParseFromString(pathlib.Path(str(model.path)[:-5] + "_output_0.pb").read_bytes())
    want = onnx.numpy_helper.to_array(expected)
    feeds = next(iter(model.runs()))
    (got,) = session(sardonyx, model.path, "ORT_ENABLE_ALL").run(None, feeds)
    assert_close(got, want, name)
