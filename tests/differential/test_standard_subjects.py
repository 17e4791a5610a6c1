"""What ONNX Runtime's tests of 25 standard operators are about: a case of ours for each of these subjects, with values
of our own, compared with ONNX Runtime. `tests/contrib/peer_subjects.tsv` names the subjects; what is refused is refused
by both, and our message says why. `docs/disputed_results.md` has the places where ONNX Runtime is not followed."""
import numpy as np
import onnx
import onnxruntime
import pytest
import sardonyx
from onnx import helper
from onnx.reference import ReferenceEvaluator

F, D, H, L, S, B = np.float32, np.float64, np.float16, np.int64, np.int32, bool
RNG = np.random.default_rng(17)
CASES = {}


def case(op, subject, opset, inputs, outputs=1, wrong=None, peer_refuses=True, want=None, **attributes):
    """want: the outputs where ONNX Runtime has no kernel for the type or differs from the text."""
    assert (op, subject) not in CASES
    CASES[op, subject] = (opset, inputs, outputs, wrong, peer_refuses, want, attributes)


def run(engine, op, opset, inputs, outputs, attributes, optimize=True):
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    results = [f"y{i}" for i in range(outputs)]
    given = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
             for n, x in zip(names, inputs) if x is not None]
    graph = helper.make_graph([helper.make_node(op, names, results, name="node", **attributes)], "g", given,
                              [onnx.ValueInfoProto(name=n) for n in results])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    options = engine.SessionOptions()
    options.log_severity_level = 4
    if not optimize:
        options.graph_optimization_level = engine.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = engine.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {n: x for n, x in zip(names, inputs) if x is not None})


def numbers(*shape, dtype=F):
    if np.issubdtype(dtype, np.floating):
        return RNG.standard_normal(shape).astype(dtype)
    return RNG.integers(0, 50, shape).astype(dtype)


def words(*values):
    return np.array(values, object)


# ---- NonMaxSuppression
BOXES = np.array([[[0, 0, 2, 2], [0, 0.2, 2, 2.2], [0, -0.2, 2, 1.8], [0, 8, 2, 10], [0, 8.2, 2, 10.2],
                   [0, 40, 2, 42]]], F)
SCORES = np.array([[[0.8, 0.7, 0.65, 0.9, 0.4, 0.2]]], F)


def suppress(subject, boxes, scores, count, overlap=0.5, score=0.0, **more):
    inputs = [boxes, scores, np.array(count, L), np.array(overlap, F), None if score is None else np.array(score, F)]
    case("NonMaxSuppression", subject, 11, inputs, **more)


suppress("WithIOUThreshold", BOXES, SCORES, 3)
suppress("CenterPointBoxFormat", BOXES + F(1), SCORES, 3, center_point_box=1)
suppress("TwoClasses", BOXES, np.concatenate([SCORES, SCORES[..., ::-1]], 1), 6)
suppress("TwoBatches_OneClass", np.concatenate([BOXES, BOXES[:, ::-1]]), np.concatenate([SCORES, SCORES]), 2)
suppress("TwoBatches_TwoClasses", np.concatenate([BOXES, BOXES]), RNG.random((2, 2, 6)).astype(F), 2, 0.8)
suppress("WithScoreThreshold", BOXES, SCORES, 3, score=0.45)
suppress("WithoutScoreThreshold", BOXES, SCORES, 3, score=None)
suppress("WithScoreThresholdZeroScores", BOXES, np.array([[[0.1, 0, 0, 0.3, 0.2, -5]]], F), 6, score=-3)
suppress("FlippedCoordinates", BOXES[..., [2, 1, 0, 3]], SCORES, 3)
suppress("SelectTwo", BOXES, SCORES, 2)
suppress("SelectThirty", BOXES, SCORES, 30)
suppress("SelectSingleBox", BOXES[:, :1], SCORES[..., :1], 3)
suppress("SelectFromIdenticalBoxes", np.repeat(BOXES[:, :1], 10, 1), np.full((1, 1, 10), 0.9, F), 3)
suppress("InconsistentBoxAndScoreShapes", BOXES, SCORES[..., :5], 30, wrong="boxes|scores")
suppress("InvalidIOUThreshold", BOXES[:, :1], SCORES[..., :1], 3, 1.2, wrong=r"found 1\.2")
suppress("EmptyInput", BOXES[:, :0], SCORES[..., :0], 30)
suppress("ZeroMaxOutputPerClass", BOXES, SCORES, 0)

# ---- Unique
MANY = np.array([[3, 7, 3], [5, 5, 1]], F)
ROWS = np.array([[0, 1], [1, 1], [0, 1], [1, 0]], F)
CUBE = np.array([[[1, 1], [0, 1], [2, 1], [0, 1]]] * 2)
TEXTS = words(*"ba ab ba ca ca aa".split()).reshape(2, 3)
case("Unique", "Flatten_Unsorted", 11, [MANY], 4, sorted=0)
case("Unique", "Flatten_Sorted", 11, [MANY], 4, sorted=1)
case("Unique", "Flatten_Sorted_String", 11, [TEXTS], 4, sorted=1)
case("Unique", "NoOptionalOutput", 11, [np.array([[1, 4, -1, 2], [2, 0, -1, 4]], np.int8)], sorted=1)
case("Unique", "Axis0_Unsorted", 11, [ROWS], 4, sorted=0, axis=0)
case("Unique", "Axis0_Sorted", 11, [ROWS], 4, sorted=1, axis=0)
case("Unique", "Axis0_Unsorted_String", 11, [words("a", "b", "b", "b", "a", "b", "b", "a").reshape(4, 2)], 4, sorted=0,
     axis=0)
case("Unique", "Axis1_Unsorted", 11, [CUBE], 4, sorted=0, axis=1)
case("Unique", "Axis1_Sorted", 11, [CUBE], 4, sorted=1, axis=1)
case("Unique", "Axis2_Unsorted", 11, [np.ascontiguousarray(CUBE.swapaxes(1, 2))], 4, sorted=0, axis=2)
case("Unique", "Axis2_Sorted", 11, [np.ascontiguousarray(CUBE.swapaxes(1, 2))], 4, sorted=1, axis=2)
case("Unique", "InvalidAxis", 11, [MANY], wrong="axis.*12", axis=12)
case("Unique", "EmptyInput", 11, [np.zeros(0, F)], 4)

