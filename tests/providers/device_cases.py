"""Streams and memory of the plug-in of tests/providers/plugin, through the C interface; test_devices.py runs each
case in a process of its own, in Sardonyx and in ONNX Runtime.

usage: python device_cases.py CASE RUNTIME PLUGIN     (two libraries)
"""
import ctypes
import json
import os
import sys
import tempfile
import threading

import numpy as np
import onnx.parser
from memory_cases import DEVICE_ALLOCATOR, DEVICE_MEMORY, FLOAT, Api, P, flush

RUNTIME, PLUGIN = sys.argv[2], sys.argv[3]
OF_SARDONYX = "sardonyx" in os.path.basename(RUNTIME)
HOST_ACCESSIBLE = 5
X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
# On the device but for Tanh, so that values cross to the host and back.
CHAIN = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[N, 4] x) => (float[N, 4] y) <float[4] w = {1, 2, 3, 4}> {
  a = Mul (x, w)
  b = Add (a, x)
  c = Relu (b)
  d = Tanh (c)
  e = Add (d, d)
  y = Neg (e)
}"""
W = np.array([1, 2, 3, 4], np.float32)
WHOLE = CHAIN.replace("Tanh", "Sqrt")  # all of it on the device


def wanted(x, function=np.tanh):
    return -2 * function(np.maximum(x * W + x, 0))


api = Api(RUNTIME)


def ep_api(slot, result, *arguments):
    """Calls a function of OrtEpApi on handles."""
    table = ctypes.cast(api("GetEpApi", result=P), ctypes.POINTER(P))
    return ctypes.CFUNCTYPE(result, *[P] * len(arguments))(table[slot])(*arguments)


def texts(values):
    return (ctypes.c_char_p * max(len(values), 1))(*[value.encode() for value in values])


class Plugin:
    """The plug-in's library, registered, and its device 'card' with its memory."""

    def __init__(self):
        self.forgotten = {}
        self.env = api.out("CreateEnv", 3, b"test")
        api("RegisterExecutionProviderLibrary", self.env, b"test", PLUGIN.encode())
        listed, count = P(), ctypes.c_size_t()
        api("GetEpDevices", self.env, ctypes.byref(listed), ctypes.byref(count))
        devices = [ctypes.cast(listed, ctypes.POINTER(P))[i] for i in range(count.value)]
        self.kinds = {}
        for device in devices:
            if api("EpDevice_EpName", device, result=ctypes.c_char_p) != b"SdxTestProvider":
                continue
            metadata = api("EpDevice_EpMetadata", device, result=P)
            self.kinds[api("GetKeyValue", metadata, b"kind", result=ctypes.c_char_p).decode()] = device
        self.card = self.kinds["card"]
        self.info = api("EpDevice_MemoryInfo", self.card, DEVICE_MEMORY, result=P)
        self.host = api.out("CreateCpuMemoryInfo", DEVICE_ALLOCATOR, 0)
        self.count = ctypes.CDLL(PLUGIN).TestPluginCount
        self.count.restype, self.count.argtypes = ctypes.c_long, [ctypes.c_char_p]

    def event(self, name):
        value = self.count(b"event " + name.encode())
        assert value >= 0, name
        return value - self.forgotten.get(name, 0)

    def forget(self, name):
        """What has happened counts from now on."""
        self.forgotten[name] = self.event(name) + self.forgotten.get(name, 0)

    def alive(self, kind):
        value = self.count(kind.encode())
        assert value >= 0, kind
        return value

    def session(self, text=CHAIN, options=None, config=None, kind="card", profile=None):
        settings = api.out("CreateSessionOptions")
        for key, value in (config or {}).items():
            api("AddSessionConfigEntry", settings, key.encode(), value.encode())
        if profile:
            api("EnableProfiling", settings, profile.encode())
        keys, values = texts(list(options or {})), texts(list((options or {}).values()))
        api("SessionOptionsAppendExecutionProvider_V2", settings, self.env, (P * 1)(self.kinds[kind]), 1, keys, values,
            len(options or {}))
        model = onnx.parser.parse_model(text).SerializeToString()
        made = api.out("CreateSessionFromArray", self.env, model, len(model), settings)
        api("ReleaseSessionOptions", settings, result=P)
        return made

    def on_host(self, array):
        shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        return api.out("CreateTensorWithDataAsOrtValue", self.host, array.ctypes.data_as(P), array.nbytes, shape,
                       array.ndim, FLOAT)

    def on_card(self, shape):
        allocator = api.out("GetSharedAllocator", self.env, self.info)
        return api.out("CreateTensorAsOrtValue", allocator, (ctypes.c_int64 * len(shape))(*shape), len(shape), FLOAT)

    def copy(self, source, target, stream=None):
        api("CopyTensors", self.env, (P * 1)(source.value), (P * 1)(target.value), stream, 1)

    def to_card(self, array):
        value, here = self.on_card(array.shape), self.on_host(array)
        self.copy(here, value)
        release("Value", here)
        return value

    def from_card(self, value, shape):
        array = np.zeros(shape, np.float32)
        here = self.on_host(array)
        self.copy(value, here)
        release("Value", here)
        return array

    def done(self):
        """At the end of a case: everything was given back, and no work was lost."""
        release("MemoryInfo", self.host)
        assert self.event("lost") == 0 or not OF_SARDONYX
        for kind in ("providers", "compiled_nodes", "states", "blocks", "streams", "notifications", "kernels",
                     "profilers"):
            assert self.alive(kind) == 0, (kind, self.alive(kind))
        api("UnregisterExecutionProviderLibrary", self.env, b"test")


