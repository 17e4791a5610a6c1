"""onnxruntime.transformers: the modules of sardonyx.transformers by their other names, so that classes are the same.
What needs torch, and what is only for one of ONNX Runtime's kernels, raises an error with its name."""
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys

from onnxruntime._not_implemented import MissingModule, refusing

_THEIRS, _OURS = "onnxruntime.transformers.", "sardonyx.transformers."
_HERE = ("float16", "io_binding_helper")  # files of this folder
_OF_TORCH = ("benchmark", "bert_perf_test", "compare_bert_results", "convert_generation",
             "convert_tf_models_to_pytorch", "huggingface_models", "large_model_exporter", "models", "onnx_exporter",
             "past_helper", "quantize_helper", "torch_onnx_export_helper")


class _Same(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives the module of Sardonyx for one of onnxruntime.transformers, and names what is not there."""

    def find_spec(self, name, path=None, target=None):  # noqa: ARG002
        inner = name.removeprefix(_THEIRS)
        if inner == name or inner in _HERE:
            return None
        if "." in inner or importlib.util.find_spec(_OURS + inner) is None:
            why = ", as it exports models with torch" if inner.split(".")[0] in _OF_TORCH else ""
            raise MissingModule(f"{name} is not implemented in Sardonyx{why}", name=name)
        return importlib.machinery.ModuleSpec(name, self)

    def create_module(self, spec):  # noqa: ARG002
        return None

    def exec_module(self, module):
        inner = module.__name__.removeprefix(_THEIRS)
        sys.modules[module.__name__] = importlib.import_module(_OURS + inner)

    def get_code(self, name):
        """What `python -m` runs."""
        home = _OURS + name.removeprefix(_THEIRS)
        text = f"import runpy\nrunpy.run_module({home!r}, run_name='__main__', alter_sys=True)"
        return compile(text, name, "exec")


__getattr__ = refusing(__name__, finds=_Same())
