"""Replaces ONNX Runtime by Sardonyx for packages that import `onnxruntime`, and records the time of each inference.

Import this module before those packages. All that a program needs to run on Sardonyx unchanged is:

    import sys, sardonyx
    sys.modules["onnxruntime"] = sardonyx
"""
import pathlib
import sys
import time
import types

import sardonyx

inference_times = {}  # name of the model file -> seconds of each run


class TimedSession(sardonyx.InferenceSession):
    """An InferenceSession that records how long each run takes."""

    def __init__(self, model, *arguments, **keywords):
        super().__init__(model, *arguments, **keywords)
        name = "model from memory" if isinstance(model, bytes) else pathlib.Path(model).name
        self._times = inference_times.setdefault(name, [])

    def run(self, *arguments, **keywords):
        start = time.perf_counter()
        try:
            return super().run(*arguments, **keywords)
        finally:
            self._times.append(time.perf_counter() - start)


def install():
    if "onnxruntime" in sys.modules:
        raise RuntimeError("expected to come before any import of onnxruntime, but it is already imported")
    module = types.ModuleType("onnxruntime", __doc__)
    module.__dict__.update({name: getattr(sardonyx, name) for name in dir(sardonyx) if not name.startswith("__")})
    module.__version__ = sardonyx.__version__
    module.InferenceSession = TimedSession
    sys.modules["onnxruntime"] = module


install()
