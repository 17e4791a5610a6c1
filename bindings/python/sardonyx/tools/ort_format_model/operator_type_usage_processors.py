"""The types that operators of models are used with, and which kernels a build for them needs."""
from __future__ import annotations

import json
from abc import ABC, abstractmethod

from sardonyx.tools.ort_format_model.types import FbsTypeInfo, value_name_to_typestr

_CPP_DOMAINS = {"ai.onnx": "kOnnxDomain", "ai.onnx.ml": "kMLDomain", "com.microsoft": "kMSDomain"}

# Operators whose kernels differ by the type of their first input.
_BY_FIRST_INPUT = (
    "Abs ArgMax ArgMin AveragePool BatchNormalization BitShift Ceil Clip Conv CumSum Exp Expand Floor Gemm IsNaN Log "
    "LogSoftmax LpNormalization MatMul Max MaxPool Mean Min NonZero Pad QLinearConv QLinearMatMul Range Reciprocal "
    "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum "
    "ReduceSumSquare Relu Resize ReverseSequence RoiAlign Round Scatter ScatterElements ScatterND Shrink Sigmoid Sign "
    "Sin Softmax Split SplitToSequence Sqrt Sum Tanh TopK Transpose Unique").split()
_ALSO_FOR_SHAPES = "Add Concat Div Equal Greater Less Mul Neg Sub".split()  # integers, whatever the models have
_OF_MICROSOFT = ("QLinearAdd", "QLinearMul", "QLinearConv")
_BY_TWO_INPUTS = ("Gather", "GatherElements", "Pow", "Slice")
_BY_OUTPUT = ("ConstantOfShape", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike",
              "Multinomial")


def _key(domain, operator):
    return f"{domain}:{operator}"


def _cpp_type(registered):
    return "std::string" if registered == "string" else registered


class TypeUsageProcessor(ABC):
    """What is noted of one operator: `process_node` takes a node of a model in ORT format and the types of values."""

    def __init__(self, domain: str, optype: str):
        self.domain, self.optype, self.name = domain, optype, _key(domain, optype)

    @abstractmethod
    def process_node(self, node, value_name_to_typeinfo: dict):
        """Notes the types of a node."""

    def is_typed_registration_needed(self, type_in_registration: str, globally_allowed_types: set[str] | None):
        """Whether a kernel for a type is needed: one that models use, or one of `globally_allowed_types`, if these are
        given."""
        raise RuntimeError(f"kernels of {self.name} are not registered by type")

    def get_cpp_entry(self):
        """Lines of C++ that allow the types noted."""
        return []

    @abstractmethod
    def to_config_entry(self):
        """The types noted as JSON; None if there are none."""

    @abstractmethod
    def from_config_entry(self, entry: str):
        """Replaces what is noted by what to_config_entry gave."""


