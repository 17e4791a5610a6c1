#!/usr/bin/env python3
"""Compares our package `onnxruntime` with ONNX Runtime's, name by name, and writes docs/python_parity.md.

Each package is surveyed by a process of its own: modules, classes, members, parameters with their defaults, constants
and exceptions. Parameters of compiled functions are read from their docstrings; modules of ONNX Runtime that need a
package that is not installed (torch, say) are surveyed by their syntax, and ours have to be imported without it. Every
difference needs a row with its reason in tools/python_differences.tsv, and every row a difference.

usage: tools/python_parity.py [--update] [--build FOLDER]      with the Python of .venv-test
"""
import argparse
import ast
import contextlib
import enum
import fnmatch
import importlib
import importlib.util
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
MISTAKES = ROOT / "tools/python_mistakes.tsv"  # tests/python/test_calls_of_programs.py makes them
LARGEST_VALUE = 2000  # letters of a constant that are compared one by one: longer ones by their length
PROTOCOLS = ("__array__", "__dlpack__", "__dlpack_device__", "__len__", "__iter__", "__getitem__")

INTRODUCTION = """# The Python package `onnxruntime`

Programs that were written for ONNX Runtime run on Sardonyx if they import this package. There are three ways:

- `PYTHONPATH=build/release/as_onnxruntime python program.py`: this folder alone is enough;
- `python -m sardonyx.as_onnxruntime program.py arguments`: nothing is installed or changed;
- install the wheels `sardonyx` and `onnxruntime` that `make wheel` builds: packages that require `onnxruntime` are
  content with them.

`onnxruntime.sardonyx_version` tells that the package is Sardonyx's. Its names are those of ONNX Runtime {version};
`tools/python_parity.py` compares the two packages name by name and generates this page (`--update`), and
`tests/python/test_parity.py` keeps it up to date. What is listed as not implemented exists too: using it raises an
error with its name, which is a `NotImplementedError`; so does importing a module that is missing.

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


def without_addresses(value):
    """The text of an object, the same in both packages and in all processes."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value)).replace("sardonyx.", "onnxruntime.")


