"""Memory and semaphores of others that the plug-in of tests/providers/plugin imports (OrtInteropApi); test_interop.py
runs each case in a process of its own, in Sardonyx and in ONNX Runtime.

usage: python interop_cases.py CASE RUNTIME PLUGIN     (two libraries)
"""
import ctypes
import sys

import numpy as np
from device_cases import OF_SARDONYX, WHOLE, P, Plugin, X, api, check, fails, flush, release, run
from fault_cases import planted
from memory_cases import FLOAT, ROOT

SLOTS = {name: int(slot) for slot, name, *_ in
         (line.split("\t") for line in (ROOT / "tools/abi/ort_interop_api.tsv").read_text().splitlines()[1:])}
VERSION, HOST_ALLOCATION, OPAQUE_FD, WINDOWS_TIMELINE, VULKAN = 31, 4, 2, 1, 2


class MemoryDescriptor(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("handle_type", ctypes.c_int), ("native_handle", P),
                ("size_bytes", ctypes.c_size_t), ("offset_bytes", ctypes.c_size_t)]


class SemaphoreDescriptor(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("type", ctypes.c_int), ("native_handle", P)]


class TensorDescriptor(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("element_type", ctypes.c_int), ("shape", P), ("rank", ctypes.c_size_t),
                ("offset_bytes", ctypes.c_size_t)]


class GraphicsConfig(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("graphics_api", ctypes.c_int), ("command_queue", P), ("options", P)]


def interop(name, *arguments, result=P):
    """Calls a function of OrtInteropApi; integers are passed in full words."""
    table = ctypes.cast(api("GetInteropApi", result=P), ctypes.POINTER(P))
    given = ctypes.CFUNCTYPE(result, *[P] * len(arguments))(table[SLOTS[name]])(*arguments)
    if result is None or not given:
        return
    text = api.slot("GetErrorMessage", ctypes.c_char_p)(given, *[None] * 7).decode()
    api.slot("ReleaseStatus", None)(given, *[None] * 7)
    raise RuntimeError(text)


def made(name, *arguments):
    handle = P()
    interop(name, *arguments, ctypes.addressof(handle))
    return handle


def can(name, importer, kind):
    answer = ctypes.c_bool()
    interop(name, importer, kind, ctypes.addressof(answer))
    return answer.value


def let_go(kind, *handles):
    for handle in handles:
        interop("ReleaseExternal" + kind, handle, result=None)


class Card:
    """The plug-in's card, an importer for it, and memory of the card that somebody else has allocated."""

    BYTES = 256

    def __init__(self):
        self.plugin = Plugin()
        self.importer = made("CreateExternalResourceImporterForDevice", self.plugin.card)
        self.allocator = api.out("GetSharedAllocator", self.plugin.env, self.plugin.info)
        self.memory = P()
        api("AllocatorAlloc", self.allocator, self.BYTES, ctypes.byref(self.memory))
        self.number = ctypes.c_uint64(0)

    def import_memory(self, offset=0):
        described = MemoryDescriptor(VERSION, HOST_ALLOCATION, self.memory, self.BYTES, offset)
        return made("ImportMemory", self.importer, ctypes.addressof(described))

    def import_semaphore(self):
        described = SemaphoreDescriptor(VERSION, OPAQUE_FD, ctypes.addressof(self.number))
        return made("ImportSemaphore", self.importer, ctypes.addressof(described))

    def tensor(self, handle, shape, offset=0, importer=None):
        dims = (ctypes.c_int64 * len(shape))(*shape)
        described = TensorDescriptor(VERSION, FLOAT, ctypes.addressof(dims), len(shape), offset)
        return made("CreateTensorFromMemory", importer or self.importer, handle, ctypes.addressof(described))

    def left(self):
        return {kind: self.plugin.alive(kind) for kind in ("importers", "imported")}

    def done(self):
        let_go("ResourceImporter", self.importer)
        api("AllocatorFree", self.allocator, self.memory)
        assert self.left() == {"importers": 0, "imported": 0}, self.left()
        self.plugin.done()


def case_memory():
    """A run reads and writes memory of others through tensors in it, and nothing is copied to or from the host."""
    card = Card()
    plugin = card.plugin
    assert can("CanImportMemory", card.importer, HOST_ALLOCATION)
    assert not can("CanImportMemory", card.importer, 0)
    # Inputs, then results, behind the first 16 bytes.
    handle = card.import_memory(offset=16)
    x, y = card.tensor(handle, X.shape), card.tensor(handle, X.shape, offset=X.nbytes)
    here = plugin.on_host(X)
    plugin.copy(here, x)
    session = plugin.session(WHOLE)
    run(session, {"x": x}, {"y": y})  # once to bind
    copies = plugin.event("copies")
    run(session, {"x": x}, {"y": y})
    assert plugin.event("copies") == copies
    check(plugin.from_card(y, X.shape), X, np.sqrt)
    fails("does not fit into the memory", lambda: card.tensor(handle, (64,)))
    release("Value", here, x, y)
    release("Session", session)
    before = plugin.event("released_handles")
    let_go("MemoryHandle", handle)
    assert plugin.event("released_handles") == before + 1
    card.done()