class DefaultTypeUsageProcessor(TypeUsageProcessor):
    """Notes the types of some inputs and outputs (their indices). Kernels of the required types, by index, are needed
    whatever the models have."""

    def __init__(
        self,
        domain: str,
        optype: str,
        inputs: [int] = [0],  # noqa: B006
        outputs: [int] = [],  # noqa: B006
        required_input_types: dict[int, set[str]] = {},  # noqa: B006
        required_output_types: dict[int, set[str]] = {},  # noqa: B006
    ):
        super().__init__(domain, optype)
        if not inputs and not outputs:
            raise ValueError(f"{self.name}: expected the index of an input or an output whose types are noted")
        self._input_types = {index: set() for index in inputs}
        self._output_types = {index: set() for index in outputs}
        self._required_input_types, self._required_output_types = required_input_types, required_output_types

    def is_input_type_enabled(self, reg_type, index, allowed_type_set=None):
        """Whether a type is required at an input, or allowed: noted, if `allowed_type_set` is not given."""
        allowed = self._input_types[index] if allowed_type_set is None else allowed_type_set
        return _cpp_type(reg_type) in self._required_input_types.get(index, set()) | set(allowed)

    def is_output_type_enabled(self, reg_type, index, allowed_type_set=None):
        """The same of an output."""
        allowed = self._output_types[index] if allowed_type_set is None else allowed_type_set
        return _cpp_type(reg_type) in self._required_output_types.get(index, set()) | set(allowed)

    def process_node(self, node, value_name_to_typeinfo: dict):
        for index, types in self._input_types.items():
            if index < node.InputsLength():  # older versions have attributes for some inputs
                types.add(value_name_to_typestr(node.Inputs(index), value_name_to_typeinfo))
        for index, types in self._output_types.items():
            if index >= node.OutputsLength():
                raise RuntimeError(f"{self.name}: expected an output {index}, found {node.OutputsLength()} outputs")
            types.add(value_name_to_typestr(node.Outputs(index), value_name_to_typeinfo))

    def is_typed_registration_needed(self, type_in_registration: str, globally_allowed_types: set[str] | None):
        if 0 not in self._input_types:
            raise RuntimeError(f"{self.name}: the types of its first input are not noted, which its kernels differ by")
        return self.is_input_type_enabled(type_in_registration, 0, globally_allowed_types)

    def get_cpp_entry(self):
        return [f"ORT_SPECIFY_OP_KERNEL_ARG_ALLOWED_TYPES({_CPP_DOMAINS[self.domain]}, {self.optype}, {side}, {index}, "
                f"{', '.join(sorted(types))});"
                for side, noted in (("Input", self._input_types), ("Output", self._output_types))
                for index, types in sorted(noted.items()) if types]

    def to_config_entry(self):
        noted = {side: {index: sorted(types) for index, types in sorted(known.items()) if types}
                 for side, known in (("inputs", self._input_types), ("outputs", self._output_types))}
        noted = {side: known for side, known in noted.items() if known}
        return json.dumps(noted) if noted else None

    def from_config_entry(self, entry: str):
        noted = json.loads(entry)
        self._input_types, self._output_types = ({int(index): set(types) for index, types in noted.get(
            side, {}).items()} for side in ("inputs", "outputs"))


class Input1TypedRegistrationProcessor(DefaultTypeUsageProcessor):
    """For operators whose kernels differ by the type of their second input."""

    def __init__(self, domain: str, optype: str):
        super().__init__(domain, optype, inputs=[1], outputs=[])

    def is_typed_registration_needed(self, type_in_registration: str, globally_allowed_types: set[str] | None):
        return self.is_input_type_enabled(type_in_registration, 1, globally_allowed_types)


class Output0TypedRegistrationProcessor(DefaultTypeUsageProcessor):
    """For operators whose kernels differ by the type of their first output."""

    def __init__(self, domain: str, optype: str):
        super().__init__(domain, optype, inputs=[], outputs=[0])

    def is_typed_registration_needed(self, type_in_registration: str, globally_allowed_types: set[str] | None):
        return self.is_output_type_enabled(type_in_registration, 0, globally_allowed_types)


class OneHotProcessor(TypeUsageProcessor):
    """OneHot's kernels differ by three types: of indices, of values (and the output), of the depth."""

    def __init__(self):
        super().__init__("ai.onnx", "OneHot")
        self._triples = set()

    def process_node(self, node, value_name_to_typeinfo: dict):
        indices, depth, values = (value_name_to_typestr(node.Inputs(index), value_name_to_typeinfo)
                                  for index in range(3))
        self._triples.add((indices, values, depth))

    def is_typed_registration_needed(self, type_in_registration: str, globally_allowed_types: set[str] | None):
        parts = type_in_registration.replace("_t", "%").split("_")
        types = tuple(_cpp_type(part.replace("%", "_t")) for part in parts)
        return types in self._triples if globally_allowed_types is None else set(types) <= globally_allowed_types

    def to_config_entry(self):
        return json.dumps({"custom": sorted(self._triples)}) if self._triples else None

    def from_config_entry(self, entry: str):
        self._triples = {tuple(types) for types in json.loads(entry).get("custom", [])}


