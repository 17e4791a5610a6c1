#!/usr/bin/env python3
"""tests/soak/soak.py - a long run of many models, shapes, threads, cancelled runs, wrong inputs and new sessions.

Several callers use two sets of sessions at the same time. One set stays; the sessions of the other are opened with
various options, and closed while other callers run them. Runs are cancelled or get wrong inputs; sessions are trimmed,
run in parallel mode, and return inner values. Every result must have the same bits as the first one for its model and
input, and every error must be the expected one.

Time is divided into cycles. After each cycle the callers stop, the second set is closed, the first one is trimmed, and
free memory is returned. What is still in use must not grow (tests/soak/growth.py). Samples begin after a warm-up that
has done everything once.

usage: soak.py [--minutes N] [--callers N] [--seed N]      (the seed is printed; --seed repeats its choices)
"""
import argparse
import collections
import gc
import itertools
import os
import pathlib
import random
import sys
import threading
import time
import zlib

import numpy as np
import onnx.parser

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests/models"), str(ROOT / "tests/soak")]
import growth  # noqa: E402
import model_zoo  # noqa: E402
import sardonyx  # noqa: E402
import zoo  # noqa: E402

ZOO_MODELS = ("minilm_l6", "mobilenet_v3_large", "xgboost_500", "keras_loop_rnn", "minilm_int8_qdq")
# Hundreds of megabytes of weights each: opening them again and again would be all that happens.
LARGE = ("light_bvlc_alexnet", "light_vgg19", "light_zfnet512")
CYCLES = 12  # in a short soak; a long one has more, of LONGEST_CYCLE seconds
LONGEST_CYCLE = 30
EXTRA_SESSIONS = 6

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
    """A model with the inputs that it is run with (by number, made when asked for), and what each gave first."""

    def __init__(self, name, source, count, feed_of, inner=None):
        self.name, self.source, self.count, self.feed_of, self.inner = name, source, count, feed_of, inner
        self.want = {}
        self.lock = threading.Lock()

    def run(self, session, index):
        outputs = [output.name for output in session.get_outputs()]
        found = [digest(value) for value in session.run(outputs, self.feed_of(index))]
        with self.lock:
            if self.want.setdefault(index, found) != found:
                raise SoakError(f"{self.name}, input {index}: other bits than the first time")


def digest(value):
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.shape, zlib.crc32(np.ascontiguousarray(value).data.cast("B") if value.size else b"")
    return repr(value)


def listed(name, source, feeds, inner=None):
    return Subject(name, source, len(feeds), feeds.__getitem__, inner)


def own_subjects():
    rng = np.random.default_rng(3)
    square = [{"x": rng.standard_normal((n, n), np.float32), "rows": np.arange(n, dtype=np.int64)[::2]}
              for n in (1, 7, 64, 200, 333)]
    loops = [{"trips": np.int64(5), "x": rng.standard_normal(n, np.float32)} for n in (1, 100, 5000)]
    yield listed("wide", WIDE, square, "ab")
    yield listed("endless", ENDLESS, loops)


def packaged_subjects():
    for model in zoo.models():
        if model.name in LARGE:
            continue
        runs = list(itertools.islice(model.runs(), 3))
        # A state that the caller carries on is always the first one here: runs come in any order.
        feeds = [{name: runs[0][name] if isinstance(value, str) else value for name, value in run.items()}
                 for run in runs]
        yield listed(model.name, str(model.path), feeds)


def zoo_subjects():
    if not model_zoo.present():
        return
    for name in ZOO_MODELS:
        path = str(model_zoo.path(name))
        if name.startswith("minilm"):
            ports = [port.name for port in sardonyx.InferenceSession(path).get_inputs()]

            def feed_of(index, ports=ports):
                shape = 1 + index % 4, 1 + index // 4
                return {port: np.ones(shape, np.int64) for port in ports}

            yield Subject(name, path, 512, feed_of)
        else:
            yield listed(name, path, [model_zoo.inputs(name, seed=seed) for seed in range(2)])


