"""Models to quantize, data for them, and what two tools made of them."""
import collections

import numpy as np
import onnx
import onnxruntime
import onnxruntime.quantization as peer
import sardonyx
import sardonyx.quantization as ours
from onnx import TensorProto, helper, numpy_helper
from sardonyx.model import Model

assert "sardonyx" not in onnxruntime.__file__  # the peer, not our package of its name
F = TensorProto.FLOAT
_OPSETS = {"": 17, "com.microsoft": 1}


class Weights:
    """Initializers of random numbers, by name."""

    def __init__(self, seed=0, dtype=np.float32):
        self.random, self.dtype, self.made = np.random.default_rng(seed), dtype, []

    def __call__(self, name, *shape, scale=0.3):
        return self.constant(name, (self.random.standard_normal(shape) * scale).astype(self.dtype))

    def constant(self, name, value):
        self.made.append(numpy_helper.from_array(np.asarray(value), name))
        return name


def model(nodes, inputs, outputs, weights, opset=17, **types):
    """`inputs`: shapes by name; `types`: element types other than float."""
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info(name, types.get(name, F), shape) for name, shape in inputs.items()],
        [helper.make_empty_tensor_value_info(name) for name in outputs], weights)
    opsets = [helper.make_opsetid(domain, version) for domain, version in {**_OPSETS, "": opset}.items()]
    # The package onnx does not know the types behind operators of com.microsoft.
    made = Model(helper.make_model(graph, opset_imports=opsets, ir_version=8))
    made.infer_types()
    return made.to_proto()


N = helper.make_node


def mlp(opset=17, dtype=np.float32):
    w = Weights(1, dtype)
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    return model(
        [N("MatMul", ["x", w("w0", 16, 80)], ["a"], "product"), N("Add", ["a", w("b0", 80)], ["a2"], "add"),
         N("Relu", ["a2"], ["a3"], "relu"),
         N("Gemm", ["a3", w("w1", 8, 80), w("b1", 8)], ["y"], "gemm", transB=1),
         N("Gemm", ["a3", w("w2", 80, 8), w("b2", 8)], ["v"], "gemm2"),
         N("Gemm", ["a3", w("w3", 8, 80), w("b3", 8)], ["u"], "gemm3", transB=1),
         N("Add", ["y", "v"], ["s0"], "sum"), N("Add", ["s0", "u"], ["s"], "sum2"),
         N("Softmax", ["s"], ["z"], "softmax")],
        {"x": ["n", 16]}, ["z"], w.made, opset, x=kind, z=kind)


def cnn():
    """An operator of each rule for images."""
    w = Weights(1)
    w.constant("six", np.float32(6)), w.constant("zero", np.float32(0))
    nodes = [
        N("Conv", ["x", w("w0", 4, 3, 3, 3), w("b0", 4)], ["c0"], "conv0", pads=[1] * 4),
        N("Relu", ["c0"], ["r0"], "relu0"),
        N("MaxPool", ["r0"], ["p0"], "maxpool", kernel_shape=[2, 2], strides=[2, 2]),
        N("Conv", ["p0", w("w1", 4, 1, 3, 3), w("b1", 4)], ["c1"], "conv1", pads=[1] * 4, group=4),
        N("Clip", ["c1", "zero", "six"], ["r1"], "clip1"),
        N("Conv", ["r1", w("w2", 4, 4, 1, 1)], ["c2"], "conv2"),
        N("BatchNormalization", ["c2", w("g", 4), w("bb", 4), w("mean", 4), w.constant(
            "variance", np.float32([0.5, 1, 2, 0.7]))], ["bn"], "norm"),
        N("Add", ["p0", "bn"], ["a"], "add"), N("LeakyRelu", ["a"], ["lr"], "leaky", alpha=0.1),
        N("Sigmoid", ["lr"], ["sg"], "sigmoid"), N("Mul", ["lr", "sg"], ["mu"], "mul"),
        N("AveragePool", ["mu"], ["ap"], "avgpool", kernel_shape=[2, 2], strides=[2, 2]),
        N("Pad", ["ap", w.constant("pads", np.int64([0, 0, 1, 1, 0, 0, 1, 1]))], ["pd"], "pad"),
        N("Concat", ["pd", "ap2"], ["cc"], "concat", axis=1),
        N("Pad", ["ap", "pads", w.constant("half", np.float32(0.5))], ["ap2"], "pad_half"),
        N("Split", ["cc"], ["s0", "s1"], "split", axis=1),
        N("Transpose", ["s0"], ["tr"], "transpose", perm=[0, 1, 3, 2]),
        N("Resize", ["tr", w.constant("region", np.float32([])), w.constant("scales", np.float32([1, 1, 2, 2]))],
          ["rs"], "resize", mode="nearest"),
        N("ConvTranspose", ["rs", w("w3", 4, 5, 2, 2), w("b3", 5)], ["ct"], "transposed", strides=[2, 2]),
        N("GlobalAveragePool", ["ct"], ["gp"], "global"), N("Flatten", ["gp"], ["fl"], "flatten"),
        N("Gemm", ["fl", w("w4", 5, 7), w("b4", 7)], ["y"], "gemm"),
        N("Reshape", ["s1", w.constant("shape", np.int64([0, -1]))], ["y2"], "reshape"),
        N("Softmax", ["y"], ["y3"], "softmax"), N("ArgMax", ["y2"], ["y4"], "argmax", axis=1),
        N("InstanceNormalization", ["s1", w("ig", 4), w("ib", 4)], ["in"], "instance"),
        N("Slice", ["in", w.constant("starts", np.int64([0])), w.constant("ends", np.int64([2]))], ["y5"], "slice"),
        N("LayerNormalization", ["y2", w("lg", 144), w("lb", 144)], ["y6"], "layer"),
        N("Where", [w.constant("choice", np.array([True, False] * 72)), "y6", "y2"], ["y7"], "where"),
        N("TopK", ["y7", w.constant("k", np.int64([3]))], ["y8", "indices"], "topk"),
        N("Squeeze", ["gp", w.constant("axes", np.int64([2]))], ["sq"], "squeeze"),
        N("Unsqueeze", ["sq", "axes"], ["usq"], "unsqueeze"),
        N("GatherElements", ["y2", w.constant("places", np.int64([[0, 3, 5], [1, 2, 8]]))], ["y9"], "elements", axis=1),
        N("CumSum", ["y2", w.constant("axis", np.int64(1))], ["y10"], "cumsum")]
    nodes[13], nodes[14] = nodes[14], nodes[13]
    return model(nodes, {"x": [2, 3, 16, 16]}, ["y", "y3", "y4", "y5", "y8", "usq", "y9", "y10", "ct"], w.made)


