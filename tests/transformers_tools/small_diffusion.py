"""A small U-Net of Stable Diffusion, as torch's exporters write its parts, with random weights and fixed sizes."""
import numpy as np
from onnx import TensorProto
from small_transformers import Writer

BATCH, CHANNELS, SIDE, GROUPS, HEADS, WORDS, CONTEXT, TIME = 2, 8, 6, 4, 2, 5, 12, 16
ROWS, SIZE = SIDE * SIDE, CHANNELS // HEADS


class Diffusion(Writer):
    def shape(self, *sizes):
        return self.constant(sizes, np.int64)

    def conv(self, x, inner=CHANNELS, outer=CHANNELS, side=3, groups=1, **attributes):
        return self.add("Conv", x, self.weight(outer, inner // groups, side, side, scale=0.2), self.weight(outer),
                        kernel_shape=[side, side], pads=4 * [side // 2], group=groups, **attributes)

    def group_norm(self, x, swish=True, epsilon=1e-5, side=SIDE):
        y = self.add("Reshape", x, self.shape(0, GROUPS, -1))
        y = self.add("InstanceNormalization", y, self.constant(np.ones(GROUPS)), self.constant(np.zeros(GROUPS)),
                     epsilon=epsilon)
        y = self.add("Reshape", y, self.add("Shape", x))
        y = self.add("Add", self.add("Mul", y, self.weight(CHANNELS, 1, 1)), self.weight(CHANNELS, 1, 1))
        return self.add("Mul", y, self.add("Sigmoid", y)) if swish else y

    def block(self, x, time):
        """Two convolutions, between them the time of the step as one summand for each channel."""
        y = self.conv(self.group_norm(x))
        t = self.add("Gemm", self.add("Mul", time, self.add("Sigmoid", time)), self.weight(TIME, CHANNELS),
                     self.weight(CHANNELS))
        t = self.add("Unsqueeze", self.add("Unsqueeze", t, self.shape(2)), self.shape(3))
        return self.add("Add", x, self.conv(self.group_norm(self.add("Add", y, t))))

    def split_heads(self, x, inner, rows, keys=False):
        y = self.add("MatMul", x, self.weight(inner, CHANNELS))
        y = self.add("Transpose", self.add("Reshape", y, self.shape(0, 0, HEADS, SIZE)), perm=[0, 2, 1, 3])
        y = self.add("Reshape", y, self.shape(BATCH * HEADS, rows, SIZE))
        return self.add("Transpose", y, perm=[0, 2, 1]) if keys else y

    def heads_attention(self, x, context=None):
        inner, rows = (CHANNELS, ROWS) if context is None else (CONTEXT, WORDS)
        source = x if context is None else context
        q, k = self.split_heads(x, CHANNELS, ROWS), self.split_heads(source, inner, rows, keys=True)
        scores = self.add("Mul", self.add("MatMul", q, k), self.constant(SIZE ** -0.5))
        y = self.add("MatMul", self.add("Softmax", scores, axis=-1), self.split_heads(source, inner, rows))
        y = self.add("Transpose", self.add("Reshape", y, self.shape(BATCH, HEADS, ROWS, SIZE)), perm=[0, 2, 1, 3])
        return self.linear(self.add("Reshape", y, self.shape(BATCH, ROWS, CHANNELS)), CHANNELS, CHANNELS)

    def geglu(self, x):
        """Half of a projection times the GELU of the other one; the bounds of the halves are computed."""
        y = self.linear(x, CHANNELS, 8 * CHANNELS)
        width = self.add("Gather", self.add("Shape", y), self.shape(2), axis=0)
        half = self.add("Div", self.add("Add", width, self.shape(1)), self.shape(2))
        middle, end = self.add("Mul", half, self.shape(1)), self.add("Mul", half, self.shape(2))
        first = self.add("Slice", y, self.shape(0), middle, self.shape(-1))
        second = self.add("Slice", y, middle, end, self.shape(-1))
        return self.linear(self.add("Mul", first, self.gelu(second)), 4 * CHANNELS, CHANNELS)

    def layer_norm(self, x):
        return self.add("LayerNormalization", x, self.weight(CHANNELS), self.weight(CHANNELS), axis=-1, epsilon=1e-5)

    def transformer(self, x, context, projects=False):
        """`projects`: a product leads out of it, as in Stable Diffusion 2, in place of a convolution."""
        y = self.conv(self.group_norm(x, swish=False, epsilon=1e-6), side=1)
        y = self.add("Reshape", self.add("Transpose", y, perm=[0, 2, 3, 1]), self.shape(BATCH, ROWS, CHANNELS))
        y = self.add("Add", self.heads_attention(self.layer_norm(y)), y)
        y = self.add("Add", self.heads_attention(self.layer_norm(y), context), y)
        y = self.add("Add", self.geglu(self.layer_norm(y)), y)
        y = self.linear(y, CHANNELS, CHANNELS) if projects else y
        y = self.add("Reshape", y, self.shape(BATCH, SIDE, SIDE, CHANNELS))
        y = self.add("Transpose", y, perm=[0, 3, 1, 2])
        return self.add("Add", y if projects else self.conv(y, side=1), x)


def unet(projects=False):
    w = Diffusion(5)
    x = w.conv("x")
    for _ in range(2):
        x = w.transformer(w.block(x, "time"), "context", projects)
    x = w.conv(w.block(x, "time"), groups=CHANNELS, auto_pad="NOTSET")
    x = w.conv(w.group_norm(x))
    return w.model({"x": (TensorProto.FLOAT, [BATCH, CHANNELS, SIDE, SIDE]),
                    "time": (TensorProto.FLOAT, [BATCH, TIME]),
                    "context": (TensorProto.FLOAT, [BATCH, WORDS, CONTEXT])}, x, opset=17,
                   shape=(BATCH, CHANNELS, SIDE, SIDE))


def images_of(proto, seed=0):
    random = np.random.default_rng(seed)
    return {value.name: random.normal(size=[dim.dim_value for dim in value.type.tensor_type.shape.dim]).astype(
        np.float32) for value in proto.graph.input}
