"""Plug-ins built for the versions 22 to 31 of the interface: what their structs did not have is not looked at."""
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", HERE.parents[1] / "build/release")).resolve()
ALL = ("host", "card", "kernels", "card_kernels")


def told(path, first, last, kinds):
    library = BUILD / "lib/libtest_provider_plugin.so"
    command = [sys.executable, HERE / "version_cases.py", library, str(first), str(last), *kinds]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(path)}, capture_output=True,
                          text=True, timeout=120)
    assert done.returncode == 0 and done.stdout.endswith("end\n"), done.stdout + done.stderr
    return done.stdout.split("version ")[1:]


def test_each_version_runs():
    versions = told(BUILD / "as_onnxruntime", 22, 31, ALL)
    assert len(versions) == 10
    for version, text in enumerate(versions, start=22):
        assert text.startswith(f"{version}\n") and "error" not in text and "left [0, 0, 0, 0, 0]" in text, text
        # Version 23 brought claims, and compilers; version 24 kernels.
        ours = [line for line in text.splitlines() if line.startswith("assigned ") and "SdxTestProvider" in line]
        assert len(ours) == {22: 0, 23: 2}.get(version, 6), text


def test_both_runtimes_say_the_same():
    """ONNX Runtime calls functions that version 22 did not have, and has the card's kernels do copies, which these
    do not know how to."""
    shared = ALL[:3]
    assert told(BUILD / "as_onnxruntime", 23, 31, shared) == told("", 23, 31, shared)