# ---- ScatterND
for name, dtype in [("ScatterND_matrice_int64_int64", L), ("ScatterND_slice_float_int64_t", F),
                    ("ScatterND_slice_double_int64_t", D), ("ScatterND_3tensor_int64", np.int8)]:
    case("ScatterND", name, 11, [numbers(2, 2, dtype=dtype), np.array([[1], [0]]), numbers(2, 2, dtype=dtype)])
case("ScatterND", "ScatterND_scaler_string_int64", 11, [words("h", "k", "o", "o"), np.array([3]),
     np.array("z", object)])
case("ScatterND", "ScatterND_matrice_int64_int64_neg_indices", 11, [numbers(2, 2, dtype=L),
     np.array([[0, 0], [-1, -1]]), numbers(2, dtype=L)])
case("ScatterND", "ScatterND_matrice_string_int64", 11, [words(*"abcdefgh").reshape(2, 2, 2), np.array([[[0, 1]],
     [[1, 0]]]), words(*"wxyz").reshape(2, 1, 2)])
case("ScatterND", "ScatterND_matrice_string_int64_neg_indices", 11, [words(*"abcdefgh").reshape(2, 2, 2),
     np.array([[[0, -1]], [[-1, 0]]]), words(*"wxyz").reshape(2, 1, 2)])
case("ScatterND", "ScatterND_batched_index_int64", 11, [numbers(2, 2, dtype=L), np.array([[[0, 0]], [[0, 1]]]),
     numbers(2, 1, dtype=L)])
case("ScatterND", "ScatterND_batched_index_bool_int64", 11, [np.array([[False, True], [False, True]]),
     np.array([[[0, 0]], [[0, 1]]]), np.array([[True], [False]])])
case("ScatterND", "ScatterND_sliced_index_int64", 11, [np.zeros((2, 2), L), np.array([[[1]], [[0]]]),
     numbers(2, 1, 2, dtype=L)])
case("ScatterND", "ScatterND_sliced_index_string_int64", 11, [words("", "", "", "").reshape(2, 2),
     np.array([[[1]], [[0]]]), words("f", "ghi", "ab", "cde").reshape(2, 1, 2)])
case("ScatterND", "ScatterND_string_duplicate_indices", 18, [words("old", "kept"), np.array([[0], [0], [0]]),
     words("first text longer than 30 characters", "second text longer than 30 characters", "last" * 12)])
case("ScatterND", "ScatterND_string_add_duplicate_indices", 18, [words("base", "kept"), np.array([[0], [0], [0]]),
     words("-1", "-2", "-3")], reduction="add")
case("ScatterND", "ScatterND_batched_3tensor_int64", 11, [np.zeros((2, 2, 2), np.uint32),
     np.array([[[0, 1], [1, 0]], [[0, 0], [1, 1]]]), numbers(2, 2, 2, dtype=np.uint32)])
for kind in ("add", "mul", "min", "max"):
    case("ScatterND", f"ScatterND_18_{kind}", 18, [numbers(2, 2, 3), np.array([[0], [1], [0]]), numbers(3, 2, 3)],
         reduction=kind)
case("ScatterND", "ScatterND_18_mul_long_shape", 18, [numbers(2, 2, 3, 1, 1, 1, 1), np.array([[0], [1], [0]]),
     numbers(3, 2, 3, 1, 1, 1, 1)], reduction="mul")
DATA = numbers(2, 3)
case("ScatterND", "ScatterND_empty_indices", 11, [DATA, np.zeros((0, 1), L), np.zeros((0, 3), F)])
ALL = numbers(1, 2, 3)
case("ScatterND", "ScatterND_zero_index_depth_updates_entire_tensor", 18, [DATA, np.zeros((1, 0), L), ALL],
     want=[ALL[0]])
case("ScatterND", "ScatterND_zero_index_depth_adds_multiple_updates", 18, [np.array([1, 2], F), np.zeros((2, 0), L),
     np.array([[10, 20], [100, 200]], F)], reduction="add", want=[np.array([111, 222], F)])
case("ScatterND", "ScatterND_zero_index_depth_empty_data", 18, [np.zeros((0, 3), F), np.zeros((1, 0), L),
     np.zeros((1, 0, 3), F)], want=[np.zeros((0, 3), F)])

# ---- ScatterElements, GatherElements
PLACES = [((2, 3), (1, 2), 0), ((2, 2), (2, 2), 1), ((2, 2, 2), (1, 2, 1), -1), ((3, 3), (3, 2), 1), ((3,), (2,), 0),
          ((2, 2, 2, 3), (2, 2, 2, 2), 0), ((2, 2, 3, 3, 2), (2, 2, 3, 2, 2), 0), ((2, 2, 1, 3, 1), (2, 2, 1, 2, 1), 0),
          ((2, 3, 2), (2, 3, 2), -2), ((2, 1, 2, 3, 1, 2), (2, 1, 2, 2, 1, 2), 5)]
for dtype in (np.int8, np.int16, S, L, np.uint8, np.uint16, np.uint32, np.uint64, F, D, H):
    for k, (shape, index_shape, axis) in enumerate(PLACES):
        places = RNG.permuted(np.broadcast_to(np.arange(shape[axis]).reshape([-1 if i == axis % len(shape) else 1 for i
                              in range(len(shape))]), shape), axis=axis)[tuple(slice(n) for n in index_shape)]
        places = np.ascontiguousarray(places - (k % 2) * shape[axis])  # every other time counted from the end
        name = f"{np.dtype(dtype).name}_{k}"
        case("ScatterElements", name, 18, [numbers(*shape, dtype=dtype), places.astype(S if k % 3 else L),
             numbers(*index_shape, dtype=dtype)], axis=axis)
        case("GatherElements", name, 13, [numbers(*shape, dtype=dtype), places.astype(S if k % 3 else L)], axis=axis)
