"""Inputs that the model declares as scalars accept tensors of any shape, as in ONNX Runtime, which is the reference."""
import ctypes
import json
import pathlib
import sys

import numpy as np
import onnx.helper
import onnx.numpy_helper
import onnx.parser
import onnxruntime
import pytest
import sardonyx

# x is declared as a scalar: (inputs, outputs, nodes).
MODELS = {
    "Add": ("float x", "float y", "y = Add(x, x)"),
    "Add to a matrix": ("float x", "float y", "c = Constant<value = float[2,2] {1,2,3,4}>() y = Add(c, x)"),
    "elementwise group": ("float x", "float y", "a = Relu(x) b = Mul(a, a) c = Exp(b) y = Add(c, x)"),
    "Shape": ("float x", "int64[N] y", "y = Shape(x)"),
    "Size": ("float x", "int64 y", "y = Size(x)"),
    "Identity": ("float x", "float y", "y = Identity(x)"),
    "Unsqueeze": ("float x", "float[1] y", "a = Constant<value = int64[1] {0}>() y = Unsqueeze(x, a)"),
    "Unsqueeze of a declared value": (
        "float x", "float[1] y", "a = Constant<value = int64[1] {0}>() t = Neg(x) y = Unsqueeze(t, a)"),
    "Unsqueeze and Squeeze": (
        "float x", "float y", "a = Constant<value = int64[1] {0}>() t = Unsqueeze(x, a) y = Squeeze(t)"),
    "Squeeze": ("float x", "float y", "y = Squeeze(x)"),
    "Reshape": ("float x", "float[1] y", "s = Constant<value = int64[1] {-1}>() y = Reshape(x, s)"),
    "Flatten": ("float x", "float[1,1] y", "y = Flatten(x)"),
    "Transpose": ("float x", "float y", "y = Transpose(x)"),
    "Expand": ("float x", "float[2,3] y", "s = Constant<value = int64[2] {2,3}>() y = Expand(x, s)"),
    "Expand to one": ("float x", "float[1] y", "s = Constant<value = int64[1] {1}>() y = Expand(x, s)"),
    "Where": ("float x", "float[2] y",
              "c = Constant<value = bool[2] {1,0}>() z = Constant<value = float {9.0}>() y = Where(c, x, z)"),
    "Concat": ("float x", "float[N] y", "y = Concat<axis = 0>(x, x)"),
    "MatMul": ("float x", "float[N] y", "c = Constant<value = float[2,2] {1,2,3,4}>() y = MatMul(x, c)"),
    "ReduceSum": ("float x", "float y", "y = ReduceSum<keepdims = 0>(x)"),
    "ReduceMean of all": ("float x", "float y", "y = ReduceMean<keepdims = 1>(x)"),
    "Cast": ("float x", "int64 y", "y = Cast<to = 7>(x)"),
    "Clip": ("float x", "float[2,2] y", "c = Constant<value = float[2,2] {1,2,3,4}>() y = Clip(c, x)"),
    "ConstantOfShape of Shape": ("float x", "float y", "s = Shape(x) y = ConstantOfShape(s)"),
    "Gather by x": ("int64 x", "float y", "c = Constant<value = float[4,2] {1,2,3,4,5,6,7,8}>() y = Gather(c, x)"),
    "Range": ("int64 x", "int64[N] y",
              "a = Constant<value = int64 {0}>() d = Constant<value = int64 {1}>() y = Range(a, x, d)"),
    "Range from x": ("int64 x", "int64[N] y",
                     "a = Constant<value = int64 {9}>() d = Constant<value = int64 {2}>() y = Range(x, a, d)"),
    "Slice starts of a scalar": (
        "int64 x", "float[N] y", "c = Constant<value = float[5] {1,2,3,4,5}>() a = Constant<value = int64[1] {0}>() "
        "b = Unsqueeze(x, a) e = Constant<value = int64[1] {4}>() y = Slice(c, b, e)"),
    "If": ("bool x", "float[N] y", "y = If(x) <then_branch = t () => (float[2] a) { a = Constant<value = float[2] "
           "{1,2}>() }, else_branch = e () => (float[1] b) { b = Constant<value = float[1] {3}>() }>"),
    "If by comparison": (
        "int64 x", "float[N] y", "k = Constant<value = int64 {2}>() q = Equal(x, k) y = If(q) <then_branch = t () => "
        "(float[2] a) { a = Constant<value = float[2] {1,2}>() }, else_branch = e () => (float[1] b) "
        "{ b = Constant<value = float[1] {3}>() }>"),
    "If that captures": (
        "float x", "float y", "c = Constant<value = bool {1}>() y = If(c) <then_branch = t () => (float a) "
        "{ a = Neg(x) }, else_branch = e () => (float b) { b = Abs(x) }>"),
    "Loop trip count": (
        "int64 x", "float y, float[N] z", "c = Constant<value = bool {1}>() f = Constant<value = float {1.0}>() "
        "y, z = Loop(x, c, f) <body = b (int64 i, bool t, float s) => (bool u, float v, float w) "
        "{ u = Identity(t) v = Add(s, s) w = Identity(v) }>"),
    "Loop-carried": (
        "float x", "float y", "n = Constant<value = int64 {3}>() c = Constant<value = bool {1}>() "
        "y = Loop(n, c, x) <body = b (int64 i, bool t, float s) => (bool u, float v) "
        "{ u = Identity(t) v = Add(s, s) }>"),
}
FLOATS = [3.5, [2.0], [1.0, 2.0, 3.0], [[1.0, 2.0], [3.0, 4.0]], []]
INTS = [2, [2], [1, 2, 3], [[2]]]
BOOLS = [True, [True], [[False]], [True, False]]


