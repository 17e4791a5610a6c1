#!/usr/bin/env python3
"""benchmarks/load.py - threads and memory under load, compared with ONNX Runtime; each figure in its own processes.

throughput  runs per second of N callers on one session of one thread, as a multiple of one caller's; and of N callers
            on a session with as many threads as cores, as a multiple of the same
spaced      CPU time of 100 runs that are 50 ms apart, as a multiple of 100 runs without pauses
idle        CPU time of idle sessions, as a share of a core
shapes      resident memory after 1,000 random shapes and then small runs, as a multiple of small runs only
sessions    resident memory of eight sessions of one file after a run of each, as a multiple of one session's; also
            after trim(), which leaves what is not activations
bytes       the same for sessions from bytes that contain the weights, each from its own copy of the bytes
cancel      milliseconds from RunOptions.terminate until `run` returns, and the longest node of the model

usage: load.py [--zoo FOLDER] [--engines sardonyx,onnxruntime] [--models NAME,...] [FIGURE]...
"""
import argparse
import gc
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import model_zoo  # noqa: E402
import peer  # noqa: E402

peer.require()

MODELS = {
    "throughput": ("resnet50", "minilm_l6", "gpt2"),
    "spaced": ("mobilenet_v3_large",),
    "idle": ("mobilenet_v3_large",),
    "shapes": ("minilm_l6",),
    "sessions": ("resnet50", "minilm_l6", "gpt2"),
    "bytes": ("resnet50", "minilm_l6"),
    "cancel": ("resnet50", "minilm_l6"),
}


def resident():
    """Megabytes of this process that are in memory."""
    with open("/proc/self/smaps_rollup") as file:
        for line in file:
            if line.startswith("Rss:"):
                return int(line.split()[1]) / 1024
    raise RuntimeError("no line 'Rss:' in /proc/self/smaps_rollup")


def open_session(engine, model, threads, source=None):
    """`source`: the bytes of the model; without them it is its file."""
    module = __import__(engine)
    options = module.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    return module.InferenceSession(source or str(model_zoo.path(model)), options, providers=["CPUExecutionProvider"])


def calls_in(session, feed, callers, seconds):
    """Runs a second that `callers` threads make together."""
    counts, begin = [0] * callers, threading.Barrier(callers + 1)
    stop = threading.Event()

    def work(index):
        begin.wait()
        while not stop.is_set():
            session.run(None, feed)
            counts[index] += 1

    threads = [threading.Thread(target=work, args=(index,)) for index in range(callers)]
    for thread in threads:
        thread.start()
    begin.wait()
    start = time.perf_counter()
    time.sleep(seconds)
    stop.set()
    for thread in threads:
        thread.join()
    return sum(counts) / (time.perf_counter() - start)


def throughput(engine, model, callers):
    session, wide, feed = open_session(engine, model, 1), open_session(engine, model, 0), model_zoo.inputs(model)
    for each in (session, wide):
        each.run(None, feed)
        calls_in(each, feed, callers, 0.3)
    one, many, both = [], [], []
    for _ in range(3):
        one.append(calls_in(session, feed, 1, 0.7))
        many.append(calls_in(session, feed, callers, 0.7))
        both.append(calls_in(wide, feed, callers, 0.7))
    return {"one": float(np.median(one)), "callers": callers, "factor": float(np.median(many) / np.median(one)),
            "threads_factor": float(np.median(both) / np.median(one))}


def cpu_of(session, feed, count, pause):
    before = time.process_time()
    for _ in range(count):
        session.run(None, feed)
        if pause:
            time.sleep(pause)
    return time.process_time() - before


def spaced(engine, model, threads):
    """In turns of 20 and 20: this is about what waiting costs, not about what the host's other guests do meanwhile."""
    session, feed = open_session(engine, model, threads), model_zoo.inputs(model)
    cpu_of(session, feed, 20, 0)
    dense = apart = 0.0
    for _ in range(5):
        time.sleep(0.2)
        dense += cpu_of(session, feed, 20, 0)
        time.sleep(0.2)
        apart += cpu_of(session, feed, 20, 0.05)
    return {"dense_s": dense, "spaced_s": apart, "factor": apart / dense}


def idle(engine, model, threads):
    sessions = [open_session(engine, model, threads) for _ in range(4)]
    for session in sessions:
        session.run(None, model_zoo.inputs(model))
    time.sleep(0.5)
    before, start = time.process_time(), time.perf_counter()
    time.sleep(2)
    return {"share": (time.process_time() - before) / (time.perf_counter() - start)}


def text_feed(session, batch, length):
    return {port.name: np.ones((batch, length), np.int64) for port in session.get_inputs()}


def small_runs(session):
    for index in range(200):
        session.run(None, text_feed(session, 1, 8 + index % 4))


def shapes(engine, model, count):
    session = open_session(engine, model, 1)
    rng = np.random.default_rng(7)
    peak = 0.0
    for _ in range(count):
        session.run(None, text_feed(session, int(rng.integers(1, 5)), int(rng.integers(1, 129))))
    peak = resident()
    small_runs(session)
    gc.collect()
    result = {"after_mb": resident(), "large_mb": peak}
    if hasattr(session, "trim"):
        session.trim()
        result["trimmed_mb"] = resident()
    return result


