"""Models of random weights with the inputs and outputs of GLiNER, by spans and by tokens, and their tokenizer."""
import json

import numpy as np
import onnx
import onnx.helper as h
import onnx.numpy_helper
from onnx import TensorProto as T

WIDTH, SPAN = 16, 4  # numbers for a word, and the words of the longest span
WORDS = ("[PAD] [CLS] [SEP] [UNK] <<ENT>> <<SEP>> the quick brown fox jumps over lazy dog hello world a text of one "
         "two three words and that animal place word").split()
ENTITY = WORDS.index("<<ENT>>")


def _tokenizer(path):
    special = [{"id": k, "content": word, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
                "special": True} for k, word in enumerate(WORDS[:6])]
    path.write_text(json.dumps({
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": special, "normalizer": None,
        "pre_tokenizer": {"type": "Whitespace"}, "post_processor": None, "decoder": None,
        "model": {"type": "WordLevel", "vocab": {word: k for k, word in enumerate(WORDS)}, "unk_token": "[UNK]"}}))


def _save(path, spans):
    random = np.random.default_rng(11)
    weights = {"table": random.normal(size=(len(WORDS), WIDTH)), "ahead": random.normal(size=(WIDTH, WIDTH)) / 4,
               "behind": random.normal(size=(WIDTH, WIDTH)) / 4,
               "parts": random.normal(size=(3, 1, WIDTH, WIDTH)) / 4}
    constants = {name: value.astype(np.float32) for name, value in weights.items()} | {
        "entity": np.array(ENTITY, np.int64), "one": np.array(1, np.int64), "zero": np.array(0, np.int64),
        "axis_0": np.array([0], np.int64), "axis_1": np.array([1], np.int64), "axis_2": np.array([2], np.int64),
        "each_class": np.array([-1], np.int64), "half": np.array(0.5, np.float32),
        "by_span": np.array([0, -1, SPAN, WIDTH], np.int64), "wide": np.array([1, 1, WIDTH], np.int64),
        "shift": np.array(-1, np.float32)}
    n = h.make_node
    nodes = [
        # Words in their context: each token and, by likeness, the others.
        n("Gather", ["table", "input_ids"], ["tokens"]), n("Transpose", ["tokens"], ["turned"], perm=[0, 2, 1]),
        n("MatMul", ["tokens", "turned"], ["products"]), n("Mul", ["products", "half"], ["likeness"]),
        n("Softmax", ["likeness"], ["shares"]), n("MatMul", ["shares", "tokens"], ["others"]),
        n("Add", ["tokens", "others"], ["context"]),
        n("ReduceMax", ["text_lengths"], ["longest"], keepdims=0), n("Add", ["longest", "one"], ["end"]),
        n("Range", ["one", "end", "one"], ["numbers"]), n("Unsqueeze", ["numbers", "axis_1"], ["column"]),
        n("Unsqueeze", ["words_mask", "axis_1"], ["mask"]), n("Equal", ["mask", "column"], ["is_word"]),
        n("Cast", ["is_word"], ["picks"], to=T.FLOAT), n("MatMul", ["picks", "context"], ["words"]),
        # Classes: the tokens behind those that begin a class.
        n("Gather", ["input_ids", "zero"], ["first"]), n("Equal", ["first", "entity"], ["begins"]),
        n("NonZero", ["begins"], ["places"]), n("Squeeze", ["places", "axis_0"], ["marks"]),
        n("Add", ["marks", "one"], ["names"]), n("Gather", ["context", "names"], ["classes"], axis=1),
        n("Transpose", ["classes"], ["by_class"], perm=[0, 2, 1])]
    inputs = [h.make_tensor_value_info(name, T.INT64, ["batch", "length"])
              for name in ("input_ids", "attention_mask", "words_mask")]
    inputs.append(h.make_tensor_value_info("text_lengths", T.INT64, ["batch", 1]))
    if spans:
        inputs += [h.make_tensor_value_info("span_idx", T.INT64, ["batch", "spans", 2]),
                   h.make_tensor_value_info("span_mask", T.BOOL, ["batch", "spans"])]
        for k, name in enumerate(("ahead", "behind")):
            end = "zero" if k == 0 else "one"
            nodes += [n("Gather", ["span_idx", end], [f"at_{name}"], axis=2),
                      n("Unsqueeze", [f"at_{name}", "axis_2"], [f"thin_{name}"]),
                      n("Expand", [f"thin_{name}", "wide"], [f"wide_{name}"]),
                      n("GatherElements", ["words", f"wide_{name}"], [f"of_{name}"], axis=1),
                      n("MatMul", [f"of_{name}", name], [f"seen_{name}"])]
        nodes += [n("Add", ["seen_ahead", "seen_behind"], ["sums"]), n("Tanh", ["sums"], ["ends"]),
                  n("Unsqueeze", ["longest", "axis_0"], ["count"]),
                  n("Reshape", ["ends", "by_span"], ["shaped"]),
                  n("Unsqueeze", ["by_class", "axis_1"], ["against"]), n("MatMul", ["shaped", "against"], ["found"]),
                  n("Add", ["found", "shift"], ["logits"])]
    else:
        nodes += [n("MatMul", ["words", "parts"], ["seen"]), n("MatMul", ["seen", "by_class"], ["found"]),
                  n("Add", ["found", "shift"], ["logits"])]
    output = h.make_tensor_value_info("logits", T.FLOAT, [None] * 4)
    graph = h.make_graph(nodes, path.stem, inputs, [output],
                         [onnx.numpy_helper.from_array(value, name) for name, value in constants.items()])
    model = h.make_model(graph, ir_version=8, opset_imports=[h.make_opsetid("", 17)])
    onnx.checker.check_model(model)
    onnx.save(model, str(path))


def make(folder):
    folder.mkdir(parents=True, exist_ok=True)
    _tokenizer(folder / "tokenizer.json")
    _save(folder / "span.onnx", True)
    _save(folder / "token.onnx", False)
