"""C++ and Python: sherpa-onnx, whose own libraries were linked with the ONNX Runtime that lies beside them."""
import shutil

from client import PROGRAMS, compare_printed, make_venv

NAME = "C++: sherpa-onnx"
VERSION = "2.0.1"
KIND = "library"
RUNS = "voice activity, speaker embedding and speech recognition, compared with stock's results"


def install(place):
    make_venv(place, f"sherpa-onnx=={VERSION}", "numpy", "onnx")
    shutil.copytree(place / "venv", place / "ours", symlinks=True)
    # Its model of voice activity comes from another package, without what that one needs.
    make_venv(place / "vad", "--no-deps", "silero-vad==6.2.3")


def run(place, side):
    packages = place / ("venv" if side.name == "stock" else "ours") / "lib"
    if side.name == "ours":
        (library,) = packages.glob("*/site-packages/sherpa_onnx/lib/libonnxruntime.so")
        library.unlink()
        shutil.copy(side.library, library)
    (model,) = (place / "vad").glob("venv/lib/*/site-packages/silero_vad/data/silero_vad.onnx")
    (found,) = packages.glob("*/site-packages")
    written = place / side.name / "written"
    written.mkdir(parents=True, exist_ok=True)
    # The copied environment has the first one's Python, so it is named by its packages.
    side.package = None
    return compare_printed(place, side, place / "venv/bin/python", "-S", PROGRAMS / "native/sherpa.py", model, written,
                           env={"PYTHONPATH": str(found)})
