"""The element types of ONNX Runtime, numpy, torch and ONNX in terms of each other (optimum asks for them).

Other names of ONNX Runtime's module are not implemented in Sardonyx: using one raises an error with that name."""
import numpy as np

from onnxruntime._not_implemented import refusing

__getattr__ = refusing(__name__, ("CudaSession", "GpuBinding", "GpuBindingManager", "IOBindingHelper"))

# The type in "tensor(...)": numpy's type, torch's name, ONNX's name; None where there is no such type.
_TYPES = {
    "float": (np.float32, "float32", "FLOAT"), "double": (np.float64, "float64", "DOUBLE"),
    "float16": (np.float16, "float16", "FLOAT16"), "bfloat16": (None, "bfloat16", "BFLOAT16"),
    "int8": (np.int8, "int8", "INT8"), "uint8": (np.uint8, "uint8", "UINT8"),
    "int16": (np.int16, "int16", "INT16"), "uint16": (np.uint16, "uint16", "UINT16"),
    "int32": (np.int32, "int32", "INT32"), "uint32": (np.uint32, "uint32", "UINT32"),
    "int64": (np.int64, "int64", "INT64"), "uint64": (np.uint64, "uint64", "UINT64"),
    "bool": (bool, "bool", "BOOL"), "string": (None, None, "STRING"),
    "complex64": (np.complex64, "complex64", "COMPLEX64"), "complex128": (np.complex128, "complex128", "COMPLEX128"),
    "float8e4m3fn": (None, "float8_e4m3fn", "FLOAT8E4M3FN"), "float8e5m2": (None, "float8_e5m2", "FLOAT8E5M2"),
    "float8e4m3fnuz": (None, "float8_e4m3fnuz", "FLOAT8E4M3FNUZ"),
    "float8e5m2fnuz": (None, "float8_e5m2fnuz", "FLOAT8E5M2FNUZ"),
    "float4e2m1": (None, None, "FLOAT4E2M1"), "int4": (None, "int4", "INT4"), "uint4": (None, "uint4", "UINT4"),
}


def _entry(ort_type, column, library):
    kind = ort_type.removeprefix("tensor(").removesuffix(")")
    found = _TYPES.get(kind, (None,) * 3)[column] if ort_type == f"tensor({kind})" else None
    if found is None:
        raise ValueError(f"expected a type of ONNX Runtime that {library} has, found {ort_type!r}")
    return found


def _pairs():
    """Types of numpy with torch's."""
    import torch
    return [(numpy_type, getattr(torch, name)) for numpy_type, name, _ in _TYPES.values()
            if numpy_type is not None and hasattr(torch, name)]


def _type_of(values, name, what):
    for value in values:
        if value.name == name:
            return value.type
    raise ValueError(f"expected an {what} of the session, found {name!r}")


def _by_name(session, convert):
    return {value.name: convert(value.type) for value in (*session.get_inputs(), *session.get_outputs())}


class TypeHelper:
    @staticmethod
    def get_input_type(ort_session, name: str) -> str:
        return _type_of(ort_session.get_inputs(), name, "input")

    @staticmethod
    def get_output_type(ort_session, name: str) -> str:
        return _type_of(ort_session.get_outputs(), name, "output")

    @staticmethod
    def ort_type_to_numpy_type(ort_type: str):
        return _entry(ort_type, 0, "numpy")

    @staticmethod
    def ort_type_to_torch_type(ort_type: str):
        import torch
        return getattr(torch, _entry(ort_type, 1, "torch"))

    @staticmethod
    def ort_type_to_onnx_type(ort_type: str):
        from onnx import TensorProto
        return getattr(TensorProto, _entry(ort_type, 2, "ONNX"))

    @staticmethod
    def numpy_type_to_torch_type(numpy_type):
        for one, other in _pairs():
            if one == numpy_type:
                return other
        raise ValueError(f"expected a type of numpy that torch has, found {numpy_type!r}")

    @staticmethod
    def torch_type_to_numpy_type(torch_type):
        for one, other in _pairs():
            if other == torch_type:
                return one
        raise ValueError(f"expected a type of torch that numpy has, found {torch_type!r}")

    @staticmethod
    def get_io_onnx_type_map(ort_session) -> dict:
        return _by_name(ort_session, TypeHelper.ort_type_to_onnx_type)

    @staticmethod
    def get_io_numpy_type_map(ort_session) -> dict:
        return _by_name(ort_session, TypeHelper.ort_type_to_numpy_type)

    @staticmethod
    def get_io_torch_type_map(ort_session) -> dict:
        return _by_name(ort_session, TypeHelper.ort_type_to_torch_type)
