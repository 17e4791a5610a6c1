"""The algorithms that quantize groups of weights. A weight is [K, N], a group is `size` numbers of a column, and
results are [N * groups, size], [N * groups, 1] and [N * groups, 1]: numbers, scales and zero points."""
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np

_PART = 4096  # groups that are worked on at once: what comes of them stays in the caches


def grouped(weight, size):
    """The groups of all columns as rows, behind K zeros."""
    rows, columns = weight.shape
    padded = np.zeros((columns, -(-rows // size) * size), weight.dtype)
    padded[:, :rows] = weight.T
    return padded.reshape(-1, size)


def _divided(above, below, otherwise):
    """above / below, and `otherwise` where below is 0."""
    safe = np.where(below != 0, below, 1)
    return np.where(below != 0, above / safe, otherwise)


def round_to_nearest(groups, bits, symmetric, ratio=1.0):
    """Ranges from the smallest to the largest number, of which `ratio` is kept; around 0 if it is symmetric."""
    lowest, highest = (groups.min(1, keepdims=True) * ratio, groups.max(1, keepdims=True) * ratio)
    top = (1 << bits) - 1
    if symmetric:
        largest = np.maximum(np.abs(lowest), np.abs(highest))
        scale = np.where(largest > 0, (largest * 2.0).astype(np.float64) / top, 1.0)
        zero_point = np.full(scale.shape, 1 << (bits - 1))
    else:
        scale = np.where(lowest != highest, (highest - lowest).astype(np.float64) / top, 1.0)
        zero_point = np.clip(np.round(-lowest / scale), 0, top)
    numbers = np.clip(np.round(groups / scale + zero_point), 0, top)
    return numbers.astype(np.uint8), scale, zero_point.astype(np.uint8)


def k_quant(groups, bits, steps=20):
    """Scale and zero point of smallest squared error, which are looked for as llama.cpp's k-quants do: for several
    widths of the range, least squares give scale and offset.

    Two things differ. The offset is rounded to a zero point before the error is measured, and the scale is fitted
    again. And all numbers weigh the same, not large ones more: that is the error of outputs for inputs of one size."""
    parts = [groups[start:start + _PART] for start in range(0, len(groups), _PART)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        made = list(pool.map(lambda part: _k_quant(part.astype(np.float32), (1 << bits) - 1, bits, steps), parts))
    return tuple(np.concatenate(arrays) for arrays in zip(*made, strict=True))


def _k_quant(x, top, bits, steps):
    lowest, span = x.min(1, keepdims=True), x.max(1, keepdims=True) - x.min(1, keepdims=True)
    numbers, scale, zero_point = (array.astype(np.float32) for array in round_to_nearest(x, bits, False))
    best, sum_x = _squared_error(x, numbers, scale, zero_point), x.sum(1, keepdims=True)
    for step in range(steps):
        inverse = _divided(np.float32(top - 1 + 0.1 * step), span, np.float32(1))
        tried = np.clip(np.round(inverse * (x - lowest)), 0, top)
        sum_q, sum_qq, sum_qx = (part.sum(1, keepdims=True) for part in (tried, tried * tried, tried * x))
        determinant = x.shape[1] * sum_qq - sum_q * sum_q
        fitted = _divided(x.shape[1] * sum_qx - sum_x * sum_q, determinant, np.float32(1))
        offset = _divided(sum_qq * sum_x - sum_q * sum_qx, determinant, np.float32(0))
        fitted = np.where(fitted > 0, fitted, np.float32(1))
        candidate = _fitted(x, fitted, np.clip(np.round(-offset / fitted), 0, top), top)
        error = _squared_error(x, *candidate)
        better, best = error < best, np.minimum(error, best)
        numbers, scale, zero_point = (np.where(better, new, old) for new, old in zip(
            candidate, (numbers, scale, zero_point), strict=True))
    return numbers.astype(np.uint8), scale.astype(np.float64), zero_point.astype(np.uint8)


def _fitted(x, scale, zero_point, top):
    """Numbers for a scale, the scale that fits them best, numbers for that: (numbers, scale, zero point)."""
    for _ in range(2):
        away = np.clip(np.round(x / scale + zero_point), 0, top) - zero_point
        better = _divided((away * x).sum(1, keepdims=True), (away * away).sum(1, keepdims=True), scale)
        scale = np.where(better > 0, better, scale)
    return np.clip(np.round(x / scale + zero_point), 0, top), scale, zero_point


def _squared_error(x, numbers, scale, zero_point):
    off = (numbers - zero_point) * scale - x
    return (off * off).sum(1, keepdims=True)


def hqq(groups, bits, norm=0.7, beta=10.0, kappa=1.01, turns=20):
    """Half-quadratic quantization: zero points (floats) that make the error sparse, by a proximal step in turns.
    Returns numbers, scales and zero points."""
    x, top = groups.astype(np.float32), (1 << bits) - 1
    lowest, span = x.min(1, keepdims=True), x.max(1, keepdims=True) - x.min(1, keepdims=True)
    inverse = np.minimum(np.float32(top) / np.where(span == 0, np.float32(top), span), np.float32(2e4))
    zero_point, best = np.round(-lowest * inverse), np.inf
    for _ in range(turns):
        numbers = np.clip(np.round(x * inverse + zero_point), 0, top)
        restored = (numbers - zero_point) / inverse
        rest = x - restored
        size = np.abs(rest)
        sparse = np.sign(rest) * np.maximum(size - (size + 1e-8) ** np.float32(norm - 1) / np.float32(beta), 0)
        zero_point = (numbers - (x - sparse) * inverse).mean(1, keepdims=True)
        beta *= kappa
        error = float(size.mean())
        if error >= best:
            break
        best = error
    numbers = np.clip(np.round(x * inverse + zero_point), 0, top)
    return numbers.astype(np.uint8), 1.0 / inverse, zero_point


class Gptq:
    """GPTQ (Frantar et al. 2022) for one weight: rows are rounded one after the other, and the rows behind take over
    the error, weighted by the inverse of the Hessian of the layer's squared error, X^T X."""

    def __init__(self, bits, size, symmetric, percdamp=0.01, block_size=128, actorder=False, mse=False,
                 perchannel=True):
        self.top, self.size, self.symmetric = (1 << bits) - 1, size, symmetric
        self.percdamp, self.block_size, self.actorder = percdamp, block_size, actorder
        self.mse, self.perchannel = mse, perchannel

    def rounded(self, weight, hessian):
        """The weight [K, N] with each number at one of its group's levels. Both arguments are written to."""
        rows = weight.shape[0]
        unused = np.diag(hessian) == 0
        hessian[unused, unused] = 1
        weight[unused] = 0
        order = np.argsort(np.diag(hessian))[::-1] if self.actorder else np.arange(rows)
        weight, hessian = weight[order], hessian[order][:, order]
        places = np.arange(rows)
        hessian[places, places] += self.percdamp * np.mean(np.diag(hessian))
        inverse = np.linalg.cholesky(np.linalg.inv(hessian)).T
        made, scale, zero_point = np.zeros_like(weight), *self._range(weight)
        for start in range(0, rows, self.block_size):
            end = min(start + self.block_size, rows)
            errors = np.zeros((end - start, weight.shape[1]), weight.dtype)
            part, local = weight[start:end].copy(), inverse[start:end, start:end]
            for row in range(end - start):
                if (start + row) % self.size == 0:
                    scale, zero_point = self._range(weight[start + row:start + row + self.size])
                levels = np.clip(np.round(part[row] / scale) + zero_point, 0, self.top)
                made[start + row] = scale * (levels - zero_point)
                errors[row] = (part[row] - made[start + row]) / local[row, row]
                part[row:] -= np.outer(local[row, row:], errors[row]).astype(weight.dtype)
            weight[end:] -= (inverse[start:end, end:].T @ errors).astype(weight.dtype)
        return made[np.argsort(order)]

    def _range(self, rows):
        """(scale, zero point) of each column; of all together if they are not to have ranges of their own."""
        flat = rows if self.perchannel else rows.reshape(-1, 1)
        lowest, highest = np.minimum(flat.min(0), 0.0), np.maximum(flat.max(0), 0.0)
        if self.symmetric:
            highest = np.maximum(np.abs(lowest), highest)
            lowest = np.where(lowest < 0, -highest, lowest)
        nothing = (lowest == 0) & (highest == 0)
        lowest, highest = np.where(nothing, -1.0, lowest), np.where(nothing, 1.0, highest)
        scale = (highest - lowest) / self.top
        zero_point = np.full(scale.shape, (self.top + 1) / 2) if self.symmetric else np.round(-lowest / scale)
        if self.mse:
            scale, zero_point = self._narrowed(flat, lowest, highest, scale, zero_point)
        columns = rows.shape[1]
        return np.broadcast_to(scale, columns), np.broadcast_to(zero_point, columns)

    def _narrowed(self, flat, lowest, highest, scale, zero_point):
        """Ranges of 20 % to 100 % of the whole, of which each column keeps the one of smallest error."""
        best = np.full(scale.shape, np.inf)
        for percent in range(100, 20, -1):
            tried = (highest - lowest) * (percent / 100) / self.top
            zero = zero_point if self.symmetric else np.round(-lowest * (percent / 100) / tried)
            restored = (np.clip(np.round(flat / tried) + zero, 0, self.top) - zero) * tried
            error = (np.abs(restored - flat) ** 2.4).sum(0)
            better = error < best
            best, scale = np.where(better, error, best), np.where(better, tried, scale)
            zero_point = zero_point if self.symmetric else np.where(better, zero, zero_point)
        return scale, zero_point
