"""A model for each operator that ONNX Runtime's registry has a rule for: the operator stands between two products, so
that what goes in is quantized, and what comes out is read by integers where that is possible."""
import numpy as np
from onnx import TensorProto
from quantized_models import N, Weights, model

IMAGE = {"x": [2, 3, 8, 8]}


def _between(make, *, opset=17, after=True, channels=4):
    """`make(w)` gives nodes that read the image "a" [2, 4, 8, 8] and write "b" with `channels`, which a convolution
    reads. Without `after`, "b" is an output."""
    w = Weights(1)
    nodes = [N("Conv", ["x", w("w0", 4, 3, 3, 3), w("b0", 4)], ["a"], "before", pads=[1] * 4), *make(w)]
    if after:
        nodes.append(N("Conv", ["b", w("w9", 3, channels, 1, 1)], ["y"], "after"))
    return model(nodes, IMAGE, ["y" if after else "b"], w.made, opset)


def _one(op_type, *others, opset=17, after=True, channels=4, inputs=lambda w: [], **attributes):
    """One node; `inputs(w)` are names of what follows "a"."""
    return lambda: _between(lambda w: [N(op_type, ["a", *inputs(w)], ["b"], "it", **attributes), *others], opset=opset,
                            after=after, channels=channels)


def _flat(op_type, *, after_shape=(256, 5), inputs=lambda w: [], nodes=None, **attributes):
    """The node makes rows [2, 256] of the image, which a product reads."""
    def make():
        w = Weights(1)
        return model([N("Conv", ["x", w("w0", 4, 3, 3, 3)], ["a"], "before", pads=[1] * 4),
                      N(op_type, ["a", *inputs(w)], ["b"], "it", **attributes),
                      N("MatMul", ["b", w("w9", *after_shape)], ["y"], "after")], IMAGE, ["y"], w.made)
    return make


def _squeezed(op_type):
    def make():
        w = Weights(1)
        axes = w.constant("axes", np.int64([1]))
        nodes = [N("MatMul", ["x", w("w0", 6, 8)], ["a"], "before")]
        nodes += [N("Squeeze", ["a", axes], ["b"], "it")] if op_type == "Squeeze" else [
            N("Unsqueeze", ["a", axes], ["b"], "it")]
        nodes.append(N("MatMul", ["b", w("w9", 8, 4)], ["y"], "after"))
        return model(nodes, {"x": [3, 1, 6] if op_type == "Squeeze" else [3, 6]}, ["y"], w.made)
    return make


def _product(op_type, **attributes):
    def make():
        w = Weights(1)
        inputs = ["x", w("w0", 16, 12)] + ([w("b0", 12)] if op_type == "Gemm" else [])
        return model([N(op_type, inputs, ["y"], "it", **attributes)], {"x": [5, 16]}, ["y"], w.made)
    return make


def _two_activations():
    w = Weights(1)
    return model([N("MatMul", ["x", w("w0", 16, 12)], ["a"], "before"), N("Transpose", ["a"], ["t"], "turn",
                                                                          perm=[0, 2, 1]),
                  N("MatMul", ["a", "t"], ["y"], "it")], {"x": [2, 5, 16]}, ["y"], w.made)


def _attention():
    w = Weights(1)
    return model([N("Attention", ["x", w("w0", 16, 48), w("b0", 48)], ["y"], "it", domain="com.microsoft",
                    num_heads=2)], {"x": [2, 5, 16]}, ["y"], w.made)


def _lstm():
    w = Weights(1)
    return model([N("LSTM", ["x", w("W", 2, 32, 6), w("R", 2, 32, 8), w("B", 2, 64)], ["y", "h"], "it", hidden_size=8,
                    direction="bidirectional")], {"x": [5, 3, 6]}, ["y", "h"], w.made)


def _embedding():
    w = Weights(1)
    return model([N("EmbedLayerNormalization", ["ids", "segments", w("words", 20, 16), w("places", 8, 16),
                                                w("kinds", 2, 16), w("gamma", 16), w("beta", 16)], ["e", "mask"], "it",
                    domain="com.microsoft"), N("MatMul", ["e", w("w9", 16, 4)], ["y"], "after")],
                 {"ids": [2, 8], "segments": [2, 8]}, ["y"], w.made, ids=TensorProto.INT32, segments=TensorProto.INT32)


def _gather():
    w = Weights(1)
    return model([N("Gather", [w("table", 20, 16), "ids"], ["b"], "it"), N("MatMul", ["b", w("w9", 16, 4)], ["y"],
                                                                           "after")],
                 {"ids": [2, 8]}, ["y"], w.made, ids=TensorProto.INT64)


