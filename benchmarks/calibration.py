"""Times calibration here and by ONNX Runtime's tool on a model of the zoo: seconds beyond the sessions' own creation,
seconds of the processors (which other work on the machine disturbs less) and the peak of memory, each in a process of
its own, in turns; and what calibration adds to bare runs of the model, in one process, an image with one and then with
the other, so that both meet the same disturbances.

usage: benchmarks/calibration.py [--model resnet50] [--samples 32] [--methods MinMax Entropy Percentile] [--turns 1]
                                 [--no-bare-runs]
"""
import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))


class Samples:
    def __init__(self, feeds):
        self.feeds = list(feeds)

    def get_next(self):
        return self.feeds.pop(0) if self.feeds else None


def peak_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


class Alternating(Samples):
    """Runs the model itself on each sample before the calibrator takes it, and keeps both times."""

    def __init__(self, feeds, session):
        super().__init__(feeds)
        self.session, self.bare, self.given = session, 0.0, None
        self.calibrated = 0.0

    def get_next(self):
        if self.given is not None:
            self.calibrated += time.perf_counter() - self.given
        feed = super().get_next()
        if feed is not None:
            start = time.perf_counter()
            self.session.run(None, feed)
            self.bare += time.perf_counter() - start
        self.given = time.perf_counter()
        return feed


def in_turns(path, feeds, method):
    """(seconds of bare runs, seconds of calibration) of the same feeds, after one that warms both up."""
    import sardonyx
    import sardonyx.quantization.calibrate as calibrate

    with tempfile.TemporaryDirectory() as folder:
        made = calibrate.create_calibrator(path, augmented_model_path=os.path.join(folder, "augmented.onnx"),
                                           calibrate_method=calibrate.CalibrationMethod[method])
        session = sardonyx.InferenceSession(str(path))
        session.run(None, feeds[0])
        made.collect_data(Samples(feeds[:1]))
        reader = Alternating(feeds, session)
        made.collect_data(reader)
        made.compute_data()
        return [reader.bare, reader.calibrated + time.perf_counter() - reader.given]


def child(who, model, samples, method):
    """Runs in a process of its own: prints seconds and megabytes."""
    import model_zoo

    path = model_zoo.path(model)
    reader = Samples(model_zoo.inputs(model, seed=seed) for seed in range(samples))  # before the clock starts
    if who == "runs":
        print(json.dumps(in_turns(path, reader.feeds, method)))
        return
    if who == "sardonyx":
        import sardonyx.quantization.calibrate as calibrate
    else:
        import peer

        peer.require()
        import onnxruntime.quantization.calibrate as calibrate
    with tempfile.TemporaryDirectory() as folder:
        made = calibrate.create_calibrator(path, augmented_model_path=os.path.join(folder, "augmented.onnx"),
                                           calibrate_method=calibrate.CalibrationMethod[method])
        start, used, before = time.perf_counter(), processor_seconds(), peak_mb()
        made.collect_data(reader)
        made.compute_data()
        print(json.dumps([time.perf_counter() - start, processor_seconds() - used, peak_mb() - before]))


def measured(*arguments):
    """What a child says last; what it prints besides is passed over."""
    made = subprocess.run([sys.executable, "-W", "ignore", __file__, "--child", *map(str, arguments)], check=True,
                          stdout=subprocess.PIPE, text=True)
    return json.loads(made.stdout.strip().splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="resnet50")
    parser.add_argument("--samples", type=int, default=32)
    parser.add_argument("--methods", nargs="*", default=["MinMax", "Entropy", "Percentile"])
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--no-bare-runs", action="store_true", help="leaves out the last column, a third run")
    parser.add_argument("--child", nargs=4)
    options = parser.parse_args()
    if options.child:
        who, model, samples, method = options.child
        return child(who, model, int(samples), method)
    print("method\tsardonyx s\tonnxruntime s\tratio\tof processors: sardonyx s\tonnxruntime s\tratio\tsardonyx MB\t"
          "onnxruntime MB\tratio\tover bare runs", flush=True)
    for method in options.methods:
        best, over = {}, []
        for _ in range(options.turns):
            for who in ("sardonyx", "onnxruntime"):
                found = measured(who, options.model, options.samples, method)
                best[who] = [min(pair) for pair in zip(found, best.get(who, found), strict=True)]
            if not options.no_bare_runs:
                bare, calibrated = measured("runs", options.model, options.samples, method)
                over.append(calibrated / bare)
        ours, peer = best["sardonyx"], best["onnxruntime"]
        print(f"{method}\t{ours[0]:.2f}\t{peer[0]:.2f}\t{peer[0] / ours[0]:.2f}\t{ours[1]:.2f}\t{peer[1]:.2f}\t"
              f"{peer[1] / ours[1]:.2f}\t{ours[2]:.0f}\t{peer[2]:.0f}\t{ours[2] / peer[2]:.2f}\t"
              f"{f'{statistics.median(over):.2f}' if over else '-'}", flush=True)
    return None


if __name__ == "__main__":
    main()
