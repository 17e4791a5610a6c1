"""benchmarks/operator_reasons.py - why rows of benchmarks/operators.py stay below the floor, where that is known.

The first pattern that a row's name matches counts; a row that none matches has no known reason and is work to do.
"""
import re

REASONS = [
    (r"^CumSum (middle|first) axis float", "sums are held in double; ONNX Runtime adds in float"),
]


def reason(name):
    return next((text for pattern, text in REASONS if re.search(pattern, name)), "no known reason")
