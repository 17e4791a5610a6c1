#!/usr/bin/env python3
"""Runs the programs of the C interface's tests under valgrind: values that were never set, which no sanitizer of the
build sees, memory used wrongly, and blocks that nothing points to any more when a process ends.

The tests read the folder of a build from SDX_BUILD and get one here in which each program is a script that starts
valgrind, except when it is to open ONNX Runtime, which is not what is tested. Kernels are those of AVX2: valgrind does
not know AVX-512. Needs valgrind (of the same package name) and a finished `make build`.

usage: tools/valgrind_interface.py [arguments of pytest]
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from watched_interface import PLAIN, PROGRAMS, ROOT

OPTIONS = ("--quiet", "--error-exitcode=99", "--num-callers=24")
LEAKS = ("--leak-check=full", "--errors-for-leak-kinds=definite", "--show-leak-kinds=definite")
# Each case of these runs in a process of its own that ends where the case does, with what it made.
ENDING = ("capi_every_function", "capi_null_arguments", "capi_other_kinds", "odd_callbacks", "odd_orders",
          "odd_versions")
SCRIPT = """#!/bin/sh
case "$*" in */onnxruntime/capi/*) exec {program} "$@" ;; esac
SDX_MAX_ISA=avx2 exec valgrind {options} --log-file={report}.%p {program} "$@"
"""


def make_build(folder):
    """Makes `folder` look like build/release with programs under valgrind."""
    (folder / "bin").mkdir()
    for part in ("lib", "as_onnxruntime"):
        (folder / part).symlink_to(PLAIN / part)
    for file in (PLAIN / "bin").iterdir():
        script = folder / "bin" / file.name
        options = OPTIONS if file.name in ENDING else OPTIONS + LEAKS
        script.write_text(SCRIPT.format(program=f"'{file}'", options=" ".join(options), report=folder / "report"))
        script.chmod(0o755)


def main():
    if shutil.which("valgrind") is None:
        sys.exit("expected the program valgrind, found none")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_build(folder)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *(sys.argv[1:] or PROGRAMS)]
        failed = subprocess.run(command, env=os.environ | {"SDX_BUILD": name}, cwd=ROOT, check=False).returncode
        reports = sorted(folder.glob("report.*"))
        texts = [text for file in reports if (text := file.read_text(errors="replace").strip())]
    print(*[text[:4000] for text in texts], f"{len(reports)} processes, {len(texts)} with findings", sep="\n")
    sys.exit(bool(failed or texts))


if __name__ == "__main__":
    main()
