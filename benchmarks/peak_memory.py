"""benchmarks/peak_memory.py - the peak memory of one engine for one model, above that of importing the engine.

usage: peak_memory.py JOB, where JOB is JSON: {"model", "cores", "threads", "engine"}.

Reads VmHWM of /proc/self/status (Linux) in a process of its own.
"""
import ctypes
import importlib
import json
import os
import sys

import engines
import models
import peer

RUNS = 3


def status(field):
    """Kilobytes of a field of /proc/self/status."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(field + ":"))


def peak_kilobytes(engine, path, feeds, threads):
    """Most memory over the state before the session: session creation and the first runs."""
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # sets VmHWM back to what is used now
    before = status("VmHWM")
    session = engines.open_session(engine, path, threads)
    for feed in feeds[:RUNS]:
        session.run(None, feed)
    return status("VmHWM") - before


def main():
    job = json.loads(sys.argv[1])
    os.sched_setaffinity(0, job["cores"])
    peer.require()
    engine = importlib.import_module(job["engine"])
    model = models.find(job["model"])
    path, feeds = model.path(), model.feeds(RUNS)
    engine.SessionOptions()
    ctypes.CDLL(None).malloc_trim(0)  # what making the inputs left in the heap would hide later allocations
    print(json.dumps({"peak_kb": peak_kilobytes(engine, path, feeds, job["threads"])}))


if __name__ == "__main__":
    main()
