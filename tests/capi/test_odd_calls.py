"""Calls that nobody should make, each in a process of its own (tests/capi/odd_calls): none ends the process, and none
that succeeds in ONNX Runtime's released library fails here."""
import os
import pathlib
import re
import subprocess

import onnx.parser
import onnxruntime
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", ROOT / "build/release"))
PROGRAMS = {"orders": 16, "callbacks": 65, "versions": 40}  # at least so many cases
MODELS = {
    "neg": "g (float[N] x) => (float[N] y) { y = Neg(x) }",
    "twice": "g (float[N] x) => (float[N] y) <float[1] w = {2}> { y = Mul(x, w) }",
    "custom": "g (float[N] x) => (float[N] y) { y = odd.Odd(x) }",
}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("odd")
    for name, text in MODELS.items():
        model = onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : 18, "odd" : 1]> {text}')
        (folder / f"{name}.onnx").write_bytes(model.SerializeToString())
    return folder


@pytest.fixture(scope="module")
def ours(models):
    """{program: ({case: what it said}, the errors)}"""
    return {program: results(program, BUILD / "lib/libsardonyx.so", models) for program in PROGRAMS}


def peer():
    (library,) = pathlib.Path(onnxruntime.__file__).parent.glob("capi/libonnxruntime.so.1*")
    return library


def results(program, library, models):
    """({case: what it said}, the errors)"""
    done = subprocess.run([BUILD / f"bin/odd_{program}", library, models], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-1000:]
    return dict(line.split(":", 1) for line in done.stdout.splitlines()), done.stderr


def steps(text):
    """[(call, code or number)] of a case"""
    return re.findall(r"(\S.*?) (-?\d+)(?= |$)", text.strip())


@pytest.mark.parametrize("program", PROGRAMS)
def test_nothing_ends_the_process(program, ours):
    found, said = ours[program]
    assert len(found) >= PROGRAMS[program]
    assert [case for case, text in found.items() if re.search("crash|not prepared", text)] == [], said[-2000:]


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_succeeds_in_onnx_runtime_succeeds(program, ours, models):
    mine, said = ours[program]
    theirs, _ = results(program, peer(), models)
    assert list(mine) == list(theirs)
    wrong = []
    for case, text in theirs.items():
        expected, found = steps(text), steps(mine[case])
        if "crash" in text or [name for name, _ in expected] != [name for name, _ in found]:
            # An error that comes earlier than ONNX Runtime's own, or its end.
            if "crash" not in text and expected[-1][1] == "0" and found[-1][1] != "0":
                wrong.append((case, text, mine[case]))
            continue
        wrong += [(case, theirs_step, ours_step) for theirs_step, ours_step in zip(expected, found, strict=True)
                  if theirs_step[1] == "0" and ours_step[1] != "0"]
    assert wrong == [], said[-2000:]