def release(kind, *handles):
    for handle in handles:
        api("Release" + kind, handle, result=P)


def run(session, feeds, outputs, options=None):
    """`feeds` and `outputs`: values by name; an output of None is made by the run, and returned."""
    results = (P * len(outputs))(*[value.value if value else None for value in outputs.values()])
    api("Run", session, options, texts(list(feeds)), (P * len(feeds))(*[value.value for value in feeds.values()]),
        len(feeds), texts(list(outputs)), len(outputs), results)
    return [P(result) for result in results]


def array_of(value, shape):
    data = api.out("GetTensorMutableData", value)
    size = int(np.prod(shape))
    return np.ctypeslib.as_array(ctypes.cast(data, ctypes.POINTER(ctypes.c_float)), (size,)).reshape(shape).copy()


def run_on_host(plugin, session, x, options=None):
    given = plugin.on_host(x)
    [made] = run(session, {"x": given}, {"y": None}, options)
    result = array_of(made, x.shape)
    release("Value", given, made)
    return result


def check(result, x=X, function=np.tanh):
    np.testing.assert_allclose(result, wanted(x, function), rtol=1e-6)


class Changes:
    """What has happened since the last call."""

    NAMES = ("copies", "streamed", "activated", "host_waits", "device_waits", "flushes", "run_ends", "own_streams",
             "captured_runs", "replayed", "synced", "profiled")

    def __init__(self, plugin):
        self.plugin, self.before = plugin, {}
        self()

    def __call__(self):
        now = {name: self.plugin.event(name) for name in self.NAMES}
        changed = {name: now[name] - self.before.get(name, 0) for name in self.NAMES}
        self.before = now
        return {name: count for name, count in changed.items() if count}


def fails(text, action, *arguments):
    """The message names who was called, and says what is in `text`."""
    try:
        action(*arguments)
    except RuntimeError as error:
        assert text in str(error) and ("::" in str(error) or "planted" not in text or not OF_SARDONYX), error
    else:
        raise SystemExit(f"expected an error: {text}")


def check_counts(found, **sardonyx):
    """What a run of Sardonyx does, exactly; ONNX Runtime waits and copies at other places."""
    assert found.get("flushes") == found.get("run_ends") == 1 and found["streamed"] > 0, found
    assert not OF_SARDONYX or found == {"flushes": 1, "run_ends": 1, **sardonyx}, found


def case_streams():
    plugin = Plugin()
    session = plugin.session()
    assert plugin.alive("streams") == 0
    changes = Changes(plugin)
    for x in (X, X, np.ascontiguousarray(X[:2]), X):  # other shapes, and back
        check(run_on_host(plugin, session, x), x)
        # The host waits once: for the input of Tanh.
        check_counts(changes(), copies=4, streamed=6, activated=1, host_waits=1)
        assert plugin.alive("streams") == 1
    other = plugin.session(WHOLE, {"own_streams": "1"})  # made by the provider in place of its factory
    changes()
    check(run_on_host(plugin, other, X), X, np.sqrt)
    check_counts(changes(), copies=2, streamed=3, own_streams=1)  # nobody but the caller reads on the host
    release("Session", session, other)
    plugin.done()


# The copy of what Tanh gives may not have begun when Exp, Sin and Cos run: they must not write over it.
REUSED = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[N, 4] x) => (float[N, 4] y) {
  s = Relu (x)
  k = Sinh (s)
  a = Tanh (x)
  b = Neg (a)
  c = Exp (k)
  d = Neg (c)
  e = Sin (c)
  f = Neg (e)
  g = Cos (e)
  h = Add (b, d)
  i = Add (f, h)
  y = Add (g, i)
}"""
# Views of what a stream makes, bodies that run again, values that bodies capture, shapes that only the run knows.
VIEWED = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[N, 4] x) => (float[M] y) <int64[1] flat = {-1}> {
  a = Neg (x)
  b = Reshape (a, flat)
  y = Tanh (b)
}"""
LOOPED = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[N, 4] x, int64 n) => (float[N, 4] y, float[K, N, 4] all) {
  s = Neg (x)
  t = Tanh (s)
  more = Constant <value = bool {1}> ()
  y, all = Loop (n, more, x) <body = b (int64 i, bool c, float[N, 4] v) => (bool k, float[N, 4] w, float[N, 4] out) {
    k = Identity (c)
    p = Add (v, s)
    q = Tanh (p)
    r = Mul (q, t)
    out = Add (r, v)
    w = Sub (r, s)
  }>
}"""
UNKNOWN = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[N, 4] x) => (float[M] y) {
  a = Neg (x)
  p = Greater (a, x)
  b = Compress (a, p)
  q = Add (b, b)
  r = Tanh (q)
  y = Mul (r, q)
}"""


