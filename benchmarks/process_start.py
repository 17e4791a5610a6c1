"""benchmarks/process_start.py - whole processes that import an engine, create a session and run it once; prints JSON.

usage: process_start.py JOB, where JOB is JSON: {"model", "cores", "threads", "rounds"}.

Prints milliseconds beyond a process that only imports NumPy and reads the inputs, and those of that process and of one
that only imports the engine. The processes take turns; times are medians, from before the start until after the end.
"""
import json
import os
import pickle
import statistics
import subprocess
import sys
import tempfile
import time

import engines
import models

NUMPY = "import numpy, pickle, sys\nfeed = pickle.load(open(sys.argv[1], 'rb'))\n"
RUN = """import {engine} as engine
options = engine.SessionOptions()
options.intra_op_num_threads, options.log_severity_level = {threads}, 3
engine.InferenceSession(sys.argv[2], options, providers=["CPUExecutionProvider"]).run(None, feed)
"""


def seconds_of(program, arguments, variables):
    """Of a whole process."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-W", "ignore", "-c", program, *arguments], check=True, env=variables,
                   stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def measure(path, feed, threads, rounds):
    programs = {"numpy": NUMPY}
    for engine in engines.ENGINES:
        programs[f"{engine} import"] = NUMPY + f"import {engine}\n"
        programs[engine] = NUMPY + RUN.format(engine=engine, threads=threads)
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    times = {name: [] for name in programs}
    with tempfile.NamedTemporaryFile(suffix=".pickle") as file:
        file.write(pickle.dumps(feed))
        file.flush()
        arguments = [file.name, str(path)]
        for turn in range(rounds + 1):  # the first round writes bytecode and fills the page cache
            for name in list(programs) if turn % 2 == 0 else list(programs)[::-1]:
                seconds = seconds_of(programs[name], arguments, variables)
                times[name] += [seconds] * (turn > 0)
    typical = {name: 1e3 * statistics.median(values) for name, values in times.items()}
    base = typical.pop("numpy")
    return {"numpy_ms": base} | {name: ms - base for name, ms in typical.items()}


def main():
    job = json.loads(sys.argv[1])
    os.sched_setaffinity(0, job["cores"])
    engines.peer.require()
    model = models.find(job["model"])
    print(json.dumps(measure(model.path(), model.feeds(1)[0], job["threads"], job["rounds"])))


if __name__ == "__main__":
    main()
