"""sardonyx.quantization by its other name: the same modules, so that classes are the same, too."""
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys

import sardonyx.quantization as _ours

from onnxruntime._not_implemented import MissingModule

_THEIRS, _OURS = "onnxruntime.quantization.", "sardonyx.quantization."
# Modules of rules: ours are divided otherwise, and the registry has them all.
_RULES = {f"{_THEIRS}operators.{name}" for name in (
    "activation argmax attention binary_op concat conv direct_q8 embed_layernorm gather gavgpool gemm lstm matmul "
    "maxpool norm pad pooling resize softmax split where").split()}


class _Same(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives the module of Sardonyx for one of onnxruntime.quantization, and names what is not there."""

    def find_spec(self, name, path=None, target=None):  # noqa: ARG002
        if not name.startswith(_THEIRS):
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

    @staticmethod
    def _home(name):
        return f"{_OURS}registry" if name in _RULES else _OURS + name[len(_THEIRS):]


sys.meta_path.insert(0, _Same())
sys.modules[__name__] = _ours
