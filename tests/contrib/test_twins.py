"""Operators of com.microsoft that are twins of standard ones, and the standard domain's old experiments."""

import numpy as np
import onnx
import onnxruntime
import pytest
import sardonyx
from node_model import assert_close, compare, node_model, run_model
from onnx import helper

F = np.float32


def random(rng, *shape):
    return rng.standard_normal(shape).astype(F)


def refusal(op, inputs, outputs, **attributes):
    """The message with which Sardonyx refuses a model or its inputs."""
    with pytest.raises(Exception) as raised:  # noqa: PT011 - the type is the session's business, the text is ours
        run_model(sardonyx, node_model(op, inputs, outputs, **attributes), inputs)
    return str(raised.value)


@pytest.mark.parametrize("dtype", [F, np.float16, np.float64, np.int8, np.uint8, np.int32, np.int64])
@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_expand_dims(dtype, axis):
    x = np.arange(6).reshape(2, 3).astype(dtype)
    for given in (np.array(axis, np.int32), np.array([axis], np.int32)):
        compare("ExpandDims", [x, given], [dtype])
        compare("ExpandDims", [x, given], [dtype], constants=(1,))


def test_expand_dims_refuses_wrong_axes():
    x = np.zeros((2, 3), F)
    assert "rank 3" in refusal("ExpandDims", [x, np.array(3, np.int32)], [F])
    assert "expected one axis, found shape [2]" in refusal("ExpandDims", [x, np.array([0, 1], np.int32)], [F])


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize(
    "indices", [[[0, 0], [1, 1]], [[1], [0]], [[[0, 1]], [[1, 0]]], [[[0, 1, 1]], [[1, 0, -1]]], np.zeros((0, 2))]
)
def test_gather_nd(index, indices):
    x = np.arange(8).reshape(2, 2, 2).astype(F)
    compare("GatherND", [x, np.array(indices, index)], [F])


def test_gather_nd_refuses_indices_out_of_range():
    x = np.arange(4).reshape(2, 2).astype(F)
    assert "expected indices in [-2, 1] along the axis, found 2" in refusal("GatherND", [x, np.array([[2]])], [F])


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("corners", [0, 1])
def test_grid_sample(mode, padding, corners):
    rng = np.random.default_rng(1)
    # Where a bicubic sample needs pixels beyond the border, ONNX Runtime differs from the standard's text.
    reach = 0.5 if (mode, padding) == ("bicubic", "border") else 1.5
    grid = ((rng.random((2, 5, 6, 2)) * 2 - 1) * reach).astype(F)
    compare(
        "GridSample",
        [random(rng, 2, 3, 7, 8), grid],
        [F],
        tolerance=1e-5,
        mode=mode,
        padding_mode=padding,
        align_corners=corners,
    )


@pytest.mark.parametrize("dtype", [F, np.float64, np.int16, np.int32, np.int64])
@pytest.mark.parametrize("numbers", [(0, 5, 1), (3, 1, 1), (1, 9, 3), (5, -4, -2), (2, 6, None)])
def test_range(dtype, numbers):
    inputs = [None if n is None else np.array(n, dtype) for n in numbers]
    compare("Range", inputs, [dtype])
    compare("Range", inputs, [dtype], constants=tuple(i for i in range(3) if inputs[i] is not None))
    compare("Range", [None if n is None else n.reshape(1) for n in inputs], [dtype])


def test_range_refuses_a_delta_of_zero():
    assert "delta other than 0" in refusal("Range", [np.array(n, np.int64) for n in (0, 5, 0)], [np.int64])


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "wrap"])
@pytest.mark.parametrize("pads", [[0, 2, 0, 1], [1, 0, 2, 3], [1, -1, 0, 2], [-1, 0, 0, -2]])
@pytest.mark.parametrize("flat", [True, False])
def test_pad(mode, pads, flat):
    x = np.arange(20).reshape(4, 5).astype(F)
    given = np.array(pads if flat else [pads], np.int64)
    compare("Pad", [x, given], [F], mode=mode)
    compare("Pad", [x, given, np.array([3], F)], [F], constants=(1,), mode=mode)


