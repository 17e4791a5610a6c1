#!/usr/bin/env python3
"""tests/soak/soak.py - runs a mix of models, shapes, threads, cancels, bad inputs and session churn for a long time.

Callers at once take sessions from a shared set and run them with shapes of their choice, on all threads or one; some
runs are cancelled, some get inputs that are wrong; sessions are closed and opened again, trimmed, run in parallel mode.
Every result must have the bits of the first one for its model and shape, every error must be the one that was asked
for, and memory must not grow: the median of its last fifth is compared with that of the second fifth.

usage: soak.py [--minutes N] [--callers N] [--report SECONDS]      (the seed is printed; --seed repeats its choices)
"""
import argparse
import collections
import itertools
import os
import pathlib
import random
import statistics
import sys
import threading
import time
import zlib

import numpy as np
import onnx.parser

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests/models")]
import model_zoo  # noqa: E402
import sardonyx  # noqa: E402
import zoo  # noqa: E402

ZOO_MODELS = ("minilm_l6", "mobilenet_v3_large", "xgboost_500", "keras_loop_rnn", "minilm_int8_qdq")
# Hundreds of megabytes of weights each: opening them again and again would be all that happens.
LARGE = ("light_bvlc_alexnet", "light_vgg19", "light_zfnet512")
MOST_GROWTH = 1.05
SLACK_MB = 8  # of heaps that fill their gaps

ENDLESS = onnx.parser.parse_model("""
<ir_version: 10, opset_import: ["" : 21]>
endless (int64 trips, float[N] x) => (float[N] y) {
  y = Loop <body = step (int64 i, bool go, float[N] a) => (bool more, float[N] b) { more = Identity(go) b = Cos(a) }>
      (trips, , x)
}""").SerializeToString()
WIDE = onnx.parser.parse_model("""
<ir_version: 10, opset_import: ["" : 21]>
wide (float[N,N] x, int64[K] rows) => (float[K,N] y) {
  a = MatMul(x, x)
  b = Tanh(x)
  c = Softmax(x)
  d = Exp(c)
  ab = Add(a, b)
  s = Add(ab, d)
  y = Gather(s, rows)
}""").SerializeToString()


class SoakError(Exception):
    """What must not happen did."""


class Subject:
    """A model with the feeds that it is run with, and what each gave first."""

    def __init__(self, name, source, feeds):
        self.name, self.source, self.feeds = name, source, feeds
        self.want = [None] * len(feeds)
        self.lock = threading.Lock()

    def check(self, index, outputs):
        found = [digest(value) for value in outputs]
        with self.lock:
            if self.want[index] is None:
                self.want[index] = found
            elif self.want[index] != found:
                raise SoakError(f"{self.name}, feed {index}: other bits than the first time")


def digest(value):
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.shape, zlib.crc32(np.ascontiguousarray(value).data.cast("B") if value.size else b"")
    return repr(value)


def own_subjects():
    rng = np.random.default_rng(3)
    square = [{"x": rng.standard_normal((n, n), np.float32), "rows": np.arange(n, dtype=np.int64)[::2]}
              for n in (1, 7, 64, 200, 333)]
    loops = [{"trips": np.int64(5), "x": rng.standard_normal(n, np.float32)} for n in (1, 100, 5000)]
    yield Subject("wide", WIDE, square)
    yield Subject("endless", ENDLESS, loops)


def packaged_subjects():
    for model in zoo.models():
        if model.name in LARGE:
            continue
        runs = list(itertools.islice(model.runs(), 3))
        # A state that the caller carries on is always the first one here: runs come in any order.
        feeds = [{name: runs[0][name] if isinstance(value, str) else value for name, value in run.items()}
                 for run in runs]
        yield Subject(model.name, str(model.path), feeds)


def zoo_subjects():
    if not model_zoo.present():
        return
    for name in ZOO_MODELS:
        path = model_zoo.path(name)
        if name.startswith("minilm"):
            ports = [port.name for port in sardonyx.InferenceSession(str(path)).get_inputs()]
            shapes = ((1, 8), (1, 128), (4, 33), (2, 77), (3, 1))
            feeds = [{port: np.ones(shape, np.int64) for port in ports} for shape in shapes]
        else:
            feeds = [model_zoo.inputs(name, seed=seed) for seed in range(2)]
        yield Subject(name, str(path), feeds)


