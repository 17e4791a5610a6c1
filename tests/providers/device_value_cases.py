"""OrtValues on the device 'card' of tests/providers/plugin, whose memory the CPU cannot touch, through the package
`onnxruntime`. test_device_values.py runs it with Sardonyx and with ONNX Runtime, and compares what it prints.

usage: python device_value_cases.py LIBRARY
"""
import ctypes
import gc
import sys

import numpy as np
import onnx.parser
import onnxruntime as ort
from onnxruntime.capi import onnxruntime_pybind11_state as C  # noqa: N812  (the peer's name)

LIBRARY = sys.argv[1]
VENDOR = 0x5d4e
X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
# Both runtimes run all of it on the device.
MODEL = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[N, 4] x) => (float[N, 4] y, float[N, 4] z) <float[4] w = {1, 2, 3, 4}> {
  a = Mul (x, w)
  y = Neg (a)
  z = Add (a, x)
}"""
W = np.array([1, 2, 3, 4], np.float32)
WANTED = {"y": -X * W, "z": X * W + X}


def tell(what, answer):
    print(f"{what}: {answer}")


def answer_of(action):
    """What it gives, or that it fails, and whether with a RuntimeError."""
    try:
        return action()
    except Exception as error:  # noqa: BLE001  (compared)
        return "RuntimeError" if isinstance(error, RuntimeError) else "error"


def count_of(kind):
    count = ctypes.CDLL(LIBRARY).TestPluginCount
    count.restype, count.argtypes = ctypes.c_long, [ctypes.c_char_p]
    return count(kind.encode())


def on_card(array):
    return ort.OrtValue.ortvalue_from_numpy(array, "gpu", 0, VENDOR)


def card_device():
    return ort.OrtDevice.make("gpu", 0, VENDOR)


def same(value, wanted):
    return value.device_name() + " " + str(np.array_equal(value.numpy(), wanted))


def tell_of_values(card):
    value = on_card(X)
    memory = card.memory_info(ort.OrtDeviceMemoryType.DEFAULT)
    empty = ort.OrtValue.ortvalue_from_shape_and_type([3, 4], np.float32, "gpu", 0, VENDOR)
    of_memory = ort.OrtValue.ortvalue_from_shape_and_type([3, 4], np.float32, memory_info=memory)
    tell("blocks", count_of("blocks"))
    for name, made in (("from numpy", value), ("from shape", empty), ("from memory info", of_memory)):
        made.update_inplace(X)
        tell(name, [same(made, X), made.shape(), made.element_type(), made.data_type(), made.is_tensor(),
                    made.tensor_size_in_bytes(), made.has_value(), made.__dlpack_device__(),
                    type(made.__dlpack__()).__name__, type(made.to_dlpack() if hasattr(made, "to_dlpack")
                                                           else made.__dlpack__()).__name__])
        made.update_inplace(X + 1)
        tell(name + ", changed", [same(made, X + 1), np.array_equal(np.asarray(made), X + 1)])
        made.update_inplace(ort.OrtValue.ortvalue_from_numpy(X * 2))
        tell(name + ", from the host", same(made, X * 2))
        made.update_inplace(on_card(X * 3))
        tell(name + ", from the device", same(made, X * 3))
        tell(name + ", too small", answer_of(lambda made=made: made.update_inplace(X[:1])))
    tell("rows of another order", same(on_card(X.T), X.T))
    tell("integers", same(on_card(X.astype(np.int64)), X.astype(np.int64)))
    tell("bfloat16", ort.OrtValue.ortvalue_from_shape_and_type([3], 16, "gpu", 0, VENDOR).data_type())
    for device in (("gpu", 0), ("gpu", 1, VENDOR), ("npu", 0, VENDOR), ("cuda", 0), ("GPU", 0, VENDOR), ("stone", 0)):
        tell(f"no memory {device}", answer_of(lambda device=device: ort.OrtValue.ortvalue_from_numpy(X, *device)))
    tell("strings", answer_of(lambda: on_card(np.array(["a", "b"]))))
    for device in (("cpu", 0), ("cpu", 3), ("cpu", 0, VENDOR)):
        tell(f"the host {device}", same(ort.OrtValue.ortvalue_from_numpy(X, *device), X))
    del value, empty, of_memory, made
    gc.collect()
    tell("blocks", count_of("blocks"))


def tell_of_copies(card):
    there, here = on_card(X), ort.OrtValue.ortvalue_from_numpy(np.zeros_like(X))
    copies = count_of("event copies")
    ort.copy_tensors([there], [here])
    tell("to the host", [same(here, X), count_of("event copies") - copies])
    second, third = on_card(np.zeros_like(X)), on_card(np.zeros_like(X))
    copies = count_of("event copies")
    ort.copy_tensors([there, on_card(X * 2)], [second, third])
    tell("on the device", count_of("event copies") - copies - 1)  # and one to the device
    tell("contents", [same(second, X), same(third, X * 2)])
    stream = card.create_sync_stream()
    tell("a stream", [type(stream.get_handle()).__name__, count_of("streams")])
    changed = ort.OrtValue.ortvalue_from_numpy(np.zeros_like(X))
    ort.copy_tensors([there], [changed], stream)
    tell("not yet", not changed.numpy().any())
    del stream


def tell_of_devices():
    for device in (("gpu", 0, VENDOR), ("gpu", 2), ("cuda", 2), ("npu", 0), ("webgpu", 1), ("cann", 0), ("dml", 0),
                   ("cpu", 0)):
        made = ort.OrtDevice.make(*device)
        tell(f"device {device}", [made.device_type(), made.device_id(), made.device_vendor_id(),
                                  made.device_mem_type()])
    tell("no device", answer_of(lambda: ort.OrtDevice.make("stone", 0)))


def tell_of_runs(session):
    x = on_card(X)
    [y, z] = session.run(None, {"x": x})
    tell("run", [np.array_equal(y, WANTED["y"]), np.array_equal(z, WANTED["z"])])
    [y, z] = session.run_with_ort_values(None, {"x": x})
    tell("run with values", [same(y, WANTED["y"]), same(z, WANTED["z"])])
    fetches, feeds = C.OrtValueVector(), C.OrtValueVector()
    feeds.push_back(x._ortvalue)
    session._sess.run_with_ortvaluevector(
        ort.RunOptions(), ["x"], feeds, ["z", "y"], fetches,
        [card_device()._get_c_device(), ort.OrtDevice.make("cpu", 0)._get_c_device()])
    tell("run with a vector", [same(ort.OrtValue(fetches[0]), WANTED["z"]), same(ort.OrtValue(fetches[1]),
                                                                                WANTED["y"])])
    made = session.create_ortvalue_from_shape_and_type([3, 4], np.float32, "gpu", 0, VENDOR)
    made.update_inplace(X)
    tell("of the session", same(made, X))
    tell("not of the session", answer_of(lambda: session.create_ortvalue_from_shape_and_type(
        [3, 4], np.float32, "npu", 0, VENDOR)))


def tell_of_bindings(session):
    x, y = on_card(X), on_card(np.zeros_like(X))
    binding = session.io_binding()
    binding.bind_ortvalue_input("x", x)
    binding.bind_ortvalue_output("y", y)
    binding._iobinding.bind_output("z", card_device()._get_c_device())
    copies = count_of("event copies")
    binding.synchronize_inputs()
    session.run_with_iobinding(binding)
    binding.synchronize_outputs()
    tell("copies of a run", count_of("event copies") - copies)
    first, second = binding.get_outputs()
    tell("outputs", [same(first, WANTED["y"]), same(second, WANTED["z"]), first.data_ptr() == y.data_ptr()])
    tell("copied", [np.array_equal(array, WANTED[name]) for name, array in zip("yz", binding.copy_outputs_to_cpu())])
    # What one session leaves on the device, the next one reads there.
    other = session.io_binding()
    other.bind_ortvalue_input("x", second)
    other._iobinding.bind_output("y", card_device()._get_c_device())
    other.bind_output("z", "cpu")
    session.run_with_iobinding(other)
    [first, second] = other.get_outputs()
    tell("the next run", [same(first, -WANTED["z"] * W), same(second, WANTED["z"] * W + WANTED["z"])])
    # By address.
    other = session.io_binding()
    other._iobinding.bind_input("x", card_device()._get_c_device(), np.float32, [3, 4], x.data_ptr())
    other._iobinding.bind_output("y", card_device()._get_c_device(), np.float32, [3, 4], y.data_ptr())
    other.bind_output("z")
    y.update_inplace(np.zeros_like(X))
    session.run_with_iobinding(other)
    tell("by address", [same(y, WANTED["y"]), same(other.get_outputs()[1], WANTED["z"])])
    other = session.io_binding()
    other.bind_cpu_input("x", X)
    other._iobinding.bind_output("z", card_device()._get_c_device())
    session.run_with_iobinding(other)
    tell("from the host", same(other.get_outputs()[0], WANTED["z"]))
    tell("a device by name alone", answer_of(lambda: session.io_binding().bind_input(
        "x", "gpu", 0, np.float32, [3, 4], x.data_ptr())))


def main():
    ort.register_execution_provider_library("test", LIBRARY)
    [card] = [device for device in ort.get_ep_devices() if device.ep_metadata.get("kind") == "card"]
    tell_of_devices()
    tell_of_values(card)
    tell_of_copies(card)
    options = ort.SessionOptions()
    options.add_provider_for_devices([card], {})
    session = ort.InferenceSession(onnx.parser.parse_model(MODEL).SerializeToString(), options)
    tell("memory", [info.name for info in (*session.get_input_memory_infos(), *session.get_output_memory_infos())])
    tell_of_runs(session)
    tell_of_bindings(session)
    del session
    gc.collect()
    tell("left", [count_of(kind) for kind in ("blocks", "states", "providers", "compiled_nodes")])
    tell("end", True)


if __name__ == "__main__":
    main()
