"""A plug-in with an execution provider, loaded into Sardonyx, and the same library into ONNX Runtime."""
import os
import pathlib
import subprocess
import sys

import onnx.parser
import pytest

HERE = pathlib.Path(__file__).parent
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", HERE.parents[1] / "build/release"))
LIBRARY = BUILD / "lib/libtest_provider_plugin.so"
CASES = ["devices", "stream", "compiled", "options", "bodies", "card", "kernels", "lifetimes", "misuse", "faults",
         "other_faults",
         "refusal", "selection", "dynamic_options", "shapes",
         "custom_operators", "layout", "control_flow", "control_flow_on_a_card",
         "compiled_branches", "packed_weights", "claims"]
# In ONNX Runtime a library may be unregistered while it is in use, and errors are put in other words.
# A kernel that makes another shape than its operator says ends its runs, where that shares memory with others.
# Nodes of a body get memory of the host there, if its loop runs on the CPU.
OURS_ALONE = {"lifetimes", "misuse", "faults", "other_faults", "shapes", "control_flow_on_a_card"}


def run(case, path):
    environment = {**os.environ, "PYTHONPATH": str(path)}
    done = subprocess.run([sys.executable, HERE / "plugin_cases.py", case, LIBRARY], env=environment,
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stdout.endswith("passed\n"), done.stdout + done.stderr


@pytest.mark.parametrize("case", CASES)
def test_in_sardonyx(case):
    run(case, BUILD / "as_onnxruntime")


@pytest.mark.parametrize("case", [case for case in CASES if case not in OURS_ALONE])
def test_in_onnx_runtime(case):
    run(case, "")


def peer():
    import onnxruntime
    (library,) = pathlib.Path(onnxruntime.__file__).parent.glob("capi/libonnxruntime.so.1*")
    return library


def share_weights(library, folder):
    text = """<ir_version: 8, opset_import: ["" : 12]>
    g (float[N, 4] x) => (float[N, 4] y)
    <float[4] u = {1, 2, 3, 4}, float[4] v = {1, 2, 3, 4}, float[4] w = {2, 2, 2, 2}> {
      a = Mul (x, u)  b = Mul (a, v)  y = Mul (b, w)
    }"""
    path = folder / "model.onnx"
    path.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    done = subprocess.run([BUILD / "bin/share_weights", library, LIBRARY, path], capture_output=True, text=True,
                          timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def test_kernels_share_packed_weights(tmp_path):
    ours = share_weights(BUILD / "lib/libsardonyx.so", tmp_path)
    assert ours == ["a session alone: 3 packed by kernels, 0 places of shared weights",
                    "a session with the container: 6 packed by kernels, 2 places of shared weights",
                    "another one: 9 packed by kernels, 2 places of shared weights",
                    "without the first: 6 packed by kernels, 2 places of shared weights",
                    *["y = 2 16 54 128"] * 3]
    # ONNX Runtime shares within a session, and with others what the caller adds as a shared initializer alone.
    assert share_weights(peer(), tmp_path)[-3:] == ours[-3:]


def test_memory_and_streams_of_a_device():
    done = subprocess.run([sys.executable, HERE / "memory_cases.py", BUILD / "lib/libsardonyx.so", LIBRARY],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stdout.endswith("passed\n"), done.stdout + done.stderr
