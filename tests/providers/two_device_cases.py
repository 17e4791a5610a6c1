"""The plug-in of tests/providers/two_devices, whose factory has two cards, through the package `onnxruntime`.
test_two_devices.py runs it with Sardonyx and with ONNX Runtime, and compares what it prints.

usage: python two_device_cases.py LIBRARY
"""
import ctypes
import gc
import sys

import numpy as np
import onnx.parser
import onnxruntime as ort

LIBRARY = sys.argv[1]
NAME, VENDOR = "TwoCardsProvider", 0x7b1
X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
# Tanh is left to the CPU.
CHAIN = """<ir_version: 8, opset_import: ["" : 17]>
g (float[N, 4] x) => (float[N, 4] y) <float[4] w = {1, 2, 3, 4}> {
  a = Mul (x, w)
  b = Relu (a)
  c = Tanh (b)
  y = Add (c, a)
}"""


def tell(what, answer):
    print(f"{what}: {answer}")


def library():
    loaded = ctypes.CDLL(LIBRARY)
    loaded.TwoDevicesCount.restype, loaded.TwoDevicesCount.argtypes = ctypes.c_long, [ctypes.c_int, ctypes.c_char_p]
    loaded.TwoDevicesChosen.restype = ctypes.c_char_p
    return loaded


def counts(what):
    return np.array([library().TwoDevicesCount(card, what.encode()) for card in (0, 1)])


def session(devices, **settings):
    options = ort.SessionOptions()
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    options.add_provider_for_devices(devices, settings)
    path = onnx.parser.parse_model(CHAIN).SerializeToString()
    return ort.InferenceSession(path, options, enable_fallback=0)


def on_card(card, array):
    return ort.OrtValue.ortvalue_from_numpy(array, "gpu", card, VENDOR)


def describe(made):
    tell("providers", made.get_providers())
    tell("inputs", [(info.name, info.device_id) for info in made.get_input_memory_infos()])
    tell("outputs", [(info.name, info.device_id) for info in made.get_output_memory_infos()])
    tell("assigned", sorted((part.ep_name, node.op_type) for part in made.get_provider_graph_assignment_info()
                            for node in part.get_nodes()))


def use(name, devices, **settings):
    """A session with these devices: where it computes, and what it makes of values on the host and on either card."""
    chosen = len(library().TwoDevicesChosen())
    try:
        made = session(devices, **settings)
    except Exception as error:  # noqa: BLE001  (either runtime's)
        print(error, file=sys.stderr)
        tell(name, "an error")
        tell("chosen", library().TwoDevicesChosen()[chosen:].decode())
        return None
    tell("chosen", library().TwoDevicesChosen()[chosen:].decode())
    describe(made)
    computed, allocated = counts("computed"), counts("allocations")
    for x in (X, X[:1], X):
        tell(name, made.run(None, {"x": x})[0].round(4).tolist())
    tell("computed", (counts("computed") - computed).tolist())
    tell("allocated", (counts("allocations") - allocated > 0).tolist())
    for card in (0, 1):
        binding = made.io_binding()
        try:
            binding.bind_ortvalue_input("x", on_card(card, X))
            target = on_card(card, np.zeros_like(X))
            binding.bind_ortvalue_output("y", target)
            made.run_with_iobinding(binding)
            tell(f"{name}, bound on card {card}", target.numpy().round(4).tolist())
        except Exception as error:  # noqa: BLE001
            tell(f"{name}, bound on card {card}", f"{type(error).__name__}")
    return made


def main():
    ort.register_execution_provider_library("test", LIBRARY)
    devices = [device for device in ort.get_ep_devices() if device.ep_name == NAME]
    tell("devices", [(device.ep_metadata["card"], device.memory_info(ort.OrtDeviceMemoryType.DEFAULT).name)
                     for device in devices])
    there = [on_card(card, X * (card + 1)) for card in (0, 1)]
    ort.copy_tensors([there[0]], [there[1]])
    tell("copied", np.array_equal(there[1].numpy(), X))
    del there
    for name, chosen, settings in (("the first", devices[:1], {}), ("the second", devices[1:], {}),
                                   ("both", devices, {}), ("both, turned", devices[::-1], {}),
                                   ("both by the last", devices, {"default": "last"}),
                                   ("both by the last, turned", devices[::-1], {"default": "last"}),
                                   ("the first by the last", devices[:1], {"default": "last"})):
        made = use(name, chosen, **settings)
        del made
        gc.collect()
        tell("left", counts("blocks").tolist())
    one, two = session(devices[:1]), session(devices[1:])  # side by side
    for made in (one, two):
        tell("side by side", made.run(None, {"x": X})[0].round(4).tolist())
    del one, two, made
    gc.collect()
    tell("left", counts("blocks").tolist())
    ort.unregister_execution_provider_library("test")
    tell("end", True)


if __name__ == "__main__":
    main()
