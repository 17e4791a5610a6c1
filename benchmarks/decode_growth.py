"""benchmarks/decode_growth.py - what a token costs a decoder whose cache grows; prints a table and writes JSON.

usage: decode_growth.py [--prompt 32,512] [--steps 64] [--threads 2] [--rounds 3] [--json FILE] MODEL.onnx...

A generation is a run over the prompt, then steps of one token; the `present` of each run is the `past` of the next.
Each engine has two sessions, made anew in each round: one in its first generation, to which every length is new, and
one that has been through a generation of the same lengths before. What differs between them is what a new length costs.
(One session that runs each step twice tells something else: its second run finds the caches and the memory of the first
as that left them.) All four step in turns, so that a machine whose speed drifts favours none; a turn begins when the
threads of the one before sleep, with the session's last run again, untimed, which wakes its threads. Times are the
minimum of a step over the rounds, and of these the median over the steps.
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
KINDS = ("first", "known")
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
        self.times = []
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
        start = time.perf_counter()
        results = self.session.run(None, feeds)
        self.times.append(time.perf_counter() - start)
        results = dict(zip(self.outputs, results, strict=True))
        self.past = {name: results[name.replace("past_key_values", "present")] for name in self.past}
        self.feeds = feeds
        self.length = total
        self.scores = results["logits"][0, -1]


def one_round(path, prompt, options):
    """Seconds of every run, by (engine, "first" generation or "known" lengths); the most scores differ."""
    states = {}
    for name, engine in ENGINES.items():
        for kind in KINDS:
            session = engines.open_session(engine, path, options.threads)
            engines.settle()
            if kind == "known":
                before = Generation(session, prompt, options.head_size)
                for step in range(options.steps):
                    before.run([step % VOCABULARY])
            states[name, kind] = Generation(session, prompt, options.head_size)
    for step in range(options.steps):
        for key in states if step % 2 == 0 else list(states)[::-1]:
            engines.settle()
            states[key].run([step % VOCABULARY])
    scores = [states[name, "first"].scores for name in ENGINES]
    return {key: state.times for key, state in states.items()}, float(np.abs(scores[0] - scores[1]).max())


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
    print("ms per token".ljust(28), "prompt".rjust(7), *(kind.rjust(8) for kind in KINDS), "first/known",
          *("peer's".rjust(8) + f" {kind}" for kind in KINDS), "peer's/ours, first")
    rows = []
    for path in options.models:
        for prompt in map(int, options.prompt.split(",")):
            row = measure(path, prompt, options)
            rows.append(row)
            ours, theirs = ([row[f"{name} {kind}"] for kind in KINDS] for name in ENGINES)
            print(row["model"].ljust(28), f"{prompt:7}", *(f"{ms:8.2f}" for ms in ours), f"{ours[0] / ours[1]:11.3f}",
                  *(f"{ms:8.2f}".ljust(9 + len(kind)) for ms, kind in zip(theirs, KINDS, strict=True)),
                  f"{theirs[0] / ours[0]:18.2f}", flush=True)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
