"""Bun and Deno: the same onnxruntime-node in two other programs that load its binding."""
import shutil

import models
from client import PROGRAMS, line_results, node_folder, node_packages

HOSTS = {"bun": ("1.4.5", "@oven/bun-linux-x64/bin/bun", ()),
         "deno": ("2.9.6", "@deno/linux-x64-glibc/deno", ("run", "--allow-all", "--node-modules-dir=manual"))}
BINDING = "1.30.0"
NAME = "Bun and Deno: onnxruntime-node"
VERSION = ", ".join([*(version for version, _, _ in HOSTS.values()), BINDING])
KIND = "library"
RUNS = "the program that calls all of its interface, in two hosts that are not Node"


def install(place):
    node_packages(place, {"onnxruntime-node": BINDING} | {name: version for name, (version, _, _) in HOSTS.items()})
    models.make(place / "models")


def run(place, side):
    folder = node_folder(place, side)
    program = folder / "program.cjs"
    program.unlink(missing_ok=True)
    shutil.copy(PROGRAMS / "node/node.js", program)
    results = {}
    for name, (_, path, options) in HOSTS.items():
        written = folder / "written"
        shutil.rmtree(written, ignore_errors=True)
        written.mkdir()
        output = side.run(folder / "node_modules" / path, *options, program, place / "models", written, cwd=folder)
        results |= {f"{name}: {test}": outcome for test, outcome in line_results(output).items()}
    return results
