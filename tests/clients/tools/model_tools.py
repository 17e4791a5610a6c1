"""Python: tools that make, change and compare models, and two small programs whose packages carry their models."""
from client import PROGRAMS, STOCK_VERSION, compare_printed, make_venv

NAME = "onnxscript, polygraphy, onnxslim, graphsurgeon, spox, ndonnx, pyopenjtalk-plus, rapidocr-onnxruntime"
VERSION = "0.7.2, 0.53.6, 0.1.98, 0.6.1, 0.18.2, 0.23.0, 0.4.1.post10, 1.4.4"
KIND = "package"
RUNS = "models that they run, check, fold and evaluate; sounds of words, a picture; compared with stock's"


def install(place):
    make_venv(place, f"onnxruntime=={STOCK_VERSION}", "onnxscript==0.7.2", "polygraphy==0.53.6", "onnxslim==0.1.98",
              "onnx-graphsurgeon==0.6.1", "spox==0.18.2", "ndonnx==0.23.0", "pyopenjtalk-plus==0.4.1.post10",
              "rapidocr-onnxruntime==1.4.4")


def run(place, side):
    return compare_printed(place, side, place / "venv/bin/python", "-W", "ignore",
                           PROGRAMS / "tools/model_tools_program.py", cwd=place)