def _gather_of_an_activation():
    w = Weights(1)
    return model([N("MatMul", ["x", w("w0", 16, 16)], ["a"], "before"),
                  N("Gather", ["a", w.constant("at", np.int64([2, 0]))], ["b"], "it", axis=0),
                  N("MatMul", ["b", w("w9", 16, 4)], ["y"], "after")], {"x": [5, 16]}, ["y"], w.made)


def _gather_elements():
    w = Weights(1)
    return model([N("MatMul", ["x", w("w0", 16, 16)], ["a"], "before"),
                  N("GatherElements", ["a", w.constant("at", np.int64([[0] * 16, [3] * 16]))], ["b"], "it", axis=0),
                  N("MatMul", ["b", w("w9", 16, 4)], ["y"], "after")], {"x": [5, 16]}, ["y"], w.made)


def _split():
    return _between(lambda w: [N("Split", ["a"], ["b", "c"], "it", axis=1)], channels=2)


def _where():
    def make(w):
        choice = w.constant("choice", np.random.default_rng(0).integers(0, 2, (4, 8, 8)).astype(bool))
        return [N("Relu", ["a"], ["r"], "relu"), N("Conv", ["r", w("w1", 4, 4, 1, 1)], ["c"], "second"),
                N("Where", [choice, "a", "c"], ["b"], "it")]
    return _between(make)


def _top():
    w = Weights(1)
    return model([N("MatMul", ["x", w("w0", 16, 16)], ["a"], "before"),
                  N("TopK", ["a", w.constant("k", np.int64([3]))], ["b", "places"], "it"),
                  N("MatMul", ["b", w("w9", 3, 4)], ["y"], "after")], {"x": [5, 16]}, ["y"], w.made)


def _largest():
    return _between(lambda w: [N("ArgMax", ["a"], ["b"], "it", axis=1)], after=False)


def _layer_norm():
    w = Weights(1)
    return model([N("MatMul", ["x", w("w0", 16, 16)], ["a"], "before"),
                  N("LayerNormalization", ["a", w("g", 16), w("c", 16)], ["b"], "it"),
                  N("MatMul", ["b", w("w9", 16, 4)], ["y"], "after")], {"x": [5, 16]}, ["y"], w.made)


def _variance(w):
    return [w("g", 4), w("c", 4), w("mean", 4), w.constant("variance", np.float32([0.5, 1, 2, 0.7]))]


def _second(w):
    return ["a"] if w is None else [w("other", 4, 1, 1)]


