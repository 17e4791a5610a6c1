"""Makes small random language models with transformers 5, whose caches and masks are others than those of version 4,
and exports them by torch's exporters and genai's builder: the models of exported_decoders_models.py.

usage: exported_decoders_newer_models.py FOLDER [NAME,...] [EXPORTER,...]

Exporters and models besides those of EXPORTERS can be named: the same with _eager, dynamo_23, all of CONFIGS."""
import pathlib
import subprocess
import sys

import exported_decoders_models as older
import torch
import transformers as t
from transformers.cache_utils import DynamicLayer

LAYERS = older.LAYERS
CONFIGS = older.CONFIGS | {
    "phi4": lambda: t.Phi3Config(**older.LLAMA, original_max_position_embeddings=256, rope_parameters={
        "rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.75}),
    "gpt_oss": lambda: t.GptOssConfig(
        **older.LLAMA, head_dim=16, sliding_window=older.WINDOW, num_local_experts=4, num_experts_per_tok=2,
        layer_types=["sliding_attention", "full_attention"],
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0}),
}
EXPORTERS = {"dynamo": ["llama", "gemma3", "gpt2", "gpt_oss", "whisper", "t5"],
             "torchscript": ["llama", "gemma3", "gpt2", "gpt_oss", "phi4", "whisper", "t5"], "builder": ["llama"]}
EAGER_ONLY = ("gemma2", "gpt_oss")


def cache_of(parts):
    """A cache that holds these keys and values as they are, for all positions."""
    cache = t.DynamicCache()
    cache.layers = [DynamicLayer() for _ in parts[::2]]
    for layer, key, value in zip(cache.layers, parts[::2], parts[1::2], strict=True):
        layer.lazy_initialization(key, value)
        layer.keys, layer.values = key, value
    return cache


def parts_of(cache):
    return [part for layer in cache.layers for part in (layer.keys, layer.values)]


class WithCache(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, position_ids, past):
        found = self.model(input_ids=input_ids, attention_mask=attention_mask, position_ids=position_ids,
                           past_key_values=cache_of(past), use_cache=True)
        return found.logits, *parts_of(found.past_key_values)


class BesideEncoder(torch.nn.Module):
    """A decoder that finds the keys and values of the encoder in its cache."""

    def __init__(self, decoder, head):
        super().__init__()
        self.decoder, self.head = decoder, head

    def forward(self, input_ids, encoder_hidden_states, past, encoded):
        cache = t.EncoderDecoderCache(cache_of(past), cache_of(encoded))
        cache.is_updated = dict.fromkeys(range(LAYERS), True)
        found = self.decoder(input_ids=input_ids, encoder_hidden_states=encoder_hidden_states, past_key_values=cache,
                             use_cache=True)
        return self.head(found.last_hidden_state), *parts_of(cache.self_attention_cache)


def names_of(prefix):
    return [f"{prefix}{layer}.{part}" for layer in range(LAYERS) for part in ("key", "value")]


def write(model, example, axes, outputs, path, exporter):
    """`axes` has a dictionary for each input; a list of tensors is an input for each of them, with equal axes."""
    opset = 23 if exporter == "dynamo_23" else 18 if exporter.startswith("dynamo") else 17
    dynamo, inputs = exporter.startswith("dynamo"), {}
    for name, named in axes.items():
        inputs |= dict.fromkeys(names_of(name + "."), named[0]) if isinstance(named, list) else {name: named}
    options = {"input_names": list(inputs), "output_names": ["logits", *names_of("present.")],
               "opset_version": opset, "dynamo": dynamo}
    if dynamo:
        options |= {"dynamic_shapes": tuple(axes.values()), "external_data": False, "verbose": False}
    else:
        options["dynamic_axes"] = inputs | outputs
    with torch.no_grad():
        torch.onnx.export(model, example, str(path), **options)


def attention_of(name, exporter):
    return "eager" if exporter.endswith("eager") or name in EAGER_ONLY else "sdpa"


def decoder(name, attention):
    model = older.randomized(t.AutoModelForCausalLM.from_config(CONFIGS[name](), attn_implementation=attention))
    if name == "gpt_oss":
        model.set_experts_implementation("batched_mm")  # the exporters know no loop over the experts that are needed
    return model


def export_decoder(name, exporter, path):
    model = decoder(name, attention_of(name, exporter))
    heads = getattr(model.config, "num_key_value_heads", None) or model.config.num_attention_heads
    batch, new, past = 2, 3, 5
    example = (torch.randint(3, older.WORDS, (batch, new)), torch.ones(batch, past + new, dtype=torch.int64),
               torch.arange(past, past + new)[None].repeat(batch, 1),
               [torch.randn(batch, heads, past, 16) for _ in range(2 * LAYERS)])
    rows = {0: "batch", 1: "sequence"}
    axes = {"input_ids": rows, "attention_mask": {0: "batch", 1: "total"}, "position_ids": rows,
            "past_key_values": [{0: "batch", 2: "past"}] * (2 * LAYERS)}
    outputs = {"logits": rows} | dict.fromkeys(names_of("present."), {0: "batch", 2: "total"})
    write(WithCache(model), example, axes, outputs, path, exporter)


def export_beside_encoder(name, exporter, path):
    config, kind, _ = older.WITH_ENCODERS[name]
    model = older.randomized(kind._from_config(config(), attn_implementation=attention_of(name, exporter)))
    decoder, head = (model.model.decoder, model.proj_out) if name == "whisper" else (model.decoder, model.lm_head)
    batch, new, past, encoded = 2, 3, 5, 6
    example = (torch.randint(3, older.WORDS, (batch, new)), torch.randn(batch, encoded, 64),
               [torch.randn(batch, 4, past, 16) for _ in range(2 * LAYERS)],
               [torch.randn(batch, 4, encoded, 16) for _ in range(2 * LAYERS)])
    rows = {0: "batch_size", 1: "decoder_sequence_length"}
    axes = {"input_ids": rows, "encoder_hidden_states": {0: "batch_size", 1: "encoder_sequence_length"},
            "past_key_values": [{0: "batch_size", 2: "past_decoder_sequence_length"}] * (2 * LAYERS),
            "encoded": [{0: "batch_size", 2: "encoder_sequence_length"}] * (2 * LAYERS)}
    outputs = {"logits": rows} | dict.fromkeys(names_of("present."), {0: "batch_size", 2: "total"})
    write(BesideEncoder(decoder, head), example, axes, outputs, path, exporter)


def export_by_builder(name, path):
    folder = path.with_suffix("")
    older.save_for_builder(decoder(name, "eager"), folder / "source")
    subprocess.run([sys.executable, "-W", "ignore", "-m", "onnxruntime_genai.models.builder", "-i", folder / "source",
                    "-o", folder, "-p", "fp32", "-e", "cpu", "-c", folder / "cache"], check=True)
    for file in folder.glob("model.onnx*"):
        file.rename(path.parent / file.name)


def export(name, exporter, place):
    has_encoder = name in older.WITH_ENCODERS
    path = place / exporter / name / ("decoder_with_past_model.onnx" if has_encoder else "model.onnx")
    path.parent.mkdir(parents=True, exist_ok=True)
    if exporter == "builder":
        export_by_builder(name, path)
    elif has_encoder:
        export_beside_encoder(name, exporter, path)
    else:
        export_decoder(name, exporter, path)


def main(place, names="", exporters=""):
    t.logging.set_verbosity_error()
    for exporter in exporters.split(",") if exporters else EXPORTERS:
        for name in names.split(",") if names else EXPORTERS[exporter]:
            export(name, exporter, pathlib.Path(place))


if __name__ == "__main__":
    main(*sys.argv[1:])
