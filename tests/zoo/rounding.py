#!/usr/bin/env python3
"""tests/zoo/rounding.py - measures how far rounding alone changes a model's outputs, for tolerances.tsv.

usage: rounding.py [MODEL ...] [--seeds N] [--write]

For every size and seed, ONNX Runtime runs the model with all its optimizations, without any, and, where products of
4-bit weights may round their activations to 8 bits (accuracy_level), with float activations. All of these compute the
same model, so they differ only by rounding, and no engine can be expected to be closer. The tolerance is the largest
difference between the first run and the others. --write renews the rows of tolerances.tsv of models for which this is
more than 1e-4, the tolerance of all other models. It accepts only the number of seeds that all rows have. Sardonyx is
not used.
"""

import argparse
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests/zoo")]
import model_zoo  # noqa: E402
import peer  # noqa: E402
import zoo_cases  # noqa: E402

peer.require()


def float_activations(path):
    """The model at `path` without accuracy_level, as a file beside it; None where no product has one."""
    import onnx

    model = onnx.load(str(path), load_external_data=False)
    products = [node for node in model.graph.node if any(it.name == "accuracy_level" for it in node.attribute)]
    if not products:
        return None
    for node in products:
        kept = [it for it in node.attribute if it.name != "accuracy_level"]
        del node.attribute[:]
        node.attribute.extend(kept)
    changed = path.with_name(f"{path.stem}.float_activations.onnx")
    onnx.save(model, str(changed))
    return changed


def open_sessions(name):
    """(how it differs, session); the first is ONNX Runtime with its defaults."""
    import onnxruntime

    path = model_zoo.path(name)
    yield "defaults", zoo_cases.open_session(onnxruntime, path, "ORT_ENABLE_ALL")
    yield "without optimizations", zoo_cases.open_session(onnxruntime, path, "ORT_DISABLE_ALL")
    changed = float_activations(path)
    if changed is not None:
        try:
            yield "with float activations", zoo_cases.open_session(onnxruntime, changed, "ORT_ENABLE_ALL")
        finally:
            changed.unlink()


def measure(name, seeds):
    """Largest difference to the first session, over sizes, seeds and outputs, and where."""
    (_, first), *others = open_sessions(name)
    shapes = {port.name: port.shape for port in first.get_inputs()}
    worst = {"error": 0.0, "where": "", "unmatched": 0, "problem": ""}
    for size in model_zoo.sizes(name):
        for seed in range(seeds):
            feed = model_zoo.inputs(name, size, shapes, seed)
            wanted = zoo_cases.run(first, feed)
            for how, session in others:
                for output, found in zoo_cases.compare(name, zoo_cases.run(session, feed), wanted).items():
                    where = f"{how}, '{output}', {size.name}, seed {seed}"
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
    parser.add_argument("--seeds", type=int, default=zoo_cases.SEEDS)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write and options.seeds != zoo_cases.SEEDS:
        parser.error(f"expected --write without --seeds: all rows are measured with {zoo_cases.SEEDS} seeds")
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
        zoo_cases.write_tolerances(rows)


if __name__ == "__main__":
    main()
