"""Types and shapes in onnx protos, by the names that onnxruntime.tools.symbolic_shape_infer has for them."""
import numpy as np


def get_attribute(node, attr_name, default_value=None):
    """The value of an attribute of an onnx.NodeProto."""
    import onnx

    found = next((one for one in node.attribute if one.name == attr_name), None)
    return default_value if found is None else onnx.helper.get_attribute_value(found)


def get_dim_from_proto(dim):
    """A number, a symbol, or None."""
    kind = dim.WhichOneof("value")
    return None if kind is None else getattr(dim, kind)


def is_sequence(type_proto):
    """Whether a type is a sequence, not a tensor. Errors: ValueError for other types."""
    kind = type_proto.WhichOneof("value")
    if kind not in ("tensor_type", "sequence_type"):
        raise ValueError(f"expected the type of a tensor or a sequence, found {kind}")
    return kind == "sequence_type"


def get_shape_from_type_proto(type_proto):
    """The shape of a tensor type: numbers, symbols, None; or None if the rank is not known."""
    if is_sequence(type_proto):
        raise ValueError("expected the type of a tensor, found that of a sequence")
    kind = type_proto.tensor_type
    return [get_dim_from_proto(one) for one in kind.shape.dim] if kind.HasField("shape") else None


def get_elem_type_from_type_proto(type_proto):
    """The number of the element type of a tensor, or of a sequence's tensors."""
    kind = type_proto.sequence_type.elem_type if is_sequence(type_proto) else type_proto
    return kind.tensor_type.elem_type


def get_shape_from_value_info(vi):
    """The shape of a value, or of the tensors of a sequence; None if nothing is known."""
    kind = vi.type
    if kind.WhichOneof("value") is None:
        return None
    if is_sequence(kind):
        kind = kind.sequence_type.elem_type
    return get_shape_from_type_proto(kind) if kind.WhichOneof("value") == "tensor_type" else None


def make_named_value_info(name):
    """An onnx.ValueInfoProto without a type."""
    import onnx

    return onnx.ValueInfoProto(name=name)


def is_literal(dim):
    """Whether a dimension is a number: Python's, NumPy's, or an expression of sympy without symbols."""
    return isinstance(dim, (int, np.integer)) or bool(getattr(dim, "is_number", False))


def get_shape_from_sympy_shape(sympy_shape):
    """A shape of sympy's expressions with numbers and texts."""
    return [None if one is None else int(one) if is_literal(one) else str(one) for one in sympy_shape]


def handle_negative_axis(axis, rank):
    """The axis counted from the front. Errors: ValueError for one that is not there."""
    if not -rank <= axis < rank:
        raise ValueError(f"expected an axis from {-rank} to {rank - 1}, found {axis}")
    return axis % rank


def get_opset(mp, domain=None):
    """The version of a domain (or one of several) in an onnx.ModelProto, ONNX's own by default; None if it has none."""
    domains = domain if isinstance(domain, list) else [domain] if domain else ["", "onnx", "ai.onnx"]
    return next((one.version for one in mp.opset_import if one.domain in domains), None)


def as_scalar(x):
    """The only element of a list or an array; other things as they are."""
    if isinstance(x, list):
        (x,) = x
    return x.item() if isinstance(x, np.ndarray) else x


def as_list(x, keep_none):
    """A list of an array's elements, or of one thing; None stays with `keep_none`."""
    if isinstance(x, (list, np.ndarray)):
        return list(x)
    return None if keep_none and x is None else [x]


def sympy_reduce_product(x):
    """The product of a list, as an expression of sympy; other things as they are."""
    if not isinstance(x, list):
        return x
    import sympy

    return sympy.prod(x, start=sympy.Integer(1))