def looped(x, n):
    s, v, outs = -x, x, []
    t = np.tanh(s)
    for _ in range(n):
        r = np.tanh(v + s) * t
        outs.append(r + v)
        v = r - s
    return v, np.stack(outs)


def case_crossings():
    plugin = Plugin()
    session = plugin.session(REUSED)
    for _ in range(2):
        a = np.tanh(X)
        c = np.exp(np.sinh(np.maximum(X, 0)))
        e = np.sin(c)
        np.testing.assert_allclose(run_on_host(plugin, session, X), np.cos(e) - a - c - e, rtol=1e-5)
    release("Session", session)
    given = plugin.on_host(X)
    session = plugin.session(VIEWED)
    [made] = run(session, {"x": given}, {"y": None})
    np.testing.assert_allclose(array_of(made, (12,)), np.tanh(-X.ravel()), rtol=1e-6)
    release("Value", made)
    release("Session", session)
    session = plugin.session(UNKNOWN)
    for x in (X, X[:2], X):
        here = np.ascontiguousarray(x)
        value = plugin.on_host(here)
        [made] = run(session, {"x": value}, {"y": None})
        want = 2 * -x[-x > x]
        np.testing.assert_allclose(array_of(made, want.shape), np.tanh(want) * want, rtol=1e-6)
        release("Value", made, value)
    release("Value", given)
    release("Session", session)
    plugin.done()


def case_loops():
    plugin = Plugin()
    given = plugin.on_host(X)
    session = plugin.session(LOOPED)
    counts = np.array(3, np.int64)
    turns = api.out("CreateTensorWithDataAsOrtValue", plugin.host, counts.ctypes.data_as(P), 8, None, 0, 7)
    for _ in range(2):
        made = run(session, {"x": given, "n": turns}, {"y": None, "all": None})
        for value, want in zip(made, looped(X, 3)):
            np.testing.assert_allclose(array_of(value, want.shape), want, rtol=1e-5, atol=1e-6)
        release("Value", *made)
    release("Session", session)
    release("Value", turns, given)
    plugin.done()


# What a loop, a scan and the branches of an If pass on, one within the other.
PASSED_ON = """
<ir_version: 8, opset_import: ["" : 12]>
g (bool c, int64 n, float[N, 4] x) => (float[N, 4] y, float[M, N, 4] all, float[4] z, float[N, 4] rows) {
  go = Constant <value = bool {1}> ()
  y, made = Loop (n, go, x) <body = turn (int64 i, bool on, float[N, 4] v)
                             => (bool o, float[N, 4] u, float[N, 4] m) {
    o = Identity (on)
    f = If (c) <then_branch = yes () => (float[N, 4] p) { p = Add (v, x) },
                else_branch = no () => (float[N, 4] q) { h = Mul (v, x)  q = Neg (h) }>
    r = Loop (n, on, f) <body = inner (int64 j, bool on2, float[N, 4] a) => (bool o2, float[N, 4] b) {
      o2 = Identity (on2)
      b = Add (a, x)
    }>
    u = Mul (r, x)
    m = Neg (r)
  }>
  all = Neg (made)
  s = Constant <value = float[4] {1, 2, 3, 4}> ()
  z, sums = Scan <num_scan_inputs = 1, scan_input_directions = [1],
                  body = row (float[4] state, float[4] given) => (float[4] next, float[4] sum) {
    next = Add (state, given)
    sum = Add (next, given)
  }> (s, x)
  rows = Add (sums, x)
}"""


def passed_on(c, n, x):
    y, made, state, sums = x, np.zeros((0, *x.shape), np.float32), W, np.zeros((0, 4), np.float32)
    for _ in range(n):
        y = (y + x if c else -(y * x))
        for _ in range(n):
            y = y + x
        made = np.concatenate([made, [y]])
        y = y * x
    for row in x[::-1]:
        state = state + row
        sums = np.concatenate([sums, [state + row]])
    return y, made, state, sums + x