case("ScatterElements", "IndicesUpdatesDontMatch", 11, [numbers(1, 5), np.array([[1, 3, 3]]), numbers(1, 2)], axis=1,
     wrong=r"\[1, 3\]")
case("ScatterElements", "InvalidIndex", 11, [numbers(4, 2, 1), np.array([[[4]]]), numbers(1, 1, 1)], axis=0,
     wrong="found 4")
case("ScatterElements", "BoolInputWithAxis", 11, [np.array([[False, False, True]]), np.array([[1, 2]]),
     np.array([[True, False]])], axis=1)
for kind in ("add", "mul", "min", "max"):
    for axis in (0, 1):
        case("ScatterElements", f"{kind}ReductionAxis{axis}", 18, [numbers(2, 3), np.ones((2, 3), L), numbers(2, 3)],
             axis=axis, reduction=kind)
    halves = np.array([[-9, -4, -1], [-7, -3, -6]], H), np.array([[1, 5, 3], [7, 3, 6]], H)
    both = np.concatenate([halves[0][1:], halves[1]])  # which ONNX Runtime combines on GPUs only
    ufunc = {"add": np.sum, "mul": np.prod, "min": np.min, "max": np.max}[kind]
    case("ScatterElements", f"{kind}Reduction_MLFloat16", 18, [halves[0], np.ones((2, 3), L), halves[1]], axis=0,
         reduction=kind, want=[np.stack([halves[0][0], ufunc(both.astype(F), 0).astype(H)])])
case("GatherElements", "string", 13, [words(*"abcdef").reshape(2, 3), np.array([[0, 1], [-1, -1]])], axis=1)
case("GatherElements", "out_of_bounds", 13, [numbers(2, 2), np.array([[0, 2]])], axis=1, wrong="found 2")
case("GatherElements", "string_out_of_bounds", 13, [words(*"abcd").reshape(2, 2), np.array([[0, -3]])], axis=1,
     wrong="found -3")

# ---- Gather
THREE = numbers(2, 3, 4)
case("Gather", "Gather_axis0", 13, [THREE, np.array([1])], axis=0)
case("Gather", "Gather_negative_axis", 13, [THREE, np.array([1])], axis=-3)
case("Gather", "Gather_invalid_axis", 13, [THREE, np.array([1])], axis=-10, wrong="axis.*-10|-10.*axis")
case("Gather", "Gather_invalid_index_cpu", 13, [THREE, np.array([0, 1, 1000], S)], axis=0, wrong="found 1000")
case("Gather", "Gather_axis1", 13, [THREE, np.array([2, 0])], axis=1)
case("Gather", "Gather_axis2", 13, [THREE, np.array([1, 0, 2])], axis=2)
case("Gather", "Gather_axis0_indices2d", 13, [numbers(3, 3), np.array([[1, 0], [2, 1]])], axis=0)
case("Gather", "Gather_axis0_indicesInt32", 13, [THREE, np.array([1], S)], axis=0)
case("Gather", "Gather_axis1_indices2d_bool", 13, [RNG.random((3, 3)) < 0.5, np.array([[1, 0], [2, 1]], S)], axis=1)
case("Gather", "Gather_axis1_indices2d_string", 13, [words(*"abcdefghi").reshape(3, 3), np.array([[1, 0], [2, 1]], S)],
     axis=1)
for dtype in (S, np.uint32, np.int16, np.uint16, np.int8):
    case("Gather", f"Gather_axis1_indices2d_{np.dtype(dtype).name}", 13, [numbers(3, 3, dtype=dtype),
         np.array([[1, 0], [2, 1]], S)], axis=1)
case("Gather", "Gather_perf", 13, [np.ones((5000, 100), S), np.full((800, 1), 5, S)], axis=0)
case("Gather", "Gather_axis1_neg_indices2d_int8", 13, [numbers(3, 3, dtype=np.int8), np.array([[1, 0], [-1, -2]], S)],
     axis=1)

# ---- OneHot, CumSum
for axis in (-1, 0, 1, 2):
    case("OneHot", f"Axis_{axis}", 11, [np.array([[1, 9, 8], [2, 4, -6]]), np.array(10), np.array([2, 5])], axis=axis)
case("OneHot", "FloatInt64", 11, [np.array([[1, 9, 8]], F), np.array([10]), np.array([0, 1])])
for rank, axes in ((1, [0, -1]), (2, [0, 1]), (3, [0, 1, 2])):
    for axis in axes:
        for exclusive in (0, 1):
            for reverse in (0, 1):
                case("CumSum", f"_{rank}DTestAxis{axis}{'Reverse' * reverse}{'Exclusive' * exclusive}", 14,
                     [np.arange(1, 25, dtype=F).reshape([(24,), (4, 6), (2, 3, 4)][rank - 1]), np.array(axis, S)],
                     exclusive=exclusive, reverse=reverse)
case("CumSum", "_1DTestInvalidAxis", 14, [numbers(5), np.array(-3, S)], wrong="found -3")
for dtype in (S, L, D):
    case("CumSum", f"_1DTest{np.dtype(dtype).name}", 14, [numbers(5, dtype=dtype), np.array(0, S)])
case("CumSum", "_1DTestdouble_WithInt64Axis", 14, [numbers(5, dtype=D), np.array(0, L)])
case("CumSum", "_1DTestFloat16", 14, [np.array([1, 2, 3], H), np.array(0, S)], want=[np.array([1, 3, 6], H)])

# ---- TopK
TIES = np.array([[0.1, 0.3, 0.2, 0.4], [0.1, 0.3, 0.3, 0.2]], F)
for dtype in (F, D):
    for count in (0, 1, 2, 3, 4):
        for axis in (-1, 0):
            if axis == -1 or count < 3:
                case("TopK", f"Top{count}_axis{axis}_{np.dtype(dtype).name}", 11,
                     [TIES.astype(dtype), np.array([count])], 2, axis=axis)
    case("TopK", f"TopAllExplicitAxis1DInput_{np.dtype(dtype).name}", 11, [RNG.permutation(13).astype(dtype),
         np.array([13])], 2, axis=0)
    case("TopK", f"Top1ExplicitAxisMultiDInput_{np.dtype(dtype).name}", 11, [numbers(2, 3, 2, dtype=dtype),
         np.array([1])], 2, axis=1)
