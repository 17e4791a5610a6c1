#!/usr/bin/env python3
"""tests/zoo/float64_run.py - how far the results of each level, and those of ONNX Runtime, are from a run in float64.

usage: float64_run.py [MODEL ...] [--seeds N]

In quantized models, the rounding of float32 decides between two neighbouring integers, and a few of these decisions
change all that follows. Then no engine and no level has the correct result, but the graph in float64 has. Its quantized
values are whole numbers in float64, so that no operator between them uses float32. Our kernels compute it, node by
node. Prints the largest difference over the seeds, relative to the output's largest value.
"""
import argparse
import pathlib
import sys

import numpy as np
import onnx

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests/zoo")]
import model_zoo  # noqa: E402
import peer  # noqa: E402
import zoo_cases  # noqa: E402

peer.require()

RANGES = {"uint8": (0, 255), "int8": (-128, 127)}


class Float64Graph:
    """The graph of a model with every float32 widened, as a model."""

    def __init__(self, model):
        self.model = model
        self.given = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
        self.nodes, self.constants = [], {}
        for node in model.graph.node:
            getattr(self, node.op_type, self.keep)(node)

    def add(self, op, *inputs, output):
        names = []
        for value in inputs:
            if not isinstance(value, str):
                self.constants[f"float64_{len(self.constants)}"] = np.asarray(value, np.float64)
                value = f"float64_{len(self.constants) - 1}"
            names.append(value)
        self.nodes.append(onnx.helper.make_node(op, names, [output]))
        return output

    def keep(self, node):
        self.nodes.append(node)

    def parameters(self, node):
        scale = self.given[node.input[1]].astype(np.float64)
        zero = self.given[node.input[2]] if len(node.input) > 2 else np.uint8(0)
        axis = next((it.i for it in node.attribute if it.name == "axis"), 1)
        return scale, zero, axis

    def QuantizeLinear(self, node):  # noqa: N802 - the operator's name
        scale, zero, _ = self.parameters(node)
        if scale.size != 1:
            sys.exit(f"expected one scale for the activations of '{node.name}', found {scale.size}")
        y = node.output[0]
        x = self.add("Div", node.input[0], scale.reshape(()), output=f"{y}/quotient")
        x = self.add("Round", x, output=f"{y}/whole")
        x = self.add("Add", x, zero.reshape(()), output=f"{y}/moved")
        self.add("Clip", x, *RANGES[zero.dtype.name], output=y)

    def DequantizeLinear(self, node):  # noqa: N802
        scale, zero, axis = self.parameters(node)
        x = self.given.get(node.input[0])
        if x is None:
            moved = self.add("Sub", node.input[0], zero.reshape(()), output=f"{node.output[0]}/moved")
            self.add("Mul", moved, scale.reshape(()), output=node.output[0])
            return
        shape = [-1 if i == axis % max(x.ndim, 1) else 1 for i in range(x.ndim)] if scale.size > 1 else ()
        self.constants[node.output[0]] = (x - zero.astype(np.float64).reshape(shape)) * scale.reshape(shape)

    def widened(self):
        read = {name for node in self.nodes for name in node.input}
        for name, array in self.given.items():
            if name in read:
                self.constants[name] = array.astype(np.float64) if array.dtype == np.float32 else array
        graph = self.model.graph
        for value in (*graph.input, *graph.output):
            if value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT:
                value.type.tensor_type.elem_type = onnx.TensorProto.DOUBLE
        constants = [onnx.numpy_helper.from_array(np.asarray(array), name) for name, array in self.constants.items()]
        made = onnx.helper.make_graph(self.nodes, graph.name, graph.input, graph.output, constants)
        return onnx.helper.make_model(made, opset_imports=self.model.opset_import, ir_version=self.model.ir_version)


def distances(name, seeds):
    """By engine and level, of the largest listed size."""
    import onnxruntime
    import sardonyx

    path = model_zoo.path(name)
    options = sardonyx.SessionOptions()
    options.graph_optimization_level = sardonyx.GraphOptimizationLevel.ORT_DISABLE_ALL
    exact = sardonyx.InferenceSession(Float64Graph(onnx.load(str(path))).widened().SerializeToString(), options)
    sessions = {f"{engine.__name__} {level}": zoo_cases.open_session(engine, path, level)
                for engine in (sardonyx, onnxruntime) for level in ("ORT_DISABLE_ALL", "ORT_ENABLE_ALL")}
    shapes = {port.name: port.shape for port in exact.get_inputs()}
    size = list(model_zoo.sizes(name))[-1]
    worst = dict.fromkeys(sessions, 0.0)
    for seed in range(seeds):
        feed = model_zoo.inputs(name, size, shapes, seed)
        wide = {key: x.astype(np.float64) if x.dtype == np.float32 else x for key, x in feed.items()}
        wanted = zoo_cases.run(exact, wide)
        for which, session in sessions.items():
            for output, y in zoo_cases.run(session, feed).items():
                error = np.abs(y - wanted[output]).max() / np.abs(wanted[output]).max()
                worst[which] = max(worst[which], float(error))
    return size.name, worst


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=["mobilenet_v3_int8_qdq"])
    parser.add_argument("--seeds", type=int, default=16)
    options = parser.parse_args()
    for name in options.models:
        size, worst = distances(name, options.seeds)
        print(f"{name} ({size}, {options.seeds} seeds, tolerance {zoo_cases.tolerance(name).error:.1e})")
        for which, error in worst.items():
            print(f"  {which:<28} {error:.3f}")


if __name__ == "__main__":
    main()
