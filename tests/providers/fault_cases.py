"""Faults in functions of the plug-in of tests/providers/plugin that are called seldom, through the C interface;
test_faults.py runs each case in a process of its own, in Sardonyx and, where it does not end there, in ONNX Runtime.

usage: python fault_cases.py CASE RUNTIME PLUGIN     (two libraries)
"""
import contextlib
import ctypes
import gc
import os
import sys

import numpy as np
import onnx.parser
from device_cases import (
    OF_SARDONYX,
    WHOLE,
    Binding,
    P,
    Plugin,
    W,
    X,
    api,
    check,
    errors_of,
    fails,
    release,
    run_on_host,
    texts,
)


@contextlib.contextmanager
def planted(fault):
    os.environ["SDX_PLUGIN_FAULT"] = fault
    try:
        yield
    finally:
        del os.environ["SDX_PLUGIN_FAULT"]


def left(plugin):
    gc.collect()
    # ONNX Runtime keeps allocators of each device.
    kinds = ("providers", "compiled_nodes", "states", "blocks", "streams", "notifications", "kernels", "packed")
    return {kind: plugin.alive(kind) for kind in kinds + ("allocators",) * OF_SARDONYX}


def each_way(name, throws=True):
    """A fault, and what the error says of it. ONNX Runtime does not expect exceptions everywhere."""
    yield name, "planted fault in " + name
    if throws and OF_SARDONYX:
        yield "throw:" + name, "threw: planted exception in " + name


def fails_to_load(plugin, faults, **how):
    """Making a session ends in the error, and nothing is left; without the fault it is made and runs."""
    for fault, words in faults:
        before = left(plugin)
        with planted(fault):
            fails(words, lambda: plugin.session(WHOLE, **how))
        assert left(plugin) == before, (fault, before, left(plugin))
    session = plugin.session(WHOLE, **how)
    check(run_on_host(plugin, session, X), X, np.sqrt)
    release("Session", session)


def case_memory():
    """OrtEp::GetDefaultMemoryDevice and OrtEp::CreateAllocator, which come before what the factory says and makes."""
    plugin = Plugin()
    own = {"own_memory": "1"}
    faults = [*each_way("GetDefaultMemoryDevice"), *each_way("CreateOwnAllocator")]
    if OF_SARDONYX:
        faults += [("nothing:CreateOwnAllocator", "CreateAllocator: expected an allocator with Alloc, Free and Info")]
    fails_to_load(plugin, faults, options=own)
    assert plugin.event("own_allocators") >= 1
    plugin.done()


def case_questions():
    """What a session asks when it is made: after everything else, and whether runs may go side by side."""
    plugin = Plugin()
    fails_to_load(plugin, each_way("OnSessionInitializationEnd"), kind="host")
    # Of a provider that answers no.
    for fault, words in each_way("IsConcurrentRunSupported"):
        before = left(plugin)
        with planted(fault):
            fails(words, lambda: plugin.session(WHOLE, {"graph_capture": "1"}))
        assert left(plugin) == before, (fault, before, left(plugin))
    release("Session", plugin.session(WHOLE, {"graph_capture": "1"}))
    plugin.done()


def packed_session(plugin, container):
    settings = api.out("CreateSessionOptions")
    api("SessionOptionsAppendExecutionProvider_V2", settings, plugin.env, (P * 1)(plugin.kinds["kernels"]), 1,
        texts(["packs"]), texts(["1"]), 1)
    text = """<ir_version: 8, opset_import: ["" : 12]>
    g (float[N, 4] x) => (float[N, 4] y) <float[4] w = {1, 2, 3, 4}> { y = Mul (x, w) }"""
    model = onnx.parser.parse_model(text).SerializeToString()
    try:
        return api.out("CreateSessionFromArrayWithPrepackedWeightsContainer", plugin.env, model, len(model), settings,
                       container)
    finally:
        api("ReleaseSessionOptions", settings, result=P)


def case_shared_weights():
    """OrtKernelImpl::SetSharedPrePackedWeight: the container keeps what was packed, and serves the next session."""
    plugin = Plugin()
    container = api.out("CreatePrepackedWeightsContainer")
    for fault, words in each_way("SetSharedPrePackedWeight"):
        before = left(plugin)
        with planted(fault):
            fails(words, lambda: packed_session(plugin, container))
        assert left(plugin) == before, (fault, before, left(plugin))
    session = packed_session(plugin, container)
    np.testing.assert_allclose(run_on_host(plugin, session, X), X * W)
    assert plugin.alive("packed") == 1
    release("Session", session)
    api("ReleasePrepackedWeightsContainer", container, result=P)
    plugin.done()


