"""Released programs of the test environment, which carry their models: first on ONNX Runtime, then on Sardonyx.

The other clients need an installation of their own each: `make test-clients` runs them."""
import importlib.util
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]



def module(path):
    """Loaded by its path: a folder of programs named like the packages that they run must not come before these."""
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_{path.stem}", path)
    loaded = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


client = module(ROOT / "tests/clients/client.py")
# Program, how many results it prints, its arguments.
PROGRAMS = [("magika", 15, []), ("onnx_asr", 58, []), ("rapidocr", 5, ["4"]), ("swift_f0", 25, [])]


@pytest.mark.parametrize(("name", "count", "arguments"), PROGRAMS, ids=[row[0] for row in PROGRAMS])
def test_a_released_program_gives_the_same(name, count, arguments, tmp_path):
    program = [sys.executable, "-W", "ignore", client.HERE / f"programs/python/{name}_program.py", *arguments]
    sides = (client.Side("stock", None, None, tmp_path / "stock.log"),
             client.Side("ours", client.BUILD / "lib/libonnxruntime.so.1", client.BUILD / "as_onnxruntime",
                         tmp_path / "ours.log"))
    stock, ours = (client.compare_printed(tmp_path, side, *program, cwd=tmp_path, timeout=300) for side in sides)
    assert len(stock) == count
    assert [test for test in stock if ours[test] != client.PASSED] == [], (tmp_path / "ours.log").read_text()
    assert [(side.name, side.wrong_files()) for side in sides] == [("stock", []), ("ours", [])]


def test_a_program_that_maps_the_other_runtime_is_found(tmp_path):
    side = client.Side("ours", None, None, tmp_path / "log")  # without our package: this is ONNX Runtime's
    side.run(sys.executable, "-c", "import onnxruntime, time; time.sleep(1)", check=True)
    assert any("onnxruntime_pybind11_state" in path for path in side.wrong_files())
    assert side.wrong_files()[-1] == "(none of its own)"
