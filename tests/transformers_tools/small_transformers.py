"""Small transformers as exporters write them, with random weights: loops say what text would hide."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

HEADS, SIZE, WORDS, POSITIONS = 2, 4, 30, 16
WIDTH = HEADS * SIZE


class Writer:
    """Adds nodes and initializers to a graph; every method returns the name of what it made."""

    def __init__(self, seed=0):
        self.random = np.random.default_rng(seed)
        self.nodes, self.initializers, self.count = [], [], 0

    def add(self, op_type, *inputs, outputs=1, **attributes):
        self.count += 1
        made = [f"{op_type}_{self.count}_{index}" for index in range(outputs)]
        self.nodes.append(helper.make_node(op_type, list(inputs), made, f"{op_type}_{self.count}", **attributes))
        return made[0] if outputs == 1 else made

    def constant(self, value, dtype=np.float32):
        self.count += 1
        name = f"constant_{self.count}"
        self.initializers.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def weight(self, *shape, scale=0.5):
        return self.constant(self.random.normal(0, scale, shape))

    def linear(self, x, rows=WIDTH, columns=WIDTH, bias=True):
        y = self.add("MatMul", x, self.weight(rows, columns))
        return self.add("Add", y, self.weight(columns)) if bias else y

    def norm(self, x):
        """Layer normalization in its parts."""
        last = {"axes": [-1]}
        d = self.add("Sub", x, self.add("ReduceMean", x, **last))
        variance = self.add("ReduceMean", self.add("Pow", d, self.constant(2.0)), **last)
        y = self.add("Div", d, self.add("Sqrt", self.add("Add", variance, self.constant(1e-5))))
        return self.add("Add", self.add("Mul", y, self.weight(WIDTH)), self.weight(WIDTH))

    def gelu(self, x):
        y = self.add("Erf", self.add("Div", x, self.constant(2 ** 0.5)))
        return self.add("Mul", self.add("Mul", x, self.add("Add", y, self.constant(1.0))), self.constant(0.5))

    def gelu_tanh(self, x):
        cube = self.add("Mul", self.add("Pow", x, self.constant(3.0)), self.constant(0.044715))
        y = self.add("Mul", self.add("Add", x, cube), self.constant((2 / np.pi) ** 0.5))
        y = self.add("Add", self.add("Tanh", y), self.constant(1.0))
        return self.add("Mul", self.add("Mul", x, self.constant(0.5)), y)

    def heads(self, x, keys=False):
        y = self.add("Reshape", x, self.constant([0, 0, HEADS, SIZE], np.int64))
        return self.add("Transpose", y, perm=[0, 2, 3, 1] if keys else [0, 2, 1, 3])

    def attention(self, x, context=None, mask=None, bias=True):
        context = x if context is None else context
        q, k, v = self.linear(x, bias=bias), self.linear(context, bias=bias), self.linear(context, bias=bias)
        scores = self.add("MatMul", self.heads(q), self.heads(k, keys=True))
        scores = self.add("Div", scores, self.constant(SIZE ** 0.5))
        scores = scores if mask is None else self.add("Add", scores, mask)
        y = self.add("MatMul", self.add("Softmax", scores, axis=-1), self.heads(v))
        y = self.add("Reshape", self.add("Transpose", y, perm=[0, 2, 1, 3]), self.constant([0, 0, WIDTH], np.int64))
        return self.linear(y)

    def layer(self, x, mask=None, gelu=None):
        x = self.norm(self.add("Add", self.attention(x, mask=mask), x))
        y = self.linear(x, WIDTH, 2 * WIDTH)
        y = self.linear((gelu or self.gelu)(y), 2 * WIDTH, WIDTH)
        return self.norm(self.add("Add", y, x))

    def padding(self, mask, hides=-10000.0):
        """[batch, row] of ones and zeros as [batch, 1, 1, row] of zeros and `hides`."""
        y = self.add("Unsqueeze", self.add("Unsqueeze", mask, axes=[1]), axes=[2])
        y = self.add("Sub", self.constant(1.0), self.add("Cast", y, to=TensorProto.FLOAT))
        return self.add("Mul", y, self.constant(hides))

    def padding_by_places(self, mask, batch, rows):
        """The same as torch's vmap spells it: the mask is read flattened, at places that are counted; and the lowest
        number in place of -10000. For opset 13. `batch`, `rows`: the mask's sizes."""
        def counted(size, axes):
            places = self.add("Range", self.constant(0, np.int64), size, self.constant(1, np.int64))
            return self.add("Unsqueeze", places, self.constant(axes, np.int64))

        row = self.add("Mul", counted(batch, [1, 2, 3]), self.add("Unsqueeze", rows, self.constant([0], np.int64)))
        flat = self.add("Flatten", self.add("Cast", mask, to=TensorProto.BOOL), axis=2)
        kept = self.add("Gather", flat, self.add("Add", counted(rows, [0, 1, 2]), row))
        kept = self.add("Squeeze", kept, self.constant([4], np.int64))
        always = self.add("GreaterOrEqual", counted(rows, [0, 1, 3]), self.constant(0, np.int64))
        return self.add("Where", self.add("And", always, kept), self.constant(0.0),
                        self.constant(np.finfo(np.float32).min))

    def model(self, inputs, output, opset=11, shape=("batch", "row", WIDTH)):
        """`inputs`: name to element type and shape. `shape`: of the output."""
        self.nodes.append(helper.make_node("Identity", [output], ["y"]))
        graph = helper.make_graph(
            self.nodes, "transformer", [helper.make_tensor_value_info(name, *kind) for name, kind in inputs.items()],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)], self.initializers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8,
                                 producer_name="pytorch")


