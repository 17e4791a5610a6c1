"""Which operators of a model take bfloat16: both the versions that the model is written for, as ONNX defines them, and
the kernels of the CPU provider."""
import functools

from sardonyx.operators import OpSchema, get_all_operator_schema, get_all_opkernel_def

_BFLOAT16, _FLOAT = "tensor(bfloat16)", "tensor(float)"
_VARIADIC = OpSchema.FormalParameterOption.Variadic
CONTROL_FLOW = ("If", "Loop", "Scan")  # their values have all types, whatever their bodies make of them


@functools.cache
def _versions():
    """{(domain, name): [(since, schema, types of the kernel by names of constraints, or None)]}, newest first."""
    kernels = {(one.domain, one.op_name, one.version_range[0]): one.type_constraints for one in get_all_opkernel_def()}
    found = {}
    for schema in get_all_operator_schema():
        key = schema.domain, schema.name
        found.setdefault(key, []).append((schema.since_version, schema, kernels.get((*key, schema.since_version))))
    return {key: sorted(versions, key=lambda version: -version[0]) for key, versions in found.items()}


class Bfloat16Operators:
    """`opsets`: versions by domain, ONNX's own as ""."""

    def __init__(self, opsets):
        self.opsets = opsets

    def float_inputs(self, node):
        """The indices of inputs of an onnx.NodeProto that stay floats; None if the whole node does: because of what it
        makes, or of an input whose type is that of an output."""
        domain = "" if node.domain == "ai.onnx" else node.domain
        if not domain and node.op_type in CONTROL_FLOW:
            return ()
        newest = self.opsets.get(domain, 1)
        version = next((one for one in _versions().get((domain, node.op_type), ()) if one[0] <= newest), None)
        if version is None or version[2] is None:
            return None
        _, schema, kernel = version
        made = {self._parameter(schema.outputs, index).typeStr for index, name in enumerate(node.output) if name}
        if not all(self._takes(self._parameter(schema.outputs, index), kernel)
                   for index, name in enumerate(node.output) if name):
            return None
        floats = [index for index, name in enumerate(node.input)
                  if name and not self._takes(self._parameter(schema.inputs, index), kernel)]
        if any(self._parameter(schema.inputs, index).typeStr in made for index in floats):
            return None
        return tuple(floats)

    @staticmethod
    def _parameter(parameters, index):
        return parameters[min(index, len(parameters) - 1)]

    @staticmethod
    def _takes(parameter, kernel):
        """Whether bfloat16 goes where floats do; what has no floats does not matter."""
        if _FLOAT not in parameter.types:
            return True
        return _BFLOAT16 in parameter.types and _BFLOAT16 in kernel.get(parameter.typeStr, parameter.types)
