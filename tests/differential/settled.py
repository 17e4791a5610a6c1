"""Disagreements that are settled: whose result is not compared where, and why. docs/disputed_results.md is the page.

A row says that `peer` ("reference", "stock", or "both") may differ where an operator of the model is one of
`operators` and `when` holds for the case.
"""
import dataclasses
from collections.abc import Callable

import numpy as np
import onnx
from onnx import numpy_helper


@dataclasses.dataclass(eq=False)
class Settled:
    operators: str
    peer: str
    reason: str
    when: Callable | None = None
    words: str = ""  # a part of the fault's words


def attribute(case, name, default=None):
    for node in case.model.graph.node:
        for a in node.attribute:
            if a.name == name:
                value = onnx.helper.get_attribute_value(a)
                return value.decode() if isinstance(value, bytes) else value
    return default


def arrays(case):
    weights = {t.name: numpy_helper.to_array(t) for t in case.model.graph.initializer}
    return {**weights, **{k: v for k, v in case.feeds.items() if isinstance(v, np.ndarray)}}


def main_kind(case):
    return case.draw.types.get("T", case.draw.types.get("T1"))


def is_integer(case):
    found = next(iter(arrays(case).values()), None)
    return found is not None and found.dtype.kind in "iu"


def is_empty(case):
    return any(v.size == 0 for v in arrays(case).values())


def overflows_without_vnni(case):
    """Whether a processor without VNNI sums products of these uint8 and int8 in 16 bits, two at a time."""
    with open("/proc/cpuinfo", encoding="ascii") as file:
        has_vnni = "_vnni" in file.read()
    kinds = {v.dtype.name for v in arrays(case).values()}
    return not has_vnni and {"uint8", "int8"} <= kinds


def has_nan(case):
    floats = ("float16", "float32", "float64", "bfloat16")
    return any(np.isnan(v).any() for v in arrays(case).values() if v.dtype.name in floats)


def dilated_automatic(case):
    return attribute(case, "auto_pad", "NOTSET") != "NOTSET" and max(attribute(case, "dilations", [1])) > 1


def uses_sequence_lengths(case):
    (node,) = case.model.graph.node
    return len(node.input) > 4 and node.input[4] != ""


def has_activations(case):
    return attribute(case, "activations") is not None


def negative_axes(case):
    return min(attribute(case, "axes", [0])) < 0


def huge_bound(case):
    """A bound of Slice that ONNX Runtime takes for an open end, whatever the sign of the step."""
    limits = [v for name, v in arrays(case).items() if name != "x0"]
    return any((np.abs(v.astype(np.float64)) >= 2**31 - 2).any() for v in limits if v.dtype.kind in "iu")


def same(case):
    return attribute(case, "auto_pad", "").startswith("SAME")


def wide_stride(case):
    """A stride above the kernel: SAME needs no pads."""
    pairs = zip(attribute(case, "strides", []), attribute(case, "kernel_shape", []), strict=False)
    return same(case) and any(s > k for s, k in pairs)


def backwards(case):
    return any(v.dtype.kind == "i" and (v < 0).any() for v in arrays(case).values())


def one_class(case):
    """Two classes, or weights of one alone, which ONNX Runtime takes for two."""
    labels = ("classlabels_int64s", "classlabels_ints", "classlabels_strings")
    return (any(len(attribute(case, name, [])) == 2 for name in labels)
            or len(set(attribute(case, "class_ids", []))) == 1)


def one_pixel(case):
    return any(1 in v.tolist()[2:] for v in arrays(case).values() if v.dtype == np.int64)


def uneven_pads(case):
    return len(set(attribute(case, "pads", []))) > 1


def window_of_one(case):
    return attribute(case, "periodic", 1) == 0 and [v.tolist() for v in arrays(case).values()] in ([1], [[1]])


def loses_digits(case):
    """1 + erf(x / sqrt(2)) is the difference of two numbers near 1."""
    return any((v[np.isfinite(v)] < -2).any() for v in arrays(case).values())


def causal_behind_cache(case):
    (node,) = case.model.graph.node
    return attribute(case, "is_causal", 0) == 1 and len(node.input) > 4 and node.input[4] != ""


def version(case):
    return case.draw.version


REDUCTIONS = ("ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum "
              "ReduceSumSquare")
SINGLE = ("Erf Gelu HardSwish GroupNormalization DeformConv AffineGrid GridSample FlexAttention Attention "
          "HammingWindow HannWindow BlackmanWindow Shrink Adam Adagrad Momentum LayerNormalization RMSNormalization "
          "Celu Elu Selu LeakyRelu HardSigmoid ThresholdedRelu Swish MelWeightMatrix LRN Resize RoiAlign "
          "BatchNormalization InstanceNormalization MeanVarianceNormalization LpPool Mish Normalizer Imputer Scaler "
          "Gemm PRelu LSTM GRU RNN Clip Upsample LpNormalization DFT STFT Pad")

