"""Cases with the plug-in of tests/providers/plugin; test_plugin.py runs each in a process of its own, in Sardonyx and
in ONNX Runtime.

usage: python plugin_cases.py CASE LIBRARY
"""
import ctypes
import gc
import os
import sys
import tempfile

import numpy as np
import onnx.parser
import onnxruntime as ort

OF_SARDONYX = int(hasattr(ort, "sardonyx_version"))
NAME, CPU = "SdxTestProvider", "CPUExecutionProvider"
LIBRARY = sys.argv[2]
X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
CHAIN = """
<ir_version: 8, opset_import: ["" : OPSET]>
g (float[N, 4] x) => (float[N, 4] y) <float[4] w = {1, 2, 3, 4}> {
  a = Mul (x, w)
  b = Add (a, x)
  c = Relu (b)
  d = Tanh (c)
  e = Add (d, d)
  y = Neg (e)
}"""
WANTED = -2 * np.tanh(np.maximum(X * np.array([1, 2, 3, 4], np.float32) + X, 0))


def model(opset=17, text=CHAIN):
    return onnx.parser.parse_model(text.replace("OPSET", str(opset))).SerializeToString()


def count_of(kind):
    library = ctypes.CDLL(LIBRARY, mode=os.RTLD_NOW | getattr(os, "RTLD_NOLOAD", 4))
    count = library.TestPluginCount
    count.restype, count.argtypes = ctypes.c_long, [ctypes.c_char_p]
    result = count(kind.encode())
    ctypes.CDLL(None).dlclose(ctypes.c_void_p(library._handle))
    return result


def counts():
    """What the plug-in says is alive, by kind; the library is not kept open."""
    kinds = ("factories", "providers", "compiled_nodes", "states", "allocators", "blocks", "transfers", "streams",
             "kernels", "helpers", "packed")
    return {kind: count_of(kind) for kind in kinds}


def is_loaded():
    with open("/proc/self/maps") as maps:
        return any(LIBRARY in line for line in maps)


def devices():
    return {device.ep_metadata["kind"]: device for device in ort.get_ep_devices() if device.ep_name == NAME}


def session(kind, options=None, **keywords):
    settings = ort.SessionOptions()
    settings.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    settings.add_provider_for_devices([devices()[kind]], options or {})
    # ONNX Runtime would hide an error of a provider behind a session on the CPU.
    return ort.InferenceSession(keywords.pop("model", model()), sess_options=settings, enable_fallback=0, **keywords)


def operators(made):
    """The operators that run on the plug-in, in the order of execution."""
    return [node.op_type for part in made.get_provider_graph_assignment_info() if part.ep_name == NAME
            for node in part.get_nodes()]


def check(made, x=X, wanted=WANTED):
    np.testing.assert_allclose(made.run(None, {"x": x})[0], wanted, rtol=1e-6)


def case_devices():
    listed = devices()
    assert list(listed) == ["host", "card", "kernels", "card_kernels"], listed
    device = listed["host"]
    assert (device.ep_vendor, device.ep_metadata["version"]) == ("Sardonyx tests", "1.2.3")
    assert device.ep_metadata["library_path"] == LIBRARY and device.ep_options == {"operators": "all"}
    assert int(getattr(device.device.type, "value", device.device.type)) == 0
    cpu = [device for device in ort.get_ep_devices() if device.ep_name == CPU]
    assert len(cpu) == 1
    assert listed["host"].memory_info(ort.OrtDeviceMemoryType.DEFAULT) is None
    card = listed["card"].memory_info(ort.OrtDeviceMemoryType.DEFAULT)
    assert (card.name, card.device_vendor_id, card.device_id) == ("SdxTestCard", 0x5d4e, 0)


def case_stream():
    """A stream of a device: the provider's is behind it, a copy of host memory may name it, and it ends."""
    stream = devices()["card"].create_sync_stream()
    assert isinstance(stream, ort.OrtSyncStream) and stream.get_handle() != 0 and counts()["streams"] == 1
    if OF_SARDONYX:  # ONNX Runtime's package has nothing that copies from host to host
        copy = ort.OrtValue.ortvalue_from_numpy(np.zeros_like(X))
        ort.copy_tensors([ort.OrtValue.ortvalue_from_numpy(X)], [copy], stream)
        np.testing.assert_array_equal(copy.numpy(), X)
    del stream
    gc.collect()
    assert counts()["streams"] == 0, counts()


