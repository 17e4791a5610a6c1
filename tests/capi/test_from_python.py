"""Functions of the C interface that need models which text cannot express, called from Python through the table."""
import ctypes
import os
import pathlib

import numpy as np
import onnx
import onnx.helper as make
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", ROOT / "build/release"))
SLOTS = {name: int(index) for index, name, *_ in
         (line.split("\t") for line in (ROOT / "tools/abi/ort_api.tsv").read_text().splitlines()[1:])}
POINTER = ctypes.c_void_p


class Api:
    """api.CreateEnv(...) calls the slot of that name and raises what its status says; `out()` makes an output."""

    def __init__(self):
        library = ctypes.CDLL(str(BUILD / "lib/libsardonyx.so"))
        library.OrtGetApiBase.restype = ctypes.POINTER(POINTER)
        get_api = ctypes.CFUNCTYPE(ctypes.POINTER(POINTER), ctypes.c_uint32)(library.OrtGetApiBase()[0])
        self.table = get_api(31)

    def function(self, name, result):
        return ctypes.CFUNCTYPE(result, *[POINTER] * 8)(self.table[SLOTS[name]])

    def __getattr__(self, name):
        def call(*arguments):
            padded = [ctypes.cast(a, POINTER) if isinstance(a, (ctypes.Array, bytes)) else a for a in arguments]
            status = self.function(name, POINTER)(*padded, *[None] * (8 - len(padded)))
            if status:
                code = self.function("GetErrorCode", ctypes.c_int)(status, *[None] * 7)
                text = self.function("GetErrorMessage", ctypes.c_char_p)(status, *[None] * 7).decode()
                raise RuntimeError(f"[{code}] {text}")
        return call


def out():
    return POINTER()


def model_with_external_weight(**location):
    weight = onnx.TensorProto(name="w", data_type=onnx.TensorProto.FLOAT, dims=[3],
                              data_location=onnx.TensorProto.EXTERNAL)
    for key, value in location.items():
        weight.external_data.add(key=key, value=value)
    x, y = (make.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [3]) for name in "xy")
    graph = make.make_graph([make.make_node("Add", ["x", "w"], ["y"])], "g", [x], [y], [weight])
    return make.make_model(graph, ir_version=8, opset_imports=[make.make_opsetid("", 17)]).SerializeToString()


@pytest.fixture
def api():
    return Api()


def add_file(api, options, file):
    names, buffers = (ctypes.c_char_p * 1)(b"w.bin"), (POINTER * 1)(file.ctypes.data)
    api.AddExternalInitializersFromFilesInMemory(options, names, buffers, (ctypes.c_size_t * 1)(file.nbytes), 1)


def run_on_zeros(api, session):
    info, value, result, data = out(), out(), (POINTER * 1)(), out()
    zeros = np.zeros(3, np.float32)
    api.CreateCpuMemoryInfo(0, 0, ctypes.byref(info))
    api.CreateTensorWithDataAsOrtValue(info, zeros.ctypes.data, 12, (ctypes.c_int64 * 1)(3), 1, 1, ctypes.byref(value))
    api.Run(session, None, (ctypes.c_char_p * 1)(b"x"), (POINTER * 1)(value), 1, (ctypes.c_char_p * 1)(b"y"), 1, result)
    api.GetTensorMutableData(result[0], ctypes.byref(data))
    return np.ctypeslib.as_array(ctypes.cast(data, ctypes.POINTER(ctypes.c_float)), (3,)).tolist()


def test_external_files_in_memory_are_copied_when_the_session_is_made(api):
    env, options, session = out(), out(), out()
    model = model_with_external_weight(location="w.bin", offset="4", length="12")
    file = np.array([9, 1, 2, 3], np.float32)
    api.CreateEnv(2, b"test", ctypes.byref(env))
    api.CreateSessionOptions(ctypes.byref(options))
    with pytest.raises(RuntimeError, match="w.bin"):
        api.CreateSessionFromArray(env, model, len(model), options, ctypes.byref(session))
    add_file(api, options, file)
    api.CreateSessionFromArray(env, model, len(model), options, ctypes.byref(session))
    file[:] = -1
    assert run_on_zeros(api, session) == [1, 2, 3]


def test_external_data_beyond_the_file_is_an_error_that_names_it(api):
    env, options, session = out(), out(), out()
    model = model_with_external_weight(location="w.bin", offset="8", length="12")
    file = np.zeros(4, np.float32)
    api.CreateEnv(2, b"test", ctypes.byref(env))
    api.CreateSessionOptions(ctypes.byref(options))
    add_file(api, options, file)
    with pytest.raises(RuntimeError, match=r"'w'.*w\.bin"):
        api.CreateSessionFromArray(env, model, len(model), options, ctypes.byref(session))
