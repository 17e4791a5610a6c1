#!/usr/bin/env python3
"""benchmarks/growth.py - how time and memory grow with batch, length, image, nodes and distinct shapes.

usage: growth.py [CURVE ...] [--threads T] [--seconds S] [--rounds N] [--limit S] [--largest N] [--add]
                 [--json FILE]

CURVE is a name or a glob. Each engine has a process of its own for each point, and both work in turns: session
creation with the first run, a few rounds of it, then turns of runs. An engine that takes longer than the limit for
one creation or run leaves out the larger points of its curve. The page of curves lies beside the JSON.
docs/benchmarks.md explains the table.
"""
import argparse
import fnmatch
import json
import os
import pathlib
import pickle
import select
import statistics
import subprocess
import sys
import tempfile
import time

import ceilings
import growth_models
import growth_page
import growth_workers
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", ROOT / "build/release"))
ENGINES = ("sardonyx", "onnxruntime")
TURN_SECONDS = 0.03


class TooSlowError(Exception):
    """An engine has not answered within the limit."""


class Engine:
    """A process that loads and runs one model with one engine, when it is asked to."""

    def __init__(self, engine, point, options):
        self.limit, self.answers = options.limit, b""
        job = {"engine": engine, "threads": options.threads, "cores": sorted(os.sched_getaffinity(0))[:options.threads],
               "path": str(point.path), "feed": str(point.feed), "budget": options.limit}
        path = os.pathsep.join([str(BUILD / "python"), str(ROOT / "tools"), os.environ.get("PYTHONPATH", "")])
        command = [sys.executable, "-W", "ignore", growth_workers.__file__, json.dumps(job)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0,
                                        env=os.environ | {"PYTHONPATH": path})
        self.ask("ready")

    def ask(self, *words):
        """The worker's answer to a line of words; raises TooSlowError after the limit."""
        self.process.stdin.write((" ".join(map(str, words)) + "\n").encode())
        end = time.monotonic() + self.limit + 10
        while not self.answers.endswith(b"\n"):
            if not select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))[0]:
                raise TooSlowError
            found = os.read(self.process.stdout.fileno(), 1 << 16)
            if not found:
                raise RuntimeError(f"the worker ended with exit code {self.process.wait()}")
            self.answers += found
        answer, self.answers = json.loads(self.answers), b""
        return answer

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class Point:
    """The files of one model and its inputs."""

    def __init__(self, folder, made, feed):
        self.path, self.feed = folder / "model.onnx", folder / "feed.pickle"
        self.path.write_bytes(made.SerializeToString())
        self.feed.write_bytes(pickle.dumps(feed))


def in_turns(engines, rounds, work):
    """{name: what `work(engine)` returned in each round}; an engine that is too slow has none, and is closed."""
    found = {name: [] for name in engines}
    for turn in range(rounds):
        for name in list(engines) if turn % 2 == 0 else list(engines)[::-1]:
            try:
                found[name].append(work(engines[name]))
            except TooSlowError:
                found[name] = []
                engines.pop(name).close()
        if found and all(sum(answer["seconds"] for answer in answers) > 10 for answers in found.values()):
            break  # a few percent do not matter here
    return found


def measure_point(point, names, options):
    """{engine: {"create_ms", "start_ms", "run_ms", "peak_mb"}}; an engine that is too slow is missing."""
    engines, result = {}, {}
    try:
        for name in names:
            engines[name] = Engine(name, point, options)
        created = in_turns(engines, options.rounds, lambda engine: engine.ask("create"))
        for name in engines:
            result[name] = {"create_ms": 1e3 * statistics.median(answer["create"] for answer in created[name]),
                            "start_ms": 1e3 * statistics.median(answer["seconds"] for answer in created[name]),
                            "peak_mb": created[name][0]["peak_kb"] / 1024}
        slowest = max((engine.ask("run", 1)["seconds"] for engine in engines.values()), default=1)
        count = min(100, max(1, int(TURN_SECONDS / slowest)))
        turns = min(25, max(3, int(options.seconds / (slowest * count * len(engines) or 1))))
        ran = in_turns(engines, turns, lambda engine: engine.ask("run", count))
        for name in engines:
            result[name]["run_ms"] = 1e3 * statistics.median(answer["median"] for answer in ran[name])
    finally:
        for engine in engines.values():
            engine.close()
    return {name: row for name, row in result.items() if name in engines}


