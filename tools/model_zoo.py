"""tools/model_zoo.py - the zoo of real architectures in ../shared/zoo: models with weights, inputs in several sizes.

The zoo contains graphs without weights. Its materialize.py generates the weights, here in the folder that the
environment variable SDX_ZOO names, or in build/zoo; all models take 7.7 GB. SDX_ZOO_SOURCE names another zoo of the
same form. To test a model at other sizes, add a row to tests/zoo/sizes.tsv.
"""
import dataclasses
import fcntl
import fnmatch
import functools
import importlib.util
import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = pathlib.Path(os.environ.get("SDX_ZOO_SOURCE", ROOT.parent / "shared/zoo"))
FOLDER = pathlib.Path(os.environ.get("SDX_ZOO", ROOT / "build/zoo"))
SIZES = ROOT / "tests/zoo/sizes.tsv"
FIRST = "as listed"  # the name of the size in the zoo's own table
# Outputs that are tables of detections (box, score, class, masks): compared as sets. Others are found by their names.
TABLES = {"yolov8n_seg_nms": "output0"}


def present():
    return (SOURCE / "index.tsv").exists()


def why_absent():
    return f"the zoo is not there: {SOURCE} (its place can be given by SDX_ZOO_SOURCE)"


@functools.cache
def module(name):
    """One of the zoo's own Python files, loaded by its path because tests/models has a file named `zoo`, too."""
    spec = importlib.util.spec_from_file_location(f"shared_{name}", SOURCE / f"{name}.py")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


@functools.cache
def entries():
    """The rows of the zoo's table, by name."""
    return {row["name"]: row for row in module("zoo").entries(str(SOURCE))}


def families():
    return sorted({row["family"] for row in entries().values()})


def select(patterns):
    """The names that the patterns select (a name, a family, a glob, "all"), in the zoo's order."""
    chosen = set()
    for pattern in patterns:
        found = {name for name, row in entries().items()
                 if pattern == "all" or row["family"] == pattern or fnmatch.fnmatch(name, pattern)}
        if not found:
            raise SystemExit(f"'{pattern}' is no model and no family of {SOURCE}; families: {' '.join(families())}")
        chosen |= found
    return [name for name in entries() if name in chosen]


def path(name):
    """The path of the model with its weights, which are written first if they are missing."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with open(FOLDER / f"{name}.lock", "w") as lock:  # several processes may need the same model
        fcntl.flock(lock, fcntl.LOCK_EX)
        return pathlib.Path(module("materialize").materialize(name, str(FOLDER), str(SOURCE), quiet=True))


@dataclasses.dataclass(frozen=True)
class Size:
    name: str
    dims: dict  # symbol of the model's inputs -> number; "input:axis" for axes without a symbol
    values: dict  # input -> its values in the form of the zoo's table, if they depend on the size


@functools.cache
def size_rows():
    rows = {}
    for line in SIZES.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        model, assignments = line.split("\t")
        dims, values = {}, {}
        for assignment in assignments.split():
            key, _, value = assignment.partition("=")
            (values if value.startswith("=") else dims)[key] = value
        name = ", ".join(f"{symbol} {number}" for symbol, number in dims.items())
        rows.setdefault(model, []).append(Size(name, {k: int(v) for k, v in dims.items()}, values))
    return rows


def sizes(name):
    """The sizes at which a model is run, the zoo's own first."""
    return [Size(FIRST, {}, {}), *size_rows().get(name, [])]


def inputs(name, size=None, shapes=None, seed=0):
    """{input: array}, fixed by the seed. `shapes` are those of the session's inputs, with symbols: {input: [dim]}."""
    row = dict(entries()[name])
    if size and (size.dims or size.values):
        row["inputs"] = " ; ".join(resized(spec, size, shapes) for spec in module("zoo").specs(row))
    return module("zoo").inputs(row, seed)


def resized(spec, size, shapes):
    """One input in the form of the zoo's table, with the dimensions of `size`."""
    name, dtype, shape, values = spec
    symbols = shapes[name]
    dims = [size.dims.get(symbol if isinstance(symbol, str) else f"{name}:{axis}",
                          size.dims.get("?", dim) if symbol is None else dim)
            for axis, (symbol, dim) in enumerate(zip(symbols, shape, strict=True))]
    values = size.values.get(name, values)
    return f"{name}:{dtype}:{'x'.join(map(str, dims)) or 'scalar'}" + (f":{values}" if values else "")