def _all_processors():
    """{domain:operator: its processor}"""
    integers = {0: {"int32_t", "int64_t"}}
    bytes_and_sums = {0: {"int8_t", "uint8_t", "int32_t"}}
    made = [*(DefaultTypeUsageProcessor("ai.onnx", name) for name in _BY_FIRST_INPUT),
            *(DefaultTypeUsageProcessor("ai.onnx", name, required_input_types=integers) for name in _ALSO_FOR_SHAPES),
            *(DefaultTypeUsageProcessor("com.microsoft", name) for name in _OF_MICROSOFT),
            *(DefaultTypeUsageProcessor("ai.onnx", name, inputs=[0, 1]) for name in _BY_TWO_INPUTS),
            *(DefaultTypeUsageProcessor("ai.onnx", name, inputs=[], outputs=[0]) for name in _BY_OUTPUT),
            DefaultTypeUsageProcessor("ai.onnx", "Cast", inputs=[0], outputs=[0]),
            Input1TypedRegistrationProcessor("ai.onnx", "Where"),
            Output0TypedRegistrationProcessor("ai.onnx", "QuantizeLinear"),
            Output0TypedRegistrationProcessor("ai.onnx", "DynamicQuantizeLinear"),
            DefaultTypeUsageProcessor("ai.onnx", "DequantizeLinear", required_input_types=bytes_and_sums),
            OneHotProcessor()]
    return {processor.name: processor for processor in made}


class OpTypeImplFilterInterface(ABC):
    """Chooses kernels by type."""

    @abstractmethod
    def is_typed_registration_needed(self, domain: str, optype: str, type_registration_str: str):
        """Whether the kernel of an operator for a type is needed."""

    @abstractmethod
    def get_cpp_entries(self):
        """Lines of C++ that allow types."""


class OperatorTypeUsageManager:
    """Notes the types of all operators that have a processor, whatever their version."""

    def __init__(self):
        self._all_processors, self._used = _all_processors(), {}

    def _processor(self, domain, operator):
        key = _key(domain, operator)
        if key in self._all_processors:
            self._used[key] = self._all_processors[key]
        return self._used.get(key)

    def process_node(self, node, value_name_to_typeinfo: dict):
        """Notes the types of a node of a model in ORT format."""
        processor = self._processor(node.Domain().decode() or "ai.onnx", node.OpType().decode())
        if processor:
            processor.process_node(node, value_name_to_typeinfo)

    def get_config_entry(self, domain: str, optype: str):
        """What is noted of an operator as JSON; None if nothing is."""
        processor = self._used.get(_key(domain, optype))
        return processor.to_config_entry() if processor else None

    def restore_from_config_entry(self, domain: str, optype: str, config_entry: str):
        """Notes of an operator what get_config_entry gave."""
        processor = self._processor(domain, optype)
        if processor:
            processor.from_config_entry(config_entry)

    def debug_dump(self):
        """Prints all that is noted."""
        print("\n".join(["allowed in C++:", *self.make_op_type_impl_filter().get_cpp_entries(), "noted:"]))
        for key, processor in sorted(self._used.items()):
            if processor.to_config_entry():
                print(f"{key} -> {processor.to_config_entry()}")

    def make_op_type_impl_filter(self):
        """The OpTypeImplFilterInterface that keeps kernels of types which are noted."""
        return _NotedTypes(self._used)


class _NotedTypes(OpTypeImplFilterInterface):
    def __init__(self, processors):
        self._processors = processors

    def is_typed_registration_needed(self, domain: str, optype: str, type_registration_str: str):
        processor = self._processors.get(_key(domain, optype))
        return processor is None or processor.is_typed_registration_needed(type_registration_str, None)

    def get_cpp_entries(self):
        return [line for _, processor in sorted(self._processors.items()) for line in processor.get_cpp_entry()]


class GloballyAllowedTypesOpTypeImplFilter(OpTypeImplFilterInterface):
    """Keeps kernels of the types given, for all operators. Errors: ValueError for types that are not known."""

    def __init__(self, globally_allowed_types: set[str]):
        unknown = globally_allowed_types - set(FbsTypeInfo.tensordatatype_to_string.values())
        if unknown:
            raise ValueError(f"expected C++ types of tensors as allowed types, found {', '.join(sorted(unknown))}")
        self._processors, self._globally_allowed_types = _all_processors(), globally_allowed_types

    def is_typed_registration_needed(self, domain: str, optype: str, type_registration_str: str):
        processor = self._processors.get(_key(domain, optype))
        if processor is None:
            return _cpp_type(type_registration_str) in self._globally_allowed_types
        return processor.is_typed_registration_needed(type_registration_str, self._globally_allowed_types)

    def get_cpp_entries(self):
        return [f"ORT_SPECIFY_OP_KERNEL_GLOBAL_ALLOWED_TYPES({', '.join(sorted(self._globally_allowed_types))});"]

    def global_type_list(self):
        return self._globally_allowed_types