def case_compiled():
    made = session("host")
    assert made.get_providers() == [NAME, CPU]
    check(made)
    check(made, X[:1], WANTED[:1])  # other shapes, and back
    check(made)
    assert counts()["compiled_nodes"] == counts()["states"] == 2, counts()
    assert sorted(operators(made)) == ["Add", "Add", "Mul", "Neg", "Relu"], operators(made)


def case_options():
    made = session("host", {"operators": "Mul,Add", "drop_constants": "1"})
    check(made)
    assert counts()["compiled_nodes"] == 2, counts()
    check(session("host", {"operators": "none"}))
    assert operators(session("host", {"operators": "none"})) == []


def case_bodies():
    text = """<ir_version: 8, opset_import: ["" : 17]>
    g (bool c, float[N] x) => (float[N] y) {
      y = If (c) <then_branch = yes () => (float[N] a) { h = Add (x, x)  a = Neg (h) },
                  else_branch = no () => (float[N] b) { b = Exp (x) }>
    }"""
    made = session("host", model=model(text=text))
    x = np.array([1, 2], np.float32)
    np.testing.assert_array_equal(made.run(None, {"c": np.array(True), "x": x})[0], -2 * x)
    np.testing.assert_allclose(made.run(None, {"c": np.array(False), "x": x})[0], np.exp(x), rtol=1e-6)


def case_card():
    made = session("card")
    check(made)
    check(made, X[:2], WANTED[:2])
    assert counts()["allocators"] >= 1, counts()
    del made
    gc.collect()


def case_kernels():
    # The kernels are for some versions of the operators: an author's opset decides, not the newest one.
    made = session("kernels", model=model(opset=12))
    check(made)
    assert counts()["kernels"] == 5, counts()
    del made
    made = session("kernels", model=model(opset=13))
    check(made)  # of Relu and of Neg, version 13 has no kernel
    assert counts()["kernels"] == 3, counts()


def case_custom_operators():
    """An operator that the plug-in brings: only its provider runs it, in the model and in bodies."""
    text = """<ir_version: 8, opset_import: ["" : 17, "test.plugin" : 1]>
    g (bool b, float[N, 4] x) => (float[N, 4] y) {
      a = test.plugin.Triple (x)
      c = Exp (a)
      y = If (b) <then_branch = yes () => (float[N, 4] p) { p = test.plugin.Triple (c) },
                  else_branch = no () => (float[N, 4] q) { q = Neg (c) }>
    }"""
    # A body in ONNX Runtime 1.31.1 does not wait for what a stream makes before it.
    for kind in ("host", "card") if OF_SARDONYX else ("host",):
        made = session(kind, model=model(text=text))
        for b, factor in ((True, 3), (False, -1)):
            (y,) = made.run(None, {"x": X, "b": np.array(b)})
            np.testing.assert_allclose(y, factor * np.exp(3 * X), rtol=1e-6)
    for make in (lambda: session("host", {"operators": "none"}, model=model(text=text)),
                 lambda: ort.InferenceSession(model(text=text))):
        try:
            make()
        except Exception as error:  # noqa: BLE001  (either runtime's)
            assert "Triple" in str(error), error
        else:
            raise SystemExit("expected an error: nobody runs Triple")
    if OF_SARDONYX:  # ONNX Runtime does not know the operators of providers that it chooses itself
        settings = ort.SessionOptions()
        settings.set_provider_selection_policy(ort.OrtExecutionProviderDevicePolicy.PREFER_CPU)
        made = ort.InferenceSession(model(text=text), settings)
        np.testing.assert_allclose(made.run(None, {"x": X, "b": np.array(True)})[0], 3 * np.exp(3 * X), rtol=1e-6)