def model_of(inputs, outputs, nodes):
    return onnx.parser.parse_model(
        f'<ir_version: 9, opset_import: ["" : 18]> g ({inputs}) => ({outputs}) {{ {nodes} }}').SerializeToString()


def cases():
    for name, (inputs, _, _) in MODELS.items():
        kind = inputs.split()[0]
        for value in {"float": FLOATS, "int64": INTS, "bool": BOOLS}[kind]:
            if name.startswith("Range") and value == [[2]] or name == "ReduceMean of all" and value == []:
                continue  # other rows of one element are taken here; the mean of nothing is NaN here
            array = np.array(value, {"float": np.float32, "int64": np.int64, "bool": np.bool_}[kind])
            yield pytest.param(name, array, id=f"{name}-{list(array.shape)}")


def quiet(library):
    options = library.SessionOptions()
    options.log_severity_level = 4
    return options


def result_of(library, model, feed, options=None):
    """None where the model or the run is refused."""
    try:
        providers = {"providers": ["CPUExecutionProvider"]} if library is onnxruntime else {}
        return library.InferenceSession(model, options or quiet(library), **providers).run(None, feed)
    except Exception:  # noqa: BLE001  (each library has errors of its own)
        return None


# ONNX Runtime folds the Shape of a declared scalar and keeps to that when the run brings another shape; what it
# computes without optimizations is the reference.
FOLDED = {"Shape", "ConstantOfShape of Shape"}


@pytest.mark.parametrize(("name", "x"), list(cases()))
def test_a_declared_scalar_takes_any_shape_as_in_onnx_runtime(name, x):
    model = model_of(*MODELS[name])
    options = quiet(onnxruntime)
    if name in FOLDED:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    want = result_of(onnxruntime, model, {"x": x}, options)
    got = result_of(sardonyx, model, {"x": x})
    assert (got is None) == (want is None), (got, want)
    for a, b in zip(got or [], want or [], strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape, (a, b)
        np.testing.assert_allclose(a, b, rtol=1e-6)


ADD = model_of("float x, float z", "float[2] y", "a = Add(x, z) y = Relu(a)")


def warnings(capfd):
    return [line for line in capfd.readouterr().err.splitlines() if "is declared as a scalar" in line]


def test_each_input_of_another_shape_is_warned_of_once(capfd):
    session = sardonyx.InferenceSession(ADD)
    one, two = np.float32(1), np.array([1, -5], np.float32)
    assert session.run(None, {"x": one, "z": one})[0].tolist() == 2
    assert not warnings(capfd)
    for _ in range(3):
        assert session.run(None, {"x": two, "z": one})[0].tolist() == [2, 0]
    (said,) = warnings(capfd)
    assert "input 'x'" in said and "float[2]" in said
    assert session.run(None, {"x": two, "z": two})[0].tolist() == [2, 0]
    assert session.run(None, {"x": one, "z": two.reshape(1, 1, 2)})[0].tolist() == [[[2, 0]]]
    (said,) = warnings(capfd)
    assert "input 'z'" in said and "float[2]" in said
    assert session.run(None, {"x": one, "z": one})[0].tolist() == 2
    assert sardonyx.InferenceSession(ADD).run(None, {"x": two, "z": one})[0].tolist() == [2, 0]
    assert len(warnings(capfd)) == 1, "each session says it"


def test_other_errors_are_as_before():
    session = sardonyx.InferenceSession(ADD, quiet(sardonyx))
    x = np.ones(2, np.float32)
    with pytest.raises(sardonyx.InvalidArgument, match="input 'x': expected .*double"):
        session.run(None, {"x": x.astype(np.float64), "z": x})
    with pytest.raises(ValueError, match="'z'.* missing"):
        session.run(None, {"x": x})
    with pytest.raises(Exception, match="Add"):
        session.run(None, {"x": x, "z": np.ones(3, np.float32)})


def test_the_default_of_an_input_is_overridden_in_any_shape():
    value, w = onnx.helper.make_tensor_value_info, onnx.helper.make_tensor("w", 1, [], [5.0])
    graph = onnx.helper.make_graph([onnx.helper.make_node("Add", ["x", "w"], ["y"])], "g",
                                   [value("x", 1, [2]), value("w", 1, [])], [value("y", 1, None)], [w])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=9)
    session, x = sardonyx.InferenceSession(model.SerializeToString(), quiet(sardonyx)), np.ones(2, np.float32)
    assert session.run(None, {"x": x})[0].tolist() == [6, 6]
    assert session.run(None, {"x": x, "w": np.array([1, 2], np.float32)})[0].tolist() == [2, 3]
    assert session.run(None, {"x": x, "w": np.ones((2, 1), np.float32)})[0].tolist() == [[2, 2], [2, 2]]


