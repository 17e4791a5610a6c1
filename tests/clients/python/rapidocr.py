"""Python: rapidocr reads text from pictures with the models that its package carries."""
from client import PROGRAMS, STOCK_VERSION, compare_printed, make_venv

NAME = "rapidocr"
VERSION = "3.10.0"
KIND = "package"
RUNS = "pictures of text, compared with stock's words"


def install(place):
    make_venv(place, f"onnxruntime=={STOCK_VERSION}", f"rapidocr=={VERSION}", "opencv-python-headless")


def run(place, side):
    return compare_printed(place, side, place / "venv/bin/python", PROGRAMS / "python/rapidocr_program.py", cwd=place)
