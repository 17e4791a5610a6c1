"""Python: faster-whisper finds speech with the model that its package carries."""
from client import PROGRAMS, STOCK_VERSION, compare_printed, make_venv

NAME = "faster-whisper"
VERSION = "1.2.1"
KIND = "package"
RUNS = "its voice activity detector, compared with stock's times"


def install(place):
    make_venv(place, f"onnxruntime=={STOCK_VERSION}", f"faster-whisper=={VERSION}")


def run(place, side):
    return compare_printed(place, side, place / "venv/bin/python", PROGRAMS / "python/faster_whisper_program.py",
                           cwd=place)
