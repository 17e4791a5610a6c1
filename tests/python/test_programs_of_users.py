"""Small programs print the same with the package `onnxruntime` as with ONNX Runtime; each package in a process of its
own."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", HERE.parents[1] / "build/release")).resolve()


def printed(folder, path):
    variables = {key: text for key, text in os.environ.items() if key not in ("PYTHONPATH", "SDX_BUILD")}
    target = folder / "printed.json"
    done = subprocess.run([sys.executable, HERE / "programs_of_users.py", target],
                          env=variables | ({"PYTHONPATH": str(path)} if path else {}), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(target.read_text())


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    theirs = printed(tmp_path_factory.mktemp("theirs"), None)
    ours = printed(tmp_path_factory.mktemp("ours"), BUILD / "as_onnxruntime")
    assert (BUILD / "as_onnxruntime").as_posix() in ours["package"]
    assert "site-packages" in theirs["package"]
    return theirs["printed"], ours["printed"]


def test_the_programs_print_the_same(both):
    theirs, ours = both
    assert len(theirs) > 30
    for name, lines in theirs.items():
        assert ours[name] == lines, name


def test_the_programs_reach_their_ends(both):
    assert [(name, lines[-1]) for name, lines in both[0].items() if lines[-1].startswith("ends with ")] == []
