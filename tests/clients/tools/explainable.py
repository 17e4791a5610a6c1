"""Python: ebm2onnx writes boosting machines of interpret as ONNX models."""
from client import PROGRAMS, STOCK_VERSION, compare_printed, make_venv

NAME = "ebm2onnx on interpret-core"
VERSION = "3.3.1"
KIND = "package"
RUNS = ("five explainable boosting machines, with words, missing values and pairs of features, compared with "
        "stock's and with interpret's numbers")


def install(place):
    make_venv(place, f"onnxruntime=={STOCK_VERSION}", "onnx==1.19.1", f"ebm2onnx=={VERSION}", "interpret-core==0.7.8",
              "scikit-learn", "pandas")


def run(place, side):
    return compare_printed(place, side, place / "venv/bin/python", "-W", "ignore",
                           PROGRAMS / "tools/explainable_program.py", cwd=place)
