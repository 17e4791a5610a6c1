"""Convolutions and pools."""
import numpy as np
from calls import Call, dtype_of

from recipes import recipe


class Window:
    """A random window over images, with attributes in the spelling of convolutions and pools."""

    def __init__(self, d, rank, dilated=True, largest=3):
        self.kernel = [d.whole(1, largest) for _ in range(rank)]
        self.strides = [d.pick(1, 1, 2, 3) for _ in range(rank)]
        self.dilations = [d.pick(1, 1, 2) if dilated else 1 for _ in range(rank)]
        self.auto = d.pick(*["NOTSET"] * 5, "VALID", "SAME_UPPER", "SAME_LOWER")
        self.pads = [0] * (2 * rank)
        if self.auto == "NOTSET" and d.chance(0.7):
            self.pads = [d.whole(0, k - 1) for k in self.kernel * 2]
        self.reach = [(k - 1) * e + 1 for k, e in zip(self.kernel, self.dilations)]

    def images(self, d):
        low = [max(1, r - p - q) if self.auto != "SAME" else 1
               for r, p, q in zip(self.reach, self.pads, self.pads[len(self.kernel):])]
        return [n + d.pick(0, 1, 2, 3, 5) for n in low]

    def attributes(self, d, dilated=True):
        found = {"strides": self.strides if max(self.strides) > 1 or d.chance() else None,
                 "dilations": self.dilations if dilated and (max(self.dilations) > 1 or d.chance()) else None,
                 "pads": self.pads if max(self.pads) or (self.auto == "NOTSET" and d.chance()) else None,
                 "auto_pad": self.auto if self.auto != "NOTSET" or d.chance(0.3) else None}
        return found


def rank_of(d):
    return d.pick(1, 2, 2, 2, 3)


def conv_shapes(d, window, transposed=False):
    group = d.pick(1, 1, 2, 3)
    each_in, each_out = d.pick(1, 1, 2, 4), d.pick(1, 1, 2, 3)
    channels, outputs = group * each_in, group * each_out
    x = (d.pick(1, 1, 2), channels, *window.images(d))
    w = (channels, each_out, *window.kernel) if transposed else (outputs, each_in, *window.kernel)
    return group, x, w, outputs


@recipe("Conv")
def conv(d):
    window = Window(d, rank_of(d))
    group, x, w, outputs = conv_shapes(d, window)
    inputs = [d.values("T", x, "tame"), d.values("T", w, "tame")]
    if d.chance():
        inputs.append(d.values("T", (outputs,), "tame"))
    return Call(inputs, {"group": group if group > 1 or d.chance() else None,
                         "kernel_shape": window.kernel if d.chance(0.7) else None, **window.attributes(d)},
                tolerance=16)


@recipe("ConvTranspose")
def conv_transpose(d):
    window = Window(d, rank_of(d))
    group, x, w, outputs = conv_shapes(d, window, True)
    inputs = [d.values("T", x, "tame"), d.values("T", w, "tame")]
    if d.chance():
        inputs.append(d.values("T", (outputs,), "tame"))
    attributes = window.attributes(d)
    if window.auto.startswith("SAME"):
        attributes["auto_pad"] = None
    if d.chance(0.3):
        attributes["output_padding"] = [d.whole(0, max(s, e) - 1) for s, e in zip(window.strides, window.dilations)]
    return Call(inputs, {"group": group if group > 1 or d.chance() else None,
                         "kernel_shape": window.kernel if d.chance(0.7) else None, **attributes}, tolerance=16)


@recipe("DeformConv")
def deform_conv(d):
    window = Window(d, 2)
    window.auto = "NOTSET"
    group, x, w, outputs = conv_shapes(d, window)
    sizes = [(n + p + q - r) // s + 1 for n, p, q, r, s in
             zip(x[2:], window.pads[:2], window.pads[2:], window.reach, window.strides)]
    split = d.pick(1, *[g for g in (2, 3) if x[1] % g == 0])
    taps = window.kernel[0] * window.kernel[1]
    inputs = [d.values("T", x, "tame"), d.values("T", w, "tame"),
              d.values("T", (x[0], split * taps * 2, *sizes), "tame", -1.5, 1.5),
              d.values("T", (outputs,), "tame") if d.chance() else None,
              d.values("T", (x[0], split * taps, *sizes), "tame", 0, 1) if d.chance() else None]
    while inputs[-1] is None:
        inputs.pop()
    attributes = window.attributes(d)
    attributes.pop("auto_pad")
    attributes["pads"] = window.pads
    return Call(inputs, {"group": group, "offset_group": split, "kernel_shape": window.kernel, **attributes},
                tolerance=64)


