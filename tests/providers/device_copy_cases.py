"""Copies between the cards of two plug-ins (tests/providers/plugin, twice), and values on a card that the host reads,
too, through the package `onnxruntime`; test_device_values.py runs it with Sardonyx and with ONNX Runtime.

usage: python device_copy_cases.py CASE FIRST SECOND     (two libraries)
"""
import ctypes
import os
import sys

import numpy as np
import onnx.parser
import onnxruntime as ort

OF_SARDONYX = hasattr(ort, "sardonyx_version")
FIRST, SECOND = sys.argv[2:4]
VENDORS = {"first": 0x5d4e, "second": 0x5d4f}
X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
W = np.array([1, 2, 3, 4], np.float32)


def count_of(path, what):
    count = ctypes.CDLL(path).TestPluginCount
    count.restype, count.argtypes = ctypes.c_long, [ctypes.c_char_p]
    return count(what.encode())


def events():
    """How often each library has copied from and to the host, and from card to card."""
    return np.array([(count_of(path, "event copies"), count_of(path, "event across")) for path in (FIRST, SECOND)])


class Changes:
    def __init__(self):
        self.before = events()

    def check(self, first, second):
        """In Sardonyx exactly so; ONNX Runtime copies at other places."""
        now = events()
        found = (now - self.before).tolist()
        assert found == [list(first), list(second)] or not OF_SARDONYX, found
        self.before = now


def cards():
    ort.register_execution_provider_library("first", FIRST)
    ort.register_execution_provider_library("second", SECOND)
    names = {"SdxTestProvider": "first", "SdxSecondProvider": "second"}
    return {names[device.ep_name]: device for device in ort.get_ep_devices()
            if device.ep_name in names and device.ep_metadata["kind"] == "card"}


def on(card, array):
    return ort.OrtValue.ortvalue_from_numpy(array, "gpu", 0, VENDORS[card])


def device_of(card):
    return ort.OrtDevice.make("gpu", 0, VENDORS[card])._get_c_device()


def session(text, *providers):
    options = ort.SessionOptions()
    for device, settings in providers:
        options.add_provider_for_devices([device], settings)
    return ort.InferenceSession(onnx.parser.parse_model(text).SerializeToString(), options)


def run(made, feeds, places):
    """`places`: by output, a card or "cpu"."""
    binding = made.io_binding()
    for name, value in feeds.items():
        binding.bind_ortvalue_input(name, value)
    for name, place in places.items():
        if place == "cpu":
            binding.bind_output(name)
        else:
            binding._iobinding.bind_output(name, device_of(place))
    made.run_with_iobinding(binding)
    return binding.get_outputs()


def check(value, wanted, place):
    assert value.device_name() == ("cpu" if place == "cpu" else "cuda")
    np.testing.assert_allclose(value.numpy(), wanted, rtol=1e-6)


