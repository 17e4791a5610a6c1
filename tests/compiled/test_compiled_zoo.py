"""Real models give the same bits when they are compiled: those of the installed packages, and some of the zoo."""
import importlib.util
import pathlib

import model_zoo
import numpy as np
import pytest
import sardonyx

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Loops, recurrences, detections, 8 and 4 bits, float16. benchmarks/compiled.py has larger ones.
ZOO = ["keras_loop_rnn", "speech_bilstm", "gru_denoiser", "ssdlite320_mobilenet_v3_large", "yolov8n_seg_nms",
       "minilm_int8_qdq", "mobilenet_v3_int8_qdq", "llama_135m_genai_int4", "resnet50_fp16", "t5_small_decoder",
       "sk_column_pipeline", "lightgbm_500"]


def packaged():
    """tests/models/zoo.py, by its path: there are two modules of this name."""
    spec = importlib.util.spec_from_file_location("packaged_models", ROOT / "tests/models/zoo.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.models()


PACKAGED = packaged()


def open_both(path, folder):
    """The session of the model and the one of the compiled model, which says nothing when it is created."""
    options = sardonyx.SessionOptions()
    options.log_severity_level = 3
    options.optimized_model_filepath = str(folder / "compiled.sdx")
    plain = sardonyx.InferenceSession(str(path), options)
    return plain, sardonyx.InferenceSession(str(folder / "compiled.sdx"))


def same(one, other):
    if isinstance(one, np.ndarray):
        if one.dtype == object:
            return one.tolist() == other.tolist()
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


def assert_same_runs(path, feeds, folder, capfd):
    capfd.readouterr()
    sessions = open_both(path, folder)
    assert "packed again" not in capfd.readouterr().err
    ports = [[(port.name, port.type, port.shape) for port in [*each.get_inputs(), *each.get_outputs()]]
             for each in sessions]
    assert ports[0] == ports[1]
    names = [port.name for port in sessions[0].get_outputs()]
    results = {}
    for run in feeds:
        feed = {name: results[value[1:]] if isinstance(value, str) else value for name, value in run.items()}
        want, got = (each.run(None, feed) for each in sessions)
        assert all(map(same, want, got)), [name for name, a, b in zip(names, want, got, strict=True) if not same(a, b)]
        results = dict(zip(names, want, strict=True))


@pytest.mark.parametrize("model", PACKAGED, ids=[model.name for model in PACKAGED])
def test_models_of_packages(model, tmp_path, capfd):
    assert_same_runs(model.path, model.runs(), tmp_path, capfd)


@pytest.mark.skipif(not model_zoo.present(), reason=model_zoo.why_absent())
@pytest.mark.parametrize("name", ZOO)
def test_models_of_the_zoo(name, tmp_path, capfd):
    assert_same_runs(model_zoo.path(name), [model_zoo.inputs(name)], tmp_path, capfd)
