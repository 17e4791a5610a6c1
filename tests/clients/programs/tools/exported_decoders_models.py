"""Makes small random language models and exports them with a cache, in the spellings of several exporters.

usage: exported_decoders_models.py FOLDER [NAME,...] [EXPORTER,...]"""
import pathlib
import sys

import torch
import transformers as t

LAYERS, WINDOW, WORDS = 2, 6, 199
TOKENS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
LLAMA = {"vocab_size": WORDS, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": LAYERS,
         "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 256} | TOKENS
GEMMA = LLAMA | {"head_dim": 16, "query_pre_attn_scalar": 16, "sliding_window": WINDOW}
CONFIGS = {
    "llama": lambda: t.LlamaConfig(**LLAMA),
    "qwen2": lambda: t.Qwen2Config(**LLAMA),
    "qwen3": lambda: t.Qwen3Config(**LLAMA, head_dim=16),
    "gemma2": lambda: t.Gemma2Config(**GEMMA, attn_logit_softcapping=5.0, final_logit_softcapping=3.0),
    "gemma3": lambda: t.Gemma3TextConfig(**GEMMA, layer_types=["sliding_attention", "full_attention"]),
    "phi3": lambda: t.Phi3Config(**LLAMA, sliding_window=WINDOW),
    "phi4": lambda: t.Phi3Config(**LLAMA, partial_rotary_factor=0.75, original_max_position_embeddings=256),
    "mistral": lambda: t.MistralConfig(**LLAMA, head_dim=16, sliding_window=WINDOW),
    "smollm": lambda: t.LlamaConfig(**(LLAMA | {"hidden_size": 96, "num_attention_heads": 6}),
                                    tie_word_embeddings=True),
    "smollm3": lambda: t.SmolLM3Config(**LLAMA, no_rope_layers=[1, 0]),
    "gpt2": lambda: t.GPT2Config(vocab_size=WORDS, n_embd=64, n_head=4, n_layer=LAYERS, n_positions=256, **TOKENS),
}
# Those whose head sizes and rotations the builder takes.
FOR_BUILDER = ("llama", "qwen2", "qwen3", "gemma2", "gemma3", "mistral")
WHISPER = {"vocab_size": WORDS, "d_model": 64, "encoder_layers": LAYERS, "decoder_layers": LAYERS,
           "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128,
           "max_target_positions": 64, "decoder_start_token_id": 1, "suppress_tokens": None,
           "begin_suppress_tokens": None} | TOKENS
T5 = {"vocab_size": WORDS, "d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": LAYERS, "num_heads": 4,
      "pad_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 0}
WITH_ENCODERS = {
    "whisper": (lambda: t.WhisperConfig(**WHISPER), t.WhisperForConditionalGeneration,
                "automatic-speech-recognition-with-past"),
    "t5": (lambda: t.T5Config(**T5), t.T5ForConditionalGeneration, "text2text-generation-with-past"),
}


def randomized(model):
    """Weights of a size at which no result is lost in others."""
    torch.manual_seed(1)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() > 1:
                weight.normal_(0, 0.12)
            elif "bias" in name:
                weight.normal_(0, 0.1)
            else:
                weight.add_(0.1 * torch.randn_like(weight))
    return model.eval()


def decoder(name, attention):
    return randomized(t.AutoModelForCausalLM.from_config(CONFIGS[name](), attn_implementation=attention))


class WithCache(torch.nn.Module):
    """The model with its cache as a list of tensors. The older exporter cannot trace how transformers makes masks now:
    for it, they are made as transformers made them until version 4.47."""

    def __init__(self, model, makes_mask):
        super().__init__()
        self.model, self.makes_mask = model, makes_mask

    def forward(self, input_ids, attention_mask, position_ids, past):
        if self.makes_mask:
            from transformers.modeling_attn_mask_utils import _prepare_4d_causal_attention_mask
            attention_mask = _prepare_4d_causal_attention_mask(attention_mask, input_ids.shape, past[0],
                                                               past[0].shape[2])
        cache = t.DynamicCache.from_legacy_cache(tuple(zip(past[::2], past[1::2], strict=True)))
        found = self.model(input_ids=input_ids, attention_mask=attention_mask, position_ids=position_ids,
                           past_key_values=cache, use_cache=True)
        return found.logits, *(part for pair in found.past_key_values.to_legacy_cache() for part in pair)


def export_by_torch(name, attention, path, dynamo, opset, half):
    model = decoder(name, attention)
    if half:
        model = model.half()
    config = model.config
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    parts = [f"{layer}.{part}" for layer in range(LAYERS) for part in ("key", "value")]
    batch, new, past = 2, 3, 5
    example = (torch.randint(3, WORDS, (batch, new)), torch.ones(batch, past + new, dtype=torch.int64),
               torch.arange(past, past + new)[None].repeat(batch, 1),
               [torch.randn(batch, heads, past, size, dtype=model.dtype) for _ in parts])
    rows = {"input_ids": {0: "batch", 1: "sequence"}, "attention_mask": {0: "batch", 1: "total"},
            "position_ids": {0: "batch", 1: "sequence"}}
    cache = {0: "batch", 2: "past"}
    options = {"input_names": [*rows, *(f"past_key_values.{part}" for part in parts)],
               "output_names": ["logits", *(f"present.{part}" for part in parts)], "opset_version": opset,
               "dynamo": dynamo}
    if dynamo:
        options |= {"dynamic_shapes": rows | {"past": [cache] * len(parts)}, "external_data": False, "verbose": False}
    else:
        options["dynamic_axes"] = rows | {"logits": {0: "batch", 1: "sequence"}}
        options["dynamic_axes"] |= {f"past_key_values.{part}": cache for part in parts}
        options["dynamic_axes"] |= {f"present.{part}": {0: "batch", 2: "total"} for part in parts}
    with torch.no_grad():
        torch.onnx.export(WithCache(model, not dynamo), example, str(path), **options)


class Prompt(torch.nn.Module):
    """Mamba over a whole prompt: the exporters unroll its scan."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids):
        return self.model(input_ids=input_ids, use_cache=False).logits


class Step(Prompt):
    """Mamba's step, with the states of its convolutions and of its scan."""

    def forward(self, input_ids, conv, scan):
        from transformers.models.mamba.modeling_mamba import MambaCache
        cache = MambaCache(self.model.config, input_ids.shape[0], dtype=torch.float32, device="cpu")
        cache.conv_states, cache.ssm_states = list(conv.unbind()), list(scan.unbind())
        found = self.model(input_ids=input_ids, cache_params=cache, use_cache=True, cache_position=torch.arange(4, 5))
        return found.logits, torch.stack(list(cache.conv_states)), torch.stack(list(cache.ssm_states))


def export_mamba(folder, dynamo):
    batch, inner, kernel, states = 2, 128, 4, 8
    model = randomized(t.MambaForCausalLM(t.MambaConfig(
        vocab_size=WORDS, hidden_size=64, state_size=states, num_hidden_layers=LAYERS, conv_kernel=kernel,
        use_mambapy=False, **TOKENS)))
    words = torch.randint(3, WORDS, (batch, 7))
    cache = (torch.randn(LAYERS, batch, inner, kernel), torch.randn(LAYERS, batch, inner, states))
    options = {"dynamo": dynamo, "opset_version": 18} | ({"external_data": False, "verbose": False} if dynamo else {})
    with torch.no_grad():
        torch.onnx.export(Prompt(model), (words,), str(folder / "prompt.onnx"), input_names=["input_ids"], **options)
        torch.onnx.export(Step(model), (words[:, :1], *cache), str(folder / "step.onnx"),
                          input_names=["input_ids", "conv", "scan"], output_names=["logits", "conv_out", "scan_out"],
                          **options)


def export_by_optimum(model, folder, task):
    from optimum.exporters.onnx import onnx_export_from_model
    onnx_export_from_model(model, folder, task=task, do_validation=False)


def save_for_builder(model, source):
    from tokenizers import Tokenizer, models
    model.generation_config = t.GenerationConfig(**TOKENS)
    model.save_pretrained(source)
    words = Tokenizer(models.WordLevel({f"w{number}": number for number in range(WORDS)}, unk_token="w3"))
    t.PreTrainedTokenizerFast(tokenizer_object=words, pad_token="w0", bos_token="w1",
                              eos_token="w2").save_pretrained(source)


def export_by_builder(name, path):
    from onnxruntime_genai.models.builder import create_model
    folder = path.with_suffix("")
    source = folder / "source"
    save_for_builder(decoder(name, "eager"), source)
    create_model("", str(source), str(folder), "fp32", "cpu", str(folder / "cache"))
    (folder / "model.onnx").rename(path)
    (folder / "model.onnx.data").rename(path.parent / "model.onnx.data")


def export(name, exporter, place):
    path = place / exporter / name / "model.onnx"
    path.parent.mkdir(parents=True, exist_ok=True)
    attention = "eager" if exporter.endswith("eager") else "sdpa"
    if name == "mamba":
        export_mamba(path.parent, exporter == "dynamo")
    elif exporter.startswith("optimum") and name in WITH_ENCODERS:
        config, kind, task = WITH_ENCODERS[name]
        model = randomized(kind._from_config(config(), attn_implementation="eager"))
        model.generation_config = t.GenerationConfig(**TOKENS, decoder_start_token_id=1)
        export_by_optimum(model, path.parent, task)
    elif exporter.startswith("optimum"):
        export_by_optimum(decoder(name, attention), path.parent, "text-generation-with-past")
    elif exporter == "builder":
        export_by_builder(name, path)
    elif exporter.startswith("torchscript"):
        export_by_torch(name, attention, path, False, 17, exporter.endswith("half"))
    else:
        export_by_torch(name, attention, path, True, 23 if exporter == "dynamo_23" else 18, exporter.endswith("half"))


IN_HALF = ("llama", "gemma3", "gpt2")
EXPORTERS = {"optimum": [*CONFIGS, *WITH_ENCODERS], "optimum_eager": CONFIGS, "dynamo": [*CONFIGS, "mamba"],
             "dynamo_23": CONFIGS, "dynamo_eager": CONFIGS, "torchscript": [*CONFIGS, "mamba"],
             "torchscript_eager": CONFIGS, "builder": FOR_BUILDER, "dynamo_half": IN_HALF, "torchscript_half": IN_HALF}


def main(place, names="", exporters=""):
    t.logging.set_verbosity_error()
    for exporter in exporters.split(",") if exporters else EXPORTERS:
        for name in names.split(",") if names else EXPORTERS[exporter]:
            export(name, exporter, pathlib.Path(place))


if __name__ == "__main__":
    main(*sys.argv[1:])
