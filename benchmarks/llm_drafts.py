"""benchmarks/llm_drafts.py - what a run over a few tokens costs a decoder: the verification of drafted tokens.

usage: llm_drafts.py [--models 135m] [--bits fp32,fp16,4-bit,4-bit-f32] [--tokens 1,2,4,8] [--length 512] [--rounds 5]
                     [--threads 2] [--cache shared|growing] [--llama-cpp FOLDER] [--engines sardonyx,onnxruntime]
                     [PATH...]

Speculative decoding runs a large model over a few drafted tokens at once. Weights are read once for all of them, so the
run should cost little more than one over a single token. Each engine has a process with its model and a cache of
--length tokens, and takes turns with the others. A cell is the median in ms and its ratio to one token. PATHs are
models of other exporters (with --cache growing).
"""
import argparse
import os
import pathlib
import statistics
import sys

import llama_cpp_build
import llm
import llm_models
import numpy as np

REPEAT = 40  # runs of a turn, of which the second half counts: a processor takes a while to its full clock
VOCABULARY = 256  # tokens stay below every model's number of them


def measure(paths, counts, options):
    """{engine: {count: median seconds}}; paths: {engine: model}."""
    tokens = np.random.default_rng(0).integers(0, VOCABULARY, options.length + max(counts)).tolist()
    engines, seconds = [], {}
    try:
        for name, path in paths.items():
            python = sys.executable
            if name == "llama_cpp":
                python = llama_cpp_build.python_with_llama_cpp(options.llama_cpp)
            engine = llm.Engine(name, pathlib.Path(python))
            engine.start(str(path), options.threads, options.length + max(counts), options.cache)
            engines.append(engine)
            engine.ask(tokens=tokens[:options.length], one_by_one=False)
        for turn in range(options.rounds):
            for count in counts if turn % 2 == 0 else counts[::-1]:
                for engine in engines if turn % 2 == 0 else engines[::-1]:
                    part = tokens[options.length:options.length + count]
                    found = engine.ask(tokens=part, one_by_one=False, repeat=REPEAT)["seconds"]
                    seconds.setdefault((engine.name, count), []).extend(found[REPEAT // 2:])
    finally:
        for engine in engines:
            engine.stop()
    return {name: {count: statistics.median(seconds[name, count]) for count in counts} for name in paths}


def models(options):
    """(name, {engine: path}) of each model to measure."""
    names = options.engines.split(",")
    for model in filter(None, options.models.replace(",", " ").split()):
        for bits in options.bits.split(","):
            onnx, gguf = llm_models.prepare(llm_models.SHAPES[model], bits, options.folder, "llama_cpp" in names)
            yield f"{model} {bits}", {name: gguf if name == "llama_cpp" else onnx for name in names}
    for path in options.paths:
        yield pathlib.Path(path).stem, {name: path for name in names if name != "llama_cpp"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("paths", nargs="*")
    parser.add_argument("--models", default="135m", help=f"of {', '.join(llm_models.SHAPES)}; '' for none")
    parser.add_argument("--bits", default="fp32,fp16,4-bit,4-bit-f32", help="4-bit-f32: activations stay floats")
    parser.add_argument("--tokens", default="1,2,4,8")
    parser.add_argument("--length", type=int, default=512, help="of the cache")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cache", choices=("growing", "shared"), default="shared")
    parser.add_argument("--engines", default="sardonyx", help="of sardonyx, onnxruntime and llama_cpp")
    parser.add_argument("--folder", default=llm.BUILD / "benchmarks/llm", help="where the models are written")
    parser.add_argument("--llama-cpp", default=llm.ROOT / "build/llama_cpp", help="its environment")
    options = parser.parse_args()
    counts = [int(count) for count in options.tokens.split(",")]
    isa = os.environ.get("SDX_MAX_ISA", "the best")
    print(f"ms of a run behind {options.length} tokens, {options.threads} threads, instructions: {isa}")
    print("model".ljust(24), "engine".ljust(12), *(f"{count} tokens".rjust(16) for count in counts))
    for name, paths in models(options):
        for engine, found in measure(paths, counts, options).items():
            cells = (f"{1e3 * found[count]:8.2f} ({found[count] / found[counts[0]]:4.2f}x)" for count in counts)
            print(name.ljust(24), engine.ljust(12), *cells, flush=True)


if __name__ == "__main__":
    main()
