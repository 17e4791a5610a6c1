"""benchmarks/decode_growth.py - what a token costs a decoder whose cache grows; prints a table and writes JSON.

usage: decode_growth.py [--prompt 32,512] [--steps 64] [--threads 2] [--rounds 3] [--json FILE] MODEL.onnx...

A generation is a run over the prompt, then steps of one token; the `present` of each run is the `past` of the next.
Sessions are made anew in each round, for two generations. Both engines step in turns, so that a machine whose speed
drifts favours neither; a turn begins when the threads of the engine before sleep. In its turn an engine repeats its last
run, untimed, which wakes its threads, and runs the step twice with the same inputs: the first time its length is new (to
the session in its first generation), the second time it is known. Times are the minimum of a step over the rounds, and
of these the median over the steps.
"""
import argparse
import json
import os
import statistics
import time

import engines
import numpy as np

engines.peer.require()
import onnxruntime  # noqa: E402
import sardonyx  # noqa: E402

ENGINES = {"sardonyx": sardonyx, "onnxruntime": onnxruntime}
TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16}
VOCABULARY = 256  # tokens stay below every model's number of them


class Generation:
    """One engine's run over a prompt, then steps of one token."""

    def __init__(self, session, prompt, head_size):
        self.session = session
        self.inputs = session.get_inputs()
        self.outputs = [o.name for o in session.get_outputs()]
        self.past = {}
        for value in self.inputs:
            if value.name.startswith("past"):
                heads, size = value.shape[1], value.shape[3]
                if not isinstance(heads, int):
                    raise ValueError(f"{value.name}: expected [batch, heads, past, size], found {value.shape}")
                size = size if isinstance(size, int) else head_size
                self.past[value.name] = np.zeros((1, heads, 0, size), TYPES[value.type])
        self.length = 0
        self.times, self.known_times = [], []
        self.feeds = None  # of the last run
        self.run(np.random.default_rng(0).integers(0, VOCABULARY, prompt))

    def run(self, tokens):
        """Runs over these tokens and keeps the time, the cache and the last token's scores."""
        total = self.length + len(tokens)
        given = {"input_ids": np.asarray(tokens, np.int64)[None],
                 "attention_mask": np.ones((1, total), np.int64),
                 "position_ids": np.arange(self.length, total, dtype=np.int64)[None]}
        feeds = {i.name: given[i.name] for i in self.inputs if i.name in given} | self.past
        if self.feeds is not None:
            self.session.run(None, self.feeds)
            self.feeds = None  # the memory of its past goes, as in a program that generates
        for times in (self.times, self.known_times):
            results = None  # the memory of the last results goes before the clock starts
            start = time.perf_counter()
            results = self.session.run(None, feeds)
            times.append(time.perf_counter() - start)
        results = dict(zip(self.outputs, results, strict=True))
        self.past = {name: results[name.replace("past_key_values", "present")] for name in self.past}
        self.feeds = feeds
        self.length = total
        self.scores = results["logits"][0, -1]


def one_round(path, prompt, options):
    """Seconds of every run, by (engine, "first" or "second" generation or "known" length); the most scores differ."""
    sessions = {name: engines.open_session(engine, path, options.threads) for name, engine in ENGINES.items()}
    seconds, difference = {}, 0.0
    for generation in ("first", "second"):
        states = {}
        for name, session in sessions.items():
            engines.settle()
            states[name] = Generation(session, prompt, options.head_size)
        for step in range(options.steps):
            for name in ENGINES if step % 2 == 0 else list(ENGINES)[::-1]:
                engines.settle()
                states[name].run([step % VOCABULARY])
        scores = [state.scores for state in states.values()]
        difference = max(difference, float(np.abs(scores[0] - scores[1]).max()))
        for name, state in states.items():
            seconds[name, generation] = state.times
            seconds[name, "known"] = state.known_times
    return seconds, difference


def measure(path, prompt, options):
    """A row of the table: milliseconds of the prompt and of a step, for each engine and kind of run."""
    rounds, difference = [], 0.0
    for _ in range(options.rounds):
        seconds, found = one_round(path, prompt, options)
        rounds.append(seconds)
        difference = max(difference, found)
    row = {"model": os.path.splitext(os.path.basename(path))[0], "prompt": prompt, "steps": options.steps,
           "threads": options.threads, "difference": difference}
    for name, kind in rounds[0]:
        runs = np.array([seconds[name, kind] for seconds in rounds]).min(axis=0) * 1000
        row[f"{name} {kind} prompt"] = float(runs[0])
        row[f"{name} {kind}"] = statistics.median(runs[1:])
        row[f"{name} {kind} steps"] = [round(float(ms), 3) for ms in runs[1:]]
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--prompt", default="32,512", help="lengths of prompts, joined by commas")
    parser.add_argument("--steps", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--head-size", type=int, default=64, help="of caches whose last axis the model leaves open")
    parser.add_argument("--json")
    options = parser.parse_args()
    kinds = ("first", "second", "known")
    print("ms per token".ljust(28), "prompt".rjust(7), *(kind.rjust(8) for kind in kinds), "first/known",
          *("peer's".rjust(8) + f" {kind}" for kind in kinds), "peer's/ours, first")
    rows = []
    for path in options.models:
        for prompt in map(int, options.prompt.split(",")):
            row = measure(path, prompt, options)
            rows.append(row)
            ours, theirs = ([row[f"{name} {kind}"] for kind in kinds] for name in ENGINES)
            print(row["model"].ljust(28), f"{prompt:7}", *(f"{ms:8.2f}" for ms in ours), f"{ours[0] / ours[2]:11.3f}",
                  *(f"{ms:8.2f}".ljust(9 + len(kind)) for ms, kind in zip(theirs, kinds, strict=True)),
                  f"{theirs[0] / ours[0]:18.2f}", flush=True)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
