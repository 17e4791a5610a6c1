"""The figures in benchmarks/results are complete, and the page of charts shows them."""
import json
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))
import bench_page  # noqa: E402
import kept_results  # noqa: E402

FILES = sorted((ROOT / "benchmarks/results").glob("*.json"))
MEASURED = {"latency_ms": {"sardonyx": 2.0, "onnxruntime": 3.0}, "speed": [1.4, 1.5, 1.6], "error": 1e-6,
            "openvino": [0.7, 0.8, 0.9], "start_ms": {"sardonyx": 10.0, "onnxruntime": 25.0}}
PROCESS = {"sardonyx": 20.0, "onnxruntime": 50.0, "sardonyx import": 10.0, "onnxruntime import": 40.0}
MACHINE = {"cpu": {"model": "some CPU", "cores": 2, "flags": ["avx2", "fma"]}, "versions": {"onnxruntime": "1.31.1"},
           "ceilings": {"fma f32 avx2": {"unit": "GFLOP/s", "1": 100.0, "2": None}}}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_names_its_machine_and_what_it_measured(path):
    kept = json.loads(path.read_text())
    assert path.stem == f"{kept_results.isa(kept['machine'])}_{kept['date']}"
    assert kept["machine"]["note"] and kept["machine"]["versions"]["onnxruntime"] and kept["machine"]["ceilings"]
    assert len(kept["models"]) > 10
    assert path.name in (ROOT / "docs/benchmarks.md").read_text()


def test_there_are_files():
    assert FILES


def test_short_figures_are_ratios_of_a_peer_to_ours(tmp_path):
    row = {"name": "a<b", "family": "cnn", "threads": {2: MEASURED}, "peak_mb": {"sardonyx": 50, "onnxruntime": 60},
           "process_ms": PROCESS}
    failed = {"name": "broken", "family": "cnn", "threads": {}, "failure": "no answer"}
    kept = kept_results.shortened(MACHINE, [row, failed], [], "alone")
    assert kept["models"] == {"a<b": {"family": "cnn", "peak": 1.2, "process": 2.5, "threads": {
        "2": {"ms": 2.0, "onnxruntime": 1.5, "openvino": 0.8, "start": 2.5, "error": 1e-6}}}}
    path = kept_results.write(kept, tmp_path)
    assert path.name == f"avx2_{kept['date']}.json" and json.loads(path.read_text()) == kept
    page = bench_page.page(kept)
    assert "a&lt;b" in page and "a<b" not in page
    assert "the better peer of each model 0.80" in page and "class=behind" in page
