#!/usr/bin/env python3
"""Runs one phase of a build and records its time, so that `make test` can show at the end where the time went.

The first phase (setup) begins a new list in build/phases.tsv. tools/run_tests.py adds its stages and prints the table.
Beside the time on the clock stands that of all processors together, which other work on the machine hardly changes.

usage: tools/phases.py NAME COMMAND [ARGUMENT]...
"""
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIST = ROOT / "build/phases.tsv"
FIRST = "setup"


class Clock:
    """The seconds since it was made: on the clock, and of all processors in this process and those it waited for."""

    def __init__(self):
        self.start = self.now()

    @staticmethod
    def now():
        return time.monotonic(), sum(os.times()[:4])

    def seconds(self):
        return tuple(end - start for start, end in zip(self.start, self.now(), strict=True))


def add(name, seconds, processors):
    LIST.parent.mkdir(exist_ok=True)
    with open(LIST, "w" if name == FIRST else "a", encoding="utf-8") as file:
        file.write(f"{name}\t{seconds:.1f}\t{processors:.1f}" + "\n")


def table():
    """The recorded phases, one line each, and their sum."""
    lines = [line.split("\t") for line in LIST.read_text().splitlines()] if LIST.exists() else []
    # A build folder may still have a list from before the processors' seconds.
    rows = [(line[0], float(line[1]), float(line[2])) for line in lines if len(line) == 3]
    rows.append(("all phases", sum(row[1] for row in rows), sum(row[2] for row in rows)))
    return [f"  {name:<12}{minutes(seconds)}, of processors {minutes(processors)}"
            for name, seconds, processors in rows]


def minutes(seconds):
    return f"{int(seconds) // 60:>4} min {seconds % 60:5.1f} s"


def main():
    name, *command = sys.argv[1:]
    clock = Clock()
    code = subprocess.run(command, cwd=ROOT).returncode
    add(name, *clock.seconds())
    sys.exit(code)


if __name__ == "__main__":
    main()
