"""Configuration entries for callers of the C interface, who own memory: each is shown to do what it says."""
import ctypes
import sys

import numpy as np
import onnx
import onnx.helper as make
import onnx.numpy_helper
from config_entries import NEG, ROOT, run_child, shows

sys.path.insert(0, str(ROOT / "tests/capi"))


def after_a_change(key, value, external):
    """y[100] of y = 0 - w, where the caller changes w[100] from 3 to 5 when the session has been created."""
    from test_from_python import Api, out
    api, env = Api(), out()
    api.CreateEnv(2, b"test", ctypes.byref(env))
    weights = np.full((1, 65536), 3, np.float32)
    w = onnx.numpy_helper.from_array(weights, "w")
    file = ctypes.create_string_buffer(weights.tobytes(), weights.nbytes)
    if external:
        w = onnx.TensorProto(name="w", data_type=1, dims=[1, 65536], data_location=onnx.TensorProto.EXTERNAL)
        w.external_data.add(key="location", value="w.bin")
    x, y = make.make_tensor_value_info("x", 1, ["N", 1]), make.make_tensor_value_info("y", 1, ["N", 65536])
    graph = make.make_graph([make.make_node("Sub", ["x", "w"], ["y"])], "g", [x], [y], [w])
    model = make.make_model(graph, ir_version=8, opset_imports=[make.make_opsetid("", 17)]).SerializeToString()
    data, result = ctypes.create_string_buffer(model), (ctypes.c_void_p * 1)()
    options, session, info, given, got = (out() for _ in range(5))
    api.CreateSessionOptions(ctypes.byref(options))
    api.AddSessionConfigEntry(options, key.encode(), value.encode())
    if external:
        api.AddExternalInitializersFromFilesInMemory(options, (ctypes.c_char_p * 1)(b"w.bin"),
                                                     (ctypes.c_void_p * 1)(ctypes.addressof(file)),
                                                     (ctypes.c_size_t * 1)(weights.nbytes), 1)
    api.CreateSessionFromArray(env, data, len(model), options, ctypes.byref(session))
    begin = ctypes.addressof(file) if external else ctypes.addressof(data) + model.index(weights.tobytes())
    ctypes.memmove(begin + 4 * 100, np.float32(5).tobytes(), 4)
    zero = np.zeros((1, 1), np.float32)
    api.CreateCpuMemoryInfo(0, 0, ctypes.byref(info))
    api.CreateTensorWithDataAsOrtValue(info, zero.ctypes.data, 4, (ctypes.c_int64 * 2)(1, 1), 2, 1,
                                       ctypes.byref(given))
    api.Run(session, None, (ctypes.c_char_p * 1)(b"x"), (ctypes.c_void_p * 1)(given), 1,
            (ctypes.c_char_p * 1)(b"y"), 1, result)
    api.GetTensorMutableData(result[0], ctypes.byref(got))
    found = ctypes.cast(got, ctypes.POINTER(ctypes.c_float))[100]
    api.function("ReleaseSession", None)(session, *[None] * 7)  # before the bytes that it reads
    return found


@shows("session", "session.use_ort_model_bytes_directly")
def _(_tmp_path):
    key = "session.use_ort_model_bytes_directly"
    assert [after_a_change(key, value, external=False) for value in "01"] == [-3, -5]


@shows("session", "session.use_external_initializer_file_buffers_directly")
def _(_tmp_path):
    key = "session.use_external_initializer_file_buffers_directly"
    assert [after_a_change(key, value, external=True) for value in "01"] == [-3, -5]


# The process's environment gets an allocator whose blocks are aligned to 16 bytes only, as those of malloc.
ALLOCATORS = """
import ctypes, json, sys, numpy as np, sardonyx
sys.path.insert(0, sys.argv[2])
import test_from_python as c
def session(value):
    options = sardonyx.SessionOptions()
    options.add_session_config_entry("session.use_env_allocators", value)
    return sardonyx.InferenceSession(bytes.fromhex(sys.argv[1]), options)
first = session("0")
library = next(line.split()[-1] for line in open("/proc/self/maps") if "libsardonyx.so" in line)
c.BUILD = type(c.BUILD)(library).parents[1]
api, env, info = c.Api(), c.out(), c.out()
P = ctypes.c_void_p
Alloc, Free, Info = (ctypes.CFUNCTYPE(*types) for types in ((P, P, ctypes.c_size_t), (None, P, P), (P, P)))
class Allocator(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("Alloc", Alloc), ("Free", Free), ("Info", Info), ("rest", P * 4)]
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = P, [ctypes.c_size_t], [P]
open_blocks, sizes = set(), []
def allocate(_, size):
    block = libc.malloc(size + 16) + 16
    block += 16 if block % 64 == 0 else 0
    open_blocks.add(block)
    sizes.append(size)
    return block
def free(_, block):
    open_blocks.remove(block)
api.CreateCpuMemoryInfo(0, 0, ctypes.byref(info))
allocator = Allocator(23, Alloc(allocate), Free(free), Info(lambda _: info.value))
api.CreateEnv(2, b"test", ctypes.byref(env))
api.RegisterAllocator(env, ctypes.byref(allocator))
results, counts = [], []
for value in "01":
    made = session(value)
    results.append(made.run(None, {"x": np.arange(3, dtype=np.float32)})[0].tolist())
    counts.append(len(sizes))
    del made
api.UnregisterAllocator(env, info)
results.append(session("1").run(None, {"x": np.arange(3, dtype=np.float32)})[0].tolist())
print(json.dumps([counts[0], counts[1] > 0, len(sizes) - counts[1], len(open_blocks), results]))
"""


@shows("session", "session.use_env_allocators")
def _(_tmp_path):
    found = run_child(ALLOCATORS, NEG.hex(), str(ROOT / "tests/capi"))
    assert found == [0, True, 0, 0, [[0, -1, -2]] * 3]