def case_control_flow():
    """If, Loop and Scan by the provider's kernels, which the runtime makes for it; so are the nodes of their bodies."""
    text = """<ir_version: 8, opset_import: ["" : 12]>
    g (bool c, int64 n, float[N, 4] x)
      => (float[N, 4] i, float[N, 4] l, float[M, N, 4] s, float[N, 4] k, float[4, N] t) {
      i = If (c) <then_branch = yes () => (float[N, 4] p) { p = Add (x, x) },
                  else_branch = no () => (float[N, 4] q) { q = Neg (x) }>
      go = Constant <value = bool {1}> ()
      l, s = Loop (n, go, x) <body = b (int64 at, bool on, float[N, 4] v) => (bool o, float[N, 4] w, float[N, 4] z) {
        o = Identity (on)
        w = Add (v, x)
        z = Mul (w, x)
      }>
      k, t = Scan <num_scan_inputs = 1, scan_output_axes = [1], body = d (float[N, 4] h, float[4] r)
                   => (float[N, 4] hh, float[4] rr) {
        hh = Add (h, r)
        rr = Mul (r, r)
      }> (x, x)
    }"""
    # A body in ONNX Runtime 1.31.1 does not wait for what a stream makes before it.
    for kind in ("kernels", "card_kernels") if OF_SARDONYX else ("kernels",):
        for claimed in (True, False):  # without kernels for control flow, too
            made = session(kind, {"control_flow": str(int(claimed))}, model=model(text=text))
            for c, n in ((True, 3), (False, 3), (True, 1), (True, 3)):
                i, l, s, k, t = made.run(None, {"c": np.array(c), "n": np.array(n), "x": X})  # noqa: E741
                np.testing.assert_array_equal(i, 2 * X if c else -X)
                np.testing.assert_allclose(l, (n + 1) * X, rtol=1e-6)
                np.testing.assert_allclose(s, np.stack([turn * X * X for turn in range(2, n + 2)]), rtol=1e-6)
                np.testing.assert_allclose(k, X + X.sum(0), rtol=1e-5)
                np.testing.assert_allclose(t, (X * X).T, rtol=1e-6)
            control_flow = {"If", "Loop", "Scan"}
            assert control_flow & set(operators(made)) == (control_flow if claimed else set()), operators(made)
            assert counts()["kernels"] == 6, (kind, counts())
            del made
            gc.collect()
            assert counts()["helpers"] == counts()["blocks"] == 0, counts()


def case_control_flow_on_a_card():
    """What goes into bodies and comes out of them lies on the card: read around the loop, too, and bound there."""
    text = """<ir_version: 8, opset_import: ["" : 12]>
    g (bool c, int64 n, float[N, 4] x) => (float[N, 4] y, float[N, 4] z) <float[4] w = {1, 2, 3, 4}> {
      a = Mul (x, w)
      go = Constant <value = bool {1}> ()
      l = Loop (n, go, a) <body = b (int64 at, bool on, float[N, 4] v) => (bool o, float[N, 4] u) {
        o = Identity (on)
        f = If (c) <then_branch = yes () => (float[N, 4] p) { p = Add (v, a) },
                    else_branch = no () => (float[N, 4] q) { h = Mul (v, w)  q = Neg (h) }>
        u = Add (f, x)
      }>
      y = Add (l, a)
      z = Neg (l)
    }"""
    w = np.array([1, 2, 3, 4], np.float32)
    for control_flow in ("0", "1"):
        made = session("card_kernels", {"control_flow": control_flow}, model=model(text=text))
        for c, n, rows in ((True, 3, 3), (False, 2, 3), (True, 0, 1), (False, 4, 2)):
            x = X[:rows]
            value = x * w
            for _ in range(n):
                value = (value + x * w if c else -(value * w)) + x
            y, z = made.run(None, {"c": np.array(c), "n": np.array(n), "x": x})
            np.testing.assert_allclose(y, value + x * w, rtol=1e-5)
            np.testing.assert_allclose(z, -value, rtol=1e-5)
        del made