ROWS = [
    Settled(SINGLE, "both", "the peer computes doubles, or attributes and constants beside them, in single precision",
            words="in single precision"),
    Settled("BlackmanWindow HammingWindow HannWindow", "both", "a symmetric window of one sample: the formula divides "
            "0 by 0, the middle of a window is 1", window_of_one),
    Settled("BlackmanWindow", "stock", "0.42 - 0.5 + 0.08 is 0: ONNX Runtime leaves rounding noise",
            words=": 0.0 instead"),
    Settled("Gelu", "both", "1 + erf(x) of negative numbers has few digits in single precision",
            lambda c: main_kind(c) == 1 and loses_digits(c)),
    # The reference
    Settled("LSTM GRU RNN", "reference", "the reference ignores sequence_lens", uses_sequence_lengths),
    Settled("LSTM GRU RNN", "reference", "the reference ignores activations", has_activations),
    Settled("AveragePool MaxPool LpPool", "reference", "the reference ignores dilations where auto_pad is given",
            dilated_automatic),
    Settled("AveragePool MaxPool LpPool", "stock", "ONNX Runtime ignores dilations where auto_pad is SAME",
            dilated_automatic),
    Settled("GlobalMaxPool", "reference", "the reference's shape is wrong: the text says 1 for each spatial dimension"),
    Settled("Optional", "reference", "the reference wraps the element in a list", words="instead of list"),
    Settled("SequenceInsert", "reference", "the reference inserts elsewhere: the text counts as Python does"),
    Settled("Shape", "reference", "the reference ignores an end before the first dimension"),
    Settled("StringSplit", "reference", "the text: an empty string has no parts"),
    Settled("Unique", "reference", "the text: without sorted, in the order of the first occurrence",
            lambda c: attribute(c, "sorted", 1) == 0),
    Settled("CenterCropPad Pad Trilu", "reference", "the reference fills strings with 0",
            lambda c: main_kind(c) == 8),
    Settled("GridSample Resize Upsample", "reference", "the reference computes integers and text as if they were "
            "something else", lambda c: main_kind(c) not in (1, 10, 11, 16)),
    Settled("Cast CastLike", "reference", "the reference prints doubles with 17 digits; the text leaves the number "
            "open and ONNX Runtime prints 8", lambda c: c.draw.types["T2"] == 8),
    Settled("Cast CastLike", "reference", "the reference takes the truth of a string for bool: the text reads a number",
            lambda c: c.draw.types["T1"] == 8 and c.draw.types["T2"] == 9),
    Settled("Clip", "reference", "the text: a missing bound is the largest number of the type"),
    Settled("LpNormalization", "reference", "the reference sums without absolute values",
            lambda c: attribute(c, "p", 2) == 1),
    Settled("LRN", "reference", "the reference counts batches in place of channels"),
    Settled("LogSoftmax", "reference", "the reference takes the logarithm of a softmax that is rounded to 0",
            words="instead of -inf"),
    Settled("ReduceMean", "reference", "the text has no rule for the mean of no integers",
            lambda c: is_integer(c) and is_empty(c)),
    Settled("ReduceLogSumExp", "reference", "the reference subtracts infinity from infinity"),
    Settled("Softsign", "both", "infinity: the limit of the formula; the peers divide infinity by infinity",
            words="instead of nan"),
    Settled("QLinearConv QLinearMatMul", "reference", "the text rounds before it adds the zero point; the reference "
            "after that"),
    Settled("StringNormalizer", "reference", "letters are mapped one by one"),
    Settled("LinearRegressor", "reference", "the reference reads intercepts that are not there", words="nan"),
    Settled("Normalizer", "reference", "the text: MAX divides by the largest number, not by the largest absolute one",
            lambda c: attribute(c, "norm", "MAX") == "MAX"),
    Settled("SVMClassifier SVMRegressor Scaler", "reference", "the reference computes integers in integers",
            is_integer),
    Settled("BatchNormalization", "reference", "the reference of versions before 14 computes the batch's statistics",
            lambda c: c.model.opset_import[0].version < 14),
    Settled("AveragePool", "reference", "versions before 7 leave pads out of the average, the reference counts them",
            lambda c: version(c) < 7),
    Settled("AveragePool MaxPool LpPool", "reference", "the reference's pads of SAME are negative for wide strides",
            wide_stride),
    Settled("MaxPool", "reference", "the reference rounds the length of SAME down", same),
    Settled("MaxPool", "both", "a window of pads alone: the text leaves the value open", words="-inf instead of"),
    Settled("MaxPool", "reference", "the reference mixes up the pads of its axes", uneven_pads, "shape"),
    Settled("ConvInteger", "reference", "the reference lines up the channels' zero points for images alone",
            lambda c: arrays(c)["x1"].ndim != 4),
    Settled("MeanVarianceNormalization", "reference", "the function's mean of squares less the square of the mean has "
            "few digits in single precision", lambda c: main_kind(c) == 1),
    Settled("Cast CastLike", "reference", "the text's table: without saturate 0 and what is too small are NaN",
            lambda c: c.draw.types["T2"] == 24 and attribute(c, "saturate", 1) == 0),
    Settled("Resize", "reference", "the text: pytorch_half_pixel reads a length of 1 at 0, the reference at -0.5",
            lambda c: attribute(c, "coordinate_transformation_mode") == "pytorch_half_pixel"),
    Settled("Resize", "reference", "the text: a region of one pixel is read in its middle",
            lambda c: attribute(c, "coordinate_transformation_mode") == "tf_crop_and_resize"),
    Settled("MaxPool", "reference", "the text: indices count in the whole tensor, the reference counts in a plane",
            words="output 1"),
    Settled("LpPool", "reference", "the reference ignores dilations",
            lambda c: max(attribute(c, "dilations", [1])) > 1),
    Settled("AveragePool MaxPool LpPool", "reference", "the text: a window of ceil_mode may not begin in the pads "
            "behind", lambda c: attribute(c, "ceil_mode", 0) == 1),
    Settled("ConvTranspose", "reference", "the reference mixes up groups in three dimensions",
            lambda c: attribute(c, "group", 1) > 1),
    Settled("Hardmax Softmax LogSoftmax", "reference", "versions before 13 flatten the axes behind: the reference "
            "does not", lambda c: version(c) < 13),
    Settled("Loop", "reference", "the reference gives scan outputs of scalars a dimension more", words="shape"),
    Settled("OneHot", "reference", "the reference computes infinity times 0", words="instead of nan"),
    Settled("Pad", "reference", "float8e8m0 has no 0: the text leaves the value open",
            lambda c: main_kind(c) == 24),
    Settled("RoiAlign", "reference", "version 10 has no half pixels: the reference subtracts them",
            lambda c: version(c) < 16),
    Settled("Slice", "reference", "the text limits starts to the first element; the reference does what NumPy does",
            backwards),
    Settled("Unsqueeze", "reference", "the text: the order of axes does not matter",
            lambda c: attribute(c, "axes", []) != sorted(attribute(c, "axes", [])) or negative_axes(c)),
    Settled("LinearRegressor TreeEnsembleRegressor TreeEnsembleClassifier", "reference",
            "the reference computes integers in integers", is_integer),
    Settled("TreeEnsembleClassifier SVMClassifier", "reference",
            "ONNX Runtime's rules for one and two classes, which the text leaves open", one_class),
    Settled("SVMClassifier", "reference", "probabilities of several classes are iterated: the reference ends earlier",
            lambda c: attribute(c, "prob_a") is not None and len(attribute(c, "rho", [])) > 1),
    Settled("PRelu", "reference", "-0 is not below 0: the reference multiplies it", words="instead of nan"),
    Settled("Col2Im", "nobody", "strings have no sum", lambda c: main_kind(c) == 8),
    Settled("Col2Im", "reference", "strings have no sum: the reference adds them to nothing",
            lambda c: main_kind(c) == 8),
    # ONNX Runtime
    Settled("NonZero", "stock", "the text: the indices of a scalar have the shape [0, N]", words="instead of (1,"),
    Settled("TreeEnsembleRegressor", "stock", "base values of targets without votes", lambda c:
            attribute(c, "base_values") is not None and attribute(c, "n_targets") > 1),
    Settled("DequantizeLinear QuantizeLinear", "stock", "numbers of 4 and 2 bits go into ONNX Runtime unpacked",
            lambda c: c.draw.types.get("T1") in (21, 22, 25, 26)),
    Settled("Dropout", "stock", "versions 7 and 10: nothing is dropped, so the mask is 1",
            lambda c: version(c) < 12, "output 1"),
    Settled("GridSample", "stock", "cubic beside the border: the place is moved to the border first",
            lambda c: "cubic" in attribute(c, "mode", "") and attribute(c, "padding_mode", "") == "border"),
    Settled("Resize", "stock", "ONNX Runtime clips antialiased int8 as if it were uint8",
            lambda c: main_kind(c) == 3 and attribute(c, "antialias", 0) == 1),
    Settled("AveragePool MaxPool LpPool", "stock",
            "ONNX Runtime's pads of SAME are negative for wide strides: pads are at least 0 by the text", wide_stride),
    Settled("ScatterND ScatterElements", "stock", "ONNX Runtime loses NaN in maxima and minima", has_nan),
    Settled("Clip", "stock", "float16: ONNX Runtime keeps infinity where a bound is missing, unlike in float",
            lambda c: main_kind(c) == 10, "inf"),
    Settled("Mod", "stock", "ONNX Runtime computes fmod of int64 in double", is_integer),
    Settled("Shrink", "stock", "ONNX Runtime negates lambd in the unsigned type", is_integer),
    Settled("ReduceLogSumExp", "stock", "ONNX Runtime loses NaN beside infinity", has_nan),
    Settled("Resize", "stock", "align_corners of a length that is not an integer",
            lambda c: attribute(c, "coordinate_transformation_mode") == "align_corners"),
    Settled("If Loop Scan", "stock", "ONNX Runtime loses strings that it stacks", lambda c: c.draw.types.get("V") == 8),
    Settled("Sign", "stock", "ONNX Runtime answers 0 for NaN of float16", has_nan),
    Settled("AffineGrid", "stock", "one pixel with align_corners: the standard's function gives 0, ONNX Runtime -1",
            one_pixel),
    Settled("Cast CastLike", "stock", "numbers of 4 and 2 bits go in and out of ONNX Runtime packed", lambda c:
            {c.draw.types["T1"], c.draw.types["T2"]} & {21, 22, 23, 25, 26}),
    Settled("Constant", "stock", "ONNX Runtime gives a scalar for a sparse constant",
            lambda c: attribute(c, "sparse_value") is not None),
    Settled("Constant", "stock", "results of 4 bits come out of ONNX Runtime packed",
            lambda c: main_kind(c) in (21, 22, 23, 25, 26)),
    Settled("Col2Im", "stock", "ONNX Runtime reads past the first image in one dimension"),
    Settled("Gather", "stock", "ONNX Runtime copies only the first string of each block", lambda c: main_kind(c) == 8),
    Settled("MatMul", "stock", "ONNX Runtime does not broadcast products over nothing", is_empty),
    Settled("MatMulInteger QLinearMatMul", "stock", "ONNX Runtime leaves products of nothing as memory was", is_empty),
    Settled("MatMulInteger ConvInteger QLinearMatMul QLinearConv", "stock",
            "ONNX Runtime's sums of two products overflow without VNNI", overflows_without_vnni),
    Settled("NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss", "stock", "ONNX Runtime's mean of nothing is 0",
            is_empty, "nan"),
    Settled("Gemm", "stock", "ONNX Runtime forgets beta beside a product of nothing", is_empty),
    Settled("InstanceNormalization", "stock", "one element is its own mean: ONNX Runtime leaves rounding noise",
            lambda c: int(np.prod(arrays(c)["x0"].shape[2:])) == 1),
    Settled("Attention", "stock", "the text: query i sees the cache and the keys up to i; ONNX Runtime aligns the last "
            "query with the last key", causal_behind_cache),
    Settled("MaxPool", "stock", "ONNX Runtime merges the zeros of Pad into MaxPool's pads, which are no zeros",
            lambda c: any(n.op_type == "Pad" for n in c.model.graph.node)),
    Settled(REDUCTIONS, "stock", "ONNX Runtime's shape of a reduction over nothing differs from the text", is_empty),
    Settled(REDUCTIONS, "stock", "ONNX Runtime sums integers of one column in floats", is_integer),
    Settled("ReduceMax ReduceMin", "stock", "ONNX Runtime loses NaN in maxima of doubles", has_nan),
    Settled("Resize", "stock", "ONNX Runtime ignores negative axes", negative_axes),
    Settled("Resize", "stock", "half_pixel_symmetric: ONNX Runtime rounds away from a place that is a whole number",
            lambda c: attribute(c, "coordinate_transformation_mode") == "half_pixel_symmetric"
            and attribute(c, "nearest_mode", "") in ("floor", "ceil")),
    Settled("Resize", "stock", "ONNX Runtime copies the image where all scales are 1, whatever the region",
            lambda c: attribute(c, "coordinate_transformation_mode") == "tf_crop_and_resize"),
    Settled("Slice", "stock", "ONNX Runtime takes the largest numbers for open ends: the text clamps them",
            huge_bound),
]


def reason_of(case, peer, words, _peers):
    operators = {node.op_type for node in case.model.graph.node}
    for row in ROWS:
        if (peer == row.peer or peer == "derived" or (row.peer == "both" and peer in ("reference", "stock"))) \
                and operators & set(row.operators.split()) and row.words in words \
                and (row.when is None or row.when(case)):
            return row.reason
    return ""
