"""Python: onnxruntime-extensions, a library of custom operators for text, images and sound, registered by its path."""
from client import PROGRAMS, STOCK_VERSION, line_results, make_venv

NAME = "Python: onnxruntime-extensions"
VERSION = "0.15.2"
KIND = "package"
RUNS = "a program that runs its tokenizers, its operators on strings, images and sound, and operators written in Python"


def install(place):
    make_venv(place, f"onnxruntime-extensions=={VERSION}", f"onnxruntime=={STOCK_VERSION}", "onnx==1.23.2",
              "pillow==13.0.0")


def run(place, side):
    return line_results(side.run(place / "venv/bin/python", PROGRAMS / "tools/extensions.py", cwd=place))
