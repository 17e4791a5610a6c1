"""Python: nudenet finds bodies in pictures with the model that its package carries."""
from client import PROGRAMS, STOCK_VERSION, compare_printed, make_venv

NAME = "nudenet"
VERSION = "3.4.2"
KIND = "package"
RUNS = "pictures, compared with stock's boxes"


def install(place):
    make_venv(place, f"onnxruntime=={STOCK_VERSION}", f"nudenet=={VERSION}")


def run(place, side):
    return compare_printed(place, side, place / "venv/bin/python", PROGRAMS / "python/nudenet_program.py", cwd=place)
