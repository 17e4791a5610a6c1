"""Go: silero-vad-go, which links the library, and older releases of onnxruntime_go, which load it."""
import json
import shutil

from client import FAILED, PASSED, SKIPPED, must, need

OLDER = ("1.9.0", "1.13.0", "1.19.0")
SILERO = "0.2.1"
NAME = "Go: github.com/streamer45/silero-vad-go, older releases of onnxruntime_go"
VERSION = ", ".join((SILERO, *OLDER))
KIND = "library"
RUNS = "their own tests"
OUTCOMES = {"pass": PASSED, "fail": FAILED, "skip": SKIPPED}


def module(name, version):
    return json.loads(must("go", "mod", "download", "-json", f"github.com/{name}@v{version}", cwd="/"))["Dir"]


def install(place):
    need("go", "gcc")
    for version in OLDER:
        source = place / version
        shutil.copytree(module("yalue/onnxruntime_go", version), source)
        must("chmod", "-R", "u+w", source)
        must("go", "test", "-c", "-o", source / "tests", ".", cwd=source)
    source = place / "silero"
    shutil.copytree(module("streamer45/silero-vad-go", SILERO), source)
    must("chmod", "-R", "u+w", source)


def tests_of(side, prefix, folder, env):
    output = side.run("go", "tool", "test2json", "-t", "./tests", "-test.v", cwd=folder, env=env)
    events = [json.loads(line) for line in output.text.splitlines() if line.startswith("{")]
    return {f"{prefix} {event.get('Test', 'the whole test program')}": OUTCOMES[event["Action"]]
            for event in events if event["Action"] in OUTCOMES}


def run(place, side):
    results = {}
    for version in OLDER:
        results |= tests_of(side, f"onnxruntime_go {version}", place / version,
                            {"ONNXRUNTIME_SHARED_LIBRARY_PATH": str(side.library)})
    # Linked against stock once; each side then lets the loader find its own library under the name that is asked for.
    folder, libraries = place / "silero/speech", place / side.name
    shutil.rmtree(libraries, ignore_errors=True)
    libraries.mkdir()
    for name in ("libonnxruntime.so", "libonnxruntime.so.1"):
        (libraries / name).symlink_to(side.library)
    if side.name == "stock":
        must("go", "test", "-c", "-o", "tests", ".", cwd=folder,
             env={"CGO_CFLAGS": f"-I{place / OLDER[-1]}", "CGO_LDFLAGS": f"-L{libraries}"})
    return results | tests_of(side, "silero-vad-go", folder, {"LD_LIBRARY_PATH": str(libraries)})