def bert(layers=2, gelu_tanh=False, masked=True, hides=-10000.0):
    """BERT with embeddings of words, positions and segments, in opset 11."""
    w = Writer()
    words = w.add("Gather", w.weight(WORDS, WIDTH), "input_ids")
    segments = w.add("Gather", w.weight(2, WIDTH), "token_type_ids")
    rows = w.add("Gather", w.add("Shape", "input_ids"), w.constant(1, np.int64), axis=0)
    positions = w.add("Slice", w.constant(np.arange(POSITIONS)[None], np.int64), w.constant([0], np.int64),
                      w.add("Unsqueeze", rows, axes=[0]), w.constant([1], np.int64))
    x = w.add("Add", w.add("Add", words, segments), w.add("Gather", w.weight(POSITIONS, WIDTH), positions))
    x = w.norm(x)
    mask = w.padding("attention_mask", hides) if masked else None
    for _ in range(layers):
        x = w.layer(x, mask, w.gelu_tanh if gelu_tanh else None)
    tokens = (TensorProto.INT64, ["batch", "row"])
    names = ["input_ids", "attention_mask", "token_type_ids"] if masked else ["input_ids", "token_type_ids"]
    return w.model(dict.fromkeys(names, tokens), x)


def distilbert(layers=2):
    """DistilBERT as torch 2.15 and transformers 5 write it: sizes are read off the embeddings of the words."""
    w = Writer(2)
    words = w.add("Gather", w.weight(WORDS, WIDTH), "input_ids")
    batch, rows = (w.add("Gather", w.add("Shape", words), w.constant(axis, np.int64)) for axis in (0, 1))
    zero, one = w.constant([0], np.int64), w.constant([1], np.int64)
    positions = w.add("Slice", w.constant(np.arange(POSITIONS)[None], np.int64), zero,
                      w.add("Unsqueeze", rows, zero), one, one)
    x = w.norm(w.add("Add", words, w.add("Gather", w.weight(POSITIONS, WIDTH), positions)))
    mask = w.padding_by_places("attention_mask", batch, rows)
    for _ in range(layers):
        x = w.layer(x, mask)
    tokens = (TensorProto.INT64, ["batch", "row"])
    return w.model(dict.fromkeys(["input_ids", "attention_mask"], tokens), x, opset=13)


def decoder():
    """A layer with attention to itself and one to what an encoder made, without biases of the first."""
    w = Writer(1)
    x = w.norm(w.add("Add", w.attention("x", bias=False), "x"))
    y = w.norm(w.add("Add", w.attention(x, "encoded"), x))
    return w.model({"x": (TensorProto.FLOAT, ["batch", "row", WIDTH]),
                    "encoded": (TensorProto.FLOAT, ["batch", "key", WIDTH])}, y)


def t5(layers=2):
    """An encoder with normalizations by the root mean square and no biases, and QuickGelu behind it."""
    w, x = Writer(4), "x"

    def norm(x):
        square = w.add("ReduceMean", w.add("Pow", x, w.constant(2.0)), axes=[-1])
        root = w.add("Sqrt", w.add("Add", square, w.constant(1e-6)))
        return w.add("Mul", w.weight(WIDTH), w.add("Mul", x, w.add("Div", w.constant(1.0), root)))

    for _ in range(layers):
        x = w.add("Add", x, w.attention(norm(x), bias=False))
        y = w.add("Relu", w.linear(norm(x), WIDTH, 2 * WIDTH, bias=False))
        x = w.add("Add", x, w.linear(y, 2 * WIDTH, WIDTH, bias=False))
    y = w.linear(norm(x))
    y = w.add("Mul", y, w.add("Sigmoid", w.add("Mul", y, w.constant(1.702))))
    return w.model({"x": (TensorProto.FLOAT, ["batch", "row", WIDTH])}, y)


def inputs_of(proto, seed=0, padding=True):
    """Two rows of seven words; the second one has three words of padding."""
    random = np.random.default_rng(seed)
    feeds = {}
    for value in proto.graph.input:
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            feeds[value.name] = random.normal(size=(2, 5 if value.name == "encoded" else 7, WIDTH)).astype(np.float32)
        elif value.name == "attention_mask":
            feeds[value.name] = np.ones((2, 7), np.int64)
            feeds[value.name][1, 4:] = 0 if padding else 1
        else:
            feeds[value.name] = random.integers(0, 2 if value.name == "token_type_ids" else WORDS, (2, 7))
    return feeds