for dtype in (S, L):
    case("TopK", f"Top3Smallest_{np.dtype(dtype).name}", 11, [numbers(4, 9, dtype=dtype), np.array([3])], 2, largest=0)
case("TopK", "InvalidK", 11, [TIES, np.array([-1])], 2, wrong="found -1")
case("TopK", "KLargerThanTheAxis", 11, [TIES, np.array([5])], 2, wrong="found 5")
case("TopK", "PriorityQueueAndSort", 11, [RNG.permutation(5000).astype(F).reshape(2, 2500), np.array([700])], 2)

# ---- Compress, Where, NonZero
SIX = numbers(3, 2)
TWELVE = numbers(2, 2, 3)
MASK = np.array([False, True])
case("Compress", "Compress0", 11, [SIX, np.array([False, True, True])], axis=0)
case("Compress", "Compress1", 11, [SIX, MASK], axis=1)
case("Compress", "Compress_3dims", 11, [TWELVE, MASK], axis=1)
case("Compress", "Compress_condition_all_false", 11, [TWELVE, np.array([False, False])], axis=1)
case("Compress", "Compress_3dims_has_extra_condition", 11, [TWELVE, np.array([False, True, True])], axis=1)
case("Compress", "Compress_3dims_has_extra_input", 11, [numbers(2, 3, 3), MASK], axis=1)
case("Compress", "Compress_default_axis", 11, [SIX, np.array([False, True, False, False, True])])
case("Compress", "Compress_default_axis_issue_9247_cumulative_sum_overflow", 11, [numbers(2, 75), np.ones(150, B)])
case("Compress", "Compress0_string", 11, [words(*"abcdef").reshape(3, 2), np.array([False, True, True])], axis=0)
case("Compress", "Compress_default_axis_string", 11, [words(*"abcdef").reshape(3, 2), np.array([False, True, True])])
case("Compress", "Compress_3dims_neg_axis", 11, [TWELVE, MASK], axis=-2)
case("Where", "BasicNumeric", 16, [np.array([[False, True], [True, False]]), numbers(2, 2), numbers(2, 2)])
case("Where", "BasicString", 16, [MASK, words("small", "words"), words("a" * 1024, "b" * 1024)])
case("Where", "Broadcast", 16, [np.array([[[True, False, True]]]), numbers(1, 3, 1), numbers(3, 1, 1)])
for dtype in (S, L, F, B):
    case("NonZero", f"Basic_{np.dtype(dtype).name}", 13, [np.array([[[0, 1, 2], [0, 3, 4]]]).astype(dtype)])
case("NonZero", "ThreeDims", 13, [np.array([[[0, 1], [1, 0]], [[1, 0], [1, 0]]])])
case("NonZero", "Scalar", 13, [np.array(1, S)], want=[np.zeros((0, 1), L)])
case("NonZero", "ScalarZero", 13, [np.array(0, S)], want=[np.zeros((0, 0), L)])
case("NonZero", "EmptyInput", 13, [np.zeros((1, 0, 2), S)])

# ---- Slice
SLICES = {"Slice1D_InvalidStartEndRange": ((6,), [3], [2], [0], None),
          "Slice1D_ValidStartEndRange_NoOutput": ((6,), [2], [2], [0], None),
          "Slice1D_Regular": ((6,), [2], [4], [0], None), "Slice1D_Perf": ((1000,), [2], [502], [0], None),
          "Slice1D_EndOutOfBounds": ((6,), [0], [10], None, None),
          "Slice1D_StartAndEndOutOfBounds": ((6,), [1000], [1001], None, None),
          "Slice2D_StartAndEndOutOfBounds": ((2, 3), [0, 1000], [10, 1000], [0, 1], None),
          "Slice2D_OneAxis": ((6, 4), [1], [3], [0], None),
          "Slice2D_TwoAxes": ((6, 4), [2, 3], [1000, -1], [1, 0], None),
          "Slice2D_TwoAxesEque": ((6, 4), [2, 3], [1000, 3], [1, 0], None),
          "Slice2D_DefaultAxes": ((2, 2), [0], [1], None, None),
          "Slice3D": ((3, 3, 3), [0, 1, 1], [1000, 1000, 1000], None, None),
          "Slice1D_WithPositiveSteps": ((6,), [0], [6], [0], [2]),
          "Slice1D_WithNegativeSteps_Regular": ((4,), [-1], [-4], [0], [-1]),
          "Slice1D_WithNegativeSteps_EndOutOfBounds_1": ((6,), [0], [6], [0], [-1]),
          "Slice1D_WithNegativeSteps_EndOutOfBounds_2": ((6,), [0], [-10], [0], [-1]),
          "Slice1D_WithNegativeSteps_ValidStartEndRange": ((6,), [5], [0], [0], [-1]),
          "Slice1D_WithNegativeSteps_StartOutOfBounds": ((6,), [7], [0], [0], [-3]),
          "Slice2D_WithPositiveSteps_1": ((2, 4), [1, 0], [2, 3], [0, 1], [1, 2]),
          "Slice2D_WithNegativeSteps_1": ((2, 4), [1, 0], [2, 3], [0, 1], [-1, -2]),
          "Slice2D_WithNegativeSteps_2": ((2, 4), [1, 3], [0, 1], [0, 1], [-1, -2]),
          "Slice3D_WithPositiveSteps_AllAxes": ((3, 3, 3), [0, 1, 1], [1000] * 3, [0, 1, 2], [2, 2, 2]),
          "Slice3D_FlattenInnermostDimsIncopy": ((3, 3, 3), [0, 0, 1], [1000] * 3, [2, 1, 0], [1, 1, 2])}
for name, (shape, *parts) in SLICES.items():
    for dtype in (F, H, L) if "Slice1D" in name else (S,):
        case("Slice", f"{name}_{np.dtype(dtype).name}", 13, [numbers(*shape, dtype=dtype),
             *[None if p is None else np.array(p) for p in parts]])
