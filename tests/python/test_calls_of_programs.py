"""The package `onnxruntime` answers the calls that released programs make as ONNX Runtime's does, in value or class of
exception; each package in a process of its own."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", HERE.parents[1] / "build/release")).resolve()


def outcomes(folder, path):
    variables = {key: text for key, text in os.environ.items() if key not in ("PYTHONPATH", "SDX_BUILD")}
    target = folder / "outcomes.json"
    done = subprocess.run([sys.executable, HERE / "calls_of_programs.py", target],
                          env=variables | ({"PYTHONPATH": str(path)} if path else {}), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(target.read_text())


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    theirs = outcomes(tmp_path_factory.mktemp("theirs"), None)
    ours = outcomes(tmp_path_factory.mktemp("ours"), BUILD / "as_onnxruntime")
    assert (BUILD / "as_onnxruntime").as_posix() in ours["package"]
    assert "site-packages" in theirs["package"]
    return theirs["outcomes"], ours["outcomes"], theirs["mistakes"], ours["mistakes"]


def test_the_calls_have_the_same_outcome(both):
    theirs, ours, *_ = both
    assert [pair for pair in zip(theirs, ours, strict=True) if pair[0] != pair[1]] == []


def test_mistakes_end_as_the_page_says(both):
    rows = [line.split("\t") for line in (HERE.parents[1] / "tools/python_mistakes.tsv").read_text().splitlines()[1:]]
    for (call, at_theirs, at_ours, _), theirs, ours in zip(rows, *both[2:], strict=True):
        assert theirs.startswith(at_theirs) and ours.startswith(at_ours), (call, theirs, ours)


def test_the_calls_mean_what_they_should(both):
    given = [text for _, text in both[0] if text.startswith("gives ")]
    raised = {text for _, text in both[0] if text.startswith("raises ")}
    assert len(given) > 80
    assert len(raised) > 6
    assert "raises NameError" not in raised  # a slip in the list of calls would be the same on both sides
