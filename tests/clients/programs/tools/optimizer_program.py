"""Optimizes and quantizes a model with optimum and sentence-transformers, and prints what the results compute.

usage: optimizer_program.py MODELS FOLDER    (what optimizer_models.py made; where the results are written)"""
import os
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime  # noqa: F401
import transformers as t
from optimum.onnxruntime import ORTModelForFeatureExtraction, ORTOptimizer, ORTQuantizer
from optimum.onnxruntime.configuration import (
    AutoCalibrationConfig,
    AutoOptimizationConfig,
    AutoQuantizationConfig,
    OptimizationConfig,
)
from sentence_transformers import (
    SentenceTransformer,
    export_dynamic_quantized_onnx_model,
    export_optimized_onnx_model,
)

t.logging.set_verbosity_error()
TEXTS = ["the cat sat on the mat .", "who is my dog ?"]


def say(name, values):
    print(f"result {name}: {' '.join(f'{value:.4f}' for value in np.asarray(values, np.float64).ravel()[:24])}",
          flush=True)


def outputs(folder, file_name, tokenizer):
    model = ORTModelForFeatureExtraction.from_pretrained(folder, file_name=file_name)
    return model(**tokenizer(TEXTS, padding=True, return_tensors="pt")).last_hidden_state.detach().numpy()[:, 0]


def is_fused(path):
    counts = ORTOptimizer.get_fused_operators(str(path))
    attention = counts.get("Attention", 0) + counts.get("MultiHeadAttention", 0)
    return int(attention > 0), int(sum(counts.get(one, 0) for one in ("BiasGelu", "Gelu", "FastGelu")))


def optimized(models, place, tokenizer):
    for level in ("O1", "O2", "O3"):
        ORTOptimizer.from_pretrained(models / "bert").optimize(getattr(AutoOptimizationConfig, level)(), place / level)
        say(f"{level} outputs", outputs(place / level, "model_optimized.onnx", tokenizer))
        fewer = ORTOptimizer.get_nodes_number_difference(str(models / "bert/model.onnx"),
                                                         str(place / level / "model_optimized.onnx"))
        say(f"{level} has fewer nodes", [int(fewer > 0)])
    say("O2 fused", is_fused(place / "O2/model_optimized.onnx"))
    config = AutoOptimizationConfig.O4(for_gpu=False)
    ORTOptimizer.from_pretrained(models / "bert").optimize(config, place / "O4")
    half = onnx.load(place / "O4/model_optimized.onnx")
    say("O4 has weights of half precision", [int(any(one.data_type == 10 for one in half.graph.initializer))])
    far = outputs(place / "O4", "model_optimized.onnx", tokenizer) - outputs(models / "bert", "model.onnx", tokenizer)
    say("O4 keeps the outputs", [int(np.abs(far).max() < 0.02)])
    config = OptimizationConfig(optimization_level=1, enable_transformers_specific_optimizations=True,
                                disable_attention_fusion=True)
    ORTOptimizer.from_pretrained(models / "bert").optimize(config, place / "options")
    say("without attention", [is_fused(place / "options/model_optimized.onnx")[0]])


def quantized(models, place, tokenizer):
    dynamic = AutoQuantizationConfig.avx2(is_static=False, per_channel=False)
    ORTQuantizer.from_pretrained(models / "bert").quantize(save_dir=place / "dynamic", quantization_config=dynamic)
    want = outputs(models / "bert", "model.onnx", tokenizer)
    got = outputs(place / "dynamic", "model_quantized.onnx", tokenizer)
    say("dynamic quantization keeps the outputs", [int(np.abs(got - want).max() < 0.2)])
    quantizer = ORTQuantizer.from_pretrained(models / "bert")
    static = AutoQuantizationConfig.arm64(is_static=True, per_channel=False)
    from datasets import Dataset

    data = Dataset.from_list([dict(tokenizer(text, padding="max_length", max_length=12)) for text in TEXTS * 4])
    ranges = quantizer.fit(data, AutoCalibrationConfig.minmax(data), operators_to_quantize=static.operators_to_quantize)
    quantizer.quantize(save_dir=place / "static", quantization_config=static, calibration_tensors_range=ranges)
    got = outputs(place / "static", "model_quantized.onnx", tokenizer)
    say("static quantization keeps the outputs", [int(np.abs(got - want).max() < 0.5)])


def sentences(models, place):
    model = SentenceTransformer(str(models / "sentences"), backend="onnx",
                                model_kwargs={"provider": "CPUExecutionProvider", "file_name": "model.onnx"})
    say("sentences", model.encode(TEXTS))
    export_optimized_onnx_model(model, "O3", str(place / "sentences"))
    export_dynamic_quantized_onnx_model(model, "avx2", str(place / "sentences"))
    for path in sorted((place / "sentences/onnx").glob("*.onnx")):
        say(f"exported {path.stem}", [len(onnx.load(path).graph.node) > 0])


def main():
    models, place = (pathlib.Path(name).resolve() for name in sys.argv[1:])
    os.chdir(place)  # calibration writes a model here
    tokenizer = t.AutoTokenizer.from_pretrained(models / "bert")
    optimized(models, place, tokenizer)
    quantized(models, place, tokenizer)
    sentences(models, place)


if __name__ == "__main__":
    main()
