"""Python: insightface, whose sessions are of a class of its own that can be pickled, on random models."""
from client import PROGRAMS, STOCK_VERSION, compare_printed, make_venv

NAME = "insightface"
VERSION = "2.1"
KIND = "package"
RUNS = "boxes, points, features and ages of a drawn face, before and after pickling, compared with stock's"


def install(place):
    make_venv(place, f"onnxruntime=={STOCK_VERSION}", f"insightface=={VERSION}", "onnx==1.23.2",
              "opencv-python-headless")


def run(place, side):
    return compare_printed(place, side, place / "venv/bin/python", "-W", "ignore", PROGRAMS / "python/faces_program.py",
                           place / "models", cwd=place, tolerance=2e-3)
