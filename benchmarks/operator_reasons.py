"""benchmarks/operator_reasons.py - why rows of benchmarks/operators.py stay below the floor, where that is known.

The first pattern that a row's name matches counts; a row that none matches has no known reason and is work to do.
"""
import re

REASONS = [
    (r"^CumSum middle axis float", "sums are held in double; ONNX Runtime adds in float"),
    (r"^(Col2Im 3x3|MaxPool with indices) \w+ 1e3", "rows of 7 elements, shorter than a vector"),
    (r"^DeformConv", "the pixels of its points are read one by one, as those of GridSample were"),
    (r"^Conv 3-32 112", "sums of 27 terms: moving the image in and out takes as long as they do"),
    (r"^Erf float 1e7", "both forms are computed for each element, near 0 and the tail"),
]


def reason(name):
    return next((text for pattern, text in REASONS if re.search(pattern, name)), "no known reason")