class Soak:
    def __init__(self, seed):
        self.end, self.seed = 0.0, seed
        self.subjects = [*own_subjects(), *packaged_subjects(), *zoo_subjects()]
        self.counts, self.failures = collections.Counter(), []
        self.sessions = {subject.name: self.open(subject, random.Random(seed)) for subject in self.subjects}

    def open(self, subject, choice):
        options = sardonyx.SessionOptions()
        options.intra_op_num_threads = choice.choice((1, 2, 3))
        options.log_severity_level = 3
        if choice.random() < 0.3:
            options.execution_mode = sardonyx.ExecutionMode.ORT_PARALLEL
            options.inter_op_num_threads = choice.choice((2, 3))
        if choice.random() < 0.2:
            options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        return sardonyx.InferenceSession(subject.source, options)

    # What callers do, and how often.
    def run(self, subject, choice):
        index = choice.randrange(len(subject.feeds))
        subject.check(index, self.sessions[subject.name].run(None, subject.feeds[index]))

    def reopen(self, subject, choice):
        session = self.open(subject, choice)
        self.sessions[subject.name] = session  # callers that run the old one keep it alive
        index = choice.randrange(len(subject.feeds))
        subject.check(index, session.run(None, subject.feeds[index]))

    def trim(self, subject, choice):  # noqa: ARG002
        self.sessions[subject.name].trim()

    def cancel(self, _, choice):
        session, options = self.sessions["endless"], sardonyx.RunOptions()
        timer = threading.Timer(choice.uniform(0, 0.02), lambda: setattr(options, "terminate", True))
        timer.start()
        try:
            session.run(None, {"trips": np.int64(2**60), "x": np.ones(10, np.float32)}, options)
        except sardonyx.Fail as error:
            if "terminate" not in str(error):
                raise SoakError(f"a cancelled run ended with: {error}") from error
        else:
            raise SoakError("a run that never ends has ended")
        finally:
            timer.join()

    def spoil(self, subject, choice):
        feed = dict(subject.feeds[choice.randrange(len(subject.feeds))])
        name = choice.choice(list(feed))
        wrong = np.asarray(feed[name])
        feed[name] = np.zeros((*wrong.shape, 2), wrong.dtype) if choice.random() < 0.5 else np.array(["text"])
        self.refused(self.sessions[subject.name], feed)

    def bad_index(self, _, choice):
        feed = {"x": np.ones((64, 64), np.float32), "rows": np.array([choice.randrange(64, 10**6)])}
        self.refused(self.sessions["wide"], feed)

    def refused(self, session, feed):
        try:
            session.run(None, feed)
        except (sardonyx.InvalidArgument, sardonyx.Fail, ValueError, TypeError):
            return
        raise SoakError(f"wrong inputs ran: { {name: np.shape(value) for name, value in feed.items()} }")

    ACTIONS = ((run, 100), (reopen, 4), (trim, 2), (cancel, 2), (spoil, 8), (bad_index, 4))

    def caller(self, number):
        choice = random.Random(self.seed * 1000 + number)
        actions, weights = zip(*self.ACTIONS, strict=True)
        while time.monotonic() < self.end and not self.failures:
            action, subject = choice.choices(actions, weights)[0], choice.choice(self.subjects)
            try:
                action(self, subject, choice)
            except Exception as error:  # noqa: BLE001  (reported at the end)
                self.failures.append(f"{action.__name__} of {subject.name}: {type(error).__name__}: {error}")
            self.counts[action.__name__] += 1


def resident_mb():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def watch(soak, begin, report):
    """Memory once a second until the end."""
    samples, said = [], begin
    while time.monotonic() < soak.end and not soak.failures:
        time.sleep(1)
        samples.append(resident_mb())
        if time.monotonic() - said >= report:
            said = time.monotonic()
            print(f"{said - begin:6.0f} s  {samples[-1]:6.0f} MB  {dict(soak.counts)}", flush=True)
    return samples


def growth(samples):
    """(early, late) medians; the first fifth is for warming up."""
    fifth = max(1, len(samples) // 5)
    return statistics.median(samples[fifth:2 * fifth] or samples), statistics.median(samples[-fifth:])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--callers", type=int, default=4)
    parser.add_argument("--report", type=float, default=60)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    soak = Soak(options.seed)
    print(f"{len(soak.subjects)} models: {' '.join(subject.name for subject in soak.subjects)}", flush=True)
    begin = time.monotonic()
    soak.end = begin + 60 * options.minutes
    callers = [threading.Thread(target=soak.caller, args=(number,)) for number in range(options.callers)]
    for thread in callers:
        thread.start()
    samples = watch(soak, begin, options.report)
    for thread in callers:
        thread.join()
    if soak.failures or not samples:
        sys.exit("\n".join(soak.failures) or "no time passed")
    early, late = growth(samples)
    print(f"{sum(soak.counts.values())} actions: {dict(soak.counts)}; memory {early:.0f} MB early, {late:.0f} MB late")
    if late > MOST_GROWTH * early + SLACK_MB:
        soak.failures.append(f"memory grew from {early:.0f} to {late:.0f} MB")
    for name in ("run", "reopen", "cancel", "spoil"):
        if soak.counts[name] == 0:
            soak.failures.append(f"no action '{name}' happened: nothing was soaked")
    sys.exit("\n".join(soak.failures) if soak.failures else 0)


if __name__ == "__main__":
    main()
