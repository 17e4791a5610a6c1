"""Writes models of random weights with the inputs and outputs that packages for voices, texts and people ask for.

usage: voices_models.py FOLDER"""
import json
import pathlib
import sys

import numpy as np
import onnx
import onnx.helper as h
import onnx.numpy_helper
from onnx import TensorProto as T

F, I64, F16 = T.FLOAT, T.INT64, T.FLOAT16
LETTERS = [chr(code) for code in range(ord("א"), ord("ת") + 1)]
WORDS = "the quick brown fox jumps over a lazy dog hello world this is text it goes on and ends . ! ?".split()


class Graph:
    """Nodes that are added one by one, each with one output, and constants of random numbers."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes, self.constants, self.count = [], [], 0

    def name(self):
        self.count += 1
        return f"t{self.count}"

    def constant(self, value, kind=np.float32):
        name = self.name()
        self.constants.append(onnx.numpy_helper.from_array(np.asarray(value, kind), name))
        return name

    def longs(self, *values):
        return self.constant(values, np.int64)

    def weights(self, *shape):
        summed = np.prod(shape[1:]) if len(shape) > 2 else shape[0]
        return self.constant(self.random.normal(size=shape) / np.sqrt(summed))

    def add(self, op, *inputs, outputs=1, **attributes):
        names = [self.name() for _ in range(outputs)]
        self.nodes.append(h.make_node(op, list(inputs), names, **attributes))
        return names[0] if outputs == 1 else names

    def table(self, ids, size, width):
        return self.add("Gather", self.constant(self.random.normal(size=(size, width))), ids)

    def dense(self, x, rows, columns):
        return self.add("Add", self.add("MatMul", x, self.weights(rows, columns)), self.weights(columns))

    def conv(self, x, out, into, *kernel, **attributes):
        pads = [k // 2 for k in kernel] * 2
        return self.add("Conv", x, self.weights(out, into, *kernel), self.weights(out), pads=pads, **attributes)

    def norm(self, x, width):
        return self.add("LayerNormalization", x, self.constant(np.ones(width)), self.constant(np.zeros(width)))

    def attention(self, x, width, bias=None, heads=2):
        """A layer of attention over [batch, length, width], with a bias added to its scores."""
        parts = []
        for k in range(3):
            split = self.add("Reshape", self.dense(x, width, width), self.longs(0, 0, heads, width // heads))
            parts.append(self.add("Transpose", split, perm=[0, 2, 3, 1] if k == 1 else [0, 2, 1, 3]))
        scores = self.add("Mul", self.add("MatMul", parts[0], parts[1]), self.constant((width // heads) ** -0.5))
        if bias is not None:
            scores = self.add("Add", scores, bias)
        seen = self.add("MatMul", self.add("Softmax", scores), parts[2])
        joined = self.add("Reshape", self.add("Transpose", seen, perm=[0, 2, 1, 3]), self.longs(0, 0, width))
        x = self.norm(self.add("Add", x, self.dense(joined, width, width)), width)
        wide = self.add("Gelu", self.dense(x, width, 2 * width), approximate="tanh")
        return self.norm(self.add("Add", x, self.dense(wide, 2 * width, width)), width)

    def recurrent(self, op, x, into, hidden):
        """A layer of LSTM or GRU in both directions over [batch, length, into]: [batch, length, 2 hidden]."""
        gates = {"LSTM": 4, "GRU": 3}[op]
        y = self.add(op, self.add("Transpose", x, perm=[1, 0, 2]), self.weights(2, gates * hidden, into),
                     self.weights(2, gates * hidden, hidden), self.weights(2, 2 * gates * hidden), outputs=2,
                     direction="bidirectional", hidden_size=hidden)[0]
        return self.add("Reshape", self.add("Transpose", y, perm=[2, 0, 1, 3]), self.longs(0, 0, 2 * hidden))

    def save(self, path, inputs, outputs, metadata=None):
        """`outputs` names what comes out: (name, tensor, kind, shape)."""
        for name, tensor, _, _ in outputs:
            self.nodes.append(h.make_node("Identity", [tensor], [name]))
        graph = h.make_graph(self.nodes, path.stem, [h.make_tensor_value_info(*one) for one in inputs],
                             [h.make_tensor_value_info(name, kind, shape) for name, _, kind, shape in outputs],
                             self.constants)
        model = h.make_model(graph, ir_version=9, opset_imports=[h.make_opsetid("", 20)])
        h.set_model_props(model, metadata or {})
        onnx.checker.check_model(model, full_check=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        onnx.save(model, str(path))


def mask_bias(g, mask):
    """What is added to the scores of attention, of a mask [batch, length] of floats."""
    off = g.add("Mul", g.add("Sub", g.constant(1), mask), g.constant(-10000))
    return g.add("Unsqueeze", off, g.longs(1, 2))


def kokoro(folder, timed):
    g = Graph(1)
    x = g.recurrent("LSTM", g.table("input_ids", 178, 16), 16, 8)
    manner = g.dense("style", 256, 16)
    x = g.add("Add", x, g.add("Unsqueeze", manner, g.longs(1)))
    length = g.add("Div", g.add("Mul", g.add("Sigmoid", g.dense(x, 16, 1)), g.constant(6)), "speed")
    duration = g.add("Cast", g.add("Clip", g.add("Round", length), g.constant(1), g.constant(9)), to=I64)
    duration = g.add("Squeeze", duration, g.longs(0, 2))
    # Each token as often as its sound lasts frames.
    ends = g.add("CumSum", duration, g.constant(0, np.int64))
    frames = g.add("Range", g.constant(0, np.int64), g.add("ReduceSum", duration, keepdims=0), g.constant(1, np.int64))
    over = g.add("GreaterOrEqual", g.add("Unsqueeze", frames, g.longs(1)), g.add("Unsqueeze", ends, g.longs(0)))
    token = g.add("ReduceSum", g.add("Cast", over, to=I64), g.longs(1), keepdims=0)
    x = g.add("Transpose", g.add("Gather", x, token, axis=1), perm=[0, 2, 1])
    x = g.add("InstanceNormalization", x, g.constant(np.ones(16)), g.constant(np.zeros(16)), epsilon=1e-5)
    x = g.add("Mul", x, g.add("Unsqueeze", g.dense("style", 256, 16), g.longs(2)))
    for rate, into, out in ((10, 16, 8), (6, 8, 4), (10, 4, 4)):
        x = g.add("LeakyRelu", x, alpha=0.1)
        x = g.add("ConvTranspose", x, g.weights(into, out, 2 * rate), g.weights(out), strides=[rate],
                  pads=[rate // 2, rate - rate // 2])
        y = g.conv(g.add("Sin", g.conv(x, out, out, 3)), out, out, 3)
        x = g.add("Add", x, y)
    sound = g.add("Tanh", g.add("Mul", g.add("Reshape", g.conv(x, 1, 4, 7), g.longs(-1)), g.constant(0.05)))
    outputs = [("waveform", sound, F, ["samples"]), ("duration", duration, I64, ["length"])]
    g.save(folder / f"kokoro_{'timed' if timed else 'plain'}.onnx",
           [("input_ids", I64, [1, "length"]), ("style", F, [1, 256]), ("speed", F, [1])], outputs[:1 + timed])
    random = np.random.default_rng(5)
    with (folder / "voices.bin").open("wb") as file:
        np.savez(file, one=random.normal(size=(510, 1, 256)).astype(np.float32),
                 two=random.normal(size=(510, 1, 256)).astype(np.float32))


def supertonic(folder):
    width, latent, factor = 16, 4, 3
    onnx_folder = folder / "supertonic/onnx"
    text = [("text_ids", I64, ["batch", "length"]), ("text_mask", F, ["batch", 1, "length"])]
    ttl = ("style_ttl", F, ["batch", 5, width])

    def encode(g):
        x = g.table("text_ids", 128, width)
        return g.attention(x, width, mask_bias(g, g.add("Squeeze", "text_mask", g.longs(1))))

    g = Graph(2)
    x = g.add("Mul", encode(g), g.add("Transpose", "text_mask", perm=[0, 2, 1]))
    mean = g.add("Div", g.add("ReduceSum", x, g.longs(1), keepdims=0), g.add("ReduceSum", "text_mask", g.longs(2),
                                                                           keepdims=0))
    mean = g.add("Add", mean, g.add("ReduceMean", "style_dp", g.longs(1), keepdims=0))
    length = g.add("Add", g.add("Sigmoid", g.dense(mean, width, 1)), g.constant(0.3))
    g.save(onnx_folder / "duration_predictor.onnx", [*text, ("style_dp", F, ["batch", 3, width])],
           [("duration", g.add("Squeeze", length, g.longs(1)), F, ["batch"])])
    g = Graph(3)
    x = g.add("Add", encode(g), g.add("ReduceMean", "style_ttl", g.longs(1)))
    g.save(onnx_folder / "text_encoder.onnx", [*text, ttl],
           [("text_emb", g.add("Transpose", x, perm=[0, 2, 1]), F, ["batch", width, "length"])])
    g = Graph(4)
    x = g.conv("noisy_latent", width, latent * factor, 3)
    step = g.add("Div", "current_step", "total_step")
    step = g.add("Sin", g.add("Mul", g.add("Unsqueeze", step, g.longs(1)), g.weights(width)))
    x = g.add("Add", x, g.add("Unsqueeze", g.dense(step, width, width), g.longs(2)))
    query = g.add("Transpose", x, perm=[0, 2, 1])
    scores = g.add("Mul", g.add("MatMul", query, "text_emb"), g.constant(0.25))
    scores = g.add("Add", scores, g.add("Mul", g.add("Sub", g.constant(1), "text_mask"), g.constant(-1e4)))
    seen = g.add("MatMul", g.add("Softmax", scores), g.add("Transpose", "text_emb", perm=[0, 2, 1]))
    style = g.add("ReduceMax", "style_ttl", g.longs(1))
    x = g.norm(g.add("Add", g.add("Add", query, seen), style), width)
    x = g.add("Mish", g.conv(g.add("Transpose", x, perm=[0, 2, 1]), width, width, 5))
    x = g.add("Mul", g.conv(x, latent * factor, width, 3), g.constant(0.2))
    x = g.add("Mul", g.add("Add", "noisy_latent", x), "latent_mask")
    steps = [(name, F, ["batch"]) for name in ("current_step", "total_step")]
    g.save(onnx_folder / "vector_estimator.onnx",
           [("noisy_latent", F, ["batch", latent * factor, "frames"]), ("text_emb", F, ["batch", width, "length"]), ttl,
            text[1], ("latent_mask", F, ["batch", 1, "frames"]), *steps],
           [("denoised", x, F, ["batch", latent * factor, "frames"])])
    g = Graph(5)
    x = g.add("Reshape", "latent", g.longs(0, latent, factor, -1))
    x = g.add("Reshape", g.add("Transpose", x, perm=[0, 1, 3, 2]), g.longs(0, latent, -1))
    x = g.add("Pad", x, g.longs(0, 0, 6, 0, 0, 0), mode="edge")
    x = g.add("Elu", g.add("Conv", x, g.weights(width, latent, 7), g.weights(width)))
    x = g.add("PRelu", g.conv(x, 64, width, 1), g.constant(np.full((64, 1), 0.2)))
    x = g.add("Reshape", g.add("Transpose", x, perm=[0, 2, 1]), g.longs(0, -1))
    g.save(onnx_folder / "vocoder.onnx", [("latent", F, ["batch", latent * factor, "frames"])],
           [("wav", g.add("Tanh", x), F, ["batch", "samples"])])
    (onnx_folder / "tts.json").write_text(json.dumps({
        "ae": {"sample_rate": 8000, "base_chunk_size": 64},
        "ttl": {"chunk_compress_factor": factor, "latent_dim": latent}}))
    (onnx_folder / "unicode_indexer.json").write_text(json.dumps([k if 32 <= k < 128 else -1 for k in range(65536)]))
    random = np.random.default_rng(6)
    styles = {f"style_{name}": {"dims": [1, rows, width], "data": random.normal(size=(1, rows, width)).tolist()}
              for name, rows in (("ttl", 5), ("dp", 3))}
    (folder / "supertonic/voice_styles").mkdir(exist_ok=True)
    (folder / "supertonic/voice_styles/V1.json").write_text(json.dumps(styles))


def tokenizer(path, vocabulary, special, split):
    added = [{"id": k, "content": word, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
              "special": True} for k, word in enumerate(special)]
    words = {word: k for k, word in enumerate([*special, *vocabulary])}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
        "pre_tokenizer": split, "post_processor": None, "decoder": None,
        "model": {"type": "WordLevel", "vocab": words, "unk_token": special[-1]}}))


def phonikud(folder):
    g = Graph(7)
    mask = g.add("Cast", "attention_mask", to=F)
    x = g.add("Add", g.table("input_ids", 64, 16), g.table("token_type_ids", 2, 16))
    for _ in range(2):
        x = g.attention(x, 16, mask_bias(g, mask))
    shape = ["batch", "length"]
    g.save(folder / "phonikud/model.onnx", [(name, I64, shape) for name in ("input_ids", "attention_mask",
                                                                            "token_type_ids")],
           [(f"{name}_logits", g.dense(x, 16, size), F, [*shape, size]) for name, size in
            (("nikud", 29), ("shin", 2), ("additional", 3))], {"config": json.dumps({"some": "thing"})})
    characters = {"type": "Split", "pattern": {"Regex": ""}, "behavior": "Isolated", "invert": False}
    tokenizer(folder / "phonikud/tokenizer.json", [*LETTERS, " ", ".", ",", "-"], ["[PAD]", "[CLS]", "[SEP]", "[UNK]"],
              characters)


def sentences(folder):
    g = Graph(8)  # in half precision, as wtpsplit's are
    x = g.add("Cast", g.table("input_ids", 64, 16), to=F16)
    mask = g.add("Cast", "attention_mask", to=F)
    x = g.attention(g.add("Cast", x, to=F), 16, mask_bias(g, mask))
    logits = g.add("Cast", g.dense(x, 16, 1), to=F16)
    g.save(folder / "sat/model_optimized.onnx",
           [("attention_mask", F16, ["batch", "length"]), ("input_ids", I64, ["batch", "length"])],
           [("logits", logits, F16, ["batch", "length", 1])])
    (folder / "sat/config.json").write_text(json.dumps({"model_type": "xlm-token", "id2label": {"0": "NEWLINE"}}))
    tokenizer(folder / "sat/tokenizer.json", WORDS, ["<s>", "<pad>", "</s>", "<mask>", "<unk>"],
              {"type": "WhitespaceSplit"})
    g = Graph(9)
    x = g.recurrent("LSTM", g.add("Concat", g.table("units", 64, 12), "features", axis=2), 16, 8)
    x = g.recurrent("GRU", g.norm(x, 16), 16, 8)
    config = {"feat_funcs": ["space_before", "capitalized", "numeric", "end_of_para"], "max_seqlen": 100}
    letters = ["<PAD>", "<UNK>", "<EMPTY>", "<ROOT>", *" .!?,abcdefghijklmnopqrstuvwxyz"]
    vocabulary = {"lang": "en", "lower": True, "_id2unit": letters,
                  "_unit2id": {letter: k for k, letter in enumerate(letters)}}
    g.save(folder / "minisbd.onnx", [("units", I64, ["batch", "length"]), ("features", F, ["batch", "length", 4])],
           [("scores", g.add("Add", g.dense(x, 16, 5), g.constant([3, 2, 0, 0, 0])), F, ["batch", "length", 5])],
           {"lang_code": "en", "config": json.dumps(config), "vocab": json.dumps(vocabulary)})


def people(folder):
    g = Graph(10)
    x, levels = "images", []
    for k, (into, out) in enumerate(((3, 8), (8, 12), (12, 16), (16, 20), (20, 24))):
        x = g.conv(x, out, into, 3, 3, strides=[2, 2])
        x = g.add("HardSwish", x) if k % 2 else g.add("Mul", x, g.add("Sigmoid", x))
        if k >= 2:
            levels.append((x, out))
    found = []
    for level, width in levels:
        boxes = g.add("Mul", g.conv(level, 4, width, 1, 1), g.constant(0.3))
        sure = g.add("Sigmoid", g.conv(level, 4, width, 1, 1))
        found.append(g.add("Reshape", g.add("Concat", boxes, sure, axis=1), g.longs(0, 8, -1)))
    x = g.add("Transpose", g.add("Concat", *found, axis=2), perm=[0, 2, 1])
    g.save(folder / "yolox.onnx", [("images", F, [1, 3, 128, 160])], [("found", x, F, [1, 420, 8])])
    g = Graph(11)
    x = g.add("Relu", g.conv("input", 8, 3, 3, 3, strides=[4, 4]))
    x = g.add("Relu", g.conv(x, 17, 8, 3, 3, strides=[4, 4]))
    x = g.add("Reshape", x, g.longs(0, 17, -1))
    x = g.attention(g.dense(x, 16 * 12, 32), 32)
    g.save(folder / "rtmpose.onnx", [("input", F, ["batch", 3, 256, 192])],
           [("simcc_x", g.dense(x, 32, 384), F, ["batch", 17, 384]), ("simcc_y", g.dense(x, 32, 512), F,
                                                                      ["batch", 17, 512])])


if __name__ == "__main__":
    target = pathlib.Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    kokoro(target, False)
    kokoro(target, True)
    supertonic(target)
    phonikud(target)
    sentences(target)
    people(target)
