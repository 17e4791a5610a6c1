"""Our package `onnxruntime` has every name of ONNX Runtime's; each difference has a reason, and the page lists it."""
import os
import pathlib

import pytest
import python_parity

BUILD = pathlib.Path(os.environ.get("SDX_BUILD", python_parity.ROOT / "build/release"))
STALE = "run `.venv-test/bin/python tools/python_parity.py --update`"


@pytest.fixture(scope="module")
def surveys():
    return python_parity.surveys_of_both(BUILD)


def test_every_difference_has_a_reason_and_every_reason_a_difference(surveys):
    differences, counts = python_parity.compare(*surveys)
    _, without_reason, without_difference = python_parity.explained(differences)
    assert {name: differences[name] for name in without_reason} == {} and without_difference == []
    assert sum(map(len, counts.values())) > 4000  # the survey has found the packages
    assert {name.split(".")[1] for name in counts if "." in name} >= {"capi", "quantization", "tools", "transformers"}


def test_the_page_is_up_to_date(surveys):
    assert python_parity.PAGE.read_text() == python_parity.page(*surveys), STALE


def test_the_survey_notices_what_is_missing_or_different(surveys):
    theirs, ours = surveys
    ours = dict(ours)
    collection, state = (f"onnxruntime.capi.onnxruntime_{name}" for name in ("inference_collection", "pybind11_state"))
    del ours[f"{collection}.IOBinding.bind_output"]
    ours["onnxruntime.__version__"] = {"kind": "value", "value": "1.30.0"}
    ours[f"{state}.OrtMemType.CPU_INPUT"] = {"kind": "value", "value": 7}
    ours[f"{collection}.OrtValue.numpy"] = {"kind": "attribute"}
    ours[f"{collection}.OrtDevice.make"] = {"kind": "function", "parameters": [["name", None], ["device_id", None]]}
    found, _ = python_parity.compare(theirs, ours)
    before, _ = python_parity.compare(*surveys)
    new = {name.removeprefix("onnxruntime.capi.onnxruntime_"): found[name][0] for name in set(found) - set(before)}
    assert new == {
        "inference_collection.IOBinding.bind_output": "missing", "onnxruntime.__version__": "value",
        "pybind11_state.OrtMemType.CPU_INPUT": "value", "inference_collection.OrtValue.numpy": "kind",
        "inference_collection.OrtDevice.make": "parameters"}


@pytest.mark.parametrize(("theirs", "ours", "equal"), [
    ([["a", None], ["b", "0"]], [["a", None], ["b", "0"]], True),
    ([["a", None], ["b", "0"]], [["a", None], ["b", "1"]], False),
    ([["a", None]], [["b", None]], False),
    ([["a", None]], [["a", None], ["b", "1"]], False),
    ([[None, None]], [["b", None]], True),
    ([[None, None]], [["b", "0"]], True),
    ([[None, None]], [["b", None], ["c", "0"]], True),
    ([[None, None]], [["b", None], ["c", None]], False),
    ([[None, None], [None, None]], [["b", None]], False),
    (None, [["b", None]], True),
])
def test_parameters_are_compared(theirs, ours, equal):
    assert (python_parity.parameters_differ(theirs, ours) == "") == equal


def test_parameters_are_read_from_docstrings():
    def compiled(text):
        function = type("Compiled", (), {"__doc__": text})()
        return python_parity.parameters_from_text(function)

    assert compiled("f(self: m.C, arg0: str, arg1: dict[str, int]) -> None") == [[None, None], [None, None]]
    two = compiled("f(size: a.B[int, str], other: int = 0) -> Callable[[int], None]")
    assert two == [["size", None], ["other", "0"]]
    assert compiled("f(arg0: std::vector<X, std::allocator<X> >) -> None") == [[None, None]]
    assert compiled("f() -> int") == []
    assert compiled("f(*args, **kwargs)") is None
