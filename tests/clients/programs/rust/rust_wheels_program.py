"""Prints what three packages written in Rust make of small random models. usage: rust_wheels_program.py FOLDER TOOL"""
import json
import os
import pathlib
import sys

import numpy as np
import onnxruntime

TEXTS = ["the cat sat on the mat .", "who is my dog ? call 010-1234-5678", "my name is new york", "where"]


def say(name, *values):
    print(f"result {name}:", *values, flush=True)


def vectors(folder):
    # This package alone looks for no library by itself: its users name one.
    os.environ["ORT_DYLIB_PATH"] = str(next(pathlib.Path(onnxruntime.__file__).parent.glob("capi/libonnxruntime.so.*")))
    import embroider

    files = str(folder / "vectors/model.onnx"), str(folder / "vectors/tokenizer.json")
    for size in (64, 1024):
        for arena in (False, True):
            model = embroider.JinaV5.open_files(*files, truncate_dim=size, device="cpu", cpu_arena=arena)
            for text, vector in zip(TEXTS, model.encode_batch(TEXTS), strict=True):
                say(f"embroider, {size}, {arena}, {text}", *np.round(vector[::7], 4))
    say("embroider, tokens", *(embroider.JinaTokenizer.open_files(files[1]).count_tokens(text) for text in TEXTS))


def masks(folder):
    import koredact

    masker = koredact.Masker(folder / "masks", device="cpu", threads=2)
    for text in TEXTS:
        say(f"koredact, {text}", masker.mask(text))
        say(f"koredact, {text}, spans", *((part.start, part.end, part.type, round(part.score, 3))
                                          for part in masker.predict_raw(text)))
        say(f"koredact, {text}, with its rules", masker.mask(text, backstop=True))
    say("koredact, four workers", *masker.mask_many(TEXTS * 4, workers=4))
    both = koredact.Masker(folder / "masks", device="cpu", fallback_dir=folder / "masks", fallback_margin=0.5)
    say("koredact, with a second model", *both.mask_many(TEXTS), *both.fallback_stats())


def words(folder):
    import onnx_genai

    engine = onnx_genai.Engine.from_dir(str(folder / "words"))
    for text in TEXTS:
        say(f"onnx-genai, {text}", json.dumps(engine.generate(text, max_tokens=12, temperature=0.0).text))
        heard = []
        engine.generate_stream(text, lambda *part, heard=heard: heard.append(part[1]), max_tokens=12, temperature=0.0)
        say(f"onnx-genai, {text}, as it comes", *heard)
        sampled = engine.generate(text, max_tokens=12, temperature=0.9, top_k=10, seed=3)
        say(f"onnx-genai, {text}, at random", *sampled.token_ids, sampled.finish_reason)
    say("onnx-genai, tokens", *engine.tokenize(TEXTS[0]))


if __name__ == "__main__":
    {"embroider": vectors, "koredact": masks, "onnx-genai": words}[sys.argv[2]](pathlib.Path(sys.argv[1]))
