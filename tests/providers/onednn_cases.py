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
import zlib

import numpy as np
import onnx
import onnx.helper as helper
import onnx.numpy_helper as numpy_helper
import onnx.parser
import onnxruntime as ort

NAME, CPU = "OneDnnExecutionProvider", "CPUExecutionProvider"
ZOO = pathlib.Path(os.environ.get("SDX_ZOO", pathlib.Path(__file__).resolve().parents[3] / "shared/zoo"))
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
                given.append(helper.make_tensor_value_info(f"i{i}", helper.np_dtype_to_tensor_dtype(value.dtype), shape))
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
    count, failures = 0, []
    for count, case in enumerate(cases, 1):
        try:
            case.check()
        except Exception as error:
            failures.append(f"{case.name()}: {error}")
    assert not failures, f"{len(failures)} of {count} nodes:\n" + "\n".join(failures)
    print(count, "nodes")


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


if __name__ == "__main__":
    ort.register_execution_provider_library("onednn", sys.argv[2])
    globals()["case_" + sys.argv[1]]()
    gc.collect()
    ort.unregister_execution_provider_library("onednn")
    print("passed")
