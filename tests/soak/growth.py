"""tests/soak/growth.py - what a process holds (memory, threads, files), and whether that grows over time.

For each figure, the minimum of the last third of the samples is compared with that of the first third. What is held
only for a while is in some samples but not in the minimum; a leak is in all of them. `heap_mb` is exact (the bytes that
malloc has given out), so it may hardly grow; `anonymous_mb` includes the gaps of the heap.
"""
import ctypes
import os
import sys

LEAST_SAMPLES = 6
# By figure: how much more it may be, as a share of the first and on top of it.
ALLOWED = {"heap_mb": (0.0, 1.0), "anonymous_mb": (0.01, 2.0), "threads": (0.0, 0), "files": (0.0, 0),
           "maps": (0.05, 16)}


class HeapCounts(ctypes.Structure):
    """struct mallinfo2 of glibc."""

    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")]


def sample():
    """What this process holds now, free memory given back first."""
    sys.stdout.flush()
    figures = {"threads": len(os.listdir("/proc/self/task")), "files": len(os.listdir("/proc/self/fd"))}
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallinfo2"):
        libc.malloc_trim(0)
        libc.mallinfo2.restype = HeapCounts
        counts = libc.mallinfo2()
        figures["heap_mb"] = (counts.uordblks + counts.hblkhd) / 2**20
    with open("/proc/self/smaps_rollup") as file:
        figures["anonymous_mb"] = next(int(line.split()[1]) / 1024 for line in file if line.startswith("Anonymous:"))
    with open("/proc/self/maps") as file:
        figures["maps"] = sum(1 for _ in file)
    return figures


def describe(figures):
    return ", ".join(f"{name} {value:.1f}" if isinstance(value, float) else f"{name} {value}"
                     for name, value in sorted(figures.items()))


def findings(samples):
    """What grew, one line each."""
    if len(samples) < LEAST_SAMPLES:
        return [f"expected at least {LEAST_SAMPLES} samples, found {len(samples)}"]
    third, found = len(samples) // 3, []
    for name in samples[0]:
        first = min(figures[name] for figures in samples[:third])
        last = min(figures[name] for figures in samples[-third:])
        share, more = ALLOWED[name]
        if last > first * (1 + share) + more:
            found.append(f"{name} grew: at least {first:.1f} in the first third of {len(samples)} samples, "
                         f"{last:.1f} in the last")
    return found
