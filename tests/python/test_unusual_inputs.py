"""Inputs and attributes that are rare but legal or harmless: what ONNX Runtime takes gives its results here."""
import numpy as np
import onnxruntime
import pytest
import sardonyx
from test_late_errors import LEVELS, Constant, ids, model_of, numbers

PLANE, ROW = numbers(1, 1, 4, 4), numbers(3, 1)
CROP = {"coordinate_transformation_mode": "tf_crop_and_resize"}
LARGER, BY_SCALE = Constant(1, 1, 8, 3), Constant(1, 1, 2, 0.75, dtype=np.float32)
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
