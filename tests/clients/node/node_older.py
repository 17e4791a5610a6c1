"""Node: older releases of onnxruntime-node, each of which asks for the interface and the symbols of its own time."""
import shutil

import models
from client import FAILED, PROGRAMS, line_results, must, need

VERSIONS = ("1.14.0", "1.16.3", "1.18.0", "1.20.1", "1.23.2")
NAME = "Node: onnxruntime-node, older releases"
VERSION = ", ".join(VERSIONS)
KIND = "library"
RUNS = "the same program, as far as each release has what it calls"


def install(place):
    need("node", "npm")
    for version in VERSIONS:
        must("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", place / "stock" / version,
             f"onnxruntime-node@{version}")
    shutil.copytree(place / "stock", place / "ours", symlinks=True)
    models.make(place / "models")


def run(place, side):
    results = {}
    for version in VERSIONS:
        folder = place / side.name / version
        libraries = list(folder.glob("node_modules/onnxruntime-node/bin/napi-v*/linux/x64/libonnxruntime.so*"))
        if side.name == "ours":
            for library in libraries:
                library.unlink()
                shutil.copy(side.library, library)
        program = folder / "program.js"
        shutil.copy(PROGRAMS / "node/node.js", program)
        written = folder / "written"
        shutil.rmtree(written, ignore_errors=True)
        written.mkdir()
        done = line_results(side.run("node", program, place / "models", written, cwd=place))
        results |= {f"{version}: {name}": outcome for name, outcome in done.items()}
        if not done:
            results[f"{version}: the program begins"] = FAILED
    return results
