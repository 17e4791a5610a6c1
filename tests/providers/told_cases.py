"""What a runtime tells of a plug-in: which of its providers has which nodes, and how well compiled models and devices
fit them. test_told.py runs each case with Sardonyx and with ONNX Runtime, and compares what they print.

usage: python told_cases.py CASE RUNTIME PLUGIN     (two libraries)
"""
import ctypes
import os
import pathlib
import sys
import tempfile

import onnx
import onnx.parser
from device_cases import CHAIN, Plugin, api, release
from memory_cases import P

NAMED = """<ir_version: 8, opset_import: ["" : 17]>
g (float[N, 4] x) => (float[N, 4] y, float[N, 4] z) <float[4] w = {1, 2, 3, 4}> {
  [m] a = Mul (x, w)
  [s] b = Add (a, x)
  [t] c = Tanh (b)
  [e] d = Exp (c)
  [u] f = Add (d, d)
  [n] y = Neg (f)
  [r] z = Relu (b)
}"""
BODIES = """<ir_version: 8, opset_import: ["" : 17]>
g (bool c, int64 n, float[N, 4] x) => (float[N, 4] y, float[N, 4] l) {
  [abs] z = Abs (x)
  [if] y = If (c) <then_branch = yes () => (float[N, 4] a) { [add] h = Add (z, x)  [neg] a = Neg (h) },
                   else_branch = no () => (float[N, 4] b) { [exp] b = Exp (z) }>
  go = Constant <value = bool {1}> ()
  [loop] l = Loop (n, go, x) <body = b (int64 at, bool on, float[N, 4] v) => (bool o, float[N, 4] w) {
    [same] o = Identity (on)
    [inner] i = If (on) <then_branch = yes2 () => (float[N, 4] p) { [relu] p = Relu (v) },
                         else_branch = no2 () => (float[N, 4] q) { [cos] q = Cos (v) }>
    [sum] w = Add (i, x)
  }>
}"""
FUNCTION = """<ir_version: 8, opset_import: ["" : 17, "mine" : 1]>
g (float[N, 4] x) => (float[N, 4] y) {
  [call] a = mine.Twice (x)
  [tanh] y = Tanh (a)
}
<domain: "mine", opset_import: ["" : 17]>
Twice (p) => (q) { [inside] q = Add (p, p) }"""
IMAGES = """<ir_version: 8, opset_import: ["" : 17]>
g (float[N, 3, 8, 8] x) => (float[N, 3, 1, 1] y) {
  [p] a = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x)
  [r] b = Relu (a)
  [q] c = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (b)
  [s] d = Add (c, c)
  [g] y = GlobalMaxPool (d)
}"""
OWN = """<ir_version: 8, opset_import: ["" : 17, "test.plugin" : 1]>
g (float[N, 4] x) => (float[N, 4] y) {
  [triple] a = test.plugin.Triple (x)
  [exp] y = Exp (a)
}"""
# Each reader of what is dequantized has a DequantizeLinear of its own, whoever runs them.
QUANTIZED = """<ir_version: 8, opset_import: ["" : 17]>
g (uint8[N, 4] x, uint8[N, 4] u, bool c) => (float[N, 4] a, float[N, 4] v, float[N, 4] w, float[N, 4] p)
<float s = {0.5}, uint8 z = {3}> {
  [d] a = DequantizeLinear (x, s, z)
  [n] v = Neg (a)
  [e] b = DequantizeLinear (u, s, z)
  [sum] t = Add (b, b)
  [q] r = QuantizeLinear (t, s, z)
  [f] f = DequantizeLinear (r, s, z)
  [relu] w = Relu (f)
  [if] p = If (c) <then_branch = yes () => (float[N, 4] i) { [abs] i = Abs (f) },
                   else_branch = no () => (float[N, 4] k) { [g] j = DequantizeLinear (x, s, z) [mul] k = Mul (j, j) }>
}"""
# Operators that move elements are quantized on both sides where they are on one. Sinh is nobody's but the CPU's.
MOVED = """<ir_version: 8, opset_import: ["" : 17]>
g (uint8[2, 4] x, int8[2, 4] k, float[2, 4] f, uint8[1, 1, 4, 4] i, uint8[4] r, bool c) =>
  (float[4, 2] a2, float[4, 2] a3, float[8] b4, uint8[8] f3, float[1, 1, 2, 2] i3, float[4, 2] k3,
   float[2, 4] k4, uint8[4, 1] r3, float[4, 2] p)
<float s = {0.5}, uint8 z = {3}, int64[1] flat = {-1}, int64[1] one = {1}> {
  [d] a1 = DequantizeLinear (x, s, z)
  [t] a2 = Transpose <perm = [1, 0]> (a1)
  [n] a3 = Neg (a2)
  [e] b1 = DequantizeLinear (x, s)
  [u] b2 = Transpose <perm = [1, 0]> (b1)
  [v] b3 = Reshape (b2, flat)
  [m] b4 = Neg (b3)
  [sinh] f1 = Sinh (f)
  [w] f2 = Transpose <perm = [1, 0]> (f1)
  [y] f4 = Reshape (f2, flat)
  [q] f3 = QuantizeLinear (f4, s, z)
  [cc] i1 = DequantizeLinear (i, s, z)
  [dd] i2 = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (i1)
  [ee] i3 = Neg (i2)
  [ff] k1 = DequantizeLinear (k, s)
  [gg] k2 = Transpose <perm = [1, 0]> (k1)
  [hh] k3 = Abs (k2)
  [ii] k4 = Relu (k1)
  [jj] r1 = DequantizeLinear (r, s, z)
  [kk] r2 = Unsqueeze (r1, one)
  [ll] r3 = QuantizeLinear (r2, s, z)
  [if] p = If (c) <then_branch = yes () => (float[4, 2] l) {
                    [mm] o = DequantizeLinear (x, s, z) [nn] j = Transpose <perm = [1, 0]> (o) [oo] l = Neg (j) },
                   else_branch = no () => (float[4, 2] rr) {
                    [pp] g1 = Sin (f) [ss] rr = Transpose <perm = [1, 0]> (g1) }>
}"""
MODELS = {"moved": MOVED, "quantized": QUANTIZED, "chain": CHAIN, "named": NAMED, "bodies": BODIES,
          "function": FUNCTION, "images": IMAGES, "own": OWN}
