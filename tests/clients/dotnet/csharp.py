"""C#: Microsoft.ML.OnnxRuntime as its package for Unity carries it, in source, compiled and run by Mono."""
import re
import shutil

import models
from client import CACHE, PROGRAMS, compare_printed, must, need

NAME = "C#: Microsoft.ML.OnnxRuntime"
VERSION = "1.29.0"
KIND = "library"
RUNS = "a program that calls most of its interface, on Mono, compared with the library of the package"
PACKAGE = "com.github.asus4.onnxruntime@0.4.9"
# Mono's compiler knows C# 7.3: what is newer in the source is said in the older way.
OLDER = ((r"\(static (\w+) =>", r"(\1 =>"), (r"\bis null\b", "== null"), (r"\bunmanaged\b", "struct"),
         (r"(\w+\.\w+) is not (\w+)\)", r"!(\1 is \2))"), (r"([\w<>]+) (\w+) = new\(", r"\1 \2 = new \1("),
         (r"(\w+)\[0\] = \1\[1\] = (\w+);", r"\1[0] = \2; \1[1] = \2;"),
         (r"(\w+)\.Span\[(\w+)\] = ([^;]*);", r"{ var span = \1.Span; span[\2] = \3; }"))


def end_of_block(text, place):
    """Where the block ends that `place` is in."""
    depth = 0
    for at, sign in enumerate(text[place:], place):
        depth += {"{": 1, "}": -1}.get(sign, 0)
        if depth < 0:
            return at
    raise ValueError(f"no end of the block around {text[place:place + 40]!r}")


def older(text):
    for new, old in OLDER:
        text = re.sub(new, old, text)
    while found := re.search(r"using var ([^;]*);", text):
        end = end_of_block(text, found.end())
        text = f"{text[:found.start()]}using (var {found[1]}) {{{text[found.end():end]}}}{text[end:]}"
    return text


def install(place):
    need("npm", "mcs", "mono", "tar")
    must("npm", "pack", PACKAGE, cwd=place)
    archive = next(place.glob("*.tgz"))
    must("tar", "-xzf", archive, "package/Runtime", "package/Plugins/Linux/x64", cwd=place)
    archive.unlink()
    sources = place / "sources"
    sources.mkdir()
    for file in (place / "package/Runtime").rglob("*.cs"):
        (sources / file.name).write_text(older(file.read_text()))
    # As the package for .NET is built where it is to run everywhere.
    must("mcs", "-define:NETSTANDARD2_0", "-unsafe", "-langversion:latest", "-warn:0", "-target:library",
         f"-out:{place / 'Microsoft.ML.OnnxRuntime.dll'}", *sorted(sources.glob("*.cs")))
    models.make_for_cxx(place / "models")
    must(CACHE / "stock/venv/bin/python", "-c", models.ADAPTER, place / "models/adapter.ort_lora")


def run(place, side):
    must("mcs", "-langversion:latest", "-warn:0", f"-reference:{place / 'Microsoft.ML.OnnxRuntime.dll'}",
         f"-out:{place / 'Program.exe'}", PROGRAMS / "dotnet/Program.cs")
    library = place / side.name / "library/libonnxruntime.so"
    shutil.rmtree(place / side.name, ignore_errors=True)
    library.parent.mkdir(parents=True)
    library.symlink_to(place / "package/Plugins/Linux/x64/libonnxruntime.so" if side.name == "stock" else side.library)
    return compare_printed(place, side, "mono", place / "Program.exe", place / "models", place / side.name, cwd=place,
                           env={"LD_LIBRARY_PATH": str(library.parent)}, tolerance=1e-6)
