"""Measures which types a kernel computes from copies in a wider type, by the memory that a run needs.

A call of float is repeated with the same numbers in another type. Where the run needs more memory beside its outputs
than the one of float does, at least four bytes for each element of the first input, that input was copied. Measured
are the portable kernels, which all CPUs have: those for newer CPUs may need fewer copies.
"""
import copy
import os
import subprocess
import sys

import numpy as np
import random_cases
import sardonyx
from calls import FLOATS, HISTORY, INTEGERS, NAMES, dtype_of
from fallbacks import retyped

FLOAT, MOST = 1, 1 << 26
TRIES = 12
LEAST = 8  # elements of the first input, so that alignment is not taken for a copy


def outputs(model, feeds, limit=None):
    """The outputs of a run within `limit` bytes; None if it needs more."""
    options = sardonyx.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    options.graph_optimization_level = sardonyx.GraphOptimizationLevel.ORT_DISABLE_ALL
    if limit is not None:
        options.add_session_config_entry("sardonyx.max_run_memory", str(limit))
    try:
        return sardonyx.InferenceSession(model.SerializeToString(), options).run(None, feeds)
    except sardonyx.Fail as error:
        if limit is None or "sardonyx.max_run_memory" not in str(error):
            raise
        return None


def bytes_of(values):
    return sum(bytes_of(y) if isinstance(y, list) else y.nbytes for y in values)


def beside_outputs(model, feeds):
    """The bytes that a run needs, without those of its outputs."""
    own = bytes_of(outputs(model, feeds))
    low, high = own, MOST
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if outputs(model, feeds, middle) is not None else (middle + 1, high)
    return high - own


def first_input(case):
    (node,) = case.model.graph.node
    return case.feeds.get(node.input[0]) if node.input else None


def calls_of(schema):
    """Calls of float with a first input of some size."""
    name = f"{schema.domain or 'ai.onnx'}.{schema.name}-{schema.since_version}/float"
    for index in range(TRIES):
        case = random_cases.make(f"{name}/{index}", 11, "tame")
        x = first_input(case)
        if isinstance(x, np.ndarray) and x.size >= LEAST and x.dtype == np.float32 and not case.call.random:
            yield case


def kinds_copied(schema, kinds):
    """The ones of `kinds` that are copied."""
    found, known = set(), set()
    for case in calls_of(schema):
        plain = copy.copy(case)
        plain.newest = None
        base = beside_outputs(case.model, case.feeds)
        for kind in kinds - known:
            if is_copied(plain, kind, base):
                found.add(kind)
        known |= found
        if known == kinds:
            break
    return found


def is_copied(case, kind, base):
    model, feeds = retyped(case, {FLOAT}, kind)
    size = first_input(case).size
    try:
        own = bytes_of(outputs(model, feeds))
    except (sardonyx.InvalidArgument, sardonyx.InvalidGraph, sardonyx.Fail, sardonyx.NotImplemented):
        return False  # an attribute fits float alone
    return outputs(model, feeds, own + base + 4 * size - 1) is None


def table():
    """The table, of a process with the portable kernels."""
    code = f"import sys; sys.path[:0] = {sys.path!r}; import memory; sys.stdout.write(memory.measured_table())"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True,
                          env=os.environ | {"SDX_MAX_ISA": "baseline"})
    assert done.returncode == 0, done.stderr
    return done.stdout


def measured_table():
    lines = ["# Types that are computed from copies in a wider type, by matrix.py --copied: domain, operator, types."]
    for (domain, operator), group in sorted(HISTORY.items()):
        if kinds := measured(group[-1]):
            lines.append(f"{domain or 'ai.onnx'}\t{operator}\t{' '.join(NAMES[k] for k in sorted(kinds))}")
    return "\n".join(lines) + "\n"


def measured(schema):
    """The types below 8 bytes that the newest version copies."""
    if schema.deprecated or (schema.domain, schema.name) not in random_cases.RECIPES:
        return set()
    variable, kinds = random_cases.kinds_of(schema)
    narrow = {k for k in kinds if k in FLOATS | INTEGERS and k != FLOAT and dtype_of(k).itemsize < 8}
    if variable is None or FLOAT not in kinds or not narrow:
        return set()
    return kinds_copied(schema, narrow)