RECORD = "session.record_ep_graph_assignment_info"


def text_of(function, handle):
    return ctypes.cast(api.out(function, handle), ctypes.c_char_p).value.decode()


def listed(function, handle):
    found, count = P(), ctypes.c_size_t()
    api(function, handle, ctypes.byref(found), ctypes.byref(count))
    return [P(ctypes.cast(found, ctypes.POINTER(P))[i]) for i in range(count.value)]


def attempt(action):
    """What it gives, or the code of its error."""
    try:
        return action()
    except RuntimeError as error:
        print(f"    ({error})", file=sys.stderr)
        return f"error {error.code}"


class CallError(RuntimeError):
    def __init__(self, text, code):
        super().__init__(text)
        self.code = code


def with_codes():
    """The errors of the functions also have codes."""
    def call(self, name, *arguments, result=None):
        padded = [ctypes.cast(a, P) if isinstance(a, (ctypes.Array, bytes)) else a for a in arguments]
        given = self.slot(name, result or P)(*padded, *[None] * (8 - len(padded)))
        if result is not None or not given:
            return given
        text = self.slot("GetErrorMessage", ctypes.c_char_p)(given, *[None] * 7).decode(errors="replace")
        code = self.slot("GetErrorCode", ctypes.c_int)(given, *[None] * 7)
        self.slot("ReleaseStatus", None)(given, *[None] * 7)
        raise CallError(text, code)
    type(api).__call__ = call


def parts_of(session):
    """The parts: provider and (name, domain, operator) of each node, in the order of the parts."""
    return [(text_of("EpAssignedSubgraph_GetEpName", part),
             [tuple(text_of("EpAssignedNode_Get" + what, node) for what in ("Name", "Domain", "OperatorType"))
              for node in listed("EpAssignedSubgraph_GetNodes", part)])
            for part in listed("Session_GetEpGraphAssignmentInfo", session)]


