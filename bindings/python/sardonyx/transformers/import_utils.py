"""Whether a package is there."""
import importlib.metadata
import importlib.util


def is_installed(package):
    """Under the name by which it is installed, or imported."""
    try:
        importlib.metadata.distribution(package)
    except importlib.metadata.PackageNotFoundError:
        try:
            return importlib.util.find_spec(package) is not None
        except ModuleNotFoundError:
            return False
    return True
