"""Python: ddddocr reads captchas with the models that its package carries."""
from client import PROGRAMS, STOCK_VERSION, compare_printed, make_venv

NAME = "ddddocr"
VERSION = "1.6.1"
KIND = "package"
RUNS = "pictures of letters, compared with stock's words and boxes"


def install(place):
    make_venv(place, f"onnxruntime=={STOCK_VERSION}", f"ddddocr=={VERSION}")


def run(place, side):
    return compare_printed(place, side, place / "venv/bin/python", PROGRAMS / "python/ddddocr_program.py", cwd=place)
