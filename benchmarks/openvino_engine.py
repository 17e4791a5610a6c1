"""benchmarks/openvino_engine.py - OpenVINO's CPU device as a second peer: its installation, and its sessions.

It is installed into a folder of its own, which only the processes that measure have on their path: `make test` and the
package never see it. It computes in float32, because the engines beside it do, or else in its default precision, which
is bfloat16 on CPUs with AMX or AVX512-BF16.
"""
import importlib.util
import os
import pathlib
import subprocess
import sys

REQUIREMENT = "openvino==2026.4.1"
FOLDER = pathlib.Path(os.environ.get("SDX_OPENVINO", pathlib.Path(__file__).resolve().parent.parent / "build/openvino"))


def install():
    """The folder with OpenVINO, downloaded first if it is missing; None with a note where that fails."""
    if (FOLDER / "openvino/__init__.py").exists():
        return FOLDER
    print(f"installing {REQUIREMENT} in {FOLDER} (once)", file=sys.stderr, flush=True)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps",
               "--target", str(FOLDER), REQUIREMENT]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        print(f"note: no OpenVINO to compare with: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return None
    return FOLDER


def present():
    return importlib.util.find_spec("openvino") is not None


class Session:
    """A model on OpenVINO's CPU device with the part of InferenceSession's interface that benchmarks use."""

    def __init__(self, path, threads, precision="f32"):
        """precision: None for OpenVINO's default."""
        import openvino

        settings = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": 1}
        if precision:
            settings["INFERENCE_PRECISION_HINT"] = precision
        self.model = openvino.Core().compile_model(str(path), "CPU", settings)
        self.request = self.model.create_infer_request()

    def run(self, _, feeds):
        """All outputs, as arrays of their own."""
        return list(self.request.infer(feeds, share_inputs=True, share_outputs=False).values())