def case_assignment():
    plugin = Plugin()
    for value in (None, "0", "1", "true", ""):
        session = plugin.session(NAMED, config={} if value is None else {RECORD: value})
        print(f"{RECORD} = {value}: {attempt(lambda session=session: len(parts_of(session)))} parts")
        release("Session", session)
    kinds = {"host": ({}, {"separate": "1"}, {"operators": "none"}, {"operators": "Add,Relu"}, {"layout": "NHWC"}),
             "card": ({},), "kernels": ({}, {"control_flow": "1"}), "card_kernels": ({},)}
    for name, text in MODELS.items():
        for kind, settings in kinds.items():
            for options in settings:
                if name == "moved" and "layout" in options:
                    continue  # ONNX Runtime moves the transpositions around that this brings
                if name == "own" and (kind in ("kernels", "card_kernels") or "operators" in options):
                    continue  # nobody runs it
                session = plugin.session(text, options, {RECORD: "1"}, kind)
                print(name, kind, options)
                shown = [f"    {provider}: {nodes}" for provider, nodes in parts_of(session)]
                # Sardonyx names what stands in place of a call, and what turns images around, in its own way.
                own_names = name == "function" or options.get("layout") == "NHWC" and name == "images"
                if own_names:
                    shown = [f"    {provider}: {[node[1:] for node in nodes]}" for provider, nodes in parts_of(session)
                             if nodes[0][2] not in ("Transpose", "Reshape")]
                # The CPU's nodes, and parts of the same graph, have no order of their own.
                print("\n".join(sorted(shown)))
                release("Session", session)
    plugin.done()


def compiled(plugin, folder, info, name):
    """The path of a model that the provider has compiled, which says `info` of itself."""
    path = os.path.join(folder, name)
    config = {"ep.context_enable": "1", "ep.context_embed_mode": "1", "ep.context_file_path": path}
    release("Session", plugin.session(CHAIN, {"compatibility": info}, config, "host"))
    return path


def answer_of_devices(devices, info):
    result = ctypes.c_int(-1)
    array = (P * max(len(devices), 1))(*devices)
    api("GetModelCompatibilityForEpDevices", array, len(devices), info, ctypes.byref(result))
    return result.value


def case_devices():
    """What a string says of devices."""
    plugin = Plugin()
    cpu = next(device for device in listed("GetEpDevices", plugin.env)
               if api("EpDevice_EpName", device, result=ctypes.c_char_p) == b"CPUExecutionProvider").value
    host, card = plugin.kinds["host"], plugin.kinds["card"]
    for info in (b"version 1", b"version 0", b"version 2", b"", None):
        for name, devices in (("host", [host]), ("card", [card]), ("both", [host, card]), ("cpu", [cpu]),
                              ("mixed", [host, cpu]), ("twice", [host, host]), ("none", []), ("null", [None])):
            # ONNX Runtime asks nobody with an empty string.
            print(name, info, attempt(lambda info=info, devices=devices: answer_of_devices(devices, info)))
    os.environ["SDX_PLUGIN_FAULT"] = "ValidateCompiledModelCompatibilityInfo"
    print("fault", attempt(lambda: answer_of_devices([host], b"version 1")))
    if "sardonyx" in os.path.basename(sys.argv[2]):  # an exception ends ONNX Runtime
        os.environ["SDX_PLUGIN_FAULT"] = "throw:ValidateCompiledModelCompatibilityInfo"
        assert attempt(lambda: answer_of_devices([host], b"version 1")) == "error 11"
    del os.environ["SDX_PLUGIN_FAULT"]
    hardware = [device.value for device in map(lambda d: P(api("EpDevice_Device", P(d), result=P)), (host, cpu))]
    for provider in (b"SdxTestProvider", b"CPUExecutionProvider", b"Nobody", b""):
        for device in (hardware[0], None):
            def details(provider=provider, device=device):
                made = P()
                api("GetHardwareDeviceEpIncompatibilityDetails", plugin.env, provider, device, ctypes.byref(made))
                reasons, notes, code = ctypes.c_uint32(), ctypes.c_char_p(), ctypes.c_int32()
                api("DeviceEpIncompatibilityDetails_GetReasonsBitmask", made, ctypes.byref(reasons))
                api("DeviceEpIncompatibilityDetails_GetNotes", made, ctypes.byref(notes))
                api("DeviceEpIncompatibilityDetails_GetErrorCode", made, ctypes.byref(code))
                answer = (reasons.value, notes.value, code.value)
                release("DeviceEpIncompatibilityDetails", made)
                return answer
            print("details", provider, device is not None, attempt(details))
    plugin.done()


