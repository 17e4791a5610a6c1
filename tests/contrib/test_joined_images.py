"""Networks whose images the optimizer computes in parts or within larger ones: blocks of MobileNet (a 1x1 and a
depthwise convolution at once) and of DenseNet (what is joined lies where it is computed)."""

import json

import numpy as np
import pytest
import sardonyx
from onnx import helper, numpy_helper

F = np.float32


class Net:
    """A model that is written node by node."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes, self.weights, self.count = [], [], 0

    def weight(self, *shape, low=-1.0):
        self.count += 1
        name = f"w{self.count}"
        values = self.random.uniform(low, 1.0, shape) / (1 if len(shape) < 2 else np.sqrt(np.prod(shape[1:]) / 3))
        self.weights.append(numpy_helper.from_array(values.astype(F), name))
        return name

    def add(self, op_type, *inputs, **attributes):
        self.count += 1
        name = f"v{self.count}"
        self.nodes.append(helper.make_node(op_type, list(inputs), [name], name=f"n{self.count}", **attributes))
        return name

    def conv(self, x, c_in, c_out, kernel=1, groups=1, stride=1, bias=True):
        weights = [self.weight(c_out, c_in // groups, kernel, kernel)] + ([self.weight(c_out)] if bias else [])
        return self.add("Conv", x, *weights, group=groups, strides=[stride] * 2, pads=[kernel // 2] * 4)

    def norm(self, x, channels):
        scales = [self.weight(channels, low=0.5), self.weight(channels), self.weight(channels),
                  self.weight(channels, low=0.5)]
        return self.add("BatchNormalization", x, *scales)

    def model(self, y, image):
        graph = helper.make_graph(
            self.nodes, "g", [helper.make_tensor_value_info("x", 1, image)],
            [helper.make_tensor_value_info(y, 1, None)], self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


def mobile_blocks(seed, kernel, stride, activation):
    net = Net(seed)
    y = net.conv("x", 3, 16, 3)
    for _ in range(2):
        wide = net.add(activation, net.conv(y, 16, 72))
        deep = net.add(activation, net.conv(wide, 72, 72, kernel, 72, stride))
        y = net.conv(deep, 72, 16, bias=False)
    return net, y


def dense_blocks(seed, layers, growth):
    net = Net(seed)
    stem = net.add("Relu", net.conv("x", 3, 24, 3))
    parts, channels = [net.add("MaxPool", stem, kernel_shape=[3, 3], strides=[1, 1], pads=[1] * 4)], 24
    for _ in range(layers):
        joined = net.add("Concat", *parts, axis=1) if len(parts) > 1 else parts[0]
        narrow = net.add("Relu", net.norm(net.conv(net.add("Relu", net.norm(joined, channels)), channels, 32), 32))
        parts.append(net.conv(narrow, 32, growth, 3, bias=False))
        channels += growth
    joined = net.add("Concat", *parts, axis=1)
    pooled = net.add("AveragePool", net.conv(net.add("Relu", net.norm(joined, channels)), channels, 40),
                     kernel_shape=[2, 2], strides=[2, 2])
    return net, pooled


def run(model, x, level, folder):
    """(y, the operators that ran)."""
    options = sardonyx.SessionOptions()
    options.graph_optimization_level = getattr(sardonyx.GraphOptimizationLevel, level)
    options.enable_profiling, options.profile_file_prefix = True, str(folder / level)
    options.intra_op_num_threads = 2
    session = sardonyx.InferenceSession(model, options)
    session.run(None, {"x": x * 0.5})  # another run leaves nothing behind
    y, = session.run(None, {"x": x})
    with open(session.end_profiling(), encoding="utf-8") as file:
        events = json.load(file)
    nodes = [event["args"] for event in events if event.get("cat") == "Node"]
    return y, [node["op_name"] for node in nodes if "op_name" in node]


def compare(net, y, x, folder):
    model = net.model(y, list(x.shape))
    want, _ = run(model, x, "ORT_DISABLE_ALL", folder)
    found, ran = run(model, x, "ORT_ENABLE_ALL", folder)
    assert found.shape == want.shape
    np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-5 * np.abs(want).max())
    return ran


@pytest.mark.parametrize("kernel, stride", [(3, 1), (3, 2), (5, 1), (5, 2), (7, 2)])
@pytest.mark.parametrize("activation", ["Relu", "HardSwish", "Sigmoid"])
@pytest.mark.parametrize("batch, height, width", [(1, 33, 40), (3, 16, 9)])
def test_mobile_blocks(tmp_path, kernel, stride, activation, batch, height, width):
    net, y = mobile_blocks(kernel, kernel, stride, activation)
    x = np.random.default_rng(7).standard_normal((batch, 3, height, width)).astype(F)
    ran = compare(net, y, x, tmp_path)
    assert ran.count("ExpandedConv") == 4  # two runs


@pytest.mark.parametrize("layers, growth", [(2, 8), (5, 12), (6, 32)])
@pytest.mark.parametrize("batch, height, width", [(1, 24, 20), (2, 7, 9)])
def test_dense_blocks(tmp_path, layers, growth, batch, height, width):
    net, y = dense_blocks(layers, layers, growth)
    x = np.random.default_rng(7).standard_normal((batch, 3, height, width)).astype(F)
    ran = compare(net, y, x, tmp_path)
    assert ran.count("FusedElementwise") >= 2 * layers  # they read what is joined where it lies
