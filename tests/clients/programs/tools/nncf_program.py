"""Prints which nodes nncf writes when it quantizes a convolutional network and a block of attention, and what they then
compute: nncf runs the network node by node on the package `onnxruntime` and reads what lies between.

usage: nncf_program.py"""
import collections
import sys

import nncf
import numpy as np
import onnx
import onnx.helper as h
import onnx.numpy_helper
import onnxruntime
from onnx import TensorProto as T


def weights(random, **shapes):
    return [onnx.numpy_helper.from_array((random.normal(size=shape) / np.sqrt(np.prod(shape[1:] or [4])))
                                         .astype(np.float32), name) for name, shape in shapes.items()]


def network(nodes, inputs, outputs, constants):
    graph = h.make_graph(nodes, "network", [h.make_tensor_value_info(name, T.FLOAT, shape) for name, shape in inputs],
                         [h.make_tensor_value_info(name, T.FLOAT, shape) for name, shape in outputs], constants)
    model = h.make_model(graph, ir_version=8, opset_imports=[h.make_opsetid("", 17)])
    onnx.checker.check_model(model, full_check=True)
    return model


def pictures():
    random = np.random.default_rng(1)
    n = h.make_node
    return network(
        [n("Conv", ["x", "w1", "b1"], ["c1"], "first", pads=[1] * 4), n("Relu", ["c1"], ["r1"], "relu"),
         n("Conv", ["r1", "w2"], ["c2"], "apart", pads=[1] * 4, group=8), n("HardSwish", ["c2"], ["r2"], "swish"),
         n("Conv", ["r2", "w3"], ["c3"], "narrow"), n("Add", ["c3", "r1"], ["sum"], "sum"),
         n("MaxPool", ["sum"], ["p"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
         n("GlobalAveragePool", ["p"], ["g"], "mean"), n("Flatten", ["g"], ["f"], "flat"),
         n("Gemm", ["f", "w4", "b4"], ["y"], "last", transB=1)],
        [("x", [1, 3, 16, 16])], [("y", [1, 5])],
        weights(random, w1=(8, 3, 3, 3), b1=(8,), w2=(8, 1, 3, 3), w3=(8, 8, 1, 1), w4=(5, 8), b4=(5,)))


def attention():
    random = np.random.default_rng(2)
    n = h.make_node
    return network(
        [n("LayerNormalization", ["x", "scale", "shift"], ["l"], "norm"),
         *(n("MatMul", ["l", f"w{k}"], [k], k) for k in "qkv"), n("Transpose", ["k"], ["kt"], "turned", perm=[0, 2, 1]),
         n("MatMul", ["q", "kt"], ["s"], "scores"), n("Softmax", ["s"], ["a"], "shares"),
         n("MatMul", ["a", "v"], ["m"], "mixed"), n("MatMul", ["m", "wo"], ["o"], "out"),
         n("Add", ["o", "x"], ["y"], "sum")],
        [("x", [1, 6, 32])], [("y", [1, 6, 32])],
        weights(random, scale=(32,), shift=(32,), wq=(32, 32), wk=(32, 32), wv=(32, 32), wo=(32, 32)))


def samples(model, count):
    shape = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
    random = np.random.default_rng(3)
    return [random.normal(size=shape).astype(np.float32) for _ in range(count)]


def opened(model):
    options = onnxruntime.SessionOptions()
    if any(node.op_type == "QuantizeLinear" for node in model.graph.node):
        # Sums of bytes that do not saturate. Where weights alone are in 8 bits, ONNX Runtime then fails.
        options.add_session_config_entry("session.x64quantprecision", "1")
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def say(name, made, source):
    kinds = collections.Counter(node.op_type for node in made.graph.node)
    print(f"result {name}, nodes:", *(f"{kind} {count}" for kind, count in sorted(kinds.items())))
    scales = [onnx.numpy_helper.to_array(one) for one in made.graph.initializer if "scale" in one.name.lower()]
    print(f"result {name}, scales:", *(f"{one.mean():.5f}" for one in scales))
    session = opened(made)
    for k, sample in enumerate(samples(source, 2)):
        found = session.run(None, {"x": sample})[0]
        print(f"result {name}, numbers {k}:", *(f"{one:.3f}" for one in np.ravel(found)[:40]))


def main():
    for name, model in (("pictures", pictures()), ("attention", attention())):
        dataset = nncf.Dataset(samples(model, 20), lambda sample: {"x": sample})
        options = {"performance": {"preset": nncf.QuantizationPreset.PERFORMANCE},
                   "mixed": {"preset": nncf.QuantizationPreset.MIXED},
                   "exact bias": {"fast_bias_correction": False}}
        if name == "attention":
            options = {"transformer": {"model_type": nncf.ModelType.TRANSFORMER}, **options}
        for kind, given in options.items():
            say(f"{name} {kind}", nncf.quantize(model, dataset, subset_size=20, **given), model)
    model = attention()
    for mode in (nncf.CompressWeightsMode.INT8_ASYM, nncf.CompressWeightsMode.INT8_SYM,
                 nncf.CompressWeightsMode.INT4_SYM):
        given = {"group_size": 16, "all_layers": True} if mode == nncf.CompressWeightsMode.INT4_SYM else {}
        say(f"weights {mode.value}", nncf.compress_weights(model, mode=mode, **given), model)

    def judge(made, data):
        """How near to what the network says itself: nncf takes back what costs too much of it."""
        session, whole = opened(made), opened(pictures())
        errors = [np.abs(session.run(None, {"x": sample})[0] - whole.run(None, {"x": sample})[0]).mean()
                  for sample in data]
        return 1 - float(np.mean(errors)), None

    dataset = nncf.Dataset(samples(pictures(), 20), lambda sample: {"x": sample})
    made = nncf.quantize_with_accuracy_control(pictures(), dataset, dataset, judge, max_drop=0.0005, subset_size=20)
    say("accuracy control", made, pictures())


if __name__ == "__main__":
    sys.exit(main())
