"""The schema table in the tree is what tools/schema/generate.py writes today."""
import filecmp
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = ["schema_table.inc", "schema_functions.inc"]


def test_committed_tables_equal_generated_ones(tmp_path):
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    run = subprocess.run([sys.executable, ROOT / "tools/schema/generate.py", "--out", tmp_path],
                         capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    _, different, missing = filecmp.cmpfiles(ROOT / "src/ops/schema", tmp_path, FILES, shallow=False)
    assert not different and not missing, f"run tools/schema/generate.py: {different + missing} changed"
