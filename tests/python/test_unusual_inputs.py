"""Inputs and attributes that are rare but legal or harmless: what ONNX Runtime takes gives its results here."""
import numpy as np
import onnx.parser
import onnxruntime
import pytest
import sardonyx
from test_late_errors import LEVELS, Constant, ids, model_of, numbers

PLANE, ROW = numbers(1, 1, 4, 4), numbers(3, 1)
CROP = {"coordinate_transformation_mode": "tf_crop_and_resize"}
LARGER, BY_SCALE = Constant(1, 1, 8, 3), Constant(1, 1, 2, 0.75, dtype=np.float32)
TABLE, SMALL_IMAGE = numbers(3, 2), numbers(1, 2, 3, 3)
# The operator, its attributes and inputs, and its version.
TAKEN = [
    # Without a region of interest the whole image is resized.
    *(("Resize", CROP | {"mode": mode}, [PLANE, None, *sizes], 17)
      for mode in ("nearest", "linear", "cubic") for sizes in ([None, LARGER], [BY_SCALE])),
    ("Resize", CROP | {"axes": [2, 3]}, [PLANE, None, None, Constant(8, 3)], 18),
    ("Resize", CROP, [PLANE, None, Constant(1, 1, 1, 1, dtype=np.float32)], 13),
    # Shapes that are constants of any rank: their elements in order.
    *((op, {}, [*before, Constant(array=np.array(shape))], 17)
      for op, before in (("ConstantOfShape", []), ("Expand", [ROW]))
      for shape in ([[3], [2]], [[2, 3, 4]], [[2, 3], [1, 2]])),
    ("ConstantOfShape", {}, [Constant(array=np.zeros((0, 2), np.int64))], 17),
    # An addend that is multiplied by 0, whatever it holds.
    *(("Gemm", {"beta": 0.0}, [numbers(3, 4), numbers(4, 2), np.full(shape, np.nan, np.float32)], 17)
      for shape in ((), (2,), (3, 1), (3, 2))),
    # An axis that is named twice.
    *(("Squeeze", {}, [numbers(1, 3, 1), axes], 17)
      for axes in (Constant(0, 0), Constant(0, -3), Constant(2, 0, -1), np.array([0, 0]))),
    ("Squeeze", {"axes": [2, 2]}, [numbers(1, 3, 1)], 11),
    # No axes are all axes.
    *(("Squeeze", {}, [numbers(1, 3, 1), axes], 17) for axes in (Constant(), np.zeros(0, np.int64))),
    # Powers of norms that are none.
    *((op, attributes | {"p": p}, [SMALL_IMAGE], 17) for p in (0, -1, -2, 3)
      for op, attributes in (("LpPool", {"kernel_shape": [2, 2]}), ("GlobalLpPool", {}))),
    # Flags that are neither 0 nor 1.
    *(("TopK", {"largest": flag}, [TABLE, Constant(2)], 17) for flag in (2, -1)),
    *((op, {"keepdims": flag, "axes": [1]}, [TABLE], 11) for flag in (2, -1) for op in ("ReduceMax", "ReduceMean")),
    *((op, {"keepdims": 2, "axis": 1}, [TABLE], 17) for op in ("ArgMax", "ArgMin")),
    ("ReduceSum", {"keepdims": 2}, [TABLE, np.array([0])], 17),
    *(("Reshape", {"allowzero": 2}, [TABLE, Constant(*shape)], 17) for shape in ((0, 0), (3, 0, 1))),
    # A scalar along an axis that it lacks.
    *(("ReduceSum", {}, [numbers(), np.array([axis])], 17) for axis in (0, -1)),
    *((op, {"axes": [axis]}, [numbers()], 11) for axis in (0, -1) for op in ("ReduceMax", "ReduceMin")),
    # The default axes are those of images.
    *(("MeanVarianceNormalization", {}, [numbers(*shape) ** 2], 13) for shape in ((3, 2), (2, 3, 4), (4,))),
    # Nothing is left of what is clipped to 0. ONNX Runtime refuses this of GRU and LSTM.
    ("RNN", {"hidden_size": 2, "clip": 0.0}, [numbers(3, 1, 2), numbers(1, 2, 2), numbers(1, 2, 2)], 17),
    # What divides by 0 is the lowest integer.
    *(("Pow", {}, [np.array([0, 1, -1, 3, 2]), Constant(array=np.array(power))], 17) for power in (-1, -2, -3)),
]
# The errors of the same operators.
REFUSED = [
    ("Resize", CROP, [PLANE, np.zeros(0, np.float32), None, LARGER], 17),
    ("Resize", CROP, [PLANE, numbers(4), None, LARGER], 17),
]
# What only ONNX Runtime refuses, the same in a form that it takes, and the order of the axes if that is another. They
# stand in docs/disputed_results.md.
RECURRENT = {"LSTM": 8, "GRU": 6, "RNN": 2}
STEPS, IMAGE = numbers(3, 1, 2), numbers(1, 2, 5, 5)
AROUND = ((0, 0), (0, 0), (3, 3), (3, 3))
WIDER = np.pad(IMAGE, AROUND)
LAXER = {
    **{f"{op} without hidden_size": ((op, {}, [STEPS, numbers(1, n, 2), numbers(1, n, 2)], 17),
                                     (op, {"hidden_size": 2}, [STEPS, numbers(1, n, 2), numbers(1, n, 2)], 17), None)
       for op, n in RECURRENT.items()},
    **{f"{op} with layout": (
        (op, {"hidden_size": 2, "layout": 1}, [STEPS.swapaxes(0, 1), numbers(1, n, 2), numbers(1, n, 2)], 17),
        (op, {"hidden_size": 2}, [STEPS, numbers(1, n, 2), numbers(1, n, 2)], 17), (2, 0, 1, 3))
       for op, n in RECURRENT.items()},
    "LpPool": (("LpPool", {"kernel_shape": [2, 2], "pads": [3, 3, 3, 3]}, [IMAGE], 17),
               ("LpPool", {"kernel_shape": [2, 2]}, [WIDER], 17), None),
    "AveragePool": (("AveragePool", {"kernel_shape": [2, 2], "pads": [3] * 4, "count_include_pad": 1}, [IMAGE], 17),
                    ("AveragePool", {"kernel_shape": [2, 2]}, [WIDER], 17), None),
    "MaxPool": (("MaxPool", {"kernel_shape": [2, 2], "pads": [3, 3, 3, 3]}, [IMAGE], 17),
                ("MaxPool", {"kernel_shape": [2, 2]}, [np.pad(IMAGE, AROUND, constant_values=-np.inf)], 17), None),
    "Reshape": (("Reshape", {}, [ROW, Constant(array=np.array([[1, 3]]))], 17),
                ("Reshape", {}, [ROW, Constant(1, 3)], 17), None),
    "Expand": (("Expand", {}, [ROW, np.array([[3, 2]])], 17), ("Expand", {}, [ROW, Constant(3, 2)], 17), None),
    "ConstantOfShape": (("ConstantOfShape", {}, [np.array([[3, 2]])], 17),
                        ("ConstantOfShape", {}, [Constant(3, 2)], 17), None),
    "Range": (("Range", {}, [Constant(0), Constant(5), Constant(2)], 17),
              ("Range", {}, [Constant(array=np.array(i)) for i in (0, 5, 2)], 17), None),
}


