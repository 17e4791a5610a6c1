"""benchmarks/engines.py - one process that runs one model on Sardonyx and its peers in turns; prints JSON.

usage: engines.py JOB, where JOB is JSON: {"model", "cores", "threads", "inputs" (their number), "seconds", "starts",
"bf16"}. With bf16 we compute products in it, and OpenVINO computes in the precision that it chooses itself.

The peers are ONNX Runtime and, where it is on the path, OpenVINO. All engines get the same cores, threads and inputs,
and another input in every run. They take turns: a turn waits until the idle workers of the engine before have stopped
spinning, runs once untimed and then a few times. Adjacent turns give one ratio, so a machine whose speed drifts favours
no engine.
"""
import gc
import json
import os
import statistics
import sys
import time

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
import openvino_engine  # noqa: E402
import peer  # noqa: E402

ENGINES = ("sardonyx", "onnxruntime")
SETTLED = 0.02  # share of a core that an idle process may use
TURN_SECONDS = 0.03


def open_session(engine, path, threads, level=None, entries=()):
    """With the engine's defaults but the number of threads (and no messages below errors)."""
    options = engine.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    if level:
        options.graph_optimization_level = getattr(engine.GraphOptimizationLevel, level)
    for key, value in entries:
        options.add_session_config_entry(key, value)
    return engine.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def settle(limit=0.3):
    """Returns when the worker threads of this process have gone to sleep."""
    begin = time.perf_counter()
    while time.perf_counter() - begin < limit:
        used, start = time.process_time(), time.perf_counter()
        time.sleep(0.004)
        if time.process_time() - used < SETTLED * (time.perf_counter() - start):
            return


def others_use(since=None):
    """The share of our cores that other processes used since an earlier call, and the state for the next call."""
    cores = os.sched_getaffinity(0)
    busy = 0
    with open("/proc/stat") as file:
        for line in file:
            name, *ticks = line.split()
            if name[3:].isdigit() and name.startswith("cpu") and int(name[3:]) in cores:
                numbers = [int(tick) for tick in ticks]
                busy += sum(numbers[:3]) + sum(numbers[5:8])
    now = (time.perf_counter(), busy / os.sysconf("SC_CLK_TCK"), time.process_time())
    if since is None:
        return 0.0, now
    elapsed = (now[0] - since[0]) * len(cores)
    foreign = (now[1] - since[1]) - (now[2] - since[2])
    return min(1.0, max(0.0, foreign / elapsed)), now


