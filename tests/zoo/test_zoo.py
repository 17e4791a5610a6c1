"""tests/zoo/test_zoo.py - compares models of every family of the zoo with ONNX Runtime; `make test-zoo` compares all.

Needs ../shared/zoo. The weights of the selection take about 1.3 GB in the folder SDX_ZOO (or build/zoo).
To add a model to the selection, add its name to SELECTION.
"""
import math
import re

import compare_values
import model_zoo
import numpy as np
import optimized_models
import pytest
import rounding
import run_zoo
import zoo_cases

SELECTION = {
    "audio": ["keyword_stft", "hifigan_v2"],
    "cnn": ["mobilenet_v3_large", "shufflenet_v2_x1_0", "keras_mobilenet_v2"],
    "decoder": ["t5_small_decoder"],
    "detection": ["ssdlite320_mobilenet_v3_large", "yolov8n_seg_nms"],
    "diffusion": ["sd_vae_decoder_small"],
    "fp16": ["resnet50_fp16"],
    "fused": ["bert_base_fused"],
    "quantized": ["mobilenet_v3_int8_qdq", "minilm_int8_qdq", "llama_135m_genai_int4"],
    "rnn": ["gru_denoiser", "keras_loop_rnn", "keras_lstm_text", "speech_bilstm"],
    "segmentation": ["deeplabv3_mobilenet_v3_large"],
    "tabular": ["lightgbm_500", "sk_column_pipeline", "sk_gaussian_process", "sk_isolation_forest", "sk_knn",
                "sk_random_forest", "sk_tfidf_logistic", "xgboost_500"],
    "transformer-encoder": ["minilm_l6"],
    "vision-transformer": ["fastvit_t8", "mobilevitv2_050"],
}
MODELS = [name for names in SELECTION.values() for name in names]

needs_zoo = pytest.mark.skipif(not model_zoo.present(), reason=model_zoo.why_absent())


def assert_good(rows):
    problems = [f"{row['model']}, {row['level']}, {row['isa']}, {row['size']}, '{row['output']}': {row['problem']}"
                for row in rows if row["problem"]]
    assert not problems, "\n".join(problems)
    assert rows


@needs_zoo
@pytest.mark.parametrize("name", MODELS)
def test_outputs_are_those_of_onnx_runtime(name):
    assert_good(run_zoo.check(name))


@needs_zoo
@pytest.mark.parametrize("isa", run_zoo.ISAS)
@pytest.mark.parametrize("family", SELECTION)
def test_lower_instruction_sets_give_the_same(family, isa):
    assert_good(run_zoo.check(SELECTION[family][0], isa, ["ORT_ENABLE_ALL"], first_size_only=True))


@needs_zoo
@pytest.mark.parametrize("name", ["keyword_stft", "mobilenet_v3_large", "minilm_l6", "sk_knn"])
def test_optimized_models_are_small_and_compute_the_same(name):
    assert not optimized_models.verdict(optimized_models.run_one(name, ["nodes", "values"]))


@needs_zoo
@pytest.mark.parametrize("name", ["gru_denoiser", "keras_loop_rnn", "keyword_stft", "minilm_l6",
                                  "mobilenet_v3_int8_qdq", "mobilenet_v3_large", "resnet50_fp16", "sk_knn"])
def test_saved_models_load_again_and_without_optimizations_every_node_runs(name):
    assert not optimized_models.verdict(optimized_models.run_one(name, ["saved", "profile"]))


@needs_zoo
def test_every_family_is_in_the_selection():
    assert sorted(SELECTION) == model_zoo.families()
    for family, names in SELECTION.items():
        assert {model_zoo.entries()[name]["family"] for name in names} == {family}


