"""Twelve models of the zoo, quantized by both tools with the same ranges: equal operators, weights, zero points and
scales.

Ranges are read from values that each runtime computes, and in deep networks those of floats differ by more than 1e-6
(float64_ranges.py: each as far from the exact ones as from the other). Therefore the ranges that one tool measured are
given to both, through the file that both read: what is compared then is the tools. That the calibrators find the same
ranges in the same values is shown in tests/quantization/test_calibrate.py."""
import logging
import pathlib
import sys

import model_zoo
import onnx
import pytest
import quantized_forms

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "quantization"))
from quantized_models import assert_same, contents  # noqa: E402

MODELS = ("keyword_stft", "keras_lstm_text", "mobilenet_v3_large", "efficientnet_b0", "regnet_y_400mf", "resnet50",
          "shufflenet_v2_x1_0", "densenet121", "yolov8n", "whisper_tiny_encoder", "minilm_l6", "mobilevitv2_050")
# Arguments other than the defaults, a set for each model in turn.
ARGUMENTS = (
    {"per_channel": True}, {"reduce_range": True}, {"activation_type": "QUInt8", "weight_type": "QUInt8"},
    {"activation_type": "QInt16", "extra_options": {"ActivationSymmetric": True}},
    {"extra_options": {"WeightSymmetric": False}}, {"op_types_to_quantize": ["Conv", "MatMul", "Gemm"]},
    {"extra_options": {"MinimumRealRange": 1.0}}, {"extra_options": {"DedicatedQDQPair": True}},
    {"extra_options": {"AddQDQPairToWeight": True}}, {"extra_options": {"QuantizeBias": False}},
    {"extra_options": {"QDQKeepRemovableActivations": True}}, {"extra_options": {"MatMulConstBOnly": True}})


def made_by(library, source, path, ranges, arguments):
    """Quantizes with the ranges in a file, which is written where it is not there."""
    tool = quantized_forms.quantization(library)
    given = {key: tool.QuantType[value] if key.endswith("_type") else value for key, value in arguments.items()}
    name = pathlib.Path(source).stem
    reader = quantized_forms.Reader([model_zoo.inputs(name, seed=1)]) if not ranges.exists() else None
    logging.getLogger().setLevel(logging.ERROR)
    tool.quantize_static(source, str(path), reader, calibration_cache_path=str(ranges), **given)


@pytest.mark.skipif(not model_zoo.present(), reason=model_zoo.why_absent())
@pytest.mark.parametrize("measured_by", ["sardonyx", "onnxruntime"])
@pytest.mark.parametrize("name", MODELS)
def test_tools_make_the_same_of_the_same_ranges(tmp_path, name, measured_by):
    source, number = str(model_zoo.path(name)), MODELS.index(name)
    ranges, paths = tmp_path / "ranges.json", {"ours": tmp_path / "ours.onnx", "peer": tmp_path / "peer.onnx"}
    libraries = {"ours": "sardonyx", "peer": "onnxruntime"}
    for tool in sorted(libraries, key=lambda tool: libraries[tool] != measured_by):
        made_by(libraries[tool], source, paths[tool], ranges, ARGUMENTS[number])
    paths = {tool: str(path) for tool, path in paths.items()}
    assert_same(paths)
    assert contents(paths["ours"])[0]["", "QuantizeLinear"] > 0
    onnx.checker.check_model(paths["ours"])
