"""LoRA adapters: files of tensors that take the place of a model's inputs in a run."""
import os

from sardonyx import _core
from sardonyx.values import OrtValue


class LoraAdapter:
    """Parameters for RunOptions.add_active_adapter, from a file."""

    def __init__(self):
        self._handle = None

    def Load(self, path):  # noqa: N802  (the peer's name)
        """Reads the file, which stays mapped."""
        self._handle = _core.LoraAdapterHandle(os.fsdecode(path))


class AdapterFormat:
    """The contents of a file of parameters, to be read or written."""

    _value_class = OrtValue
    adapter_version = model_version = 0

    def __init__(self):
        self._format_version, self._parameters = 1, {}

    @property
    def format_version(self):
        return self._format_version

    @property
    def parameters(self):
        """Values by name."""
        return dict(self._parameters)

    @parameters.setter
    def parameters(self, values):
        for name, value in values.items():
            if not isinstance(name, str) or not isinstance(value, OrtValue):
                raise TypeError(f"parameters: expected names and OrtValues, found {name!r}: {type(value).__name__}")
        self._parameters = dict(values)

    def export_adapter(self, path):
        """Writes the file."""
        handles = {name: value._handle for name, value in self._parameters.items()}
        _core.write_lora_adapter(os.fsdecode(path), self.adapter_version, self.model_version, handles)

    @classmethod
    def read_adapter(cls, path):
        """The contents of a file; its values share the memory of the mapped file."""
        result = cls()
        contents = _core.LoraAdapterHandle(os.fsdecode(path)).contents()
        result._format_version, result.adapter_version, result.model_version, handles = contents
        result._parameters = {name: cls._value_class(handle) for name, handle in handles.items()}
        return result
