"""Models of one operator of com.microsoft, run by Sardonyx and by ONNX Runtime."""

import numpy as np
import onnx
import onnxruntime
import sardonyx
from onnx import helper, numpy_helper

TYPES = {
    np.dtype(np.float32): onnx.TensorProto.FLOAT,
    np.dtype(np.float16): onnx.TensorProto.FLOAT16,
    np.dtype(np.int16): onnx.TensorProto.INT16,
    np.dtype(np.int32): onnx.TensorProto.INT32,
    np.dtype(np.uint32): onnx.TensorProto.UINT32,
    np.dtype(np.uint64): onnx.TensorProto.UINT64,
    np.dtype(np.int64): onnx.TensorProto.INT64,
    np.dtype(np.uint8): onnx.TensorProto.UINT8,
    np.dtype(np.int8): onnx.TensorProto.INT8,
    np.dtype(np.float64): onnx.TensorProto.DOUBLE,
    np.dtype(object): onnx.TensorProto.STRING,
    np.dtype(bool): onnx.TensorProto.BOOL,
}


def node_model(op, inputs, outputs, constants=(), **attributes):
    """inputs: arrays or None in order; outputs: element type or None (missing) in order; constants: indices of inputs
    that are initializers. Dimensions of graph inputs are symbols of their own."""
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    results = [f"y{i}" if t is not None else "" for i, t in enumerate(outputs)]
    node = helper.make_node(op, names, results, domain="com.microsoft", **attributes)
    given = [
        helper.make_tensor_value_info(f"x{i}", TYPES[x.dtype], [f"d{i}_{k}" for k in range(x.ndim)])
        for i, x in enumerate(inputs)
        if x is not None and i not in constants
    ]
    asked = [
        helper.make_tensor_value_info(f"y{i}", TYPES[np.dtype(t)], None) for i, t in enumerate(outputs) if t is not None
    ]
    weights = [numpy_helper.from_array(inputs[i], f"x{i}") for i in constants]
    graph = helper.make_graph([node], "g", given, asked, weights)
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)], ir_version=10
    )


def run_model(engine, model, inputs, constants=(), threads=2):
    options = engine.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    if engine is onnxruntime:  # without VNNI its sums of products of uint8 and int8 overflow by default
        options.add_session_config_entry("session.x64quantprecision", "1")
    session = engine.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    feeds = {f"x{i}": x for i, x in enumerate(inputs) if x is not None and i not in constants}
    return session.run(None, feeds)


def compare(op, inputs, outputs, constants=(), tolerance=2e-6, check=None, threads=2, **attributes):
    """Our outputs are ONNX Runtime's up to `tolerance` of the largest value (1 at least); returns ours.

    check: a function of (index of the output, array) that picks what is compared."""
    model = node_model(op, inputs, outputs, constants, **attributes)
    want = run_model(onnxruntime, model, inputs, constants, threads)
    got = run_model(sardonyx, model, inputs, constants, threads)
    for index, (ours, theirs) in enumerate(zip(got, want, strict=True)):
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape, (index, ours.dtype, ours.shape, theirs.shape)
        if check is not None:
            ours, theirs = check(index, ours), check(index, theirs)
        assert_close(ours, theirs, tolerance, f"{op} output {index}")
    return got


def assert_close(got, want, tolerance, where):
    if want.size == 0:
        return
    got, want = got.astype(np.float64), want.astype(np.float64)
    assert np.isfinite(want).all(), f"{where}: the reference is not finite"
    error, largest = np.abs(got - want).max(), max(1.0, np.abs(want).max())
    assert error <= tolerance * largest, f"{where}: differs by {error:.3g}, with values up to {largest:.3g}"
