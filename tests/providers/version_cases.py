"""The plug-in of tests/providers/plugin as if built for each version of the interface, through the package
`onnxruntime`. test_versions.py runs it with Sardonyx and with ONNX Runtime, and compares what it prints.

usage: python version_cases.py LIBRARY FIRST LAST KIND...     (versions, kinds of devices)
"""
import ctypes
import gc
import os
import sys

import numpy as np
import onnx.parser
import onnxruntime as ort

LIBRARY = sys.argv[1]
NAME = "SdxTestProvider"
X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
CHAIN = """<ir_version: 8, opset_import: ["" : 12]>
g (float[N, 4] x) => (float[N, 4] y) <float[4] w = {1, 2, 3, 4}> {
  a = Mul (x, w)
  b = Add (a, x)
  c = Relu (b)
  d = Tanh (c)
  e = Add (d, d)
  y = Neg (e)
}"""
MODEL = onnx.parser.parse_model(CHAIN).SerializeToString()


def tell(*what):
    print(*what, flush=True)


def left():
    count = ctypes.CDLL(LIBRARY).TestPluginCount
    count.restype, count.argtypes = ctypes.c_long, [ctypes.c_char_p]
    return [count(kind) for kind in (b"providers", b"compiled_nodes", b"states", b"kernels", b"streams")]


def use(device, settings):
    options = ort.SessionOptions()
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    options.add_provider_for_devices([device], settings)
    made = ort.InferenceSession(MODEL, options, enable_fallback=0)
    tell("assigned", sorted((part.ep_name, node.op_type) for part in made.get_provider_graph_assignment_info()
                            for node in part.get_nodes()))
    for x in (X, X[:1], X):
        tell(np.round(made.run(None, {"x": x})[0], 4).tolist())
    if device.ep_metadata["kind"] == "host":  # optional functions that an older plug-in does not have
        try:
            made.set_ep_dynamic_options({"ep.dynamic.workload_type": "Efficient"})
            tell("dynamic options: taken")
        except Exception as error:  # noqa: BLE001  (either runtime's)
            tell("dynamic options:", type(error).__name__)


def main():
    for version in range(int(sys.argv[2]), int(sys.argv[3]) + 1):
        os.environ["SDX_PLUGIN_VERSION"] = str(version)
        tell("version", version)
        name = f"version {version}"
        try:
            ort.register_execution_provider_library(name, LIBRARY)
        except Exception as error:  # noqa: BLE001
            print(error, file=sys.stderr)
            tell("not registered:", type(error).__name__)
            continue
        for device in [device for device in ort.get_ep_devices() if device.ep_name == NAME]:
            kind = device.ep_metadata["kind"]
            if kind not in sys.argv[4:]:
                continue
            tell(kind, device.ep_vendor, device.ep_metadata.get("version"))
            for settings in ({}, {"packs": "1", "control_flow": "1"}) if "kernels" in kind else ({},):
                try:
                    use(device, settings)
                except Exception as error:  # noqa: BLE001
                    print(error, file=sys.stderr)
                    tell("an error:", type(error).__name__)
                gc.collect()
        tell("left", left())
        del device
        ort.unregister_execution_provider_library(name)
    tell("end")


if __name__ == "__main__":
    main()
