"""tests/zoo/check_model.py - compares one model of the zoo with ONNX Runtime, in a process of its own; prints JSON.

usage: check_model.py NAME [--levels LEVEL ...] [--first-size-only]

At each level, one session runs all sizes in turn and then the first one again, which must give the same bits.
Prints a list of results: model, level, size, output, error, tolerance, problem (empty if all is well).
"""
import argparse
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests/zoo")]
import model_zoo  # noqa: E402
import numpy as np  # noqa: E402
import peer  # noqa: E402
import zoo_cases  # noqa: E402

peer.require()


def references(name, sizes):
    """(inputs, outputs of ONNX Runtime with its defaults) per size."""
    import onnxruntime

    session = zoo_cases.open_session(onnxruntime, model_zoo.path(name), "ORT_ENABLE_ALL")
    shapes = {port.name: port.shape for port in session.get_inputs()}
    feeds = [model_zoo.inputs(name, size, shapes) for size in sizes]
    return feeds, [zoo_cases.run(session, feed) for feed in feeds]


def same_bits(first, second):
    """Whether two values are equal to the last bit, NaN and the sign of zero included."""
    if isinstance(first, np.ndarray) and first.dtype != object:
        return isinstance(second, np.ndarray) and first.dtype == second.dtype and first.shape == second.shape and \
            first.tobytes() == second.tobytes()
    if isinstance(first, (list, tuple)):
        return len(first) == len(second) and all(map(same_bits, first, second))
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same_bits(first[key], second[key]) for key in first)
    return np.array_equal(first, second) if isinstance(first, np.ndarray) else first == second


def judged(name, level, size, output, found):
    """A row of the result; the problem says why it is not good enough."""
    allowed = zoo_cases.tolerance(name)
    problem = found.problem
    if not problem and not found.error <= allowed.error:
        problem = f"differs by {found.error:.2e}, allowed are {allowed.error:.1e}"
    if not problem and found.unmatched > allowed.unmatched:
        problem = f"{found.unmatched} detections have no partner, allowed are {allowed.unmatched}"
    return {"model": name, "level": level, "size": size, "output": output, "error": found.error,
            "unmatched": found.unmatched, "tolerance": allowed.error, "problem": problem}


def check_level(name, level, sizes, feeds, wanted):
    import sardonyx

    session = zoo_cases.open_session(sardonyx, model_zoo.path(name), level)
    first = None
    for size, feed, want in zip(sizes, feeds, wanted, strict=True):
        got = zoo_cases.run(session, feed)
        first = first or got
        for output, found in zoo_cases.compare(name, got, want).items():
            yield judged(name, level, size.name, output, found)
    again = zoo_cases.run(session, feeds[0])
    if not all(same_bits(first[output], again[output]) for output in first):
        differing = [output for output in first if not same_bits(first[output], again[output])]
        yield {"model": name, "level": level, "size": f"{sizes[0].name}, again", "output": differing[0], "error": 0.0,
               "unmatched": 0, "tolerance": 0.0, "problem": "not the bits of the first run"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name")
    parser.add_argument("--levels", nargs="+", default=list(zoo_cases.LEVELS))
    parser.add_argument("--first-size-only", action="store_true")
    options = parser.parse_args()
    sizes = model_zoo.sizes(options.name)
    sizes = sizes[:1] if options.first_size_only else sizes
    feeds, wanted = references(options.name, sizes)
    rows = []
    for level in options.levels:
        try:
            rows += check_level(options.name, level, sizes, feeds, wanted)
        except Exception as error:
            rows.append({"model": options.name, "level": level, "size": "", "output": "", "error": 0.0, "unmatched": 0,
                         "tolerance": 0.0, "problem": f"{type(error).__name__}: {error}"})
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
