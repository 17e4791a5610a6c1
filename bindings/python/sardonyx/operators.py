"""The operators that ONNX and ONNX Runtime define, and the kernels of the CPU provider."""
import enum
import functools
import re

from sardonyx import _core
from sardonyx.devices import get_ep_devices
from sardonyx.missing import MissingMember


class _Record:
    """Facts that only the library gives."""

    def __init__(self):
        raise TypeError(f"{type(self).__name__}: only the library makes objects of it")

    @classmethod
    def _made(cls, **values):
        self = object.__new__(cls)
        self.__dict__.update(values)
        return self


class KernelDef(_Record):
    """What an implementation of an operator supports: `type_constraints` are lists of types by their names in the
    operator's schema, `version_range` the first and the last version of the operator."""

    domain = op_name = provider = type_constraints = version_range = None


class OpSchema(_Record):
    """What an operator accepts since a version. Texts of documentation are only in the package onnx (onnx.defs)."""

    class AttrType(enum.IntEnum):
        FLOAT, INT, STRING, TENSOR, GRAPH, FLOATS, INTS, STRINGS, TENSORS, GRAPHS = range(1, 11)
        SPARSE_TENSOR, SPARSE_TENSORS, TYPE_PROTO, TYPE_PROTOS = range(11, 15)

    class FormalParameterOption(enum.IntEnum):
        Single, Optional, Variadic = range(3)

    class SupportType(enum.IntEnum):
        COMMON, EXPERIMENTAL = range(2)

    class Attribute(_Record):
        """An attribute: name, type and required."""

    class FormalParameter(_Record):
        """An input or output: name, typeStr, types, option and isHomogeneous."""

    class TypeConstraintParam(_Record):
        """The types that a name in typeStr stands for: type_param_str and allowed_type_strs."""

    support_level = SupportType.COMMON

    @staticmethod
    def is_infinite(count):
        """Whether max_input or max_output means any number."""
        return count == 2**31 - 1

    def __getattr__(self, name):
        if name in ("doc", "file", "line", "has_type_and_shape_inference_function"):
            raise MissingMember(f"OpSchema.{name} is not implemented in Sardonyx")
        raise AttributeError(f"OpSchema has no attribute '{name}'")


@functools.cache
def _operators():
    import json  # here, because `import onnxruntime` imports this module, and few programs ask for operators

    return json.loads(_core.operators_json())


def _types(texts):
    """ONNX Runtime writes the values of a map as tensors, the standard, also in constraints, as "map(int64, float)"."""
    return [re.sub(r"map\((\w+), (\w+)\)", r"map(\1,tensor(\2))", text) for text in texts]


def _params(rows):
    return [OpSchema.FormalParameter._made(
        name=row["name"], typeStr=row["type"], types=set(_types(row["types"])), isHomogeneous=row["homogeneous"],
        option=OpSchema.FormalParameterOption(row["option"])) for row in rows]


def get_all_operator_schema():
    """An OpSchema for each version of each operator, whether a provider runs it or not."""
    return [OpSchema._made(
        domain=row["domain"], name=row["name"], since_version=row["since"], deprecated=row["deprecated"],
        min_input=row["min_inputs"], max_input=row["max_inputs"], min_output=row["min_outputs"],
        max_output=row["max_outputs"], inputs=_params(row["inputs"]), outputs=_params(row["outputs"]),
        attributes={attribute["name"]: OpSchema.Attribute._made(
            name=attribute["name"], type=OpSchema.AttrType(attribute["type"]), required=attribute["required"])
            for attribute in row["attributes"]},
        type_constraints=[OpSchema.TypeConstraintParam._made(type_param_str=name, allowed_type_strs=types)
                          for name, types in row["constraints"].items()]) for row in _operators()]


def get_all_opkernel_def():
    """A KernelDef for each version of each operator that the CPU provider runs."""
    return [KernelDef._made(
        domain=row["domain"], op_name=row["name"], provider="CPUExecutionProvider",
        type_constraints={name: _types(types)
                          for name, types in (row["constraints"] | row["kernel"]["types"]).items()},
        version_range=(row["since"], row["kernel"]["until"])) for row in _operators() if row["kernel"]]


def get_registered_ep_kernel_defs(ep_name):
    """The same for one provider. Those of plug-ins' providers are only known to sessions."""
    if ep_name != "CPUExecutionProvider":
        if ep_name in {device.ep_name for device in get_ep_devices()}:
            raise MissingMember(f"get_registered_ep_kernel_defs for '{ep_name}' is not implemented in Sardonyx")
        raise RuntimeError(f"get_registered_ep_kernel_defs: expected a provider with a device, found '{ep_name}'")
    return get_all_opkernel_def()
