#!/usr/bin/env python3
"""tests/bad_models/sanitized.py - a script and a library with the address and undefined-behaviour sanitizers.

usage: sanitized.py [arguments of hostile_run.py]
       sanitized.py --script FILE [its arguments]

Builds libsardonyx.so in build/fuzz, in the same way as the fuzz targets, and uses it in the Python package of the
release build (run `make build` first). clang's sanitizer runtime is loaded before Python.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools")]
import checks  # noqa: E402
import fuzz  # noqa: E402

SANITIZERS = {"ASAN_OPTIONS": "allocator_may_return_null=1:detect_leaks=0:malloc_context_size=3",
              "UBSAN_OPTIONS": "print_stacktrace=1"}


def runtime():
    """Path of clang's shared runtime."""
    name = f"libclang_rt.asan-{os.uname().machine}.so"
    found = subprocess.run(["clang++", f"-print-file-name={name}"], capture_output=True, text=True, check=True)
    path = pathlib.Path(found.stdout.strip())
    if not path.is_absolute():
        sys.exit(f"expected clang's {name}, found none")
    return path


def script(arguments):
    """What Python runs."""
    if arguments[:1] == ["--script"]:
        return arguments[1:]
    return [str(ROOT / "tests/bad_models/hostile_run.py"), *arguments]


def main():
    faults = checks.configure("build/fuzz", *fuzz.CONFIGURE) or checks.ninja("build/fuzz", "sardonyx")
    if faults:
        sys.exit("\n".join(map(str, faults)))
    with tempfile.TemporaryDirectory() as folder:
        library = pathlib.Path(folder) / "lib"
        library.mkdir()
        for name in ("libsardonyx.so", "libonnxruntime.so.1"):
            (library / name).symlink_to(fuzz.BUILD / "lib/libsardonyx.so")
        package = pathlib.Path(folder) / "python"
        shutil.copytree(ROOT / "build/release/python", package)
        command = [sys.executable, "-W", "ignore", *script(sys.argv[1:])]
        environment = os.environ | SANITIZERS | {"LD_PRELOAD": str(runtime()), "LD_LIBRARY_PATH": str(library),
                                                 "PYTHONPATH": str(package)}
        sys.exit(subprocess.run(command, env=environment, check=False).returncode)


if __name__ == "__main__":
    main()
