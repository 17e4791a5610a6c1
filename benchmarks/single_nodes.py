"""benchmarks/single_nodes.py - models of one MatMul or Conv node, run through the public interface like any model.

Their share of the machine's ceiling shows how good a kernel is. To add one, add a row to `matmuls` or `convolutions`.
"""
import dataclasses
import hashlib
import re

import numpy as np


@dataclasses.dataclass(frozen=True)
class MatMul:
    """y[M, N] = a[M, K] b[K, N]; b is a weight, or an input like a."""
    m: int
    k: int
    n: int
    weight: bool = True
    count: int = 0

    def flops(self):
        return 2.0 * self.m * self.k * self.n

    def bytes(self):
        return 4.0 * (self.m * self.k + self.k * self.n + self.m * self.n)

    def save(self, path):
        initializers = [("b", (self.k, self.n))] if self.weight else []
        inputs = [("a", (self.m, self.k))] + ([] if self.weight else [("b", (self.k, self.n))])
        save_node(path, "MatMul", inputs, initializers, ["a", "b"], {})

    def inputs(self, seed):
        shapes = {"a": (self.m, self.k)} | ({} if self.weight else {"b": (self.k, self.n)})
        return normals(shapes, seed)


@dataclasses.dataclass(frozen=True)
class Convolution:
    """A square convolution as ResNet-50 has it; `count` is how often the network does."""
    channels: int
    filters: int
    size: int  # height and width of the input
    kernel: int
    stride: int
    count: int = 0

    def flops(self):
        out = -(-self.size // self.stride)
        return 2.0 * out * out * self.filters * self.channels * self.kernel ** 2

    def save(self, path):
        pad = self.kernel // 2
        attributes = {"kernel_shape": [self.kernel] * 2, "strides": [self.stride] * 2, "pads": [pad] * 4}
        weights = [("w", (self.filters, self.channels, self.kernel, self.kernel)), ("b", (self.filters,))]
        save_node(path, "Conv", [("x", (1, self.channels, self.size, self.size))], weights, ["x", "w", "b"], attributes)

    def inputs(self, seed):
        return normals({"x": (1, self.channels, self.size, self.size)}, seed)


def normals(shapes, seed):
    random = np.random.default_rng(seed)
    return {name: random.standard_normal(shape, dtype=np.float32) for name, shape in shapes.items()}


def save_node(path, op, inputs, initializers, order, attributes):
    import onnx
    from onnx import helper, numpy_helper

    weights = [numpy_helper.from_array(value, name)
               for name, value in normals(dict(initializers), seed=1).items()]
    infos = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name, shape in inputs]
    output = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
    graph = helper.make_graph([helper.make_node(op, order, ["y"], **attributes)], op, infos, [output], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))


def matmuls():
    """Named by M, K and N; "-inputs" where both operands are inputs, else b is a weight."""
    yield "MatMul-512x512x512", MatMul(512, 512, 512)
    yield "MatMul-512x512x512-inputs", MatMul(512, 512, 512, weight=False)
    yield "MatMul-511x513x509", MatMul(511, 513, 509)
    yield "MatMul-511x513x509-inputs", MatMul(511, 513, 509, weight=False)
    yield "MatMul-128x768x3072", MatMul(128, 768, 3072)
    yield "MatMul-1x768x3072", MatMul(1, 768, 3072)
    yield "MatMul-1x4096x4096", MatMul(1, 4096, 4096)
    yield "MatMul-1x768x768-inputs", MatMul(1, 768, 768, weight=False)
    yield "MatMul-1024x3x1024", MatMul(1024, 3, 1024)
    yield "MatMul-1024x3x1024-inputs", MatMul(1024, 3, 1024, weight=False)


def convolutions():
    """All 53 convolutions of ResNet-50 (stride in the 3x3, as torchvision writes it), equal ones counted."""
    found = {}

    def add(*shape):
        found[shape] = found.get(shape, 0) + 1

    add(3, 64, 224, 7, 2)
    channels, size = 64, 56
    for width, blocks in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for block in range(blocks):
            stride = 2 if block == 0 and width > 64 else 1
            add(channels, width, size, 1, 1)
            add(width, width, size, 3, stride)
            add(width, 4 * width, size // stride, 1, 1)
            if block == 0:
                add(channels, 4 * width, size, 1, stride)
            channels, size = 4 * width, size // stride
    for (c, f, s, k, stride), count in found.items():
        name = f"Conv-{c}-{f}-{s}x{s}-{k}x{k}" + (f"-stride{stride}" if stride > 1 else "")
        yield name, Convolution(c, f, s, k, stride, count)


NODES = {name: node for kind in (matmuls, convolutions) for name, node in kind()}


def key(name):
    return re.sub(r"\W+", "_", name) + hashlib.sha256(repr(NODES[name]).encode()).hexdigest()[:8]
