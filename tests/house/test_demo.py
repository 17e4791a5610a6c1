"""`make demo` as a newcomer runs it: in .venv, without ONNX Runtime, on the tree's files and on other input."""
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venv/bin/python"


def demo(*arguments):
    done = subprocess.run([PYTHON, ROOT / "demo/demo.py", *arguments], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_there_is_no_onnx_runtime_in_venv():
    done = subprocess.run([PYTHON, "-c", "import onnxruntime"], capture_output=True, text=True)
    assert "ModuleNotFoundError" in done.stderr


def test_the_demo_identifies_files_and_reads_text():
    output = demo()
    assert re.search(r"tools/setup.py +python \(Python source\), (9\d|100)\.\d % sure", output)
    assert re.search(r"src/base/error.h +cpp \(C\+\+ source\)", output)
    assert "Invoice 4711: 3 x 19.90 = 59.70 EUR" in output
    read, drawn = map(int, re.search(r"(\d+) of the (\d+) characters drawn were read", output).groups())
    assert read >= 0.95 * drawn
    assert len(re.findall(r"\d+\.\d\d ms", output)) == 4  # Magika, detection, direction, recognition


def test_the_demo_takes_the_users_text_and_files(tmp_path):
    script = tmp_path / "my file"
    script.write_text("#!/bin/bash\nset -e\nfor file in *.txt; do\n  echo \"$file\"\ndone\n")
    output = demo("--text", "It's 5 o'clock", str(script))
    assert "shell (Shell script)" in output
    assert "It's 5 o'clock" in output
