"""The compiler of models in the package `onnxruntime`, and the functions that it calls."""
from collections.abc import Callable
from typing import Any

from sardonyx import OrtValue
from sardonyx import compile as compiling

from onnxruntime.capi import _pybind_state as C  # noqa: N812  (the peer's name)

GetInitializerLocationFunc = Callable[
    [str, OrtValue, C.OrtExternalInitializerInfo | None], C.OrtExternalInitializerInfo | None]
GetInitializerLocationWrapperFunc = Callable[
    [str, C.OrtValue, C.OrtExternalInitializerInfo | None], C.OrtExternalInitializerInfo | None]


class ModelCompiler(compiling.ModelCompiler):
    __doc__ = compiling.ModelCompiler.__doc__
    _value_class = OrtValue


def make_get_initializer_location_func_wrapper(
        get_initializer_location_func: GetInitializerLocationFunc) -> GetInitializerLocationWrapperFunc:
    """The function for values of the extension module, from one for values of the package."""
    def locate(name: str, value: C.OrtValue, info: Any):
        return get_initializer_location_func(name, OrtValue(value), info)

    return locate