class Soak:
    def __init__(self, seed):
        self.end, self.seed = 0.0, seed
        self.subjects = [*own_subjects(), *packaged_subjects(), *zoo_subjects()]
        self.counts, self.failures = collections.Counter(), []
        self.lock = threading.Lock()
        self.kept = {subject.name: open_session(subject, 2) for subject in self.subjects}
        self.extra = collections.deque()  # (subject, session), the oldest first

    def pick(self, choice):
        """A subject and a session of it."""
        with self.lock:
            if self.extra and choice.random() < 0.4:
                return choice.choice(self.extra)
        subject = choice.choice(self.subjects)
        return subject, self.kept[subject.name]

    # What callers do, and how often.
    def run(self, choice):
        subject, session = self.pick(choice)
        subject.run(session, choice.randrange(subject.count))

    def reopen(self, choice):
        subject = choice.choice(self.subjects)
        session = open_session(subject, choice.choice((1, 2, 3)), choice)
        with self.lock:
            self.extra.append((subject, session))
            closed = self.extra.popleft() if len(self.extra) > EXTRA_SESSIONS else None
        del closed  # here, unless another caller runs it just now
        subject.run(session, choice.randrange(subject.count))

    def trim(self, choice):
        self.pick(choice)[1].trim()

    def cancel(self, choice):
        session, options = self.kept["endless"], sardonyx.RunOptions()
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

    def spoil(self, choice):
        subject, session = self.pick(choice)
        feed = dict(subject.feed_of(choice.randrange(subject.count)))
        name = choice.choice(list(feed))
        wrong = np.asarray(feed[name])
        # A declared scalar takes any shape (with a warning), as in ONNX Runtime: only its type can be wrong.
        deeper = wrong.ndim > 0 and choice.random() < 0.5
        feed[name] = np.zeros((*wrong.shape, 2), wrong.dtype) if deeper else np.array(["text"])
        refused(session, feed)

    def bad_index(self, choice):
        rows = np.array([choice.randrange(64, 10**6)])
        refused(self.kept["wide"], {"x": np.ones((64, 64), np.float32), "rows": rows})

    def look_inside(self, choice):
        subject = choice.choice([subject for subject in self.subjects if subject.inner])
        found = self.kept[subject.name].run([subject.inner], subject.feed_of(choice.randrange(subject.count)))
        if not np.isfinite(found[0]).all():
            raise SoakError(f"value '{subject.inner}' of {subject.name} is not finite")

    ACTIONS = ((run, 100), (reopen, 4), (trim, 2), (cancel, 2), (spoil, 8), (bad_index, 4), (look_inside, 2))

    def do(self, action, choice):
        try:
            action(self, choice)
        except Exception as error:  # noqa: BLE001  (reported at the end)
            self.failures.append(f"{action.__name__}: {type(error).__name__}: {error}")
        with self.lock:
            self.counts[action.__name__] += 1

    def warm_up(self):
        """Everything once: the inputs of every model, all kinds of sessions, all that callers do."""
        choice = random.Random(self.seed)
        for subject in self.subjects:
            for index in range(0, subject.count, max(1, subject.count // 8)):
                subject.run(self.kept[subject.name], index)
            subject.run(self.kept[subject.name], subject.count - 1)
            subject.run(open_session(subject, 3, parallel=True), 0)
        for action, _ in self.ACTIONS:
            for _ in range(10):
                self.do(action, choice)

    def caller(self, seed):
        choice = random.Random(seed)
        actions, weights = zip(*self.ACTIONS, strict=True)
        while time.monotonic() < self.end and not self.failures:
            self.do(choice.choices(actions, weights)[0], choice)

    def cycle(self, number, callers, seconds):
        """Work of all callers for some seconds; what the process holds when they have stopped."""
        self.end = time.monotonic() + seconds
        seeds = [(self.seed * 1009 + number) * 1009 + caller for caller in range(callers)]
        threads = [threading.Thread(target=self.caller, args=(seed,)) for seed in seeds]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.extra.clear()
        for session in self.kept.values():
            session.trim()
        gc.collect()
        return growth.sample()


def open_session(subject, threads, choice=None, parallel=False):
    options = sardonyx.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    if parallel or (choice and choice.random() < 0.3):
        options.execution_mode = sardonyx.ExecutionMode.ORT_PARALLEL
        options.inter_op_num_threads = choice.choice((2, 3)) if choice else 3
    if choice and choice.random() < 0.2:
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # a pool of its own
    source = subject.source
    if choice and isinstance(source, str) and choice.random() < 0.2 and pathlib.Path(source).stat().st_size < 2**25:
        options.add_session_config_entry("session.model_external_initializers_file_folder_path",
                                         str(pathlib.Path(source).parent))
        source = pathlib.Path(source).read_bytes()
    return sardonyx.InferenceSession(source, options)


def refused(session, feed):
    try:
        session.run(None, feed)
    except (sardonyx.InvalidArgument, sardonyx.Fail, ValueError, TypeError):
        return
    raise SoakError(f"wrong inputs ran: { {name: np.shape(value) for name, value in feed.items()} }")


def with_one_heap():
    """Begins again with one heap for all threads: of the others glibc gives no end back, which would hide growth."""
    if os.environ.get("MALLOC_ARENA_MAX") != "1":
        os.environ["MALLOC_ARENA_MAX"] = "1"
        os.execv(sys.executable, [sys.executable, "-W", "ignore", *sys.argv])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--callers", type=int, default=4)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    begin = time.monotonic()
    print(f"seed {options.seed}", flush=True)
    soak = Soak(options.seed)
    print(f"{len(soak.subjects)} models: {' '.join(subject.name for subject in soak.subjects)}", flush=True)
    soak.warm_up()
    seconds = min(LONGEST_CYCLE, 60 * options.minutes / CYCLES)
    until, samples = time.monotonic() + 60 * options.minutes, []
    while (time.monotonic() < until or len(samples) < growth.LEAST_SAMPLES) and not soak.failures:
        samples.append(soak.cycle(len(samples), options.callers, seconds))
        print(f"{time.monotonic() - begin:6.0f} s  {growth.describe(samples[-1])}, "
              f"{sum(soak.counts.values())} actions", flush=True)
    print(f"{sum(soak.counts.values())} actions: {dict(soak.counts)}")
    missing = [action.__name__ for action, _ in soak.ACTIONS if soak.counts[action.__name__] == 0]
    sys.exit("\n".join([*soak.failures, *(f"no action '{name}' happened" for name in missing),
                        *(growth.findings(samples) if not soak.failures else [])]) or 0)


if __name__ == "__main__":
    with_one_heap()
    main()
