"""What a case is compared with where neither peer computes it: the same call in types or a version that a peer has."""
import copy

import numpy as np
import runtimes
from calls import dtype_of, element_kind
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

FLOAT_KINDS = {TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.DOUBLE}
MOVES = {"Resize", "Upsample", "GridSample", "Scatter", "ScatterElements", "GatherElements"}
OPSETS = (21, 13, 11, 7)  # in which ONNX Runtime may have the operator that it lacks in others
LEGACY = ("consumed_inputs", "output_sequence", "is_test")  # attributes of old versions that say nothing


def retyped(case, kinds, to):
    """The model and its inputs with `to` in place of the element types `kinds`."""
    model, feeds = case.newest or (case.model, case.feeds)
    model, dtype = copy.deepcopy(model), dtype_of(to)
    for value in [*model.graph.input, *model.graph.output]:
        if value.type.tensor_type.elem_type in kinds:
            value.type.tensor_type.elem_type = to
    weights = [numpy_helper.from_array(numpy_helper.to_array(t).astype(dtype), t.name) if t.data_type in kinds else t
               for t in model.graph.initializer]
    del model.graph.initializer[:]
    model.graph.initializer.extend(weights)
    return model, {k: v.astype(dtype) if isinstance(v, np.ndarray) and v.dtype.kind != "O" and element_kind(v) in kinds
                   else v for k, v in feeds.items()}


def as_case(case, model, feeds):
    other = copy.copy(case)
    other.model, other.feeds, other.newest = model, feeds, None
    return other


def in_single_precision(case):
    """ONNX Runtime's result for float, which most of its kernels take, in an opset that it has."""
    if "Cast" in case.model.graph.node[0].op_type:
        raise NotImplementedError("the type is the question")
    model, feeds = retyped(case, FLOAT_KINDS, TensorProto.FLOAT)
    own = model.opset_import[0].version
    for opset in (own, *([] if case.newest and model.graph.node[0].op_type in MOVES else OPSETS)):
        model.opset_import[0].version = opset
        try:
            return runtimes.stock(as_case(case, model, feeds))
        except Exception as error:  # noqa: BLE001  (the next opset may do)
            last = error
    raise last


def in_doubles(case):
    """The reference's result of integers as doubles, cut."""
    if "Cast" in case.model.graph.node[0].op_type:
        raise NotImplementedError("the type is the question")
    kinds = {v.type.tensor_type.elem_type for v in case.model.graph.output}
    model, feeds = retyped(case, kinds, TensorProto.DOUBLE)
    with np.errstate(all="ignore"):
        return [np.trunc(y).astype(dtype_of(next(iter(kinds)))) for y in ReferenceEvaluator(model).run(None, feeds)]


def by_places(case):
    """The elements at the places where a peer moves their numbers. 0 stands for an element that comes from nowhere."""
    (node,) = case.model.graph.node
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    if node.op_type not in MOVES or attributes.get("mode", b"nearest") != b"nearest":
        raise NotImplementedError("computes elements")
    if node.op_type == "GridSample" and "mode" not in attributes or attributes.get("extrapolation_value"):
        raise NotImplementedError("computes elements")
    model, feeds = case.newest or (case.model, case.feeds)
    model, feeds = copy.deepcopy(model), dict(feeds)
    weights = {t.name: t for t in model.graph.initializer}
    kind = model.graph.input[0].type.tensor_type.elem_type
    if kind == TensorProto.FLOAT:
        raise NotImplementedError("scales have the type, too, and ONNX Runtime computes it")
    known, names = [np.zeros(1, dtype_of(kind))], {v.name for v in [*model.graph.input, *model.graph.initializer]}
    for value in model.graph.input:
        if value.type.tensor_type.elem_type == kind:
            feeds[value.name] = numbered(feeds[value.name], known)
            value.type.tensor_type.elem_type = TensorProto.FLOAT
    for name, tensor in weights.items():
        if tensor.data_type == kind and name in names:
            tensor.CopyFrom(numpy_helper.from_array(numbered(numpy_helper.to_array(tensor), known), name))
    model.graph.output[0].type.tensor_type.elem_type = TensorProto.FLOAT
    other = as_case(case, model, feeds)
    try:
        found = runtimes.stock(other)
    except Exception:  # noqa: BLE001  (what ONNX Runtime has no kernel for)
        found = runtimes.reference(other)
    elements = np.concatenate(known)
    if kind == TensorProto.STRING:
        elements[0] = ""
    return [elements[np.asarray(found[0]).astype(np.int64)]]


def numbered(array, known):
    first = sum(len(part) for part in known)
    known.append(array.reshape(-1))
    return np.arange(first, first + array.size, dtype=np.float32).reshape(array.shape)


def float8_product(case):
    """QLinearMatMul of float8 numbers, in float64."""
    (node,) = case.model.graph.node
    if node.op_type != "QLinearMatMul":
        raise NotImplementedError("another operator")
    values = {t.name: numpy_helper.to_array(t) for t in case.model.graph.initializer} | case.feeds
    a, a_scale, _, b, b_scale, _, y_scale, zero = (values[name] for name in node.input)
    wide = [np.asarray(v).astype(np.float64) for v in (a, a_scale, b, b_scale, y_scale)]
    y = (wide[0] * wide[1]) @ (wide[2] * wide[3]) / wide[4]
    most = 448 if "e4m3fn" in zero.dtype.name and "uz" not in zero.dtype.name else \
        240 if "e4m3" in zero.dtype.name else 57344
    return [np.clip(y, -most, most).astype(np.float32).astype(zero.dtype)]


ALL = [by_places, in_single_precision, in_doubles, float8_product]


def stripped(attributes):
    return {k: v for k, v in attributes.items() if k not in LEGACY}