def test_pad_refuses_pads_that_do_not_fit():
    x = np.arange(20).reshape(4, 5).astype(F)
    assert "expected two pads for each of 2 axes, found 3" in refusal("Pad", [x, np.array([1, 2, 3])], [F])


@pytest.mark.parametrize("dtype", [F, np.float64, np.int64])
@pytest.mark.parametrize("upper", [0, 1])
@pytest.mark.parametrize("k", [None, 0, 2, -1, -9])
def test_trilu(dtype, upper, k):
    x = np.arange(1, 41).reshape(2, 4, 5).astype(dtype)
    compare("Trilu", [x, None if k is None else np.array(k, np.int64)], [dtype], upper=upper)


@pytest.mark.parametrize("values", [[2, 1, 1, 3, 4, 3], [5], [], [0.0, -0.0, 7], [np.inf, -np.inf, np.inf]])
def test_unique_keeps_the_order(values):
    x = np.array(values, F)
    model = node_model("Unique", [x], [F, np.int64, np.int64])
    for ours, theirs in zip(run_model(sardonyx, model, [x]), run_model(onnxruntime, model, [x]), strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)


def test_unique_refuses_matrices():
    assert "expected a vector" in refusal("Unique", [np.zeros((2, 2), F)], [F, np.int64, np.int64])


@pytest.mark.parametrize("dtype", [F, np.float64, np.int32, np.int64, np.float16])
def test_sample_op_passes_its_input_on(dtype):
    x = np.arange(6).reshape(2, 3).astype(dtype)
    (got,) = run_model(sardonyx, node_model("SampleOp", [x], [dtype]), [x])
    np.testing.assert_array_equal(got, x, strict=True)
    if dtype == F:  # the one type of ONNX Runtime
        compare("SampleOp", [x], [dtype])


@pytest.mark.parametrize("size", [1, 2, 3, 7, 40])
@pytest.mark.parametrize("dtype", [F, np.float64, np.float16])
def test_inverse(size, dtype):
    rng = np.random.default_rng(2)
    x = (rng.standard_normal((2, 3, size, size)) + 4 * np.eye(size)).astype(dtype)
    (got,) = run_model(sardonyx, node_model("Inverse", [x], [dtype]), [x])
    bound = {F: 1e-6, np.float64: 1e-12, np.float16: 2e-3}[dtype]
    assert_close(got, np.linalg.inv(x.astype(np.float64)), bound, "against float64")
    if dtype != np.float16:
        compare("Inverse", [x], [dtype], tolerance=2e-4 if dtype == F else 1e-12)


def test_inverse_exchanges_rows_and_takes_empty_batches():
    x = np.array([[0, 2], [1, 0]], F)
    (got,) = run_model(sardonyx, node_model("Inverse", [x], [F]), [x])
    np.testing.assert_array_equal(got, [[0, 1], [0.5, 0]])
    empty = np.zeros((0, 3, 3), F)
    assert run_model(sardonyx, node_model("Inverse", [empty], [F]), [empty])[0].shape == (0, 3, 3)
    singular = np.array([[1, 2], [2, 4]], F)
    assert not np.isfinite(run_model(sardonyx, node_model("Inverse", [singular], [F]), [singular])[0]).all()
    assert "expected square matrices" in refusal("Inverse", [np.zeros((2, 3), F)], [F])


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize(
    "attributes",
    [
        {"kernel_shape": [2, 2]},
        {"kernel_shape": [3, 3], "strides": [2, 1], "pads": [1, 0, 1, 2]},
        {"kernel_shape": [3, 2], "dilations": [2, 1], "ceil_mode": 1, "strides": [2, 2]},
        {"kernel_shape": [3, 3], "auto_pad": "SAME_UPPER", "strides": [2, 2]},
    ],
)
def test_nhwc_max_pool(dtype, attributes):
    rng = np.random.default_rng(3)
    low, high = (-128, 128) if dtype == np.int8 else (0, 256)
    compare("NhwcMaxPool", [rng.integers(low, high, (2, 9, 10, 5)).astype(dtype)], [dtype], **attributes)


