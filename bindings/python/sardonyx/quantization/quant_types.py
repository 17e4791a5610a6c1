"""The types that tensors are quantized to, their numbers in ONNX, their ranges, and the choices that callers make."""
from enum import Enum

import ml_dtypes
import numpy as np

ms_domain = "com.microsoft"
onnx_domain = "ai.onnx"
QUANT_OP_NAME = "QuantizeLinear"
DEQUANT_OP_NAME = "DequantizeLinear"
TENSOR_NAME_QUANT_SUFFIX = "_quantized"
QUANT_INPUT_SUFFIX = "_QuantizeLinear_Input"
DEQUANT_OUTPUT_SUFFIX = "_DequantizeLinear_Output"
MODEL_SIZE_THRESHOLD = 1 << 31  # what a protobuf message cannot be larger than

# TensorProto.DataType
FLOAT, UINT8, INT8, UINT16, INT16, INT32, INT64, FLOAT16, DOUBLE, BFLOAT16 = 1, 2, 3, 4, 5, 6, 7, 10, 11, 16
FLOAT8E4M3FN, FLOAT8E4M3FNUZ, FLOAT8E5M2, FLOAT8E5M2FNUZ, UINT4, INT4 = 17, 18, 19, 20, 21, 22
FLOAT8_TYPES = (FLOAT8E4M3FN, FLOAT8E4M3FNUZ, FLOAT8E5M2, FLOAT8E5M2FNUZ)

type_to_name = {
    1: "FLOAT", 2: "UINT8", 3: "INT8", 4: "UINT16", 5: "INT16", 6: "INT32", 7: "INT64", 8: "STRING", 9: "BOOL",
    10: "FLOAT16", 11: "DOUBLE", 12: "UINT32", 13: "UINT64", 14: "COMPLEX64", 15: "COMPLEX128", 16: "BFLOAT16",
    17: "FLOAT8E4M3FN", 18: "FLOAT8E4M3FNUZ", 19: "FLOAT8E5M2", 20: "FLOAT8E5M2FNUZ", 21: "UINT4", 22: "INT4",
    23: "FLOAT4E2M1", 24: "FLOAT8E8M0", 25: "UINT2", 26: "INT2", 27: "FLOAT6E2M3", 28: "FLOAT6E3M2",
}
# The names that sardonyx.model gives to the types that quantized models have.
ELEMENT_NAMES = {
    FLOAT: "float", UINT8: "uint8", INT8: "int8", UINT16: "uint16", INT16: "int16", INT32: "int32", INT64: "int64",
    FLOAT16: "float16", DOUBLE: "double", BFLOAT16: "bfloat16", FLOAT8E4M3FN: "float8e4m3fn", UINT4: "uint4",
    INT4: "int4",
}
ELEMENT_NUMBERS = {name: number for number, name in ELEMENT_NAMES.items()}
FLOAT_NUMPY_TYPES = {FLOAT: np.dtype("float32"), FLOAT16: np.dtype("float16"), DOUBLE: np.dtype("float64"),
                     BFLOAT16: np.dtype(ml_dtypes.bfloat16)}

ONNX_TYPE_TO_NP_TYPE = {
    INT8: np.dtype("int8"), UINT8: np.dtype("uint8"), INT16: np.dtype("int16"), UINT16: np.dtype("uint16"),
    FLOAT8E4M3FN: ml_dtypes.float8_e4m3fn, INT4: ml_dtypes.int4, UINT4: ml_dtypes.uint4,
}


def _ranges(bounds):
    return {kind: tuple(np.array(bound, ONNX_TYPE_TO_NP_TYPE[kind]) for bound in pair) for kind, pair in bounds.items()}


ONNX_INT_TYPE_RANGE = _ranges({UINT8: (0, 255), INT8: (-128, 127), UINT16: (0, 65535), INT16: (-32768, 32767),
                               UINT4: (0, 15), INT4: (-8, 7)})
ONNX_INT_TYPE_SYMMETRIC_RANGE = _ranges({INT8: (-127, 127), INT16: (-32767, 32767)})
ONNX_INT_TYPE_REDUCED_RANGE = _ranges({UINT8: (0, 127), INT8: (-64, 64), UINT16: (0, 32767), INT16: (-16384, 16384),
                                       UINT4: (0, 7), INT4: (-4, 3)})


class _Choice(Enum):
    def __str__(self):
        return self.name

    @classmethod
    def _from_name(cls, name):
        try:
            return cls[name]
        except KeyError:
            raise ValueError(f"expected one of {', '.join(cls.__members__)}, found '{name}'") from None


class QuantizationMode(_Choice):
    """Operators on integers that are fed ranges found in each run, or such that have ranges in the model."""

    IntegerOps = 0
    QLinearOps = 1

    @staticmethod
    def from_string(mode):
        return QuantizationMode._from_name(mode)


class QuantizedValueType(_Choice):
    Input = 0
    Initializer = 1

    @staticmethod
    def from_string(v):
        return QuantizedValueType._from_name(v)


class QuantType(_Choice):
    QInt8 = 0
    QUInt8 = 1
    QFLOAT8E4M3FN = 2
    QInt16 = 3
    QUInt16 = 4
    QInt4 = 5
    QUInt4 = 6

    @staticmethod
    def from_string(t):
        return QuantType._from_name(t)

    @property
    def tensor_type(self):
        """Its TensorProto.DataType."""
        return _TENSOR_TYPES[self]


_TENSOR_TYPES = {QuantType.QInt8: INT8, QuantType.QUInt8: UINT8, QuantType.QFLOAT8E4M3FN: FLOAT8E4M3FN,
                 QuantType.QInt16: INT16, QuantType.QUInt16: UINT16, QuantType.QInt4: INT4, QuantType.QUInt4: UINT4}


class QuantFormat(_Choice):
    """Operators of ONNX Runtime on integers, or float operators between QuantizeLinear and DequantizeLinear."""

    QOperator = 0
    QDQ = 1

    @staticmethod
    def from_string(format):
        return QuantFormat._from_name(format)


def get_qmin_qmax_for_qType(qType, reduce_range=False, symmetric=False):  # noqa: N802, N803  (names of the API)
    """The smallest and largest number of a type: a reduced range comes before a symmetric one."""
    if qType == FLOAT8E4M3FN:
        raise NotImplementedError("float8 has no range of integers: its scale follows from the spread of the data")
    tables = [ONNX_INT_TYPE_REDUCED_RANGE] if reduce_range else []
    tables += [ONNX_INT_TYPE_SYMMETRIC_RANGE] if symmetric and not reduce_range else []
    for table in (*tables, ONNX_INT_TYPE_RANGE):
        if qType in table:
            return table[qType]
    raise ValueError(f"expected an integer type of 4, 8 or 16 bits, found {type_to_name.get(qType, qType)}")


def get_qrange_for_qType(qType, reduce_range=False, symmetric=False):  # noqa: N802, N803
    """The distance of the two ends of a type's range. As in ONNX Runtime it is a number of that type, so that of int8
    wraps around."""
    lowest, highest = get_qmin_qmax_for_qType(qType, reduce_range, symmetric)
    with np.errstate(over="ignore"):
        return highest - lowest
