"""Parts of onnxruntime that Sardonyx lacks: each names what is asked of it in its error."""
import importlib.abc


class MissingModule(ImportError, NotImplementedError):  # noqa: N818  (what it is, not that it is one)
    """A NotImplementedError that is also an ImportError, so that `try: from ... import` works."""


class Lacking(importlib.abc.Loader):
    """Of a module that ONNX Runtime has and Sardonyx lacks: it is found, as there, and loading it is the error."""

    def __init__(self, why=""):
        self._why = why

    def create_module(self, spec):
        raise MissingModule(f"{spec.name} is not implemented in Sardonyx{self._why}", name=spec.name)

    def exec_module(self, module):
        """Never called: no module is created."""


def refusing(package, lacking):
    """The module-level __getattr__ of a module of which ONNX Runtime's has these names in addition."""

    def refuse(name):
        if name in lacking:
            raise MissingModule(f"{package}.{name} is not implemented in Sardonyx", name=package)
        raise AttributeError(f"module '{package}' has no attribute '{name}'")

    return refuse
