"""Python: tools that simplify and convert models and run them to see what has changed."""
from client import PROGRAMS, STOCK_VERSION, compare_printed, make_venv

NAME = "onnxconverter-common, onnxsim"
VERSION = "1.16.0, 0.8.1"
KIND = "package"
RUNS = "models made of mixed and half precision and simplified, and their results, compared with stock's"


def install(place):
    make_venv(place, f"onnxruntime=={STOCK_VERSION}", "onnxconverter-common==1.16.0", "onnxsim==0.8.1",
              "onnx==1.23.2")


def run(place, side):
    return compare_printed(place, side, place / "venv/bin/python", "-W", "ignore",
                           PROGRAMS / "tools/converters_program.py", cwd=place)
