"""Ranges of all values of a model, from one pass over the data: its histograms give them by each method."""
import os
from pathlib import Path

import numpy as np

from sardonyx.quantization.calibrate import HistogramCollector, PercentileCalibrater, TensorsData, save_tensors_data
from sardonyx.quantization.calibration_data import CalibrationMethod

_BINS = 2048
_ENTROPY_BINS = 128
_PERCENTILE = 99.99


class _FiniteValues(HistogramCollector):
    """Passes over values that were infinite in some run, as masks are, and keeps their names."""

    infinite = ()

    def finish_stream(self):
        self.infinite = [name for name, (stream, _) in self._streams.items()
                         if stream.low <= stream.high and not np.isfinite([stream.low, stream.high]).all()]
        for name in self.infinite:
            del self._streams[name]
        super().finish_stream()


class Histograms:
    """`of[name]`: (counts, edges, smallest value, largest value, reach) of each value of floats that nodes of the
    operators `kinds` read or make; `infinite`: names of those that are not finite."""

    def __init__(self, path, kinds, reader, folder, is_large):
        calibrater = PercentileCalibrater(Path(path), list(kinds), os.path.join(folder, "watched.onnx"), is_large,
                                          num_bins=_BINS, symmetric=False)
        calibrater.augment_graph()
        calibrater.create_inference_session()
        calibrater.collector = _FiniteValues("percentile", False, _BINS, _BINS, _PERCENTILE, "same")
        calibrater.collect_data(reader)
        self.infinite = calibrater.collector.infinite
        self._folder, self._files = Path(folder), {}
        self.of = calibrater.collector.histogram_dict
        for left in self._folder.glob("watched.onnx*"):
            left.unlink()

    def ranges(self, method):
        """{name: (lowest, highest)} by "minmax", "percentile" or "entropy"."""
        return {name: self._range(one, method) for name, one in self.of.items()}

    def cache(self, method):
        """The file of these ranges, for quantize_static."""
        if method not in self._files:
            ranges = {name: tuple(np.float32(end) for end in ends) for name, ends in self.ranges(method).items()}
            self._files[method] = self._folder / f"ranges_{method}.json"
            save_tensors_data(TensorsData(CalibrationMethod.MinMax, ranges), self._files[method])
        return self._files[method]

    @staticmethod
    def _range(histogram, method):
        counts, edges, low, high, *_ = histogram
        if method == "minmax" or not counts.sum():
            return low, high
        if method == "entropy":
            width = counts.size // _ENTROPY_BINS
            used = width * _ENTROPY_BINS
            merged = counts[:used].reshape(_ENTROPY_BINS, width).sum(1), edges[:used + 1:width]
            collector = HistogramCollector("entropy", False, _ENTROPY_BINS, _ENTROPY_BINS, 0, "same")
            return collector.get_entropy_threshold((*merged, low, high), _ENTROPY_BINS)
        outside = (100 - _PERCENTILE) / 200
        share = np.cumsum(counts / counts.sum())
        last = edges.size - 1
        ends = (edges[min(np.searchsorted(share, outside, side="right"), last)],
                edges[min(np.searchsorted(share, 1 - outside) + 1, last)])
        return max(ends[0], low), min(ends[1], high)
