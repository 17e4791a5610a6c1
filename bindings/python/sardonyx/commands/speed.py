"""How long runs take: models in turns, here and in ONNX Runtime, and node by node."""
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict

_WARMUP, _LEAST_RUNS = 2, 3
_PROFILED_RUNS = 10
# A run of a model in ONNX Runtime, in a process of its own: MODEL, an .npz file, the names of its arrays as JSON.
_TRIAL = """import json, sys
import numpy, onnxruntime
options = onnxruntime.SessionOptions()
options.log_severity_level = 4
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
arrays = numpy.load(sys.argv[2])
session.run(None, {name: arrays[f"arr_{i}"] for i, name in enumerate(json.loads(sys.argv[3]))})"""


def make_session(path, threads, profile=None):
    """A session of Sardonyx. `profile`: the prefix of a file that notes the time of each node."""
    import sardonyx

    options = sardonyx.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    if profile:
        options.enable_profiling = True
        options.profile_file_prefix = os.fspath(profile)
    return sardonyx.InferenceSession(os.fspath(path), options)


def peer():
    """The package onnxruntime, if it is installed and is not Sardonyx under that name; otherwise None."""
    with contextlib.suppress(ImportError):
        import onnxruntime

        if not hasattr(onnxruntime, "sardonyx_version") and hasattr(onnxruntime, "InferenceSession"):
            return onnxruntime
    return None


def make_peer_session(runtime, path, threads):
    """A session of ONNX Runtime."""
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    return runtime.InferenceSession(os.fspath(path), options, providers=["CPUExecutionProvider"])


def end_of_peer(path, feed):
    """What ends a process in which ONNX Runtime runs the model, as some models do; None if it goes on, also with an
    error of its own."""
    import numpy as np

    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "feed.npz")
        np.savez(file, *feed.values())
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(place for place in sys.path if place)}
        code = subprocess.run([sys.executable, "-c", _TRIAL, os.fspath(path), file, json.dumps(list(feed))],
                              env=environment, capture_output=True, check=False).returncode
    return signal.Signals(-code).name if code < 0 else None


def times_in_turns(sessions, feed, seconds):
    """Medians in milliseconds of runs of all sessions, one after the other, so that a busy machine slows all alike."""
    for session in sessions:
        for _ in range(_WARMUP):
            session.run(None, feed)
    taken, end = [[] for _ in sessions], time.perf_counter() + seconds * len(sessions)
    while time.perf_counter() < end or len(taken[0]) < _LEAST_RUNS:
        for session, times in zip(sessions, taken, strict=True):
            start = time.perf_counter()
            session.run(None, feed)
            times.append(1e3 * (time.perf_counter() - start))
    return [statistics.median(times) for times in taken]


def node_times(path, threads, feed, folder):
    """Milliseconds of a run by the names of nodes of the main graph: of the fastest of several, as others only tell
    what else the machine does."""
    session = make_session(path, threads, os.path.join(folder, "profile"))
    for _ in range(_WARMUP + _PROFILED_RUNS):
        session.run(None, feed)
    file = session.end_profiling()
    with open(file, encoding="utf-8") as opened:
        events = json.load(opened)
    os.remove(file)
    times, runs = defaultdict(lambda: defaultdict(float)), 0
    for event in events:
        if event.get("name") == "model_run":
            runs += 1
        elif event.get("cat") == "Node" and not event["args"].get("graph"):
            times[event["args"].get("node", "")][runs] += float(event["args"].get("self_dur") or 0) / 1e3
    return {node: min([by_run[run] for run in range(_WARMUP, runs)], default=0.0)
            for node, by_run in times.items()}