def case_passed_on():
    """It stays on the card: x goes there, the outputs come back."""
    plugin = Plugin()
    kernels = [("card_kernels", {"control_flow": claimed}) for claimed in "01"]
    for kind, options in (("card", {}), *kernels):
        session = plugin.session(PASSED_ON, options, kind=kind)
        for c, n, rows in ((True, 3, 3), (False, 2, 3), (True, 0, 2), (False, 3, 2), (True, 1, 0), (True, 3, 3)):
            x, flag, turns = np.ascontiguousarray(X[:rows]), np.array(c), np.array(n, np.int64)
            given = [plugin.on_host(x)]
            for array, element in ((flag, 9), (turns, 7)):
                given.append(api.out("CreateTensorWithDataAsOrtValue", plugin.host, array.ctypes.data_as(P),
                                     array.nbytes, None, 0, element))
            before = plugin.event("copies") - plugin.event("within")
            made = run(session, dict(zip("xcn", given)), {"y": None, "all": None, "z": None, "rows": None})
            copied = plugin.event("copies") - plugin.event("within") - before
            for value, want in zip(made, passed_on(c, n, x)):
                if want.size:
                    np.testing.assert_allclose(array_of(value, want.shape), want, rtol=1e-5, atol=1e-6)
            assert copied == (5 if rows * n else 4 if rows else 1), (kind, c, n, rows, copied)
            release("Value", *given, *made)
        release("Session", session)
    plugin.done()


def case_given_stream():
    plugin = Plugin()
    session = plugin.session()
    check(run_on_host(plugin, session, X))
    stream = api.out("CreateSyncStreamForEpDevice", plugin.card, None)
    options = api.out("CreateRunOptions")
    changes = Changes(plugin)
    for given in (stream, stream, None):
        api("RunOptionsSetSyncStream", options, given, result=P)
        check(run_on_host(plugin, session, X, options))
        check_counts(changes(), copies=4, streamed=6, activated=1, host_waits=1)
        assert plugin.alive("streams") == 2  # the caller's, and one that the session keeps
    # It has been waited for twice, at one point of each run; no stream has waited for it.
    assert ep_api(14, ctypes.c_uint64, stream) == 2 and ep_api(15, ctypes.c_uint64, stream, stream) == 0
    api("RunOptionsSetSyncStream", options, stream, result=P)
    if OF_SARDONYX:  # options keep the stream, and a session on the host has no use for it
        release("SyncStream", stream)
        check(run_on_host(plugin, session, X, options))
        host = plugin.session(kind="host")
        fails("expected one for the device of a provider of this session", run_on_host, plugin, host, X, options)
        release("Session", host)
        release("RunOptions", options)
    else:
        release("RunOptions", options)
        release("SyncStream", stream)
    assert plugin.alive("streams") == 1
    release("Session", session)
    plugin.done()


def case_faults():
    plugin = Plugin()
    for fault, options in (("CreateSyncStreamForDevice", {}), ("CreateOwnStream", {"own_streams": "1"}),
                           ("CreateNotification", {}), ("Activate", {}), ("WaitOnHost", {}), ("Flush", {}),
                           ("OnSessionRunEnd", {})):
        session = plugin.session(options=options)
        for planted, words in ((fault, "planted fault in " + fault),
                               ("throw:" + fault, "threw: planted exception in " + fault)):
            os.environ["SDX_PLUGIN_FAULT"] = planted
            fails(words, run_on_host, plugin, session, X)
            del os.environ["SDX_PLUGIN_FAULT"]
        # What a stream cannot finish goes with it.
        assert bool(plugin.event("lost")) == (fault == "Flush"), (fault, plugin.event("lost"))
        check(run_on_host(plugin, session, X))  # the next run is as good as any
        release("Session", session)
        plugin.forget("lost")
    for fault, words in (("nothing:CreateStream", "expected a stream with Release and GetHandle, found none"),
                         ("incomplete:CreateStream", "expected a stream with Release and GetHandle, found NULL"),
                         ("nothing:CreateNotification", "expected a notification with Release, Activate and"),
                         ("incomplete:CreateNotification", "expected a notification with Release, Activate and")):
        session = plugin.session()
        os.environ["SDX_PLUGIN_FAULT"] = fault
        fails(words, run_on_host, plugin, session, X)
        del os.environ["SDX_PLUGIN_FAULT"]
        check(run_on_host(plugin, session, X))
        release("Session", session)
        assert plugin.alive("streams") == plugin.alive("notifications") == 0
    # A node that fails does so when others before it are under way, in memory that is then used again.
    session = plugin.session()
    os.environ["SDX_PLUGIN_FAULT"] = "Compute"
    fails("planted fault in Compute", run_on_host, plugin, session, X)
    del os.environ["SDX_PLUGIN_FAULT"]
    check(run_on_host(plugin, session, X))
    release("Session", session)
    plugin.done()


