"""Python: nncf quantizes small networks, for which it runs them on the package `onnxruntime`."""
from client import PROGRAMS, STOCK_VERSION, compare_printed, make_venv

NAME = "nncf"
VERSION = "3.4.0"
KIND = "package"
RUNS = ("a network for pictures and one of attention in 8 bits, weights in 8 and 4, with accuracy control: the nodes, "
        "scales and numbers, compared with stock's")


def install(place):
    make_venv(place, f"onnxruntime=={STOCK_VERSION}", f"nncf=={VERSION}", "onnx==1.19.1")


def run(place, side):
    return compare_printed(place, side, place / "venv/bin/python", "-W", "ignore",
                           PROGRAMS / "tools/nncf_program.py", cwd=place, tolerance=5e-3)
