"""Runs a model with random inputs and prints how long a run takes.

usage: python -m onnxruntime.tools.onnxruntime_test MODEL [RUNS] [--profile] [--symbolic_dims NAME=N,...] [--debug]"""
from __future__ import annotations

import argparse
import os
import sys
from timeit import default_timer

import numpy as np

import sardonyx

float_dict = {"tensor(float16)": "float16", "tensor(float)": "float32", "tensor(double)": "float64"}

integer_dict = {f"tensor({name})": name for name in ("int32", "int8", "uint8", "int16", "uint16", "int64", "uint64")}


def _random(value, shape):
    """An array for an input or a default: numbers from 0 to 1, integers below 1000 (or what the type has)."""
    if value.type in float_dict:
        return np.random.rand(*shape).astype(float_dict[value.type])
    if value.type in integer_dict:
        kind = np.dtype(integer_dict[value.type])
        return np.random.randint(0, min(1000, np.iinfo(kind).max), size=shape).astype(kind)
    if value.type == "tensor(bool)":
        return np.random.randint(2, size=shape).astype(bool)
    print(f"'{value.name}': expected a tensor of floats, integers or booleans, found {value.type}")
    sys.exit(-1)


def generate_feeds(sess, symbolic_dims: dict | None = None):
    """Random inputs by name for a session. `symbolic_dims`: sizes by symbol; others, and unknown ones, are 1."""
    sizes = symbolic_dims or {}

    def size(dimension):
        return int(sizes.get(dimension, 1)) if isinstance(dimension, str) else dimension or 1
    return {value.name: _random(value, [size(one) for one in value.shape]) for value in sess.get_inputs()}


def run_model(
    model_path,
    num_iters=1,
    debug=None,
    profile=None,
    symbolic_dims=None,
    feeds=None,
    override_initializers=True,
):
    """Runs a model and prints the time; returns (0, the inputs, the outputs of the last run).

    `debug`: waits for a key first, so that a debugger can be attached. `profile`: writes a trace.
    `override_initializers`: defaults of inputs become random numbers, too."""
    if debug:
        print(f"process {os.getpid()} waits for a debugger; press enter to go on")
        sys.stdin.read(1)
    options = sardonyx.SessionOptions()
    if profile:
        options.enable_profiling = True
        options.profile_file_prefix = os.path.basename(model_path)
    session = sardonyx.InferenceSession(model_path, options, providers=sardonyx.get_available_providers())
    feeds = feeds or generate_feeds(session, symbolic_dims)
    if override_initializers:
        for value in session.get_overridable_initializers():
            feeds[value.name] = _random(value, [size or 1 for size in value.shape])
    outputs, start = None, default_timer()
    for _ in range(num_iters):
        outputs = session.run([], feeds)
    taken = default_timer() - start
    described = session.get_modelmeta()
    print(f"model: {described.graph_name}")
    print(f"version: {described.version}")
    print(f"iterations: {num_iters}")
    print(f"avg latency: {taken * 1000 / max(num_iters, 1)} ms")
    if profile:
        print(f"trace file written to: {session.end_profiling()}")
    return 0, feeds, num_iters > 0 and outputs


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model_path", help="the model")
    parser.add_argument("num_iters", nargs="?", type=int, default=1000, help="how often it runs (1000)")
    parser.add_argument("--debug", action="store_true", help="wait, so that a debugger can be attached")
    parser.add_argument("--profile", action="store_true", help="write a trace of the runs")
    parser.add_argument("--symbolic_dims", default={},
                        type=lambda text: dict(one.split("=") for one in text.split(",")),
                        help="sizes of symbols in shapes, say batch=1,sequence=5; others are 1")
    options = parser.parse_args()
    sys.exit(run_model(options.model_path, options.num_iters, options.debug, options.profile,
                       options.symbolic_dims)[0])


if __name__ == "__main__":
    main()