def case_compiled_branches():
    """A group with an If whose branches read what the group makes, its inputs and constants; also in a body."""
    text = """<ir_version: 8, opset_import: ["" : 17]>
    g (bool c, bool d, int64 n, float[N, 4] x) => (float[N, 4] y, float[N, 4] l) <float[4] w = {1, 2, 3, 4}> {
      a = Mul (x, w)
      b = If (c) <then_branch = yes () => (float[N, 4] p) {
                    e = Add (a, w)
                    p = If (d) <then_branch = both () => (float[N, 4] r) { r = Add (e, x) },
                                else_branch = one () => (float[N, 4] s) { s = Neg (a) }>
                  },
                  else_branch = no () => (float[N, 4] q) <float[4] v = {4, 3, 2, 1}> { h = Mul (a, v)  q = Neg (h) }>
      y = Add (b, a)
      go = Constant <value = bool {1}> ()
      l = Loop (n, go, x) <body = turn (int64 at, bool on, float[N, 4] u) => (bool o, float[N, 4] t) {
        o = Identity (on)
        f = If (c) <then_branch = more () => (float[N, 4] j) { j = Add (u, a) },
                    else_branch = less () => (float[N, 4] k) { k = Sub (u, w) }>
        t = Mul (f, w)
      }>
    }"""
    w, v = np.array([1, 2, 3, 4], np.float32), np.array([4, 3, 2, 1], np.float32)
    # A body in ONNX Runtime 1.31.1 does not wait for what a stream makes before it.
    for kind in ("host", "card") if OF_SARDONYX else ("host",):
        for operators_ in ("Mul,Add,Neg,Sub,If", "If"):
            made = session(kind, {"operators": operators_}, model=model(text=text))
            assert "If" in operators(made) and "Loop" not in operators(made), operators(made)
            for c, d, n in ((True, True, 2), (True, False, 1), (False, True, 3)):
                y, l = made.run(None, {"c": np.array(c), "d": np.array(d), "n": np.array(n), "x": X})  # noqa: E741
                a = X * w
                b = (a + w + X if d else -a) if c else -(a * v)
                np.testing.assert_allclose(y, b + a, rtol=1e-5, atol=1e-6)
                turn = X
                for _ in range(n):
                    turn = (turn + a if c else turn - w) * w
                np.testing.assert_allclose(l, turn, rtol=1e-5, atol=1e-5)
            del made
    check_all_returned()


def case_packed_weights():
    made = session("kernels", {"packs": "1"}, model=model(opset=12))
    check(made)
    assert counts()["packed"] == 1, counts()
    made = session("kernels", model=model(opset=12))
    check(made)
    del made
    gc.collect()
    settings = ort.SessionOptions()
    settings.add_session_config_entry("session.disable_prepacking", "1")
    settings.add_provider_for_devices([devices()["kernels"]], {"packs": "1"})
    made = ort.InferenceSession(model(opset=12), sess_options=settings, enable_fallback=0)
    check(made)
    assert counts()["packed"] == 0, counts()
    del made
    for fault in ("PrePackWeight", "CreateControlFlow"):
        os.environ["SDX_PLUGIN_FAULT"] = fault
        text = """<ir_version: 8, opset_import: ["" : 12]>
        g (bool c, float[N, 4] x) => (float[N, 4] i) <float[4] w = {1, 2, 3, 4}> {
          y = Mul (x, w)
          i = If (c) <then_branch = yes () => (float[N, 4] p) { p = Exp (y) },
                      else_branch = no () => (float[N, 4] q) { q = Sqrt (y) }>
        }"""
        try:
            session("kernels", {"packs": "1", "control_flow": "1"}, model=model(text=text))
        except Exception as error:  # noqa: BLE001  (either runtime's)
            assert "planted fault in " + fault in str(error), error
        else:
            raise SystemExit("expected the planted fault in " + fault)
        finally:
            del os.environ["SDX_PLUGIN_FAULT"]
    check_all_returned()


IMAGES = """<ir_version: 8, opset_import: ["" : 17]>
g (float[N, 3, 8, 8] x) => (float[N, 3, 1, 1] y) {
  a = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x)
  b = Relu (a)
  c = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (b)
  d = Add (c, c)
  y = GlobalMaxPool (d)
}"""


def case_layout():
    """Operators on images come in the layout that the provider prefers; between them nothing is transposed."""
    x = np.random.default_rng(1).standard_normal((2, 3, 8, 8), np.float32)
    y = 2 * np.maximum(x, 0).max((2, 3), keepdims=True)

    def nodes(options):
        made = session("host", options, model=model(text=IMAGES))
        np.testing.assert_allclose(made.run(None, {"x": x})[0], y, rtol=1e-6)
        np.testing.assert_allclose(made.run(None, {"x": x[:1]})[0], y[:1], rtol=1e-6)
        found = {NAME: [], CPU: []}
        for part in made.get_provider_graph_assignment_info():
            found[part.ep_name] += [(node.domain, node.op_type) for node in part.get_nodes()]
        return sorted(found[NAME]), [op_type for _, op_type in found[CPU]]

    last = "com.ms.internal.nhwc"
    pools = [(last, "GlobalMaxPool"), (last, "MaxPool"), (last, "MaxPool")]
    mine, others = nodes({"layout": "NHWC"})
    assert mine == [("", "Add"), ("", "Relu"), *pools], mine
    assert len(others) <= 2 and set(others) <= {"Transpose", "Reshape"}, others  # at both ends
    mine, _ = nodes({"layout": "NHWC", "convert": "GlobalMaxPool"})
    assert [node for node in mine if node[1].endswith("Pool")] == [(last, "GlobalMaxPool")], mine
    mine, others = nodes({})
    assert mine == [("", "Add"), ("", "Relu")] and "Transpose" not in others, (mine, others)


