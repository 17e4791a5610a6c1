"""Scales and zero points, and arrays that are quantized with them: the formulas that both formats share."""
import ml_dtypes
import numpy as np

from sardonyx.quantization.quant_types import (
    FLOAT8_TYPES,
    FLOAT8E4M3FN,
    ONNX_TYPE_TO_NP_TYPE,
    get_qmin_qmax_for_qType,
    type_to_name,
)

# The finite numbers of each float8 type, filled in when they are first asked for.
FLOAT8_DISTRIBUTIONS = {}
_LARGEST_FLOAT8 = 448
_QUANTIZABLE = ("float16", "float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "int64", "int4", "uint4",
                "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "bfloat16")


def _check_type(*args, zero_point_index=-1):
    checked = []
    for position, value in enumerate(args):
        value = value if isinstance(value, (np.ndarray, np.generic)) else np.asarray(value)
        if not isinstance(value, np.ndarray):
            value = np.asarray(value)
        if position == zero_point_index and value.dtype in (np.float32, np.float16, np.float64):
            raise TypeError(f"expected an integer as zero point, found {value.dtype}")
        checked.append(value)
    return checked[0] if len(checked) == 1 else tuple(checked)


def _widened(rmin, rmax, min_real_range):
    """The range with zero inside, at least `min_real_range` wide."""
    rmin = np.minimum(rmin, np.array(0, dtype=rmin.dtype))
    rmax = np.maximum(rmax, np.array(0, dtype=rmax.dtype))
    if min_real_range is not None:
        rmax = np.maximum(rmax, rmin + np.asarray(min_real_range, dtype=rmin.dtype))
    return rmin, rmax


def compute_scale_zp(rmin, rmax, qmin, qmax, symmetric=False, min_real_range=None):
    """[zero point, scale] so that [rmin, rmax], with zero inside, lies in scale * ([qmin, qmax] - zero point).

    `symmetric`: the range is widened to the same distance on both sides of zero. `min_real_range`: a narrower range
    grows at its upper end. A range too narrow for its type has the scale 1."""
    if qmin > 0 or qmax < 0:
        raise ValueError(f"expected integers on both sides of zero, found a range from {qmin} to {qmax}")
    rmin, rmax = _widened(rmin, rmax, min_real_range)
    if symmetric:
        largest = np.maximum(np.abs(rmin), np.abs(rmax))
        rmin, rmax = -largest, +largest
    return _scale_zp_of(rmin, rmax, np.array(rmax, np.float64) - np.array(rmin, np.float64), qmin, qmax, symmetric)


def _scale_zp_of(rmin, rmax, width, qmin, qmax, symmetric):
    """The same for a range with zero inside and its width."""
    scale = np.array(width / (np.array(qmax, np.float64) - np.array(qmin, np.float64)))
    if not scale >= 0:
        raise ValueError(f"expected a range of numbers, found one from {rmin} to {rmax}")
    if scale < np.finfo(rmax.dtype).tiny:
        return [np.array(0, dtype=qmin.dtype), np.array(1, dtype=rmax.dtype)]
    if symmetric:
        middle = np.round((np.array(qmin, np.float64) + np.array(qmax, np.float64)) / 2.0)
        return [np.array(middle, dtype=qmin.dtype), scale.astype(rmax.dtype)]
    zero_point = np.array(np.round(qmin - rmin / scale), dtype=qmin.dtype)
    return [zero_point, scale.astype(rmax.dtype)]


def snap_zero_point_to_uint8(rmin, rmax, qmin: int = 0, qmax: int = 255, min_real_range: float | None = None):
    """(zero point, scale) of an activation whose zero point is the lowest number or the middle: the lowest where no
    value is negative. The scale still covers the range."""
    rmin, rmax = min(float(rmin), 0.0), float(rmax)
    if min_real_range is not None and min_real_range > 0:
        rmax = max(rmax, rmin + min_real_range)
    if rmin >= 0:
        zero_point, scale = qmin, max(rmax, 0.0) / (qmax - qmin)
    else:
        zero_point = (qmin + qmax + 1) // 2
        scale = max(-rmin / (zero_point - qmin), max(rmax, 0.0) / (qmax - zero_point))
    if scale <= 0:
        scale = 1.0 / (qmax - qmin)
    return np.array(zero_point, dtype=np.uint8), np.array(scale, dtype=np.float32)


def compute_scale_zp_float8(element_type, std):
    """[zero, scale] with which data of a standard deviation spreads as the numbers of the float8 type do."""
    if element_type != FLOAT8E4M3FN:
        raise ValueError(f"expected FLOAT8E4M3FN, found {type_to_name.get(element_type, element_type)}")
    if element_type not in FLOAT8_DISTRIBUTIONS:
        numbers = np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e4m3fn).astype(np.float32)
        FLOAT8_DISTRIBUTIONS[element_type] = numbers[np.isfinite(numbers)]
    spread = np.std(FLOAT8_DISTRIBUTIONS[element_type])
    return [np.array(0, dtype=ml_dtypes.float8_e4m3fn), np.array(std / spread, dtype=std.dtype)]


