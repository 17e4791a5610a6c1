"""Python: pipecat decides with the models that its package carries whether somebody speaks, and has ended."""
from client import PROGRAMS, STOCK_VERSION, compare_printed, make_venv

NAME = "pipecat-ai"
VERSION = "1.14.0"
KIND = "package"
RUNS = "its voice activity detector and its detector of the end of a turn, compared with stock's probabilities"


def install(place):
    make_venv(place, f"onnxruntime=={STOCK_VERSION}", f"pipecat-ai=={VERSION}")


def run(place, side):
    # Its second model is quantized: ONNX Runtime's own results at two optimization levels differ by 0.01 where the
    # processor has VNNI, and by 0.03 where it has not, probably since its products of
    # bytes saturate there.
    return compare_printed(place, side, place / "venv/bin/python", "-W", "ignore",
                           PROGRAMS / "python/pipecat_program.py", cwd=place, tolerance=5e-2)
