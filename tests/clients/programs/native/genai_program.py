"""Prints what onnxruntime-genai generates with a small random decoder made here. usage: genai_program.py FOLDER"""
import json
import pathlib
import sys

import numpy as np
import onnx
import onnx.helper as h
import onnx.numpy_helper
import onnxruntime_genai as og
from onnx import TensorProto as T

WORDS, HIDDEN, HEADS, SIZE, LAYERS = 120, 32, 2, 16, 2


def make_decoder(folder):
    """A decoder as genai's own builder writes them: grouped-query attention with a cache of keys and values."""
    random = np.random.default_rng(1)
    weights = {"embed": random.normal(size=(WORDS, HIDDEN)).astype(np.float32),
               "head": random.normal(size=(HIDDEN, WORDS)).astype(np.float32),
               "axis": np.array([1], np.int64), "one": np.array([1], np.int32), "second": np.array(1, np.int64)}
    nodes = [h.make_node("Gather", ["embed", "input_ids"], ["h0"]),
             h.make_node("ReduceSum", ["attention_mask", "axis"], ["counts"], keepdims=0),
             h.make_node("Cast", ["counts"], ["counts32"], to=T.INT32),
             h.make_node("Sub", ["counts32", "one"], ["last"]),
             h.make_node("Shape", ["attention_mask"], ["mask_shape"]),
             h.make_node("Gather", ["mask_shape", "second"], ["total64"]),
             h.make_node("Cast", ["total64"], ["total"], to=T.INT32)]
    inputs = [h.make_tensor_value_info(name, T.INT64, ["batch", length])
              for name, length in (("input_ids", "sequence"), ("attention_mask", "total_sequence"))]
    outputs = [h.make_tensor_value_info("logits", T.FLOAT, ["batch", "sequence", WORDS])]
    for i in range(LAYERS):
        for name in "qkvo":
            weights[f"{name}{i}"] = (random.normal(size=(HIDDEN, HIDDEN)) / 5).astype(np.float32)
        weights[f"up{i}"] = (random.normal(size=(HIDDEN, 64)) / 5).astype(np.float32)
        weights[f"down{i}"] = (random.normal(size=(64, HIDDEN)) / 8).astype(np.float32)
        weights[f"scale{i}"] = np.ones(HIDDEN, np.float32)
        angles = np.outer(np.arange(64), 1 / 10000 ** (np.arange(SIZE // 2) / (SIZE // 2)))
        weights |= {"cos": np.cos(angles).astype(np.float32), "sin": np.sin(angles).astype(np.float32)}
        past = [f"past_key_values.{i}.{part}" for part in ("key", "value")]
        present = [f"present.{i}.{part}" for part in ("key", "value")]
        inputs += [h.make_tensor_value_info(name, T.FLOAT, ["batch", HEADS, "past", SIZE]) for name in past]
        outputs += [h.make_tensor_value_info(name, T.FLOAT, ["batch", HEADS, "all", SIZE]) for name in present]
        nodes += [h.make_node("SimplifiedLayerNormalization", [f"h{i}", f"scale{i}"], [f"n{i}"], epsilon=1e-5, axis=-1),
                  *(h.make_node("MatMul", [f"n{i}", f"{name}{i}"], [f"{name}_{i}"]) for name in "qkv"),
                  h.make_node("GroupQueryAttention",
                              [f"q_{i}", f"k_{i}", f"v_{i}", *past, "last", "total", "cos", "sin"],
                              [f"a{i}", *present], domain="com.microsoft", num_heads=HEADS, kv_num_heads=HEADS,
                              do_rotary=1),
                  h.make_node("MatMul", [f"a{i}", f"o{i}"], [f"p{i}"]),
                  h.make_node("Add", [f"h{i}", f"p{i}"], [f"r{i}"]),
                  h.make_node("MatMul", [f"r{i}", f"up{i}"], [f"u{i}"]),
                  h.make_node("Sigmoid", [f"u{i}"], [f"s{i}"]),
                  h.make_node("Mul", [f"u{i}", f"s{i}"], [f"g{i}"]),
                  h.make_node("MatMul", [f"g{i}", f"down{i}"], [f"d{i}"]),
                  h.make_node("Add", [f"r{i}", f"d{i}"], [f"h{i + 1}"])]
    nodes.append(h.make_node("MatMul", [f"h{LAYERS}", "head"], ["logits"]))
    graph = h.make_graph(nodes, "decoder", inputs, outputs,
                         [onnx.numpy_helper.from_array(value, name) for name, value in weights.items()])
    imports = [h.make_opsetid("", 18), h.make_opsetid("com.microsoft", 1)]
    onnx.save(h.make_model(graph, ir_version=9, opset_imports=imports), str(folder / "model.onnx"))


def configure(folder, **search):
    decoder = {"session_options": {"log_id": "genai", "provider_options": [], "intra_op_num_threads": 2},
               "filename": "model.onnx", "head_size": SIZE, "hidden_size": HIDDEN, "num_attention_heads": HEADS,
               "num_hidden_layers": LAYERS, "num_key_value_heads": HEADS,
               "inputs": {"input_ids": "input_ids", "attention_mask": "attention_mask",
                          "past_key_names": "past_key_values.%d.key", "past_value_names": "past_key_values.%d.value"},
               "outputs": {"logits": "logits", "present_key_names": "present.%d.key",
                           "present_value_names": "present.%d.value"}}
    model = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0, "vocab_size": WORDS, "context_length": 64,
             "type": "llama", "decoder": decoder}
    (folder / "genai_config.json").write_text(json.dumps({"model": model, "search": {"max_length": 40} | search}))
    return og.Model(str(folder))


def generate(model, tokens, **options):
    parameters = og.GeneratorParams(model)
    parameters.set_search_options(max_length=40, **options)
    generator = og.Generator(model, parameters)
    generator.append_tokens(np.array(tokens, np.int32))
    while not generator.is_done():
        generator.generate_next_token()
    return [generator.get_sequence(i) for i in range(len(np.atleast_2d(tokens)))]


def main(folder):
    folder = pathlib.Path(folder)
    make_decoder(folder)
    prompt = [5, 17, 33, 90]
    for shared in (False, True):
        model = configure(folder, past_present_share_buffer=shared)
        name = "a shared cache" if shared else "a cache that grows"
        print(f"result the best word, {name}:", *generate(model, prompt)[0])
        print(f"result two at once, {name}:", *np.ravel(generate(model, [prompt, [7, 8, 9, 10]], batch_size=2)))
        print(f"result chosen at random, {name}:", *generate(model, prompt, do_sample=True, top_k=20, temperature=0.8,
                                                             random_seed=7)[0])
        print(f"result no repetition, {name}:", *generate(model, prompt, repetition_penalty=1.5)[0])
    model = configure(folder, past_present_share_buffer=False)
    print("result three beams:", *generate(model, prompt, num_beams=3)[0])
    generator = og.Generator(model, og.GeneratorParams(model))
    generator.append_tokens(np.array([prompt], np.int32))
    logits = generator.get_output("logits")
    print("result logits:", *logits.shape, *np.round(np.ravel(logits)[::37], 3))
    for _ in range(5):
        generator.generate_next_token()
    print("result continued:", *generator.get_sequence(0))
    generator.rewind_to(3)
    generator.append_tokens(np.array([[11]], np.int32))
    generator.generate_next_token()
    print("result rewound:", *generator.get_sequence(0))


main(sys.argv[1])
