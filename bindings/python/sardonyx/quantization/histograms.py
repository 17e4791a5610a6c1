"""Histograms of tensors, and the ranges that are chosen from them: by entropy, by percentile, by distribution.

Data is read twice, for its range and for its counts, so that none of it need be kept between runs."""
import abc
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from sardonyx import _core
from sardonyx.quantization.calibration_data import TensorData
from sardonyx.quantization.quant_math import smooth_distribution
from sardonyx.quantization.quant_utils import apply_plot

_DTYPES = (np.dtype(np.float16), np.dtype(np.float32))
# How many bytes of a distribution's values are kept, so that its counts are exact. The deviation shows each value that
# is counted in another bin; the ends of entropy and percentile do not.
_KEPT_BYTES = 1 << 26


class DataRange:
    """The smallest and largest value of a tensor so far, and for magnitudes also the smallest of these."""

    def __init__(self):
        self.low = self.high = self.smallest = self.largest = None
        self.dtype = None

    def add(self, array, name, absolute):
        if array.dtype not in _DTYPES or self.dtype not in (None, array.dtype):
            wanted = "float16 or float32" if self.dtype is None else self.dtype
            raise TypeError(f"tensor '{name}': expected values of {wanted}, found {array.dtype}")
        self.dtype = array.dtype
        if array.size == 0:
            return
        low, high = _range_of(array, False)
        if np.isnan(low):
            return
        self.low = low if self.low is None else min(self.low, low)
        self.high = high if self.high is None else max(self.high, high)
        if absolute:
            smallest, largest = _range_of(array, True)
            self.smallest = smallest if self.smallest is None else min(self.smallest, smallest)
            self.largest = largest if self.largest is None else max(self.largest, largest)

    def ends(self, name):
        """(smallest, largest) in the tensor's type: zero where there was no value."""
        low, high = (0, 0) if self.low is None else (self.low, self.high)
        if not np.isfinite(low) or not np.isfinite(high):
            raise ValueError(f"tensor '{name}': expected finite values, found some from {low} to {high}")
        return self.dtype.type(low), self.dtype.type(high)


def _range_of(array, absolute):
    if array.dtype == np.float32:
        return _core.range_of(array, absolute)
    return _core.range_of(array.astype(np.float32), absolute)


def _add_counts(array, hist, edges, absolute):
    _core.add_counts(array.astype(np.float32, copy=False), edges, hist, absolute)


def _bins(count, low, high):
    """No counts yet, and edges of that many bins, float32 for half-precision values, too: these lie too far apart."""
    low, high = float(np.float32(low)), float(np.float32(high))
    # Edges that float32 can tell apart, for values that are all the same, too.
    limits = np.finfo(np.float32)
    least = max(abs(low), abs(high), float(limits.tiny)) * count * float(limits.eps)
    if high - low < least:
        low, high = low - max(least, 0.5), high + max(least, 0.5)
    # Masks hold the lowest number of all, which an edge may lie behind.
    ends = max(low, float(limits.min)), min(high, float(limits.max))
    return np.zeros(count, np.int64), np.clip(np.linspace(*ends, count + 1), *ends).astype(np.float32)


def _counts_between(stream, edges, absolute):
    """The counts of a StreamedHistogram between edges that are not its own."""
    counts, edges = stream.counts(), edges.astype(np.float64)
    side = counts.size // 2
    # A side without numbers is as wide as the other, so that zeros lie beside zero.
    reaches = stream.reach_below or stream.reach_above, stream.reach_above or stream.reach_below
    above = np.interp(edges, np.linspace(0, reaches[1], side + 1), _sums(counts[side:]))
    if absolute:
        below = np.interp(edges, np.linspace(0, reaches[0], side + 1), _sums(counts[side - 1::-1]))
    else:
        below = np.interp(edges, np.linspace(-reaches[0], 0, side + 1), _sums(counts[:side]))
    inside = above + below
    inside[0], inside[-1] = 0, counts.sum()
    return np.diff(np.round(inside)).astype(np.int64)


