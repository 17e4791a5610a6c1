"""tests/zoo/proof_rows.py - the rows behind docs/quantization_proof.md, in quantized_zoo.tsv.

A row for each model and form, and one with the form "-" for each model, which counts its products: models without any
are not quantized. Rows are written one by one, so that a run of one model renews its rows and leaves the others. Rows
with a text in "earlier" are what a page said before there were rows, without nodes and seconds: they are run again.
"""
import fcntl
import pathlib
import re

PLACE = pathlib.Path(__file__).with_name("quantized_zoo.tsv")
COUNT = "-"  # the form of the row that counts a model's products
HEAD = """# Measured by quantized_zoo.py. SQNR in dB, seconds, bytes of the result; of nodes: how many, how many differ,
# numbers, how many differ, the largest difference.
"""
NUMBERS = ("sardonyx in sardonyx", "sardonyx in onnxruntime", "onnxruntime in onnxruntime", "agreement", "sardonyx s",
           "onnxruntime s")
COUNTS = ("products", "judged", "bytes")
TEXTS = ("sardonyx refuses", "onnxruntime refuses", "sardonyx in sardonyx: fails", "sardonyx in onnxruntime: fails",
         "onnxruntime in onnxruntime: fails", "ended", "earlier")
COLUMNS = ("model", "form", *COUNTS, "exact", *NUMBERS, *TEXTS, "nodes")
NODES = re.compile(r"(\w+)=(\d+),(\d+),(\d+),(\d+),(\S+)")


def _text(column, value):
    if value is None or value == "":
        return ""
    if column == "exact":
        return "yes" if value else "no"
    if column == "nodes" and isinstance(value, dict):
        return " ".join(f"{operator}={','.join(f'{one:g}' if one == most else str(one) for one in counts)}"
                        for operator, counts in sorted(value.items()) for most in counts[-1:])
    return f"{value:.2f}" if column in NUMBERS else " ".join(str(value).split())


def _value(column, text):
    if column in NUMBERS:
        return float(text) if text else None
    if column in COUNTS:
        return int(text) if text else None
    if column == "exact":
        return text == "yes" if text else None
    if column == "nodes" and (found := NODES.findall(text)):
        return {one[0]: [*map(int, one[1:5]), float(one[5])] for one in found}
    return text


def line_of(row):
    return "\t".join(_text(column, row.get(column)) for column in COLUMNS).rstrip("\t")


def row_of(line):
    """The row of a line. What a run that ended did not measure is not in it."""
    texts = line.split("\t")
    texts += [""] * (len(COLUMNS) - len(texts))
    row = {column: _value(column, text) for column, text in zip(COLUMNS, texts, strict=True)}
    return {key: value for key, value in row.items() if value or key not in ("ended", "nodes", "earlier")}


def read(place=PLACE):
    lines = place.read_text().splitlines() if place.exists() else []
    return [row_of(line) for line in lines if not line.startswith("#")]


def put(rows, place=PLACE):
    """Adds rows, each in place of the one of its model and form, while other processes may do the same."""
    with open(place, "a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        lines = [line for line in file.read().splitlines() if not line.startswith("#")]
        kept = {tuple(line.split("\t")[:2]): line for line in lines}
        kept |= {(row["model"], row["form"]): line_of(row) for row in rows}
        file.truncate(0)
        file.write(HEAD + "# " + "\t".join(COLUMNS) + "\n" + "".join(kept[key] + "\n" for key in sorted(kept)))
