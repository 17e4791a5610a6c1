#!/usr/bin/env python3
"""Runs one phase of a build and records its time, so that `make test` can show at the end where the time went.

The first phase (setup) begins a new list in build/phases.tsv. tools/run_tests.py adds its stages and prints the table.

usage: tools/phases.py NAME COMMAND [ARGUMENT]...
"""
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIST = ROOT / "build/phases.tsv"
FIRST = "setup"


def add(name, seconds):
    LIST.parent.mkdir(exist_ok=True)
    with open(LIST, "w" if name == FIRST else "a", encoding="utf-8") as file:
        file.write(f"{name}\t{seconds:.1f}\n")


def table():
    """The recorded phases, one line each, and their sum."""
    rows = [line.split("\t") for line in LIST.read_text().splitlines()] if LIST.exists() else []
    times = [(name, float(seconds)) for name, seconds in rows]
    times.append(("all phases", sum(seconds for _, seconds in times)))
    return [f"  {name:<12}{int(seconds) // 60:>4} min {seconds % 60:5.1f} s" for name, seconds in times]


def main():
    name, *command = sys.argv[1:]
    start = time.monotonic()
    code = subprocess.run(command, cwd=ROOT).returncode
    add(name, time.monotonic() - start)
    sys.exit(code)


if __name__ == "__main__":
    main()
