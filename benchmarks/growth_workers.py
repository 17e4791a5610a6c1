"""benchmarks/growth_workers.py - the process that runs one model with one engine for growth.py, in answer to lines.

usage: growth_workers.py JOB, where JOB is JSON: {"engine", "threads", "cores", "path", "feed" (a pickle)}

create          a new session with its first run: seconds of both, and the peak memory above that before the session
create-only     a new session
run N           seconds of N runs
shapes A B      runs with the shapes A to B - 1 of the feed, and as many with the first one
kept            memory that the process has now, above that before the session
"""
import ctypes
import gc
import json
import os
import pickle
import statistics
import sys
import time

import engines
import numpy as np
from peak_memory import status


class Work:
    def __init__(self, job):
        os.sched_setaffinity(0, job["cores"])
        self.job = job
        engines.peer.require()
        self.module = __import__(job["engine"])
        self.module.SessionOptions()
        with open(job["feed"], "rb") as file:
            self.feed = pickle.load(file)
        ctypes.CDLL(None).malloc_trim(0)
        self.session = None

    def ready(self):
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")  # sets VmHWM back to what is used now
        self.before = status("VmHWM")
        return {}

    def open(self):
        self.session = None
        gc.collect()
        start = time.perf_counter()
        self.session = engines.open_session(self.module, self.job["path"], self.job["threads"])
        return time.perf_counter() - start

    def create(self):
        create = self.open()
        start = time.perf_counter()
        self.session.run(None, self.feed)
        first = time.perf_counter() - start
        peak = status("VmHWM") - self.before
        engines.settle()
        return {"create": create, "first": first, "seconds": create + first, "peak_kb": peak}

    def create_only(self):
        return {"create": self.open()}

    def timed(self, feed):
        start = time.perf_counter()
        self.session.run(None, feed)
        return time.perf_counter() - start

    def run(self, count):
        self.timed(self.feed)  # not counted: the other engine ran before
        times = [self.timed(self.feed) for _ in range(int(count))]
        engines.settle()
        return {"seconds": sum(times), "median": statistics.median(times)}

    def shapes(self, begin, end):
        first = np.ones(self.feed["x"][0], np.float32)
        self.timed({"x": first})
        feeds = [{"x": np.ones(shape, np.float32)} for shape in self.feed["x"][int(begin):int(end)]]
        new = [self.timed(feed) for feed in feeds]
        self.timed({"x": first})
        known = [self.timed({"x": first}) for _ in range(20)]
        engines.settle()
        return {"new": statistics.median(new), "known": statistics.median(known)}

    def kept(self):
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)
        return {"kb": status("VmRSS") - self.before}


def main():
    work = Work(json.loads(sys.argv[1]))
    for line in sys.stdin:
        what, *arguments = line.split()
        print(json.dumps(getattr(work, what.replace("-", "_"))(*arguments)), flush=True)


if __name__ == "__main__":
    main()
