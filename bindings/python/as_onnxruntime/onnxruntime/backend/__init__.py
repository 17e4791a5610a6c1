"""ONNX's backend interface, as its conformance tests use it."""
from onnxruntime.backend.backend import is_compatible, prepare, run, supports_device  # noqa: F401
