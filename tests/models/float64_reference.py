"""The outputs of a model in float64, computed by the evaluator of the onnx package without Sardonyx or ONNX Runtime."""
import numpy as np
import onnx
import onnx.numpy_helper
from onnx import TensorProto
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun


class GlobalMaxPool(OpRun):
    """The package's own gives one dimension too few where there is one of space."""

    def _run(self, x):
        return (x.max(axis=tuple(range(2, x.ndim)), keepdims=True),)


def widened(model):
    """The model with float64 in the place of every float32."""
    def widen(tensor):
        if tensor.data_type == TensorProto.FLOAT:
            wide = onnx.numpy_helper.to_array(tensor).astype(np.float64)
            tensor.CopyFrom(onnx.numpy_helper.from_array(wide, tensor.name))

    graph = model.graph
    for tensor in graph.initializer:
        widen(tensor)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR:
                widen(attribute.t)
            if node.op_type == "Cast" and attribute.name == "to" and attribute.i == TensorProto.FLOAT:
                attribute.i = TensorProto.DOUBLE
    for value in (*graph.input, *graph.output):
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = TensorProto.DOUBLE
    del graph.value_info[:]
    return model


def float64_run(path, feeds):
    """By name of the output."""
    evaluator = ReferenceEvaluator(widened(onnx.load(str(path))), new_ops=[GlobalMaxPool])
    wide = {name: value.astype(np.float64) if value.dtype == np.float32 else value for name, value in feeds.items()}
    return dict(zip(evaluator.output_names, evaluator.run(None, wide), strict=True))
