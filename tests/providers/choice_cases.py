"""Registers libraries of tests/providers/many_devices and writes down, as JSON, which devices are chosen from them.

usage: python choice_cases.py FOLDER DEVICES [DEVICES ...]       (for each library its variable SDX_DEVICES)
"""
import json
import os
import pathlib
import shutil
import sys

import onnx.parser
import onnxruntime as ort

CPU = "CPUExecutionProvider"
MODEL = """<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Abs (x) }"""

library, folder = pathlib.Path(os.environ["SDX_LIBRARY"]), pathlib.Path(sys.argv[1])
model = onnx.parser.parse_model(MODEL).SerializeToString()
chosen = folder / "chosen.txt"
os.environ["SDX_CHOSEN"] = str(chosen)
os.environ["SDX_HARDWARE"] = str(folder / "hardware.txt")
ort.set_default_logger_severity(4)
for number, devices in enumerate(sys.argv[2:]):
    os.environ["SDX_DEVICES"] = devices
    copy = shutil.copy(library, str(folder / f"library{number}.so"))
    ort.register_execution_provider_library(f"library {number}", copy)


def described(devices):
    return [[device.ep_name, device.device.type.name, device.device.device_id] for device in devices]


def choose(prepare):
    """The session's providers, and with which devices they were made."""
    chosen.unlink(missing_ok=True)
    settings = ort.SessionOptions()
    prepare(settings)
    made = ort.InferenceSession(model, settings)
    return made.get_providers(), chosen.read_text().splitlines() if chosen.exists() else []


def delegate(devices, of_model, of_runtime, most):
    answer["offered"] = described(devices)
    return [device for device in devices if device.ep_name != CPU][-2:] + [d for d in devices if d.ep_name == CPU]


answer = {"listed": described(ort.get_ep_devices())}
answer["delegate"] = choose(lambda settings: settings.set_provider_selection_policy_delegate(delegate))
for policy in range(7):
    policy = ort.OrtExecutionProviderDevicePolicy(policy)
    answer[policy.name] = choose(lambda settings, policy=policy: settings.set_provider_selection_policy(policy))
print(json.dumps(answer))
