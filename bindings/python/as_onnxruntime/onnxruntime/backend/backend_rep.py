"""A model that ONNX's backend interface has prepared."""
from onnx.backend.base import BackendRep

from onnxruntime import RunOptions

# Options that a caller of the backend may set: none of them ends or redirects a run.
_ALLOWED_RUN_OPTIONS = frozenset(("log_severity_level", "log_verbosity_level", "logid", "only_execute_path_to_fetches"))


def set_allowed(options, values, allowed):
    """Sets the `values` that are in `allowed`; other attributes of the options are an error, other names are not."""
    for name, value in values.items():
        if name in allowed:
            setattr(options, name, value)
        elif hasattr(options, name):
            raise RuntimeError(f"expected {type(options).__name__} among {', '.join(sorted(allowed))}, found '{name}', "
                               f"which the backend does not set")


class OnnxRuntimeBackendRep(BackendRep):
    """A session with the interface of onnx.backend.base.BackendRep."""

    def __init__(self, session):
        self._session = session

    def run(self, inputs, **kwargs):
        """The outputs for a list of inputs in the model's order, or for the only input. `kwargs`: RunOptions."""
        options = RunOptions()
        set_allowed(options, kwargs, _ALLOWED_RUN_OPTIONS)
        names = [port.name for port in self._session.get_inputs()]
        values = inputs if isinstance(inputs, list) else [inputs]
        if not isinstance(inputs, list) and len(names) != 1:
            raise RuntimeError(f"expected a list of {len(names)} inputs, found one input")
        return self._session.run(None, dict(zip(names, values)), options)
