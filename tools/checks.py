"""Checks of the source tree that `make lint` and `make test` share. Each returns a list of findings; none is good.

To add a check, write a function that returns findings, and add its row to ALL.
"""
import collections
import itertools
import os
import pathlib
import re
import subprocess
import sys

import check_circles
import steps

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOLS = ROOT / "tools"


def findings(*command):
    """The lines that `command` prints if it fails; none if it succeeds."""
    done = subprocess.run([str(part) for part in command], cwd=ROOT, capture_output=True, text=True)
    lines = (done.stdout + done.stderr).strip().splitlines()
    return (lines or [f"{command[0]} failed with exit code {done.returncode}"]) if done.returncode else []


def git(*arguments):
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.split() if done.returncode == 0 else []


def sources():
    files = git("ls-files", "--cached", "--others", "--exclude-standard") or [
        path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*") if path.is_file()]
    return [file for file in files if (ROOT / file).exists() and not file.startswith(("build/", ".venv"))]


def generated(file):
    """Whether the first lines of the file say that a script wrote it; then the script is responsible for its form."""
    with open(ROOT / file, encoding="utf-8") as text:
        return any("enerated by" in line for line in itertools.islice(text, 5))


def ninja(folder, *targets):
    """Builds the targets and shows the progress now and then. Returns the command and its output if the build fails."""
    command = ["ninja", "-C", folder, *targets]
    shown = " ".join(pathlib.Path(target).name for target in targets[:4]) + (" ..." if len(targets) > 4 else "")
    done = steps.run(command, f"building {shown} in {folder}", cwd=ROOT)
    lines = [line for line in done.output.splitlines() if not line.startswith(("[", "ninja: Entering"))]
    return [f"command: {steps.typed(command)}", *lines] if done.code else []


def configure(folder, *options):
    command = ["cmake", "-S", ".", "-B", folder, "-G", "Ninja", "--log-level=WARNING", *options]
    return findings(*command)


def isas():
    """The instruction sets that kernels are compiled for, best first: the rows of SDX_FOR_EACH_ISA."""
    text = (ROOT / "src/kernels/dispatch.h").read_text(encoding="utf-8")
    return list(dict.fromkeys(re.findall(r"\buse\((\w+)", text)))


def layers():
    return findings(sys.executable, TOOLS / "check_layers.py", ROOT)


def circles():
    """Files that include each other. Prints the circles and their number; fewer are better."""
    graph = check_circles.includes(ROOT)
    found = check_circles.circles(graph)
    print(check_circles.summary(found), flush=True)
    return check_circles.faults(graph, found)


def isa_symbols(folder="build/debug"):
    """Checks the Debug objects of the *.isa.cpp files: in optimized ones, inlining may hide a function."""
    failed = configure(folder, "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0", "-DSDX_BUILD_TESTS=OFF",
                       "-DSDX_BUILD_PYTHON=OFF")
    if failed:
        return failed
    listing = subprocess.run(["ninja", "-C", folder, "-t", "targets", "all"], cwd=ROOT, capture_output=True, text=True)
    objects = {}  # by ISA; objects of the baseline are portable, so the linker may keep their copies
    for path, isa in re.findall(r"^(\S*sdx_core_(\w+)\.dir\S*\.o):", listing.stdout, re.M):
        if isa != "baseline":
            objects.setdefault(isa, []).append(path)
    if not objects:
        return [] if os.uname().machine not in ("x86_64", "AMD64") else ["isa symbols: found no objects to check"]
    failed = ninja(folder, *(path for paths in objects.values() for path in paths))
    pairs = [f"{isa}={','.join(str(pathlib.Path(folder) / path) for path in paths)}" for isa, paths in objects.items()]
    return failed or findings(sys.executable, TOOLS / "check_isa_symbols.py", *pairs)


def static_init(folder="build/release"):
    failed = configure(folder) or ninja(folder, "sdx_core", "sdx_capi")
    libraries = [f"{folder}/lib/libsdx_core.a", f"{folder}/lib/libsdx_capi.a"]
    return failed or findings(TOOLS / "check_static_init.sh", *libraries)


def file_lengths():
    """Files about one subject are short. Generated files may have any length."""
    found = []
    for file in sources():
        if file.startswith("third_party/") or not file.endswith((".h", ".hpp", ".c", ".cpp", ".py")) or generated(file):
            continue
        most = 1000 if file.startswith("tests/") or file.endswith("_test.cpp") else 500
        with open(ROOT / file, encoding="utf-8") as text:
            lines = sum(1 for _ in text)
        if lines > most:
            found.append(f"{file}: expected at most {most} lines, found {lines}: split it by subject")
    return found


# Code here may depend on the compiler and the CPU; all other code calls functions that lie here.
CONDITIONAL = ("src/base/", "src/kernels/dispatch.h", "src/kernels/simd/")


def conditions():
    """`#if` and similar directives stand only in the places above."""
    found = []
    for file in sources():
        if not file.startswith("src/") or file.startswith(CONDITIONAL) or not file.endswith((".h", ".cpp")):
            continue
        with open(ROOT / file, encoding="utf-8") as text:
            for number, line in enumerate(text, 1):
                if re.match(r"\s*#\s*(if|ifdef|ifndef|elif|else)\b", line):
                    found.append(f"{file}:{number}: expected no `{line.strip()}` outside {', '.join(CONDITIONAL)}")
    return found


MOST_FILES = 60  # in one folder, with the tests beside the code


def folder_sizes():
    """A folder with too many files to survey needs subfolders."""
    code = [file for file in sources() if file.startswith("src/")]
    folders = collections.Counter(os.path.dirname(file) for file in code)
    return [f"{folder}: expected at most {MOST_FILES} files, found {count}: sort them into rooms"
            for folder, count in sorted(folders.items()) if count > MOST_FILES]


def names_of_python_tests():
    """pytest imports a test by the name of its file, wherever the file lies, so that two of one name are an error."""
    tests = [file for file in sources() if file.startswith(("tests/", "bindings/python/"))
             and re.fullmatch(r"test_.*\.py", os.path.basename(file))]
    first = {}
    return [f"{file}: expected a name of its own, found that of {first[name]}: pytest takes both for one module"
            for file in sorted(tests) if first.setdefault(name := os.path.basename(file), file) != file]


ALL = {
    "conditional compilation": conditions,
    "length of files": file_lengths,
    "files of a folder": folder_sizes,
    "names of Python tests": names_of_python_tests,
    "layers": layers,
    "circles of files": circles,
    "symbols of ISA objects": isa_symbols,
    "no static initialisers": static_init,
}