case("Slice", "Slice1D_String", 13, [words(*"abcdef"), np.array([2]), np.array([4]), np.array([0])])

# ---- Pad
PADS = {"Pad_Spec_Example": ((3, 2), [0, 2, 0, 0], "constant"), "Pad_Constant_1D": ((2,), [1, 2], "constant"),
        "Pad_Constant_1D_Zero": ((2,), [0, 0], "constant"), "Pad_Reflect_1D": ((3, 2), [0, 1, 0, 1], "reflect"),
        "Pad_Wrap_1D": ((3, 2), [0, 1, 0, 1], "wrap"), "Pad_Edge_1D": ((3, 2), [0, 2, 0, 1], "edge"),
        "Pad_Constant_2D": ((2, 2), [1, 2, 1, 2], "constant"),
        "Pad_Constant_2D_negative_pads_1": ((2, 3), [1, 2, 1, -1], "constant"),
        "Pad_Constant_2D_negative_pads_2": ((2, 3), [-1, 0, 0, 0], "constant"),
        "Pad_Constant_3D_negative_pads": ((1, 1, 3), [0, 0, -1, 0, 0, -1], "constant"),
        "Pad_Constant_4D_negative_pads": ((1, 1, 10, 10), [0, 0, -1, -3, 0, 0, -2, -4], "constant"),
        "Pad_3D_complex": ((2, 2, 2), [1, 0, 0, -1, 0, 0], "constant"),
        "Pad_Edge_2D": ((2, 3), [2, 2, 2, 2], "edge"), "Pad_Edge_3D": ((1, 2, 3), [1, 2, 2, 1, 2, 2], "edge"),
        "Pad_Reflect_2D": ((3, 3), [2, 2, 2, 2], "reflect")}
for name, (shape, pads, mode) in PADS.items():
    for dtype in (F, D, np.int8, S, L, np.uint8, np.uint32, np.uint64):
        case("Pad", f"{name}_{np.dtype(dtype).name}", 19, [numbers(*shape, dtype=dtype), np.array(pads),
             np.array(123, dtype)], mode=mode)

# ---- Einsum
EQUATIONS = {"ExplicitEinsumAsIdentity_1D_input": "i->i", "ImplicitEinsumAsIdentity_1D_input": "i",
             "ExplicitEinsumAsTransposeOp_2D_input": "ji->ij", "ImplicitEinsumAsTransposeOp_2D_input": "ji",
             "ExplicitEinsumAsTransposeOp_2D_input_With_Broadcasting": "...i->i...",
             "ExplicitEinsumAsBatchedTransposeOp_3D_input": "...bji->...bij",
             "ImplicitEinsumAsBatchedTransposeOp_3D_input": "...bji",
             "ExplicitEinsumAsReduceOp_2D_input_0": "ij->i", "ExplicitEinsumAsReduceOp_2D_input_1": "ij->j",
             "ExplicitEinsumAsBatchedReduceOp_3D_input_0": "...bji->...bj",
             "ExplicitEinsumAsBatchedReduceOp_3D_input_1": "...bji->...b",
             "ExplicitEinsumAsOuterProductOp_2D_input": "i,j->ij",
             "ExplicitEinsumAsOuterProductWithTransposeOp_2D_input": "i,j->ji",
             "ExplicitEinsumAsOuterProductWithTransposeOp_Multi_Input": "i,j,k->jik",
             "ImplicitEinsumAsOuterProductOp_Multi_Input": "i,j,k", "ExplicitEinsumAsMatmul": "ij,jk->ik",
             "ExplicitEinsumAsMatmulWithUpperCasedLabel": "iK,Kk->ik",
             "ExplicitEinsumAsMatmulWithUpperCasedOutputLabel": "Ki,ik->Kk",
             "ExplicitEinsumAsMatmul_Multi_Input": "ij,jk,kl->li", "ExplicitEinsumAsBatchedMatmul": "bij,bjk->bik",
             "ExplicitEinsumAsBatchedMatmulWithBroadcasting_0": "...ij,...jk->...ik",
             "ExplicitEinsumAsMatmul_OutputTransposed": "ij,jk->ki", "ImplicitEinsumAsMatmul": "ij,jk",
             "ImplicitEinsumAsMatmul_Multi_Input": "ij,jk,kl", "ImplicitEinsumAsBatchedMatmul": "bij,bjk",
             "ImplicitEinsumAsBatchedMatmulWithBroadcasting_0": "...ij,...jk", "DiagonalWithMatmul": "iij, jk",
             "ExplicitEinsumAsDiagonalOp": "ii->i", "ExplicitEinsumAsDiagonalOp_1": "iii->i",
             "ExplicitEinsumAsDiagonalOpWithAxisReduced": "iji->j",
             "ExplicitEinsumAsDiagonalOpWithAxisPreserved": "iji->ij",
             "ExplicitEinsumAsDiagonalOpWithTranspose": "iji->ji", "ExplicitEinsumAsBatchedDiagonalOp": "...ii->...i",
             "ExplicitEinsumAsBatchedDiagonalOp_1": "...iij->...j", "ImplicitEinsumAsDiagonalOp": "ii"}
SIZES = {"i": 3, "j": 4, "k": 2, "l": 5, "b": 2, "K": 6}
for name, equation in EQUATIONS.items():
    for dtype in (F, D, S, L):
        parts = [[SIZES[c] for c in term.strip().replace("...", "")] for term in equation.split("->")[0].split(",")]
        parts = [[3, *p] if "..." in equation else p for p in parts]
        case("Einsum", f"{name}_{np.dtype(dtype).name}", 12, [numbers(*p, dtype=dtype) for p in parts],
             equation=equation)
case("Einsum", "ExplicitEinsumAsMatmul_2", 12, [numbers(3, 1), numbers(4, 2)], equation="ij,jk->ik")

