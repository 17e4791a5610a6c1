"""Modules that other packages import from onnxruntime.capi."""
