"""What programs seldom use of ONNX Runtime's extension module."""
import types

from sardonyx import compile as compiling
from sardonyx.enumerations import Enumeration
from sardonyx.operators import KernelDef, OpSchema

from onnxruntime.capi._values import OrtValue

opkernel = types.SimpleNamespace(KernelDef=KernelDef)
schemadef = types.SimpleNamespace(OpSchema=OpSchema)


class ArenaExtendStrategy(Enumeration):
    kNextPowerOfTwo = 0  # noqa: N815
    kSameAsRequested = 1  # noqa: N815


kNextPowerOfTwo, kSameAsRequested = ArenaExtendStrategy  # noqa: N816


class ModelCompiler(compiling.ModelCompiler):
    """A sardonyx.ModelCompiler with the arguments in the extension module's order."""

    _value_class = OrtValue

    def __init__(self, options, model, is_path, embed, external_file, external_threshold, flags, level, location):
        if is_path != isinstance(model, str):
            raise TypeError(f"model: expected {'a path' if is_path else 'bytes'}, found {type(model).__name__}")
        super().__init__(options, model, embed, external_file, external_threshold, flags, level, location)

    def compile_to_file(self, path):
        """Writes the compiled model."""
        super().compile_to_file(path)