def case_claims():
    """How often a provider is asked for its claims: once for each graph, once more where the layout changed."""
    bodies = """<ir_version: 8, opset_import: ["" : 17]>
    g (bool c, float[N] x) => (float[N] y) {
      y = If (c) <then_branch = yes () => (float[N] a) { h = Add (x, x)  a = Neg (h) },
                  else_branch = no () => (float[N] b) { b = Exp (x) }>
    }"""
    for text, options, asked in ((CHAIN, {}, 1), (bodies, {}, 3), (IMAGES, {}, 1), (IMAGES, {"layout": "NHWC"}, 2)):
        before = count_of("claims")
        session("host", options, model=model(text=text))
        assert count_of("claims") - before == asked, (text, options, count_of("claims") - before)


def twice(x):
    return np.concatenate([x, x])


def case_shapes():
    """Kernels that make another shape than their operators say: what comes after them goes by the shape that is there.

    One row of the input makes a shape that no plan of other rows fits.
    """
    text = """<ir_version: 8, opset_import: ["" : 12]>
    g (bool b, float[N, 4] x) => (float[M, 4] y, int64[2] s, float[K] r, float[L, 4] i, float[N, 4] u) {
      a = Add (x, x)
      s = Shape (a)
      t = Exp (a)
      y = Sub (t, a)
      m = Constant <value = int64[1] {-1}> ()
      f = Reshape (t, m)
      z = Abs (x)
      r = Exp (f)
      i = If (b) <then_branch = yes () => (float[A, 4] p) { p = Sin (t) },
                  else_branch = no () => (float[B, 4] q) { w = Exp (x)  q = Add (w, w) }>
      u = Sin (z)
    }"""
    for kind in ("host", "card", "kernels"):
        for parallel in (False, True):
            settings = ort.SessionOptions()
            if parallel:
                settings.execution_mode = ort.ExecutionMode.ORT_PARALLEL
                settings.inter_op_num_threads = 2
            settings.add_provider_for_devices([devices()[kind]], {"operators": "Add", "repeats": "1"})
            made = ort.InferenceSession(model(text=text), sess_options=settings, enable_fallback=0)
            for x in (X, X[:1], X, X[:2], X[:2]):
                for b in (True, False):
                    a = twice(2 * x)
                    t = np.exp(a)
                    branch = np.sin(t) if b else twice(2 * np.exp(x))
                    wanted = (t - a, np.array(a.shape), np.exp(t.reshape(-1)), branch, np.sin(np.abs(x)))
                    for _ in range(2):
                        for found, value in zip(made.run(None, {"x": x, "b": np.array(b)}), wanted):
                            np.testing.assert_allclose(found, value, rtol=1e-5)


def case_lifetimes():
    made = session("host")
    try:
        ort.unregister_execution_provider_library("test")
        raise SystemExit("a library in use was unregistered")
    except Exception as error:  # noqa: BLE001  (either runtime's)
        assert "still in use" in str(error), error
    check(made)
    values = made.run(None, {"x": X})
    del made
    gc.collect()
    ort.unregister_execution_provider_library("test")
    np.testing.assert_allclose(values[0], WANTED, rtol=1e-6)
    assert not is_loaded()
    for _ in range(3):
        ort.register_execution_provider_library("test", LIBRARY)
        check(session("host"))
        gc.collect()
        ort.unregister_execution_provider_library("test")
        assert not is_loaded()
    ort.register_execution_provider_library("test", LIBRARY)


