"""Python: NVIDIA's modelopt, which puts parts of its own into onnxruntime.quantization's classes."""
import shutil

from client import PROGRAMS, STOCK_VERSION, compare_printed, make_venv

NAME = "nvidia-modelopt"
VERSION = "0.29.0"
KIND = "package"
RUNS = "a model in int8 with two methods of calibration and two choices of operators, and what it computes, as on stock"


def install(place):
    make_venv(place, f"onnxruntime=={STOCK_VERSION}", f"nvidia-modelopt=={VERSION}", "onnx==1.18.0",
              "onnx-graphsurgeon==0.6.1", "onnxconverter-common==1.16.0", "onnxsim==0.8.1", "onnxscript==0.6.2")


def run(place, side):
    written = place / side.name
    shutil.rmtree(written, ignore_errors=True)
    written.mkdir()
    return compare_printed(place, side, place / "venv/bin/python", "-W", "ignore",
                           PROGRAMS / "tools/modelopt_program.py", written, cwd=written, tolerance=5e-3)
