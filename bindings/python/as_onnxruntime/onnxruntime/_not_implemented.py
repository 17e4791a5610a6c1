"""Parts of onnxruntime that Sardonyx lacks: each names what is asked of it in its error."""
import sys


class MissingModule(ImportError, NotImplementedError):  # noqa: N818  (what it is, not that it is one)
    """A NotImplementedError that is also an ImportError, so that `try: from ... import` works."""


def refusing(package, finds=None):
    """The module-level __getattr__ of a package, or of a module, for all names that it does not have. `finds`: a finder
    for sys.meta_path that gives the package's modules or refuses them."""
    if finds is not None:
        sys.meta_path.insert(0, finds)

    def refuse(name):
        if finds is None and not name.startswith("__"):
            raise MissingModule(f"{package}.{name} is not implemented in Sardonyx", name=package)
        if not name.startswith("__"):
            finds.find_spec(f"{package}.{name}")  # refuses what is not there
        raise AttributeError(f"module '{package}' has no attribute '{name}'")  # `from package import module` goes on

    return refuse
