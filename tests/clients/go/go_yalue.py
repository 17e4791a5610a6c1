"""Go: the tests of github.com/yalue/onnxruntime_go, with the models that the module carries."""
import json
import os
import shutil

from client import FAILED, PASSED, SKIPPED, ClientError, must, need

NAME = "Go: github.com/yalue/onnxruntime_go"
VERSION = "1.27.0"
KIND = "library"
RUNS = "its own tests"


def install(place):
    need("go", "gcc")
    found = json.loads(must("go", "mod", "download", "-json", f"github.com/yalue/onnxruntime_go@v{VERSION}", cwd=place))
    shutil.copytree(found["Dir"], place / "source")
    must("chmod", "-R", "u+w", place / "source")
    must("go", "test", "-c", "-o", place / "tests", ".", cwd=place / "source")
    # One of the models asks for the locale en_US.UTF-8, which small systems do not have; C.UTF-8 does the same here.
    plain = next((path for path in ("/usr/lib/locale/C.utf8", "/usr/lib/locale/C.UTF-8") if os.path.isdir(path)), None)
    if plain is None:
        raise ClientError("expected the locale C.UTF-8 in /usr/lib/locale")
    shutil.copytree(plain, place / "locale/en_US.UTF-8")


def run(place, side):
    output = side.run("go", "tool", "test2json", "-t", place / "tests", "-test.v", cwd=place / "source",
                      env={"ONNXRUNTIME_SHARED_LIBRARY_PATH": str(side.library), "LOCPATH": str(place / "locale")})
    outcomes = {"pass": PASSED, "fail": FAILED, "skip": SKIPPED}
    results = {}
    for line in output.text.splitlines():
        if not line.startswith("{"):
            continue
        event = json.loads(line)
        if event["Action"] in outcomes:
            results[event.get("Test", "the whole test program")] = outcomes[event["Action"]]
    return results