# ---- ConvTranspose
TRANSPOSED = {"ConvTranspose_1D": ((1, 1, 3), (1, 2, 3), False, {}),
              "ConvTranspose_2D": ((1, 1, 3, 3), (1, 1, 3, 3), False, {"output_padding": [1, 1], "pads": [1, 1, 1, 1],
                                                                      "strides": [2, 2]}),
              "ConvTranspose_2D_Bias_1": ((1, 1, 5, 5), (1, 1, 3, 3), True, {"pads": [1, 1, 1, 1]}),
              "ConvTranspose_2D_Bias_2": ((1, 1, 7, 7), (1, 1, 2, 2), True, {}),
              "ConvTranspose_2D_OutputShape_1": ((1, 3, 4, 4), (3, 3, 3, 3), False, {"output_shape": [4, 4]}),
              "ConvTranspose_2D_OutputShape_1_group_2_for_tranpose_path": ((1, 6, 4, 4), (6, 3, 3, 3), False, {
                  "output_shape": [4, 4], "group": 2}),
              "ConvTranspose_2D_OutputShape_2": ((1, 1, 1, 10), (1, 1, 1, 5), True, {"output_shape": [1, 14]})}
for name, (x, w, bias, attributes) in TRANSPOSED.items():
    inputs = [numbers(*x), numbers(*w)] + ([numbers(w[1] * attributes.get("group", 1))] if bias else [])
    case("ConvTranspose", name, 11, inputs, kernel_shape=list(w[2:]), **attributes)

# ---- Resize
IMAGE, WIDE = numbers(1, 1, 4, 4), numbers(2, 1, 2, 2)


