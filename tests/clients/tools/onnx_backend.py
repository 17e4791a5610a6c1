"""Python: the tests that the package `onnx` has for backends, run on `onnxruntime.backend`."""
from client import PROGRAMS, STOCK_VERSION, line_results, make_venv

NAME = "onnx: its tests of backends"
VERSION = "1.23.2"
KIND = "package"
RUNS = "the tests of operators and of small models that the package carries, through onnxruntime.backend"


def install(place):
    make_venv(place, f"onnxruntime=={STOCK_VERSION}", f"onnx=={VERSION}", "ml_dtypes", "pillow", "parameterized")


def run(place, side):
    return line_results(side.run(place / "venv/bin/python", PROGRAMS / "tools/onnx_backend_program.py", cwd=place,
                                 timeout=900))
