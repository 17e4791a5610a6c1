#!/usr/bin/env python3
"""tests/zoo/rounding.py - measures how far rounding alone moves a model's outputs: what tolerances.tsv rests on.

usage: rounding.py [MODEL ...] [--seeds N] [--write]

For every size and seed, ONNX Runtime runs with all its optimizations and with none. Both compute the same model; what
they differ by is rounding, so no engine can be asked to be nearer than that. A tolerance is twice the largest
difference found (see MARGIN in zoo_cases.py). --write renews the rows of tolerances.tsv of models for which that is
more than the 1e-4 that all others keep; nothing of ours is run here.
"""
import argparse
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests/zoo")]
import model_zoo  # noqa: E402
import zoo_cases  # noqa: E402

LEVELS = ("ORT_ENABLE_ALL", "ORT_DISABLE_ALL")


def measure(name, seeds):
    """Largest difference between the two levels, over sizes, seeds and outputs, and where."""
    import onnxruntime

    sessions = [zoo_cases.open_session(onnxruntime, model_zoo.path(name), level) for level in LEVELS]
    shapes = {port.name: port.shape for port in sessions[0].get_inputs()}
    worst = {"error": 0.0, "where": "", "unmatched": 0, "problem": ""}
    for size in model_zoo.sizes(name):
        for seed in range(seeds):
            feed = model_zoo.inputs(name, size, shapes, seed)
            outputs = [zoo_cases.run(session, feed) for session in sessions]
            for output, found in zoo_cases.compare(name, *outputs).items():
                where = f"'{output}', {size.name}, seed {seed}"
                if seed == 0:  # the tests' own; others saturate scores, and who of equal ones stays is arbitrary
                    worst["unmatched"] = max(worst["unmatched"], found.unmatched)
                if found.problem:
                    worst["problem"] = f"{where}: {found.problem}"
                if found.error > worst["error"]:
                    worst |= {"error": found.error, "where": where}
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*")
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one, options.seeds)))
        return
    rows = {}
    for name in model_zoo.select(options.models or ["all"]):
        command = [sys.executable, "-W", "ignore", __file__, "--one", name, "--seeds", str(options.seeds)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{name}: {done.stderr.strip()[-2000:]}")
        rows[name] = json.loads(done.stdout.splitlines()[-1])
        print(name, rows[name], flush=True)
    if options.write:
        zoo_cases.write_tolerances(rows, options.seeds)


if __name__ == "__main__":
    main()