def case_misuse():
    def refused(action, text):
        try:
            action()
        except Exception as error:  # noqa: BLE001
            assert text in str(error), error
        else:
            raise SystemExit(f"expected an error: {text}")

    refused(lambda: ort.register_execution_provider_library("test", LIBRARY), "registered already")
    refused(lambda: ort.register_execution_provider_library("other", LIBRARY + ".missing"), "there is no file")
    refused(lambda: ort.register_execution_provider_library("other", __file__), "cannot be loaded")
    refused(lambda: ort.unregister_execution_provider_library("other"), "no provider library is registered as 'other'")
    options = ort.SessionOptions()
    listed = ort.get_ep_devices()
    refused(lambda: options.add_provider_for_devices([], {}), "at least one device")
    refused(lambda: options.add_provider_for_devices(listed, {}), "expected devices")
    options.add_provider_for_devices([devices()["host"]], {})
    ort.unregister_execution_provider_library("test")
    # The package gives a session that is made from bytes a copy of the options, which the devices no longer go into.
    refused(lambda: ort.InferenceSession(model(), options), "expected devices that GetEpDevices lists")
    path = os.path.join(tempfile.mkdtemp(), "model.onnx")
    with open(path, "wb") as file:
        file.write(model())
    refused(lambda: ort.InferenceSession(path, options), "has been unregistered")
    ort.register_execution_provider_library("test", LIBRARY)


FAULTS_AT_REGISTERING = ("CreateEpFactories", "GetSupportedDevices", "CreateDataTransfer")
FAULTS_AT_LOADING = {"CreateEp": "host", "Compile": "host", "CreateState": "host",
                     "CreateKernel": "kernels", "GetKernelRegistry": "kernels", "CreateAllocator": "card",
                     "GetPreferredDataLayout": "host"}
FAULTS_AT_RUNNING = {"Compute": "host", "OnRunStart": "host", "OnRunEnd": "host", "KernelCompute": "kernels",
                     "CopyTensors": "card", "Alloc": "card"}
# What succeeds and yet is wrong, and what the error says.
WRONG_AT_REGISTERING = {
    "miscount:CreateEpFactories": "CreateEpFactories: it says that it has 2 factories; expected at most 4",
    "incomplete:CreateEpFactories": "expected a factory with GetName, GetVendor",
    "miscount:GetSupportedDevices": "OrtEpFactory::GetSupportedDevices: it says that it supports 5 devices",
    "incomplete:CreateDataTransfer": "CreateDataTransfer: expected Release, CanCopy and CopyTensors, found NULL",
}
WRONG_AT_LOADING = {
    "nothing:CreateEp": ("host", "OrtEpFactory::CreateEp: expected a provider, found NULL"),
    "incomplete:CreateEp": ("host", "OrtEp: expected a function GetName, found NULL"),
    "nothing:Compile": ("host", "OrtNodeComputeInfo with CreateState, Compute and ReleaseState, found none"),
    "incomplete:Compile": ("host", "OrtNodeComputeInfo with CreateState, Compute and ReleaseState, found NULL"),
    "nothing:CreateKernel": ("kernels", "expected a kernel with functions Compute and Release, found none"),
    "incomplete:CreateKernel": ("kernels", "expected a kernel with functions Compute and Release, found NULL"),
    "nothing:CreateAllocator": ("card", "an allocator with Alloc, Free and Info for 'SdxTestCard', found none"),
}


def error_of(fault, action):
    """The text of the one error that it ends in."""
    os.environ["SDX_PLUGIN_FAULT"] = fault
    try:
        action()
    except Exception as error:  # noqa: BLE001
        return str(error)
    finally:
        del os.environ["SDX_PLUGIN_FAULT"]
    raise SystemExit(f"expected an error: {fault}")


def case_faults():
    def fails(fault, action):
        text = error_of(fault, action)
        assert ("planted fault in " + fault in text) or (fault == "Alloc" and "out of memory" in text), text
        # Besides the plug-in's words the error says who was called.
        assert "::" in text or fault in ("CreateEpFactories", "CreateKernel", "Alloc"), text
        text = error_of("throw:" + fault, action)
        assert "threw: planted exception in " + fault in text, text

    ort.unregister_execution_provider_library("test")
    for fault in FAULTS_AT_REGISTERING:
        fails(fault, lambda: ort.register_execution_provider_library("test", LIBRARY))
        assert not is_loaded(), fault
    for fault, words in WRONG_AT_REGISTERING.items():
        text = error_of(fault, lambda: ort.register_execution_provider_library("test", LIBRARY))
        assert words in text, text
        assert not is_loaded(), fault
    ort.register_execution_provider_library("test", LIBRARY)
    for fault, kind in FAULTS_AT_LOADING.items():
        fails(fault, lambda kind=kind: session(kind, model=model(opset=12)))
        check_all_returned()
    for fault, (kind, words) in WRONG_AT_LOADING.items():
        text = error_of(fault, lambda kind=kind: session(kind, model=model(opset=12)))
        assert words in text, text
        check_all_returned()
    for fault, kind in FAULTS_AT_RUNNING.items():
        made = session(kind, model=model(opset=12))
        if fault != "Alloc":
            check(made)
        fails(fault, lambda made=made: made.run(None, {"x": X}))
        check(made)  # the next run is as good as any
        del made
        gc.collect()


