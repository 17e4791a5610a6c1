"""Cases with the plug-in plugins/onednn; test_onednn.py runs each in a process of its own, in Sardonyx and in ONNX
Runtime. The host's own kernels, without optimizations, say what is right.

usage: python onednn_cases.py CASE LIBRARY
"""
import concurrent.futures
import contextlib
import gc
import os
import pathlib
import sys

import numpy as np
import onnx.helper as helper
import onnx.numpy_helper as numpy_helper
import onnx.parser
import onnxruntime as ort

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tools"), str(ROOT / "tests/models")]
import model_zoo  # noqa: E402
from float64_reference import float64_run  # noqa: E402

NAME, CPU = "OneDnnExecutionProvider", "CPUExecutionProvider"
F = np.float32
# ONNX Runtime would hide an error of a provider behind a session on the CPU.
STRICT = {} if hasattr(ort, "sardonyx_version") else {"enable_fallback": 0}


def device():
    return [device for device in ort.get_ep_devices() if device.ep_name == NAME]


def session(model, options=None, path=None):
    settings = ort.SessionOptions()
    settings.log_severity_level = 3
    settings.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    settings.add_provider_for_devices(device(), {"small_groups": "1", "intra_op_num_threads": "2", **(options or {})})
    return ort.InferenceSession(path or model.SerializeToString(), sess_options=settings, **STRICT)


def host(model, path=None):
    settings = ort.SessionOptions()
    settings.log_severity_level = 3
    settings.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(path or model.SerializeToString(), settings, providers=[CPU])


def elsewhere(made):
    """The operators that do not run on the plug-in."""
    return sorted(node.op_type for part in made.get_provider_graph_assignment_info() if part.ep_name != NAME
                  for node in part.get_nodes())


def compare(got, want, rtol=2e-5, atol=2e-6, what=""):
    assert len(got) == len(want)
    for a, b in zip(got, want):
        assert a.dtype == b.dtype and a.shape == b.shape, (what, a.dtype, a.shape, b.dtype, b.shape)
        np.testing.assert_allclose(a.astype(np.float64), b.astype(np.float64), rtol=rtol, atol=atol, err_msg=what)


def text(body, opset=21):
    return onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : {opset}]> g {body}')


def numbers(*shape, seed=0, low=None):
    values = np.random.default_rng([seed, *shape]).standard_normal(shape)
    return np.asarray(np.abs(values) + low if low is not None else values, F)


class Node:
    """One node. `inputs`: arrays that a run is given; in a list, arrays that the model holds; None: left out."""

    def __init__(self, op, *inputs, opset=21, tolerance=None, **attributes):
        self.op, self.inputs, self.opset, self.attributes = op, inputs, opset, attributes
        self.tolerance = tolerance or (2e-5, 2e-6)

    def name(self):
        shown = [None if x is None else f"constant {x[0].shape}" if isinstance(x, list) else x.shape
                 for x in self.inputs]
        return f"{self.op} {shown} {self.attributes} opset {self.opset}"

    def model(self, dynamic):
        names, given, held = [], [], []
        for i, value in enumerate(self.inputs):
            names.append("" if value is None else f"i{i}")
            if isinstance(value, list):
                held.append(numpy_helper.from_array(value[0], f"i{i}"))
            elif value is not None:
                shape = [f"d{i}_{axis}" for axis in range(value.ndim)] if dynamic else value.shape
                element = helper.np_dtype_to_tensor_dtype(value.dtype)
                given.append(helper.make_tensor_value_info(f"i{i}", element, shape))
        node = helper.make_node(self.op, names, ["y"], name="the node", **self.attributes)
        result = helper.make_empty_tensor_value_info("y")
        graph = helper.make_graph([node], "g", given, [result], held)
        return helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", self.opset)])

    def feeds(self):
        return {f"i{i}": value for i, value in enumerate(self.inputs)
                if value is not None and not isinstance(value, list)}

    def check(self):
        feeds = self.feeds()
        want = host(self.model(True)).run(None, feeds)
        for dynamic in (False, True):
            made = session(self.model(dynamic))
            assert elsewhere(made) == [], f"{self.name()}: on the host"
            for _ in range(2):
                compare(made.run(None, feeds), want, *self.tolerance, self.name())


X4, X3, X5 = numbers(2, 6, 9, 11), numbers(3, 4, 10), numbers(1, 4, 5, 6, 7)
SPECIAL = np.array([[0, -0.0, 1, -1, 0.5, -2.5, 3.5, 88, -88, 1e-30, -1e-30, 1e30, np.inf, -np.inf]], F)


def constant(*values, dtype=F):
    return [np.array(values, dtype)]


def scalar(value):
    return [np.array(value, F)]


