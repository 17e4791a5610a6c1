"""benchmarks/llm.py - language models on Sardonyx, llama.cpp and ONNX Runtime: the same weights, in turns.

usage: llm.py [--models 135m] [--bits fp32,fp16,8-bit,4-bit] [--prompts 32,512] [--steps 128] [--threads 2]
              [--cache growing|shared] [--engines sardonyx,llama_cpp,onnxruntime] [--generations 2] [--filled]
              [--prompt-runs 1] [--llama-cpp FOLDER] [--json FILE] [--page FILE.html]

For each model, number of bits and prompt, each engine has a process of its own, with its model loaded. A generation is
a run over the prompt, then steps of one token; each engine runs a few steps in its turn, and a process answers only
when its threads sleep. Two generations of a session are measured: in the first one every length is new. All engines
get the same tokens, and their scores of the last one are compared. With --filled the cache is not computed from a
prompt but filled (random numbers; in llama.cpp short sequences that are joined), so that a step behind 32,768 tokens
can be measured in seconds. docs/benchmarks.md explains the table.
"""
import argparse
import dataclasses
import json
import os
import pathlib
import statistics
import subprocess
import sys

import ceilings
import llama_cpp_build
import llm_models
import llm_page
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", ROOT / "build/release"))
TURN = 16  # steps of an engine in its turn
KINDS = ("first", "later")  # generations of a session
ENGINES = ("sardonyx", "llama_cpp", "onnxruntime")


@dataclasses.dataclass
class Engine:
    """A process of llm_engines.py."""

    name: str
    python: pathlib.Path

    def start(self, path, threads, capacity, cache):
        environment = os.environ | ({"PYTHONPATH": ""} if self.name == "llama_cpp" else {})
        self.process = subprocess.Popen(
            [self.python, "-W", "ignore", HERE / "llm_engines.py", self.name, path, str(threads), str(capacity), cache],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        self.read()

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name} ended with code {self.process.wait()}; its messages are above")
        return json.loads(line)

    def ask(self, **order):
        print(json.dumps(order), file=self.process.stdin, flush=True)
        return self.read()

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


def generate(engines, prompt, options, tokens):
    """{engine: (seconds of the prompt, [of each step], scores)} of one generation, the engines in turns. Of a filled
    cache there are no seconds."""
    result = {engine.name: [None, [], None] for engine in engines}
    steps, taken = options.steps, {engine.name: [] for engine in engines}
    for _ in range(1 if options.filled else options.prompt_runs):
        for engine in engines:
            if options.filled:
                engine.ask(fill=prompt)
                continue
            engine.ask(begin=True)
            taken[engine.name].append(sum(engine.ask(tokens=tokens[:prompt], one_by_one=False)["seconds"]))
            result[engine.name][0] = statistics.median(taken[engine.name])
    for turn, begin in enumerate(range(prompt, prompt + steps, TURN)):
        part = tokens[begin:min(begin + TURN, prompt + steps)]
        for engine in engines if turn % 2 == 0 else engines[::-1]:
            found = engine.ask(tokens=part, one_by_one=True)
            result[engine.name][1] += found["seconds"]
            result[engine.name][2] = np.array(found["scores"])
    return result


def difference(scores, reference):
    """The largest difference of two arrays, relative to the largest number of the reference."""
    return float(np.abs(scores - reference).max() / np.abs(reference).max())


