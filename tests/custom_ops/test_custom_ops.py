"""Libraries of custom operators: one compiled library runs in ONNX Runtime and in Sardonyx, and does the same in both."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", ROOT / "build/release"))
LIBRARY = BUILD / "lib/libcustom_ops.so"
CASES = pathlib.Path(__file__).with_name("cases.py")

# Cases whose results differ on purpose, or that end ONNX Runtime's process: what Sardonyx does, and why.
OWN = {
    # An alias is a promise that the input's elements are there; ONNX Runtime leaves the others unset.
    "an_output_that_shares_its_bytes": [{"dtype": "float32", "shape": [3], "values": [100.0, 4.0, 9.0]}],
    # ONNX Runtime takes the first of several versions, whatever the model imports.
    "the_newest_version": [[1], [1], [3], [3]],
    # ONNX Runtime's copy refers to the session that is gone: reading it ends the process.
    "an_info_that_outlives_its_session": [1, "kept"],
    # Inputs of any type may be sequences; ONNX Runtime takes tensors alone.
    "a_sequence": [{"dtype": "int64", "shape": [], "values": [3]}],
    # ONNX Runtime reads fields that a struct of this version does not have.
    "structs_of_version_1": [{"dtype": "float32", "shape": [1], "values": [5.0]}],
    # ONNX Runtime refuses a domain that is there already.
    "registered_twice": [{"dtype": "float32", "shape": [1], "values": [2.0]}],
    "a_domain_that_is_not_imported": [{"dtype": "int64", "shape": [], "values": [3]}],
}


def found_by(name, cases=(), environment=None):
    done = subprocess.run([sys.executable, CASES, LIBRARY, name, *cases], capture_output=True, text=True, timeout=300,
                          env={**os.environ, **(environment or {})})
    found = {}
    for line in done.stdout.splitlines():
        told = json.loads(line)
        found[told["case"]] = told["found"]
    assert done.returncode == 0, (name, list(found)[-1:], done.stderr[-2000:])
    return found


def names():
    source = CASES.read_text()
    return [source[at:].split("def ", 1)[1].split("(", 1)[0]
            for at in (i for i in range(len(source)) if source.startswith("@case\ndef ", i))]


SHARED = [name for name in names() if name not in OWN]


@pytest.fixture(scope="module")
def stock():
    return found_by("onnxruntime", SHARED)


@pytest.fixture(scope="module")
def ours():
    return found_by("sardonyx", [*SHARED, *OWN], {"CUSTOM_OPS_OLDEST": "1"})


def test_the_peer_is_onnx_runtime():
    code = "import onnxruntime; print(onnxruntime.__file__, 'sardonyx' in dir(onnxruntime))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "site-packages" in done.stdout and "False" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("name", SHARED)
def test_the_library_does_the_same_in_both(stock, ours, name):
    assert json.dumps(ours[name]) == json.dumps(stock[name])


@pytest.mark.parametrize("name", OWN)
def test_what_differs_on_purpose(ours, name):
    assert ours[name] == OWN[name]
