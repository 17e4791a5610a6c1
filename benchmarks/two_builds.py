#!/usr/bin/env python3
"""benchmarks/two_builds.py - two builds of Sardonyx side by side: latency and time of session creation of whole models.

usage: benchmarks/two_builds.py OLD NEW [MODEL ...] [--threads T] [--seconds S] [--creations N]

OLD and NEW are build folders (such as build/release of two working trees). Each build has a process of its own, and the
two take turns as in bench.py. A ratio above 1 says that NEW is faster. MODEL is a name, a family or a glob.
"""
import argparse
import gc
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

import numpy as np


class Build:
    """A process that runs one model with one build's library, a turn for each line that it is sent."""

    def __init__(self, folder, model, threads):
        job = {"model": model, "threads": threads, "cores": sorted(os.sched_getaffinity(0))[:threads]}
        variables = os.environ | {"PYTHONPATH": f"{pathlib.Path(folder).resolve()}/python"}
        command = [sys.executable, "-W", "ignore", __file__, "--worker", json.dumps(job)]
        self.process = subprocess.Popen(command, text=True, env=variables, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)

    def ask(self, what, count):
        """Seconds of each of `count` runs ("run") or session creations ("create")."""
        print(what, count, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the worker ended with exit code {self.process.wait()}")
        return json.loads(answer)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def work(job):
    import engines
    import models
    import sardonyx

    os.sched_setaffinity(0, job["cores"])
    model = models.find(job["model"])
    path, feeds = model.path(), model.feeds(4)
    session, turns = engines.open_session(sardonyx, path, job["threads"]), 0
    for line in sys.stdin:
        what, count = line.split()
        times = []
        gc.collect()
        for index in range(int(count) + (what == "run")):  # one untimed run
            start = time.perf_counter()
            if what == "run":
                session.run(None, feeds[turns % len(feeds)])
                turns += 1
            else:
                engines.open_session(sardonyx, path, job["threads"])
            if index or what == "create":
                times.append(time.perf_counter() - start)
        engines.settle()
        print(json.dumps(times), flush=True)


def ratios(builds, what, count, least, seconds):
    """One ratio OLD / NEW for each pair of turns, and all times of both."""
    found, times, begin = [], ([], []), time.perf_counter()
    while len(found) < least or (time.perf_counter() - begin < seconds and len(found) < 60):
        pair = [0.0, 0.0]
        for side in (0, 1) if len(found) % 2 == 0 else (1, 0):
            measured = builds[side].ask(what, count)
            pair[side] = statistics.median(measured)
            times[side].extend(measured)
        found.append(pair[0] / pair[1])
    return found, times


def compare(model, options):
    builds = [Build(folder, model.name, options.threads) for folder in (options.old, options.new)]
    try:
        slowest = max(statistics.median(build.ask("run", 2)) for build in builds)
        count = min(200, max(1, int(0.03 / slowest)))
        runs, times = ratios(builds, "run", count, 7, options.seconds)
        created = ratios(builds, "create", 1, options.creations, 0)[0]
    finally:
        for build in builds:
            build.close()
    low, middle, high = np.percentile(runs, (25, 50, 75))
    old, new = (1e3 * statistics.median(side) for side in times)
    return middle, statistics.median(created), f"{old:9.3f} {new:9.3f} {middle:6.3f} [{low:.3f} {high:.3f}]"


def main():
    if sys.argv[1:2] == ["--worker"]:
        return work(json.loads(sys.argv[2]))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("models", nargs="*")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1.5, help="of runs per model")
    parser.add_argument("--creations", type=int, default=5, help="pairs of sessions created per model")
    options = parser.parse_args()
    import models

    speeds, creations = [], []
    print(f"{'model':32s}    old ms    new ms  ratio [quartiles]     creation")
    for model in models.select(options.models):
        try:
            model.path()
            speed, creation, text = compare(model, options)
        except (Exception, SystemExit) as error:  # noqa: BLE001  (the other models are still worth measuring)
            print(f"{model.name:32s} failed: {error}", flush=True)
            continue
        speeds.append(speed)
        creations.append(creation)
        print(f"{model.name:32s} {text} {creation:8.3f}", flush=True)
    if speeds:
        print(f"geometric mean of {len(speeds)}: speed {statistics.geometric_mean(speeds):.3f}, "
              f"creation {statistics.geometric_mean(creations):.3f}")


if __name__ == "__main__":
    main()