def convolutions():
    weights = numbers(8, 6, 3, 3, seed=1)
    yield Node("Conv", X4, [weights])
    yield Node("Conv", X4, weights)  # weights of a run
    yield Node("Conv", X4, [weights], [numbers(8)], pads=[1, 2, 0, 1], strides=[2, 1], dilations=[1, 2])
    yield Node("Conv", X4, [numbers(4, 3, 3, 2)], [numbers(4)], group=2, kernel_shape=[3, 2])
    yield Node("Conv", X4, [numbers(6, 1, 3, 3)], [numbers(6)], group=6, pads=[1, 1, 1, 1])
    yield Node("Conv", X4, [numbers(12, 1, 3, 3)], group=6, strides=[2, 2])
    for auto_pad in ("SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"):
        yield Node("Conv", X4, [numbers(5, 6, 4, 2)], auto_pad=auto_pad, strides=[2, 3])
    yield Node("Conv", X4, [numbers(3, 6, 1, 1)], opset=1)
    yield Node("Conv", X3, [numbers(7, 4, 3)], [numbers(7)], pads=[2, 1], dilations=[2])
    yield Node("Conv", X5, [numbers(3, 4, 2, 3, 3)], [numbers(3)], strides=[1, 2, 1], pads=[0, 1, 1, 1, 1, 0])
    yield Node("Conv", numbers(1, 3, 32, 32), [numbers(64, 3, 7, 7)], strides=[2, 2], pads=[3, 3, 3, 3],
               tolerance=(1e-4, 1e-5))
    yield Node("Conv", numbers(0, 6, 9, 9), [weights])
    yield Node("ConvTranspose", X4, [numbers(6, 5, 3, 3)], [numbers(5)])
    yield Node("ConvTranspose", X4, [numbers(6, 5, 3, 3)], strides=[2, 3], pads=[1, 0, 2, 1], output_padding=[1, 2])
    yield Node("ConvTranspose", X4, [numbers(6, 2, 3, 2)], [numbers(6)], group=3, dilations=[2, 1], strides=[2, 2])
    yield Node("ConvTranspose", X4, [numbers(6, 4, 3, 3)], strides=[2, 2], output_shape=[18, 23])
    for auto_pad in ("SAME_UPPER", "SAME_LOWER", "VALID"):
        yield Node("ConvTranspose", X4, [numbers(6, 4, 3, 3)], strides=[2, 2], auto_pad=auto_pad)
    yield Node("ConvTranspose", X3, [numbers(4, 3, 4)], strides=[3])
    yield Node("ConvTranspose", X5, [numbers(4, 2, 2, 2, 2)], strides=[2, 1, 2])


def products():
    for a, b in (((5, 7), (7, 3)), ((2, 5, 7), (7, 3)), ((2, 3, 5, 7), (2, 3, 7, 4)), ((2, 1, 5, 7), (3, 7, 4)),
                 ((7,), (7, 3)), ((5, 7), (7,)), ((7,), (7,)), ((2, 5, 7), (7,)), ((7,), (2, 7, 3)),
                 ((1, 7), (4, 7, 1)), ((5, 0), (0, 3)), ((0, 7), (7, 3)), ((3, 2, 5, 7), (1, 1, 7, 4)),
                 ((64, 96), (96, 130))):
        yield Node("MatMul", numbers(*a), numbers(*b, seed=2), tolerance=(1e-4, 1e-5))
        if 0 not in b:
            yield Node("MatMul", numbers(*a), [numbers(*b, seed=2)], tolerance=(1e-4, 1e-5))
    for flags in range(4):
        a = numbers(*((7, 5) if flags & 1 else (5, 7)))
        b = numbers(*((3, 7) if flags & 2 else (7, 3)), seed=3)
        trans = {"transA": flags & 1, "transB": flags >> 1}
        yield Node("Gemm", a, [b], [numbers(3)], **trans)
        yield Node("Gemm", a, b, numbers(5, 3), alpha=0.5, beta=-2.0, **trans)
    for addend in ((1, 3), (5, 1), (1, 1), (1,), (), (3,), (5, 3)):
        yield Node("Gemm", numbers(5, 7), [numbers(7, 3)], [numbers(*addend)])
        yield Node("Gemm", numbers(5, 7), [numbers(7, 3)], numbers(*addend), beta=0.25)
    yield Node("Gemm", numbers(5, 7), [numbers(7, 3)], alpha=3.0)
    yield Node("Gemm", numbers(5, 7), [numbers(7, 3)], [numbers(3)], opset=7, beta=0.0)
    yield Node("Gemm", numbers(5, 0), numbers(0, 3), numbers(3), alpha=2.0)


