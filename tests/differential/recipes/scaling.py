"""Resizing images, and sampling them by grids."""
import numpy as np
from calls import Call, dtype_of

from recipes import recipe

MOVED = {8, 9, 14, 15}  # strings, bools and complex numbers have nearest alone
TRANSFORMS = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"]


@recipe("Resize")
def resize(d):
    mode = d.pick("nearest", "nearest", "linear", "cubic")
    rank = d.pick(1, 2, 3) if mode != "cubic" else 2
    kind = d.kind("T1" if d.version > 10 else "T")
    x = d.values(kind, (1, d.pick(1, 2), *[d.whole(1, 6) for _ in range(rank)]), "tame")
    mode = "nearest" if kind in MOVED else mode
    attributes = {"mode": mode if mode != "nearest" or d.chance() else None}
    by_sizes = d.version >= 11 and d.chance(0.5)
    sizes = [*x.shape[:2], *[d.whole(1, 9) for _ in range(rank)]]
    factors = [1.0, 1.0, *[d.pick(0.5, 1.0, 1.5, 2.0, 2.5, 3.0) for _ in range(rank)]]
    factors = np.array([f if n * f >= 1 else 1.0 for n, f in zip(x.shape, factors)], np.float32)
    if d.version == 10:
        return Call([x, factors], attributes, tolerance=64, off_by=1)
    attributes["coordinate_transformation_mode"] = d.pick(None, *TRANSFORMS, "tf_crop_and_resize",
                                                          "half_pixel_symmetric" if d.version >= 19 else "half_pixel")
    if mode == "nearest":
        attributes["nearest_mode"] = d.pick(None, "round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
    if mode == "cubic":
        attributes |= {"cubic_coeff_a": d.pick(None, -0.5), "exclude_outside": d.pick(None, 0, 1)}
    roi = None
    if attributes["coordinate_transformation_mode"] == "tf_crop_and_resize":
        low, high = d.rng.uniform(0, 0.4, rank), d.rng.uniform(0.6, 1.1, rank)
        roi = np.array([0, 0, *low, 1, 1, *high])
        attributes["extrapolation_value"] = d.pick(None, 2.5) if kind not in MOVED else None
    if d.version >= 18 and mode != "nearest" and d.chance(0.3) and roi is None:
        attributes["antialias"] = 1
    return resize_inputs(d, x, roi, factors, sizes, by_sizes, attributes)


def resize_inputs(d, x, roi, factors, sizes, by_sizes, attributes):
    roi_dtype = dtype_of(d.kind("T2"))
    if d.version >= 18 and d.chance(0.3):
        axes = list(range(2, x.ndim))
        attributes["axes"] = [a - x.ndim if d.chance(0.3) else a for a in axes]
        factors, sizes = factors[2:], sizes[2:]
        roi = roi if roi is None else np.concatenate([roi[2:x.ndim], roi[x.ndim + 2:]])
        if by_sizes and d.chance(0.4) and roi is None:
            attributes["keep_aspect_ratio_policy"] = d.pick("stretch", "not_larger", "not_smaller")
    roi = None if roi is None else roi.astype(roi_dtype)
    if d.version == 11:
        roi = np.zeros(0, roi_dtype) if roi is None else roi
        empty = np.zeros(0, np.float32)
        return Call([x, roi, empty, d.ints(*sizes)] if by_sizes else [x, roi, factors], attributes,
                    tolerance=64, off_by=1, constants={1, 2, 3} & set(range(4 if by_sizes else 3)))
    return Call([x, roi, None, d.ints(*sizes)] if by_sizes else [x, roi, factors], attributes, tolerance=64,
                off_by=1)


@recipe("Upsample")
def upsample(d):
    x = d.values("T", (1, d.pick(1, 2), d.whole(1, 5), d.whole(1, 5)), "tame")
    mode = d.pick(None, "nearest", "linear" if d.version > 1 else "bilinear")
    mode = "nearest" if d.kind("T") in MOVED else mode
    height, width = d.pick(1.0, 2.0, 3.0), d.pick(1.0, 2.0, 1.5)
    factors = np.array([1, 1, height, width], np.float32)
    if d.version == 1:
        newest = Call([x, factors], {"mode": "linear" if mode == "bilinear" else mode}, tolerance=16, off_by=1)
        return Call([x], {"mode": mode, "height_scale": height, "width_scale": width}, newest=newest, tolerance=16,
                    off_by=1)
    if d.version == 7:
        return Call([x], {"mode": mode, "scales": [float(f) for f in factors]}, tolerance=16, off_by=1,
                    newest=Call([x, factors], {"mode": mode}))
    return Call([x, factors], {"mode": mode}, tolerance=16, off_by=1)


@recipe("GridSample")
def grid_sample(d):
    rank = d.pick(2, 2, 3) if d.version >= 20 else 2
    names = ["nearest", "linear", "cubic"] if d.version >= 20 else ["nearest", "bilinear", "bicubic"]
    mode = names[d.whole(0, 1 if rank == 3 else 2)]
    mode = "nearest" if d.kind("T1") in MOVED else mode
    n = d.pick(1, 2)
    x = d.values("T1", (n, d.pick(1, 2), *[d.whole(1, 5) for _ in range(rank)]), "tame")
    grid = d.rng.uniform(-1.3, 1.3, (n, *[d.whole(1, 4) for _ in range(rank)], rank))
    second = d.kind("T2")
    return Call([x, np.asarray(grid).astype(dtype_of(second))],
                {"mode": d.pick(None, mode) if mode == names[1] else mode,
                 "padding_mode": d.pick(None, "zeros", "border", "reflection"),
                 "align_corners": d.pick(None, 0, 1)}, tolerance=128)


@recipe("AffineGrid")
def affine_grid(d):
    rank = d.pick(2, 3)
    n = d.pick(1, 2)
    theta = d.values("T1", (n, rank, rank + 1), "tame")
    d.kind("T2")
    size = d.ints(n, d.pick(1, 3), *[d.whole(1, 5) for _ in range(rank)])
    return Call([theta, size], {"align_corners": d.pick(None, 0, 1)}, tolerance=16)
