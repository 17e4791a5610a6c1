#!/usr/bin/env python3
"""tests/zoo/float64_ranges.py - how far the ranges that calibration finds are from those of a run in float64, here and
in ONNX Runtime.

usage: float64_ranges.py [MODEL ...]

Scales of activations are ranges by a constant. In deep networks those of both runtimes differ by more than 1e-6 from
the exact ones, each by its own rounding, so that they cannot be nearer to each other. Prints the largest and the median
relative difference, and how many of the ranges are within 1e-6.
"""
import argparse
import pathlib
import sys

import numpy as np
import onnx

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests/zoo")]
import float64_run  # noqa: E402
import model_zoo  # noqa: E402
import peer  # noqa: E402

peer.require()

# float64_run.py widens them; what they make has a range.
OPERATORS = {"Conv", "Relu", "Add", "Mul", "MatMul", "Gemm", "Concat", "AveragePool", "GlobalAveragePool", "Clip",
             "HardSwish", "HardSigmoid", "Sigmoid"}


def widths(values):
    return np.array([float(value.max()) - float(value.min()) for value in values])


def distances(name):
    """{pair: relative differences of the ranges of all values}."""
    import onnxruntime
    import sardonyx

    model, feed = onnx.load(str(model_zoo.path(name))), model_zoo.inputs(name, seed=1)
    names = [one for node in model.graph.node if node.op_type in OPERATORS for one in node.output if one]
    given = {one.name for one in model.graph.output}
    model.graph.output.extend(onnx.helper.make_empty_tensor_value_info(one) for one in names if one not in given)
    found = {}
    for engine in (sardonyx, onnxruntime):
        options = engine.SessionOptions()
        options.graph_optimization_level = engine.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = engine.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        found[engine.__name__] = widths([value.astype(np.float64) for value in session.run(names, feed)])
    wide = float64_run.Float64Graph(model).widened()
    options = sardonyx.SessionOptions()
    options.graph_optimization_level = sardonyx.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = sardonyx.InferenceSession(wide.SerializeToString(), options)
    exact = widths(session.run(names, {key: value.astype(np.float64) if value.dtype == np.float32 else value
                                       for key, value in feed.items()}))
    is_wide = exact > 0
    pairs = {"here, float64": ("sardonyx", exact), "ONNX Runtime, float64": ("onnxruntime", exact),
             "here, ONNX Runtime": ("sardonyx", found["onnxruntime"])}
    return {pair: (np.abs(found[one] - other) / np.maximum(exact, 1e-300))[is_wide]
            for pair, (one, other) in pairs.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=["resnet50", "mobilenet_v3_large", "efficientnet_b0"])
    for name in parser.parse_args().models:
        for pair, off in distances(name).items():
            print(f"{name}, {pair}: largest {off.max():.1e}, median {np.median(off):.1e}, {(off <= 1e-6).sum()} of "
                  f"{off.size} within 1e-6", flush=True)


if __name__ == "__main__":
    main()