def case_semaphores():
    """Work of a stream waits for a semaphore, and signals it, in the stream's order."""
    card = Card()
    plugin = card.plugin
    assert can("CanImportSemaphore", card.importer, OPAQUE_FD)
    assert not can("CanImportSemaphore", card.importer, WINDOWS_TIMELINE)
    semaphore, stream = card.import_semaphore(), api.out("CreateSyncStreamForEpDevice", plugin.card, None)
    interop("WaitSemaphore", card.importer, semaphore, stream, 1)
    interop("SignalSemaphore", card.importer, semaphore, stream, 2)
    interop("WaitSemaphore", card.importer, semaphore, stream, 2)
    assert card.number.value == 0
    card.number.value = 1  # by the graphics interface
    flush(api, stream)
    assert card.number.value == 2 and plugin.event("too_early") == 0
    interop("WaitSemaphore", card.importer, semaphore, stream, 3)
    flush(api, stream)
    assert plugin.event("too_early") == 1
    let_go("SemaphoreHandle", semaphore)
    release("SyncStream", stream)
    card.done()


def case_graphics():
    """A device is told of the graphics interface; a provider without such functions says so."""
    plugin = Plugin()
    config = GraphicsConfig(VERSION, VULKAN, None, None)
    interop("InitGraphicsInteropForEpDevice", plugin.card, ctypes.addressof(config))
    assert plugin.event("interop") == 1
    interop("DeinitGraphicsInteropForEpDevice", plugin.card)
    assert plugin.event("interop") == 0
    config.graphics_api = 1
    fails("expected Vulkan", lambda: interop("InitGraphicsInteropForEpDevice", plugin.card, ctypes.addressof(config)))
    # Of a device that imports nothing there is no importer, which is no error.
    assert not made("CreateExternalResourceImporterForDevice", plugin.kinds["host"]).value
    plugin.done()


def case_lifetimes():
    """An importer, and a tensor in memory of others, keep the library registered."""
    card = Card()
    plugin = card.plugin
    handle = card.import_memory()
    x = card.tensor(handle, X.shape)

    def unregister():
        api("UnregisterExecutionProviderLibrary", plugin.env, b"test")

    api("AllocatorFree", card.allocator, card.memory)
    card.memory = P()
    fails("still in use", unregister)
    let_go("MemoryHandle", handle)
    let_go("ResourceImporter", card.importer)
    fails("still in use", unregister)
    release("Value", x)
    release("MemoryInfo", plugin.host)
    unregister()


def case_faults():
    """Each function's error and exception names it and its provider; what was made is given back."""
    card = Card()
    plugin = card.plugin
    memory, semaphore = card.import_memory(), card.import_semaphore()
    stream = api.out("CreateSyncStreamForEpDevice", plugin.card, None)
    config = GraphicsConfig(VERSION, VULKAN, None, None)
    calls = {
        "CreateExternalResourceImporterForDevice":
            lambda: made("CreateExternalResourceImporterForDevice", plugin.card),
        "ImportMemory": card.import_memory,
        "CreateTensorFromMemory": lambda: card.tensor(memory, X.shape),
        "ImportSemaphore": card.import_semaphore,
        "WaitSemaphore": lambda: interop("WaitSemaphore", card.importer, semaphore, stream, 0),
        "SignalSemaphore": lambda: interop("SignalSemaphore", card.importer, semaphore, stream, 1),
        "InitGraphicsInterop":
            lambda: interop("InitGraphicsInteropForEpDevice", plugin.card, ctypes.addressof(config)),
        "DeinitGraphicsInterop": lambda: interop("DeinitGraphicsInteropForEpDevice", plugin.card),
    }
    before = card.left()
    for name, call in calls.items():
        with planted(name):
            fails("planted fault in " + name, call)
        if OF_SARDONYX:
            with planted("throw:" + name):
                fails(name + " threw: planted exception in " + name, call)
            with planted("throw:" + name):
                fails("SdxTestProvider", call)
        assert card.left() == before, (name, card.left())
    if OF_SARDONYX:
        questions = {"CanImportMemory": HOST_ALLOCATION, "CanImportSemaphore": OPAQUE_FD}
        for name, kind in questions.items():
            with planted("throw:" + name):
                fails(f"{name} threw: planted", lambda name=name, kind=kind: can(name, card.importer, kind))
        for name in ("ImportMemory", "ImportSemaphore"):
            with planted("nothing:" + name):
                fails(f"{name}: expected a handle with a function Release, found none", calls[name])
            with planted("incomplete:" + name):
                fails(f"{name}: expected a handle with a function Release, found NULL for it", calls[name])
        with planted("nothing:CreateTensorFromMemory"):
            fails("CreateTensorFromMemory: expected a tensor, found none", calls["CreateTensorFromMemory"])
        with planted("incomplete:CreateExternalResourceImporterForDevice"):
            bare = made("CreateExternalResourceImporterForDevice", plugin.card)
        described = SemaphoreDescriptor(VERSION, OPAQUE_FD, None)
        fails("ImportSemaphore: the provider has no such function",
              lambda: made("ImportSemaphore", bare, ctypes.addressof(described)))
        let_go("ResourceImporter", bare)
        fails("found an environment", lambda: made("ImportMemory", plugin.env, ctypes.addressof(described)))
    assert card.left() == before, card.left()
    with planted("nothing:CreateExternalResourceImporterForDevice"):
        assert not calls["CreateExternalResourceImporterForDevice"]().value
    let_go("MemoryHandle", memory)
    let_go("SemaphoreHandle", semaphore)
    release("SyncStream", stream)
    card.done()


def main():
    globals()["case_" + sys.argv[1]]()
    print("passed")


if __name__ == "__main__":
    main()
