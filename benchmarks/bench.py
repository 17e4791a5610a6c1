#!/usr/bin/env python3
"""benchmarks/bench.py - compares Sardonyx with ONNX Runtime and OpenVINO: latency, start, memory, error of models.

usage: benchmarks/bench.py [MODEL ...] [--threads 1 2] [--seconds S] [--inputs N] [--json FILE] [--no-kernels]
                           [--quantize] [--bf16] [--no-openvino] [--keep NOTE]

MODEL is a name, a family or a glob; "all" is the whole zoo; without one, a selection runs in less than five minutes.
Each model has a process for the comparison, and one for each engine to measure its peak memory.
docs/benchmarks.md explains the table.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

import bench_page
import ceilings
import kept_results
import models
import openvino_engine
import quantized
import report

ROOT = pathlib.Path(__file__).resolve().parent.parent
HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", ROOT / "build/release"))
ENGINES = ("sardonyx", "onnxruntime")
PEERS = []  # folders on the path of the processes that measure, with peers of an installation of their own


class Progress:
    """One line that is overwritten on a terminal; a line per step elsewhere."""

    def __init__(self, steps):
        self.steps, self.done, self.begin = steps, 0, time.monotonic()
        self.terminal = sys.stderr.isatty()

    def say(self, text):
        line = f"[{self.done}/{self.steps}, {time.monotonic() - self.begin:.0f} s] {text}"
        begin, end = ("\r\033[K", "") if self.terminal else ("", "\n")
        print(begin + line, end=end, file=sys.stderr, flush=True)

    def step(self):
        self.done += 1

    def clear(self):
        if self.terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def worker(script, job, limit, environment=None):
    """The JSON that a worker process prints last, or {"failure": why there is none}."""
    command = [sys.executable, "-W", "ignore", str(HERE / script), json.dumps(job)]
    path = os.pathsep.join([str(BUILD / "python"), str(ROOT / "tools"), os.environ.get("PYTHONPATH", ""), *PEERS])
    variables = os.environ | {"PYTHONPATH": path} | (environment or {})
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, env=variables)
    except subprocess.TimeoutExpired:
        return {"failure": f"no answer within {limit} s"}
    if done.returncode:
        lines = [line for line in done.stderr.strip().splitlines() if line.strip()]
        return {"failure": lines[-1] if lines else f"exit code {done.returncode}"}
    return json.loads(done.stdout.strip().splitlines()[-1])


def cores_for(threads):
    """The first cores that we may use, as many as threads: both engines get the same."""
    return sorted(os.sched_getaffinity(0))[:threads]


def measure_model(model, options, progress):
    result = {"name": model.name, "family": model.family, "threads": {}}
    try:
        progress.say(f"{model.name}: weights")
        model.path()
    except (Exception, SystemExit) as error:
        return result | {"failure": f"weights: {error}"}
    for threads in options.threads:
        progress.say(f"{model.name}: {threads} thread{'s' * (threads > 1)}")
        job = {"model": model.name, "cores": cores_for(threads), "threads": threads, "seconds": options.seconds,
               "inputs": options.inputs, "starts": threads == max(options.threads), "bf16": options.bf16}
        measured = worker("engines.py", job, options.limit)
        if "failure" in measured:
            return result | measured
        result["threads"][threads] = measured
    if options.memory:
        threads = max(options.threads)
        job = {"model": model.name, "cores": cores_for(threads), "threads": threads}
        peaks = {}
        for engine in ENGINES:
            progress.say(f"{model.name}: memory of {engine}")
            peaks[engine] = worker("peak_memory.py", job | {"engine": engine}, options.limit)
            if "failure" in peaks[engine]:
                return result | {"failure": f"memory of {engine}: {peaks[engine]['failure']}"}
        result["peak_mb"] = {engine: peaks[engine]["peak_kb"] / 1024 for engine in ENGINES}
    if options.process:
        progress.say(f"{model.name}: whole processes")
        threads = max(options.threads)
        job = {"model": model.name, "cores": cores_for(threads), "threads": threads, "rounds": options.process}
        found = worker("process_start.py", job, options.limit)
        if "failure" in found:
            return result | {"failure": f"whole processes: {found['failure']}"}
        result["process_ms"] = found
    return result


def measure_kernel(model, options, progress, threads):
    progress.say(f"{model.name}: {threads} thread{'s' * (threads > 1)}")
    job = {"model": model.name, "cores": cores_for(threads), "threads": threads, "seconds": options.seconds / 4,
           "inputs": 3, "starts": False}
    return {"name": model.name, "threads": threads} | worker("engines.py", job, options.limit)


def measure_quantized(model, options, progress, threads):
    progress.say(f"{model.name} and its float model: {threads} thread{'s' * (threads > 1)}")
    job = {"model": model.name, "cores": cores_for(threads), "threads": threads, "seconds": options.seconds}
    return {"name": model.name, "threads": threads} | worker("quantized.py", job, options.limit)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", help='names, families, globs, or "all"; default: a selection')
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--seconds", type=float, default=1.0, help="of measuring per model and number of threads")
    parser.add_argument("--inputs", type=int, default=4, help="different inputs that the runs go through")
    parser.add_argument("--limit", type=int, default=300, help="seconds after which a process has failed")
    parser.add_argument("--json", type=pathlib.Path, default=ROOT / "build/bench.json")
    parser.add_argument("--keep", metavar="NOTE", help="write the figures to benchmarks/results, with a note "
                        "that says how the machine was used meanwhile")
    parser.add_argument("--no-kernels", dest="kernels", action="store_false", help="leave out the single nodes")
    parser.add_argument("--quantize", action="store_true",
                        help="also models of the zoo that our tool quantizes, against their float models")
    parser.add_argument("--bf16", action="store_true", help="we with sardonyx.precision=bf16, against OpenVINO in its "
                        "default precision (and ONNX Runtime in float32): errors are larger then")
    parser.add_argument("--no-openvino", dest="openvino", action="store_false", help="compare with ONNX Runtime alone")
    parser.add_argument("--no-memory", dest="memory", action="store_false", help="leave out peak memory")
    parser.add_argument("--process", type=int, default=5, metavar="N", help="rounds of whole processes, from the start "
                        "of Python to its end; 0 leaves them out")
    options = parser.parse_args()
    allowed = len(os.sched_getaffinity(0))
    if max(options.threads) > allowed:
        print(f"note: {allowed} core{'s' * (allowed > 1)} here, so no {max(options.threads)} threads", file=sys.stderr)
        options.threads = [count for count in options.threads if count <= allowed] or [allowed]
    return options


def main():
    options = parse()
    if not models.model_zoo.present():
        print(f"note: {models.model_zoo.why_absent()}; running the models of the installed packages", flush=True)
    chosen = models.select(options.models)
    nodes = [model for model in chosen if model.family == "kernel"]
    if options.kernels and not options.models:
        nodes = models.default_nodes()
    chosen = [model for model in chosen if model.family != "kernel"]
    if options.openvino and (folder := openvino_engine.install()):
        PEERS.append(str(folder))
    machine = ceilings.read(BUILD / "bin/peak", options.threads)
    if PEERS:
        machine["versions"]["openvino"] = openvino_engine.REQUIREMENT.partition("==")[2]
    print(report.machine_text(machine), flush=True)
    pairs = quantized.of_zoo(chosen) + (quantized.own() if options.quantize and models.model_zoo.present() else [])
    progress = Progress(len(chosen) + len(nodes) + len(pairs))
    results, kernels, quantized_rows = [], [], []
    for model in chosen:
        results.append(measure_model(model, options, progress))
        progress.step()
        save(options.json, machine, results, kernels, quantized_rows)
    for model in pairs:
        quantized_rows += [measure_quantized(model, options, progress, threads) for threads in options.threads]
        progress.step()
    for model in nodes:
        kernels += [measure_kernel(model, options, progress, threads) for threads in options.threads]
        progress.step()
    progress.clear()
    save(options.json, machine, results, kernels, quantized_rows)
    print(report.models_text(results))
    print(quantized.text(quantized_rows))
    print(report.kernels_text(kernels, machine))
    kept = kept_results.shortened(machine, results, kernels, options.keep or "")
    page = options.json.with_suffix(".html")
    page.write_text(bench_page.page(kept))
    print(f"JSON: {options.json}; charts: {page}")
    if options.keep is not None:
        print(f"kept: {kept_results.write(kept)}")
    sys.exit(any("failure" in row for row in results + kernels + quantized_rows))


def save(path, machine, results, kernels, quantized_rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    tables = {"machine": machine, "models": results, "kernels": kernels, "quantized": quantized_rows}
    path.write_text(json.dumps(tables, indent=1) + "\n")


if __name__ == "__main__":
    main()
