"""Calls of operators (hostile_nodes.py) with inputs of other shapes.

One input becomes empty, a scalar, one row or column smaller or larger, or gets another rank; or one or two sizes change
in all inputs, so that they still fit together. The models declare no shapes. The inputs lie at the end of readable
memory, so that a kernel that reads past its input crashes.

To add a way to reshape, add its row to WAYS.
"""
import ctypes
import itertools
import mmap

import hostile_nodes
import numpy as np


def first(value):
    """Its first element, or a zero where there is none."""
    return value.reshape(-1)[0] if value.size else np.zeros((), value.dtype)[()]


def filled(value, shape):
    """The elements of `value` again and again in `shape`."""
    count = int(np.prod(shape))
    flat = value.reshape(-1) if value.size else np.full(1, first(value), value.dtype)
    return np.resize(flat, count).astype(value.dtype).reshape(shape)


def resized(value, axis, by):
    shape = list(value.shape)
    shape[axis] += by
    return filled(value, shape) if shape[axis] >= 0 else None


WAYS = {"empty": lambda value: np.zeros(0, value.dtype),
        "scalar": lambda value: filled(value, []) if value.ndim else None,
        "one": lambda value: filled(value, [1]),
        "two": lambda value: filled(value, [2]),
        "an axis more in front": lambda value: value[None],
        "an axis more behind": lambda value: value[..., None],
        "flat": lambda value: value.reshape(-1) if value.ndim > 1 else None,
        "no rows": lambda value: value[:0] if value.ndim else None,
        "no columns": lambda value: value[..., :0] if value.ndim > 1 else None,
        "a row less": lambda value: resized(value, 0, -1) if value.ndim else None,
        "a row more": lambda value: resized(value, 0, 1) if value.ndim else None,
        "a column less": lambda value: resized(value, -1, -1) if value.ndim > 1 else None,
        "a column more": lambda value: resized(value, -1, 1) if value.ndim > 1 else None,
        "another second axis": lambda value: resized(value, 1, 1) if value.ndim > 2 else None,
        "a second axis less": lambda value: resized(value, 1, -1) if value.ndim > 2 else None}


def sizes_of(case):
    return sorted({size for value in case.feeds.values() if isinstance(value, np.ndarray) for size in value.shape})


def with_sizes(value, sizes):
    """`value` in the shape that has sizes[s] where it has s."""
    return filled(value, [sizes.get(size, size) for size in value.shape])


def at_the_edge(value):
    """The same array, with memory behind its last element that nobody may read."""
    page = mmap.PAGESIZE
    room = -(-value.nbytes // page) * page
    memory = mmap.mmap(-1, room + page)
    start = np.frombuffer(memory, np.uint8).ctypes.data
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mprotect(ctypes.c_void_p(start + room), ctypes.c_size_t(page), 0) != 0:
        raise OSError(ctypes.get_errno(), "mprotect")
    edge = np.frombuffer(memory, np.uint8)[room - value.nbytes:room].view(value.dtype).reshape(value.shape)
    edge[...] = value
    return edge


def changes_of(case):
    """Names of all its changes: INPUT/WAY, or */SIZE=NEW,SIZE=NEW."""
    sizes = sizes_of(case)
    for size in sizes:
        yield from (f"*/{size}={new}" for new in (0, 1, size + 1) if new != size)
    yield from (f"*/{one}=0,{other}=0" for one, other in itertools.combinations(sizes, 2) if one)
    for name, value in case.feeds.items():
        if isinstance(value, np.ndarray):
            for way, change in WAYS.items():
                found = change(value)
                if found is not None and found.shape != value.shape:
                    yield f"{name}/{way}"


def make(case, change):
    """`case` with inputs as `change` says. All shapes are unknown to the model."""
    name, way = change.rsplit("/", 1)
    mutation = hostile_nodes.Mutation(case, change)
    if name == "*":
        sizes = {int(size): int(new) for size, new in (part.split("=") for part in way.split(","))}
        for key, value in case.feeds.items():
            if isinstance(value, np.ndarray):
                mutation.put(key, with_sizes(value, sizes))
        mutation.note("sizes are", way)
    else:
        mutation.put(name, WAYS[way](case.feeds[name]))
        mutation.note(name, "is", way, list(mutation.case.feeds[name].shape))
    made = mutation.seal("ranks")
    for key, value in made.feeds.items():
        if isinstance(value, np.ndarray) and value.dtype != object and value.nbytes < 1 << 24:
            made.feeds[key] = at_the_edge(value)
    return made
