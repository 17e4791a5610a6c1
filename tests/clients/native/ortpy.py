"""Python: ortpy, a binding on the C++ header of 1.23, with the library that its own package brings and with ours."""
import models
from client import CACHE, PROGRAMS, compare_printed, make_venv, must

NAME = "Python: ortpy"
VERSION = "1.23b2"
KIND = "library"
RUNS = "a program that calls all of its interface, compared with stock's output"


def install(place):
    make_venv(place, "ortpy==1.23b2", "ortpy-lib==1.23.2", "numpy")
    models.make(place / "models")
    must(CACHE / "stock/venv/bin/python", "-c", models.ADAPTER, place / "models/adapter.ort_lora")


def run(place, side):
    # Its extension asks for this name, under which the package does not bring the library.
    folder = place / f"{side.name}_files"
    folder.mkdir(exist_ok=True)
    (released,) = place.glob("venv/lib/*/site-packages/ortpy/libonnxruntime.so")
    name = folder / "libonnxruntime.so.1"
    name.unlink(missing_ok=True)
    name.symlink_to(released if side.name == "stock" else side.library)
    return compare_printed(place, side, place / "venv/bin/python", PROGRAMS / "native/ortpy_program.py",
                           place / "models", folder, cwd=place, env={"LD_LIBRARY_PATH": str(folder)}, tolerance=1e-6)
