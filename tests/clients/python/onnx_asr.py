"""Python: onnx-asr, with the models of its preprocessors, which its package carries."""
from client import PROGRAMS, STOCK_VERSION, compare_printed, make_venv

NAME = "onnx-asr"
VERSION = "0.12.0"
KIND = "package"
RUNS = "its preprocessors and resamplers, compared with stock's numbers"


def install(place):
    make_venv(place, f"onnxruntime=={STOCK_VERSION}", f"onnx-asr=={VERSION}")


def run(place, side):
    return compare_printed(place, side, place / "venv/bin/python", PROGRAMS / "python/onnx_asr_program.py", cwd=place)
