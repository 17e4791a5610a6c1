#!/usr/bin/env python3
"""Compares our package `onnxruntime` with ONNX Runtime's, name by name, and writes docs/python_parity.md.

Each package is surveyed by a process of its own: modules, classes, members, parameters with their defaults, constants
and exceptions. Parameters of compiled functions are read from their docstrings. Every difference needs a row with its
reason in tools/python_differences.tsv, and every row a difference.

usage: tools/python_parity.py [--update] [--build FOLDER]      with the Python of .venv-test
"""
import argparse
import enum
import fnmatch
import importlib
import inspect
import json
import os
import pathlib
import pkgutil
import re
import subprocess
import sys
import types

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/python_parity.md"
REASONS = ROOT / "tools/python_differences.tsv"
WHOLE_PACKAGES = ("quantization", "transformers", "tools")  # refused by name, and not surveyed
PROTOCOLS = ("__array__", "__dlpack__", "__dlpack_device__", "__len__", "__iter__", "__getitem__")

INTRODUCTION = """# The Python package `onnxruntime`

Programs that were written for ONNX Runtime run on Sardonyx if they import this package. There are three ways:

- `PYTHONPATH=build/release/as_onnxruntime python program.py`: this folder alone is enough;
- `python -m sardonyx.as_onnxruntime program.py arguments`: nothing is installed or changed;
- install the wheels `sardonyx` and `onnxruntime` that `make wheel` builds: packages that require `onnxruntime` are
  content with them.

`onnxruntime.sardonyx_version` tells that the package is Sardonyx's. Its names are those of ONNX Runtime {version};
`tools/python_parity.py` compares the two packages name by name and generates this page (`--update`), and
`tests/python/test_parity.py` keeps it up to date. What Sardonyx lacks exists too: using it raises an error with its
name, which is a `NotImplementedError`.

The package differs from `sardonyx` in two behaviours:

- If a provider in the list of a session is not available, `onnxruntime.InferenceSession` warns, says what runs instead,
  and goes on; `sardonyx.InferenceSession` raises an error unless the list also has `CPUExecutionProvider`. The session
  configuration entry `sardonyx.strict_providers` decides it under both names: 1 is the error, 0 the warning.
- A dict is an input for maps to floats only, and an error for others, as in ONNX Runtime, whose users' tests expect it;
  `sardonyx.InferenceSession` takes it for maps of all types.

A run can be awaited under both names: `outputs = await session.run_async(None, feed)`.
"""


# ---- the survey: runs in the process that has one of the packages ----
def parameters_from_text(function):
    """Parameters from the first line of a compiled function's docstring; None if it has several forms."""
    text = (getattr(function, "__doc__", None) or "").split("\n")[0]
    found = re.match(r"\w+\((.*)\) -> ", text)
    if not found or "*args" in text:
        return None
    parts, depth = [""], 0
    for letter in found[1]:
        depth += (letter in "[(<") - (letter in "])>")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    rows = []
    for part in filter(None, map(str.strip, parts)):
        declared, _, default = part.partition(" = ")
        name = declared.split(":")[0].strip()
        rows.append([None if re.fullmatch(r"arg\d+", name) else name, default or None])
    return rows[1:] if found[1].startswith("self") else rows