# Operator, a word for the case, what makes the model, and what the operator is called on integers ("": the node is
# gone; None: it stays on floats).
CASES = [
    ("Conv", "plain", _one("Relu"), "QLinearConv"),
    ("Conv", "grouped", lambda: _between(lambda w: [N("Conv", ["a", w("w1", 4, 1, 3, 3), w("b1", 4)], ["b"], "it",
                                                      group=4, pads=[1] * 4)]), "QLinearConv"),
    ("ConvTranspose", "plain", lambda: _between(lambda w: [
        N("ConvTranspose", ["a", w("w1", 4, 4, 2, 2), w("b1", 4)], ["b"], "it", strides=[2, 2])]), None),
    ("MatMul", "constant", _product("MatMul"), "QLinearMatMul"),
    ("MatMul", "two activations", _two_activations, "QLinearMatMul"),
    ("Gemm", "plain", _product("Gemm"), "QGemm"),
    ("Gemm", "alpha", _product("Gemm", alpha=0.5), "QGemm"),
    ("Gemm", "alpha and beta", _product("Gemm", alpha=0.25, beta=2.0), "QGemm"),
    ("Attention", "plain", _attention, None),
    ("LSTM", "bidirectional", _lstm, None),
    ("EmbedLayerNormalization", "plain", _embedding, "QEmbedLayerNormalization"),
    ("Gather", "of a table", _gather, "Gather"),
    ("Gather", "of an activation", _gather_of_an_activation, None),
    ("GatherElements", "of an activation", _gather_elements, None),
    ("Transpose", "plain", _one("Transpose", perm=[0, 1, 3, 2]), "Transpose"),
    ("ArgMax", "plain", _largest, "ArgMax"),
    ("Add", "constant", _one("Add", inputs=_second), "QLinearAdd"),
    ("Add", "itself", lambda: _between(lambda w: [N("Add", ["a", "a"], ["b"], "it")]), "QLinearAdd"),
    ("Mul", "constant", _one("Mul", inputs=_second), "QLinearMul"),
    ("Relu", "behind a product", _one("Relu"), ""),
    ("Relu", "of a value that others read", lambda: _between(lambda w: [
        N("Relu", ["a"], ["r"], "it"), N("Mul", ["a", "r"], ["b"], "mul")]), None),
    ("Relu", "behind a pool", lambda: _between(lambda w: [
        N("MaxPool", ["a"], ["p"], "pool", kernel_shape=[2, 2]), N("Relu", ["p"], ["b"], "it")]), None),
    ("Clip", "of a value that others read", lambda: _between(lambda w: [
        N("Clip", ["a", w.constant("low", np.float32(-0.2)), w.constant("high", np.float32(0.3))], ["r"], "it"),
        N("Mul", ["a", "r"], ["b"], "mul")]), None),
    ("Clip", "behind a product", _one("Clip", inputs=lambda w: [w.constant("low", np.float32(0)),
                                                                w.constant("high", np.float32(6))]), ""),
    ("LeakyRelu", "plain", _one("LeakyRelu", alpha=0.2), "QLinearLeakyRelu"),
    ("Sigmoid", "plain", _one("Sigmoid"), "QLinearSigmoid"),
    ("MaxPool", "plain", _one("MaxPool", kernel_shape=[2, 2], strides=[2, 2]), "MaxPool"),
    ("MaxPool", "opset 11", _one("MaxPool", opset=11, kernel_shape=[2, 2]), None),
    ("GlobalAveragePool", "plain", _one("GlobalAveragePool"), "QLinearGlobalAveragePool"),
    ("AveragePool", "plain", _one("AveragePool", kernel_shape=[2, 2], strides=[2, 2]), "QLinearAveragePool"),
    ("AveragePool", "pads", _one("AveragePool", kernel_shape=[3, 3], pads=[1] * 4, count_include_pad=1),
     "QLinearAveragePool"),
    ("Split", "halves", _split, "Split"),
    ("Pad", "zeros", _one("Pad", inputs=lambda w: [w.constant("pads", np.int64([0, 0, 1, 1] * 2))]), "Pad"),
    ("Pad", "a half", _one("Pad", inputs=lambda w: [w.constant("pads", np.int64([0, 0, 1, 1] * 2)),
                                                    w.constant("half", np.float32(0.5))]), "Pad"),
    ("Pad", "reflect", _one("Pad", inputs=lambda w: [w.constant("pads", np.int64([0, 0, 1, 1] * 2))], mode="reflect"),
     "Pad"),
    ("Reshape", "plain", _flat("Reshape", inputs=lambda w: [w.constant("shape", np.int64([0, -1]))]), "Reshape"),
    ("Flatten", "plain", _flat("Flatten"), "Flatten"),
    ("Squeeze", "plain", _squeezed("Squeeze"), "Squeeze"),
    ("Unsqueeze", "plain", _squeezed("Unsqueeze"), "Unsqueeze"),
    ("Resize", "nearest", _one("Resize", inputs=lambda w: ["", w.constant("scales", np.float32([1, 1, 2, 2]))],
                               mode="nearest"), "Resize"),
    ("Resize", "linear", _one("Resize", inputs=lambda w: ["", w.constant("scales", np.float32([1, 1, 2, 2]))],
                              mode="linear"), "Resize"),
    ("Concat", "of two products", lambda: _between(lambda w: [
        N("Conv", ["a", w("w1", 4, 4, 1, 1)], ["c"], "second"), N("Concat", ["a", "c"], ["b"], "it", axis=1)],
        channels=8), "QLinearConcat"),
    ("Softmax", "last axis", _one("Softmax", axis=-1), "QLinearSoftmax"),
    ("Softmax", "opset 11", _one("Softmax", opset=11, axis=1), "QLinearSoftmax"),
    ("Where", "two products", _where, "QLinearWhere"),
    ("Slice", "plain", _one("Slice", inputs=lambda w: [w.constant("starts", np.int64([1, 1])),
                                                       w.constant("ends", np.int64([7, 7])),
                                                       w.constant("axes", np.int64([2, 3]))]), None),
    ("InstanceNormalization", "plain", _one("InstanceNormalization", inputs=lambda w: [w("g", 4), w("c", 4)]), None),
    ("LayerNormalization", "plain", _layer_norm, None),
    ("BatchNormalization", "plain", _one("BatchNormalization", inputs=_variance), None),
    ("TopK", "plain", _top, None),
    ("CumSum", "plain", _one("CumSum", inputs=lambda w: [w.constant("axis", np.int64(2))]), None),
]
