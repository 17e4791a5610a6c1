"""benchmarks/operator_reasons.py - why rows of benchmarks/operators.py stay below the floor, where that is known.

The first pattern that a row's name matches counts; a row that none matches has no known reason and is work to do.
"""
import re

REASONS = [
    (r"^CumSum (middle|first) axis float", "sums are held in double; ONNX Runtime adds in float"),
    (r"^CumSum first axis int64", "each row waits for the one before it, which the cache no longer has"),
    (r"^(Col2Im 3x3|MaxPool with indices) \w+ 1e3", "rows of 7 elements, shorter than a vector"),
    (r"^DeformConv", "the pixels of its points are read one by one, as those of GridSample were"),
    (r"^Conv 3-32 112", "sums of 27 terms: moving the image in and out takes as long as they do"),
    (r"^BatchNormalization double", "one pass over memory, which changes from run to run by a third, in both"),
    (r"^(A(cos|sin|tan)h?|Cosh?|Sinh?|Tanh?|Exp|Log|Erf|Gelu|Mish|Sigmoid|Softplus|Pow|Elu|Selu"
     r"|Celu) ", "computes for longer than one core's memory takes"),
    (r"^(Mod|(Div|Shrink) int)", "divides or chooses element by element: no vector instruction does"),
    (r" float16 1e7", "halves are widened to float and rounded back on the way"),
]


def reason(name):
    return next((text for pattern, text in REASONS if re.search(pattern, name)), "no known reason")
