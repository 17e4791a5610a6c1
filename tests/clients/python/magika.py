"""Python: magika tells the types of files with the model that its package carries."""
from client import PROGRAMS, STOCK_VERSION, compare_printed, make_venv

NAME = "magika"
VERSION = "1.0.3"
KIND = "package"
RUNS = "files of many types, compared with stock's answers"


def install(place):
    make_venv(place, f"onnxruntime=={STOCK_VERSION}", f"magika=={VERSION}")


def run(place, side):
    return compare_printed(place, side, place / "venv/bin/python", PROGRAMS / "python/magika_program.py", cwd=place)
