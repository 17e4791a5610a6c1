"""Python: openwakeword listens for words with the models that its package carries."""
from client import PROGRAMS, STOCK_VERSION, compare_printed, make_venv

NAME = "openwakeword"
VERSION = "0.4.0"  # later releases download their models
KIND = "package"
RUNS = "features, words and voice in sounds, compared with stock's numbers"


def install(place):
    make_venv(place, f"onnxruntime=={STOCK_VERSION}", f"openwakeword=={VERSION}")


def run(place, side):
    return compare_printed(place, side, place / "venv/bin/python", "-W", "ignore",
                           PROGRAMS / "python/openwakeword_program.py", cwd=place)
