"""Released models with their own programs do at 8 bits what they do with floats (int8_tasks.py)."""
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = pathlib.Path(__file__).with_name("int8_tasks.py")


def figures(task, *arguments):
    paths = os.pathsep.join([str(ROOT / "build/release/python"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run([sys.executable, "-W", "ignore", SCRIPT, task, *arguments], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": paths}, timeout=300)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_magika_labels_files_as_before():
    (row,) = figures("magika", "--files", "300", "--forms", "QDQ")
    assert row["same"] >= 0.98 * row["of"] and row["labels"] >= 5 and row["smaller"] > 3.3, row


def test_rapidocr_reads_the_images_of_the_demo():
    (row,) = figures("rapidocr", "--forms", "QDQ")
    assert row["same"] == row["of"] == 3 and row["read"] == row["characters"] and row["smaller"] > 3.3, row


def test_silero_hears_the_same_segments():
    rows = figures("silero", "--forms", "QDQ", "dynamic")
    assert {row["task"] for row in rows} == {"silero_vad_openvino_16k", "silero_vad"}
    for row in rows:
        assert row["found"] == row["segments"] and len(row["segments"]) == 2, row
        assert row["largest difference"] < 0.2 and row["frames decided alike"] >= row["of"] - 1, row
