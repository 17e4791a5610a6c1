"""Missing providers, requested in every way that ONNX Runtime offers: each answer names what is missing."""
import ctypes
import os
import pathlib
import warnings

import numpy as np
import onnx.parser
import pytest
import sardonyx

BUILD = pathlib.Path(os.environ.get("SDX_BUILD", pathlib.Path(__file__).parents[2] / "build/release"))
MODEL = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
g (float[N] x) => (float[N] y) { a = Abs (x)  y = Exp (a) }""").SerializeToString()
CPU = "CPUExecutionProvider"


def session(providers, **keywords):
    return sardonyx.InferenceSession(MODEL, providers=providers, **keywords)


@pytest.mark.parametrize("name", ["CUDAExecutionProvider", "TensorrtExecutionProvider", "OpenVINOExecutionProvider",
                                  "DmlExecutionProvider", "QNNExecutionProvider", "CudaExecutionProvider"])
def test_alone_it_is_the_error(name):
    for asked in ([name], [(name, {"device_id": 0})]):
        with pytest.raises(sardonyx.InvalidArgument, match=f"found '{name}'.*add 'CPUExecutionProvider'"):
            session(asked)
    options = sardonyx.SessionOptions()
    # A RuntimeError for a name that ONNX Runtime does not have either, as there.
    kind = RuntimeError if name == "CudaExecutionProvider" else sardonyx.InvalidArgument
    with pytest.raises(kind, match=f"'{name}' is not part of this library; it has: {CPU}"):
        options.add_provider(name, {})


def test_beside_the_cpu_it_is_one_warning_and_the_reason_of_the_placement():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = session([("CUDAExecutionProvider", {"device_id": 0}), CPU])
    assert len(caught) == 1 and "CUDAExecutionProvider" in str(caught[0].message)
    assert made.get_providers() == [CPU] and made.get_provider_options() == {CPU: {}}
    assert all(row["reason"].startswith("CUDAExecutionProvider: ") for row in made.placement())


def test_a_session_whose_providers_cannot_be_set_goes_on():
    made = session([CPU])
    with pytest.raises(sardonyx.InvalidArgument, match="CUDAExecutionProvider"):
        made.set_providers(["CUDAExecutionProvider"])
    assert made.get_providers() == [CPU]
    np.testing.assert_array_equal(made.run(None, {"x": np.zeros(2, np.float32)})[0], [1, 1])
    made.set_providers([CPU], [{}])
    assert made.get_providers() == [CPU]


@pytest.mark.parametrize("wrong", [CPU, {CPU: {"a": "b"}}, [3], [(CPU, {}, 1)], [(CPU, "a")]])
def test_what_is_no_list_of_providers_is_refused(wrong):
    with pytest.raises(ValueError, match="'providers' (should be|values must be)"):
        session(wrong)
    with pytest.raises(ValueError, match="same length"):
        session([CPU], provider_options=[{}, {}])


def test_a_library_that_is_not_there_is_named():
    with pytest.raises(sardonyx.Fail, match="provider library 'mine': there is no file '.*libmine.so'"):
        sardonyx.register_execution_provider_library("mine", "libmine.so")


# Slots of OrtApi, and what they ask for.
SLOTS = {152: "CUDA", 153: "ROCM", 154: "OpenVINO", 159: "Tensorrt", 170: "Tensorrt", 204: "CUDA", 209: "MIGraphX",
         220: "CANN", 239: "Dnnl", 275: "OpenVINO", 276: "VitisAI"}
GET_ERROR_CODE, GET_ERROR_MESSAGE = 1, 2


@pytest.fixture(scope="module")
def slot():
    library = ctypes.CDLL(str(BUILD / "lib/libsardonyx.so"))
    library.OrtGetApiBase.restype = ctypes.POINTER(ctypes.c_void_p)
    get_api = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)(library.OrtGetApiBase()[0])
    table = ctypes.cast(get_api(22), ctypes.POINTER(ctypes.c_void_p))
    return lambda number, result=ctypes.c_void_p: ctypes.CFUNCTYPE(result, *[ctypes.c_void_p] * 5)(table[number])


def answer(slot, number):
    status = slot(number)(None, None, None, None, None)
    assert status, "expected an error"
    text = slot(GET_ERROR_MESSAGE, ctypes.c_char_p)(status, None, None, None, None).decode()
    return slot(GET_ERROR_CODE, ctypes.c_int)(status, None, None, None, None), text


@pytest.mark.parametrize(("number", "name"), SLOTS.items())
def test_functions_of_the_c_table_name_the_provider(slot, number, name):
    code, text = answer(slot, number)
    assert code == 1 and f"'{name}ExecutionProvider' is not part of this library: register" in text
