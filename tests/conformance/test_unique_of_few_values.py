"""Unique of many elements of a narrow type, which a table finds, against NumPy."""
import numpy as np
import onnx.parser
import pytest
import sardonyx

TYPES = {"float16": np.float16, "int8": np.int8, "uint8": np.uint8, "int16": np.int16, "uint16": np.uint16,
         "bool": bool}


def expected(x, in_order):
    values, first, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    if in_order:
        order = np.argsort(first)
        inverse = np.argsort(order)[inverse]
        values, first, counts = values[order], first[order], counts[order]
    return values, first, inverse, counts


@pytest.mark.parametrize("size", [10, 5000, 100_000])
@pytest.mark.parametrize("is_sorted", [0, 1])
@pytest.mark.parametrize("name", TYPES)
def test_values_places_and_counts(name, is_sorted, size):
    model = onnx.parser.parse_model(f"""
        <ir_version: 8, opset_import: ["" : 17]> g ({name}[N] x) => ({name}[M] y, int64[M] a, int64[N] b, int64[M] c)
        {{ y, a, b, c = Unique<sorted = {is_sorted}>(x) }}""").SerializeToString()
    rng = np.random.default_rng(size)
    low, high = {"bool": (0, 2), "float16": (0, 1)}.get(name) or (np.iinfo(TYPES[name]).min, np.iinfo(TYPES[name]).max)
    x = rng.integers(low, high, size).astype(TYPES[name])
    if name == "float16":
        x = (rng.normal(size=size) * 50).astype(np.float16)
        x[::7], x[1::9], x[3], x[4] = np.nan, -0.0, np.inf, -np.inf
    results = sardonyx.InferenceSession(model).run(None, {"x": x})
    for result, want in zip(results, expected(x, not is_sorted)):
        np.testing.assert_array_equal(result, want)
