"""A decoder with a cache, from a folder as onnxruntime-genai's builder or optimum writes it."""
import json
import re
from pathlib import Path

import numpy as np

import sardonyx
from sardonyx.commands.failure import Failure

_TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16}
_FILES = ("model.onnx", "decoder_model_merged.onnx", "onnx/model.onnx", "onnx/decoder_model_merged.onnx")
_PAST = ("past_key_values.%d.key", "past_key_values.%d.value")
_PRESENT = ("present.%d.key", "present.%d.value")


def _read(path):
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as failure:
        raise Failure(f"{path}: expected JSON: {failure}") from None


class Folder:
    """What the files of a folder say: `model`, the path of the model; `names`, of its inputs and outputs; `ends`, the
    tokens that end a text; `shares`: past and present are one buffer; `config`: of config.json, {} without it."""

    def __init__(self, path):
        path = Path(path)
        if not path.is_dir():
            raise Failure(f"{path}: expected a model's folder", "NO_SUCHFILE")
        self.config = _read(path / "config.json") if (path / "config.json").exists() else {}
        genai = path / "genai_config.json"
        ends = self.config.get("eos_token_id")
        self.names = {"past": _PAST, "present": _PRESENT}
        self.shares = False
        if genai.exists():
            ends = self._read_genai(path, _read(genai))
        else:
            self._find_model(path)
            if (path / "generation_config.json").exists():
                ends = _read(path / "generation_config.json").get("eos_token_id", ends)
        self.ends = set(ends if isinstance(ends, list) else [] if ends is None else [ends])

    def _read_genai(self, path, config):
        model = config["model"]
        if "decoder" not in model or "pipeline" in model["decoder"]:
            raise Failure(f"{path}: expected a model of one decoder; models in parts are not implemented",
                          "NOT_IMPLEMENTED")
        decoder = model["decoder"]
        self.model = path / decoder.get("filename", "model.onnx")
        inputs, outputs = decoder.get("inputs", {}), decoder.get("outputs", {})
        self.names |= {known: inputs[known] for known in ("input_ids", "attention_mask", "position_ids")
                       if known in inputs}
        self.names["logits"] = outputs.get("logits", "logits")
        self.names["past"] = tuple(inputs.get(f"past_{kind}_names", default)
                                   for kind, default in zip(("key", "value"), _PAST, strict=True))
        self.names["present"] = tuple(outputs.get(f"present_{kind}_names", default)
                                      for kind, default in zip(("key", "value"), _PRESENT, strict=True))
        self.shares = bool(config.get("search", {}).get("past_present_share_buffer", False))
        return model.get("eos_token_id")

    def _find_model(self, path):
        self.model = next((path / name for name in _FILES if (path / name).exists()), None)
        if self.model is None:
            raise Failure(f"{path}: expected genai_config.json or one of {', '.join(_FILES)}", "NO_SUCHFILE")


def _index(pattern, name):
    """The number in the place of %d, or None."""
    found = re.fullmatch(re.escape(pattern).replace("%d", r"(\d+)"), name)
    return int(found[1]) if found else None


class Decoder:
    """Runs a model of a Folder over tokens, one batch row; the cache stays between runs.

    `capacity`: the most tokens, prompt included. Fails where the model has inputs that are not known here."""

    def __init__(self, folder, capacity, threads=0):
        options = sardonyx.SessionOptions()
        options.intra_op_num_threads = threads
        self._session = sardonyx.InferenceSession(str(folder.model), options)
        self._names, self._shares, self._capacity = folder.names, folder.shares, capacity
        self._past = {}  # name: (name of the present output, shape with an open length, type)
        self._plain = set()
        for value in self._session.get_inputs():
            self._add_input(value, folder)
        if not self._past:
            raise Failure(f"{folder.model}: expected inputs such as {_PAST[0] % 0}: models without a cache are not "
                          "implemented", "NOT_IMPLEMENTED")
        outputs = {value.name for value in self._session.get_outputs()}
        self._logits = folder.names.get("logits", "logits")
        for name in [self._logits, *(present for present, _, _ in self._past.values())]:
            if name not in outputs:
                raise Failure(f"{folder.model}: expected an output '{name}'", "INVALID_GRAPH")
        self.length, self._cache = 0, {}
        for name, (_, shape, dtype) in self._past.items():
            rows = capacity if self._shares else 0
            empty = np.zeros([rows if dim is None else dim for dim in shape], dtype)
            self._cache[name] = sardonyx.OrtValue.ortvalue_from_numpy(empty)

    def _add_input(self, value, folder):
        names = self._names
        for known in ("input_ids", "attention_mask", "position_ids", "use_cache_branch"):
            if value.name == names.get(known, known):
                self._plain.add(known)
                return
        for kind in range(2):
            layer = _index(names["past"][kind], value.name)
            if layer is None:
                continue
            if value.type not in _TYPES:
                raise Failure(f"{folder.model}: input '{value.name}': a cache of {value.type} is not implemented",
                              "NOT_IMPLEMENTED")
            self._past[value.name] = (names["present"][kind] % layer, self._cache_shape(value, folder.config),
                                      _TYPES[value.type])
            return
        raise Failure(f"{folder.model}: input '{value.name}' is not known here", "NOT_IMPLEMENTED")

    @staticmethod
    def _cache_shape(value, config):
        """[1, heads, None, size]; what the model leaves open is in config.json."""
        heads = config.get("num_key_value_heads", config.get("num_attention_heads", config.get("n_head")))
        size = config.get("head_dim")
        if size is None and config.get("hidden_size") and config.get("num_attention_heads"):
            size = config["hidden_size"] // config["num_attention_heads"]
        declared = value.shape
        if len(declared) != 4:
            raise Failure(f"input '{value.name}': expected [batch, heads, length, size], found {declared}",
                          "NOT_IMPLEMENTED")
        heads = declared[1] if isinstance(declared[1], int) else heads
        size = declared[3] if isinstance(declared[3], int) else size
        if heads is None or size is None:
            raise Failure(f"input '{value.name}': its heads and their size are neither in its shape {declared} nor in "
                          "config.json")
        return [1, heads, None, size]

    def run(self, tokens):
        """The scores [vocabulary] of what follows these tokens, as float32."""
        total = self.length + len(tokens)
        if total > self._capacity:
            raise ValueError(f"expected at most {self._capacity} tokens, found {total}")
        feeds = {"input_ids": np.asarray(tokens, np.int64)[None], "attention_mask": np.ones((1, total), np.int64),
                 "position_ids": np.arange(self.length, total, dtype=np.int64)[None],
                 "use_cache_branch": np.array([self.length > 0])}
        binding = self._session.io_binding()
        for known in self._plain:
            binding.bind_cpu_input(self._names.get(known, known), feeds[known])
        binding.bind_output(self._logits, "cpu")
        for name, (present, _, _) in self._past.items():
            binding.bind_ortvalue_input(name, self._cache[name])
            if self._shares:
                binding.bind_ortvalue_output(present, self._cache[name])
            else:
                binding.bind_output(present, "cpu")
        self._session.run_with_iobinding(binding)
        logits, *presents = binding.get_outputs()
        if not self._shares:
            self._cache = dict(zip(self._past, presents, strict=True))
        self.length = total
        return logits.numpy()[0, -1].astype(np.float32)
