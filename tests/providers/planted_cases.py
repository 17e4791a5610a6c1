"""A fault in each function of a plug-in, one at a time: each ends in one error that names who was called, nothing is
left, and what is done next works. test_planted.py runs the functions of each struct in a process of their own.

usage: python planted_cases.py functions:STRUCT RUNTIME PLUGIN     (two libraries)
       python planted_cases.py calls:SCENE RUNTIME PLUGIN
"""
import contextlib
import ctypes
import itertools
import sys

from device_cases import Plugin, api, errors_of, release
from planted_rows import FINE, OWN, ROWS, STAYS
from planted_scenes import SCENES, nothing_there

LIBRARY = sys.argv[3]
KINDS = ("factories", "providers", "compiled_nodes", "states", "allocators", "blocks", "transfers", "streams",
         "notifications", "kernels", "helpers", "packed", "profilers", "importers", "imported")

faults = ctypes.CDLL(LIBRARY)
faults.PlantFault.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_long]
faults.RemoveFault.restype = faults.TestPluginCount.restype = ctypes.c_long
faults.TestPluginCount.argtypes = [ctypes.c_char_p]


def alive():
    counts = {kind: faults.TestPluginCount(kind.encode()) for kind in KINDS}
    return {kind: count for kind, count in counts.items() if count}


def play(scene):
    """With the library registered for it; it can be unregistered only if nothing of it is in use."""
    if scene == "nothing_there":
        nothing_there(LIBRARY)
        return
    with contextlib.ExitStack() as stack:
        plugin = Plugin()
        stack.callback(api, "UnregisterExecutionProviderLibrary", plugin.env, b"test")
        stack.callback(release, "MemoryInfo", plugin.host)
        SCENES[scene](plugin)


def play_with(function, kind, scene, nth=0):
    """How often the fault was reached, the error or None, what the scene itself found wrong, and the log."""
    found = {"error": None, "wrong": None}

    def action():
        faults.PlantFault(kind.encode(), function.encode(), nth)
        try:
            play(scene)
        except RuntimeError as error:
            found["error"] = str(error)
        except AssertionError as error:
            found["wrong"] = error
        found["hits"] = faults.RemoveFault()

    found["log"] = errors_of(action)
    return found


def check(function, kind, scene, expected):
    before = alive()
    found = play_with(function, kind, scene)
    where = (function, kind, scene, found)
    assert found["hits"] > 0, where
    stays = STAYS.get((function, kind))
    left = {name: count - before.get(name, 0) for name, count in alive().items() if count != before.get(name, 0)}
    assert set(left) == ({stays} if stays else set()), (where, left)
    assert bool(found["wrong"]) == (expected is OWN), where
    if expected is FINE or expected is OWN:
        assert found["error"] is None and not found["log"], where
        return
    logged = isinstance(expected, list)
    text = found["log"] if logged else found["error"] or ""
    for words in expected if logged else [expected]:
        assert words in text, where
    assert any(name in text for name in ("SdxTestProvider", LIBRARY, "custom operator ")), where
    assert (found["error"] is None) == logged and (logged or not found["log"]), where


def check_functions(struct):
    for function, rows in ROWS.items():
        if struct != (function.split("::")[0] if "::" in function else "library"):
            continue
        for scene, kinds in rows.items():
            for kind, expected in kinds.items():
                check(function, kind, scene, expected)
            before = alive()
            play(scene)
            assert alive() == before, (function, scene, alive())


def check_calls(scene):
    """An exception in the first, the second, ... call of each function."""
    calls = 0
    for function in ROWS:
        for nth in itertools.count(1):
            found = play_with(function, "throw", scene, nth)
            if not found["hits"]:
                break
            calls += 1
            told = found["error"] or found["log"]
            # The provider's own words take the place of ours for a function that it calls through us.
            assert "planted exception in " + function in told or "GetHandle" in function, (function, nth, found)
            assert not alive(), (function, nth, alive())
    assert calls > 40, calls
    play(scene)


def main():
    {"calls": check_calls, "functions": check_functions}[sys.argv[1].split(":")[0]](sys.argv[1].split(":")[1])
    print("passed")


if __name__ == "__main__":
    main()
