"""Python: swift-f0 finds the pitch of sounds with the model that its package carries."""
from client import PROGRAMS, STOCK_VERSION, compare_printed, make_venv

NAME = "swift-f0"
VERSION = "0.3.0"
KIND = "package"
RUNS = "sounds whole, in parts and as notes, compared with stock's pitches"


def install(place):
    make_venv(place, f"onnxruntime=={STOCK_VERSION}", f"swift-f0=={VERSION}")


def run(place, side):
    return compare_printed(place, side, place / "venv/bin/python", PROGRAMS / "python/swift_f0_program.py", cwd=place)