def parameters_of(function, drop_first=False):
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return parameters_from_text(function)
    if [p.name for p in signature.parameters.values()][-2:] == ["args", "kwargs"]:  # compiled, or without a constructor
        return parameters_from_text(function)
    rows = [[("*" * (int(p.kind) // 2) if p.kind in (2, 4) else "") + p.name,
             None if p.default is p.empty else without_addresses(p.default)] for p in signature.parameters.values()]
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


def plain_number(member):
    """The value of a member of an enumeration: compiled ones convert to numbers."""
    return plain(member.value) if isinstance(member, enum.Enum) else int(member)


def describe_class(name, owner):
    """{dotted name: row} of a class and its members."""
    numbers = getattr(owner, "__members__", None)
    if numbers is not None:
        return {name: {"kind": "enumeration", "home": owner.__module__}} | {
            f"{name}.{key}": {"kind": "value", "value": plain_number(value)} for key, value in numbers.items()}
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


def plain(value):
    """A constant as JSON has it: numbers and texts, members of enumerations and classes by their names."""
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, (type(None), bool, int, float, str)):
        return value
    if isinstance(value, dict):
        return {str(plain(key)): plain(one) for key, one in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted((plain(one) for one in value), key=str)
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return getattr(value, "__name__", None) or without_addresses(value)


def describe(name, thing):
    """{dotted name: row} of a name in a module; nothing for what the module has only imported from elsewhere."""
    home = getattr(thing, "__module__", None) or ""
    if isinstance(thing, (type(None), str, int, float)):
        value = int(thing) if isinstance(thing, enum.IntEnum) else thing
        return {name: {"kind": "value", "value": value}}
    if isinstance(thing, (dict, list, tuple, set, frozenset)):
        value = plain(thing)
        text = json.dumps(value, sort_keys=True)
        return {name: {"kind": "value", "value": value if len(text) < LARGEST_VALUE else len(text)}}
    if isinstance(thing, types.GenericAlias):
        return {name: {"kind": "type"}}
    if not inspect.isclass(thing) and hasattr(type(thing), "__members__"):
        return {name: {"kind": "value", "value": plain(thing) if isinstance(thing, enum.Enum) else int(thing)}}
    if not home.startswith(("onnxruntime", "sardonyx")):
        return {}
    if inspect.isclass(thing):
        return describe_class(name, thing)
    if not callable(thing):
        return {name: {"kind": "attribute"}}
    refused = bool(getattr(thing, "is_refused", False))
    return {name: {"kind": "function", "home": home, "parameters": parameters_of(thing), "refused": refused}}


def syntax_of_parameters(function, drop_first=False):
    given = function.args
    positional = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(positional) - len(given.defaults)) + given.defaults
    rows = [(one.arg, default) for one, default in zip(positional, defaults, strict=True)]
    rows += [(f"*{given.vararg.arg}", None)] if given.vararg else []
    rows += [(one.arg, default) for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    rows += [(f"**{given.kwarg.arg}", None)] if given.kwarg else []

    def shown(default):
        try:
            return repr(ast.literal_eval(default))
        except ValueError:
            return ast.unparse(default)
    rows = [[name, None if default is None else shown(default)] for name, default in rows]
    return rows[1:] if drop_first else rows


def describe_syntax(name):
    """{dotted name: row} of a module that cannot be imported: its functions, its classes and their methods."""
    rows = {}
    found = importlib.util.find_spec(name)
    for part in ast.parse(pathlib.Path(found.origin).read_text()).body:
        key = f"{name}.{getattr(part, 'name', '_')}"
        if getattr(part, "name", "_").startswith("_"):
            continue
        if isinstance(part, ast.FunctionDef):
            rows[key] = {"kind": "function", "home": name, "parameters": syntax_of_parameters(part)}
        elif isinstance(part, ast.ClassDef) and "Enum" in {ast.unparse(base).split(".")[-1] for base in part.bases}:
            rows[key] = {"kind": "enumeration", "home": name}
        elif isinstance(part, ast.ClassDef):
            rows[key] = {"kind": "class", "home": name}
            for member in part.body:
                if isinstance(member, ast.FunctionDef) and member.name == "__init__":
                    rows[key]["parameters"] = syntax_of_parameters(member, True)
                elif isinstance(member, ast.FunctionDef) and not member.name.startswith("_"):
                    marks = {ast.unparse(one) for one in member.decorator_list}
                    rows[f"{key}.{member.name}"] = {"kind": "attribute"} if "property" in marks else {
                        "kind": "function", "parameters": syntax_of_parameters(member, "staticmethod" not in marks)}
    return rows


def modules_of(package):
    yield package.__name__
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.", onerror=lambda _: None):
        last = module.name.rpartition(".")[2]
        if last.startswith("lib") or (last.startswith("_") and last != "_pybind_state"):  # a library, or private
            continue
        yield module.name


def describe_module(name, is_ours):
    """{dotted name: row} of a module; nothing if it is not there."""
    try:
        module = importlib.import_module(name)
    except ImportError as failure:
        if is_ours and isinstance(failure, NotImplementedError):
            return {}
        if is_ours and not isinstance(failure, ModuleNotFoundError):
            raise
        if is_ours:
            return {} if (failure.name or "").startswith(("onnxruntime", "sardonyx")) else {
                name: {"kind": "module", "needs": failure.name}}
        return {name: {"kind": "module", "needs": failure.name}} | describe_syntax(name)
    rows = {name: {"kind": "module"}}
    for key in sorted(dir(module)):  # some members are loaded when they are asked for
        thing = getattr(module, key)
        if key == "TYPE_CHECKING":  # of Python
            continue
        if key == "__version__" or not (key.startswith("_") or inspect.ismodule(thing)):
            rows |= describe(f"{name}.{key}", thing)
    return rows


def survey(names=None):
    """What the package on the path has; of these modules only, if they are given."""
    import onnxruntime

    is_ours = hasattr(onnxruntime, "sardonyx_version")
    rows = {}
    with contextlib.redirect_stdout(sys.stderr):
        for name in names or list(modules_of(onnxruntime)):
            rows |= describe_module(name, is_ours)
    return {"file": onnxruntime.__file__, "is_ours": is_ours, "rows": rows}


# ---- the comparison ----
def survey_in_process(folder=None, names=None):
    """The survey of the installed package, or of that in `folder`: of all modules, or of those in `names`."""
    variables = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    if folder is not None:
        variables["PYTHONPATH"] = str(folder)
    done = subprocess.run([sys.executable, "-W", "ignore", __file__, "--survey"], env=variables, text=True,
                          capture_output=True, cwd=ROOT, input=json.dumps(names))
    if done.returncode:
        raise RuntimeError(f"the survey of {folder or 'the installed package'} failed:\n{done.stderr}")
    found = json.loads(done.stdout)
    if found["is_ours"] != (folder is not None):
        raise RuntimeError(f"expected {'our' if folder else 'the installed'} package, found {found['file']}")
    return found["rows"]


def surveys_of_both(build):
    """(rows of the installed package, rows of the same modules in ours)"""
    theirs = survey_in_process()
    names = [name for name, row in theirs.items() if row["kind"] == "module"]
    return theirs, survey_in_process(build / "as_onnxruntime", names)


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


def grouped(names, left_out, why):
    """Rows of a table: names with the same reason, without those whose class or module is among them."""
    groups = {}
    for name in sorted(names):
        if name.rpartition(".")[0] not in left_out:
            groups.setdefault(why.get(name, ""), []).append(name.removeprefix("onnxruntime.").removeprefix("capi."))
    return [f"| {', '.join(f'`{name}`' for name in shown)} | {reason} |" for reason, shown in groups.items()]


def page(theirs, ours):
    differences, counts = compare(theirs, ours)
    why, _, _ = explained(differences)
    refused = {name for name, (kind, _) in differences.items() if kind == "refused"}
    missing = {name for name, (kind, _) in differences.items() if kind == "missing"}
    lines = [INTRODUCTION.format(version=theirs["onnxruntime.__version__"]["value"]),
             "## Modules\n", "| module | names | equal | different | missing or not implemented |",
             "|---|---|---|---|---|"]
    for module, names in counts.items():
        lacking = sum(name in refused or name in missing for name in names)
        other = sum(name in differences for name in names) - lacking
        lines.append(f"| `{module}` | {len(names)} | {len(names) - lacking - other} | {other} | {lacking} |")
    lines += ["", "A name counts where its module defines it; modules that import it are checked to have it too.", "",
              "## Not implemented\n", "| name | reason |", "|---|---|", *grouped(refused, refused, why), "",
              "## Missing\n", "| name | reason |", "|---|---|", *grouped(missing, missing, why), "",
              "## Different\n", "| name | difference | reason |", "|---|---|---|"]
    for name in sorted(set(differences) - refused - missing):
        kind, text = differences[name]
        shown = f"{kind}: `{text}`" if text else kind
        lines.append(f"| `{name.removeprefix('onnxruntime.')}` | {shown} | {why.get(name, '')} |")
    lines += ["", "## Mistakes that end otherwise\n", "| call | ONNX Runtime | Sardonyx | why |", "|---|---|---|---|"]
    for row in MISTAKES.read_text().splitlines()[1:]:
        call, at_theirs, at_ours, reason = row.split("\t")
        lines.append(f"| `{call}` | {at_theirs.replace('gives', 'no error')} | {at_ours} | {reason} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--survey", action="store_true", help="print the survey of the package on the path, as JSON")
    parser.add_argument("--update", action="store_true", help="write the page")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release", help="the folder of the build")
    options = parser.parse_args()
    if options.survey:
        print(json.dumps(survey(json.load(sys.stdin))))
        return
    theirs, ours = surveys_of_both(options.build)
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