class Comparison:
    def __init__(self, path, feeds, threads, seconds, bf16=False):
        self.path, self.feeds, self.threads, self.seconds, self.bf16 = path, feeds, threads, seconds, bf16
        peer.require()
        self.modules = {name: __import__(name) for name in ENGINES}
        self.engines, self.refused = list(ENGINES), None
        if openvino_engine.present():
            try:
                self.open("openvino").run(None, feeds[0])
                self.engines.append("openvino")
            except Exception as error:  # noqa: BLE001  (a model that a peer refuses is a result)
                self.refused = str(error).strip().splitlines()[-1]
        self.next = dict.fromkeys(self.engines, 0)

    def open(self, name):
        if name == "openvino":
            return openvino_engine.Session(self.path, self.threads, None if self.bf16 else "f32")
        entries = [("sardonyx.precision", "bf16")] if self.bf16 and name == "sardonyx" else ()
        return open_session(self.modules[name], self.path, self.threads, entries=entries)

    def order(self, count):
        """The engines in the order of turn `count`: forward and backward in turns."""
        return self.engines if count % 2 == 0 else self.engines[::-1]

    def starts(self, least=3, most=7):
        """Seconds of session creation with the first run, each in a fresh session; the engines in turns."""
        times = {name: [] for name in self.engines}
        create = {name: [] for name in self.engines}
        begin = time.perf_counter()
        for count in range(most):
            if count >= least and time.perf_counter() - begin > self.seconds:
                break
            for name in self.order(count):
                gc.collect()
                settle()
                start = time.perf_counter()
                session = self.open(name)
                created = time.perf_counter()
                session.run(None, self.feeds[count % len(self.feeds)])
                times[name].append(time.perf_counter() - start)
                create[name].append(created - start)
                del session
        return times, create

    def turn(self, name, count):
        """Seconds of `count` runs, each with another input; one untimed run before them."""
        session, times = self.sessions[name], []
        settle()
        for index in range(count + 1):
            feed = self.feeds[self.next[name] % len(self.feeds)]
            self.next[name] += 1
            start = time.perf_counter()
            session.run(None, feed)
            if index:
                times.append(time.perf_counter() - start)
        return times

    def latencies(self):
        """All run times of sessions that are warm, and the median of each turn, by engine."""
        self.sessions = {name: self.open(name) for name in self.engines}
        for name in self.engines:
            self.turn(name, 1)
        slowest = max(statistics.median(self.turn(name, 2)) for name in self.engines)
        count = min(200, max(1, int(TURN_SECONDS / slowest)))
        times, turns = ({name: [] for name in self.engines} for _ in range(2))
        begin, done = time.perf_counter(), 0
        while done < 5 or (time.perf_counter() - begin < self.seconds and done < 60):
            if done >= 3 and time.perf_counter() - begin > 4 * self.seconds:
                break
            for name in self.order(done):
                measured = self.turn(name, count)
                turns[name].append(statistics.median(measured))
                times[name] += measured
            done += 1
        return times, turns

    def outputs(self):
        """Per input: the outputs of both, by name."""
        names = [output.name for output in self.sessions["onnxruntime"].get_outputs()]
        for feed in self.feeds:
            yield [dict(zip(names, self.sessions[engine].run(None, feed), strict=True)) for engine in ENGINES]


def quartiles(values):
    return [float(value) for value in np.percentile(values, (25, 50, 75))]


def ratios(turns, name):
    """Quartiles of the time of engine `name` over ours, of adjacent turns."""
    return quartiles([theirs / ours for theirs, ours in zip(turns[name], turns["sardonyx"], strict=True)])


def measure(path, feeds, threads, seconds, starts=True, table=None, bf16=False):
    """Everything this process finds out about one model, as a dictionary for JSON."""
    import compare_values

    _, usage = others_use()
    comparison = Comparison(path, feeds, threads, seconds, bf16)
    result = {}
    if starts:
        times, create = comparison.starts()
        result["start_ms"] = {name: 1e3 * statistics.median(times[name]) for name in times}
        result["create_ms"] = {name: 1e3 * statistics.median(create[name]) for name in create}
    times, turns = comparison.latencies()
    result["latency_ms"] = {name: 1e3 * statistics.median(times[name]) for name in times}
    result["p95_ms"] = {name: 1e3 * float(np.percentile(times[name], 95)) for name in times}
    result["speed"] = ratios(turns, "onnxruntime")
    if "openvino" in turns:
        result["openvino"] = ratios(turns, "openvino")
    if comparison.refused:
        result["openvino_refused"] = comparison.refused
    result["pairs"], result["runs"] = len(turns["sardonyx"]), len(times["sardonyx"])
    result["others"], _ = others_use(usage)
    result |= {"error": 0.0, "problem": "", "unmatched": 0}
    for ours, theirs in comparison.outputs():
        for name, found in compare_values.compare_outputs(ours, theirs, table).items():
            result["error"] = max(result["error"], found.error)
            result["unmatched"] = max(result["unmatched"], found.unmatched)
            if found.problem:
                result["problem"] = f"'{name}': {found.problem}"
    return result


def main():
    import models

    job = json.loads(sys.argv[1])
    os.sched_setaffinity(0, job["cores"])
    model = models.find(job["model"])
    print(json.dumps(measure(model.path(), model.feeds(job["inputs"]), job["threads"], job["seconds"],
                             job.get("starts", True), models.model_zoo.TABLES.get(model.name), job.get("bf16", False))))


if __name__ == "__main__":
    main()
