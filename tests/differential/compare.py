"""Whether two results of one model are the same, up to the rounding that their type allows."""
import numpy as np
from calls import NAMES, element_kind

# A bound of the relative rounding error of one operation; compared are a few of them.
EPSILON = {"float64": 1e-13, "float32": 1e-6, "float16": 2e-3, "bfloat16": 1.6e-2, "complex64": 1e-6,
           "complex128": 1e-13}
NARROW = {"float8_e4m3fn": 0.13, "float8_e4m3fnuz": 0.13, "float8_e5m2": 0.26, "float8_e5m2fnuz": 0.26,
          "float4_e2m1fn": 0.5, "float8_e8m0fnu": 0.0}


def as_exact(array):
    """An array that NumPy can compare, of the same numbers."""
    array = np.asarray(array)
    name = array.dtype.name
    if name in ("float16", "bfloat16") or name in NARROW:
        return array.astype(np.float64)
    if name in ("int4", "uint4", "int2", "uint2"):
        return array.astype(np.int8)
    return array


def close(got, want, factor, off_by=0):
    """A mask of the elements of `got` that equal those of `want`; the tolerance is that of the narrower type."""
    name = max((np.asarray(x).dtype.name for x in (got, want)), key=lambda n: EPSILON.get(n, 0))
    got, want = as_exact(got), as_exact(want)
    if got.dtype.kind not in "fc":
        if want.dtype.kind in "OUS" or got.dtype.kind in "OUS":
            return np.asarray(got.astype(str) == want.astype(str))
        same = np.asarray(got == want)
        if off_by:
            same |= np.asarray(np.abs(got.astype(np.float64) - want.astype(np.float64)) <= off_by)
        return same
    relative = EPSILON.get(name, 1e-9) * factor
    with np.errstate(all="ignore"):
        finite = np.abs(want[np.isfinite(want)])
        # Sums cancel: their error is relative to the terms, of which the largest result is a measure.
        absolute = relative * min(max(finite.max(initial=0), 1e-3), 1e4)
        return np.isclose(got, want.astype(got.dtype), relative, absolute, equal_nan=True)


def fault(got, wants, factor=1.0, shapes_only=False, off_by=0):
    """What is different between one output and each of `wants`, of which each element must equal one; "" if nothing."""
    if isinstance(got, (list, tuple, dict)) or got is None or any(isinstance(w, (list, tuple)) for w in wants):
        return nested_fault(got, wants, factor, shapes_only)
    got = np.asarray(got)
    mask = rough = None
    for want in wants:
        want = np.asarray(want)
        if got.shape != want.shape:
            return f"shape {got.shape} instead of {want.shape}"
        if is_text(got) != is_text(want):
            return f"type {got.dtype} instead of {want.dtype}"
        if shapes_only:
            return ""
        same = close(got, want, factor, off_by)
        mask = same if mask is None else mask | same
        if got.dtype == np.float64 and want.dtype.kind == "f":
            same = close(got.astype(np.float32), want.astype(np.float64), factor)
            rough = same if rough is None else rough | same
    if mask.all():
        return ""
    wrong = np.argwhere(~mask)
    place = tuple(int(i) for i in wrong[0])
    values = ", ".join(str(np.asarray(w)[place]) for w in wants)
    single = "in single precision: " if rough is not None and rough.all() else ""
    return f"{single}{len(wrong)} of {mask.size} elements, first at {place}: {got[place]} instead of {values}"


def is_text(array):
    return array.dtype.kind in "OUS"


def type_fault(outputs, declared):
    """The first of `outputs` that has another element type than its graph declares."""
    for i, (value, info) in enumerate(zip(outputs, declared, strict=True)):
        kind = info.type.tensor_type.elem_type
        if kind and isinstance(value, np.ndarray) and element_kind(value) != kind:
            return f"output {i}: type {value.dtype} instead of {NAMES[kind]}"
    return ""


def nested_fault(got, wants, factor, shapes_only):
    want = wants[0]
    if isinstance(got, dict) or got is None or want is None:
        if got is None or want is None:
            return "" if got is want else f"{got} instead of {want}"
        same = list(got) == list(want) and np.allclose(list(got.values()), list(want.values()), equal_nan=True)
        return "" if same else f"{got} instead of {want}"
    if not isinstance(got, (list, tuple)) or not isinstance(want, (list, tuple)):
        return f"{type(got).__name__} instead of {type(want).__name__}"
    if len(got) != len(want):
        return f"{len(got)} items instead of {len(want)}"
    for i, (item, other) in enumerate(zip(got, want, strict=True)):
        if words := fault(item, [other], factor, shapes_only):
            return f"item {i}: {words}"
    return ""


def outputs_fault(got, wants, factor=1.0, shapes_only=False, off_by=0):
    """The first difference between outputs and one or several lists of expected ones."""
    for i, value in enumerate(got):
        expected = [want[i] for want in wants if want is not None]
        if words := fault(value, expected, factor, shapes_only, off_by):
            return f"output {i}: {words}"
    return ""
