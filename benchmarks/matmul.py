#!/usr/bin/env python3
"""Matrix products compared with ONNX Runtime, interleaved in one process, and their share of the machine's FMA ceiling.

usage: PYTHONPATH=build/release/python .venv-test/bin/python benchmarks/matmul.py [--threads 1 2] [--only TEXT]

Needs `ninja -C build/release peak`. Each row is a model of one node. Both engines run it in turns, with short pauses so
that the spinning workers of one do not disturb the other; the median of the turns counts. To add a product, add a row
to `cases`.
"""

import argparse
import pathlib
import statistics
import sys
import time

import numpy as np
import onnxruntime
import sardonyx
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import ceilings  # noqa: E402
import peer  # noqa: E402

peer.require()
# ONNX Runtime's workers spin for up to 2^20 pauses after a run: a turn of ours that begins sooner shares a core.
PAUSE_SECONDS = 0.06
DTYPES = {"float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16, "float64": TensorProto.DOUBLE}


class Product:
    """One MatMul or Gemm: shapes of A and B as stored, flags, and whether B is a constant."""

    def __init__(self, a, b, constant=True, trans_a=0, trans_b=0, op="MatMul", dtype="float32"):
        self.a, self.b, self.constant, self.op, self.dtype = a, b, constant, op, dtype
        self.flags = {"transA": trans_a, "transB": trans_b} if op == "Gemm" else {}
        m, k = (a[-1], a[-2]) if trans_a else (a[-2], a[-1])
        n = b[-2] if trans_b else b[-1]
        batch = int(np.prod(np.broadcast_shapes(a[:-2], b[:-2])))
        self.flop = 2.0 * batch * m * n * k
        flags = ("T" if trans_a else "") + "," + ("T" if trans_b else "")
        self.name = f"{op} {'x'.join(map(str, a))} * {'x'.join(map(str, b))}"
        self.name += f" ({flags})" * (op == "Gemm") + (" const" if constant else " input")
        self.name += f" {dtype}" * (dtype != "float32")

    def model(self, rng):
        a = rng.standard_normal(self.a).astype(self.dtype)
        b = (rng.standard_normal(self.b) / 16).astype(self.dtype)
        info = [helper.make_tensor_value_info("a", DTYPES[self.dtype], self.a)]
        feeds, initializers = {"a": a}, []
        if self.constant:
            initializers.append(numpy_helper.from_array(b, "b"))
        else:
            info.append(helper.make_tensor_value_info("b", DTYPES[self.dtype], self.b))
            feeds["b"] = b
        out = [helper.make_tensor_value_info("y", DTYPES[self.dtype], None)]
        node = helper.make_node(self.op, ["a", "b"], ["y"], **self.flags)
        graph = helper.make_graph([node], "product", info, out, initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        return model.SerializeToString(), feeds


def cases():
    for constant in (True, False):
        yield from (
            Product((512, 512), (512, 512), constant),
            Product((511, 509), (509, 513), constant),
            Product((1024, 1024), (1024, 1024), constant),
            Product((2048, 2048), (2048, 2048), constant),
        )
        for k, n in ((768, 768), (768, 3072), (4096, 4096)):
            yield Product((1, k), (k, n), constant)
        yield from (
            Product((4096, 3), (3, 512), constant),
            Product((4096, 512), (512, 1), constant),
            Product((4096, 512), (512, 3), constant),
            Product((128, 768), (768, 768), constant),
            Product((128, 768), (768, 3072), constant),
            Product((128, 3072), (3072, 768), constant),
            Product((197, 768), (768, 768), constant),
            Product((197, 768), (768, 3072), constant),
            Product((512, 512), (512, 512), constant, 1, 0, "Gemm"),
            Product((512, 512), (512, 512), constant, 0, 1, "Gemm"),
            Product((512, 512), (512, 512), constant, 1, 1, "Gemm"),
            Product((1, 512), (1000, 512), constant, 0, 1, "Gemm"),
            Product((32, 512), (1000, 512), constant, 0, 1, "Gemm"),
        )
    yield Product((12, 128, 64), (12, 64, 128), False)
    yield Product((12, 128, 128), (12, 128, 64), False)
    yield Product((12, 197, 64), (12, 64, 197), False)
    yield Product((64, 7, 16), (64, 16, 9), False)
    yield Product((512, 512), (512, 512), True, dtype="float16")
    yield Product((128, 768), (768, 3072), True, dtype="float16")
    yield Product((1, 768), (768, 3072), True, dtype="float16")
    yield Product((512, 512), (512, 512), True, dtype="float64")


def session(module, model, threads):
    options = module.SessionOptions()
    options.intra_op_num_threads = threads
    return module.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def turn(run, seconds):
    """The median time of one run, over `seconds` of runs."""
    run()
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 3:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def compare(product, threads, rounds, seconds):
    model, feeds = product.model(np.random.default_rng(0))
    ours, theirs = session(sardonyx, model, threads), session(onnxruntime, model, threads)
    got, want = ours.run(None, feeds)[0], theirs.run(None, feeds)[0]
    tolerance = 3e-2 if product.dtype == "float16" else 1e-3
    np.testing.assert_allclose(got.astype(np.float64), want.astype(np.float64), rtol=tolerance, atol=tolerance)
    mine, other = [], []
    for _ in range(rounds):
        time.sleep(PAUSE_SECONDS if threads > 1 else 0)
        mine.append(turn(lambda: ours.run(None, feeds), seconds))
        time.sleep(0.003)
        other.append(turn(lambda: theirs.run(None, feeds), seconds))
    return statistics.median(mine), statistics.median(other)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--only", default="", help="rows whose name contains this text")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.02, help="length of one turn")
    options = parser.parse_args()
    machine = ceilings.read(ROOT / "build/release/bin/peak", options.threads)
    compare(next(cases()), 1, 1, 0.5)  # the first product of a process finds slower memory and clocks
    for threads in options.threads:
        top = ceilings.fma(machine, threads)
        print(f"ceiling of {threads} thread(s): {top:.0f} GFLOP/s")
        print(f"{threads} thread(s){'':42} {'ours ms':>9} {'ORT ms':>9} {'ratio':>6} {'ours %':>7} {'ORT %':>7}")
        for product in cases():
            if options.only not in product.name:
                continue
            mine, other = compare(product, threads, options.rounds, options.seconds)
            shares = [100 * product.flop / t / 1e9 / top for t in (mine, other)]
            print(
                f"{product.name:54} {mine * 1e3:9.4f} {other * 1e3:9.4f} {other / mine:6.2f} "
                f"{shares[0]:7.1f} {shares[1]:7.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