def recurrent(layout=0, dtype=np.float32):
    w = Weights(2, dtype)
    return model([N("LSTM", ["x", w("W", 2, 32, 6), w("R", 2, 32, 8), w("B", 2, 64)], ["h", "last"], "lstm",
                    hidden_size=8, direction="bidirectional", layout=layout),
                  N("Transpose", ["h"], ["y"], "transpose", perm=[0, 2, 1, 3])],
                 {"x": [5, 3, 6]}, ["y", "last"], w.made, x=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))


def transformer():
    """com.microsoft's Attention and EmbedLayerNormalization, Gather of a constant, a product of two activations."""
    w = Weights(3)
    return model(
        [N("EmbedLayerNormalization", ["ids", "segments", w("words", 20, 16), w("places", 8, 16), w("kinds", 2, 16),
                                       w("gamma", 16), w("beta", 16)], ["e", "mask"], "embed", domain="com.microsoft"),
         N("Attention", ["e", w("Wa", 16, 48), w("Ba", 48)], ["t"], "attention", domain="com.microsoft", num_heads=2),
         N("Gather", [w("table", 20, 16), "ids"], ["g"], "gather"), N("Add", ["t", "g"], ["u"], "add"),
         N("Transpose", ["u"], ["ut"], "transpose", perm=[0, 2, 1]), N("MatMul", ["u", "ut"], ["uu"], "scores"),
         N("MatMul", ["uu", "u"], ["o"], "mix"), N("MatMul", ["o", w("Wo", 16, 4)], ["y"], "head")],
        {"ids": [2, 8], "segments": [2, 8]}, ["y"], w.made, ids=TensorProto.INT32, segments=TensorProto.INT32)


def fused(dtype=np.float32):
    """A layer of a transformer as ONNX Runtime's optimizer leaves it, without types of values."""
    w = Weights(7, dtype)
    made = model(
        [N("EmbedLayerNormalization", ["ids", "segments", w("words", 20, 16), w("places", 8, 16), w("kinds", 2, 16),
                                       w("gamma", 16), w("beta", 16)], ["e", "mask"], "embed", domain="com.microsoft"),
         N("Attention", ["e", w("Wa", 16, 48), w("Ba", 48), "", "past"], ["t", "present"], "attention",
           domain="com.microsoft", num_heads=2),
         N("MatMul", ["t", w("Wo", 16, 16)], ["o"], "projection"),
         N("SkipLayerNormalization", ["o", "e", w("g1", 16), w("b1", 16), w("Bo", 16)], ["n"], "norm",
           domain="com.microsoft"),
         N("MatMul", ["n", w("W1", 16, 32)], ["h"], "up"),
         N("BiasGelu", ["h", w("B1", 32)], ["a"], "gelu", domain="com.microsoft"),
         N("MatMul", ["a", w("W2", 32, 16)], ["d"], "down"),
         N("SkipLayerNormalization", ["d", "n", w("g2", 16), w("b2", 16), w("B2", 16)], ["y"], "norm2",
           domain="com.microsoft")],
        {"ids": [2, 8], "segments": [2, 8], "past": [2, 2, 2, 3, 8]}, ["y", "present"], w.made,
        ids=TensorProto.INT32, segments=TensorProto.INT32, past=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))
    made.graph.ClearField("value_info")
    return made


