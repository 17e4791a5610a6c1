"""A tiny random language model of bytes, with its tokenizer, in a folder as onnxruntime-genai's builder writes it.

benchmarks/llm_models.py writes the model as the builder would.
"""
import json
import pathlib
import sys

import tokenizers

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "benchmarks"))
import llm_models  # noqa: E402

BYTES = 256  # a token for each byte
SHAPE = llm_models.Shape("tiny", 32, 64, 2, 4, 2, BYTES + 4, 10000.0)


def write_model(path):
    llm_models.OnnxWriter(SHAPE, "fp32").write(path)


def make_tokenizer():
    """Tokens are bytes, so that characters beyond ASCII take several."""
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    made = tokenizers.Tokenizer(tokenizers.models.BPE(vocab={c: i for i, c in enumerate(alphabet)}, merges=[]))
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    return made


def as_genai(folder, shares, ends=None):
    decoder = {
        "filename": "model.onnx",
        "inputs": {
            "input_ids": "input_ids",
            "attention_mask": "attention_mask",
            "past_key_names": "past_key_values.%d.key",
            "past_value_names": "past_key_values.%d.value",
        },
        "outputs": {
            "logits": "logits",
            "present_key_names": "present.%d.key",
            "present_value_names": "present.%d.value",
        },
    }
    config = {
        "model": {"decoder": decoder, "eos_token_id": ends, "type": "llama"},
        "search": {"past_present_share_buffer": shares},
    }
    (folder / "genai_config.json").write_text(json.dumps(config))
    return folder
