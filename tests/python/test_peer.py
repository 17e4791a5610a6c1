"""No test and no benchmark compares Sardonyx with itself: what compares asks for ONNX Runtime first."""
import os
import pathlib
import re
import subprocess
import sys

import peer
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", ROOT / "build/release"))
IMPORTS = re.compile(r"^ *(import onnxruntime|from onnxruntime|.*__import__\(|.*import_module\(job)", re.M)


def require(*folders, before=""):
    path = os.pathsep.join(map(str, [*folders, ROOT / "tools", BUILD / "python"]))
    return subprocess.run([sys.executable, "-c", f"{before}\nimport peer; peer.require(); print('there')"],
                          env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True)


def test_the_installed_package_is_accepted():
    peer.require()
    assert require().stdout == "there\n"
    assert require(before="import onnxruntime").stdout == "there\n"


STAND_IN = "import sardonyx, sys; sys.modules['onnxruntime'] = sardonyx"


@pytest.mark.parametrize("before", ["", "import onnxruntime", STAND_IN])
def test_our_package_is_refused(before):
    done = require(BUILD / "as_onnxruntime", before=before)
    assert done.returncode and "expected ONNX Runtime, to compare with, found Sardonyx in " in done.stderr


def programs():
    """The benchmarks and the programs of tests that import ONNX Runtime; tests/conftest.py asks for pytest's own."""
    for path in [*(ROOT / "benchmarks").glob("*.py"), *(ROOT / "tests/zoo").glob("*.py")]:
        if IMPORTS.search(path.read_text()):
            yield pytest.param(path, id=path.relative_to(ROOT).as_posix())


@pytest.mark.parametrize("path", list(programs()))
def test_programs_that_compare_ask_for_it(path):
    assert "peer.require()" in path.read_text()


def test_programs_are_found():
    assert len(list(programs())) >= 10
