"""Packages of onnxruntime that are packages of Sardonyx by another name: the same modules, so that classes are the
same, too."""
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys

from onnxruntime._not_implemented import Lacking


class SameModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives the modules of package `ours` for those of package `theirs`. `homes`: where modules are that are not in
    `ours` under the same name, by their names behind the package's; `lacking`: by name, why ONNX Runtime's module is
    not there; `own`: modules that lie in the folder of `theirs`, which then stays the package. Other names are no
    modules, as in ONNX Runtime."""

    def __init__(self, theirs, ours, homes=None, lacking=None, own=()):
        self._theirs, self._ours, self._own = f"{theirs}.", f"{ours}.", own
        self._homes, self._lacking = homes or {}, lacking or {}
        sys.meta_path.insert(0, self)
        if not own:
            sys.modules[theirs] = importlib.import_module(ours)

    def find_spec(self, name, path=None, target=None):  # noqa: ARG002
        inner = name.removeprefix(self._theirs)
        if inner == name or inner in self._own:
            return None
        if inner in self._lacking:
            return importlib.machinery.ModuleSpec(name, Lacking(self._lacking[inner]), is_package=True)
        try:
            known = importlib.util.find_spec(self._home(name))
        except ModuleNotFoundError:
            known = None
        if known is None:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=known.submodule_search_locations is not None)

    def create_module(self, spec):  # noqa: ARG002
        return None

    def exec_module(self, module):
        sys.modules[module.__name__] = importlib.import_module(self._home(module.__name__))

    def get_code(self, name):
        """What `python -m` runs."""
        text = f"import runpy\nrunpy.run_module({self._home(name)!r}, run_name='__main__', alter_sys=True)"
        return compile(text, name, "exec")

    def _home(self, name):
        last = name[len(self._theirs):]
        return self._homes.get(last, self._ours + last)