def measure(shape, bits, prompt, options, engines):
    """A row of the table for each engine."""
    onnx, gguf = llm_models.prepare(shape, bits, options.folder, any(e.name == "llama_cpp" for e in engines))
    tokens = np.random.default_rng(0).integers(0, shape.vocabulary, prompt + options.steps).tolist()
    rows, started = [], []
    try:
        for engine in engines:
            path = gguf if engine.name == "llama_cpp" else onnx
            engine.start(str(path), options.threads, prompt + options.steps, options.cache)
            started.append(engine)
        found = {kind: generate(engines, prompt, options, tokens)
                 for kind in KINDS[:options.generations]}
        for engine in engines:
            rows.append({"model": shape.name, "bits": bits, "prompt": prompt, "steps": options.steps,
                         "engine": engine.name, "threads": options.threads, "cache": options.cache,
                         "filled": options.filled, "peak_mb": engine.ask(peak=True)["peak_mb"]})
    finally:
        for engine in started:
            engine.stop()
    length = prompt + options.steps // 2
    size = 2 if bits == "fp16" else 4
    for row in rows:
        for kind in KINDS:  # of one generation, both are that one
            seconds, steps, _ = found[kind if kind in found else "first"][row["engine"]]
            row[f"{kind}_prompt_rate"] = prompt / seconds if seconds else None
            row[f"{kind}_ms"] = 1e3 * statistics.median(steps)
        row["bytes"] = shape.weight_bytes(bits) + shape.cache_bytes(length, size)
        row["rate"] = row["bytes"] / row["later_ms"] / 1e6  # GB/s
        last = found[KINDS[options.generations - 1]]
        scores, reference = (last[name][2] for name in (row["engine"], engines[-1].name))
        row["difference"] = None if options.filled else difference(scores, reference)
    return rows


def streaming_rate(threads):
    """GB/s of memory that `threads` threads read, by benchmarks/peak; None if it is not built."""
    peak = BUILD / "bin/peak"
    if not peak.exists():
        return None
    text = subprocess.run([peak], capture_output=True, text=True, check=True).stdout
    row = ceilings.parse(text)["read 256 MB (memory)"]
    return row.get(str(threads)) or row["1"]


def engines_of(options):
    names = options.engines.split(",")
    if unknown := set(names) - set(ENGINES):
        raise SystemExit(f"--engines: expected some of {', '.join(ENGINES)}, found {', '.join(sorted(unknown))}")
    own = pathlib.Path(sys.executable)
    return [Engine(name, llama_cpp_build.python_with_llama_cpp(options.llama_cpp) if name == "llama_cpp" else own)
            for name in names]


def parse():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--models", default="135m", help=f"of {', '.join(llm_models.SHAPES)}")
    parser.add_argument("--bits", default=",".join(llm_models.ALL_BITS))
    parser.add_argument("--prompts", default="32,512", help="lengths, with the steps at most 32768")
    parser.add_argument("--steps", type=int, default=128)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cache", choices=("growing", "shared"), default="growing")
    parser.add_argument("--folder", default=BUILD / "benchmarks/llm", help="where the models are written")
    parser.add_argument("--llama-cpp", default=ROOT / "build/llama_cpp", help="its environment, made if it is missing")
    parser.add_argument("--engines", default=",".join(ENGINES), help="their scores are compared with the last one's")
    parser.add_argument("--generations", type=int, choices=(1, 2), default=2, help="1: no later one, in half the time")
    parser.add_argument("--prompt-runs", type=int, default=1, help="over each prompt, in turns; the median counts")
    parser.add_argument("--filled", action="store_true", help="fill the cache instead of running over a prompt")
    parser.add_argument("--json", default=BUILD / "benchmarks/llm.json", help="rows of earlier runs in it are kept")
    parser.add_argument("--page", default=BUILD / "benchmarks/llm.html")
    return parser.parse_args()


def keep(path, rows):
    """The rows of the file with those of this run in the place of older ones."""
    key = ("model", "bits", "prompt", "engine", "threads", "cache", "filled")
    path = pathlib.Path(path)
    known = json.loads(path.read_text())["rows"] if path.exists() else []
    kept = {tuple(row.get(name) for name in key): row for row in known + rows}
    return list(kept.values())


def main():
    options = parse()
    engines = engines_of(options)
    rate = streaming_rate(options.threads)
    print(llm_page.machine_text(rate, options.threads))
    print(llm_page.HEAD)
    for model in options.models.replace(",", " ").split():
        for bits in options.bits.split(","):
            for prompt in map(int, options.prompts.split(",")):
                found = measure(llm_models.SHAPES[model], bits, prompt, options, engines)
                print(llm_page.table(found, rate), flush=True)
                rows = keep(options.json, found)
                pathlib.Path(options.json).write_text(json.dumps({"streaming_gb_s": rate, "rows": rows}, indent=1))
                pathlib.Path(options.page).write_text(llm_page.page(rows, rate, options.threads))
    print(f"{options.page} and {options.json} have the figures")


if __name__ == "__main__":
    main()
