"""The counterpart of onnxruntime.capi.onnxruntime_pybind11_state: exceptions and classes that programs import."""
import sardonyx
from sardonyx import *  # noqa: F403
from sardonyx import missing
from sardonyx.values import OrtValueVector, SparseCooView  # noqa: F401

__all__ = [*sardonyx.__all__, "OrtValueVector", "SparseCooView"]


def __getattr__(name):
    missing.refuse("onnxruntime_pybind11_state", name, missing.EXTENSION)