MODEL = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[N, 4] x) => (float[N, 4] y) <float[4] w = {1, 2, 3, 4}> {
  a = Mul (x, w)
  y = Add (a, x)
}"""


def case_values(devices):
    del devices
    there = on("first", X)
    changes = Changes()
    target = ort.OrtValue.ortvalue_from_shape_and_type([3, 4], np.float32, "gpu", 0, VENDORS["second"])
    ort.copy_tensors([there], [target])
    changes.check((0, 0), (0, 1))
    check(target, X, "second")
    changed, back = on("second", X * 2), on("first", np.zeros_like(X))
    changes = Changes()
    back.update_inplace(changed)
    changes.check((0, 0), (0, 1))
    check(back, X * 2, "first")


def case_sessions(devices):
    """What a session of one plug-in leaves on its card is read by a session of the other, and back."""
    one, two = session(MODEL, (devices["first"], {})), session(MODEL, (devices["second"], {}))
    x = on("first", X)
    changes = Changes()
    [between] = run(one, {"x": x}, {"y": "first"})
    changes.check((0, 0), (0, 0))
    check(between, X * W + X, "first")
    changes, streamed = Changes(), count_of(SECOND, "event streamed")
    [made] = run(two, {"x": between}, {"y": "first" if OF_SARDONYX else "second"})
    changes.check((0, 0), (0, 2))  # the input, and the output
    # All on the session's stream, around the node.
    assert count_of(SECOND, "event streamed") - streamed == 3 or not OF_SARDONYX, count_of(SECOND, "event streamed")
    check(made, (X * W + X) * (W + 1), "first")
    y = on("first", np.zeros_like(X))
    binding = two.io_binding()
    binding.bind_ortvalue_input("x", between)
    binding.bind_ortvalue_output("y", y)
    changes = Changes()
    two.run_with_iobinding(binding)
    changes.check((0, 0), (0, 2))
    check(y, (X * W + X) * (W + 1), "first")


def case_joined(devices):
    """One model over both cards: values go from card to card, on streams, and none over the host."""
    text = """
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[N, 4] x) => (float[N, 4] y) <float[4] w = {1, 2, 3, 4}> {
      a = Mul (x, w)
      b = Add (a, a)
      c = Mul (b, w)
      d = Add (c, b)
      y = Mul (d, a)
    }"""
    made = session(text, (devices["first"], {"operators": "Mul"}), (devices["second"], {}))
    a = X * W
    wanted = (a * 2 * W + a * 2) * a
    changes = Changes()
    for _ in range(3):
        np.testing.assert_allclose(made.run(None, {"x": X})[0], wanted, rtol=1e-6)
        changes.check((2, 0), (0, 4))  # x and y; a, b, c and d
    [y] = run(made, {"x": on("first", X)}, {"y": "first"})
    check(y, wanted, "first")
    if OF_SARDONYX:
        copies = [row["op_type"] for row in made.placement() if row["op_type"].startswith("Memcpy")]
        assert sorted(copies) == ["MemcpyAcross"] * 4 + ["MemcpyFromHost", "MemcpyToHost"], copies


def case_shared(devices):
    """The host reads a value on the card: it is copied once, and stays where it is for the others."""
    text = """
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[N, 4] x) => (float[N, 4] y, float[N, 4] z, float[N, 4] v) {
      y = Neg (x)
      s = Tanh (x)
      t = Tanh (y)
      z = Sinh (y)
      u = Cos (x)
      r = Sin (s)
      p = Exp (t)
      q = Max (u, r)
      v = Max (p, q)
    }"""
    made = session(text, (devices["first"], {"operators": "Neg"}))
    others = np.maximum(np.cos(X), np.sin(np.tanh(X)))
    wanted = {"y": -X, "z": np.sinh(-X), "v": np.maximum(np.exp(np.tanh(-X)), others)}
    for infos in (made.get_input_memory_infos(), made.get_output_memory_infos()):
        assert {info.name for info in infos} == {"Cpu"}, infos  # where there is least to be copied without a binding
    for here in (X, np.ascontiguousarray(X[:2]), X):
        x = on("first", here)
        changes = Changes()
        outputs = run(made, {"x": x}, {"y": "first", "z": "cpu", "v": "cpu"})
        changes.check((2, 0), (0, 0))  # x and y, for all that the host does with them
        for value, name, place in zip(outputs, "yzv", ("first", "cpu", "cpu")):
            check(value, wanted[name][:len(here)], place)
    changes = Changes()
    for name, value in zip("yzv", made.run(None, {"x": X})):
        np.testing.assert_allclose(value, wanted[name], rtol=1e-6)
    changes.check((2, 0), (0, 0))  # x there, and y back once


def case_pinned(devices):
    """Memory of the device that the host reaches: NumPy shares it, and it is an input and an output like any other."""
    memory = devices["second"].memory_info(ort.OrtDeviceMemoryType.HOST_ACCESSIBLE)
    assert (memory.name, memory.device_mem_type) == ("SdxSecondPinned", ort.OrtDeviceMemoryType.HOST_ACCESSIBLE)
    before = count_of(SECOND, "event pinned")
    x, y = (ort.OrtValue.ortvalue_from_shape_and_type([3, 4], np.float32, memory_info=memory) for _ in range(2))
    assert count_of(SECOND, "event pinned") == before + 2
    shared = x.numpy()
    if OF_SARDONYX:  # ONNX Runtime's package refuses it
        copies = events()
        x.update_inplace(X)
        assert (events() == copies).all()  # the host writes it itself
        np.testing.assert_array_equal(shared, X)
    shared[...] = X * 2
    np.testing.assert_array_equal(x.numpy(), X * 2)
    made = session(MODEL, (devices["second"], {}))
    wanted = X * 2 * (W + 1)
    np.testing.assert_allclose(made.run_with_ort_values(None, {"x": x})[0].numpy(), wanted, rtol=1e-6)
    if OF_SARDONYX:  # ONNX Runtime cannot copy an output there
        binding = made.io_binding()
        binding.bind_ortvalue_input("x", x)
        binding.bind_ortvalue_output("y", y)
        made.run_with_iobinding(binding)
        np.testing.assert_allclose(y.numpy(), wanted, rtol=1e-6)
    there = on("second", X)
    ort.copy_tensors([x], [there])
    np.testing.assert_array_equal(there.numpy(), X * 2)


def case_on_stream(devices):
    """What a node asks for while it runs comes from the stream's memory."""
    text = """
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[N, 4] x) => (float[M] y) {
      a = Neg (x)
      p = Greater (a, x)
      b = Compress (a, p)
      q = Add (b, b)
      r = Tanh (q)
      y = Mul (r, q)
    }"""
    made = session(text, (devices["second"], {}))
    assert count_of(SECOND, "event on_stream") == 0
    for x in (X, np.ascontiguousarray(X[:2]), X):
        want = 2 * -x[-x > x]
        np.testing.assert_allclose(made.run(None, {"x": x})[0], np.tanh(want) * want, rtol=1e-6)
        assert count_of(SECOND, "event on_stream") >= 1  # Sardonyx keeps the memory for the next run
    if not OF_SARDONYX:
        return
    other = session(text, (devices["second"], {}))
    for fault, words in (("AllocOnStream", "the allocator of SdxSecondProvider for 'SdxSecondCard' returned NULL"),
                         ("throw:AllocOnStream", "AllocOnStream threw: planted exception in AllocOnStream")):
        os.environ["SDX_PLUGIN_FAULT"] = fault
        other.disable_fallback()
        try:
            other.run(None, {"x": X})
            raise SystemExit("expected an error")
        except Exception as error:  # noqa: BLE001
            assert words in str(error), error
        del os.environ["SDX_PLUGIN_FAULT"]
    want = 2 * -X[-X > X]
    np.testing.assert_allclose(other.run(None, {"x": X})[0], np.tanh(want) * want, rtol=1e-6)


def main():
    devices = cards()
    globals()["case_" + sys.argv[1]](devices)
    print("passed")


if __name__ == "__main__":
    main()
