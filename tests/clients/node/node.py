"""Node: onnxruntime-node, whose library lies beside its binding."""
import shutil

import models
from client import PROGRAMS, line_results, must, need

NAME = "Node: onnxruntime-node"
VERSION = "1.30.0"
KIND = "library"
RUNS = "a program that calls all of its interface"


def install(place):
    need("node", "npm")
    must("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", place / "stock",
         f"onnxruntime-node@{VERSION}")
    shutil.copytree(place / "stock", place / "ours", symlinks=True)
    models.make(place / "models")


def run(place, side):
    (library,) = (place / side.name).glob("node_modules/onnxruntime-node/bin/napi-v*/linux/x64/libonnxruntime.so.1")
    if side.name == "ours":
        library.unlink()
        shutil.copy(side.library, library)
    program = place / side.name / "program.js"
    shutil.copy(PROGRAMS / "node/node.js", program)
    written = place / side.name / "written"
    shutil.rmtree(written, ignore_errors=True)
    written.mkdir()
    return line_results(side.run("node", program, place / "models", written, cwd=place))
