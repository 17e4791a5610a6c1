#!/usr/bin/env python3
"""benchmarks/eager_calls.py - what a custom operator pays for a call of another operator, against ONNX Runtime.

usage: benchmarks/eager_calls.py [--limit RATIO]       with the Python of .venv-test, sardonyx on PYTHONPATH

Both libraries take turns in one process, each with its own copy of the tests' custom operators. Measured is a call of
Add with tensors of a few sizes. A ratio is Sardonyx's time divided by ONNX Runtime's; with a limit, the exit code is 1
if a ratio is greater.
"""
import argparse
import os
import pathlib
import shutil
import statistics
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", ROOT / "build/release"))
SIZES = [1, 100, 10000]
CALLS, TURNS = 500, 40


def session(module, library):
    import onnx.parser
    options = module.SessionOptions()
    options.intra_op_num_threads = 1
    options.register_custom_ops_library(str(library))
    text = f"g (float[n] x) => (float[n] y, double t) {{ y, t = test.custom.TimeCalls <calls = {CALLS}> (x) }}"
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17, "test.custom": 1]> {text}')
    return module.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, help="fail if a ratio is greater")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT / "tools"))
    import peer
    peer.require()
    import onnxruntime
    import sardonyx
    greatest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        sessions = []
        for i, module in enumerate([sardonyx, onnxruntime]):
            copy = pathlib.Path(folder) / f"custom_ops_{i}.so"  # a library keeps the tables of the runtime it serves
            shutil.copy(BUILD / "lib/libcustom_ops.so", copy)
            sessions.append(session(module, copy))
        print(f"{'InvokeOp of Add, elements':40}{'Sardonyx':>15}{'ONNX Runtime':>15}{'ratio':>8}")
        for size in SIZES:
            x = np.ones(size, np.float32)
            turns = [[float(made.run(["t"], {"x": x})[0]) for made in sessions] for _ in range(TURNS)]
            ours, theirs = (statistics.quantiles(column, n=4)[0] for column in zip(*turns))
            greatest = max(greatest, ours / theirs)
            print(f"{size:<40}{ours:12.0f} ns{theirs:12.0f} ns{ours / theirs:8.2f}")
    return int(options.limit is not None and greatest > options.limit)


if __name__ == "__main__":
    sys.exit(main())