def compile_model(plugin, options, write=None):
    """The compiled model; `write`: a function that gets what the provider compiles, which the model has otherwise."""
    settings = api.out("CreateSessionOptions")
    api("SessionOptionsAppendExecutionProvider_V2", settings, plugin.env, (P * 1)(plugin.kinds["host"]), 1,
        texts(list(options)), texts(list(options.values())), len(options))
    compile_api = ctypes.cast(api("GetCompileApi", result=P), ctypes.POINTER(P))

    def call(slot, *arguments):
        padded = [ctypes.cast(a, P) if isinstance(a, (ctypes.Array, bytes)) else a for a in arguments]
        status = ctypes.CFUNCTYPE(P, *[P] * len(padded))(compile_api[slot])(*padded)
        if status:
            text = api.slot("GetErrorMessage", ctypes.c_char_p)(status, *[None] * 7).decode()
            api.slot("ReleaseStatus", None)(status, *[None] * 7)
            raise RuntimeError(text)

    made = P()
    call(1, plugin.env, settings, ctypes.byref(made))  # CreateModelCompilationOptionsFromSessionOptions
    model = onnx.parser.parse_model(WHOLE).SerializeToString()
    try:
        call(3, made, model, len(model))  # ..._SetInputModelFromBuffer
        allocator, data, size = api.out("GetAllocatorWithDefaultOptions"), P(), ctypes.c_size_t()
        call(6, made, allocator, ctypes.byref(data), ctypes.byref(size))  # ..._SetOutputModelBuffer
        if write is None:
            call(7, made, 1)  # ..._SetEpContextEmbedMode
        else:
            call(16, made, write, None)  # ..._SetEpContextDataWriteFunc
        call(8, plugin.env, made)  # CompileModel
        text = ctypes.string_at(data.value, size.value)
        api("AllocatorFree", allocator, data)
        return text
    finally:
        ctypes.CFUNCTYPE(None, P)(compile_api[0])(made)
        api("ReleaseSessionOptions", settings, result=P)


def case_compatibility():
    """OrtEp::GetCompiledModelCompatibilityInfo has no status: NULL and "" say nothing, an exception is an error."""
    plugin = Plugin()
    options = {"compatibility": "version 1"}
    assert b"version 1" in compile_model(plugin, options)
    before = left(plugin)
    if OF_SARDONYX:  # ONNX Runtime ends here
        with planted("nothing:GetCompiledModelCompatibilityInfo"):
            assert b"version 1" not in compile_model(plugin, options)
        with planted("throw:GetCompiledModelCompatibilityInfo"):
            fails("threw: planted exception in GetCompiledModelCompatibilityInfo", compile_model, plugin, options)
    assert left(plugin) == before, (before, left(plugin))
    assert b"version 1" in compile_model(plugin, options)
    plugin.done()


# On the host first, on the card, on the host, and on the card again.
TO_AND_FRO = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[N, 4] x) => (float[N, 4] y, float[N, 4] z) <float[4] w = {1, 2, 3, 4}> {
  t = Tanh (x)
  a = Mul (t, w)
  z = Sqrt (a)
  c = Tanh (a)
  y = Add (c, w)
}"""


def case_closing():
    """A session is closed while its work is under way on streams: the work is done before its memory goes."""
    plugin = Plugin()
    options, given = api.out("CreateRunOptions"), api.out("CreateRunOptions")
    stream = api.out("CreateSyncStreamForEpDevice", plugin.card, None)
    api("RunOptionsSetSyncStream", given, stream, result=P)
    for run_options in (options, given):
        api("AddRunConfigEntry", run_options, b"disable_synchronize_execution_providers", b"1")
    positive = np.abs(X)
    t = np.tanh(positive) * W
    for run_options in (options, given, options):
        for x_on_card in (True, False):
            for y_on_card in (True, False):
                session = plugin.session(TO_AND_FRO)
                binding = Binding(session)
                x = plugin.to_card(positive) if x_on_card else plugin.on_host(positive)
                here = np.zeros_like(X), np.zeros_like(X)
                results = [plugin.on_card(X.shape) if y_on_card else plugin.on_host(array) for array in here]
                binding.input("x", x)
                for name, value in zip("yz", results):
                    binding.output(name, value)
                for _ in range(2):
                    binding.run(run_options)
                binding.release()
                release("Session", session)
                got = [plugin.from_card(value, X.shape) for value in results] if y_on_card else here
                np.testing.assert_allclose(got[0], np.tanh(t) + W, rtol=1e-6)
                np.testing.assert_allclose(got[1], np.sqrt(t), rtol=1e-6)
                release("Value", x, *results)
    # What cannot be waited for is lost with the stream, and the log says so.
    for fault, words in each_way("Flush"):
        session = plugin.session(TO_AND_FRO)
        binding = Binding(session)
        x, y, z = plugin.on_host(positive), plugin.on_card(X.shape), plugin.on_card(X.shape)
        binding.input("x", x)
        binding.output("y", y)
        binding.output("z", z)
        binding.run(options)
        binding.release()
        with planted(fault):
            told = errors_of(lambda session=session: release("Session", session))
        assert "SdxTestProvider: OrtSyncStreamImpl::Flush" in told and words in told, told
        release("Value", x, y, z)
        assert plugin.event("lost") > 0 and plugin.alive("streams") == 1, (plugin.event("lost"), left(plugin))
        plugin.forget("lost")
    release("RunOptions", options, given)
    release("SyncStream", stream)
    plugin.done()


def main():
    globals()["case_" + sys.argv[1]]()
    print("passed")


if __name__ == "__main__":
    main()