class Binding:
    def __init__(self, session):
        self.session, self.handle = session, api.out("CreateIoBinding", session)

    def input(self, name, value):
        api("BindInput", self.handle, name.encode(), value)

    def output(self, name, value):
        api("BindOutput", self.handle, name.encode(), value)

    def output_on(self, name, info):
        api("BindOutputToDevice", self.handle, name.encode(), info)

    def run(self, options=None):
        api("RunWithBinding", self.session, options, self.handle)

    def outputs(self):
        values, count = P(), ctypes.c_size_t()
        allocator = api.out("GetAllocatorWithDefaultOptions")
        api("GetBoundOutputValues", self.handle, allocator, ctypes.byref(values), ctypes.byref(count))
        listed = [P(ctypes.cast(values, ctypes.POINTER(P))[i]) for i in range(count.value)]
        api("AllocatorFree", allocator, values)
        return listed

    def release(self):
        release("IoBinding", self.handle)


def case_binding():
    plugin = Plugin()
    session = plugin.session(WHOLE)
    binding = Binding(session)
    x, y = plugin.to_card(X), plugin.on_card(X.shape)
    changes = Changes(plugin)
    binding.input("x", x)
    binding.output("y", y)
    for _ in range(2):
        binding.run()
        assert changes() == {"streamed": 1, "flushes": 1, "run_ends": 1}  # and nothing is copied
    check(plugin.from_card(y, X.shape), X, np.sqrt)
    binding.output_on("y", plugin.info)
    changes()
    binding.run()
    assert changes() == {"streamed": 1, "flushes": 1, "run_ends": 1}
    [made] = binding.outputs()
    check(plugin.from_card(made, X.shape), X, np.sqrt)
    # The input's own memory, and a part of it, as the output.
    binding.output("y", x)
    for _ in range(2):
        x = plugin.to_card(X) if _ else x
        binding.input("x", x)
        binding.output("y", x)
        binding.run()
        check(plugin.from_card(x, X.shape), X, np.sqrt)
        release("Value", x)
    # A value on the host, and one that only the host reads.
    changes()
    given = plugin.on_host(X)
    binding.input("x", given)
    binding.output("y", y)
    binding.run()
    assert changes()["copies"] == 1
    check(plugin.from_card(y, X.shape), X, np.sqrt)
    binding.release()
    release("Session", session)
    session = plugin.session(WHOLE.replace("Mul (x, w)", "Sin (x)"))
    x = plugin.to_card(X)
    [kept] = run(session, {"x": x}, {"y": y})
    assert kept.value == y.value
    np.testing.assert_allclose(plugin.from_card(y, X.shape), -2 * np.sqrt(np.maximum(np.sin(X) + X, 0)), rtol=1e-6)
    release("Value", x, y, given)
    release("Session", session)
    # A value outlives the session that made it.
    check(plugin.from_card(made, X.shape), X, np.sqrt)
    release("Value", made)
    plugin.done()


def case_handed_over():
    """What one session leaves on the device is what the next one reads."""
    plugin = Plugin()
    first, second = plugin.session(WHOLE), plugin.session(WHOLE)
    one, two = Binding(first), Binding(second)
    x = plugin.to_card(X)
    changes = Changes(plugin)
    one.input("x", x)
    one.output_on("y", plugin.info)
    one.run()
    [between] = one.outputs()
    two.input("x", between)
    two.output_on("y", plugin.info)
    two.run()
    [made] = two.outputs()
    assert "copies" not in changes()
    check(plugin.from_card(made, X.shape), wanted(X, np.sqrt), np.sqrt)
    for binding in (one, two):
        binding.release()
    release("Value", x, between, made)
    release("Session", first, second)
    plugin.done()


def case_unsynchronized():
    plugin = Plugin()
    session = plugin.session(WHOLE)
    options = api.out("CreateRunOptions")
    api("AddRunConfigEntry", options, b"disable_synchronize_execution_providers", b"1")
    stream = api.out("CreateSyncStreamForEpDevice", plugin.card, None)
    api("RunOptionsSetSyncStream", options, stream, result=P)
    binding = Binding(session)
    x, y, z = plugin.to_card(X), plugin.to_card(X), plugin.to_card(X)
    binding.input("x", x)
    binding.output("y", y)
    changes = Changes(plugin)
    binding.run(options)
    assert changes() == {"streamed": 1}
    assert (plugin.from_card(y, X.shape) == X).all()  # not yet
    # The next run on the stream follows: neither waits.
    binding.input("x", y)
    binding.output("y", z)
    changes()
    binding.run(options)
    assert changes() == {"streamed": 1}
    back = np.zeros_like(X)
    here = plugin.on_host(back)
    plugin.copy(z, here, stream)
    flush(api, stream)
    check(back, wanted(X, np.sqrt), np.sqrt)
    # What comes to the host by a copy of the stream is there when the caller says so, if not at once.
    binding.output("y", here)
    binding.run(options)
    flush(api, stream)
    check(back, wanted(X, np.sqrt), np.sqrt)
    binding.run(options)
    binding.release()
    release("Session", session)  # waits for what it has begun
    release("Value", x, y, z, here)
    release("RunOptions", options)
    release("SyncStream", stream)
    plugin.done()


