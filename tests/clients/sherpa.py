"""C++ and Python: sherpa-onnx, whose own libraries were linked with the ONNX Runtime that lies beside them."""
import shutil

from client import FAILED, HERE, PASSED, ClientError, make_venv

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
    output = side.run(place / "venv/bin/python", "-S", HERE / "programs/sherpa.py", model, written,
                      env={"PYTHONPATH": str(found)})
    found = dict(line.split(": ", 1) for line in output.text.splitlines() if ": " in line)
    if side.name == "stock":
        if output.status != 0:
            raise ClientError(output.text)
        (place / "expected.txt").write_text(output.text)
        return dict.fromkeys(found, PASSED)
    expected = dict(line.split(": ", 1) for line in (place / "expected.txt").read_text().splitlines() if ": " in line)
    return {name: PASSED if close(found.get(name), text) else FAILED for name, text in expected.items()}


def close(found, expected):
    if found is None:
        return False
    pairs = list(zip(found.split(), expected.split(), strict=False))
    if len(pairs) != len(expected.split()) or len(pairs) != len(found.split()):
        return False
    try:
        return all(abs(float(a) - float(b)) <= 1e-3 for a, b in pairs)
    except ValueError:
        return found == expected
