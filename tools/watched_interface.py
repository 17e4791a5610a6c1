#!/usr/bin/env python3
"""Runs the tests of the C interface with a library whose C interface is watched by the address and undefined-behaviour
sanitizers: every function with good and bad arguments, the programs of tests/capi, plug-ins with providers, and custom
operators.

Builds `sardonyx_watched` in build/watched: src/capi, src/providers/plugin, src/tensor and src/base are instrumented,
the rest is that of build/release, as are the programs (run `make build` first). The tests read the folder of a build
from SDX_BUILD, so they get one here in which the library is the watched one, and in which each program is a script that
loads clang's runtime first. The script leaves it out when the program is to open ONNX Runtime, which is not what is
tested. A finding ends the process, and is a failure even where a test expects that a process ends.

usage: tools/watched_interface.py [arguments of pytest]
"""
import os
import pathlib
import subprocess
import sys
import tempfile

import checks

ROOT = checks.ROOT
PLAIN = ROOT / "build/release"
FOLDER = "build/watched"
CONFIGURE = ("-DCMAKE_C_COMPILER=clang", "-DCMAKE_CXX_COMPILER=clang++", "-DSDX_SANITIZE=address,undefined",
             "-DSDX_BUILD_PYTHON=OFF", f"-DSDX_PLAIN_CORE={PLAIN / 'lib/libsdx_core.a'}")
# A finding ends the process by a signal, as the crashes do that the tests look for. A size that no memory has is an
# answer of malloc that the library must bear.
OPTIONS = {"ASAN_OPTIONS": "abort_on_error=1:allocator_may_return_null=1:malloc_context_size=12",
           "UBSAN_OPTIONS": "print_stacktrace=1:abort_on_error=1"}
# The tests whose programs take the library's path or are linked with it ...
PROGRAMS = ("tests/capi/test_abi_differences.py", "tests/capi/test_null_arguments.py", "tests/capi/test_answers.py",
            "tests/capi/test_other_kinds.py", "tests/capi/test_odd_calls.py::test_nothing_ends_the_process",
            "tests/capi/test_compile_model.py", "tests/capi/test_model_editor.py",
            "tests/capi/test_session_callbacks.py", "tests/capi/test_thread_options.py",
            *(f"tests/capi/test_capi.py::test_{name}" for name in (
                "the_c_program_passes", "the_cpp_program_passes", "a_c_client_gets_the_same_from_onnx_runtime")),
            "tests/providers/test_contexts.py::test_the_compile_api_does_as_onnx_runtime",
            "tests/providers/test_plugin.py::test_kernels_share_packed_weights")
# ... and those that load a plug-in or custom operators from Python.
PLUGINS = ("tests/providers/test_plugin.py", "tests/providers/test_contexts.py", "tests/providers/test_devices.py",
           "tests/providers/test_faults.py", "tests/providers/test_planted.py", "tests/custom_ops/test_custom_ops.py",
           "-k", "in_sardonyx or custom_ops or test_each")
SCRIPT = """#!/bin/sh
case "$*" in */onnxruntime/capi/*) exec {program} "$@" ;; esac
{variables} exec {program} "$@"
"""


def build():
    return checks.configure(FOLDER, *CONFIGURE) or checks.ninja(FOLDER, "sardonyx_watched")


def runtime():
    """Path of clang's shared runtime, which programs that are not instrumented must load first."""
    name = f"libclang_rt.asan-{os.uname().machine}.so"
    found = subprocess.run(["clang++", f"-print-file-name={name}"], capture_output=True, text=True, check=True)
    path = pathlib.Path(found.stdout.strip())
    if not path.is_absolute():
        sys.exit(f"expected clang's {name}, found none")
    return path


def variables(folder, leaks):
    """`leaks`: whether what a process does not release is a finding. Python keeps much."""
    asan = {"ASAN_OPTIONS": f"{OPTIONS['ASAN_OPTIONS']}:detect_leaks={int(leaks)}"}
    options = {name: f"{value}:log_path='{folder / 'report'}'" for name, value in (OPTIONS | asan).items()}
    return options | {"LD_PRELOAD": str(runtime()), "LD_LIBRARY_PATH": str(folder / "lib")}


def write_script(folder, program):
    """folder/bin/NAME: runs the program as one that loads the watched library."""
    leaks = program.name != "custom_ops_program"  # a library keeps its domains as long as the process
    assignments = " ".join(f'{name}="{value}"' for name, value in variables(folder, leaks).items())
    script = folder / "bin" / program.name
    script.write_text(SCRIPT.format(program=f"'{program}'", variables=assignments))
    script.chmod(0o755)
    return script


def make_build(folder):
    """Makes `folder` look like build/release with the watched library."""
    for part in ("lib", "bin"):
        (folder / part).mkdir()
    for file in (PLAIN / "lib").iterdir():
        watched = file.name in ("libsardonyx.so", "libonnxruntime.so.1")
        (folder / "lib" / file.name).symlink_to(ROOT / FOLDER / "lib/watched/libsardonyx.so" if watched else file)
    for file in (PLAIN / "bin").iterdir():
        write_script(folder, file)
    (folder / "as_onnxruntime").symlink_to(PLAIN / "as_onnxruntime")


def runs(folder):
    """What to run: pytest's arguments and variables."""
    yield PROGRAMS, {"SDX_BUILD": str(folder)}
    yield PLUGINS, {"SDX_BUILD": str(folder), "PYTHONPATH": str(PLAIN / "python")} | variables(folder, leaks=False)


def findings(folder):
    """The reports of all processes. A warning alone, that a size is more than any memory, is none."""
    texts = [file.read_text(errors="replace") for file in sorted(folder.glob("report.*"))]
    return [text for text in texts if "ERROR: " in text or "runtime error: " in text]


def main():
    if faults := build():
        sys.exit("\n".join(faults))
    failed = False
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_build(folder)
        for arguments, environment in runs(folder):
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--dist=loadfile",
                       f"--numprocesses={os.cpu_count()}", *arguments, *sys.argv[1:]]
            failed |= subprocess.run(command, env=os.environ | environment, cwd=ROOT, check=False).returncode != 0
        found = findings(folder)
    print(*[text[:4000] for text in found], f"{len(found)} findings", sep="\n")
    sys.exit(failed or bool(found))


if __name__ == "__main__":
    main()
