"""ONNX Runtime, with which tests and benchmarks compare. The name `onnxruntime` can also lead to Sardonyx's package."""
import importlib.util
import pathlib
import sys


def require():
    """Fails if `import onnxruntime` gives Sardonyx: what compares the two calls this before it imports either."""
    loaded = sys.modules.get("onnxruntime")
    spec = None if loaded else importlib.util.find_spec("onnxruntime")
    place = getattr(loaded, "__file__", None) or (spec.origin if spec else None)
    if place is None and loaded is None:
        raise ImportError("expected ONNX Runtime, to compare with; .venv-test has it")
    ours = hasattr(loaded, "sardonyx_version") or place is None
    if ours or (pathlib.Path(place).parent / "_not_implemented.py").exists():
        raise ImportError(f"expected ONNX Runtime, to compare with, found Sardonyx in {place or loaded}: remove its "
                          f"folder from PYTHONPATH")
