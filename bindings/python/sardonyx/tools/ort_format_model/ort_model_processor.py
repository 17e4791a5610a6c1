"""Reads the operators, and the types that they are used with, out of a model in ORT format."""
import pathlib

from sardonyx.tools.ort_format_model.operator_type_usage_processors import OperatorTypeUsageManager
from sardonyx.tools.ort_format_model.ort_flatbuffers_py import fbs

_KINDS = fbs.AttributeType.AttributeType


class OrtFormatModelProcessor:
    """`process` adds to `required_ops` ({domain: {version: {operator}}}) what the model needs, and tells `processors`
    (or None) each node. Errors: RuntimeError for a file that is not in ORT format."""

    def __init__(self, model_path: str, required_ops: dict, processors: OperatorTypeUsageManager):
        self._required_ops, self._op_type_processors = required_ops, processors
        data, root = pathlib.Path(model_path).read_bytes(), fbs.InferenceSession.InferenceSession
        if not root.InferenceSessionBufferHasIdentifier(data, 0):
            raise RuntimeError(f"'{model_path}' is not a model in ORT format")
        self._model = root.GetRootAsInferenceSession(data, 0).Model()

    def process(self):
        self._process_graph(self._model.Graph(), {})

    def _process_graph(self, graph, outer_types):
        types = dict(outer_types)
        for index in range(graph.NodeArgsLength()):
            value = graph.NodeArgs(index)
            types[value.Name()] = value.Type()
        for index in range(graph.NodesLength()):
            node = graph.Nodes(index)
            versions = self._required_ops.setdefault(node.Domain().decode() or "ai.onnx", {})
            versions.setdefault(node.SinceVersion(), set()).add(node.OpType().decode())
            if self._op_type_processors:
                self._op_type_processors.process_node(node, types)
            for body in _bodies(node):
                self._process_graph(body, types)


def _bodies(node):
    for index in range(node.AttributesLength()):
        attribute = node.Attributes(index)
        if attribute.Type() == _KINDS.GRAPH:
            yield attribute.G()
        elif attribute.Type() == _KINDS.GRAPHS:
            yield from map(attribute.Graphs, range(attribute.GraphsLength()))
