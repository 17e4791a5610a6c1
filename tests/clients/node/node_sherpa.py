"""Node: sherpa-onnx-node, whose libraries lie in a package of their own beside ONNX Runtime's."""
import shutil
import sys

from client import PROGRAMS, ClientError, compare_printed, make_venv, must, need, node_packages

NAME = "Node: sherpa-onnx-node"
VERSION = "1.13.8"
KIND = "library"
RUNS = "voice activity, speaker embedding and speech recognition, compared with stock's results"


def install(place):
    need("node", "npm")
    node_packages(place, {"sherpa-onnx-node": VERSION})
    make_venv(place / "vad", "--no-deps", "silero-vad==6.2.3")
    (model,) = (place / "vad").glob("venv/lib/*/site-packages/silero_vad/data/silero_vad.onnx")
    (place / "models").mkdir()
    shutil.copy(model, place / "models")
    must(sys.executable, PROGRAMS / "native/sherpa_models.py", place / "models")


def run(place, side):
    folder = place / side.name
    libraries = list(folder.glob("node_modules/sherpa-onnx-linux-x64/libonnxruntime.so*"))
    if len(libraries) != 1:
        raise ClientError(f"expected one library of ONNX Runtime, found {libraries}")
    if side.name == "ours":
        libraries[0].unlink()
        shutil.copy(side.library, libraries[0])
    shutil.copy(PROGRAMS / "node/node_sherpa.js", folder)
    return compare_printed(place, side, "node", folder / "node_sherpa.js", place / "models", cwd=folder,
                           env={"LD_LIBRARY_PATH": str(libraries[0].parent)})
