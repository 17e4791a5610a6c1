"""benchmarks/ceilings.py - the peak rates of the machine, as benchmarks/peak measures them, and the name of its CPU."""
import pathlib
import platform
import re
import subprocess

import numpy as np

REPEATS = 3  # a ceiling is a best value, and two threads do not always get two cores at once
FLAGS = ("avx2", "fma", "avx512f", "avx512_vnni", "avx_vnni", "avx512_bf16", "avx512_fp16", "amx_tile", "amx_int8",
         "amx_bf16")


def cpu():
    """Model, number of cores, features that matter here, from /proc/cpuinfo."""
    text = pathlib.Path("/proc/cpuinfo").read_text()
    field = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in text.splitlines())}
    flags = set(field.get("flags", "").split())
    return {"model": field.get("model name", platform.processor()), "cores": text.count("processor\t"),
            "flags": [flag for flag in FLAGS if flag in flags]}


def parse(text):
    """The table that benchmarks/peak prints: {name: {"unit", threads: value or None}}."""
    head, *lines = text.splitlines()
    columns = re.findall(r"(\d+) thr", head)
    rows = {}
    for line in lines:
        name, unit, *values = line.rsplit(maxsplit=len(columns) + 1)
        rows[name.strip()] = {"unit": unit} | {count: None if value == "-" else float(value)
                                               for count, value in zip(columns, values, strict=True)}
    return rows


def read(peak, threads):
    """{"cpu", "versions", "ceilings": {name: {"unit", "1": value of one thread, "2": ...}}}"""
    import onnxruntime
    import peer

    peer.require()

    found = {}
    for _ in range(REPEATS):
        text = subprocess.run([peak], capture_output=True, text=True, check=True).stdout
        for name, row in parse(text).items():
            best = found.setdefault(name, row)
            best.update({key: max(best[key], value) for key, value in row.items() if isinstance(value, float)})
    return {"cpu": cpu(), "threads": threads, "ceilings": found,
            "versions": {"onnxruntime": onnxruntime.__version__, "numpy": np.__version__,
                         "python": platform.python_version()}}


def fma(machine, threads, isa=None):
    """GFLOP/s of fused multiply-adds in float32 with `threads` threads, of the best unit or of the named one."""
    names = [f"fma f32 {isa}"] if isa else ["fma f32 avx512", "fma f32 avx2", "mul+add f32 sse2"]
    for name in names:
        row = machine["ceilings"].get(name, {})
        if row.get("1"):
            return row.get(str(threads)) or row["1"] * threads
    return None
