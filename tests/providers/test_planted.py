"""A fault in each function of a plug-in: each ends in one error that names it, and nothing is left. About eighty of
them end the process in ONNX Runtime."""
import os
import pathlib
import re
import subprocess
import sys

import pytest
from planted_rows import ROWS, UNUSED

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", ROOT / "build/release"))
STRUCTS = sorted({function.split("::")[0] if "::" in function else "library" for function in ROWS})


def run(case):
    done = subprocess.run([sys.executable, HERE / "planted_cases.py", case, BUILD / "lib/libsardonyx.so",
                           BUILD / "lib/libtest_faulty_plugin.so"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stdout.endswith("passed\n"), done.stdout + done.stderr


@pytest.mark.parametrize("struct", STRUCTS)
def test_each_function(struct):
    run("functions:" + struct)


@pytest.mark.parametrize("scene", ["card_crossing", "control_flow", "borders"])
def test_each_call(scene):
    run("calls:" + scene)


def test_no_function_of_the_headers_is_left_out():
    text = "".join((ROOT / "include" / name).read_text() for name in ("onnxruntime_c_api.h", "onnxruntime_ep_c_api.h"))
    functions = set()
    for struct in STRUCTS:
        if not struct.startswith("Ort"):
            continue
        [body] = re.findall(rf"^struct {struct} \{{(.*?)^\}};", text, re.MULTILINE | re.DOTALL)
        functions |= {f"{struct}::{name}" for name in re.findall(r"\(ORT_API_CALL \*(\w+)\)", body)}
    assert len(functions) > 90
    assert functions - ROWS.keys() == UNUSED.keys()
