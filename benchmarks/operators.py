#!/usr/bin/env python3
"""Every operator in Sardonyx and in ONNX Runtime: one node a model, outputs bound, in turns; prints a table of ratios.

usage: benchmarks/operators.py [--threads N] [--sizes 1e3,1e5,1e7,natural] [--only REGEX] [--repeats N] [--save FILE]

A ratio above 1 says that Sardonyx is faster; "of copy" is the share that a memory-bound row of 1e7 elements has of the
bandwidth that a copy reaches in the same run. Rows below 0.85 are measured again, `--repeats` times in all, and the
median counts. A row that ONNX Runtime has no kernel for is counted, not measured. Cases are in operator_cases.py.
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import sys
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "benchmarks")]
import ceilings  # noqa: E402
import operator_cases  # noqa: E402
import operator_reasons  # noqa: E402
import peer  # noqa: E402
from engines import ENGINES, settle  # noqa: E402

TURN_SECONDS, LEAST_PAIRS = 0.01, 5
LOW, FLOOR = 0.85, 0.7


def declared(name, array):
    import onnx.helper

    kind = onnx.TensorProto.STRING if array.dtype == object else onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
    return onnx.helper.make_tensor_value_info(name, kind, array.shape)


def model_of(case):
    import onnx.helper
    import onnx.numpy_helper
    import onnx.parser

    parsed = onnx.parser.parse_model(f"<ir_version: 10, opset_import: [{case.opset}]> g () => () {{ {case.node} }}")
    graph = parsed.graph
    graph.input.extend(declared(name, array) for name, array in case.inputs.items())
    graph.initializer.extend(onnx.numpy_helper.from_array(array, name) for name, array in case.constants.items())
    graph.output.extend(onnx.ValueInfoProto(name=name) for name in graph.node[0].output[: case.outputs])
    return parsed.SerializeToString()


class Engine:
    """A session of one engine with its inputs bound, and its outputs where their sizes do not depend on the data."""

    def __init__(self, module, model, case, threads):
        options = module.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 4
        self.session = module.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.has_strings = any(array.dtype == object for array in case.inputs.values())
        self.feeds = case.inputs
        self.results = self.session.run(None, case.inputs)
        if self.has_strings:
            return
        self.binding = self.session.io_binding()
        self.held = [module.OrtValue.ortvalue_from_numpy(array) for array in case.inputs.values()]
        for name, value in zip(case.inputs, self.held):
            self.binding.bind_ortvalue_input(name, value)
        varies = case.operator in ("NonZero", "Unique", "Compress", "NonMaxSuppression")
        for meta, result in zip(self.session.get_outputs(), self.results):
            if varies or result.dtype == object:
                self.binding.bind_output(meta.name)
            else:
                self.held.append(module.OrtValue.ortvalue_from_numpy(result))
                self.binding.bind_ortvalue_output(meta.name, self.held[-1])

    def turn(self, count):
        times = []
        for _ in range(count):
            start = time.perf_counter()
            if self.has_strings:
                self.session.run(None, self.feeds)
            else:
                self.session.run_with_iobinding(self.binding)
            times.append(time.perf_counter() - start)
        return statistics.median(times)


def compare(engines, threads, seconds):
    """(seconds of a run by engine, the median of the ratios of adjacent turns)."""
    slowest = max(engine.turn(2) for engine in engines.values())
    count = min(2000, max(1, int(TURN_SECONDS / slowest)))
    best, ratios, begin = dict.fromkeys(ENGINES, float("inf")), [], time.perf_counter()
    while len(ratios) < LEAST_PAIRS or time.perf_counter() - begin < seconds:
        pair = {}
        for name in ENGINES if len(ratios) % 2 == 0 else ENGINES[::-1]:
            if threads > 1:
                settle()
            engines[name].turn(1)
            pair[name] = engines[name].turn(count)
            best[name] = min(best[name], pair[name])
        ratios.append(pair["onnxruntime"] / pair["sardonyx"])
    return best, statistics.median(ratios)


def measure(case, modules, threads, repeats):
    model, engines = model_of(case), {}
    for name in ENGINES:
        try:
            engines[name] = Engine(modules[name], model, case, threads)
        except Exception as error:  # what an engine cannot run is a result
            engines[name] = str(error).splitlines()[0]
    row = {"name": case.name, "operator": case.operator}
    if all(isinstance(engine, str) for engine in engines.values()):
        return None  # no such type
    if isinstance(engines["sardonyx"], str):
        return row | {"missing": engines["sardonyx"]}
    if isinstance(engines["onnxruntime"], str):
        return row | {"only_here": engines["onnxruntime"]}
    best, ratio = compare(engines, threads, 0.05)
    if ratio < LOW:
        ratio = statistics.median([ratio, *(compare(engines, threads, 0.1)[1] for _ in range(repeats - 1))])
    row |= {"ratio": ratio, "us": {name: 1e6 * value for name, value in best.items()}}
    if case.bytes_per_element and case.size == "1e7":
        count = max(array.size for array in case.inputs.values())
        row["gb_per_s"] = case.bytes_per_element * count / best["sardonyx"] / 1e9
    return row


def summary(rows, bandwidth):
    measured = [row for row in rows if "ratio" in row]
    lines = []
    if measured:
        low = sorted((row for row in measured if row["ratio"] < LOW), key=lambda row: row["ratio"])
        mean = np.exp(np.mean([np.log(row["ratio"]) for row in measured]))
        lines.append(f"{len(measured)} rows, geometric mean {mean:.2f}; {len(low)} ({len(low) / len(measured):.1%}) "
                     f"below {LOW}, {sum(row['ratio'] < FLOOR for row in low)} below {FLOOR}")
    lines.append(f"{sum('only_here' in row for row in rows)} rows that ONNX Runtime does not run, "
                 f"{sum('missing' in row for row in rows)} that Sardonyx does not run")
    lines += [f"  does not run: {row['name']}: {row['missing']}" for row in rows if "missing" in row]
    streams = [row for row in measured if "gb_per_s" in row]
    if streams and bandwidth:
        slow = [row for row in streams if row["gb_per_s"] < 0.7 * bandwidth]
        lines.append(f"memory-bound rows of 1e7 elements: {len(streams) - len(slow)} of {len(streams)} reach 70 % of "
                     f"{bandwidth:.1f} GB/s")
        lines += [f"  {row['name']}: {row['gb_per_s']:.1f} GB/s; {operator_reasons.reason(row['name'])}"
                  for row in slow]
    return lines


def copy_bandwidth():
    """GB/s of a copy of 80 MB (read and written), the best of some: what a memory-bound operator may reach."""
    source = np.ones(10_000_000)
    target = np.empty_like(source)
    times = []
    for _ in range(9):
        start = time.perf_counter()
        np.copyto(target, source)
        times.append(time.perf_counter() - start)
    return 2 * source.nbytes / min(times) / 1e9


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--sizes", default="1e3,1e5,1e7,natural")
    parser.add_argument("--only", default="", help="a regular expression for the names of rows")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--save", help="a JSON file for the rows")
    options = parser.parse_args()
    peer.require()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads])
    modules = {name: __import__(name) for name in ENGINES}
    cpu = ceilings.cpu()
    print(f"{cpu['model']}, {options.threads} threads, {' '.join(cpu['flags'])}; onnxruntime "
          f"{modules['onnxruntime'].__version__}")
    print(f"{'ratio':>6} {'here us':>10} {'peer us':>10} {'of copy':>7}  row")
    bandwidth = copy_bandwidth() if "1e7" in options.sizes.split(",") else 0
    rows, sizes = [], options.sizes.split(",")
    for case in operator_cases.cases(sizes):
        if not re.search(options.only, case.name):
            continue
        row = measure(case, modules, options.threads, options.repeats)
        if row is None:
            continue
        rows.append(row)
        if "ratio" in row:
            share = f"{row['gb_per_s'] / bandwidth:7.0%}" if "gb_per_s" in row else f"{'':7}"
            print(f"{row['ratio']:6.2f} {row['us']['sardonyx']:10.1f} {row['us']['onnxruntime']:10.1f} {share}  "
                  f"{row['name']}", flush=True)
    if bandwidth:  # the better of the beginning and the end: a machine with other work has quiet minutes
        bandwidth = max(bandwidth, copy_bandwidth())
    print("\n".join(summary(rows, bandwidth)))
    low = sorted((row for row in rows if row.get("ratio", 1) < LOW), key=lambda row: row["ratio"])
    print("\n".join(f"{row['ratio']:6.2f}  {row['name']}; {operator_reasons.reason(row['name'])}" for row in low))
    if options.save:
        found = {"cpu": cpu, "threads": options.threads, "rows": rows}
        pathlib.Path(options.save).write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
