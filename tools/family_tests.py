#!/usr/bin/env python3
"""Runs the unit tests beside a source file or in a folder of src/, for quick checks after a change of an operator.

A file stands for its folder: src/ops/math/softmax.cpp runs the tests of src/ops/math.

usage: tools/family_tests.py src/ops/math/softmax.cpp | src/ops/math | ops/math
"""
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARY = ROOT / "build/release/bin/unit_tests"


def suites(binary, folder):
    """The test suites whose sources lie in src/<folder> or below it."""
    with tempfile.TemporaryDirectory() as place:
        report = pathlib.Path(place) / "list.xml"
        subprocess.run([binary, "--gtest_list_tests", f"--gtest_output=xml:{report}"], check=True, capture_output=True)
        return sorted({suite.get("name") for suite in ElementTree.parse(report).getroot().iter("testsuite")
                       if any(f"src/{folder}/" in case.get("file", "") for case in suite.iter("testcase"))})


def folder_of(name):
    path = name.removeprefix("src/").rstrip("/")
    if (ROOT / "src" / path).is_file():
        path = path.rpartition("/")[0]
    if not (ROOT / "src" / path).is_dir() or not path:
        sys.exit(f"family_tests: expected a file or folder of src/, found '{name}'")
    return path


def main():
    if len(sys.argv) != 2 or not sys.argv[1]:
        sys.exit("family_tests: expected one file or folder, as in `make check OF=src/ops/math/softmax.cpp`")
    folder = folder_of(sys.argv[1])
    found = suites(BINARY, folder)
    if not found:
        sys.exit(f"family_tests: no unit test lies in src/{folder}")
    wanted = ":".join(f"{name}.*" for name in found)
    sys.exit(subprocess.run([BINARY, "--gtest_brief=1", f"--gtest_filter={wanted}"], cwd=ROOT).returncode)


if __name__ == "__main__":
    main()