@pytest.mark.parametrize("shape,kernel", [((2, 3, 9), [3]), ((2, 3, 6, 7), [2, 3]), ((1, 2, 4, 5, 6), [2, 2, 3])])
@pytest.mark.parametrize("pads", [0, 1])
def test_max_pool_with_mask(shape, kernel, pads):
    rng = np.random.default_rng(4)
    mask = (rng.random((1, 1, *shape[2:])) < 0.7).astype(np.int32)
    compare(
        "MaxpoolWithMask",
        [random(rng, *shape), mask],
        [F],
        tolerance=0,
        kernel_shape=kernel,
        pads=[pads] * 2 * len(kernel),
        strides=[2] * len(kernel),
    )


def test_max_pool_takes_a_mask_for_each_plane():
    """ONNX Runtime 1.31 reads the masks of planes from wrong places; each plane has its own here."""
    rng = np.random.default_rng(5)
    x, mask = random(rng, 2, 3, 8), (rng.random((2, 3, 8)) < 0.7).astype(np.int32)
    (got,) = run_model(sardonyx, node_model("MaxpoolWithMask", [x, mask], [F], kernel_shape=[4]), [x, mask])
    for n, c, i in np.ndindex(2, 3, 5):
        ends = np.flatnonzero(mask[n, c, i : i + 4] == 0)
        window = x[n, c, i : i + (ends[0] if len(ends) else 4)]
        assert got[n, c, i] == (window.max() if window.size else np.finfo(F).min)
    wrong = refusal("MaxpoolWithMask", [x, np.ones((1, 1, 7), np.int32)], [F], kernel_shape=[4])
    assert "spatial dimensions of the input [2, 3, 8], found shape [1, 1, 7]" in wrong


BOXES = [[0, 0, 1, 1], [0.1, 0.3, 0.8, 0.9], [0.9, 0.8, 0.2, 0.1], [-0.3, 0.2, 1.4, 0.7], [0.5, 0.5, 0.5, 0.5]]


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("crop", [(3, 4), (1, 1), (1, 5), (9, 7)])
def test_crop_and_resize(mode, crop):
    rng = np.random.default_rng(6)
    inputs = [
        random(rng, 2, 3, 6, 8),
        np.array(BOXES, F),
        np.array([0, 1, 1, 0, 1], np.int32),
        np.array(crop, np.int32),
    ]
    compare("CropAndResize", inputs, [F], mode=mode, extrapolation_value=0.25)
    compare("CropAndResize", inputs, [F], constants=(3,), mode=mode)


@pytest.mark.parametrize(
    "index,value,message",
    [
        (1, np.zeros((5, 3), F), "expected boxes"),
        (2, np.array([0, 1, 2, 0, 0], np.int32), r"expected indices in \[0, 1\], found 2"),
        (3, np.array([0, 4], np.int32), r"at least 1, found \[0, 4\]"),
    ],
)
def test_crop_and_resize_refuses(index, value, message):
    inputs = [np.zeros((2, 3, 6, 8), F), np.array(BOXES, F), np.zeros(5, np.int32), np.array([2, 2], np.int32)]
    inputs[index] = value
    with pytest.raises(Exception, match=message):
        run_model(sardonyx, node_model("CropAndResize", inputs, [F]), inputs)


@pytest.mark.parametrize("dtype", [F, np.float64, np.int8, np.uint8, np.int64, np.float16])
@pytest.mark.parametrize("attributes", [{"dim": 1, "size": 2}, {"size": 3, "step": 2}, {"dim": 0, "size": 4}])
def test_unfold(dtype, attributes):
    x = np.arange(120).reshape(4, 5, 6).astype(dtype)
    (got,) = run_model(sardonyx, node_model("UnfoldTensor", [x], [dtype], **attributes), [x])
    axis, step = attributes.get("dim", -1), attributes.get("step", 1)
    windows = np.lib.stride_tricks.sliding_window_view(x, attributes["size"], axis)
    np.testing.assert_array_equal(
        got, windows.take(range(0, windows.shape[axis - (axis < 0)], step), axis - (axis < 0))
    )
    if np.dtype(dtype).itemsize >= 4:  # ONNX Runtime's kernel registers narrower types and refuses them
        compare("UnfoldTensor", [x], [dtype], **attributes)


