#!/usr/bin/env python3
"""tests/quantization/large_model.py - quantizes a model of 2.3 GB, whose weights lie in a file beside it.

usage: large_model.py [--gigabytes 2.3] [--forms dynamic QDQ QOperator nbits fp16 bf16 convert] [--folder FOLDER]

Each form runs in a process of its own; "convert" is the command `sardonyx convert --to fp16`. Prints its seconds, its
peak of memory as a multiple of the model, the size of the result, and how far the result is from the float model (dB).
Needs 6 GB of disk and 8 GB of memory.
"""
import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np

SIDE, WEIGHTS = 8192, 6
FORMS = ("dynamic", "QDQ", "QOperator", "nbits", "fp16", "bf16", "convert")
ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = pathlib.Path(os.environ.get("SDX_BUILD", ROOT / "build/release")) / "bin/sardonyx"


def write(path, gigabytes):
    """Products in a row. A weight is written at a time: the file of weights is never in memory as a whole."""
    import onnx
    from onnx import TensorProto, helper

    columns = int(gigabytes * 1e9 / 4 / SIDE / WEIGHTS) // 64 * 64
    nodes, tensors, offset, random = [], [], 0, np.random.default_rng(0)
    with open(path.with_suffix(".data"), "wb") as data:
        for index in range(WEIGHTS):
            shape = (SIDE, columns) if index % 2 == 0 else (columns, SIDE)
            weight = random.standard_normal(shape, np.float32) / np.float32(np.sqrt(shape[0]))
            tensor = TensorProto(name=f"w{index}", data_type=TensorProto.FLOAT, dims=shape)
            tensor.data_location = TensorProto.EXTERNAL
            for key, value in {"location": path.with_suffix(".data").name, "offset": offset,
                               "length": weight.nbytes}.items():
                tensor.external_data.add(key=key, value=str(value))
            weight.tofile(data)
            offset += weight.nbytes
            tensors.append(tensor)
            nodes.append(helper.make_node("MatMul", [f"v{index}", f"w{index}"], [f"v{index + 1}"], f"product{index}"))
    graph = helper.make_graph(nodes, "large", [helper.make_tensor_value_info("v0", TensorProto.FLOAT, ["n", SIDE])],
                              [helper.make_tensor_value_info(f"v{WEIGHTS}", TensorProto.FLOAT, ["n", SIDE])], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
    return offset


class Reader:
    def __init__(self, feeds):
        self.feeds = list(feeds)

    def get_next(self):
        return self.feeds.pop(0) if self.feeds else None


def quantize(form, source, target):
    import sardonyx.quantization as tool

    feeds = [{"v0": np.random.default_rng(seed).standard_normal((2, SIDE), np.float32)} for seed in (1, 2)]
    if form == "dynamic":
        tool.quantize_dynamic(source, target, use_external_data_format=True)
    elif form in ("QDQ", "QOperator"):
        tool.quantize_static(source, target, Reader(feeds), quant_format=tool.QuantFormat[form], per_channel=True,
                             use_external_data_format=True)
    elif form == "nbits":
        from sardonyx.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

        made = MatMulNBitsQuantizer(source, block_size=32)
        made.process()
        made.model.save_model_to_file(target, True)
    elif form == "convert":
        subprocess.run([TOOL, "convert", source, "--to", "fp16", "-o", target, "--samples", "2", "--seconds", "0"],
                       check=True, capture_output=True, env={**os.environ, "SARDONYX_PYTHON": sys.executable})
    else:
        import onnx
        from sardonyx import float16

        convert = float16.convert_float_to_float16 if form == "fp16" else float16.convert_float_to_bfloat16
        converted = convert(source, keep_io_types=True)
        onnx.save(converted, target, save_as_external_data=True, location=f"{pathlib.Path(target).name}.data")


def run(path):
    import sardonyx

    feed = {"v0": np.random.default_rng(7).standard_normal((2, SIDE), np.float32)}
    return sardonyx.InferenceSession(path).run(None, feed)[0].astype(np.float64)


def child(task, *arguments):
    start = time.perf_counter()
    value = quantize(*arguments) if task == "quantize" else run(*arguments)
    if value is not None:
        np.save(arguments[1] if len(arguments) > 1 else f"{arguments[0]}.npy", value)
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print(json.dumps([time.perf_counter() - start, peak * 1024]))


def in_a_process(*arguments):
    done = subprocess.run([sys.executable, "-W", "ignore", __file__, "--child", *arguments], capture_output=True,
                          text=True)
    if done.returncode:
        raise RuntimeError(f"{arguments} ended with {done.returncode}: {done.stderr[-500:]}")
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gigabytes", type=float, default=2.3)
    parser.add_argument("--forms", nargs="+", default=FORMS)
    parser.add_argument("--folder", help="keeps the float model there")
    parser.add_argument("--child", nargs="+")
    options = parser.parse_args()
    if options.child:
        return child(*options.child)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(options.folder or temporary)
        source = folder / "float.onnx"
        if not source.exists():
            write(source, options.gigabytes)
        size = source.with_suffix(".data").stat().st_size
        in_a_process("run", str(source))
        exact = np.load(f"{source}.npy")
        print(f"float model: {size / 1e9:.2f} GB")
        for form in options.forms:
            target = folder / f"{form}.onnx"
            seconds, peak = in_a_process("quantize", form, str(source), str(target))
            in_a_process("run", str(target))
            noise = np.square(np.load(f"{target}.npy") - exact).sum() / np.square(exact).sum()
            parts = [path for path in folder.glob(f"{form}*") if path.suffix != ".npy"]
            made = sum(path.stat().st_size for path in parts)
            print(f"{form}: {seconds:.0f} s, peak {peak / size:.2f} of the model, result {made / 1e9:.2f} GB, "
                  f"{-10 * np.log10(noise):.1f} dB", flush=True)
            for path in folder.glob(f"{form}*"):
                path.unlink()
    return None


if __name__ == "__main__":
    main()