def pools():
    for op in ("MaxPool", "AveragePool"):
        yield Node(op, X4, kernel_shape=[3, 2])
        yield Node(op, X4, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
        yield Node(op, X4, kernel_shape=[3, 3], strides=[2, 3], pads=[1, 0, 2, 1], ceil_mode=1)
        for auto_pad in ("SAME_UPPER", "SAME_LOWER", "VALID"):
            yield Node(op, X4, kernel_shape=[3, 4], strides=[2, 2], auto_pad=auto_pad)
        yield Node(op, X3, kernel_shape=[4], strides=[3], ceil_mode=1)
        yield Node(op, X5, kernel_shape=[2, 3, 2], pads=[1, 1, 0, 0, 1, 1])
        yield Node("Global" + op, X4)
        yield Node("Global" + op, X3)
        yield Node("Global" + op, X5)
    yield Node("MaxPool", X4, kernel_shape=[3, 2], dilations=[2, 3])
    yield Node("MaxPool", -np.abs(X4), kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    yield Node("AveragePool", X4, kernel_shape=[3, 3], pads=[1, 2, 1, 0], count_include_pad=1)


def normalizations():
    for x in (X4, X3, X5, numbers(5, 6)):
        c = x.shape[1]
        yield Node("BatchNormalization", x, [numbers(c)], [numbers(c, seed=1)], [numbers(c, seed=2)],
                   [numbers(c, seed=3, low=0.1)], epsilon=1e-3)
    yield Node("BatchNormalization", X4, numbers(6), numbers(6), numbers(6), numbers(6, low=0.1), opset=9)
    yield Node("LayerNormalization", numbers(2, 5, 32), [numbers(32)], [numbers(32, seed=1)])
    yield Node("LayerNormalization", numbers(2, 5, 32), [numbers(32)], epsilon=0.1)
    yield Node("LayerNormalization", numbers(2, 5, 4, 3), [numbers(4, 3)], [numbers(4, 3, seed=1)], axis=-2)
    yield Node("LayerNormalization", numbers(2, 5, 4, 3), [numbers(3)], [numbers(1)], axis=1)
    yield Node("LayerNormalization", numbers(0, 32), [numbers(32)])
    for op in ("Softmax", "LogSoftmax"):
        for axis in (-1, 0, 1, 2, 3):
            yield Node(op, X4, axis=axis)
            if axis >= 0:
                yield Node(op, X4, axis=axis, opset=11)
        yield Node(op, numbers(17))
        yield Node(op, numbers(3, 500) * F(40))
        yield Node(op, numbers(0, 5))


def arithmetic():
    pairs = [((2, 3, 4), (2, 3, 4)), ((2, 3, 4), (4,)), ((2, 3, 4), (3, 1)), ((2, 3, 4), (2, 1, 1)), ((4,), (2, 3, 4)),
             ((2, 1, 4), (3, 1)), ((3, 1), (1, 4)), ((2, 3, 4), ()), ((), (2, 3)), ((), ()), ((2, 3, 4), (1, 1, 1)),
             ((2, 3, 4, 5), (3, 1, 1)), ((2, 3, 4, 5), (2, 1, 1, 5)), ((1,), (1, 1, 1)), ((0, 3), (1, 3)),
             ((2, 1, 3, 1, 2), (4, 1, 5, 1))]
    for op in ("Add", "Sub", "Mul", "Div"):
        for a, b in pairs:
            left, right = numbers(*a), numbers(*b, seed=5, low=0.5)
            yield Node(op, left, right)
            if 0 not in b:
                yield Node(op, left, [right])
                yield Node(op, [right], left) if op != "Div" else Node(op, [right], np.asarray(np.abs(left) + F(0.5)))
    for exponent in (2.0, 0.5, -1.0, 3.0, 1.7):
        yield Node("Pow", numbers(3, 5, low=0.1), scalar(exponent))
    yield Node("Pow", numbers(3, 5), constant(2.0))
    yield Node("Pow", numbers(3, 5), scalar(3.0))


def functions():
    shapes = [numbers(3, 37) * F(3), numbers(2, 3, 4, 5), np.array(0.75, F), numbers(0, 3)]
    for x in shapes:
        for op in ("Relu", "LeakyRelu", "Elu", "Tanh", "Sigmoid", "Abs", "Neg", "Softplus", "HardSigmoid",
                   "HardSwish", "Mish", "Round", "Gelu"):
            yield Node(op, x)
        for op in ("Sqrt", "Reciprocal"):
            yield Node(op, np.asarray(np.abs(x) + F(0.01)))
        yield Node("Clip", x, scalar(-0.5), scalar(1.5))
        yield Node("Clip", x, None, scalar(0.25))
        yield Node("Clip", x, scalar(0.25))
        yield Node("Clip", x)
    x = shapes[0]
    yield Node("Clip", x, opset=6, min=-1.0, max=1.0)
    yield Node("LeakyRelu", x, alpha=0.3)
    yield Node("Elu", x, alpha=1.7)
    yield Node("HardSigmoid", x, alpha=0.4, beta=0.1)
    yield Node("Gelu", x, approximate="tanh")
    yield Node("Round", np.array([0.5, 1.5, 2.5, -0.5, -1.5, 2.4999998, 1e9], F))
    for op in ("Relu", "Abs", "Neg", "Tanh", "Sigmoid", "Elu", "HardSigmoid", "LeakyRelu", "Softplus", "Round"):
        yield Node(op, SPECIAL)
    yield Node("Sqrt", np.array([0, 1e-40, 4, np.inf, 1e30], F))


def reductions():
    for op in ("ReduceMean", "ReduceSum", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceProd"):
        for axes in ([-1], [1], [0, 2], [2, 3], [0, 1, 2, 3]):
            for keepdims in (0, 1):
                yield Node(op, X4, constant(*axes, dtype=np.int64), keepdims=keepdims, tolerance=(1e-4, 1e-5))
        yield Node(op, X4, tolerance=(1e-4, 1e-4))
        yield Node(op, X4, noop_with_empty_axes=1)
        yield Node(op, X3, axes=[1, 2], opset=11, tolerance=(1e-4, 1e-5))
        yield Node(op, numbers(2, 1, 3), constant(1, dtype=np.int64))
        if op != "ReduceMean":
            yield Node(op, numbers(2, 0, 3), constant(1, dtype=np.int64))


def shapes():
    for axis in (0, 1, 2, -1):
        yield Node("Concat", numbers(2, 3, 4), numbers(2, 3, 4, seed=1), [numbers(2, 3, 4, seed=2)], axis=axis)
    yield Node("Concat", numbers(2, 3), numbers(2, 0), numbers(2, 5), axis=1)
    yield Node("Concat", numbers(2, 3), axis=1)
    for perm in ([0, 2, 1], [2, 1, 0], [1, 0, 2], [1, 2, 0]):
        yield Node("Transpose", numbers(2, 3, 4), perm=perm)
    yield Node("Transpose", numbers(2, 3, 4))
    yield Node("Reshape", numbers(2, 3, 4), constant(0, -1, dtype=np.int64))
    yield Node("Reshape", numbers(2, 3, 4), constant(4, 6, dtype=np.int64))
    yield Node("Flatten", numbers(2, 3, 4), axis=2)
    yield Node("Flatten", numbers(2, 3, 4), axis=-1)
    yield Node("Squeeze", numbers(2, 1, 4), constant(1, dtype=np.int64))
    yield Node("Squeeze", numbers(2, 1, 4), opset=11, axes=[-2])
    yield Node("Unsqueeze", numbers(2, 4), constant(0, -1, dtype=np.int64))


def run_nodes(cases):
    cases, failures = list(cases), []
    for case in cases:
        try:
            case.check()
        except Exception as error:
            failures.append(f"{case.name()}: {error}")
    assert not failures, f"{len(failures)} of {len(cases)} nodes:\n" + "\n".join(failures)
    print(len(cases), "nodes")


def case_convolutions():
    run_nodes(convolutions())


def case_products():
    run_nodes(products())


def case_pools():
    run_nodes(pools())


def case_normalizations():
    run_nodes(normalizations())


def case_arithmetic():
    run_nodes(arithmetic())


def case_functions():
    run_nodes(functions())


def case_reductions():
    run_nodes(reductions())


def case_shapes():
    run_nodes(shapes())


def weights(**arrays):
    """Initializers that a model of text() gets by name."""
    return [numpy_helper.from_array(np.asarray(array), name) for name, array in arrays.items()]


def chain(body, held, feeds, opset=21, options=None, left=(), tolerance=(1e-4, 1e-4), shapes=()):
    """Compares a model with the host's results, for its feeds and for these other shapes; returns the session."""
    made_from = text(body, opset)
    made_from.graph.initializer.extend(weights(**held))
    made, reference = session(made_from, options), host(made_from)
    assert elsewhere(made) == sorted(left), elsewhere(made)
    for shape in [None, *shapes]:
        given = feeds if shape is None else {name: numbers(*shape) for name in feeds}
        for _ in range(2):
            compare(made.run(None, given), reference.run(None, given), *tolerance, body)
    return made


def case_chains():
    x = numbers(2, 8, 10, 12)
    w, v, b = numbers(16, 8, 3, 3), numbers(16, 8, 1, 1, seed=2), numbers(16)
    images = [(1, 8, 7, 7), (5, 8, 10, 12), (2, 8, 10, 12)]
    for after in ("Relu(c)", "Clip(c, low, high)", "HardSwish(c)", "Gelu(c)", "Sigmoid(c)", "LeakyRelu<alpha=0.2>(c)",
                  "Mul(c, vector)", "Add(c, vector)", "Sub(c, vector)", "Div(c, vector)", "Add(vector, c)",
                  "Sub(vector, c)", "Mul(c, high)", "Sub(high, c)", "HardSigmoid(c)"):
        chain(f"""(float[n, 8, h, w] x) => (float[n, 16, h, w] y) {{ c = Conv<pads=[1,1,1,1]>(x, k, b)
            y = {after} }}""",
              {"k": w, "b": b, "low": F(-0.5), "high": F(1.25), "vector": numbers(16, 1, 1, seed=9, low=0.5)}, {"x": x},
              shapes=images)
    # A residual block: the sum is computed in the memory of the branch that nobody needs any more.
    chain("""(float[n, 8, h, w] x) => (float[n, 16, h, w] y) { a = Conv<pads=[1,1,1,1]>(x, k, b)  s = Conv(x, v)
        t = Add(a, s)  r = Relu(t)  p = Conv(r, q)  u = Add(p, r)  y = Relu(u) }""",
          {"k": w, "v": v, "b": b, "q": numbers(16, 16, 1, 1)}, {"x": x}, shapes=images, tolerance=(1e-3, 1e-4))
    # The sum's other operand is read by the convolution itself, by others, by the caller, or is an input.
    chain("(float[n, 8, h, w] x) => (float[n, 8, h, w] y) { r = Relu(x)  c = Conv(r, k)  y = Add(c, r) }",
          {"k": numbers(8, 8, 1, 1)}, {"x": x}, shapes=images)
    chain("""(float[n, 8, h, w] x) => (float[n, 8, h, w] y, float[n, 8, h, w] z) { r = Relu(x)  c = Conv(r, k)
        y = Add(c, r)  d = Conv(y, k)  e = Add(d, y)  z = Mul(e, r) }""",
          {"k": numbers(8, 8, 1, 1)}, {"x": x}, shapes=images, tolerance=(1e-3, 1e-4))
    chain("(float[n, 8, h, w] x) => (float[n, 8, h, w] y) { c = Conv(x, k)  y = Add(x, c) }",
          {"k": numbers(8, 8, 1, 1)}, {"x": x}, shapes=images)
    # It is the convolution's own input, in the same layout; the windows overlap.
    chain("""(float[n, 8, h, w] x) => (float[n, 16, h, w] y) { a = Conv<pads=[1,1,1,1]>(x, k, b)  r = Relu(a)
        c = Conv<pads=[1,1,1,1]>(r, q)  y = Add(c, r) }""",
          {"k": w, "b": b, "q": numbers(16, 16, 3, 3) * F(0.1)}, {"x": x}, shapes=images, tolerance=(1e-3, 1e-3))
    # It was read in another layout before; what is there now has to be read anew.
    chain("""(float[n, 8, h, w] x) => (float[n, 16, h, w] y, float[n, 16, h, w] z) { a = Conv<pads=[1,1,1,1]>(x, k, b)
        r = Relu(a)  y = Softmax(r)  c = Conv(x, v)  u = Add(c, r)  z = Softmax(u) }""",
          {"k": w, "b": b, "v": v}, {"x": x}, shapes=images)
    # A view of it is read later.
    chain("""(float[n, 8] x) => (float[n, 4] y, float[n, 2, 2] z) { a = MatMul(x, k)  r = Relu(a)  f = Reshape(r, s)
        c = MatMul(x, v)  u = Add(c, r)  y = Tanh(u)  z = Sigmoid(f) }""",
          {"k": numbers(8, 4), "v": numbers(8, 4, seed=1), "s": np.array([-1, 2, 2])}, {"x": numbers(5, 8)},
          shapes=[(1, 8)])
    # Values that leave in the middle, twice, or as they came.
    chain("""(float[n, 8, h, w] x) => (float[n, 16, h, w] c, float[n, 16, h, w] y, float[n, k] f, float[n, k] g)
        { c = Conv<pads=[1,1,1,1]>(x, k, b)  y = Relu(c)  f = Flatten(c)  g = Identity(f) }""",
          {"k": w, "b": b}, {"x": x})
    # Layouts of convolutions meet plain ones.
    chain("""(float[n, 8, h, w] x) => (float[n, m] y) { c = Conv(x, k)
        p = MaxPool<kernel_shape=[2,2], strides=[2,2]>(c)  q = Concat<axis=1>(p, p)
        s = Softmax<axis=1>(q)  g = GlobalAveragePool(s)  f = Flatten(g)
        l = Gemm<transB=1>(f, m, o)  y = Relu(l) }""",
          {"k": w, "m": numbers(5, 32), "o": numbers(5)}, {"x": x}, shapes=images)
    # Squeeze and excitation: a factor for each channel, of one image and of several.
    chain("""(float[n, 8, h, w] x) => (float[n, 16, h, w] y) { c = Conv<pads=[1,1,1,1]>(x, k)  g = GlobalAveragePool(c)
        e = Conv(g, q)  s = Sigmoid(e)  y = Mul(c, s) }""",
          {"k": w, "q": numbers(16, 16, 1, 1)}, {"x": x}, shapes=images, tolerance=(1e-3, 1e-4))


def case_transformers():
    x = numbers(2, 6, 32)
    held = {"w": numbers(32, 64), "b": numbers(64), "v": numbers(64, 32), "c": numbers(32), "scale": numbers(32),
            "shift": numbers(32, seed=1), "half": F(0.5), "one": F(1), "two": F(2), "root": F(np.sqrt(2)),
            "eps": F(1e-5), "last": np.array([-1])}
    texts = [(1, 1, 32), (3, 17, 32), (2, 6, 32)]
    chain("""(float[n, s, 32] x) => (float[n, s, 32] y) { a = MatMul(x, w)  h = Add(a, b)
        d = Div(h, root)  e = Erf(d)  f = Add(e, one)  g = Mul(h, f)  i = Mul(g, half)
        j = MatMul(i, v)  k = Add(c, j)  l = Add(k, x)
        m = ReduceMean<keepdims=1>(l, last)  o = Sub(l, m)  p = Pow(o, two)  q = ReduceMean<keepdims=1>(p, last)
        r = Add(q, eps)  t = Sqrt(r)  u = Div(o, t)  z = Mul(u, scale)  y = Add(z, shift) }""", held, {"x": x},
          shapes=texts, tolerance=(1e-3, 1e-4))
    # Erf that is not of a GELU stays with the host.
    chain("""(float[n, s, 32] x) => (float[n, s, 64] y) { a = MatMul(x, w)  e = Erf(a)  y = Add(e, b) }""", held,
          {"x": x}, left=["Erf"])
    # Attention: transposed views are multiplied as they lie.
    chain("""(float[n, s, 32] x) => (float[n, s, 32] y) {
        q = Reshape(x, heads)  qt = Transpose<perm=[0,2,1,3]>(q)  kt = Transpose<perm=[0,2,3,1]>(q)
        m = MatMul(qt, kt)  d = Mul(m, scale1)  p = Softmax(d)  o = MatMul(p, qt)  ot = Transpose<perm=[0,2,1,3]>(o)
        y = Reshape(ot, joined) }""",
          {"heads": np.array([0, 0, 4, 8]), "joined": np.array([0, 0, 32]), "scale1": F(0.35)}, {"x": x}, shapes=texts)
    # One mask for all heads.
    chain("(float[n, 3, s, s] x) => (float[n, 3, s, s] y) { a = Add(x, m)  p = Softmax(a)  y = Mul(p, m) }",
          {"m": numbers(2, 1, 1, 5)}, {"x": numbers(2, 3, 5, 5)})
    chain("(float[n, 32] x) => (float[n, 32] y) { s = Sigmoid(x)  y = Mul(x, s) }", {}, {"x": numbers(4, 32)})


def quantized(held, element, zero, name, array, axis=None):
    """Adds an array as integers with scales to `held`; their DequantizeLinear's result is `name`."""
    span = np.abs(array).max(axis=None if axis is None else tuple(i for i in range(array.ndim) if i != axis))
    scale = np.asarray(np.maximum(span, 1e-3) / 127, F)
    shaped = scale if axis is None else scale.reshape([-1 if i == axis else 1 for i in range(array.ndim)])
    info = np.iinfo(element)
    held[name + "_q"] = np.clip(np.rint(array / shaped) + zero, info.min, info.max).astype(element)
    held[name + "_s"], held[name + "_z"] = scale, np.full(scale.shape, zero, element)
    return f"{name} = DequantizeLinear{'' if axis is None else f'<axis={axis}>'}({name}_q, {name}_s, {name}_z)  "


def steps_apart(body, held, feeds, result_scale, shapes=(), share=0.02):
    """Results that were rounded to integers may differ by one step where a sum lies between two."""
    made_from = text(body)
    made_from.graph.initializer.extend(weights(**held))
    made, reference = session(made_from), host(made_from)
    # What first makes integers of the inputs, and what last makes floats of results.
    assert set(elsewhere(made)) <= {"QuantizeLinear", "DequantizeLinear"}, elsewhere(made)
    for shape in [None, *shapes]:
        given = feeds if shape is None else {name: numbers(*shape) for name in feeds}
        for got, want in zip(made.run(None, given), reference.run(None, given)):
            assert got.dtype == want.dtype and got.shape == want.shape
            steps = np.abs(got.astype(np.float64) - want) / result_scale
            assert steps.max() <= 1.01 and (steps > 0.01).mean() <= share, (body, steps.max(), (steps > 0.01).mean())


def case_quantized():
    x = numbers(2, 8, 9, 9)
    for element, zero in ((np.uint8, 117), (np.int8, 0), (np.int8, -5), (np.uint8, 0)):
        for weight, middle, axis in ((np.int8, 0, 0), (np.int8, 0, None), (np.uint8, 128, None), (np.int8, 3, None)):
            for after in ("", "Relu", "HardSwish"):
                held = {"xs": F(0.02), "xz": np.array(zero, element), "ys": F(0.11), "yz": np.array(zero, element)}
                body = quantized(held, weight, middle, "w", numbers(16, 8, 3, 3), axis)
                body += quantized(held, np.int32, 0, "b", numbers(16) * 40, 0)
                body += "xq = QuantizeLinear(x, xs, xz)  xd = DequantizeLinear(xq, xs, xz)  "
                body += "c = Conv<pads=[1,1,1,1]>(xd, w, b)  " + (f"a = {after}(c)  " if after else "")
                body += f"q = QuantizeLinear({'a' if after else 'c'}, ys, yz)  y = DequantizeLinear(q, ys, yz)"
                steps_apart(f"(float[n, 8, h, w] x) => (float[n, 16, h, w] y) {{ {body} }}", held, {"x": x}, 0.11,
                            shapes=[(1, 8, 5, 6)])
    for element, zero in ((np.uint8, 121), (np.int8, 4)):
        for axis in (None, 1):
            held = {"xs": F(0.02), "xz": np.array(zero, element), "ys": F(0.2), "yz": np.array(zero, element),
                    "b": numbers(24)}
            body = quantized(held, np.int8, 0, "w", numbers(16, 24), axis)
            body += "xq = QuantizeLinear(x, xs, xz)  xd = DequantizeLinear(xq, xs, xz)  "
            body += "c = MatMul(xd, w)  a = Add(c, b)  q = QuantizeLinear(a, ys, yz)  y = DequantizeLinear(q, ys, yz)"
            steps_apart(f"(float[n, m, 16] x) => (float[n, m, 24] y) {{ {body} }}", held, {"x": numbers(2, 5, 16)}, 0.2,
                        shapes=[(1, 7, 16)])
    # Float results of integers; a residual sum of two quantized branches; a pool between integers.
    held = {"xs": F(0.02), "xz": np.array(120, np.uint8), "ys": F(0.1), "yz": np.array(100, np.uint8)}
    parts = quantized(held, np.int8, 0, "w", numbers(8, 8, 3, 3), 0)
    parts += "xq = QuantizeLinear(x, xs, xz)  xd = DequantizeLinear(xq, xs, xz)  c = Conv<pads=[1,1,1,1]>(xd, w)  "
    steps_apart(f"(float[n, 8, h, w] x) => (float[n, 8, h, w] y) {{ {parts} y = Relu(c) }}", held, {"x": x}, 1e-3,
                share=0)
    more = parts + """q = QuantizeLinear(c, ys, yz)  d = DequantizeLinear(q, ys, yz)  s = Add(d, xd)
        t = QuantizeLinear(s, ys, yz)  u = DequantizeLinear(t, ys, yz)
        m = MaxPool<kernel_shape=[2,2], strides=[2,2]>(u)  v = QuantizeLinear(m, ys, yz)
        y = DequantizeLinear(v, ys, yz)"""
    steps_apart(f"(float[n, 8, h, w] x) => (float[n, 8, i, j] y) {{ {more} }}", held, {"x": x}, 0.1,
                shapes=[(1, 8, 4, 4)])
    # Integers as a result, and integers that come in.
    steps_apart(f"(float[n, 8, h, w] x) => (uint8[n, 8, h, w] y) {{ {parts} y = QuantizeLinear(c, ys, yz) }}", held,
                {"x": x}, 1)
    # Without the option the same numbers are computed in float.
    body = f"(float[n, 8, h, w] x) => (float[n, 8, h, w] y) {{ {parts} y = Relu(c) }}"
    chain(body, held, {"x": x}, options={"int8": "0"}, left=["QuantizeLinear"])


def windows(x, size, stride):
    """The largest element of each window, or its NaN."""
    view = np.lib.stride_tricks.sliding_window_view(x, (size, size), axis=(2, 3))[:, :, ::stride, ::stride]
    return view.max((-1, -2))  # NumPy's max keeps NaN


def case_nan():
    """NaN goes through what oneDNN would take the other operand for; runs without it are computed as ever."""
    x = numbers(2, 8, 9, 10)
    broken = x.copy()
    broken[0, 3, 4, 5] = broken[1, 0, 0, 0] = np.nan
    broken[1, 7, 8, 9], broken[0, 0, 0, 0] = np.inf, -np.inf
    weights = numbers(8, 8, 1, 1, seed=2)
    functions = {"Relu(x)": lambda x: np.maximum(x, 0), "Clip(x, low, high)": lambda x: np.clip(x, -0.5, 1.5),
                 "HardSigmoid(x)": lambda x: np.clip(x * F(0.2) + F(0.5), 0, 1),
                 "MaxPool<kernel_shape=[3,3], strides=[2,2]>(x)": lambda x: windows(x, 3, 2),
                 "GlobalMaxPool(x)": lambda x: x.max((2, 3), keepdims=True),
                 "MaxPool<kernel_shape=[2,2]>(Relu(x))": lambda x: windows(np.maximum(x, 0), 2, 1)}
    for shape in ("n, 8, h, w", "2, 8, 9, 10"):
        for function, wanted in functions.items():
            inner = function.replace("Relu(x))", "t)")
            body = f"(float[{shape}] x) => (y) <float low = {{-0.5}}, float high = {{1.5}}> {{ "
            body += ("t = Relu(x)  " if inner != function else "") + f"y = {inner} }}"
            made = session(text(body))
            assert elsewhere(made) == [], function
            for feed in (x, broken, x):
                np.testing.assert_allclose(made.run(None, {"x": feed})[0], wanted(feed), rtol=1e-5, atol=1e-6)
        conv = text(f"""(float[{shape}] x) => (y) {{ c = Conv(x, k)  r = Relu(c)
            p = MaxPool<kernel_shape=[2,2], strides=[2,2]>(r)  s = Sigmoid(x)  m = ReduceMean<keepdims=1>(s, a)
            y = Add(p, m) }}""")
        conv.graph.initializer.extend([numpy_helper.from_array(weights, "k"),
                                       numpy_helper.from_array(np.array([2, 3]), "a")])
        made, without = session(conv), session(conv, {"keep_nan": "0"})
        with np.errstate(invalid="ignore"):
            for feed in (x, broken, x):
                clamped = np.maximum(np.einsum("oc,nchw->nohw", weights[:, :, 0, 0], feed), 0)
                want = windows(clamped, 2, 2) + (1 / (1 + np.exp(-feed))).mean((2, 3), keepdims=True)
                assert np.isnan(want).any() == np.isnan(feed).any()
                np.testing.assert_allclose(made.run(None, {"x": feed})[0], want, rtol=2e-4, atol=2e-5)
        assert np.isfinite(without.run(None, {"x": x})[0]).all()
    # Of finite inputs a root makes NaN, which Relu passes on.
    root = session(text("(float[n, 8] x) => (float[n, 8] y) { s = Sqrt(x)  y = Relu(s) }"))
    values = np.linspace(-1, 2, 16, dtype=F).reshape(2, 8)
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(root.run(None, {"x": values})[0], np.sqrt(values), rtol=1e-6)


def feeds_of(model, size):
    random, feeds = np.random.default_rng(1), {}
    for each in model.get_inputs():
        dims = [dim if isinstance(dim, int) else size.get(dim, 1) for dim in each.shape]
        if "float" in each.type:
            feeds[each.name] = random.standard_normal(dims).astype(F)
        else:
            feeds[each.name] = random.integers(1, 2 if "mask" in each.name else 1000, dims)
    return feeds


# Model, sizes of its inputs, the largest difference as a part of the largest result. None: the model itself multiplies
# rounding errors (each of the normalizations of keras_mobilenet_v2 by 10 and more), so that the host's own results are
# off by 5e-3; those of the plug-in may be as far from float64, within a factor of three.
MODELS = [("resnet50", [{"batch": 1}, {"batch": 3}], 3e-5), ("mobilenet_v3_large", [{"batch": 2}], 3e-5),
          ("keras_mobilenet_v2", [{}], None), ("minilm_l6", [{"sequence": 9}, {"batch": 2, "sequence": 33}], 3e-5)]
INTEGERS = [("mobilenet_v3_int8_qdq", [{"batch": 1}], 0.15), ("minilm_int8_qdq", [{"sequence": 16}], 0.1)]


def case_models():
    for name, sizes, tolerance in MODELS + INTEGERS:
        path = str(model_zoo.path(name))
        made, reference = session(None, {"small_groups": "0"}, path), host(None, path)
        taken = sum(len(part.get_nodes()) for part in made.get_provider_graph_assignment_info() if part.ep_name == NAME)
        assert taken > 100, (name, taken)
        for size in sizes:
            feeds = feeds_of(reference, size)
            results = zip(made.run(None, feeds), reference.run(None, feeds))
            if tolerance is None:
                for (got, want), exact in zip(results, float64_run(path, feeds).values(), strict=True):
                    assert np.abs(got - exact).max() <= 3 * np.abs(want - exact).max(), (name, size)
                continue
            for got, want in results:
                assert got.shape == want.shape and np.abs(got - want).max() <= tolerance * np.abs(want).max(), (
                    name, size, np.abs(got - want).max(), np.abs(want).max())


SMALL = """(float[n, 8, h, w] x) => (float[n, 16, h, w] y) { c = Conv<pads=[1,1,1,1]>(x, k, b)  r = Relu(c)
    s = Softmax<axis=1>(r)  y = Add(r, s) }"""
HELD = {"k": numbers(16, 8, 3, 3), "b": numbers(16)}


def small():
    model = text(SMALL)
    model.graph.initializer.extend(weights(**HELD))
    return model


def case_threads():
    """Several threads run one session at once, with one shape and with many."""
    made, reference = session(small()), host(small())
    sizes = [(1, 8, 6, 6), (2, 8, 6, 6), (1, 8, 9, 5), (3, 8, 4, 4)] + [(1, 8, n, 3) for n in range(2, 14)]
    inputs = [numbers(*size, seed=seed) for seed in range(6) for size in sizes] + [numbers(2, 8, 6, 6)] * 60
    wanted = [reference.run(None, {"x": x}) for x in inputs]
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        for got, want in zip(pool.map(lambda x: made.run(None, {"x": x}), inputs), wanted):
            compare(got, want, 1e-4, 1e-5)


def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def case_lifetimes():
    """Sessions come and go, and so do shapes; memory does not grow."""
    model, x = small(), numbers(1, 8, 64, 64)
    model.graph.initializer.append(numpy_helper.from_array(numbers(1 << 20), "ballast"))  # 4 MB in each session
    node = helper.make_node("Add", ["flat", "ballast"], ["z"])
    model.graph.node.extend([helper.make_node("Identity", ["v"], ["flat"]), node])
    model.graph.input.append(helper.make_tensor_value_info("v", 1, ["m"]))
    model.graph.output.append(helper.make_tensor_value_info("z", 1, ["m"]))
    feeds = {"x": x, "v": numbers(1 << 20, seed=1)}

    def once():
        session(model).run(None, feeds)

    for _ in range(5):
        once()
    before = resident()
    for _ in range(20):
        once()
    assert resident() - before < 30 << 20, f"grew by {(resident() - before) >> 20} MB in 20 sessions of 8 MB each"
    made = session(small())
    for round_of_shapes in range(3):
        if round_of_shapes == 1:
            before = resident()
        for size in range(2, 42):
            made.run(None, {"x": numbers(1, 8, size, 64)})
    assert resident() - before < 30 << 20, f"grew by {(resident() - before) >> 20} MB with shapes that it had met"
    for size in range(100, 400):
        if size == 130:
            before = resident()
        made.run(None, {"x": numbers(1, 8, size, 16)})
    # It was more than 70 while oneDNN kept 1,024 primitives.
    assert resident() - before < 55 << 20, f"grew by {(resident() - before) >> 20} MB with 270 new shapes"


@contextlib.contextmanager
def fails(*parts):
    if not STRICT:
        parts = [part for part in parts if part.startswith(("node", "option"))]  # its own checks may come first
    try:
        yield
    except Exception as error:
        assert all(part in str(error) for part in parts), (parts, str(error))
    else:
        raise AssertionError(f"expected an error with {parts}, found none")


def case_errors():
    product = text("(float[n, k] a, float[m, l] b) => (float[n, l] y) { [node one] y = MatMul(a, b) }".replace(
        "[node one] ", ""))
    product.graph.node[0].name = "one"
    made = session(product)
    with fails("node 'one' (MatMul)", "inner dimensions that are equal", "[2, 3] x [4, 5]"):
        made.run(None, {"a": numbers(2, 3), "b": numbers(4, 5)})
    compare(made.run(None, {"a": numbers(2, 3), "b": numbers(3, 5)}), [numbers(2, 3) @ numbers(3, 5)])
    added = text("(float[n] a, float[m] b) => (float[k] y) { y = Add(a, b) }")
    added.graph.node[0].name = "two"
    with fails("node 'two' (Add)", "shapes that broadcast", "[2] and [3]"):
        session(added).run(None, {"a": numbers(2), "b": numbers(3)})
    convolution = text("(float[n, c, h, w] x, float[m, d, i, j] k) => (float[n, m, o, p] y) { y = Conv(x, k) }")
    convolution.graph.node[0].name = "three"
    with fails("node 'three' (Conv)", "weights for 4 channels in 1 groups", "[2, 3, 1, 1]"):
        session(convolution).run(None, {"x": numbers(1, 4, 5, 5), "k": numbers(2, 3, 1, 1)})
    with fails("node 'three' (Conv)", "a kernel that fits"):
        session(convolution).run(None, {"x": numbers(1, 4, 5, 5), "k": numbers(2, 4, 7, 1)})
    for option, value, expected in (("intra_op_num_threads", "many", "expected a number of 0 or more, found 'many'"),
                                    ("int8", "yes", "expected 0 or 1, found 'yes'"),
                                    ("bf16", "2", "expected 0 or 1, found '2'")):
        with fails(f"option {option}: {expected}"):
            session(small(), {option: value})


def case_options():
    x = numbers(2, 8, 12, 12)
    want = host(small()).run(None, {"x": x})[0]
    for threads in ("0", "1", "3"):
        compare(session(small(), {"intra_op_num_threads": threads}).run(None, {"x": x}), [want], 1e-4, 1e-5)
    with open("/proc/cpuinfo") as file:
        has_avx512 = " avx512bw" in file.read()
    if has_avx512:
        got = session(small(), {"bf16": "1"}).run(None, {"x": x})[0]
        error = np.abs(got - want).max() / np.abs(want).max()
        assert 1e-6 < error < 1e-2, error  # eight bits of each factor
    else:
        with fails("option bf16: expected a CPU with AVX-512"):
            session(small(), {"bf16": "1"})
    # A lone elementwise node is not worth the way.
    lone = text("(float[n] x) => (float[n] y) { y = Relu(x) }")
    assert elsewhere(session(lone, {"small_groups": "0"})) == ["Relu"] and elsewhere(session(lone)) == []


def case_verbose():
    """test_onednn.py reads what oneDNN prints: which primitives run, and what is computed with them."""
    x = numbers(2, 8, 12, 12)
    print("model: floats", flush=True)
    session(small()).run(None, {"x": x})
    print("model: integers", flush=True)
    held = {"xs": F(0.02), "xz": np.array(120, np.uint8), "ys": F(0.1), "yz": np.array(100, np.uint8)}
    body = quantized(held, np.int8, 0, "w", numbers(8, 8, 3, 3), 0)
    body += """xq = QuantizeLinear(x, xs, xz)  xd = DequantizeLinear(xq, xs, xz)  c = Conv<pads=[1,1,1,1]>(xd, w)
        r = Relu(c)  y = QuantizeLinear(r, ys, yz)"""
    model = text(f"(float[n, 8, h, w] x) => (uint8[n, 8, h, w] y) {{ {body} }}")
    model.graph.initializer.extend(weights(**held))
    made = session(model)
    for _ in range(3):
        made.run(None, {"x": x})
    print("model: end", flush=True)


def case_groups():
    """A path that leaves what is taken and comes back makes two groups; constants go with their readers."""
    chain("""(float[n, 32] x) => (float[n, 32] y) { a = MatMul(x, w)  b = Exp(a)  c = Add(a, b)  y = MatMul(c, w) }""",
          {"w": numbers(32, 32) * F(0.05)}, {"x": numbers(3, 32)}, left=["Exp"], shapes=[(1, 32)])
    chain("""(float[n, 32] x) => (float[n, 32] y) { a = Exp(x)  v = DequantizeLinear(w, s)  b = MatMul(a, v)
        c = Exp(b)  d = MatMul(c, v)  y = Tanh(d) }""",
          {"w": np.random.default_rng(3).integers(-9, 9, (32, 32), np.int8), "s": F(0.001)}, {"x": numbers(3, 32)},
          left=["Exp", "Exp"])


def case_refusals():
    """What oneDNN does otherwise than the standard says stays with the host."""
    for body, opset in (("(float[n] x) => (float[n] y) { y = Log(x) }", 21),
                        ("(float[n] x) => (float[n] y) { y = Exp(x) }", 21),
                        ("(double[n] x) => (double[n] y) { y = Relu(x) }", 21),
                        ("(float x, float[n] z) => (float[n] y) { y = Max(x, z) }", 21),
                        ("(float[n, c, h, w] x) => (float[n, c, i, j] y, int64[n, c, i, j] z) "
                         "{ y, z = MaxPool<kernel_shape=[2,2]>(x) }", 21),
                        ("(float[n, c, h, w] x) => (float[n, c, i, j] y) { y = AveragePool<kernel_shape=[2,2], "
                         "count_include_pad=1, ceil_mode=1>(x) }", 21),
                        ("(float[n] x, float l) => (float[n] y) { y = Clip(x, l) }", 21)):
        model = text(body, opset)
        made = session(model)
        assert elsewhere(made) == [node.op_type for node in model.graph.node], body


if __name__ == "__main__":
    ort.register_execution_provider_library("onednn", sys.argv[2])
    globals()["case_" + sys.argv[1]]()
    gc.collect()
    ort.unregister_execution_provider_library("onednn")
    print("passed")