def test_unfold_refuses_slices_longer_than_the_axis():
    message = refusal("UnfoldTensor", [np.zeros((2, 3), F)], [F], size=4)
    assert "expected a size of at most 3 along the axis, found 4" in message or "expected at most 3" in message


def experiment(op, x, engine=sardonyx, opset=9, extra=(), **attributes):
    names = [f"x{i}" for i in range(1 + len(extra))]
    node = helper.make_node(op, names, ["y"], **attributes)
    given = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), [f"{n}_{k}" for k in range(v.ndim)])
        for n, v in zip(names, [x, *extra], strict=True)
    ]
    asked = [helper.make_tensor_value_info("y", helper.np_dtype_to_tensor_dtype(x.dtype), None)]
    graph = helper.make_graph([node], "g", given, asked)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    session = engine.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, dict(zip(names, [x, *extra], strict=True)))[0]


EXPERIMENTS = [
    ("Affine", {}),
    ("Affine", {"alpha": 0.5, "beta": 3.0}),
    ("Scale", {"scale": -2.5}),
    ("ScaledTanh", {"alpha": 0.5, "beta": 3.0}),
    ("ParametricSoftplus", {"alpha": 0.5, "beta": -3.0}),
    ("ImageScaler", {"scale": 0.5, "bias": [1.0, -2.0, 3.0]}),
    ("Crop", {"border": [1, 0, 1, 2]}),
    ("Crop", {"border": [1, 0, 1, 2], "scale": [2, 3]}),
]


@pytest.mark.parametrize("op,attributes", EXPERIMENTS)
def test_experiments(op, attributes):
    x = random(np.random.default_rng(7), 2, 3, 5, 6) * F(3)
    want = experiment(op, x, onnxruntime, **attributes)
    assert_close(experiment(op, x, **attributes), want, 1e-6, op)
    for dtype, bound in [(np.float64, 1e-6), (np.float16, 2e-3)]:  # which ONNX Runtime does not have
        got = experiment(op, x.astype(dtype), **attributes)
        assert got.dtype == dtype
        assert_close(got, want, bound, f"{op} {dtype}")


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_dynamic_slice(index):
    x = np.arange(20).reshape(4, 5).astype(F)
    for parts in ([[1, 0], [3, -1]], [[-9], [3], [-1]], [[3], [1], [0]], [[0], [2147483647], [1]]):
        extra = [np.array(p, index) for p in parts]
        want = experiment("DynamicSlice", x, onnxruntime, extra=extra)
        np.testing.assert_array_equal(experiment("DynamicSlice", x, extra=extra), want)


@pytest.mark.parametrize(
    "op,attributes,message",
    [
        ("ScaledTanh", {"alpha": 1.0}, "beta"),
        ("ParametricSoftplus", {"beta": 1.0}, "alpha"),
        ("ImageScaler", {}, "'bias'"),
        ("ImageScaler", {"bias": [1.0]}, "expected 3 values, one for each channel, found 1"),
        ("Crop", {"border": [1, 0]}, "expected 4 values, found 2"),
        ("Crop", {"border": [3, 0, 4, 0]}, "expected a width of at least 7, found 6"),
        ("Crop", {"border": [3, 0, 0, 0], "scale": [1, 4]}, "expected a width of at least 7, found 6"),
        ("Crop", {"border": [-1, 0, 0, 0]}, "found -1"),
    ],
)
def test_experiments_refuse(op, attributes, message):
    with pytest.raises(Exception, match=message):
        experiment(op, np.zeros((2, 3, 5, 6), F), **attributes)


def test_opset_10_withdrew_the_experiments():
    assert onnx.defs.onnx_opset_version() >= 10
    with pytest.raises(Exception, match="Affine"):
        experiment("Affine", np.zeros((2, 3), F), opset=10)