# The host reads x, and the card what comes of it.
HOST_FIRST = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[N, 4] x) => (float[N, 4] y) {
  t = Tanh (x)
  y = Neg (t)
}"""


def case_borders():
    """A value on the card that the host reads is copied after what the caller's stream still has to do to it."""
    plugin = Plugin()
    first, second = plugin.session(WHOLE), plugin.session(HOST_FIRST)
    options, later = api.out("CreateRunOptions"), api.out("CreateRunOptions")
    stream = api.out("CreateSyncStreamForEpDevice", plugin.card, None)
    for made in (options, later):
        api("RunOptionsSetSyncStream", made, stream, result=P)
    api("AddRunConfigEntry", options, b"disable_synchronize_execution_providers", b"1")
    one, two = Binding(first), Binding(second)
    x, between, y = plugin.to_card(X), plugin.to_card(X), plugin.on_card(X.shape)
    one.input("x", x)
    one.output("y", between)
    two.output("y", y)
    for run_options in (later, options):
        one.run(options)
        two.input("x", between)
        two.run(run_options)
        flush(api, stream)
        np.testing.assert_allclose(plugin.from_card(y, X.shape), -np.tanh(wanted(X, np.sqrt)), rtol=1e-6)
    if OF_SARDONYX:  # nothing is left to be done where the copy fails
        one.run(options)
        os.environ["SDX_PLUGIN_FAULT"] = "CopyTensors"
        fails("planted fault in CopyTensors", two.run, later)
        os.environ["SDX_PLUGIN_FAULT"] = "Flush"
        fails("planted fault in Flush", two.run, later)
        del os.environ["SDX_PLUGIN_FAULT"]
        two.run(later)
        np.testing.assert_allclose(plugin.from_card(y, X.shape), -np.tanh(wanted(X, np.sqrt)), rtol=1e-6)
        flush(api, stream)
    for binding in (one, two):
        binding.release()
    release("Session", first, second)
    release("Value", x, between, y)
    release("RunOptions", options, later)
    release("SyncStream", stream)
    plugin.done()


def case_own_borders():
    """Without a stream of the caller the session's own takes such copies: the host waits once, before it reads."""
    plugin = Plugin()
    session = plugin.session(HOST_FIRST)
    changes = Changes(plugin)
    for rows in (3, 400, 3):  # plans look into short inputs, and nobody into long ones before they are read
        x = np.linspace(-1, 1, rows * 4, dtype=np.float32).reshape(rows, 4)
        there, y = plugin.to_card(x), plugin.on_card(x.shape)
        binding = Binding(session)
        binding.input("x", there)
        binding.output("y", y)
        changes()
        for _ in range(2):
            binding.run()
            found = changes()
            expected = {"copies": 2, "streamed": 3, "activated": 1, "host_waits": 1, "flushes": 1, "run_ends": 1}
            assert found == expected or not OF_SARDONYX, found
        np.testing.assert_allclose(plugin.from_card(y, x.shape), -np.tanh(x), rtol=1e-6)
        binding.release()
        release("Value", there, y)
    if OF_SARDONYX:
        x, y = plugin.to_card(X), plugin.on_card(X.shape)
        for fault in ("CopyTensors", "CreateNotification", "Activate", "WaitOnHost", "Flush"):
            other = plugin.session(HOST_FIRST)
            binding = Binding(other)
            binding.input("x", x)
            binding.output("y", y)
            os.environ["SDX_PLUGIN_FAULT"] = fault
            fails("planted fault in " + fault, binding.run)
            del os.environ["SDX_PLUGIN_FAULT"]
            binding.run()
            np.testing.assert_allclose(plugin.from_card(y, X.shape), -np.tanh(X), rtol=1e-6)
            binding.release()
            release("Session", other)
        plugin.forget("lost")
        release("Value", x, y)
    release("Session", session)
    plugin.done()


def listed(function, session):
    found = (P * 1)()
    api(function, session, found, 1)
    return found[0]


def case_places():
    """Where a session takes its input and gives its output, and by which device."""
    plugin = Plugin()
    for kind, on_card in (("card", True), ("host", False)):
        session = plugin.session(WHOLE, kind=kind)
        for port in ("Inputs", "Outputs"):
            info = P(listed("SessionGetMemoryInfoFor" + port, session))
            name = ctypes.cast(api.out("MemoryInfoGetName", info), ctypes.c_char_p).value
            assert name == (b"SdxTestCard" if on_card else b"Cpu"), name
            device = listed("SessionGetEpDeviceFor" + port, session)
            # ONNX Runtime names the first device of the provider, whichever the session has.
            assert device == plugin.kinds[kind] or not OF_SARDONYX
            assert api("EpDevice_EpName", P(device), result=ctypes.c_char_p) == b"SdxTestProvider"
        release("Session", session)
    session = plugin.session(CHAIN, {"operators": "none"})
    for port in ("Inputs", "Outputs"):
        device = P(listed("SessionGetEpDeviceFor" + port, session))
        assert api("EpDevice_EpName", device, result=ctypes.c_char_p) == b"CPUExecutionProvider"
    release("Session", session)
    plugin.done()