@needs_zoo
def test_every_model_with_dynamic_axes_has_two_other_sizes():
    import onnx

    for name in model_zoo.entries():
        graph = onnx.load(str(model_zoo.SOURCE / "models" / f"{name}.onnx"), load_external_data=False).graph
        weights = {initializer.name for initializer in graph.initializer}
        dynamic = any(dim.WhichOneof("value") != "dim_value" for port in graph.input if port.name not in weights
                      for dim in port.type.tensor_type.shape.dim)
        assert len(model_zoo.sizes(name)) >= (3 if dynamic else 1), name


def test_tolerances_above_the_default_say_why():
    for name, tolerance in zoo_cases.tolerances().items():
        assert tolerance.reason, name
        assert tolerance.error >= zoo_cases.DEFAULT and math.isfinite(tolerance.error), name


def test_all_tolerances_are_measured_with_one_number_of_seeds():
    rule = f"{zoo_cases.SEEDS} seeds"
    header = zoo_cases.TOLERANCES.read_text().splitlines()[0]
    assert header.startswith("#") and f"every row with {rule}" in header
    for name, tolerance in zoo_cases.tolerances().items():
        assert re.findall(r"(\d+ seeds)\)$", tolerance.reason) == [rule], name


def test_tolerances_are_not_written_from_another_number_of_seeds(capsys, monkeypatch):
    monkeypatch.setattr(rounding.model_zoo, "select", lambda _: pytest.fail("it began to measure"))
    monkeypatch.setattr("sys.argv", ["rounding.py", "--write", "--seeds", str(zoo_cases.SEEDS + 1)])
    with pytest.raises(SystemExit):
        rounding.main()
    assert f"measured with {zoo_cases.SEEDS} seeds" in capsys.readouterr().err


# ---- The comparison finds what is wrong ----


def problem(got, want):
    return compare_values.compare(got, want).problem


@pytest.mark.parametrize(("got", "want", "words"), [
    (np.zeros(2, np.float32), np.zeros(3, np.float32), r"float32\[3\], found float32\[2\]"),
    (np.zeros(2, np.float64), np.zeros(2, np.float32), "float64"),
    (np.array([1, 2]), np.array([1, 3]), "1 of 2 elements differ"),
    (np.array(["a"], object), np.array(["b"], object), "1 of 1 elements differ"),
    (np.array([np.nan, 1.0]), np.array([1.0, np.nan]), "NaN"),
    (np.array([np.inf, 1.0]), np.array([-np.inf, 1.0]), "infinity"),
    ([1.0], [1.0, 2.0], "a sequence of 2"),
    ([{"a": 1.0}], [{"b": 1.0}], "a map with the keys"),
])
def test_what_has_no_distance_must_be_equal(got, want, words):
    assert re.search(words, problem(got, want))


def test_an_error_is_relative_to_the_largest_finite_value_of_the_output():
    want = np.array([100.0, np.inf, 0.0])
    assert compare_values.compare(np.array([100.0, np.inf, 0.5]), want).error == pytest.approx(0.005)
    maps = compare_values.compare([{"a": 2.0, "b": 10.0}], [{"a": 2.5, "b": 10.0}])
    assert maps.error == pytest.approx(0.05)


def detections(*rows):
    boxes, labels, scores = zip(*rows, strict=True)
    return {"boxes": np.array(boxes, np.float32), "labels": np.array(labels), "scores": np.array(scores, np.float32)}


def test_detections_are_a_set():
    first, second = ([0, 0, 10, 10], 1, 0.9), ([5, 5, 20, 20], 2, 0.9)
    same = compare_values.compare_outputs(detections(second, first), detections(first, second))["detections"]
    assert (same.error, same.unmatched) == (0.0, 0)
    other_label = compare_values.compare_outputs(detections(first, (second[0], 3, 0.9)), detections(first, second))
    assert other_label["detections"].unmatched == 2
    moved = compare_values.compare_outputs(detections(first, ([5, 5, 20, 19], 2, 0.9)), detections(first, second))
    assert moved["detections"].error == pytest.approx(0.05)
    fewer = compare_values.compare_outputs(detections(first), detections(first, second))
    assert fewer["detections"].unmatched == 1
