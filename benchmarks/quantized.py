"""benchmarks/quantized.py - quantized models in turns with their float models and with ONNX Runtime.

`make bench` prints the rows. As a program it is the worker that measures one of them.

usage: quantized.py JOB, where JOB is JSON: {"model", "cores", "threads", "seconds"}.

To add a model of the zoo, name its float model in FLOAT_MODELS; to add one that we quantize, name it in OWN or a way of
quantizing in WAYS.
"""
import dataclasses
import json
import os
import pathlib
import statistics
import sys
import time

import engines
import models

ROOT = pathlib.Path(__file__).resolve().parent.parent
CACHE = pathlib.Path(os.environ.get("SDX_BUILD", ROOT / "build/release")) / "benchmarks/quantized"

FLOAT_MODELS = {"resnet50_int8_qdq": "resnet50", "mobilenet_v3_int8_qdq": "mobilenet_v3_large",
                "minilm_int8_qdq": "minilm_l6", "bert_base_int8_dynamic": "bert_base"}
OWN = ("resnet50", "efficientnet_b0", "minilm_l6", "bert_base", "vit_b_16")
# name: format (None: dynamic), type of weights, per channel
WAYS = {"QDQ u8s8 per channel": ("QDQ", "QInt8", True), "QOperator u8s8 per channel": ("QOperator", "QInt8", True),
        "QDQ u8u8": ("QDQ", "QUInt8", False), "dynamic": (None, "QInt8", False)}
RUNS = 2  # of a session in its turn, after one untimed


@dataclasses.dataclass(frozen=True)
class Quantized:
    """A quantized model; `way` is one of WAYS, or "" for a model of the zoo."""

    name: str
    float_name: str
    way: str = ""

    def path(self):
        if not self.way:
            return models.find(self.name).path()
        path = CACHE / f"{self.name.replace(' ', '_')}.onnx"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            unfinished = path.with_suffix(".part")
            self.quantize(unfinished)
            unfinished.rename(path)
        return path

    def quantize(self, path):
        from sardonyx import quantization

        form, weights, per_channel = WAYS[self.way]
        source, types = models.find(self.float_name), quantization.QuantType
        if form is None:
            quantization.quantize_dynamic(source.path(), path, weight_type=types[weights], per_channel=per_channel)
            return

        class Reader(quantization.CalibrationDataReader):
            feeds = iter(source.feeds(2))

            def get_next(self):
                return next(self.feeds, None)

        quantization.quantize_static(source.path(), path, Reader(), quant_format=quantization.QuantFormat[form],
                                     per_channel=per_channel, activation_type=types.QUInt8, weight_type=types[weights])


def of_zoo(chosen):
    """The models among the chosen ones whose float model is known."""
    return [Quantized(model.name, FLOAT_MODELS[model.name]) for model in chosen if model.name in FLOAT_MODELS]


def own():
    """What our tool makes of float models of the zoo; dynamically only of transformers."""
    return [Quantized(f"{name} {way}", name, way) for name in OWN for way in WAYS
            if way != "dynamic" or name in ("minilm_l6", "bert_base")]


def find(name):
    by_name = {model.name: model for model in own()}
    return by_name.get(name) or Quantized(name, FLOAT_MODELS[name])


def measure(quantized, threads, seconds):
    """Median milliseconds of the quantized model on both engines and of the float model here, in turns."""
    engines.peer.require()
    ours, peer = (__import__(name) for name in engines.ENGINES)
    path, source = quantized.path(), models.find(quantized.float_name)
    # A model of the zoo may take other inputs than its float model.
    feeds = models.find(quantized.name).feeds(1)[0] if not quantized.way else source.feeds(1)[0]
    parties = {"sardonyx": (ours, path, feeds), "onnxruntime": (peer, path, feeds),
               "float": (ours, source.path(), source.feeds(1)[0])}
    sessions = {name: engines.open_session(module, file, threads) for name, (module, file, _) in parties.items()}
    times = {name: [] for name in parties}
    begin = time.perf_counter()
    while len(times["float"]) < 5 * RUNS or time.perf_counter() - begin < seconds:
        for name, session in sessions.items():
            engines.settle()
            session.run(None, parties[name][2])
            for _ in range(RUNS):
                start = time.perf_counter()
                session.run(None, parties[name][2])
                times[name].append(1e3 * (time.perf_counter() - start))
    return {"ms": {name: statistics.median(values) for name, values in times.items()}}


def text(rows):
    """The table of measured rows."""
    if not rows:
        return ""
    head = (f"{'quantized model':<40}{'thr':>3}{'ours ms':>10}{'ORT ms':>10}{'speed':>7}{'float ms':>10}"
            f"{'of float':>10}")
    lines = [head, "-" * len(head)]
    for row in rows:
        if "failure" in row:
            lines.append(f"{row['name']:<40}{row['threads']:>3} FAILED: {row['failure']}")
            continue
        ms = row["ms"]
        lines.append(f"{row['name']:<40}{row['threads']:>3}{ms['sardonyx']:>10.2f}{ms['onnxruntime']:>10.2f}"
                     f"{ms['onnxruntime'] / ms['sardonyx']:>7.2f}{ms['float']:>10.2f}"
                     f"{ms['float'] / ms['sardonyx']:>9.2f}x")
    return "\n".join(lines) + "\n"


def main():
    job = json.loads(sys.argv[1])
    os.sched_setaffinity(0, job["cores"])
    print(json.dumps(measure(find(job["model"]), job["threads"], job["seconds"])))


if __name__ == "__main__":
    main()
