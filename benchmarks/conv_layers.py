#!/usr/bin/env python3
"""Runs the layers of src/kernels/conv/conv_layers.h in ONNX Runtime and Sardonyx, interleaved in one process.

Every layer is a model Conv + Relu on [1, C, H, W]. ONNX Runtime has two times: that of the node in its profile (the
cost of a layer inside a network, where activations keep its blocked layout) and that of the whole run. Times are
medians in microseconds. With the CSV of kernel_bench (--kernels), the time of our kernel is shown beside the node's.

usage: conv_layers.py [--threads N] [--runs N] [--filter TEXT] [--kernels bench.csv] [--no-sardonyx]
  kernel_bench --benchmark_filter=Convolution --benchmark_format=csv > bench.csv
"""

import argparse
import csv
import json
import pathlib
import re
import statistics
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import peer  # noqa: E402

peer.require()
TABLE = ROOT / "src/kernels/conv/conv_layers.h"
REST_S = 0.02  # between engines: until the threads of the other one have stopped spinning
FIELDS = ("in_channels", "out_channels", "groups", "size", "kernel", "stride", "pad", "dilation", "rows", "transposed")


def layers():
    for name, rest in re.findall(r'^    \{"(.*?)", (.*)\},$', TABLE.read_text(), re.M):
        values = [v.strip() for v in rest.split(",")]
        values += ["1", "2", "false"][len(values) - 7 :]
        numbers = [int(v) for v in values[:9]]
        yield name, dict(zip(FIELDS, [*numbers, values[9] == "true"], strict=True))


def model(layer):
    one = layer["rows"] == 1
    twice = (lambda v: [v]) if one else (lambda v: [v, v])
    groups, kernel = layer["groups"], twice(layer["kernel"])
    rng = np.random.default_rng(0)
    a, b = layer["in_channels"], layer["out_channels"]
    shape = [a, b // groups, *kernel] if layer["transposed"] else [b, a // groups, *kernel]
    fan_in = max(1, int(np.prod(shape[1:])))
    w = (rng.standard_normal(shape) / np.sqrt(fan_in)).astype(np.float32)
    bias = rng.standard_normal(b).astype(np.float32)
    attributes = {
        "kernel_shape": kernel,
        "strides": twice(layer["stride"]),
        "dilations": twice(layer["dilation"]),
        "pads": twice(layer["pad"]) * 2,
        "group": groups,
    }
    x = [1, a, *twice(layer["size"])]
    op = "ConvTranspose" if layer["transposed"] else "Conv"
    nodes = [helper.make_node(op, ["x", "w", "b"], ["c"], **attributes), helper.make_node("Relu", ["c"], ["y"])]
    graph = helper.make_graph(
        nodes,
        "layer",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [onnx.numpy_helper.from_array(w, "w"), onnx.numpy_helper.from_array(bias, "b")],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return proto.SerializeToString(), rng.standard_normal(x).astype(np.float32)


def session(engine, data, threads, profile=None):
    options = engine.SessionOptions()
    options.intra_op_num_threads = threads
    if profile:
        options.enable_profiling = True
        options.profile_file_prefix = profile
    return engine.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def node_time(data, x, threads, runs):
    with tempfile.TemporaryDirectory() as folder:
        profiled = session(onnxruntime, data, threads, f"{folder}/p")
        for _ in range(runs):
            profiled.run(None, {"x": x})
        events = json.loads(pathlib.Path(profiled.end_profiling()).read_text())
    times = [e["dur"] for e in events if e["name"].endswith("_kernel_time") and "Conv" in e["args"].get("op_name", "")]
    return statistics.median(times[len(times) // 4 :])


def kernel_times(path, threads):
    times = {}
    for row in csv.reader(pathlib.Path(path).read_text().splitlines()):
        parts = row[0].split("/")
        if parts[0] == "Convolution" and parts[2] == "1" and int(parts[3]) == threads:
            times[int(parts[1])] = float(row[2]) / 1e3
    return times


def measure(layer, threads, runs, engines):
    data, x = model(layer)
    ready = [session(engine, data, threads) for engine in engines]
    outputs, times = [s.run(None, {"x": x})[0] for s in ready], [[] for _ in ready]
    for y in outputs[1:]:
        np.testing.assert_allclose(y, outputs[0], rtol=1e-3, atol=1e-3)
    for _ in range(runs):
        for s, t in zip(ready, times, strict=True):
            time.sleep(REST_S)
            s.run(None, {"x": x})
            start = time.perf_counter()
            s.run(None, {"x": x})
            t.append(time.perf_counter() - start)
    return [node_time(data, x, threads, runs), *(statistics.median(t) * 1e6 for t in times)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--filter", default="")
    parser.add_argument("--kernels")
    parser.add_argument("--no-sardonyx", action="store_true")
    args = parser.parse_args()
    engines = [onnxruntime]
    if not args.no_sardonyx:
        import sardonyx

        engines.append(sardonyx)
    ours = kernel_times(args.kernels, args.threads) if args.kernels else {}
    print(f"{'layer':44s}{'ort node':>10s}{'kernel':>10s}{'ratio':>7s}{'ort run':>10s}{'our run':>10s}{'ratio':>7s}")
    for i, (name, layer) in enumerate(layers()):
        if args.filter not in name:
            continue
        text = f"{name} {layer['in_channels']}->{layer['out_channels']} {layer['size']} k{layer['kernel']}"
        node, run, *our = measure(layer, args.threads, args.runs, engines)
        kernel = f"{ours[i]:10.1f}{node / ours[i]:7.2f}" if i in ours else " " * 17
        whole = f"{our[0]:10.1f}{run / our[0]:7.2f}" if our else ""
        print(f"{text:44s}{node:10.1f}{kernel}{run:10.1f}{whole}", flush=True)


if __name__ == "__main__":
    main()
