"""Python: olive's passes, which optimize, quantize and tune models with what the package onnxruntime has for it."""
import transformers_small
from client import PROGRAMS, STOCK_VERSION, compare_printed, make_venv

NAME = "olive-ai"
VERSION = "0.13.0"
KIND = "package"
RUNS = "a small random BERT after nine of its passes: which nodes and results, compared with stock's"


def install(place):
    make_venv(place, f"onnxruntime=={STOCK_VERSION}", f"olive-ai=={VERSION}", "torch==2.6.0", "transformers==4.57.6",
              "onnx==1.23.2", "onnxscript==0.7.2", "psutil")
    transformers_small.make(place / "models")


def run(place, side):
    # Quantized models compute a little differently where a value lies between two steps.
    return compare_printed(place, side, place / "venv/bin/python", "-W", "ignore",
                           PROGRAMS / "tools/olive_program.py", place / "models", place / side.name, cwd=place,
                           env={"HF_HUB_OFFLINE": "1"}, tolerance=2e-2)
