"""Python: tools that profile, compare, calibrate, shrink and run models by way of the package."""
from client import PROGRAMS, STOCK_VERSION, compare_printed, make_venv, must

PACKAGES = {"onnx-array-api": "0.3.3", "onnx-neural-compressor": "1.0", "onnx-quantize": "0.2.0",
            "onnx-shrink-ray": "0.0.11", "onnxruntime-easy": "0.1.2", "sit4onnx": "1.0.10", "audonnx": "1.0.1",
            "markovonnx": "1.0.1", "minisom2onnx": "0.1.0"}
WITH_GPU = {"diffonnx": "1.0.2", "onnx-perf-test": "0.7.0"}
NAME = ", ".join(PACKAGES | WITH_GPU)
VERSION = ", ".join((PACKAGES | WITH_GPU).values())
KIND = "package"
RUNS = ("profiles that they read, values of the runtime, differences of models, weights in 8 and 4 bits, audio, chains "
        "of letters and maps, compared with stock's")


def install(place):
    # Not all of them name what they import.
    python = make_venv(place, f"onnxruntime=={STOCK_VERSION}", "onnx==1.23.2", "array-api-strict", "sympy",
                       "matplotlib", "pandas", "colorama", "prettytable", "tabulate", "grakel",
                       *(f"{name}=={version}" for name, version in PACKAGES.items()))
    # Of themselves they bring onnxruntime-gpu, which is another package with the same files.
    must(python, "-m", "pip", "install", "-q", "--no-deps", *(f"{name}=={one}" for name, one in WITH_GPU.items()))


def run(place, side):
    return compare_printed(place, side, place / "venv/bin/python", "-W", "ignore",
                           PROGRAMS / "tools/model_workers_program.py", place / "work", cwd=place, tolerance=2e-2)