def case_allocators():
    plugin = Plugin()
    own = plugin.session(WHOLE)
    api.out("GetSharedAllocator", plugin.env, plugin.info)
    before = plugin.alive("allocators")
    shared = plugin.session(WHOLE, config={"session.use_env_allocators": "1"})
    assert plugin.alive("allocators") == before
    check(run_on_host(plugin, shared, X), X, np.sqrt)
    binding = Binding(shared)
    x = plugin.to_card(X)
    binding.input("x", x)
    binding.output_on("y", plugin.info)
    binding.run()
    [made] = binding.outputs()
    binding.release()
    release("Session", own, shared)
    if OF_SARDONYX:  # a value keeps the library: ONNX Runtime takes it away
        fails("'test' is still in use", api, "UnregisterExecutionProviderLibrary", plugin.env, b"test")
    check(plugin.from_card(made, X.shape), X, np.sqrt)
    release("Value", x, made)
    if OF_SARDONYX:
        os.environ["SDX_PLUGIN_FAULT"] = "IncompleteAllocator"
        before = plugin.alive("allocators")
        fails("CreateAllocator: expected an allocator with Alloc, Free and Info for 'SdxTestCard'", plugin.session)
        del os.environ["SDX_PLUGIN_FAULT"]
        assert plugin.alive("allocators") == before  # it was given back
    plugin.done()


def case_capture():
    plugin = Plugin()
    session = plugin.session(WHOLE, {"graph_capture": "1", "separate": "1"})
    binding = Binding(session)
    x, y = plugin.to_card(X), plugin.on_card(X.shape)
    binding.input("x", x)
    binding.output("y", y)
    changes = Changes(plugin)
    once = {"streamed": 6, "flushes": 1, "run_ends": 1}
    captured = {"captured_runs": 2, **{name: 2 * count for name, count in once.items()}}  # one run only warms up
    replayed = {"replayed": 1, "synced": 1}
    binding.run()
    assert changes() == captured
    check(plugin.from_card(y, X.shape), X, np.sqrt)
    other = np.ascontiguousarray(X[::-1])
    here = plugin.on_host(other)
    plugin.copy(here, x)
    changes()
    for _ in range(2):
        binding.run()
        assert changes() == replayed
    check(plugin.from_card(y, X.shape), other, np.sqrt)
    # The graph owns the memory of its run: another run takes other memory.
    options = api.out("CreateRunOptions")
    before = plugin.alive("blocks")
    changes()
    for id, happened in (("-1", once), ("7", captured), ("7", replayed), ("-1", once), ("0", replayed)):
        api("AddRunConfigEntry", options, b"gpu_graph_id", id.encode())
        binding.run(options)
        assert changes() == happened, (id, happened)
        check(plugin.from_card(y, X.shape), other, np.sqrt)
        changes()
    assert plugin.alive("blocks") > before or not OF_SARDONYX
    api("AddRunConfigEntry", options, b"gpu_graph_id", b"junk")
    fails("junk", binding.run, options)
    api("SessionReleaseCapturedGraph", session, 7)
    api("AddRunConfigEntry", options, b"gpu_graph_id", b"7")
    binding.run(options)
    assert changes() == captured
    if OF_SARDONYX:  # ONNX Runtime replays whatever is bound
        fails("input 'x': expected the tensor that was bound when the graph was captured", run_on_host, plugin, session,
              X)
        binding.output("y", x)
        fails("output 'y': expected the tensor that was bound when the graph was captured", binding.run)
        binding.output("y", y)
        for fault, action in (("ReplayGraph", binding.run), ("Sync", binding.run), ("ReleaseCapturedGraph", lambda: api(
                "SessionReleaseCapturedGraph", session, 0))):
            os.environ["SDX_PLUGIN_FAULT"] = fault
            fails("planted fault in " + fault, action)
            del os.environ["SDX_PLUGIN_FAULT"]
        binding.run()
    # Nodes of other providers cannot be captured.
    for policy in ("1", "shapes"):
        fails("SdxTestProvider", plugin.session, CHAIN, {"graph_capture": policy})
        release("Session", plugin.session(WHOLE, {"graph_capture": policy}))
    binding.release()
    release("Value", x, y, here)
    release("RunOptions", options)
    release("Session", session)
    plugin.done()


def events_of(path):
    with open(path) as file:
        return json.load(file)