def _sums(counts):
    return np.concatenate(([0], np.cumsum(counts)))


class CalibrationDataCollector(metaclass=abc.ABCMeta):
    @abc.abstractmethod
    def collect(self, name_to_arr):
        """Takes arrays, or lists of arrays, by the names of tensors."""
        raise NotImplementedError

    @abc.abstractmethod
    def compute_collection_result(self):
        """What the data says of each tensor."""
        raise NotImplementedError


class HistogramCollector(CalibrationDataCollector):
    """`histogram_dict` has for each tensor (counts, edges, smallest value, largest value), and behind these the range
    that the bins cover on both sides of zero where they are bins of values and not of magnitudes.

    Data of any size is given in parts: add_range for all of them, start_counts, add_counts for all of them once
    more."""

    def __init__(self, method, symmetric, num_bins, num_quantized_bins, percentile, scenario):
        self.histogram_dict = {}
        self.method = method
        self.symmetric = symmetric
        self.num_bins = num_bins
        self.num_quantized_bins = num_quantized_bins
        self.percentile = percentile
        self.scenario = scenario
        self._ranges, self._fresh, self._streams = {}, {}, {}
        self._kept, self._kept_bytes = [] if method == "distribution" else None, 0
        self._workers = None

    def get_histogram_dict(self):
        return self.histogram_dict

    def collect(self, name_to_arr):
        if self.method not in ("distribution", "entropy", "percentile"):
            raise ValueError(f"expected the method entropy, percentile or distribution, found {self.method!r}")
        self._collect(name_to_arr, self._is_absolute())

    def collect_absolute_value(self, name_to_arr):
        self._collect(name_to_arr, True)

    def collect_value(self, name_to_arr):
        self._collect(name_to_arr, False)

    def _is_absolute(self):
        return self.method == "percentile" and self.symmetric

    def _collect(self, name_to_arr, absolute):
        data = {name: [np.asarray(one) for one in arrays] if isinstance(arrays, list) else [np.asarray(arrays)]
                for name, arrays in name_to_arr.items()}
        runs = [{name: arrays[index] for name, arrays in data.items() if index < len(arrays)}
                for index in range(max(map(len, data.values()), default=0))]
        for run in runs:
            self.add_range(run, absolute)
        self.start_counts(absolute)
        for run in runs:
            self.add_counts(run, absolute)
        self.finish_counts()

    def _each(self, function, arrays):
        """Calls the function for every tensor, on all cores; they do not share anything."""
        if self._workers is None:
            self._workers = ThreadPoolExecutor(len(os.sched_getaffinity(0)))
        list(self._workers.map(lambda item: function(item[0], np.ascontiguousarray(item[1]).reshape(-1)),
                               arrays.items()))

    def add_range(self, arrays, absolute=None):
        absolute = self._is_absolute() if absolute is None else absolute
        for name in arrays:
            self._ranges.setdefault(name, DataRange())
        self._each(lambda name, array: self._ranges[name].add(array, name, absolute), arrays)

    def start_counts(self, absolute=None):
        """Makes bins for what add_range saw: those that are there, and more beside them where it reaches farther."""
        absolute = self._is_absolute() if absolute is None else absolute
        for name, seen in self._ranges.items():
            old = self.histogram_dict.get(name)
            make = self._magnitudes if absolute else self._values
            self._fresh[name] = make(old, seen, *seen.ends(name))
        self._ranges = {}

    def add_counts(self, arrays, absolute=None):
        absolute = self._is_absolute() if absolute is None else absolute

        def count(name, array):
            hist, edges = self._fresh[name][:2]
            _add_counts(array, hist, edges, absolute)
        self._each(count, arrays)

    def finish_counts(self):
        self.histogram_dict |= self._fresh
        self._fresh = {}
        self._workers.shutdown()
        self._workers = None

    def _values(self, old, seen, low, high):
        """Bins on both sides of zero, and their range; more of them on both sides for values that lie farther out."""
        reach = np.float32(max(abs(low), abs(high)))
        if old is None:
            return (*_bins(self.num_bins, -reach, reach), low, high, reach)
        counts, edges, old_low, old_high, old_reach = old
        low, high = min(old_low, low), max(old_high, high)
        if reach <= old_reach:
            return counts.copy(), edges, low, high, old_reach
        half = edges[-1]
        width = 2 * float(half) / counts.size
        more = int((float(reach) - half) // width + 1)
        hist, edges = _bins(counts.size + 2 * more, -(half + more * width), half + more * width)
        hist[more:hist.size - more] += counts
        return hist, edges, low, high, edges[-1]

    def _magnitudes(self, old, seen, low, high):
        """Bins of magnitudes from the smallest on; more of them for magnitudes that are larger."""
        if old is None:
            smallest, largest = (0, 1) if seen.smallest is None else (seen.smallest, seen.largest)
            return (*_bins(self.num_bins, smallest, largest), low, high)
        counts, edges, old_low, old_high = old
        largest = np.float32(0 if seen.largest is None else seen.largest)
        if largest > edges[-1]:
            width = edges[1] - edges[0]
            edges = np.hstack((edges, np.arange(edges[-1] + width, largest + width, width))).astype(np.float32)
        hist = np.zeros(edges.size - 1, np.int64)
        hist[:counts.size] += counts
        return hist, edges, min(old_low, low), max(old_high, high)

    def stream(self, arrays):
        """Takes arrays by the names of tensors, in one of many parts; finish_stream() makes histograms of all of them.
        Counts are exact for bins of 1/16384 of the reach on their side of zero (or half of that), and between
        them taken to be spread evenly."""
        for name, array in arrays.items():
            if array.dtype not in _DTYPES:
                raise TypeError(f"tensor '{name}': expected values of float16 or float32, found {array.dtype}")
            self._streams.setdefault(name, (_core.StreamedHistogram(), array.dtype))
        if self._kept is not None:
            self._kept_bytes += sum(array.nbytes for array in arrays.values())
            if self._kept_bytes <= _KEPT_BYTES:
                self._kept.append({name: np.array(array) for name, array in arrays.items()})
            else:
                self._kept = None

        whole = {name: np.ascontiguousarray(array).reshape(-1) for name, array in arrays.items()}
        halves = {name: array for name, array in whole.items() if array.dtype != np.float32}
        if halves:
            def widen(name, array):
                whole[name] = array.astype(np.float32)
            self._each(widen, halves)
        _core.add_to_histograms([(self._streams[name][0], array) for name, array in whole.items()],
                                len(os.sched_getaffinity(0)))

    def follow(self, following):
        """Adds tensors that were not streamed: what other tensors become by Relu, or without a change of numbers.
        `following` has for each name that other one, which may follow itself, and whether Relu is between them."""
        def stream_of(name):
            if name in following and name not in self._streams:
                source, is_relu = following[name]
                if stream_of(source) is not None:
                    stream, dtype = self._streams[source]
                    self._streams[name] = stream.relu() if is_relu else stream, dtype
                    for run in self._kept or ():
                        if source in run:
                            run[name] = np.maximum(run[source], 0) if is_relu else run[source]
            return self._streams.get(name)
        for name in following:
            stream_of(name)

    def finish_stream(self):
        absolute = self._is_absolute()
        for name, (stream, dtype) in self._streams.items():
            seen = DataRange()
            seen.dtype = dtype
            if stream.low <= stream.high:
                seen.low, seen.high = stream.low, stream.high
                seen.smallest, seen.largest = stream.smallest, max(abs(stream.low), abs(stream.high))
            make = self._magnitudes if absolute else self._values
            made = make(self.histogram_dict.get(name), seen, *seen.ends(name))
            counts = self._kept_counts(name, made[1]) if self._kept is not None else None
            if counts is None:
                counts = _counts_between(stream, made[1], absolute)
            if absolute and seen.smallest is not None and seen.smallest == seen.largest:
                # One magnitude lies on an edge of its bins, where a spread would put it below.
                place = min(np.searchsorted(made[1], seen.largest, side="right") - 1, counts.size - 1)
                counts = np.where(np.arange(counts.size) == place, counts.sum(), 0)
            made[0][...] += counts
            self.histogram_dict[name] = made
        self._streams = {}
        if self._kept is not None:
            self._kept, self._kept_bytes = [], 0
        if self._workers is not None:
            self._workers.shutdown()
            self._workers = None

    def _kept_counts(self, name, edges):
        """The counts of values between edges; None for a tensor whose values were not streamed."""
        if not any(name in run for run in self._kept):
            return None
        counts = np.zeros(edges.size - 1, np.int64)
        for run in self._kept:
            if name in run:
                _add_counts(np.ascontiguousarray(run[name]).reshape(-1), counts, edges, False)
        return counts

    def merge_histogram(self, old_histogram, data_arr, new_min, new_max, new_threshold):
        """A histogram of values with those of an array in it, which lie between the ends given."""
        seen = DataRange()
        seen.dtype = data_arr.dtype
        made = self._values(old_histogram, seen, new_min, new_max)
        _add_counts(np.ascontiguousarray(data_arr).reshape(-1), made[0], made[1], False)
        return made

    def compute_collection_result(self):
        if not self.histogram_dict:
            raise ValueError("expected collect() to come first: there is no histogram")
        methods = {"entropy": self.compute_entropy, "percentile": self.compute_percentile,
                   "distribution": self.compute_distribution}
        if self.method not in methods:
            raise ValueError(f"expected the method entropy, percentile or distribution, found {self.method!r}")
        return methods[self.method]()

    def compute_percentile(self):
        """(lowest, highest, counts, edges) of each tensor: the ends leave out the values beyond the percentile."""
        if not 0 <= self.percentile <= 100:
            raise ValueError(f"expected a percentile from 0 to 100, found {self.percentile}")
        return self._with_each(self._percentile_of)

    def _percentile_of(self, histogram):
        hist, edges = histogram[:2]
        share = np.cumsum(hist / max(hist.sum(), 1))
        if self.symmetric:
            high = edges[np.searchsorted(share, self.percentile / 100.0)]
            return -high, high
        outside = (100.0 - self.percentile) / 200.0
        return edges[np.searchsorted(share, outside)], edges[np.searchsorted(share, 1.0 - outside)]

    def compute_entropy(self):
        """(lowest, highest, counts, edges) of each tensor: the ends with which quantized values tell most."""
        return self._with_each(lambda histogram: self.get_entropy_threshold(histogram, self.num_quantized_bins))

    def _with_each(self, function):
        found = {}
        for name, histogram in self.histogram_dict.items():
            hist, edges = histogram[:2]
            low, high = _inside(function(histogram), histogram)
            found[name] = (low, high, hist, edges)
            _plot(hist, edges)
        return found

    def compute_distribution(self):
        """A TensorData of each tensor with the mean and the deviation, which float8 needs."""
        if self.num_bins < 512:
            raise ValueError(f"expected at least 512 bins for a distribution, found {self.num_bins}")
        powers = {"same": 1, "p3": 1.0 / 3.0}
        if self.scenario not in powers:
            raise ValueError(f"expected the scenario same or p3, found {self.scenario!r}")
        found = {}
        for name, (hist, edges, *_) in self.histogram_dict.items():
            mean, deviation = self._avg_std(hist, edges, powers[self.scenario])
            found[name] = TensorData(avg=mean, std=deviation, hist=hist, hist_edges=edges, lowest=edges.min(),
                                     highest=edges.max())
            _plot(hist, edges)
        return found

    @staticmethod
    def _avg_std(hist, hist_edges, power=1):
        """The mean and the deviation of the values in the middle of the bins, to a power that keeps their signs."""
        if power <= 0:
            raise ValueError(f"expected a positive power, found {power}")
        middles, total = (hist_edges[:-1] + hist_edges[1:]) * 0.5, hist.sum()
        if int(power) != power or int(power) % 2 == 0:
            middles = np.sign(middles) * np.abs(middles) ** power
        elif power != 1:
            middles = middles ** power
        mean = (hist * middles).sum() / total
        if power != 1 and int(power) == power and int(power) % 2 == 1:
            variance = (hist * (middles - mean) ** 2).sum() / total
        else:
            variance = (hist * middles ** 2).sum() / total - mean ** 2
        deviation = max(variance, 0) ** 0.5  # rounding leaves less than 0 for values that are all the same
        return np.array(mean, dtype=hist_edges.dtype), np.array(deviation, dtype=hist_edges.dtype)

    def get_entropy_threshold(self, histogram, num_quantized_bins):
        """The ends of the middle part of a histogram that differs least from itself in `num_quantized_bins` bins."""
        hist, edges = histogram[:2]
        middle, half = hist.size // 2, num_quantized_bins // 2
        if middle < half:
            raise ValueError(f"expected at least as many bins as quantized bins, found {hist.size} and "
                             f"{num_quantized_bins}")
        ends = [(middle - reach, min(middle + reach + 1, hist.size)) for reach in range(half, middle + 1)]
        sums = np.concatenate(([0], np.cumsum(hist)))
        lost = [_divergence(hist, sums, *pair, num_quantized_bins, edges.dtype) for pair in ends]
        start, end = ends[int(np.argmin(np.array(lost, np.float64)))]
        return _inside((edges[start], edges[end]), histogram)


def _inside(ends, histogram):
    """The ends in the tensor's type, but none beyond the values that there were."""
    lowest, highest = (np.asarray(end) for end in histogram[2:4])
    low, high = (np.array(end, dtype=lowest.dtype) for end in ends)
    return lowest if low < lowest else low, highest if high > highest else high


def _plot(hist, edges):
    if os.environ.get("QUANTIZATION_DEBUG") == "1":
        apply_plot(hist, edges)


def _divergence(hist, sums, start, end, count, dtype):
    """How much the bins from `start` to `end`, with those outside put into the first and the last, tell that they do
    not once they are merged into `count` (Kullback and Leibler)."""
    part, width = hist[start:end], (end - start) // count
    whole = part.copy()
    whole[0] += sums[start]
    whole[-1] += sums[-1] - sums[end]
    merged = part[:count * width].reshape(count, width).sum(axis=1)
    merged[-1] += part[count * width:].sum()
    filled = np.count_nonzero(whole[:count * width].reshape(count, width), axis=1)
    # Shares are whole numbers, rounded down, as in ONNX Runtime.
    shares = np.where(filled > 0, merged / np.maximum(filled, 1), 0).astype(np.int64)
    spread = np.zeros(part.size, np.int64)
    spread[:count * width] = np.repeat(shares, width)
    whole, spread = smooth_distribution(whole), smooth_distribution(spread)
    if whole is None or spread is None:
        return np.array(np.inf, dtype=dtype)
    return np.array(entropy(whole, spread), dtype=dtype)


def rel_entr(pk: np.ndarray, qk: np.ndarray) -> np.ndarray:
    """pk * log(pk / qk) of each element: zero where pk is, infinite where either is negative or only qk is zero."""
    terms = np.full(pk.shape, np.inf, dtype=pk.dtype)
    terms[(pk == 0) & (qk >= 0)] = 0
    inside = (pk > 0) & (qk > 0)
    terms[inside] = pk[inside] * np.log(pk[inside] / qk[inside])
    return terms


def entropy(pk: np.ndarray, qk: np.ndarray, base: float | None = None, axis: int = 0) -> np.ndarray:
    """The relative entropy of two distributions along an axis, in float32; they need not have the sum 1."""
    if base is not None and base <= 0:
        raise ValueError(f"expected a positive base, found {base}")
    pk, qk = (np.asarray(one).astype(np.float32) for one in (pk, qk))
    pk = pk / np.sum(pk, axis=axis, keepdims=True)
    pk, qk = np.broadcast_arrays(pk, qk)
    qk = qk / np.sum(qk, axis=axis, keepdims=True)
    total = np.sum(rel_entr(pk, qk), axis=axis)
    return (total if base is None else total / np.log(base)).astype(pk.dtype)
