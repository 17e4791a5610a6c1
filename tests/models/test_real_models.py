"""Real models give what ONNX Runtime gives: within 1e-4 of the largest output value, optimizations off and on.

The reference runs without optimizations, as the model is written: with them, ONNX Runtime is itself off by up to 1e-4
(recognition, a batch of three).
"""
import pathlib

import numpy as np
import onnxruntime
import pytest
import sardonyx
import zoo

LEVELS = ("ORT_DISABLE_ALL", "ORT_ENABLE_ALL")
MODELS = zoo.models()
TOLERANCE = 1e-4


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
        doubled = model.doubled_reference and engine is onnxruntime
        if doubled:
            feeds = {name: np.concatenate([value, value]) for name, value in feeds.items()}
        outputs = running.run(None, feeds)
        outputs = [output[: len(output) // 2] for output in outputs] if doubled else outputs
        results.append(dict(zip(names, outputs, strict=True)))
    return results


def assert_close(got, want, where):
    assert got.dtype == want.dtype and got.shape == want.shape, (where, got.dtype, got.shape, want.dtype, want.shape)
    assert np.isfinite(want).all(), f"{where}: the reference is not finite, so nothing can be compared"
    largest = np.abs(want).max()
    error = np.abs(got.astype(np.float64) - want.astype(np.float64)).max()
    assert error <= TOLERANCE * largest, f"{where}: differs by {error:.3g}, with values up to {largest:.3g}"


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("model", MODELS, ids=[model.name for model in MODELS])
def test_outputs_are_those_of_onnx_runtime(model, level):
    want = outputs_of(onnxruntime, model, "ORT_DISABLE_ALL")
    got = outputs_of(sardonyx, model, level)
    for index, (ours, theirs) in enumerate(zip(got, want, strict=True)):
        for name, value in theirs.items():
            assert_close(ours[name], value, f"{model.name}, {level}, run {index}, output '{name}'")


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
