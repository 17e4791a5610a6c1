"""Memory and streams of the plug-in's device 'card', through the C interface; test_plugin.py runs it in a process.

usage: python memory_cases.py RUNTIME PLUGIN     (two libraries)
"""
import ctypes
import pathlib
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
SLOTS = {name: int(index) for index, name, *_ in
         (line.split("\t") for line in (ROOT / "tools/abi/ort_api.tsv").read_text().splitlines()[1:])}
P = ctypes.c_void_p
FLOAT, DEVICE_MEMORY, DEVICE_ALLOCATOR = 1, 0, 0


class Api:
    """api.CreateEnv(...) calls the slot of that name; `result` tells what it returns if that is no status."""

    def __init__(self, library):
        base = ctypes.CDLL(library).OrtGetApiBase
        base.restype = ctypes.POINTER(P)
        self.table = ctypes.CFUNCTYPE(ctypes.POINTER(P), ctypes.c_uint32)(base()[0])(31)

    def slot(self, name, result):
        return ctypes.CFUNCTYPE(result, *[P] * 8)(self.table[SLOTS[name]])

    def __call__(self, name, *arguments, result=None):
        padded = [ctypes.cast(a, P) if isinstance(a, (ctypes.Array, bytes)) else a for a in arguments]
        given = self.slot(name, result or P)(*padded, *[None] * (8 - len(padded)))
        if result is not None or not given:
            return given
        text = self.slot("GetErrorMessage", ctypes.c_char_p)(given, *[None] * 7).decode()
        self.slot("ReleaseStatus", None)(given, *[None] * 7)
        raise RuntimeError(text)

    def out(self, name, *arguments):
        """What a function gives in its last argument."""
        made = P()
        self(name, *arguments, ctypes.byref(made))
        return made


def flush(api, stream):
    """Has a stream of the plug-in finish its work, as a caller that knows the library would."""
    table = ctypes.cast(api("GetEpApi", result=P), ctypes.POINTER(P))
    impl = ctypes.CFUNCTYPE(P, P)(table[13])(stream)  # SyncStream_GetImpl
    assert not ctypes.CFUNCTYPE(P, P)(ctypes.cast(impl, ctypes.POINTER(P))[4])(impl)  # OrtSyncStreamImpl::Flush


def main():
    api, plugin = Api(sys.argv[1]), sys.argv[2].encode()
    env = api.out("CreateEnv", 3, b"test")
    api("RegisterExecutionProviderLibrary", env, b"test", plugin)
    listed, count = P(), ctypes.c_size_t()
    api("GetEpDevices", env, ctypes.byref(listed), ctypes.byref(count))
    devices = [ctypes.cast(listed, ctypes.POINTER(P))[i] for i in range(count.value)]
    card = next(d for d in devices if api("EpDevice_MemoryInfo", d, DEVICE_MEMORY, result=P)
                and api("EpDevice_EpName", d, result=ctypes.c_char_p) == b"SdxTestProvider")
    info = api("EpDevice_MemoryInfo", card, DEVICE_MEMORY, result=P)

    allocator = api.out("GetSharedAllocator", env, info)
    assert allocator.value and allocator.value == api.out("GetSharedAllocator", env, info).value
    shape = (ctypes.c_int64 * 2)(2, 3)
    there = api.out("CreateTensorAsOrtValue", allocator, shape, 2, FLOAT)
    x = np.arange(6, dtype=np.float32)
    here, back = np.array(x), np.zeros(6, np.float32)
    host = api.out("CreateCpuMemoryInfo", DEVICE_ALLOCATOR, 0)
    values = [api.out("CreateTensorWithDataAsOrtValue", host, array.ctypes.data_as(P), array.nbytes, shape, 2, FLOAT)
              for array in (here, back)]
    stream = api.out("CreateSyncStreamForEpDevice", card, None)
    assert api("SyncStream_GetHandle", stream, result=P)
    api("CopyTensors", env, (P * 1)(values[0].value), (P * 1)(there.value), stream, 1)
    api("CopyTensors", env, (P * 1)(there.value), (P * 1)(values[1].value), stream, 1)
    assert not back.any()  # the stream has not done it yet
    flush(api, stream)
    assert (back == x).all(), back

    # A value on the device, and a stream, keep the library.
    for name, left in (("ReleaseValue", there), ("ReleaseSyncStream", stream)):
        try:
            api("UnregisterExecutionProviderLibrary", env, b"test")
            raise SystemExit("a library in use was unregistered")
        except RuntimeError as error:
            assert "'test' is still in use" in str(error), error
        api(name, left, result=P)
    for value in values:
        api("ReleaseValue", value, result=P)

    made = api.out("CreateSharedAllocator", env, card, DEVICE_MEMORY, DEVICE_ALLOCATOR, None)
    assert made.value == api.out("GetSharedAllocator", env, info).value
    api("ReleaseSharedAllocator", env, card, DEVICE_MEMORY)

    fits = ctypes.c_int(-1)
    for text, wanted in ((b"version 1", 1), (b"version 2", 3)):
        api("GetModelCompatibilityForEpDevices", (P * 1)(card), 1, text, ctypes.byref(fits))
        assert fits.value == wanted, (text, fits)
    hardware = api("EpDevice_Device", card, result=P)
    details = api.out("GetHardwareDeviceEpIncompatibilityDetails", env, b"SdxTestProvider", hardware)
    notes, code = ctypes.c_char_p(), ctypes.c_int32()
    api("DeviceEpIncompatibilityDetails_GetNotes", details, ctypes.byref(notes))
    api("DeviceEpIncompatibilityDetails_GetErrorCode", details, ctypes.byref(code))
    assert (notes.value, code.value) == (b"the driver is a toy", 17)
    api("ReleaseDeviceEpIncompatibilityDetails", details, result=P)
    api("UnregisterExecutionProviderLibrary", env, b"test")
    with open("/proc/self/maps") as maps:
        assert plugin.decode() not in maps.read()
    print("passed")


if __name__ == "__main__":
    main()
