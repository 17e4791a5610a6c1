"""Which products of quantized models run on integers, here and in ONNX Runtime: `python compare_products.py MODEL...`.

For each model: the products of both optimized graphs, the largest difference from the graph as it stands, and with
`--explain` what `sardonyx optimize --explain` says about floats.
"""
import collections
import pathlib
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
import sardonyx

INTEGER = ("ConvInteger", "MatMulInteger", "QLinearConv", "QLinearMatMul", "QGemm", "MatMulIntegerToFloat",
           "DynamicQuantizeMatMul", "QAttention", "MatMulNBits", "QLinearConvAdd", "DynamicQuantizeLSTM",
           "ConvIntegerToFloat")
FLOAT = ("Conv", "FusedConv", "MatMul", "FusedMatMul", "Gemm", "FusedGemm", "ConvTranspose", "Attention", "LSTM", "GRU",
         "MultiHeadAttention", "Einsum", "QuantizeLinear", "DequantizeLinear")


def operators(path):
    """How often each operator stands in a saved model, those of bodies and functions included."""
    counts = collections.Counter()

    def visit(nodes):
        for node in nodes:
            counts[node.op_type] += 1
            for attribute in node.attribute:
                if attribute.type == onnx.AttributeProto.GRAPH:
                    visit(attribute.g.node)

    model = onnx.load(path, load_external_data=False)
    visit(model.graph.node)
    return counts


def products(counts):
    return {op: counts[op] for op in (*INTEGER, *FLOAT) if counts[op]}


def feeds(session, seed=0):
    random = np.random.default_rng(seed)
    made = {}
    for each in session.get_inputs():
        shape = [size if isinstance(size, int) else 2 for size in each.shape]
        if each.type == "tensor(float)":
            made[each.name] = random.standard_normal(shape).astype(np.float32)
        else:
            made[each.name] = random.integers(0, 2 if "mask" in each.name else 50, shape).astype(
                {"tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(bool)": bool, "tensor(uint8)": np.uint8,
                 "tensor(int8)": np.int8}[each.type])
    return made


def optimized(package, model, path):
    options = package.SessionOptions()
    options.optimized_model_filepath = str(path)
    options.log_severity_level = 4
    return package.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def plain(package, model):
    options = package.SessionOptions()
    options.graph_optimization_level = package.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return package.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def compare(model):
    with tempfile.TemporaryDirectory() as folder:
        rows, sessions = {}, {}
        for package in (onnxruntime, sardonyx):
            path = pathlib.Path(folder) / f"{package.__name__}.onnx"
            try:
                sessions[package.__name__] = optimized(package, model, path)
            except Exception as error:  # ONNX Runtime refuses what it makes of scales of shape [1]
                rows[package.__name__] = f"refuses it: {str(error)[:160]}"
                continue
            rows[package.__name__] = products(operators(path))
        values = feeds(sessions["sardonyx"])
        want = plain(onnxruntime, model).run(None, values)
        differences = {}
        for name, session in {"sardonyx, off": plain(sardonyx, model), **sessions}.items():
            got = session.run(None, values)
            differences[name] = max(float(np.abs(a.astype(np.float64) - b).max() / (np.abs(b).max() + 1e-30))
                                    for a, b in zip(got, want, strict=True) if a.dtype.kind in "fiu" and a.size)
    return rows, differences


if __name__ == "__main__":
    for each in sys.argv[1:]:
        try:
            rows, differences = compare(each)
        except Exception as error:
            print(pathlib.Path(each).stem, "fails:", type(error).__name__, str(error)[:300])
            continue
        print(pathlib.Path(each).stem)
        for name, row in rows.items():
            print(f"   {name:12}", row)
        print("   differences ", {name: f"{value:.1e}" for name, value in differences.items()})
