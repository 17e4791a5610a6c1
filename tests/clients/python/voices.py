"""Python: packages for voices, texts and people, with models of random weights."""
from client import PROGRAMS, STOCK_VERSION, compare_printed, make_venv, must

PACKAGES = {"kokoro-onnx": "0.6.1", "supertonic": "1.3.1", "phonikud-onnx": "1.0.6", "minisbd": "0.9.5",
            "wtpsplit-lite": "0.2.0", "rtmlib": "0.0.16"}
NAME = ", ".join(PACKAGES)
VERSION = ", ".join(PACKAGES.values())
KIND = "package"
RUNS = "texts spoken, marked and cut into sentences, people and their joints in pictures, compared with stock's"


def install(place):
    python = make_venv(place, f"onnxruntime=={STOCK_VERSION}", "onnx==1.19.1",
                       *(f"{name}=={version}" for name, version in PACKAGES.items()))
    must(python, "-W", "ignore", PROGRAMS / "python/voices_models.py", place / "models")


def run(place, side):
    return compare_printed(place, side, place / "venv/bin/python", "-W", "ignore",
                           PROGRAMS / "python/voices_program.py", place / "models", cwd=place,
                           env={"HF_HUB_OFFLINE": "1"})
