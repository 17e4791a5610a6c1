"""Runs long commands for the tools: keeps their output, and prints a line of progress now and then.

A command that failed can be shown as one would type it.
"""
import dataclasses
import os
import re
import shlex
import subprocess
import threading
import time

SECONDS_BETWEEN = 20  # between two lines of progress


@dataclasses.dataclass
class Done:
    code: int
    output: str


def typed(command, variables=None):
    """The command as one types it: with the variables that it changes, and paths relative to the working folder."""
    here = os.getcwd() + os.sep
    changed = [f"{name}={shlex.quote(value.replace(here, ''))}" for name, value in sorted((variables or {}).items())
               if os.environ.get(name) != value]
    return " ".join(changed + [shlex.quote(str(part).replace(here, "")) for part in command])


def follow(process, stream, name, progress):
    """Returns what the process prints to `stream` until it ends. Every SECONDS_BETWEEN seconds, prints the name and the
    newest match of the regular expression `progress` (of its first group, if it has one)."""
    lines, newest, start = [], [""], time.monotonic()
    pattern, ended = re.compile(progress), threading.Event()

    def say():
        while not ended.wait(SECONDS_BETWEEN):
            print(f"  {name}: {newest[0] or 'works'} ({time.monotonic() - start:.0f} s)", flush=True)

    speaker = threading.Thread(target=say, daemon=True)
    speaker.start()
    for line in stream:
        lines.append(line)
        if found := pattern.search(line):
            newest[0] = found[found.re.groups and 1].strip()
    process.wait()
    ended.set()
    speaker.join()
    return "".join(lines)


def run(command, name, progress=r"^\[\d+/\d+\]", variables=None, cwd=None):
    """Runs the command to its end. Standard output and standard error are one text."""
    process = subprocess.Popen([str(part) for part in command], env=os.environ | (variables or {}), cwd=cwd, text=True,
                               errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    output = follow(process, process.stdout, name, progress)
    return Done(process.returncode, output)


