"""The runtimes whose results are compared: each gives a list of outputs or raises."""
import copy
import warnings

import numpy as np
import onnxruntime
import sardonyx
from calls import NARROW_FLOATS, SMALL_INTEGERS, dtype_of, element_kind
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

warnings.filterwarnings("ignore")
onnxruntime.set_default_logger_severity(4)
LEVELS = {"0": "ORT_DISABLE_ALL", "99": "ORT_ENABLE_ALL"}
WIDE = {TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16}
DOUBLE = TensorProto.DOUBLE


def ours(case, level="99"):
    options = sardonyx.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = getattr(sardonyx.GraphOptimizationLevel, LEVELS[level])
    return sardonyx.InferenceSession(case.model.SerializeToString(), options).run(None, case.feeds)


def reference(case):
    model, feeds = case.newest or (case.model, case.feeds)
    with np.errstate(all="ignore"):
        return ReferenceEvaluator(model).run(None, feeds)


def widened_tensor(tensor):
    if tensor.data_type not in WIDE:
        return tensor
    return numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), tensor.name)


def widened(model):
    """The model with double in place of all narrower floats."""
    model = copy.deepcopy(model)
    graph = model.graph
    for value in [*graph.input, *graph.output]:
        if value.type.tensor_type.elem_type in WIDE:
            value.type.tensor_type.elem_type = DOUBLE
    weights = [widened_tensor(t) for t in graph.initializer]
    del graph.initializer[:]
    graph.initializer.extend(weights)
    return model


# What these compute depends on the type itself, not only its precision.
NOT_WIDENED = {"Cast", "CastLike", "BitCast", "QuantizeLinear", "DynamicQuantizeLinear", "Clip", "Constant",
               "ConstantOfShape", "EyeLike", "DequantizeLinear", "SequenceEmpty", "QLinearMatMul", "LayerNormalization"}


def exact(case):
    """The reference in double; None where there is nothing to widen."""
    model, feeds = case.newest or (case.model, case.feeds)
    kinds = [v.type.tensor_type.elem_type for v in model.graph.input] + [t.data_type for t in model.graph.initializer]
    if not any(k in WIDE for k in kinds) or any(n.op_type in NOT_WIDENED for n in model.graph.node):
        return None
    floats = {dtype_of(k) for k in WIDE}
    wide = {k: v.astype(np.float64) if isinstance(v, np.ndarray) and v.dtype in floats else v
            for k, v in feeds.items()}
    with np.errstate(all="ignore"):
        return ReferenceEvaluator(widened(model)).run(None, wide)


def ort_value(array):
    kind = element_kind(array)
    if kind == TensorProto.STRING:
        raise NotImplementedError("strings beside types that NumPy lacks")
    return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(array.copy(), kind)


def stock_model(model):
    """bfloat16 outputs cannot become arrays there, so they are cast, which is exact."""
    asked = [v for v in model.graph.output if v.type.tensor_type.elem_type == TensorProto.BFLOAT16]
    if not asked:
        return model
    model = copy.deepcopy(model)
    for value in model.graph.output:
        if value.type.tensor_type.elem_type == TensorProto.BFLOAT16:
            model.graph.node.append(helper.make_node("Cast", [value.name], [value.name + "_f"], to=1))
            value.name += "_f"
            value.type.tensor_type.elem_type = 1
    return model


def stock(case):
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.x64quantprecision", "1")  # exact sums without VNNI, too
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(stock_model(case.model).SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    arrays = [v for v in case.feeds.values() if isinstance(v, np.ndarray)]
    plain = all(v.dtype.kind in "fiubOUSc" and v.dtype.name in np.sctypeDict for v in arrays)
    outputs = [v.type.tensor_type.elem_type for v in case.model.graph.output]
    if plain and not any(k in NARROW_FLOATS | SMALL_INTEGERS for k in outputs):
        return session.run(None, case.feeds)
    values = session.run_with_ort_values(None, {k: ort_value(v) for k, v in case.feeds.items()})
    return [as_kind(v.numpy(), kind) for v, kind in zip(values, outputs, strict=True)]


def as_kind(array, kind):
    if kind in NARROW_FLOATS and array.dtype == np.uint8:
        return array.view(dtype_of(kind))
    return array