def case_compatibility():
    """What a model says, and what a session does with it."""
    plugin = Plugin()
    with tempfile.TemporaryDirectory() as folder:
        allocator = api.out("GetAllocatorWithDefaultOptions")

        def found(path, provider):
            text = P()
            api("GetCompatibilityInfoFromModel", path, provider, allocator, ctypes.byref(text))
            data = pathlib.Path(os.fsdecode(path)).read_bytes()
            other = P()
            api("GetCompatibilityInfoFromModelBytes", data, len(data), provider, allocator, ctypes.byref(other))
            both = [ctypes.cast(t, ctypes.c_char_p).value if t.value else None for t in (text, other)]
            for t in (text, other):
                if t.value:
                    api("AllocatorFree", allocator, t)
            return both

        def opens(path, config=None, options=None, kind="host", bytes_=False):
            settings = api.out("CreateSessionOptions")
            for key, value in (config or {}).items():
                api("AddSessionConfigEntry", settings, key.encode(), value.encode())
            if kind:
                keys = (ctypes.c_char_p * 4)(*[key.encode() for key in options or {}])
                values = (ctypes.c_char_p * 4)(*[value.encode() for value in (options or {}).values()])
                api("SessionOptionsAppendExecutionProvider_V2", settings, plugin.env, (P * 1)(plugin.kinds[kind]), 1,
                    keys, values, len(options or {}))
            try:
                if bytes_:
                    data = pathlib.Path(os.fsdecode(path)).read_bytes()
                    session = api.out("CreateSessionFromArray", plugin.env, data, len(data), settings)
                else:
                    session = api.out("CreateSession", plugin.env, path.encode(), settings)
            finally:
                release("SessionOptions", settings)
            release("Session", session)
            return "opens"

        strict = {"session.fail_on_suboptimal_compiled_model": "1"}
        for number, info in enumerate(("version 1", "version 0", "version 2", "", "version 1\nof two lines")):
            path = compiled(plugin, folder, info, f"{number}.onnx")
            print(repr(info), {p.key: p.value for p in onnx.load(path).metadata_props})
            for provider in (b"SdxTestProvider", b"sdxtestprovider", b"CPUExecutionProvider", b"Nobody", b"", None):
                print("  says", provider, attempt(lambda provider=provider, path=path: found(path.encode(), provider)))
            for name, config in (("plain", {}), ("strict", strict), ("lenient", {next(iter(strict)): "0"}),
                                 ("other", {next(iter(strict)): "true"})):
                for bytes_ in (False, True):
                    print("  ", name, bytes_, attempt(lambda path=path, config=config, bytes_=bytes_:
                                                      opens(path, config, bytes_=bytes_)))
            print("   card", attempt(lambda path=path: opens(path, kind="card")))
            print("   kernels", attempt(lambda path=path: opens(path, kind="kernels")))
            print("   cpu", attempt(lambda path=path: opens(path, kind=None)))
            os.environ["SDX_PLUGIN_FAULT"] = "ValidateCompiledModelCompatibilityInfo"
            print("   fault", attempt(lambda path=path: opens(path)), attempt(lambda path=path: opens(path, strict)))
            del os.environ["SDX_PLUGIN_FAULT"]
            # Compiled again: what the model said before is replaced.
            again = os.path.join(folder, f"{number}_again.onnx")
            print("   again", attempt(lambda path=path, again=again: opens(
                path, {"ep.context_enable": "1", "ep.context_embed_mode": "1", "ep.context_file_path": again},
                {"compatibility": "version 1"})))
            if os.path.exists(again):
                print("  ", {p.key: p.value for p in onnx.load(again).metadata_props})
        # A string in a model that nobody has compiled, and those of other providers.
        for info in ("version 2", "version 0", "version 1"):
            for key in ("SdxTestProvider", "Nobody", "CPUExecutionProvider"):
                model = onnx.parser.parse_model(CHAIN)
                entry = model.metadata_props.add()
                entry.key, entry.value = "ep_compatibility_info." + key, info
                path = os.path.join(folder, "plain.onnx")
                onnx.save(model, path)
                print("plain", key, info, attempt(lambda path=path: opens(path)), attempt(
                    lambda path=path: opens(path, strict)), attempt(lambda path=path: opens(path, strict, kind=None)))
        for path in (os.path.join(folder, "missing.onnx"), folder, sys.argv[0]):
            print("no model", attempt(lambda path=path: api("GetCompatibilityInfoFromModel", path.encode(),
                                                            b"SdxTestProvider", allocator, ctypes.byref(P()))))
        for data, size in ((b"", 0), (b"junk", 4), (None, 4)):
            print("no bytes", data, attempt(lambda data=data, size=size: api(
                "GetCompatibilityInfoFromModelBytes", data, size, b"SdxTestProvider", allocator, ctypes.byref(P()))))
    plugin.done()


def main():
    with_codes()
    globals()["case_" + sys.argv[1]]()
    print("end")


if __name__ == "__main__":
    main()