def lengths_before_rounding(x, inputs, attributes):
    """The reference's result, which takes lengths of scaled axes before they are rounded down, as the official suite
    does; integers are cut, as ONNX Runtime cuts them."""
    wide = [x.astype(D), *inputs[1:]]
    names = [f"x{i}" if v is not None else "" for i, v in enumerate(wide)]
    given = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
             for n, v in zip(names, wide) if v is not None]
    graph = helper.make_graph([helper.make_node("Resize", names, ["y"], **attributes)], "g", given,
                              [onnx.ValueInfoProto(name="y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    result = ReferenceEvaluator(model).run(None, {n: v for n, v in zip(names, wide) if v is not None})[0]
    return [(np.trunc(result) if x.dtype.kind in "iu" else result).astype(x.dtype)]


def resize(subject, x, scales=None, sizes=None, roi=None, opset=13, **attributes):
    inputs = [x, roi if roi is not None else np.zeros(0, F), None if scales is None else np.array(scales, F)]
    inputs += [] if sizes is None else [np.array(sizes)]
    if sizes is not None and opset < 13:
        inputs[2] = np.zeros(0, F)
    of_lengths = attributes.get("coordinate_transformation_mode") in ("align_corners", "tf_crop_and_resize")
    fractional = scales is not None and any(n * s % 1 for n, s in zip(x.shape, scales))
    want = lengths_before_rounding(x, inputs, attributes) if of_lengths and fractional else None
    case("Resize", subject, opset, inputs, want=want, **attributes)


CROP = {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize"}
REGION = np.array([0, 0, 0.4, 0.6, 1, 1, 1.2, 1.7], F)
LAST_REGION = REGION[[0, 2, 3, 1, 4, 6, 7, 5]]
resize("ResizeOpLinearDownSampleTest_tf_crop_and_resize", IMAGE[0, 0], None, [3, 3], np.array([0.4, 0.6, 0.6, 0.8], F),
       **CROP)
resize("ResizeOpLinearDownSampleTest_tf_crop_and_resize_with_extrapolation", IMAGE, [1, 1, 0.8, 0.8], roi=REGION,
       extrapolation_value=10.0, **CROP)
for dtype in (F, np.uint8, np.int8):
    for value in (10.0, 0.0):
        resize(f"NhwcResizeOpLinearDownSampleTest_tf_crop_and_resize_{value}_{np.dtype(dtype).name}",
               numbers(1, 4, 4, 1, dtype=dtype), [1, 0.8, 0.8, 1], roi=LAST_REGION, extrapolation_value=value, **CROP)
    for mode in ("half_pixel", "align_corners"):
        resize(f"NhwcResizeOpLinearDownSampleTest_4DBilinear_{mode}_{np.dtype(dtype).name}",
               numbers(1, 2, 4, 1, dtype=dtype), [1, 0.6, 0.6, 1], mode="linear", coordinate_transformation_mode=mode)
    resize(f"NhwcResizeOpLinearUpSampleTest_4DBilinear_asymmetric_{np.dtype(dtype).name}",
           numbers(2, 2, 2, 1, dtype=dtype), [1, 2, 4, 1], mode="linear", coordinate_transformation_mode="asymmetric")
    resize(f"NhwcResizeOpLinearDownSampleTest_4DBilinear_pytorch_half_pixel_{np.dtype(dtype).name}",
           numbers(1, 4, 4, 1, dtype=dtype), None, [1, 3, 1, 1], mode="linear",
           coordinate_transformation_mode="pytorch_half_pixel")
resize("ResizeOpLinearDownSampleTest_4DBilinear", numbers(1, 1, 2, 4), [1, 1, 0.6, 0.6], mode="linear")
resize("ResizeOpLinearDownSampleTest_4DBilinear1", numbers(1, 1, 2, 4), [1, 1, 0.5, 0.5], mode="linear")
resize("ResizeOpLinearDownSampleTest_4DBilinear1_WithSizes", numbers(1, 1, 2, 4), None, [1, 1, 1, 2], mode="linear")
resize("ResizeOpLinearDownSampleTest_4DBilinear_align_corners", numbers(1, 1, 2, 4), [1, 1, 0.6, 0.6], mode="linear",
       coordinate_transformation_mode="align_corners")
resize("ResizeOpLinearDownSampleTest_2DBilinear_pytorch_half_pixel", IMAGE[0, 0], None, [3, 1], mode="linear",
       coordinate_transformation_mode="pytorch_half_pixel")
resize("ResizeOpLinearUpSampleTest_4DBilinear_asymmetric", WIDE, [1, 1, 2, 4], mode="linear",
       coordinate_transformation_mode="asymmetric")
resize("ResizeOpLinearUpSampleTest_2DBilinear_align_corners", WIDE[0, 0], [2, 4], mode="linear",
       coordinate_transformation_mode="align_corners")
resize("ResizeOpLinearDownSampleTest_3DTrilinear_pytorch_half_pixel", numbers(2, 4, 4), None, [1, 3, 1], mode="linear",
       coordinate_transformation_mode="pytorch_half_pixel")
resize("ResizeOpLinearUpSampleTest_5DTrilinear_pytorch_half_pixel", numbers(1, 2, 2, 1, 2), [1, 1, 2, 2, 1],
       mode="linear", coordinate_transformation_mode="pytorch_half_pixel")
resize("ResizeOpLinearScalesNoOpTest", WIDE, [1, 1, 1, 1], mode="linear")
resize("ResizeOpNearestDownSampleTest", numbers(1, 1, 2, 4), [1, 1, 0.6, 0.6], mode="nearest")
resize("ResizeOpNearestDownSampleTest_Opset12", numbers(1, 1, 2, 4), [1, 1, 0.6, 0.6], opset=12, mode="nearest")
resize("ResizeOpNearestDownSampleTest_WithSizes", numbers(1, 1, 2, 4), None, [1, 1, 1, 3], mode="nearest")
resize("ResizeOpNearestDownSampleTest_tf_half_pixel", IMAGE, None, [1, 1, 3, 2], opset=12, mode="nearest",
       coordinate_transformation_mode="tf_half_pixel_for_nn")

# ---- Trilu, QuantizeLinear, DequantizeLinear, DepthToSpace, SpaceToDepth, RoiAlign
for dtype in (F, D, L):
    for upper in (0, 1):
        for k in (None, 1, -1, -5, 9):
            case("Trilu", f"three_dim_{np.dtype(dtype).name}_{'upper' if upper else 'lower'}_{k}", 14,
                 [numbers(2, 3, 4, dtype=dtype), None if k is None else np.array([k])], upper=upper)
for shape in ((2, 3, 0), (2, 0, 0)):
    case("Trilu", f"zero_dim_{shape}", 14, [np.zeros(shape, F), np.array([-5])])
case("QuantizeLinear", "QuantizeLinear_0", 13, [np.array([0, 2, 3, 1000, -254, -1000], F), np.array(2, F),
     np.array(128, np.uint8)])
case("QuantizeLinear", "QuantizeLinear_1", 13, [np.array([[0, 2, 3, 1000]] * 3, F), np.array(4, F),
     np.array(0, np.uint8)])
case("DequantizeLinear", "DequantizeLinear_0", 13, [np.array([0, 3, 128, 255], np.uint8), np.array(2, F),
     np.array(128, np.uint8)])
case("DequantizeLinear", "DequantizeLinear_1", 13, [np.array([-30, -3, 100, 127], np.int8), np.array(2, F),
     np.array(-10, np.int8)])
case("DequantizeLinear", "DequantizeLinear_2", 13, [numbers(3, 4, dtype=np.uint8), np.array(1, F),
     np.array(0, np.uint8)])
for dtype in (F, D):
    case("SpaceToDepth", f"SpaceToDepthTest_1_{np.dtype(dtype).name}", 13, [numbers(1, 2, 2, 4, dtype=dtype)],
         blocksize=2)
    case("DepthToSpace", f"DepthToSpaceTest_1_{np.dtype(dtype).name}", 13, [numbers(1, 8, 1, 2, dtype=dtype)],
         blocksize=2)
case("SpaceToDepth", "SpaceToDepthTest_2", 13, [numbers(2, 3, 3, 6)], blocksize=3)
case("DepthToSpace", "DepthToSpaceTest_4", 11, [numbers(2, 12, 3, 2)], blocksize=2, mode="DCR")
case("DepthToSpace", "DepthToSpaceTest_5", 11, [numbers(1, 4, 2, 3)], blocksize=2, mode="CRD")
ROIS = np.array([[7, 5, 7, 5], [-15, -15, -15, -15], [-10, 21, -10, 21], [13, 8, 13, 8], [0, 0, 60, 70]], F)
for mode in ("avg", "max"):
    for version, extra in ((10, {}), (16, {"coordinate_transformation_mode": "half_pixel"}),
                           (16, {"coordinate_transformation_mode": "output_half_pixel"})):
        if version == 10 or mode == "avg":
            name = f"{mode}ModePositive_{extra.get('coordinate_transformation_mode', 'opset10')}"
            case("RoiAlign", name, version, [numbers(1, 3, 5, 5), ROIS, np.zeros(5, L)], mode=mode, output_height=3,
                 output_width=4, sampling_ratio=2, spatial_scale=1 / 16, **extra)
case("RoiAlign", "OnnxTest_of_batches", 10, [numbers(2, 3, 6, 6), ROIS[:3] + F(9), np.array([1, 0, 1])],
     output_height=5, output_width=5, sampling_ratio=0, spatial_scale=0.5)
case("RoiAlign", "batch_index_out_of_range", 10, [numbers(1, 3, 5, 5), ROIS[:1], np.array([1])], wrong="found 1")

# ---- QLinearMatMul: int8 sums of ONNX Runtime saturate on some machines, so the results are those of integers
def quantized_product(name, kinds, shapes, per_column=(), counted=()):
    a, b = (RNG.integers(np.iinfo(k).min, np.iinfo(k).max + 1, shape).astype(k) for k, shape in zip(kinds, shapes))
    scales = (RNG.random(per_column or ()) * 0.01 + 0.001).astype(F)
    zeros = RNG.integers(0, 9, per_column or ()).astype(kinds[1])
    if name == "PerColumn_2D_S8S8":
        zeros = zeros[None]  # which the peer's test has as a row
    a_scale, a_zero, y_scale, y_zero = np.array(0.05, F), np.array(7, kinds[0]), np.array(0.4, F), np.array(3, kinds[0])
    sums = (a.astype(L) - 7) @ (b.astype(L) - zeros.astype(L))
    exact = sums * (D(a_scale) * scales.astype(D) / D(y_scale)) + 3
    limits = np.iinfo(kinds[0])
    assert (np.abs(exact % 1 - 0.5) > 1e-4).all()
    inputs = [a, a_scale, a_zero, b, scales, zeros, y_scale, y_zero]
    inputs = [x.reshape(1) if i in counted else x for i, x in enumerate(inputs)]
    case("QLinearMatMul", name, 21, inputs, want=[np.clip(np.rint(exact), limits.min, limits.max).astype(kinds[0])])


UNSIGNED, MIXED, SIGNED = (np.uint8, np.uint8), (np.uint8, np.int8), (np.int8, np.int8)
for name, kinds in (("U8U8", UNSIGNED), ("U8S8", MIXED), ("S8S8", SIGNED)):
    quantized_product(f"QLinearMatMul2D_{name}", kinds, ((2, 4), (4, 3)))
    quantized_product(f"QLinearMatMul3D_{name}", kinds, ((2, 2, 4), (2, 4, 3)))
quantized_product("QLinearMatMul", UNSIGNED, ((2, 4), (4, 3)), counted=(1, 2, 4, 5, 6, 7))
quantized_product("QLinearMatMul_empty", UNSIGNED, ((0, 4), (4, 3)))
quantized_product("PerColumn_2D", MIXED, ((2, 4), (4, 4)), (4,))
quantized_product("PerColumn_2D_S8S8", SIGNED, ((2, 4), (4, 4)), (4,))
quantized_product("PerColumn_ND", MIXED, ((2, 2, 4), (2, 4, 4)), (2, 1, 4))
quantized_product("PerColumn_ND_S8S8", SIGNED, ((2, 2, 4), (2, 4, 4)), (2, 1, 4))

# ---- Cast
SMALL = np.arange(12).reshape(2, 3, 2)
WHOLE = (np.int8, np.int16, S, L, np.uint8, np.uint16, np.uint32, np.uint64)
for before in (B, F, D, H, *WHOLE):
    for after in (B, F, D, H, *WHOLE):
        case("Cast", f"NonStringTypes_{np.dtype(before).name}_{np.dtype(after).name}", 21, [SMALL.astype(before)],
             to=helper.np_dtype_to_tensor_dtype(np.dtype(after)))
for after, texts in ((F, "-inf +INF 0.9767611 0.28280696 -0.12019656 5.0 NaN nan"), (H, "-inf +INF 0.5 0.25 0.0 -1.5"),
                     (np.int16, "0 1 -32768 32767"), (L, "0 5 -9223372036854775808 9223372036854775807")):
    case("Cast", f"FromString_{np.dtype(after).name}", 21, [words(*texts.split())],
         to=helper.np_dtype_to_tensor_dtype(np.dtype(after)))
for before, values in ((F, [np.nan, -1, 0.0391877927, 0.296140194, -0.120196559, 5, -np.inf, np.inf]),
                       (H, [-np.inf, np.inf, 0.5, 0.25, 0, -1.5, np.nan]), (np.int16, [0, 1, -7])):
    case("Cast", f"ToString_{np.dtype(before).name}", 21, [np.array(values, before)], to=onnx.TensorProto.STRING)

EXACT = {"Einsum", "ConvTranspose", "Resize", "RoiAlign"}


@pytest.mark.parametrize("op,subject", CASES, ids=[f"{op}-{subject}" for op, subject in CASES])
def test_subject(op, subject):
    opset, inputs, outputs, wrong, peer_refuses, want, attributes = CASES[op, subject]
    if wrong is not None:
        with pytest.raises(Exception, match=f"(?s)node.*{op}.*({wrong})"):
            run(sardonyx, op, opset, inputs, outputs, attributes)
        if peer_refuses:
            with pytest.raises(Exception, match="."):
                run(onnxruntime, op, opset, inputs, outputs, attributes)
        return
    want = want or run(onnxruntime, op, opset, inputs, outputs, attributes)
    for optimize in (True, False):
        for ours, theirs in zip(run(sardonyx, op, opset, inputs, outputs, attributes, optimize), want, strict=True):
            assert ours.shape == theirs.shape and ours.dtype == theirs.dtype
            if op in EXACT and theirs.dtype.kind == "f":
                np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-6 * (1 + np.abs(theirs).max(initial=0)))
            elif theirs.dtype == H and op == "ScatterElements":
                np.testing.assert_allclose(ours.astype(F), theirs.astype(F), rtol=2e-3)
            else:
                np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("dtype", [S, np.uint32, L])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_the_mean_of_equal_integers_is_the_integer(dtype, mode):
    """Whatever the order of the axes, in which the levels differ: weights are rounded, results are cut."""
    x = np.full((1, 1, 1, 5), 4, dtype)
    for sizes in ([9, 36], [7, 11], [3, 100], [1, 3]):
        for coordinates in ("half_pixel", "half_pixel_symmetric", "align_corners", "pytorch_half_pixel"):
            attributes = {"mode": mode, "coordinate_transformation_mode": coordinates, "axes": [2, 3]}
            for optimize in (True, False):
                (y,) = run(sardonyx, "Resize", 19, [x, None, None, np.array(sizes)], 1, attributes, optimize)
                np.testing.assert_array_equal(y, np.full((1, 1, *sizes), 4, dtype))


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.uint32, np.uint64, L])
def test_cubic_samples_of_integers_end_at_their_limits(dtype):
    limits = np.iinfo(dtype)
    x = np.where(np.indices((4, 4)).sum(0) % 2 == 0, limits.max, limits.min).astype(dtype).reshape(1, 1, 4, 4)
    x[0, 0, :, :2] = limits.max
    grid = np.stack(np.meshgrid(np.linspace(-1, 1, 9), np.linspace(-1, 1, 9)), -1)[None].astype(F)
    attributes = {"mode": "cubic", "padding_mode": "border"}
    (got,) = run(sardonyx, "GridSample", 20, [x, grid], 1, attributes)
    (wide,) = run(sardonyx, "GridSample", 20, [x.astype(D), grid], 1, attributes)
    assert (wide > limits.max).any() and (wide < limits.min).any()
    assert (got[wide >= float(limits.max)] == limits.max).all() and (got[wide <= float(limits.min)] == limits.min).all()
