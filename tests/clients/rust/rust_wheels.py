"""Python: three packages whose core is written in Rust and loads the library that lies in the package onnxruntime."""
import json
import shutil

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper
import transformers_small
from client import PROGRAMS, STOCK_VERSION, compare_printed, make_venv

PACKAGES = {"embroider": "0.3.3", "koredact": "0.5.0", "onnx-genai": "0.1.0.dev6"}
NAME = "Rust in Python: " + ", ".join(PACKAGES)
VERSION = ", ".join(PACKAGES.values())
KIND = "package"
RUNS = "vectors, masked texts and generated words of small random models, compared with stock's"
TYPES = ("NAME", "PHONE", "EMAIL")
LABELS = ["O", *(f"{place}-{kind}" for kind in TYPES for place in "BI")]
DECODER = {"type": "llama", "bos_token_id": 2, "eos_token_id": 3, "pad_token_id": 0, "context_length": 64,
           "vocab_size": len(transformers_small.WORDS), "decoder": {
               "filename": "model.onnx", "head_size": 8, "hidden_size": 16, "num_attention_heads": 2,
               "num_key_value_heads": 2, "num_hidden_layers": 1, "session_options": {},
               "inputs": {"input_ids": "input_ids", "attention_mask": "attention_mask", "position_ids": "position_ids",
                          "past_key_names": "past_key_values.%d.key", "past_value_names": "past_key_values.%d.value"},
               "outputs": {"logits": "logits", "present_key_names": "present.%d.key",
                           "present_value_names": "present.%d.value"}}}


def widen(task, name, size):
    """The model of a task with `size` numbers for each word in its output `name`."""
    made = transformers_small.model(task, transformers_small.weights())
    made.graph.node[-1].output[0] = "narrow"
    narrow = transformers_small.LABELS if task == "token-classification" else transformers_small.WIDTH
    wide = np.random.default_rng(3).normal(size=(narrow, size)).astype(np.float32)
    made.graph.initializer.append(onnx.numpy_helper.from_array(wide, "wide_weights"))
    made.graph.node.append(onnx.helper.make_node("MatMul", ["narrow", "wide_weights"], [name]))
    made.graph.output[0].type.tensor_type.shape.dim[2].dim_value = size
    return made


def install(place):
    make_venv(place, f"onnxruntime=={STOCK_VERSION}", "onnx",
              *(f"{name}=={version}" for name, version in PACKAGES.items()))
    small = place / "small"
    transformers_small.make(small)
    for name, task in (("vectors", "feature-extraction"), ("masks", "token-classification"),
                       ("words", "text-generation")):
        shutil.copytree(small / task, place / name)
    onnx.save(widen("feature-extraction", "last_hidden_state", 1024), str(place / "vectors/model.onnx"))
    onnx.save(widen("token-classification", "logits", len(LABELS)), str(place / "masks/onnx/model.onnx"))
    labels = {"id2label": dict(enumerate(LABELS)), "label2id": {name: k for k, name in enumerate(LABELS)}}
    (place / "masks/config.json").write_text(json.dumps(transformers_small.BERT | labels))
    (place / "words/genai_config.json").write_text(json.dumps({"model": DECODER, "search": {"max_length": 40}}))


def run(place, side):
    results = {}
    for name in PACKAGES:
        kept = place / f"kept_{name}"
        kept.mkdir(exist_ok=True)
        results |= compare_printed(kept, side, place / "venv/bin/python", PROGRAMS / "rust/rust_wheels_program.py",
                                   place, name, cwd=place)
    return results
