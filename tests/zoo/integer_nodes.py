"""tests/zoo/integer_nodes.py - every node on integers of a quantized model computes here what it computes in ONNX
Runtime, from the same inputs: bit for bit where its result is whole numbers."""
import importlib
import pathlib
import sys

import numpy as np
import onnx
from onnx import helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests/zoo")]
import zoo_cases  # noqa: E402

EXACT = {"MatMulInteger", "ConvInteger", "QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear"}
CHUNK = 100  # nodes whose values are held at once


def _is_on_integers(node):
    return node.op_type in EXACT or node.op_type.startswith("QLinear") or node.op_type == "QGemm"


def _run_alone(model, nodes, constants, values):
    """The outputs of nodes, each of which reads `values` and constants only."""
    feeds, moved = {}, []
    for node in nodes:
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        for index, name in enumerate(node.input):
            if name and name not in constants:
                copy.input[index] = f"given/{name}"
                feeds[f"given/{name}"] = values[name]
        moved.append(copy)
    inputs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
              for name, value in feeds.items()]
    wanted = [name for node in nodes for name in node.output if name]
    read = {name for node in nodes for name in node.input}
    graph = helper.make_graph(moved, "nodes", inputs, [helper.make_empty_tensor_value_info(name) for name in wanted],
                              [constants[name] for name in sorted(read & set(constants))])
    made = helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
    session = _session("sardonyx", made.SerializeToString(), "ORT_DISABLE_ALL")
    return dict(zip(wanted, session.run(wanted, feeds), strict=True))


def _session(library, model, level):
    engine = importlib.import_module(library)
    options = engine.SessionOptions()
    options.graph_optimization_level = getattr(engine.GraphOptimizationLevel, level)
    options.log_severity_level = 3
    zoo_cases.sum_exactly(engine, options)
    return engine.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def compare_nodes(path, feed):
    """{operator: [nodes, nodes that differ, numbers, numbers that differ, largest difference]}. What nodes of bodies
    compute is not looked at."""
    model = onnx.load(str(path))
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    nodes = [node for node in model.graph.node if _is_on_integers(node) and set(node.input) - set(constants) - {""}]
    present = {value.name for value in model.graph.output}
    needed = {name for node in nodes for name in (*node.input, *node.output)} - set(constants) - {""} - present
    inputs = {value.name for value in model.graph.input}
    model.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in sorted(needed - inputs))
    # ONNX Runtime sums exactly from the extended level on. Nothing is fused: all between the nodes is handed out.
    has_sums = any(node.op_type not in ("QuantizeLinear", "DequantizeLinear") for node in nodes)
    level = "ORT_ENABLE_EXTENDED" if has_sums else "ORT_DISABLE_ALL"
    session, counts = _session("onnxruntime", model.SerializeToString(), level), {}
    for start in range(0, len(nodes), CHUNK):
        some = nodes[start:start + CHUNK]
        names = sorted({name for node in some for name in (*node.input, *node.output)} - set(constants) - {""} - inputs)
        values = feed | dict(zip(names, session.run(names, feed), strict=True))
        found = _run_alone(model, some, constants, values)
        for node in some:
            row = counts.setdefault(node.op_type, [0, 0, 0, 0, 0.0])
            pairs = [(found[name].astype(np.float64), values[name].astype(np.float64)) for name in node.output if name]
            off = [np.abs(mine - other) for mine, other in pairs]
            differing = sum(int((~(one == 0)).sum()) for one in off)
            row[0] += 1
            row[1] += differing > 0
            row[2] += sum(one.size for one in off)
            row[3] += differing
            row[4] = max([row[4], *(float(one.max(initial=0)) for one in off)])
    return counts