POOL_DILATES = {"AveragePool": 19, "MaxPool": 10, "LpPool": 18}


@recipe("AveragePool", "MaxPool", "LpPool")
def pool(d):
    dilated = d.version >= POOL_DILATES[d.op]
    window = Window(d, 2 if d.op == "LpPool" and d.version == 1 else rank_of(d), dilated)
    x = d.values("T", (d.pick(1, 2), d.pick(1, 2, 3), *window.images(d)), "tame")
    attributes = {"kernel_shape": window.kernel, **window.attributes(d, dilated)}
    if d.op != "LpPool" and d.version >= 10 or d.op == "LpPool" and d.version >= 18:
        attributes["ceil_mode"] = d.pick(None, 0, 1)
    if d.op == "AveragePool" and d.version >= 7:
        attributes["count_include_pad"] = d.pick(None, 0, 1)
    if d.op == "LpPool":
        p = d.pick(None, 1, 2, 3)
        attributes["p"] = p if d.version > 1 or p is None else float(p)
    outputs = 1
    if d.op == "MaxPool" and d.version >= 8 and d.chance(0.4):
        outputs = 2
        if x.size and np.prod(x.shape) < 250:  # all different, so that indices are certain
            x = np.asarray(d.rng.permutation(x.size).reshape(x.shape) - 100).astype(x.dtype)
        attributes["storage_order"] = d.pick(None, 0, 1)
        d.kind("I")
    return Call([x], attributes, outputs, tolerance=8)


@recipe("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(d):
    x = d.values("T", (d.pick(1, 2), d.pick(1, 3), *[max(n, 1) for n in d.shape(1, 3, 60)]), "tame")
    p = {"p": d.pick(None, 1, 2, 3)} if d.op == "GlobalLpPool" else {}
    newest = Call([x], dict(p), tolerance=8) if d.version == 1 else None
    if d.version == 1 and p.get("p"):
        p["p"] = float(p["p"])
    return Call([x], p, tolerance=8, newest=newest)


@recipe("MaxUnpool")
def max_unpool(d):
    n, c, h, w = d.pick(1, 2), d.pick(1, 2), d.pick(1, 2, 3), d.pick(1, 2, 3)
    x = d.values("T1", (n, c, h, w), "tame")
    plane = 4 * h * w
    rows = [np.sort(d.rng.permutation(plane)[:h * w]) + k * plane for k in range(n * c)]
    where = np.stack(rows).reshape(x.shape).astype(np.int64)
    inputs = [x, where]
    if d.chance(0.3):
        inputs.append(d.ints(n, c, 2 * h, 2 * w))
    return Call(inputs, {"kernel_shape": [2, 2], "strides": [2, 2]})


@recipe("MaxRoiPool")
def max_roi_pool(d):
    n, h, w = d.pick(1, 2), d.whole(2, 7), d.whole(2, 7)
    x = d.values("T", (n, d.pick(1, 2), h, w), "tame")
    rois = []
    for _ in range(d.whole(1, 4)):
        left, top = d.whole(0, w - 1), d.whole(0, h - 1)
        rois.append([d.whole(0, n - 1), left, top, d.whole(left, w - 1), d.whole(top, h - 1)])
    return Call([x, np.array(rois).astype(x.dtype)], {"pooled_shape": [d.whole(1, 3), d.whole(1, 3)],
                                                       "spatial_scale": d.pick(None, 1.0)})


@recipe("RoiAlign")
def roi_align(d):
    n, h, w = d.pick(1, 2), d.whole(2, 8), d.whole(2, 8)
    x = d.values("T1", (n, d.pick(1, 2), h, w), "tame")
    count = d.whole(1, 4)
    first = d.rng.uniform(0, 3, (count, 2))
    rois = np.concatenate([first, first + d.rng.uniform(0.5, 5, (count, 2))], -1).astype(x.dtype)
    attributes = {"output_height": d.whole(1, 3), "output_width": d.whole(1, 3), "mode": d.pick(None, "avg", "max"),
                  "sampling_ratio": d.pick(None, 0, 1, 2), "spatial_scale": d.pick(None, 0.5, 1.0)}
    if d.version >= 16:
        attributes["coordinate_transformation_mode"] = d.pick(None, "half_pixel", "output_half_pixel")
    batch = d.rng.integers(0, n, count).astype(dtype_of(d.kind("T2")))
    return Call([x, rois, batch], attributes, tolerance=32)
