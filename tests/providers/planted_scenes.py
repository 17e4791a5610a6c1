"""Scenes that call the functions of a plug-in; planted_cases.py plays them with a fault in one function at a time.

A scene gives back whatever it got, also where it fails.
"""
import contextlib
import ctypes
import os
import tempfile

import numpy as np
import onnx.parser
from device_cases import CHAIN, HOST_FIRST, PASSED_ON, WHOLE, Binding, P, X, api, array_of, check, release, run, texts
from fault_cases import compile_model, packed_session
from interop_cases import (
    HOST_ALLOCATION,
    OPAQUE_FD,
    VERSION,
    VULKAN,
    GraphicsConfig,
    MemoryDescriptor,
    SemaphoreDescriptor,
    TensorDescriptor,
    can,
    interop,
    let_go,
    made,
)
from memory_cases import DEVICE_ALLOCATOR, DEVICE_MEMORY, FLOAT, flush

SIZES = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[N, 4] x) => (float[M] y) {
  a = Neg (x)
  p = Greater (a, x)
  b = Compress (a, p)
  y = Add (b, b)
}"""

BRANCHES = """
<ir_version: 8, opset_import: ["" : 17]>
g (bool c, float[3, 4] x) => (float[3, 4] y) {
  a = Add (x, x)
  b = If (c) <then_branch = yes () => (float[3, 4] p) { p = Mul (a, x) },
              else_branch = no () => (float[3, 4] q) { h = Add (a, x)  q = Neg (h) }>
  d = Add (b, x)
  y = Neg (d)
}"""


class Scene(contextlib.ExitStack):
    """What it makes is released at its end, the last first."""

    def __init__(self, plugin):
        super().__init__()
        self.plugin = plugin

    def keep(self, kind, handle):
        self.callback(release, kind, handle)
        return handle

    def session(self, *arguments, **how):
        return self.keep("Session", self.plugin.session(*arguments, **how))

    def on_host(self, array):
        return self.keep("Value", self.plugin.on_host(array))

    def on_card(self, array):
        value = self.keep("Value", self.plugin.on_card(array.shape))
        self.plugin.copy(self.on_host(array), value)
        return value

    def read(self, value):
        array = np.zeros_like(X)
        self.plugin.copy(value, self.on_host(array))
        return array

    def scalar(self, array, element):
        return self.keep("Value", api.out("CreateTensorWithDataAsOrtValue", self.plugin.host,
                                          array.ctypes.data_as(P), array.nbytes, None, 0, element))

    def run(self, session, feeds, outputs, options=None):
        values = run(session, feeds, dict.fromkeys(outputs), options)
        return [self.keep("Value", value) for value in values]

    def check(self, session, function, options=None):
        [value] = self.run(session, {"x": self.on_host(X)}, ["y"], options)
        check(array_of(value, X.shape), X, function)


SCENES = {}


def scene(play):
    def of(plugin):
        with Scene(plugin) as it:
            play(it)
    SCENES[play.__name__] = of
    return play


@scene
def load(it):
    """The library is registered for each scene."""


def nothing_there(library):
    """The library is registered, and nobody asks what it has."""
    env = api.out("CreateEnv", 3, b"test")
    api("RegisterExecutionProviderLibrary", env, b"test", library.encode())
    api("UnregisterExecutionProviderLibrary", env, b"test")


@scene
def host(it):
    it.check(it.session(WHOLE, kind="host"), np.sqrt)


@scene
def card(it):
    it.check(it.session(WHOLE), np.sqrt)


@scene
def card_crossing(it):
    it.check(it.session(CHAIN), np.tanh)


@scene
def separate(it):
    it.check(it.session(WHOLE, {"separate": "1"}, kind="host"), np.sqrt)


@scene
def host_unclaimed(it):
    it.check(it.session(CHAIN, {"operators": "none"}, kind="host"), np.tanh)


@scene
def host_branches(it):
    """An If, which is not claimed, between nodes that are."""
    session = it.session(BRANCHES, kind="host")
    [value] = it.run(session, {"x": it.on_host(X), "c": it.scalar(np.array(True), 9)}, ["y"])
    np.testing.assert_allclose(array_of(value, X.shape), -((X + X) * X + X), rtol=1e-6)


@scene
def channels_last(it):
    text = """
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[1, 2, 4, 4] x) => (float[1, 2, 2, 2] y) {
      y = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x)
    }"""
    session = it.session(text, {"layout": "NHWC"}, kind="host")
    x = np.arange(32, dtype=np.float32).reshape(1, 2, 4, 4)
    [value] = it.run(session, {"x": it.on_host(x)}, ["y"])
    np.testing.assert_array_equal(array_of(value, (1, 2, 2, 2)), x[:, :, 1::2, 1::2])


@scene
def own_streams(it):
    it.check(it.session(CHAIN, {"own_streams": "1"}), np.tanh)


@scene
def own_memory(it):
    it.check(it.session(WHOLE, {"own_memory": "1"}), np.sqrt)


@scene
def sizes(it):
    """The rows of an output are known when it is made: nodes ask for memory while they run."""
    [value] = it.run(it.session(SIZES), {"x": it.on_host(X)}, ["y"])
    np.testing.assert_array_equal(array_of(value, (6,)), 2 * -X[-X > X])


@scene
def kernels(it):
    it.check(it.session(WHOLE.replace("17", "12"), kind="kernels"), np.sqrt)


@scene
def control_flow(it):
    session = it.session(PASSED_ON, {"control_flow": "1"}, kind="card_kernels")
    flag, turns = np.array(True), np.array(2, np.int64)
    given = [it.on_host(X), it.scalar(flag, 9), it.scalar(turns, 7)]
    it.run(session, dict(zip("xcn", given)), ["y", "all", "z", "rows"])


@scene
def packs(it):
    container = it.keep("PrepackedWeightsContainer", api.out("CreatePrepackedWeightsContainer"))
    for _ in range(2):
        session = it.keep("Session", packed_session(it.plugin, container))
        it.run(session, {"x": it.on_host(X)}, ["y"])


@scene
def binding(it):
    session = it.session(WHOLE)
    given = Binding(session)
    it.keep("IoBinding", given.handle)
    given.input("x", it.on_card(X))
    given.output_on("y", it.plugin.info)
    given.run()
    [value] = given.outputs()
    check(it.read(it.keep("Value", value)), X, np.sqrt)


@scene
def borders(it):
    session = it.session(HOST_FIRST)
    given = Binding(session)
    it.keep("IoBinding", given.handle)
    given.input("x", it.on_card(X))
    y = it.on_card(X)
    given.output("y", y)
    given.run()
    np.testing.assert_allclose(it.read(y), -np.tanh(X), rtol=1e-6)


@scene
def copies(it):
    np.testing.assert_array_equal(it.read(it.on_card(X)), X)


@scene
def stream(it):
    stream = it.keep("SyncStream", api.out("CreateSyncStreamForEpDevice", it.plugin.card, None))
    api("SyncStream_GetHandle", stream, result=P)
    value, back = it.keep("Value", it.plugin.on_card(X.shape)), np.zeros_like(X)
    it.plugin.copy(it.on_host(X), value, stream)
    it.plugin.copy(value, it.on_host(back), stream)
    flush(api, stream)
    np.testing.assert_array_equal(back, X)


@scene
def allocator(it):
    env, device = it.plugin.env, it.plugin.card
    made = api.out("CreateSharedAllocator", env, device, DEVICE_MEMORY, DEVICE_ALLOCATOR, None)
    it.callback(lambda: api("ReleaseSharedAllocator", env, device, DEVICE_MEMORY))
    memory = P()
    api("AllocatorAlloc", made, 64, ctypes.byref(memory))
    api("AllocatorFree", made, memory)
    assert api.out("AllocatorGetInfo", made)
    it.keep("KeyValuePairs", api.out("AllocatorGetStats", made))


@scene
def session_allocator(it):
    session = it.session(WHOLE)
    made = it.keep("Allocator", api.out("CreateAllocator", session, it.plugin.info))
    memory = P()
    api("AllocatorAlloc", made, 64, ctypes.byref(memory))
    api("AllocatorFree", made, memory)


@scene
def weights(it):
    """The device holds the weights as long as the session lives, and gives back what a run leaves."""
    options = it.keep("RunOptions", api.out("CreateRunOptions"))
    api("AddRunConfigEntry", options, b"memory.enable_memory_arena_shrinkage", b"cpu:0;gpu:0")
    it.check(it.session(WHOLE.replace("17", "12"), kind="card_kernels"), np.sqrt, options)


@scene
def profile(it):
    with tempfile.TemporaryDirectory() as folder:
        options = it.keep("RunOptions", api.out("CreateRunOptions"))
        api("RunOptionsEnableProfiling", options, os.path.join(folder, "run").encode())
        it.check(it.session(CHAIN), np.tanh, options)


@scene
def capture(it):
    session = it.session(WHOLE, {"graph_capture": "1"})
    given = Binding(session)
    it.keep("IoBinding", given.handle)
    given.input("x", it.on_card(X))
    y = it.on_card(X)
    given.output("y", y)
    for _ in range(2):
        given.run()
    check(it.read(y), X, np.sqrt)
    api("SessionReleaseCapturedGraph", session, 0)


@scene
def capture_shapes(it):
    it.session(WHOLE, {"graph_capture": "shapes"})


@scene
def compiled(it):
    assert b"version 1" in compile_model(it.plugin, {"compatibility": "version 1"})


@scene
def compatibility(it):
    fits = ctypes.c_int(-1)
    api("GetModelCompatibilityForEpDevices", (P * 1)(it.plugin.card), 1, b"version 1", ctypes.byref(fits))
    assert fits.value == 1, fits


@scene
def incompatibility(it):
    hardware = api("EpDevice_Device", it.plugin.card, result=P)
    it.keep("DeviceEpIncompatibilityDetails",
            api.out("GetHardwareDeviceEpIncompatibilityDetails", it.plugin.env, b"SdxTestProvider", hardware))


@scene
def domains(it):
    text = WHOLE.replace("Neg", "test.plugin.Triple").replace('"" : 17', '"" : 17, "test.plugin" : 1')
    session = it.session(text, kind="host")
    [value] = it.run(session, {"x": it.on_host(X)}, ["y"])
    np.testing.assert_allclose(array_of(value, X.shape),
                               6 * np.sqrt(np.maximum(X * np.array([2, 3, 4, 5], np.float32), 0)), rtol=1e-6)


@scene
def custom_kernels(it):
    """Operators that the factory brings and the CPU runs, in both forms of the interface."""
    text = """<ir_version: 8, opset_import: ["" : 17, "test.plugin" : 1]>
    g (float[N, 4] x) => (float[N, 4] y, float[N, 4] z) {
      a = Neg (x)
      b, c = test.plugin.Fourfold (a, x)
      y = test.plugin.OldFourfold (b)
      z = Tanh (c)
    }"""
    session = it.session(text, kind="host")
    y, z = it.run(session, {"x": it.on_host(X)}, ["y", "z"])
    np.testing.assert_allclose(array_of(y, X.shape), -16 * X, rtol=1e-6)
    np.testing.assert_allclose(array_of(z, X.shape), np.tanh(4 * X), rtol=1e-6)


@scene
def dynamic(it):
    session = it.session(WHOLE)
    api("SetEpDynamicOptions", session, texts(["ep.dynamic.workload_type"]), texts(["Efficient"]), 1)


@scene
def chosen(it):
    settings = it.keep("SessionOptions", api.out("CreateSessionOptions"))
    api("SessionOptionsSetEpSelectionPolicy", settings, 1)
    model = onnx.parser.parse_model(WHOLE).SerializeToString()
    it.keep("Session", api.out("CreateSessionFromArray", it.plugin.env, model, len(model), settings))


@scene
def weightless(it):
    it.session(WHOLE, {"weightless": "all"}, {"ep.enable_weightless": "1"}, "host")


@scene
def context_data(it):
    written = []
    write = ctypes.CFUNCTYPE(P, P, ctypes.c_char_p, P, ctypes.c_size_t)(lambda *given: written.append(given))
    compile_model(it.plugin, {}, ctypes.cast(write, P))
    assert written


@scene
def no_importer(it):
    importer = made("CreateExternalResourceImporterForDevice", it.plugin.card)
    it.callback(let_go, "ResourceImporter", importer)


@scene
def interoperation(it):
    plugin = it.plugin
    importer = made("CreateExternalResourceImporterForDevice", plugin.card)
    it.callback(let_go, "ResourceImporter", importer)
    allocator = api.out("GetSharedAllocator", plugin.env, plugin.info)
    memory, number = P(), ctypes.c_uint64(0)
    api("AllocatorAlloc", allocator, 256, ctypes.byref(memory))
    it.callback(lambda: api("AllocatorFree", allocator, memory))
    can("CanImportMemory", importer, HOST_ALLOCATION)
    described = MemoryDescriptor(VERSION, HOST_ALLOCATION, memory, 256, 0)
    handle = made("ImportMemory", importer, ctypes.addressof(described))
    it.callback(let_go, "MemoryHandle", handle)
    dims = (ctypes.c_int64 * 2)(3, 4)
    tensor = TensorDescriptor(VERSION, FLOAT, ctypes.addressof(dims), 2, 0)
    it.keep("Value", made("CreateTensorFromMemory", importer, handle, ctypes.addressof(tensor)))
    can("CanImportSemaphore", importer, OPAQUE_FD)
    wanted = SemaphoreDescriptor(VERSION, OPAQUE_FD, ctypes.addressof(number))
    semaphore = made("ImportSemaphore", importer, ctypes.addressof(wanted))
    it.callback(let_go, "SemaphoreHandle", semaphore)
    stream = it.keep("SyncStream", api.out("CreateSyncStreamForEpDevice", plugin.card, None))
    interop("WaitSemaphore", importer, semaphore, stream, 0)
    interop("SignalSemaphore", importer, semaphore, stream, 1)
    flush(api, stream)


@scene
def graphics(it):
    config = GraphicsConfig(VERSION, VULKAN, None, None)
    interop("InitGraphicsInteropForEpDevice", it.plugin.card, ctypes.addressof(config))
    interop("DeinitGraphicsInteropForEpDevice", it.plugin.card)