INLINE = "import sys, onnx; onnx.save(onnx.load(sys.argv[1]), sys.argv[2])"


def from_bytes(engine, model, count):
    with tempfile.TemporaryDirectory() as folder:
        whole = pathlib.Path(folder) / "whole.onnx"  # with its weights in it
        subprocess.run([sys.executable, "-W", "ignore", "-c", INLINE, str(model_zoo.path(model)), str(whole)],
                       check=True)
        return sessions(engine, model, count, whole.read_bytes)


def sessions(engine, model, count, read=lambda: None):
    feed, base = model_zoo.inputs(model), resident()
    held = []
    for _ in range(count):
        held.append(open_session(engine, model, 1, read()))
        held[-1].run(None, feed)
        gc.collect()
    result = {"base_mb": base, "resident_mb": resident()}
    if hasattr(held[0], "trim"):
        for session in held:
            session.trim()
        result["trimmed_mb"] = resident()
    return result


def cancel(engine, model, rounds):
    module = __import__(engine)
    session, feed = open_session(engine, model, 1), model_zoo.inputs(model)
    session.run(None, feed)
    start = time.perf_counter()
    session.run(None, feed)
    whole, delays, stopped = time.perf_counter() - start, [], 0
    for index in range(rounds):
        options = module.RunOptions()
        ended = []

        def work(options=options, ended=ended):
            try:
                session.run(None, feed, options)
                ended.append((time.perf_counter(), False))
            except Exception:
                ended.append((time.perf_counter(), True))

        thread = threading.Thread(target=work)
        thread.start()
        time.sleep(whole * (0.1 + 0.6 * index / rounds))
        options.terminate = True
        asked = time.perf_counter()
        thread.join()
        if ended[0][1]:
            stopped += 1
            delays.append(1e3 * max(0.0, ended[0][0] - asked))
    return {"run_ms": 1e3 * whole, "stopped": stopped, "of": rounds, "worst_ms": max(delays, default=0.0)}


WORKERS = {"throughput": throughput, "spaced": spaced, "idle": idle, "shapes": shapes, "sessions": sessions,
           "bytes": from_bytes, "cancel": cancel}


def ask(figure, engine, model, number):
    """Runs one worker in a process of its own."""
    command = [sys.executable, "-W", "ignore", __file__, "--worker", figure, engine, model, str(number)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{figure} of {model} on {engine} failed:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def line_of(figure, engine, model, cores):
    if figure == "throughput":
        found = ask(figure, engine, model, cores)
        return (f"{found['factor']:.2f} x with {cores} callers ({found['one']:.1f} runs/s with one); "
                f"{found['threads_factor']:.2f} x if each has all threads")
    if figure == "spaced":
        found = ask(figure, engine, model, cores)
        return f"{found['factor']:.2f} x ({found['dense_s']:.2f} s dense, {found['spaced_s']:.2f} s spaced)"
    if figure == "idle":
        return f"{100 * ask(figure, engine, model, cores)['share']:.2f} % of a core"
    if figure == "shapes":
        many, few = ask(figure, engine, model, 1000), ask(figure, engine, model, 0)
        trimmed = f", {many['trimmed_mb']:.0f} MB after trim" if "trimmed_mb" in many else ""
        return (f"{many['after_mb'] / few['after_mb']:.2f} x ({many['large_mb']:.0f} MB after 1,000 shapes, "
                f"{many['after_mb']:.0f} MB after small runs{trimmed}; small runs only {few['after_mb']:.0f} MB)")
    if figure in ("sessions", "bytes"):
        one, eight = ask(figure, engine, model, 1), ask(figure, engine, model, 8)
        bare = (f"; without activations, {one['resident_mb'] - one['trimmed_mb']:.1f} MB of one, "
                f"{eight['trimmed_mb'] / one['trimmed_mb']:.2f} x" if "trimmed_mb" in one else "")
        return (f"{eight['resident_mb'] / one['resident_mb']:.2f} x ({one['resident_mb']:.0f} MB with one, "
                f"{eight['resident_mb']:.0f} MB with eight, {one['base_mb']:.0f} MB of Python){bare}")
    found = ask(figure, engine, model, 20)
    return (f"{found['worst_ms']:.1f} ms at worst, {found['stopped']} of {found['of']} runs stopped "
            f"(a whole run: {found['run_ms']:.1f} ms)")


def main():
    if sys.argv[1:2] == ["--worker"]:
        figure, engine, model, number = sys.argv[2:6]
        print(json.dumps(WORKERS[figure](engine, model, int(number))))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help="one of " + ", ".join(MODELS))
    parser.add_argument("--zoo", help="where the models with weights are (else SDX_ZOO)")
    parser.add_argument("--engines", default="sardonyx,onnxruntime")
    parser.add_argument("--models", help="instead of each figure's own")
    options = parser.parse_args()
    if options.zoo:
        os.environ["SDX_ZOO"] = options.zoo
    for figure in options.figures or MODELS:
        for model in options.models.split(",") if options.models else MODELS[figure]:
            for engine in options.engines.split(","):
                text = line_of(figure, engine, model, len(os.sched_getaffinity(0)))
                print(f"{figure:<11}{model:<28}{engine:<12}{text}", flush=True)


if __name__ == "__main__":
    main()
