#!/usr/bin/env python3
"""benchmarks/boundary.py - what a call through the C interface costs, against ONNX Runtime's released library.

usage: benchmarks/boundary.py [--limit RATIO]       with the Python of .venv-test

Compiles boundary.c and boundary_plugin.c once; both libraries take turns in one process. Measured are runs of a model
of one node with bound values (RunWithBinding, and Run with an output that was made before), with the node run by the
CPU provider and by a plug-in that does next to nothing; and what one more plug-in's node in the model costs: a run of a
chain less a run of one. A ratio is Sardonyx's time divided by ONNX Runtime's; with a limit, the exit code is 1 if a
ratio is greater.
"""
import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", ROOT / "build/release"))
CHAIN = 21
ROWS = {"cpu_bound": "one node, RunWithBinding", "cpu_run": "one node, Run",
        "compiled_bound": "one compiled node of a plug-in, RunWithBinding",
        "compiled_run": "one compiled node of a plug-in, Run",
        "kernel_bound": "one kernel of a plug-in, RunWithBinding", "kernel_run": "one kernel of a plug-in, Run"}
STEPS = {"compiled": "each further compiled node of a plug-in", "kernel": "each further kernel of a plug-in"}


def write_chain(path, length):
    from onnx import TensorProto, helper, save
    names = ["x", *(f"v{i}" for i in range(1, length)), "y"]
    nodes = [helper.make_node("Neg", [names[i]], [names[i + 1]]) for i in range(length)]
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xy"]
    graph = helper.make_graph(nodes, "chain", ports[:1], ports[1:])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))


def compile_programs(folder):
    compiler = os.environ.get("CC", "cc")
    flags = ["-O2", "-std=gnu11", "-fvisibility=hidden", f"-I{ROOT / 'include'}"]
    subprocess.run([compiler, *flags, ROOT / "benchmarks/boundary.c", "-o", folder / "boundary", "-ldl"], check=True)
    plugins = [folder / f"plugin_{i}.so" for i in range(2)]  # one for each library: it keeps the tables of its own
    subprocess.run([compiler, *flags, "-shared", "-fPIC", ROOT / "benchmarks/boundary_plugin.c", "-o", plugins[0]],
                   check=True)
    shutil.copy(plugins[0], plugins[1])
    return plugins


def measure(libraries):
    """{name of a kind of run: [(nanoseconds of the first library, of the second)]}"""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        plugins = compile_programs(folder)
        write_chain(folder / "one.onnx", 1)
        write_chain(folder / "chain.onnx", CHAIN)
        command = [folder / "boundary", libraries[0], plugins[0], libraries[1], plugins[1], folder / "one.onnx",
                   folder / "chain.onnx"]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"boundary: exit code {done.returncode}\n{done.stderr[-2000:]}")
    return {line.split()[0]: [tuple(map(float, pair.split(","))) for pair in line.split()[1:]]
            for line in done.stdout.splitlines()}


def typical(turns):
    """The lower quartile: what disturbs a turn only makes it longer."""
    return [statistics.quantiles(column, n=4)[0] for column in zip(*turns)]


def rows(turns):
    """[(what, our nanoseconds, ONNX Runtime's)]"""
    found = [(what, *typical(turns[name])) for name, what in ROWS.items()]
    for kind, what in STEPS.items():
        one, chain = typical(turns[f"{kind}_bound"]), typical(turns[f"{kind}_chain_bound"])
        found.append((what, *[(after - before) / (CHAIN - 1) for before, after in zip(one, chain)]))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, help="fail if a ratio is greater")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT / "tools"))
    import peer
    peer.require()
    import onnxruntime
    (theirs,) = pathlib.Path(onnxruntime.__file__).parent.glob("capi/libonnxruntime.so.1*")
    found = rows(measure([BUILD / "lib/libsardonyx.so", theirs]))
    print(f"{'':50}{'Sardonyx':>12}{'ONNX Runtime':>15}{'ratio':>8}")
    for what, ours, others in found:
        print(f"{what:50}{ours:9.0f} ns{others:12.0f} ns{ours / others:8.2f}")
    worst = max(ours / others for _, ours, others in found)
    return 1 if options.limit is not None and worst > options.limit else 0


if __name__ == "__main__":
    sys.exit(main())