def branches():
    """Products in both bodies of an If, one with a weight of the graph around it."""
    w = Weights(4)
    inner = Weights(5)

    def body(name, weight, made):
        return helper.make_graph([N("MatMul", ["x", weight], [f"{name}_out"], f"{name}_product")], name, [],
                                 [helper.make_tensor_value_info(f"{name}_out", F, ["n", 4])], made)
    return model([N("If", ["c"], ["p"], "choose", then_branch=body("yes", w("w", 6, 4), []),
                    else_branch=body("no", inner("own", 6, 4), inner.made)),
                  N("MatMul", ["p", w("w2", 4, 3)], ["y"], "after")],
                 {"c": [], "x": ["n", 6]}, ["y"], w.made, c=TensorProto.BOOL)


def feed(model_proto, seed=0, samples=2):
    random, made = np.random.default_rng(seed), {}
    for value in model_proto.graph.input:
        shape = [dim.dim_value or samples for dim in value.type.tensor_type.shape.dim]
        dtype = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        made[value.name] = (random.standard_normal(shape).astype(dtype) if dtype.kind == "f" else
                            np.asarray(random.integers(0, 2, shape)).astype(dtype))
    return made


class Reader(peer.CalibrationDataReader):
    def __init__(self, model_proto, count=3):
        self.feeds, self.at, self.end = [feed(model_proto, 10 + seed) for seed in range(count)], 0, count

    def get_next(self):
        if self.at >= self.end:
            return None
        self.at += 1
        return self.feeds[self.at - 1]

    def __len__(self):
        return len(self.feeds)

    def set_range(self, start_index, end_index):
        self.at, self.end = start_index, end_index


def of(library, value):
    """The same argument for one of the libraries: names of QuantType become members of theirs."""
    if isinstance(value, str) and value in library.QuantType.__members__:
        return library.QuantType[value]
    if isinstance(value, dict):
        return {key: set(one) if key == "recv_nodes" else of(library, one) for key, one in value.items()}
    return [of(library, one) for one in value] if isinstance(value, list) else value


def by_both(how, source, folder, **arguments):
    """The paths of what both tools make of a model: {"peer": path, "ours": path}."""
    made = {}
    for name, library in (("peer", peer), ("ours", ours)):
        given = of(library, arguments)
        if how == "static":
            given["quant_format"] = library.QuantFormat[arguments.get("quant_format", "QDQ")]
            given.setdefault("calibration_data_reader", Reader(onnx.load(source)))
        made[name] = str(folder / f"{name}.onnx")
        getattr(library, f"quantize_{how}")(source, made[name], **given)
    return made


def contents(path):
    """(counts of operators, initializers) of all graphs of a model."""
    loaded, counts, arrays = onnx.load(path), collections.Counter(), {}

    def walk(graph):
        for node in graph.node:
            counts[node.domain, node.op_type] += 1
            for attribute in node.attribute:
                for body in (attribute.g, *attribute.graphs) if attribute.type in (5, 10) else ():
                    walk(body)
        arrays.update({one.name: numpy_helper.to_array(one) for one in graph.initializer})
    walk(loaded.graph)
    return counts, arrays


def fields(path):
    """Whether each initializer of the main graph, but for shapes, lies in raw_data: programs read scales from
    float_data."""
    return {one.name: one.HasField("raw_data") for one in onnx.load(path).graph.initializer
            if one.data_type != TensorProto.INT64}


def assert_same(paths, rtol=1e-6, steps=0, source=None):
    """Both made the same: counts of operators, weights and zero points (but for `steps`), scales, and biases but for
    the last digit; scales and zero points in the same fields, but for those of `source`, which were there before."""
    (counts, arrays), (other_counts, others) = contents(paths["ours"]), contents(paths["peer"])
    assert counts == other_counts
    mine, theirs = fields(paths["ours"]), fields(paths["peer"])
    before = fields(source) if source else {}
    assert {name: one for name, one in mine.items() if name not in before and one != theirs.get(name, one)} == {}
    assert set(arrays) == set(others), set(arrays) ^ set(others)
    for name, other in others.items():
        mine = arrays[name]
        assert (mine.shape, mine.dtype) == (other.shape, other.dtype), name
        if mine.dtype.kind == "f":
            np.testing.assert_allclose(mine.astype(np.float64), other.astype(np.float64), rtol, 0, err_msg=name)
        elif mine.dtype == np.int32:  # quotients by such scales
            np.testing.assert_allclose(mine.astype(np.float64), other.astype(np.float64), rtol, 1, err_msg=name)
        else:
            off = steps if name.endswith("_zero_point") else 0
            np.testing.assert_allclose(mine.astype(np.float64), other.astype(np.float64), 0, off, err_msg=name)


def run_both(path, values):
    """A quantized model's outputs in ONNX Runtime, operator by operator, and in Sardonyx, fused."""
    onnx.checker.check_model(path)
    onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    stock = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"]).run(None, values)
    return stock, sardonyx.InferenceSession(path).run(None, values)
