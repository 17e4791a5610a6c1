"""How the tools run long commands: what they print is kept, and while they work one line now and then says how far
they are. A command that failed can be shown as one would type it."""
import dataclasses
import os
import re
import shlex
import subprocess
import threading
import time

SECONDS_BETWEEN = 20  # lines of progress


@dataclasses.dataclass
class Done:
    code: int
    output: str


def typed(command, variables=None):
    """The command as one types it: with the variables that differ from ours, paths relative to the working folder."""
    here = os.getcwd() + os.sep
    changed = [f"{name}={shlex.quote(value.replace(here, ''))}" for name, value in sorted((variables or {}).items())
               if os.environ.get(name) != value]
    return " ".join(changed + [shlex.quote(str(part).replace(here, "")) for part in command])


def follow(process, stream, name, progress):
    """What the process prints to `stream` until it ends. Whenever SECONDS_BETWEEN have passed, the newest match of the
    regular expression `progress` (its first group, if it has one) is printed behind the name."""
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
    """Runs the command to its end; its standard output and error output are one text."""
    process = subprocess.Popen([str(part) for part in command], env=os.environ | (variables or {}), cwd=cwd, text=True,
                               errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    output = follow(process, process.stdout, name, progress)
    return Done(process.returncode, output)