def test_an_input_without_a_shape_takes_any_and_nothing_is_said(capfd):
    session = sardonyx.InferenceSession(model_of("float[] x", "float y", "y = Neg(x)"))
    for shape in ((), (1,), (2, 3)):
        assert session.run(None, {"x": np.ones(shape, np.float32)})[0].shape == shape
    assert "input 'x'" not in capfd.readouterr().err


def test_values_inside_checks_and_bindings_follow_the_shape(capfd):
    session = sardonyx.InferenceSession(ADD)
    feed = {"x": np.array([1, -5], np.float32), "z": np.float32(1)}
    inner, y = session.run(["a", "y"], feed)
    assert inner.tolist() == [2, -4] and y.tolist() == [2, 0]
    assert len(warnings(capfd)) == 1
    assert "y" in str(session.check_values(feed))
    binding = session.io_binding()
    for name, value in feed.items():
        binding.bind_cpu_input(name, np.asarray(value))
    binding.bind_output("y")
    session.run_with_iobinding(binding)
    assert binding.copy_outputs_to_cpu()[0].tolist() == [2, 0]
    session.trim()
    assert session.run(None, feed)[0].tolist() == [2, 0]


def test_a_session_made_from_bytes_that_are_gone_takes_other_shapes(capfd):
    """The model is built again for them: its weights, which kernels have packed, must still be there."""
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "capi"))
    from test_from_python import Api, out
    w = np.arange(64 * 64, dtype=np.float32).reshape(64, 64)
    value = onnx.helper.make_tensor_value_info
    nodes = [onnx.helper.make_node("MatMul", ["a", "w"], ["m"]), onnx.helper.make_node("Add", ["m", "s"], ["y"])]
    graph = onnx.helper.make_graph(nodes, "g", [value("a", 1, [1, 64]), value("s", 1, [])], [value("y", 1, None)],
                                   [onnx.numpy_helper.from_array(w, "w")])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)],
                                   ir_version=9).SerializeToString()
    api, env, options, session, info = Api(), out(), out(), out(), out()
    api.CreateEnv(2, b"test", ctypes.byref(env))
    api.CreateSessionOptions(ctypes.byref(options))
    data = ctypes.create_string_buffer(model)
    api.CreateSessionFromArray(env, data, len(model), options, ctypes.byref(session))
    ctypes.memset(data, 0, len(model))
    a, s = np.ones((1, 64), np.float32), np.array([1, 2, 3], np.float32).reshape(3, 1)
    api.CreateCpuMemoryInfo(0, 0, ctypes.byref(info))
    given, result, got = [out(), out()], (ctypes.c_void_p * 1)(), out()
    for array, handle in zip((a, s), given, strict=True):
        shape = (ctypes.c_int64 * 2)(*array.shape)
        api.CreateTensorWithDataAsOrtValue(info, array.ctypes.data, array.nbytes, shape, 2, 1, ctypes.byref(handle))
    api.Run(session, None, (ctypes.c_char_p * 2)(b"a", b"s"), (ctypes.c_void_p * 2)(*given), 2,
            (ctypes.c_char_p * 1)(b"y"), 1, result)
    api.GetTensorMutableData(result[0], ctypes.byref(got))
    y = np.ctypeslib.as_array(ctypes.cast(got, ctypes.POINTER(ctypes.c_float)), (3, 64))
    np.testing.assert_allclose(y, a @ w + s)
    assert len(warnings(capfd)) == 1


def test_a_profile_of_the_session_has_runs_of_either_shape(tmp_path):
    options = quiet(sardonyx)
    options.enable_profiling, options.profile_file_prefix = True, str(tmp_path / "profile")
    session = sardonyx.InferenceSession(ADD, options)
    for x in (np.float32(1), np.ones(2, np.float32)):
        session.run(None, {"x": x, "z": np.float32(1)})
    events = json.loads(pathlib.Path(session.end_profiling()).read_text())
    assert sum(event["name"] == "model_run" for event in events) == 2
