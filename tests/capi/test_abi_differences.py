"""Every function of the C interface, called with good and bad arguments, answers as ONNX Runtime's, or the page of
differences says why not."""
import os
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", ROOT / "build/release"))
sys.path.insert(0, str(ROOT / "tools/abi"))

import differences  # noqa: E402


@pytest.fixture(scope="module")
def survey():
    return differences.survey(BUILD)


def test_every_function_of_every_table_is_called(survey):
    called = {call.split(" ")[0] for call in survey[2]}
    for struct, table in (("OrtApi", "ort_api"), ("OrtModelEditorApi", "ort_model_editor_api"),
                          ("OrtCompileApi", "ort_compile_api"), ("OrtInteropApi", "ort_interop_api"),
                          ("OrtEpApi", "ort_ep_api"), ("OrtModelPackageApi", "ort_model_package_api")):
        rows = (ROOT / f"tools/abi/{table}.tsv").read_text().splitlines()[1:]
        assert {f"{struct}.{row.split(chr(9))[1]}" for row in rows} - called == set()
    assert len(survey[2]) > 2000


def test_what_differs_has_a_reason_and_no_success_fails(survey):
    assert survey[0] == []


def test_the_page_is_up_to_date(survey):
    assert differences.PAGE.read_text() == survey[1], "run tools/abi/differences.py --update"


@pytest.mark.parametrize(("theirs", "ours", "wrong"), [
    ("status 2", "status 2", None),
    ("crashes", "status 2", None),
    ("status 0 out set", "status 2", "no reason"),
    ("status 2", "crashes", "Sardonyx crashes"),
    ("status 2", "status 3", "no reason"),
])
def test_the_comparison_notices(theirs, ours, wrong):
    call = "OrtApi.NoSuchFunction good"
    problems = [text for text in differences.compare({call: theirs}, {call: ours})[1] if call in text]
    assert (problems == []) if wrong is None else any(wrong in text for text in problems)


def test_a_success_that_fails_needs_more_than_a_reason(monkeypatch):
    call = "OrtApi.NoSuchFunction good"
    monkeypatch.setattr(differences, "reasons", lambda: [[r"OrtApi\.NoSuchFunction .*", "", "a reason"]])
    assert "succeeds in ONNX Runtime" in differences.compare({call: "status 0"}, {call: "status 1"})[1][0]