def kernel_events(events):
    """Those that the plug-in has measured, checked against the nodes that they belong to."""
    nodes = {event["name"]: event for event in events if event["cat"] == "Node"}
    found = [event for event in events if event["cat"] == "Kernel"]
    for event in found:
        parent = nodes[event["args"]["parent"]]
        assert event["name"] == "card:" + parent["name"] and parent["args"]["provider"] == "SdxTestProvider", event
        assert (event["pid"], event["tid"]) == (1, 2) and event["args"]["correlation"].isdigit(), event
    numbers = [event["args"]["correlation"] for event in found]
    assert len(set(numbers)) == len(numbers)
    # In Sardonyx copies belong to the provider, too.
    return [event for event in found if not nodes[event["args"]["parent"]]["args"]["op_name"].startswith("Memcpy")]


def errors_of(action):
    """What it writes to the standard error stream."""
    with tempfile.TemporaryFile() as file:
        kept = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            action()
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        file.seek(0)
        return file.read().decode()


def case_profile():
    plugin = Plugin()
    with tempfile.TemporaryDirectory() as folder:
        session = plugin.session(profile=os.path.join(folder, "whole"))
        check(run_on_host(plugin, session, X))
        check(run_on_host(plugin, session, X))
        name = api.out("SessionEndProfiling", session, api.out("GetAllocatorWithDefaultOptions"))
        events = events_of(ctypes.cast(name, ctypes.c_char_p).value.decode())
        assert len(kernel_events(events)) == 4
        assert plugin.alive("profilers") == 0 or not OF_SARDONYX  # ONNX Runtime keeps them with the session
        check(run_on_host(plugin, session, X))
        release("Session", session)
        # Of one run.
        session = plugin.session()
        assert plugin.alive("profilers") == 0 or not OF_SARDONYX
        options = api.out("CreateRunOptions")
        api("RunOptionsEnableProfiling", options, os.path.join(folder, "run").encode())
        check(run_on_host(plugin, session, X, options))
        [path] = [name for name in os.listdir(folder) if name.startswith("run")]
        assert len(kernel_events(events_of(os.path.join(folder, path)))) == 2
        # What fails is told, and the run is as good as any.
        for fault in ("CreateProfiler", "StartProfiling", "StartEvent", "StopEvent", "EndProfiling"):
            os.environ["SDX_PLUGIN_FAULT"] = fault
            told = errors_of(lambda: check(run_on_host(plugin, session, X, options)))
            del os.environ["SDX_PLUGIN_FAULT"]
            assert "planted fault in " + fault in told and "::" + fault in told, told
        os.environ["SDX_PLUGIN_FAULT"] = "Compute"
        told = errors_of(lambda: fails("planted fault in Compute", run_on_host, plugin, session, X, options))
        del os.environ["SDX_PLUGIN_FAULT"]
        assert "events do not nest" not in told, told
        assert not errors_of(lambda: check(run_on_host(plugin, session, X, options)))
    release("RunOptions", options)
    release("Session", session)
    plugin.done()


def case_threads():
    """Libraries come and go, and sessions are made, run and closed, on several threads at once."""
    plugin = Plugin()
    shared = plugin.session(options={"separate": "1"})
    bound = plugin.session(WHOLE)
    failures, refused = [], []

    def run_shared():
        for x in (X, np.ascontiguousarray(X[:2])) * 10:
            check(run_on_host(plugin, shared, x), x)

    def run_bound():
        binding, x = Binding(bound), plugin.to_card(X)
        binding.input("x", x)
        binding.output_on("y", plugin.info)
        for _ in range(20):
            binding.run()
            [y] = binding.outputs()
            check(plugin.from_card(y, X.shape), X, np.sqrt)
            release("Value", y)
        binding.release()
        release("Value", x)

    def make_and_close():
        for turn in range(10):
            session = plugin.session(config={"session.use_env_allocators": str(turn % 2)})
            check(run_on_host(plugin, session, X))
            release("Session", session)

    def register():
        for turn in range(20):
            name = f"other {threading.get_ident()} {turn}".encode()
            api("RegisterExecutionProviderLibrary", plugin.env, name, PLUGIN.encode())
            api("UnregisterExecutionProviderLibrary", plugin.env, name)
            try:
                api("UnregisterExecutionProviderLibrary", plugin.env, b"test")
            except RuntimeError as error:
                refused.append("still in use" in str(error))

    def guarded(work):
        def action():
            try:
                work()
            except BaseException as error:  # noqa: BLE001  (the test reports it)
                failures.append(f"{work.__name__}: {error!r}")
        return threading.Thread(target=action)

    threads = [guarded(work) for work in (run_shared, run_bound, make_and_close, register) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures
    assert len(refused) == 40 and all(refused), refused
    release("Session", shared, bound)
    plugin.done()


def main():
    globals()["case_" + sys.argv[1]]()
    print("passed")


if __name__ == "__main__":
    main()
