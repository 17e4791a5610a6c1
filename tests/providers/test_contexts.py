"""Models that hold what a plug-in's provider has compiled: written and read by Sardonyx, and by ONNX Runtime."""
import os
import pathlib
import subprocess
import sys

import onnx.parser
import pytest

HERE = pathlib.Path(__file__).parent
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", HERE.parents[1] / "build/release"))
PLUGIN = BUILD / "lib/libtest_provider_plugin.so"
# That of plugin_cases.py.
MODEL = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[N, 4] x) => (float[N, 4] y) <float[4] w = {1, 2, 3, 4}> {
  a = Mul (x, w)
  b = Add (a, x)
  c = Relu (b)
  d = Tanh (c)
  e = Add (d, d)
  y = Neg (e)
}"""
CASES = ["embedded", "beside", "two_models", "places", "nothing_compiled", "without_the_provider", "again",
         "no_compiling", "faults", "entries", "suboptimal", "weightless", "functions"]


def run(case, path, *arguments):
    environment = {**os.environ, "PYTHONPATH": str(path)}
    done = subprocess.run([sys.executable, HERE / "context_cases.py", case, PLUGIN, *arguments], env=environment,
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stdout.endswith("passed\n"), done.stdout + done.stderr


@pytest.mark.parametrize("case", CASES)
def test_in_sardonyx(case):
    run(case, BUILD / "as_onnxruntime")


@pytest.mark.parametrize("case", CASES)
def test_in_onnx_runtime(case):
    run(case, "")


def peer():
    import onnxruntime
    (library,) = pathlib.Path(onnxruntime.__file__).parent.glob("capi/libonnxruntime.so.1*")
    return library


def compile_with(library, folder):
    folder.mkdir()
    (folder / "model.onnx").write_bytes(onnx.parser.parse_model(MODEL).SerializeToString())
    done = subprocess.run([BUILD / "bin/compile_contexts", library, PLUGIN, folder], capture_output=True, text=True,
                          timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def test_the_compile_api_does_as_onnx_runtime(tmp_path):
    ours = compile_with(BUILD / "lib/libsardonyx.so", tmp_path / "ours")
    theirs = compile_with(peer(), tmp_path / "theirs")
    assert ours == theirs
    # A compiled model runs: with its data in it, beside it, from the caller, compiled again, without need of them.
    assert len({line for line in ours if line.startswith("y = ")}) == 1
    assert sum(line.startswith("y = ") for line in ours) == 12, ours


def test_each_runs_what_the_other_compiles(tmp_path):
    compile_with(BUILD / "lib/libsardonyx.so", tmp_path / "ours")
    compile_with(peer(), tmp_path / "theirs")
    run("load", "", tmp_path / "ours")
    run("load", BUILD / "as_onnxruntime", tmp_path / "theirs")
