"""Python: piper-tts, with its models for Hebrew and Arabic and a random voice."""
from client import PROGRAMS, STOCK_VERSION, compare_printed, make_venv

NAME = "piper-tts"
VERSION = "1.8.0"
KIND = "package"
RUNS = "text made ready and spoken by a random voice, compared with stock's"


def install(place):
    make_venv(place, f"onnxruntime=={STOCK_VERSION}", f"piper-tts=={VERSION}", "onnx")


def run(place, side):
    return compare_printed(place, side, place / "venv/bin/python", PROGRAMS / "python/piper_program.py", cwd=place)
