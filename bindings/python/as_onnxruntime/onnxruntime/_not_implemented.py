"""Packages of onnxruntime that Sardonyx lacks: each can be imported, and names what is asked of it in its error. What
released programs need of them is there nevertheless."""
import sys


class MissingModule(ImportError, NotImplementedError):  # noqa: N818  (what it is, not that it is one)
    """A NotImplementedError that is also an ImportError, so that `try: from ... import` works."""


class _Submodules:
    """A finder for sys.meta_path that refuses the submodules of the packages in `names`."""

    names = set()
    there = {"onnxruntime.transformers.float16", "onnxruntime.transformers.io_binding_helper"}

    @classmethod
    def find_spec(cls, name, path=None, target=None):  # noqa: ARG003
        if name not in cls.there and any(name.startswith(f"{package}.") for package in cls.names):
            raise MissingModule(f"{name} is not implemented in Sardonyx", name=name)
        return None


def refusing(package):
    """The module-level __getattr__ of a package, or of a module, for all names that it does not have."""
    _Submodules.names.add(package)
    if _Submodules not in sys.meta_path:
        sys.meta_path.insert(0, _Submodules)

    def refuse(name):
        if name.startswith("__") or f"{package}.{name}" in _Submodules.there:  # `from package import module` goes on
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        raise MissingModule(f"{package}.{name} is not implemented in Sardonyx", name=package)

    return refuse