def case_other_faults():
    """Of functions that are called only in some sessions: one error that names the function, and nothing is left."""
    def fails(fault, action):
        for planted, what in ((fault, "fault"), ("throw:" + fault, "exception")):
            text = error_of(planted, action)
            assert f"planted {what} in {fault}" in text and "::" in text, text
            check_all_returned()

    def images():
        return session("host", {"layout": "NHWC"}, model=model(text=IMAGES))

    def weightless():
        settings = ort.SessionOptions()
        settings.add_session_config_entry("ep.enable_weightless", "1")
        settings.add_provider_for_devices([devices()["host"]], {"weightless": "all"})
        return ort.InferenceSession(model(), settings, enable_fallback=0)

    def written():
        settings = ort.SessionOptions()
        settings.add_provider_for_devices([devices()["host"]], {})
        compiler = ort.ModelCompiler(settings, model(), embed_compiled_data_into_model=False)
        compiler.set_ep_context_data_write_func(lambda name, data: None)
        return compiler.compile_to_bytes()

    for fault, action in (("ShouldConvertDataLayoutForOp", images), ("GetWeightlessSupport", weightless),
                          ("GetEpContextDataSupport", written), ("GetNumCustomOpDomains", lambda: session("host")),
                          ("GetCustomOpDomains", lambda: session("host"))):
        fails(fault, action)
        assert action() is not None, fault
        check_all_returned()
    made = session("host")
    for planted in ("SetDynamicOptions", "throw:SetDynamicOptions"):
        text = error_of(planted, lambda: made.set_ep_dynamic_options({"ep.dynamic.workload_type": "Efficient"}))
        assert "OrtEp::SetDynamicOptions" in text, text
    made.set_ep_dynamic_options({"ep.dynamic.workload_type": "Efficient"})
    check(made)


def case_refusal():
    os.environ["SDX_PLUGIN_FAULT"] = "GetCapability"  # it then takes nothing
    made = session("host")
    del os.environ["SDX_PLUGIN_FAULT"]
    assert made.get_providers() == [NAME, CPU] and operators(made) == []
    check(made)


def case_selection():
    for policy in range(7):
        settings = ort.SessionOptions()
        settings.set_provider_selection_policy(ort.OrtExecutionProviderDevicePolicy(policy))
        made = ort.InferenceSession(model(), settings)
        assert made.get_providers() == [NAME, CPU], (policy, made.get_providers())
        check(made)

    def choose(offered, of_model, of_runtime, most):
        assert offered[-1].ep_name == CPU and of_model["graph_name"] == "g" and most == 8, (offered, of_model, most)
        return [device for device in offered if device.ep_metadata.get("kind") == "kernels"]

    settings = ort.SessionOptions()
    settings.set_provider_selection_policy_delegate(choose)
    made = ort.InferenceSession(model(opset=12), settings)
    check(made)
    assert counts()["kernels"] == 5, counts()


def case_dynamic_options():
    made = session("host")
    made.set_ep_dynamic_options({"ep.dynamic.workload_type": "Efficient"})
    try:
        made.set_ep_dynamic_options({"ep.dynamic.workload_type": "Wasteful"})
    except Exception as error:  # noqa: BLE001
        assert "unknown dynamic option ep.dynamic.workload_type = Wasteful" in str(error), error
    else:
        raise SystemExit("expected the provider's error")
    check(made)


def check_all_returned():
    gc.collect()
    left = counts()
    # ONNX Runtime itself keeps an allocator of each device, and data transfers of its own.
    own = () if OF_SARDONYX else ("allocators", "transfers")
    assert left.pop("factories") == 1 and (left.pop("transfers") == 1 or own), left
    assert not any(count for kind, count in left.items() if kind not in own), left


def main():
    ort.register_execution_provider_library("test", LIBRARY)
    globals()["case_" + sys.argv[1]]()
    check_all_returned()
    ort.unregister_execution_provider_library("test")
    assert not (OF_SARDONYX and is_loaded())  # ONNX Runtime keeps it open
    print("passed")


if __name__ == "__main__":
    main()