def session_of(engine, model, level):
    options = engine.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = getattr(engine.GraphOptimizationLevel, level)
    return engine.InferenceSession(model, options, providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("case", TAKEN, ids=ids(TAKEN))
def test_what_the_peer_takes_gives_its_results(case, level):
    model, feeds = model_of(case, False)
    ours, theirs = (session_of(engine, model, level).run(None, feeds) for engine in (sardonyx, onnxruntime))
    for got, want in zip(ours, theirs, strict=True):
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("parts", [2, 3])
def test_a_split_into_one_output_leaves_all_in_it(parts):
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 18]> '
                                    f"g (float[N, 2] x) => (float[M, 2] y) {{ y = Split <num_outputs = {parts}> (x) }}")
    for engine in (sardonyx, onnxruntime):
        got, = session_of(engine, model.SerializeToString(), "ORT_ENABLE_ALL").run(None, {"x": TABLE})
        np.testing.assert_array_equal(got, TABLE)


def test_branches_with_inputs_are_refused():
    """Nobody gives them values."""
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]> g (bool c, float[N] x) => (float[N] y) {
        y = If (c) <then_branch = yes (float[N] q) => (float[N] p) { p = Neg (q) },
                    else_branch = no () => (float[N] r) { r = Relu (x) }> }""")
    for engine in (sardonyx, onnxruntime):
        with pytest.raises(Exception) as error:
            session_of(engine, model.SerializeToString(), "ORT_ENABLE_ALL")
        assert type(error.value).__name__ == "Fail"


TEXTS = ["1,5", "1_0", "2.5kg", "-0x10", "0x1.8p3 ", "1e3 m", " +7", "12abc"]


@pytest.mark.parametrize("kind", ["FLOAT", "DOUBLE", "INT32", "INT64", "UINT8"])
def test_texts_that_only_begin_with_a_number(kind):
    texts = [text for text in TEXTS if kind in ("FLOAT", "DOUBLE") or "e" not in text]
    node = onnx.helper.make_node("Cast", ["x"], ["y"], to=getattr(onnx.TensorProto, kind))
    given = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.STRING, ["N"])
    graph = onnx.helper.make_graph([node], "g", [given], [onnx.helper.make_empty_tensor_value_info("y")])
    model = onnx.helper.make_model(graph, ir_version=8, opset_imports=[onnx.helper.make_opsetid("", 17)])
    ours, theirs = (session_of(engine, model.SerializeToString(), "ORT_ENABLE_ALL").run(
        None, {"x": np.array(texts, object)})[0].tolist() for engine in (sardonyx, onnxruntime))
    assert ours == theirs


@pytest.mark.parametrize("case", REFUSED, ids=ids(REFUSED))
def test_what_the_peer_refuses_in_a_run_has_its_class(case):
    model, feeds = model_of(case, False)
    for engine in (sardonyx, onnxruntime):
        with pytest.raises(Exception) as error:
            session_of(engine, model, "ORT_ENABLE_ALL").run(None, feeds)
        assert type(error.value).__name__ == "InvalidArgument"


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", LAXER)
def test_what_only_the_peer_refuses_gives_the_result_of_the_text(name, level):
    case, same, order = LAXER[name]
    model, feeds = model_of(case, False)
    with pytest.raises(Exception, match="ONNXRuntimeError"):
        session_of(onnxruntime, model, level).run(None, feeds)
    got, = session_of(sardonyx, model, level).run(None, feeds)
    model, feeds = model_of(same, False)
    want, = session_of(onnxruntime, model, level).run(None, feeds)
    want = want if order is None else want.transpose(order)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
