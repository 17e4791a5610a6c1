#!/usr/bin/env python3
"""Runs released clients of ONNX Runtime on ONNX Runtime and on Sardonyx, and writes docs/clients.md.

usage: run.py [CLIENT...]    (all of them without names; `run.py --page` only writes the page)

Each client is installed once, in an environment of its own under $SARDONYX_CLIENTS (~/.cache/sardonyx-clients). What
passes on ONNX Runtime must pass here, with this build's library mapped and not ONNX Runtime's."""
import collections
import csv
import importlib.util
import inspect
import shutil
import sys
import time
import traceback

from client import BUILD, CACHE, FAILED, HERE, PASSED, ROOT, SKIPPED, STOCK_VERSION, ClientError, Side, make_venv

TABLE = HERE / "results.tsv"
PAGE = ROOT / "docs/clients.md"
FIELDS = ("client", "version", "kind", "runs", "passed", "fails_on_both", "missing")
HEAD = f"""# Released programs that run on Sardonyx

Written by `tests/clients/run.py` from `tests/clients/results.tsv`; do not edit.

Each program is installed as it was released, run on ONNX Runtime first and then on Sardonyx, with only the library or
the package `onnxruntime` exchanged. A test counts if it passes on ONNX Runtime ({STOCK_VERSION}, or the release that
the program brings). While it runs on Sardonyx, the lists of mapped files of its processes must show Sardonyx's library
and not ONNX Runtime's. `make test-clients` runs them all, `make test-clients CLIENTS=go_yalue` one of them.

`make test`, which continuous integration runs, runs magika, onnx-asr, rapidocr and swift-f0, which are part of the test
environment and carry their models (`tests/python/test_released_programs.py`). The others install packages from the
network, and no test there uses it."""
KINDS = {"library": "Programs that load the library", "package": "Python programs that import the package"}


def clients():
    """The scripts, by name: each lies in the folder of its kind."""
    return {path.stem: path for path in sorted(HERE.glob("*/*.py"), key=lambda path: path.stem)}


def load(name):
    """By its path: some scripts have the names of packages."""
    spec = importlib.util.spec_from_file_location(f"client_{name}", clients()[name])
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def stock_library():
    """The library of the released package, in an environment of its own."""
    place = CACHE / "stock"
    found = list(place.glob(f"venv/lib/*/site-packages/onnxruntime/capi/libonnxruntime.so.{STOCK_VERSION}"))
    if not found:
        place.mkdir(parents=True, exist_ok=True)
        make_venv(place, f"onnxruntime=={STOCK_VERSION}", "onnx")
        found = list(place.glob(f"venv/lib/*/site-packages/onnxruntime/capi/libonnxruntime.so.{STOCK_VERSION}"))
    return found[0]


def installed(name, module):
    """The folder of a client, which is installed anew where its version or its way of installing has changed."""
    place = CACHE / name
    stamp = place / "installed"
    key = f"{module.VERSION}\n{inspect.getsource(module.install)}"
    if not stamp.exists() or stamp.read_text() != key:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        module.install(place)
        stamp.write_text(key)
    return place


def run_client(name):
    """A row of the table, and the lines that say what is wrong."""
    module, stock = load(name), stock_library()
    place = installed(name, module)
    sides = (Side("stock", stock, None, place / "stock.log"),
             Side("ours", BUILD / "lib/libonnxruntime.so.1", BUILD / "as_onnxruntime", place / "ours.log"))
    for side in sides:
        side.log.unlink(missing_ok=True)
    results, wrong = {}, []
    for side in sides:
        results[side.name] = module.run(place, side)
        wrong += [f"{side.name}: maps {path}" for path in side.wrong_files()]
    stock, ours = results["stock"], results["ours"]
    good = [test for test, outcome in stock.items() if outcome == PASSED]
    if not good:
        wrong.append("nothing passes on ONNX Runtime, so nothing was compared")
    missing = [test for test in good if ours.get(test) != PASSED]
    wrong += [f"{test}: {PASSED} on ONNX Runtime, {ours.get(test, 'not run')} on Sardonyx" for test in missing]
    counts = collections.Counter(stock.values())
    print(f"{name}: {len(good) - len(missing)} of {len(good)} tests that pass on ONNX Runtime pass "
          f"({counts[SKIPPED]} skipped and {counts[FAILED]} failed there)")
    row = {"client": module.NAME, "version": module.VERSION, "kind": module.KIND, "runs": module.RUNS,
           "passed": len(good) - len(missing), "fails_on_both": counts[FAILED], "missing": len(missing)}
    return row, wrong


def read_table():
    if not TABLE.exists():
        return {}
    with TABLE.open(newline="") as file:
        return {row["client"]: row for row in csv.DictReader(file, delimiter="\t")}


def write_table(rows):
    with TABLE.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, delimiter="\t", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows[name] for name in sorted(rows))


def page():
    rows = read_table().values()
    lines = [HEAD]
    for kind, title in KINDS.items():
        lines += ["", f"## {title}", "", "| program | version | what runs | pass | do not pass |",
                  "| --- | --- | --- | --- | --- |"]
        lines += [f"| {row['client']} | {row['version']} | {row['runs']} | {row['passed']} | {row['missing']} |"
                  for row in rows if row["kind"] == kind]
    return "\n".join(lines) + "\n"


def main(names):
    if names == ["--page"]:
        PAGE.write_text(page())
        return 0
    unknown = set(names) - set(clients())
    if unknown:
        print(f"expected names of {', '.join(clients())}; found {', '.join(sorted(unknown))}")
        return 2
    sys.path.insert(0, str(HERE))
    CACHE.mkdir(parents=True, exist_ok=True)
    bad = []
    for name in names or clients():
        started = time.monotonic()
        try:
            row, wrong = run_client(name)
            write_table(read_table() | {row["client"]: row})  # at once: what comes later may be stopped
        except ClientError as error:
            wrong = [str(error)]
        except Exception:
            wrong = [traceback.format_exc()]
        for line in wrong:
            print(f"  {name}: {line}")
        print(f"  {name}: {time.monotonic() - started:.0f} s", flush=True)
        bad += [name] if wrong else []
    PAGE.write_text(page())
    print(f"{len(bad)} clients do not pass: {', '.join(bad)}" if bad else "all clients pass")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.exit(main(sys.argv[1:]))