def curve(name, options, folder):
    """The points of a curve of GRAPHS or RUNS."""
    if name in growth_models.GRAPHS:
        what, sizes, make = growth_models.GRAPHS[name]
    else:
        what, sizes, network, dims = growth_models.RUNS[name]
        made = network()

        def make(size):
            return made, {"x": np.random.default_rng(size).standard_normal(dims(size), np.float32)}
    names, points = list(ENGINES), []
    for size in sizes:
        if size > options.largest or not names:
            break
        print(f"  {name}, {size}", end="\r", file=sys.stderr, flush=True)
        found = measure_point(Point(folder, *make(size)), names, options)
        points.append({"size": size} | found)
        names = [engine for engine in names if engine in found]
    return {"name": name, "what": what, "points": points}


def shapes_curve(name, options, folder):
    """Runs with shapes that the session has not seen, up to each number of them."""
    made, counts, dims = growth_models.DISTINCT[name]
    shapes = dims()
    point = Point(folder, made(), {"x": shapes})
    engines, points, done = {}, [], 0
    try:
        for engine in ENGINES:
            engines[engine] = Engine(engine, point, options)
            engines[engine].ask("create-only")
        for count in counts:
            if count > options.largest:
                break
            print(f"  {name}, {count}", end="\r", file=sys.stderr, flush=True)
            parts = np.array_split(np.arange(done, count), min(10, count - done))
            answers = {engine: [] for engine in engines}
            for turn, part in enumerate(parts):
                for engine in list(engines) if turn % 2 == 0 else list(engines)[::-1]:
                    answers[engine].append(engines[engine].ask("shapes", part[0], part[-1] + 1))
            row = {"size": count}
            for engine, found in answers.items():
                row[engine] = {"new_ms": 1e3 * statistics.median(each["new"] for each in found),
                               "run_ms": 1e3 * statistics.median(each["known"] for each in found),
                               "kept_mb": engines[engine].ask("kept")["kb"] / 1024}
            points.append(row)
            done = count
    finally:
        for engine in engines.values():
            engine.close()
    return {"name": name, "what": "distinct shapes", "points": points}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("curves", nargs="*")
    parser.add_argument("--threads", type=int, default=min(2, len(os.sched_getaffinity(0))))
    parser.add_argument("--seconds", type=float, default=1.0, help="of runs for each point")
    parser.add_argument("--rounds", type=int, default=3, help="sessions created for each point")
    parser.add_argument("--limit", type=float, default=60, help="seconds that one answer of an engine may take")
    parser.add_argument("--largest", type=int, default=1 << 40, help="leave out larger points")
    parser.add_argument("--add", action="store_true", help="keep the other curves that the JSON has")
    parser.add_argument("--json", type=pathlib.Path, default=ROOT / "build/growth.json")
    options = parser.parse_args()
    known = [*growth_models.GRAPHS, *growth_models.RUNS, *growth_models.DISTINCT]
    chosen = [name for name in known if any(fnmatch.fnmatch(name, each) for each in options.curves or ["*"])]
    if not chosen:
        parser.error(f"no such curve; there are: {'; '.join(known)}")
    machine = {"cpu": ceilings.cpu(), "threads": options.threads, "limit_s": options.limit}
    print(growth_page.machine_text(machine) + "\n\n" + growth_page.HEAD, flush=True)
    curves = json.loads(options.json.read_text())["curves"] if options.add and options.json.exists() else []
    with tempfile.TemporaryDirectory() as folder:
        for name in chosen:
            measure = shapes_curve if name in growth_models.DISTINCT else curve
            found = measure(name, options, pathlib.Path(folder))
            print(growth_page.lines(found), flush=True)
            curves = sorted([*(each for each in curves if each["name"] != name), found],
                            key=lambda each: known.index(each["name"]))
            options.json.parent.mkdir(parents=True, exist_ok=True)
            options.json.write_text(json.dumps({"machine": machine, "curves": curves}, indent=1) + "\n")
    page = options.json.with_suffix(".html")
    page.write_text(growth_page.page(machine, curves))
    print(f"\n{growth_page.summary(curves)}\nJSON: {options.json}; curves: {page}")


if __name__ == "__main__":
    main()
