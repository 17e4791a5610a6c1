"""Python: fastembed turns texts into vectors and ranks, in one process and in several."""
import transformers_small
from client import PROGRAMS, STOCK_VERSION, compare_printed, make_venv

NAME = "fastembed"
VERSION = "0.9.1"
KIND = "package"
RUNS = "vectors and ranks of texts with small random models, alone, together and by two processes"


def install(place):
    make_venv(place, f"onnxruntime=={STOCK_VERSION}", f"fastembed=={VERSION}")
    transformers_small.make(place / "models")


def run(place, side):
    return compare_printed(place, side, place / "venv/bin/python", "-W", "ignore",
                           PROGRAMS / "tools/fastembed_program.py", place / "models", cwd=place,
                           env={"HF_HUB_OFFLINE": "1"})