def parameters_of(function, drop_first=False):
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return parameters_from_text(function)
    if [p.name for p in signature.parameters.values()][-2:] == ["args", "kwargs"]:  # compiled, or without a constructor
        return parameters_from_text(function)
    rows = [[("*" * (int(p.kind) // 2) if p.kind in (2, 4) else "") + p.name,
             None if p.default is p.empty else repr(p.default)] for p in signature.parameters.values()]
    return rows[1:] if drop_first else rows


def members_of(owner):
    """(name, member, whether its first parameter is the object) of a class."""
    for name in sorted(dir(owner)):
        inherited = hasattr(object, name) or (issubclass(owner, Exception) and hasattr(Exception, name))
        if inherited or (name.startswith("_") and name not in PROTOCOLS):
            continue
        static = inspect.getattr_static(owner, name)
        is_method = not isinstance(static, (staticmethod, classmethod)) and callable(static)
        yield name, getattr(owner, name), is_method and not inspect.isclass(static)


def describe_class(name, owner):
    """{dotted name: row} of a class and its members."""
    numbers = getattr(owner, "__members__", None)
    if numbers is not None:
        return {name: {"kind": "enumeration", "home": owner.__module__}} | {
            f"{name}.{key}": {"kind": "value", "value": int(value)} for key, value in numbers.items()}
    refused = bool(getattr(owner, "is_refused", False))
    row = {"kind": "exception" if issubclass(owner, Exception) else "class", "home": owner.__module__,
           "refused": refused}
    if row["kind"] == "class" and owner.__init__ is not object.__init__:
        row["parameters"] = parameters_of(owner.__init__, True)
    rows = {name: row}
    for member_name, member, is_method in members_of(owner):
        if callable(member):
            rows[f"{name}.{member_name}"] = {"kind": "function", "parameters": parameters_of(member, is_method),
                                             "refused": bool(getattr(member, "is_refused", False))}
        elif member_name != "is_refused":
            rows[f"{name}.{member_name}"] = {"kind": "attribute"}
    return rows


def describe(name, thing):
    """{dotted name: row} of a name in a module; nothing for what the module has only imported from elsewhere."""
    home = getattr(thing, "__module__", None) or ""
    if isinstance(thing, (type(None), str, int, float)):
        value = int(thing) if isinstance(thing, enum.IntEnum) else thing
        return {name: {"kind": "value", "value": value}}
    if isinstance(thing, types.GenericAlias):
        return {name: {"kind": "type"}}
    if not inspect.isclass(thing) and hasattr(type(thing), "__members__"):
        return {name: {"kind": "value", "value": int(thing)}}
    if not home.startswith(("onnxruntime", "sardonyx")):
        return {}
    if inspect.isclass(thing):
        return describe_class(name, thing)
    refused = bool(getattr(thing, "is_refused", False))
    return {name: {"kind": "function", "home": home, "parameters": parameters_of(thing), "refused": refused}}


def survey():
    import onnxruntime

    rows = {}
    names = ["onnxruntime"]
    for module in pkgutil.walk_packages(onnxruntime.__path__, "onnxruntime."):
        if not any(module.name.startswith(f"onnxruntime.{package}.") for package in WHOLE_PACKAGES):
            names.append(module.name)
    for name in names:
        last = name.rpartition(".")[2]
        if last.startswith("lib") or (last.startswith("_") and last != "_pybind_state"):  # a library, or private
            continue
        rows[name] = {"kind": "module", "refused": last in WHOLE_PACKAGES and hasattr(onnxruntime, "sardonyx_version")}
        if last in WHOLE_PACKAGES:
            continue
        module = importlib.import_module(name)
        for key in sorted(vars(module)):
            thing = vars(module)[key]
            if key == "__version__" or not (key.startswith("_") or inspect.ismodule(thing)):
                rows |= describe(f"{name}.{key}", thing)
    return {"file": onnxruntime.__file__, "is_ours": hasattr(onnxruntime, "sardonyx_version"), "rows": rows}


# ---- the comparison ----
def survey_in_process(folder=None):
    """The survey of the installed package, or of that in `folder`."""
    variables = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    if folder is not None:
        variables["PYTHONPATH"] = str(folder)
    done = subprocess.run([sys.executable, "-W", "ignore", __file__, "--survey"], env=variables, text=True,
                          capture_output=True, cwd=ROOT)
    if done.returncode:
        raise RuntimeError(f"the survey of {folder or 'the installed package'} failed:\n{done.stderr}")
    found = json.loads(done.stdout)
    if found["is_ours"] != (folder is not None):
        raise RuntimeError(f"expected {'our' if folder else 'the installed'} package, found {found['file']}")
    return found["rows"]


def parameters_differ(theirs, ours):
    """What differs between two lists of parameters; "" if nothing does.

    Compiled functions have parameters without names: ours may have any name and a default there, and more parameters
    with defaults behind them. Lists that are unknown (None) are not compared.
    """
    if theirs is None or ours is None:
        return ""

    def shown(rows):
        return "(" + ", ".join((name or "_") + (f"={default}" if default else "") for name, default in rows) + ")"

    def equal(a, b):
        return a == b or (a[0] is None and a[1] in (None, b[1]))

    more = ours[len(theirs):] if any(name is None for name, _ in theirs) else []
    same_length = len(theirs) == len(ours) - len(more) and all(default for _, default in more)
    if same_length and all(map(equal, theirs, ours)):
        return ""
    return f"{shown(ours)} instead of {shown(theirs)}"


def is_alias(name, row):
    """Whether a name leads to what has its home in another module: its members are listed there."""
    return "home" in row and name.rpartition(".")[0] != row["home"]


def compare(theirs, ours):
    """{name: (difference, text)} for every name of theirs that differs in ours, and the number of names by module."""
    differences, counts = {}, {}
    aliases = tuple(f"{name}." for name, row in theirs.items() if is_alias(name, row))
    modules = [name for name, row in theirs.items() if row["kind"] == "module"]
    for name, row in theirs.items():
        if aliases and name.startswith(aliases):
            continue
        module = max((m for m in modules if name == m or name.startswith(f"{m}.")), key=len)
        counts.setdefault(module, []).append(name)
        mine = ours.get(name)
        if mine is None:
            differences[name] = "missing", ""
        elif mine.get("refused") and not is_alias(name, row):
            differences[name] = "refused", parameters_differ(row.get("parameters"), mine.get("parameters"))
        elif is_alias(name, row):
            continue
        elif mine["kind"] != row["kind"]:
            differences[name] = "kind", f"{mine['kind']} instead of {row['kind']}"
        elif mine.get("value") != row.get("value"):
            differences[name] = "value", f"{mine.get('value')!r} instead of {row.get('value')!r}"
        elif text := parameters_differ(row.get("parameters"), mine.get("parameters")):
            differences[name] = "parameters", text
    return differences, counts


def reasons():
    """[(pattern, difference, reason)]"""
    lines = REASONS.read_text().splitlines()[1:]
    return [tuple(line.split("\t")) for line in lines if line]


def explained(differences):
    """({name: reason}, [names without a reason], [rows without a difference])"""
    found, used = {}, set()
    for name, (difference, _) in differences.items():
        for row in reasons():
            if row[1] == difference and fnmatch.fnmatchcase(name, row[0]):
                found.setdefault(name, row[2])
                used.add(row)
    return found, sorted(set(differences) - set(found)), [row for row in reasons() if row not in used]


def page(theirs, ours):
    differences, counts = compare(theirs, ours)
    why, _, _ = explained(differences)
    refused = {name for name, (kind, _) in differences.items() if kind == "refused"}
    lines = [INTRODUCTION.format(version=theirs["onnxruntime.__version__"]["value"]),
             "## Modules\n", "| module | names | equal | different | not implemented |", "|---|---|---|---|---|"]
    for module, names in counts.items():
        lacking = sum(name in refused for name in names)
        other = sum(name in differences for name in names) - lacking
        lines.append(f"| `{module}` | {len(names)} | {len(names) - lacking - other} | {other} | {lacking} |")
    lines += ["", "A name counts where its module defines it; modules that import it are checked to have it too.", "",
              "## Not implemented\n", "| name | reason |", "|---|---|"]
    groups = {}
    for name in sorted(refused):
        if name.rpartition(".")[0] not in refused:  # members of a refused class need no row
            groups.setdefault(why.get(name, ""), []).append(name.removeprefix("onnxruntime.").removeprefix("capi."))
    lines += [f"| {', '.join(f'`{name}`' for name in names)} | {reason} |" for reason, names in groups.items()]
    lines += ["", "## Different\n", "| name | difference | reason |", "|---|---|---|"]
    for name in sorted(set(differences) - refused):
        kind, text = differences[name]
        shown = f"{kind}: `{text}`" if text else kind
        lines.append(f"| `{name.removeprefix('onnxruntime.')}` | {shown} | {why.get(name, '')} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--survey", action="store_true", help="print the survey of the package on the path, as JSON")
    parser.add_argument("--update", action="store_true", help="write the page")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release", help="the folder of the build")
    options = parser.parse_args()
    if options.survey:
        print(json.dumps(survey()))
        return
    theirs, ours = survey_in_process(), survey_in_process(options.build / "as_onnxruntime")
    differences, _ = compare(theirs, ours)
    _, without_reason, without_difference = explained(differences)
    for name in without_reason:
        print(f"no reason for: {name}\t{differences[name][0]}\t{differences[name][1]}")
    for row in without_difference:
        print(f"no difference for: {row}")
    if options.update:
        PAGE.write_text(page(theirs, ours))
    elif not PAGE.exists() or PAGE.read_text() != page(theirs, ours):
        print(f"{PAGE.name} is out of date: run tools/python_parity.py --update")
        sys.exit(1)
    sys.exit(1 if without_reason or without_difference else 0)


if __name__ == "__main__":
    main()
