"""Opens a session with the plug-in of tests/providers/seen, which writes down what it is shown.

usage: python seen_cases.py LIBRARY MODEL FILE LEVEL [OPTION=VALUE ...]
"""
import sys

import onnxruntime as ort

library, model, file, level, *given = sys.argv[1:]
ort.register_execution_provider_library("seen", library)
devices = [device for device in ort.get_ep_devices() if device.ep_name == "SdxSeeingProvider"]
settings = ort.SessionOptions()
settings.graph_optimization_level = ort.GraphOptimizationLevel(int(level))
settings.log_severity_level = 3
settings.add_provider_for_devices(devices[:1], {"file": file} | dict(option.split("=") for option in given))
# ONNX Runtime would hide an error of a provider behind a session on the CPU.
strict = {} if hasattr(ort, "sardonyx_version") else {"enable_fallback": 0}
made = ort.InferenceSession(model, settings, **strict)
del made
