"""Dicts as inputs: what becomes of keys and values, and what the package `onnxruntime` refuses as its peer does."""
import numpy as np
import onnx.parser
import onnxruntime
import pytest
import sardonyx
from test_as_onnxruntime import run


def model(key, value, vocabulary):
    kind = "string_vocabulary" if key == "string" else "int64_vocabulary"
    return onnx.parser.parse_model(f"""
<ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 1]>
g (map({key}, {value}) x) => ({value}[N, C] y) {{ [vectors] y = ai.onnx.ml.DictVectorizer <{kind} = {vocabulary}> (x) }}
""").SerializeToString()


FLOATS = model("string", "float", '["a", "b", "c"]')
INTEGERS = model("string", "int64", '["a", "b", "c"]')
TEXTS = model("int64", "string", "[1, 2]")


@pytest.mark.parametrize(("text", "feed", "expected"), [
    (FLOATS, {"a": 1, "c": 2.5}, [[1, 0, 2.5]]), (FLOATS, {"b": np.array(3, np.int64)}, [[0, 3, 0]]),
    (FLOATS, {"b": True}, [[0, 1, 0]]), (INTEGERS, {"b": 2**60 + 1}, [[0, 2**60 + 1, 0]]),
    (INTEGERS, {"b": np.array(3, np.uint8)}, [[0, 3, 0]]), (INTEGERS, {}, [[0, 0, 0]]),
    (TEXTS, {2: "two", np.int32(1): ""}, [["", "two"]]),
])
def test_values_are_taken_as_the_model_declares_them(text, feed, expected):
    assert sardonyx.InferenceSession(text).run(None, {"x": feed})[0].tolist() == expected


@pytest.mark.parametrize(("text", "feed", "message"), [
    (FLOATS, {"a": "1.5"}, "map: expected values that are numbers, found elements of dtype <U3"),
    (INTEGERS, {"a": 1.5}, "map: expected values that are whole numbers, found elements of dtype float64"),
    (INTEGERS, {"a": "1"}, "map: expected values that are whole numbers, found elements of dtype <U1"),
    (INTEGERS, {"a": 2**70}, "map: expected values that are whole numbers, found elements of dtype object"),
    (FLOATS, {1: 1.5}, "map: expected keys that are texts, found elements of dtype int64"),
    (TEXTS, {1: 1}, "map: expected values that are texts, found elements of dtype int64"),
    (TEXTS, {1.5: "one"}, "map: expected keys that are whole numbers, found elements of dtype float64"),
])
def test_other_values_are_errors_and_not_converted(text, feed, message):
    with pytest.raises(sardonyx.InvalidArgument, match=f"input 'x': {message}"):
        sardonyx.InferenceSession(text).run(None, {"x": feed})


def test_under_the_peers_name_a_dict_is_a_map_to_floats_as_it_is_there():
    with pytest.raises(Exception, match="Unexpected input data type"):
        onnxruntime.InferenceSession(INTEGERS).run(None, {"x": {"a": 1}})
    output = run(f"""
import onnxruntime
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument
print(onnxruntime.InferenceSession({FLOATS!r}).run(None, {{"x": {{"a": 1, "c": 2.5}}}})[0].tolist())
for session in (onnxruntime.InferenceSession({INTEGERS!r}), onnxruntime.InferenceSession({INTEGERS!r})._sess):
    try:
        session.run(None, {{"x": {{"a": 1}}}})
    except InvalidArgument as failure:
        print(failure)
""")
    first, *rest = output.splitlines()
    assert first == "[[1.0, 0.0, 2.5]]" and len(rest) == 2
    assert all("input 'x': expected a value of type map(string,tensor(int64)), found a dict" in line for line in rest)
