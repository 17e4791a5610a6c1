"""The types of values in a model in ORT format, as C++ has them."""
from sardonyx.tools.ort_format_model.ort_flatbuffers_py import fbs

_NUMBERS = fbs.TensorDataType.TensorDataType
_KINDS = fbs.TypeInfoValue.TypeInfoValue


class FbsTypeInfo:
    """Names of C++ types: `tensordatatype_to_string` by the numbers of TensorDataType."""

    tensordatatype_to_string = {  # noqa: RUF012
        **{getattr(_NUMBERS, name.upper()): f"{name}_t" for name in (
            "uint8", "int8", "uint16", "int16", "int32", "int64", "uint32", "uint64")},
        _NUMBERS.FLOAT: "float", _NUMBERS.DOUBLE: "double", _NUMBERS.BOOL: "bool", _NUMBERS.STRING: "std::string",
        _NUMBERS.FLOAT16: "MLFloat16", _NUMBERS.BFLOAT16: "BFloat16",
        **{getattr(_NUMBERS, name.upper()): name for name in (
            "Float8E4M3FN", "Float8E4M3FNUZ", "Float8E5M2", "Float8E5M2FNUZ")},
    }

    @staticmethod
    def typeinfo_to_str(type):
        """The C++ type of a TypeInfo; of a sequence, that of its elements."""
        kind, value = type.ValueType(), type.Value()

        def table(of):
            found = of()
            found.Init(value.Bytes, value.Pos)
            return found
        if kind == _KINDS.tensor_type:
            return FbsTypeInfo.tensordatatype_to_string[table(fbs.TensorTypeAndShape.TensorTypeAndShape).ElemType()]
        if kind == _KINDS.sequence_type:
            return FbsTypeInfo.typeinfo_to_str(table(fbs.SequenceType.SequenceType).ElemType())
        if kind == _KINDS.map_type:
            found = table(fbs.MapType.MapType)
            key = FbsTypeInfo.tensordatatype_to_string[found.KeyType()]
            return f"std::map<{key},{FbsTypeInfo.typeinfo_to_str(found.ValueType())}>"
        raise ValueError(f"expected the type of a tensor, a sequence or a map, found number {kind}")


def get_typeinfo(name: str, value_name_to_typeinfo: dict):
    """The TypeInfo of a value. Errors: RuntimeError if there is none."""
    if name not in value_name_to_typeinfo:
        raise RuntimeError(f"the model states no type of '{name}'")
    return value_name_to_typeinfo[name]


def value_name_to_typestr(name: str, value_name_to_typeinfo: dict):
    """The C++ type of a value."""
    return FbsTypeInfo.typeinfo_to_str(get_typeinfo(name, value_name_to_typeinfo))
