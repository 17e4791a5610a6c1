"""Packages of onnxruntime that are packages of Sardonyx by another name: the same modules, so that classes are the
same, too."""
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys

from onnxruntime._not_implemented import MissingModule


class SameModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives the modules of package `ours` for those of package `theirs`, and names what is not there. `homes`: where
    modules are that are not in `ours` under the same name, by their names behind the package's."""

    def __init__(self, theirs, ours, homes=None):
        self._theirs, self._ours, self._homes = f"{theirs}.", f"{ours}.", homes or {}
        sys.meta_path.insert(0, self)
        sys.modules[theirs] = importlib.import_module(ours)

    def find_spec(self, name, path=None, target=None):  # noqa: ARG002
        if not name.startswith(self._theirs):
            return None
        try:
            known = importlib.util.find_spec(self._home(name))
        except ModuleNotFoundError:
            known = None
        if known is None:
            raise MissingModule(f"{name} is not implemented in Sardonyx", name=name)
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
