#!/usr/bin/env python3
"""benchmarks/compiled.py - what compiled models (.sdx) save; every figure is taken in processes of its own.

create  milliseconds until the first session of a process is there, from the ONNX model and from the compiled one, and
        until its first run is over; the files are in the page cache, and both kinds take turns
share   megabytes of memory of two processes that have run the same model: of each, and proportionally (Pss), where a
        page that both use counts half

usage: compiled.py [--models NAME,...] [--repetitions N] [--folder FOLDER]
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import model_zoo  # noqa: E402


def open_session(path, output=None):
    import sardonyx
    options = sardonyx.SessionOptions()
    options.log_severity_level = 3
    if output is not None:
        options.optimized_model_filepath = str(output)
    return sardonyx.InferenceSession(str(path), options)


def memory():
    """Megabytes of this process: {Rss, Pss, ...}."""
    lines = pathlib.Path("/proc/self/smaps_rollup").read_text().splitlines()[1:]
    return {key: int(value.split()[0]) / 1024 for key, value in (line.split(":") for line in lines)}


def measure(path, name, hold):
    """In a process of its own: prints the times, or what it holds once the caller has started all of them."""
    import sardonyx  # noqa: F401 - loading the library is not part of the time
    feed = model_zoo.inputs(name)
    start = time.perf_counter()
    session = open_session(path)
    created = time.perf_counter()
    session.run(None, feed)
    print(json.dumps({"create": 1e3 * (created - start), "first": 1e3 * (time.perf_counter() - start)}), flush=True)
    if hold:
        sys.stdin.readline()
        print(json.dumps(memory()), flush=True)
        sys.stdin.readline()


def begin(path, name, hold=False):
    command = [sys.executable, __file__, "--measure", str(path), name, *(["--hold"] if hold else [])]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def times(paths, name, repetitions):
    """[{create, first}]: the median of each path."""
    results = [[] for _ in paths]
    for _ in range(repetitions):
        for path, found in zip(paths, results, strict=True):
            with begin(path, name) as process:
                found.append(json.loads(process.stdout.readline()))
    return [{key: statistics.median(one[key] for one in found) for key in found[0]} for found in results]


def shared(path, name):
    both = [begin(path, name, hold=True) for _ in range(2)]
    for process in both:
        process.stdout.readline()
    found = []
    for process in both:
        process.stdin.write("\n")
        process.stdin.flush()
        found.append(json.loads(process.stdout.readline()))
    for process in both:
        process.communicate("\n")
    return {key: statistics.mean(one[key] for one in found) for key in ("Rss", "Pss")}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", default="bert_base,resnet50,gpt2")
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build/compiled")
    parser.add_argument("--measure", nargs=2, metavar=("PATH", "NAME"), help=argparse.SUPPRESS)
    parser.add_argument("--hold", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        return measure(*arguments.measure, arguments.hold)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    print("| model | create: ONNX, ms | compiled, ms | factor | to the end of the first run, ms | MB a process: ONNX "
          "| compiled |\n|---|---|---|---|---|---|---|")
    for name in arguments.models.split(","):
        path, compiled = model_zoo.path(name), arguments.folder / f"{name}.sdx"
        open_session(path, compiled)
        subprocess.run(["sync", str(compiled)], check=True)  # pages that are not on the disk yet are not shared
        plain, quick = times([path, compiled], name, arguments.repetitions)
        memories = [shared(each, name)["Pss"] for each in (path, compiled)]
        print(f"| {name} | {plain['create']:.0f} | {quick['create']:.1f} | {plain['create'] / quick['create']:.0f} | "
              f"{plain['first']:.0f}, {quick['first']:.0f} | {memories[0]:.0f} | {memories[1]:.0f} |", flush=True)
    return None


if __name__ == "__main__":
    main()
