"""Python: brainmaze-eeg-models finds seizures and sleep spindles with the models that it carries."""
from client import PROGRAMS, STOCK_VERSION, compare_printed, make_venv

NAME = "brainmaze-eeg-models"
VERSION = "0.1.0"
KIND = "package"
RUNS = "two channels of five minutes through four models, compared with stock's times and probabilities"


def install(place):
    make_venv(place, f"onnxruntime=={STOCK_VERSION}", f"brainmaze-eeg-models=={VERSION}")


def run(place, side):
    return compare_printed(place, side, place / "venv/bin/python", "-W", "ignore",
                           PROGRAMS / "python/brainmaze_program.py", cwd=place, tolerance=2e-3)