def scale_zp_of_spread(element_type, avg, std):
    """The same as a pair; numbers that are all the same have no spread, and become one step of their own size."""
    zero_point, scale = compute_scale_zp_float8(element_type, np.asarray(std))
    if scale == 0:
        scale = np.array(np.abs(avg) or 1, scale.dtype)
    return zero_point, scale


def compute_scale_zp_blocked(weight: np.ndarray, quant_type: int, axis: int, block_size: int,
                             symmetric: bool) -> tuple[np.ndarray, np.ndarray]:
    """(zero points, scales) of the blocks of a matrix along `axis`, as QuantizeLinear of opset 21 takes them."""
    if weight.ndim != 2:
        raise NotImplementedError(f"blocks need a weight of rank 2, found one of the shape {weight.shape}")
    if block_size <= 0:
        raise ValueError(f"expected a positive size of blocks, found {block_size}")
    is_valid, axis = normalize_axis(axis, weight.ndim)
    if not is_valid:
        raise ValueError(f"expected an axis of a matrix, found {axis}")
    lowest, highest = get_qmin_qmax_for_qType(quant_type, symmetric=symmetric)
    lines = weight if axis == 1 else weight.T
    count = -(-lines.shape[1] // block_size)
    zero_points = np.zeros((lines.shape[0], count), dtype=lowest.dtype)
    scales = np.zeros((lines.shape[0], count), dtype=weight.dtype)
    for line in range(lines.shape[0]):
        for block in range(count):
            part = lines[line, block * block_size:(block + 1) * block_size]
            rmin, rmax = _widened(np.asarray(part.min()), np.asarray(part.max()), None)
            if symmetric:
                rmax = np.maximum(np.abs(rmin), np.abs(rmax))
                rmin = -rmax
            # ONNX Runtime subtracts in the weight's own type here, which rounds otherwise than for whole tensors.
            width = np.array(rmax - rmin, np.float64)
            zero_points[line, block], scales[line, block] = _scale_zp_of(rmin, rmax, width, lowest, highest, symmetric)
    return (zero_points, scales) if axis == 1 else (zero_points.T.copy(), scales.T.copy())


def compute_data_quant_params(data: np.ndarray, quant_type: int, symmetric: bool, reduce_range: bool = False,
                              min_real_range: float | None = None, rmin_override: float | None = None,
                              rmax_override: float | None = None) -> tuple[np.ndarray, np.ndarray]:
    """(zero point, scale) of an array as a whole; the overrides stand for its smallest and largest number."""
    if not isinstance(data, np.ndarray):
        raise TypeError(f"expected an array, found '{type(data).__name__}'")
    lowest = rmin_override if rmin_override is not None else (data.min() if data.size else 0.0)
    highest = rmax_override if rmax_override is not None else (data.max() if data.size else 0.0)
    lowest, highest = np.array(lowest, dtype=data.dtype), np.array(highest, dtype=data.dtype)
    if quant_type == FLOAT8E4M3FN:
        if reduce_range:
            raise RuntimeError("float8 has no reduced range")
        spread = (data.mean(), np.std(data)) if data.size else (0.0, np.zeros((), data.dtype))
        return scale_zp_of_spread(quant_type, *spread)
    qmin, qmax = _integer_range(quant_type, reduce_range, symmetric)
    zero_point, scale = compute_scale_zp(lowest, highest, qmin, qmax, symmetric, min_real_range)
    return zero_point, scale


def _integer_range(quant_type, reduce_range, symmetric):
    if quant_type not in ONNX_TYPE_TO_NP_TYPE:
        raise ValueError(f"expected an integer type of 4, 8 or 16 bits or FLOAT8E4M3FN, found "
                         f"{type_to_name.get(quant_type, quant_type)}")
    return get_qmin_qmax_for_qType(quant_type, reduce_range=reduce_range, symmetric=symmetric)


def quantize_nparray(qType, arr, scale, zero_point, low=None, high=None):  # noqa: N803
    """The numbers of the type that stand for an array; `low` and `high` narrow the range that they come from."""
    if qType not in ONNX_TYPE_TO_NP_TYPE:
        raise AssertionError(f"expected an integer type of 4, 8 or 16 bits or FLOAT8E4M3FN, found "
                             f"{type_to_name.get(qType, qType)}")
    dtype = ONNX_TYPE_TO_NP_TYPE[qType]
    if qType in FLOAT8_TYPES:
        if np.any(np.asarray(zero_point).astype(np.float32) != 0):
            raise NotImplementedError(f"expected the zero point 0 for float8, found {zero_point}")
        scaled = np.asarray(arr).astype(np.float32) / np.asarray(scale).astype(np.float32)
        return np.clip(scaled, -_LARGEST_FLOAT8, _LARGEST_FLOAT8).astype(dtype)
    lowest, highest = (int(bound) for bound in get_qmin_qmax_for_qType(qType))
    lowest = lowest if low is None else max(lowest, low)
    highest = highest if high is None else min(highest, high)
    zero = np.asarray(zero_point).astype(np.int32)
    rounded = np.asarray((np.asarray(arr).astype(np.float32) / scale).round() + zero)
    return np.clip(rounded, lowest, highest).astype(dtype)


def quantize_data(data, qType, symmetric, reduce_range=False, min_real_range=None,  # noqa: N803
                  rmin_override=None, rmax_override=None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(zero point, scale, quantized data) of an array as a whole."""
    zero_point, scale = compute_data_quant_params(data, qType, symmetric, reduce_range, min_real_range, rmin_override,
                                                  rmax_override)
    return zero_point, scale, quantize_nparray(qType, data, scale, zero_point)


def normalize_axis(axis: int, rank: int) -> tuple[bool, int]:
    """(whether the axis is one of a tensor of that rank, the axis counted from the front)."""
    counted = axis + rank if axis < 0 else axis
    return 0 <= counted < rank, counted


def pack_bytes_to_4bit(src_8bit: bytes) -> bytearray:
    """Two numbers in each byte, the first in the lower half; what is above the lower 4 bits of each is dropped."""
    numbers = np.frombuffer(src_8bit, dtype=np.uint8) & 0xF
    if numbers.size % 2:
        numbers = np.append(numbers, np.uint8(0))
    return bytearray((numbers[0::2] | (numbers[1::2] << 4)).astype(np.uint8).tobytes())


def smooth_distribution(p, eps=0.0001):
    """A histogram in which empty places hold `eps` and the others share what that takes; None if all are empty, or if
    the others hold too little."""
    p = np.asarray(p)
    empty = p == 0
    filled = p.size - np.count_nonzero(empty)
    if not filled:
        return None
    taken = eps * np.count_nonzero(empty) / filled
    if taken >= 1.0:
        return None
    smooth = p.astype(np.float32)
    smooth += eps * empty + (-taken) * ~empty
    return None if (smooth <= 0).any() else smooth
