#!/usr/bin/env python3
"""Counts circles among the files of src/: files that include each other, directly or through others.

A header and its source count as one file (x.h, x.cpp, x.isa.cpp). Two files that include each other may be one subject
in two parts. A larger circle is in effect one large file: none of its parts can be read, tested or moved alone.

usage: check_circles.py [REPOSITORY]
"""
import pathlib
import re
import sys

MOST = 2  # files in a circle
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def unit(path):
    return re.sub(r"(\.isa)?\.(h|cpp|inc)$", "", path)


def includes(root):
    """For each unit of src/, the units that it includes."""
    src = pathlib.Path(root) / "src"
    graph = {}
    for file in sorted(src.rglob("*")):
        if file.suffix not in {".h", ".cpp", ".inc"}:
            continue
        own = unit(file.relative_to(src).as_posix())
        used = graph.setdefault(own, set())
        used |= {unit(path) for path in INCLUDE.findall(file.read_text()) if (src / path).exists()} - {own}
    return graph


def circles(graph):
    """The strongly connected components of two units or more, the largest first (Tarjan, without recursion)."""
    index, low, stack, found = {}, {}, [], []
    for root in sorted(graph):
        work = [] if root in index else [(root, iter(sorted(graph[root])))]
        if work:
            index[root] = low[root] = len(index)
            stack.append(root)
        while work:
            at, rest = work[-1]
            for used in rest:
                if used not in index:
                    index[used] = low[used] = len(index)
                    stack.append(used)
                    work.append((used, iter(sorted(graph.get(used, ())))))
                    break
                if used in stack:
                    low[at] = min(low[at], index[used])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[at])
                if low[at] == index[at]:
                    part = stack[stack.index(at):]
                    del stack[stack.index(at):]
                    found += [sorted(part)] if len(part) > 1 else []
    return sorted(found, key=lambda part: (-len(part), part))


def summary(found):
    return f"circles of files: {len(found)}" + "".join(f"\n  {len(part)}: {', '.join(part)}" for part in found)


def faults(graph, found):
    return [f"a circle of {len(part)} files, expected at most {MOST}: " +
            "; ".join(f"{file} includes {', '.join(sorted(graph[file] & set(part)))}" for file in part)
            for part in found if len(part) > MOST]


def main():
    graph = includes(sys.argv[1] if len(sys.argv) > 1 else ".")
    found = circles(graph)
    print(summary(found))
    red = faults(graph, found)
    print("\n".join(red), end="\n" if red else "")
    sys.exit(bool(red))


if __name__ == "__main__":
    main()
