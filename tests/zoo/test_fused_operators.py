"""tests/zoo/test_fused_operators.py - every attention of every transformer in the zoo becomes one operator.

The table fused_operators.tsv has their numbers, counted in the architectures. The weights are holes in sparse files,
because fusions do not depend on them. To add a model, add a row to the table.
"""
import csv
import os
import pathlib
import re
import shutil
import subprocess

import model_zoo
import onnx
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = pathlib.Path(os.environ.get("SDX_BUILD", ROOT / "build/release")) / "bin/sardonyx"
TABLE = pathlib.Path(__file__).with_name("fused_operators.tsv")
PASSES = {"attentions": ("fuse_attention", "Attention"), "rotary": ("fuse_rotary_embedding", "RotaryEmbedding"),
          "embeddings": ("fuse_embed_layer_norm", "com.microsoft.EmbedLayerNormalization")}
ROWS = list(csv.DictReader(TABLE.open(encoding="utf-8"), delimiter="\t"))

needs_zoo = pytest.mark.skipif(not model_zoo.present(), reason=model_zoo.why_absent())


def with_holes(name, folder):
    """The model beside files of the right size that hold nothing."""
    path = shutil.copy(model_zoo.SOURCE / "models" / f"{name}.onnx", folder)
    sizes = {}
    for tensor in onnx.load(path, load_external_data=False).graph.initializer:
        entries = {entry.key: entry.value for entry in tensor.external_data}
        if entries:
            end = int(entries.get("offset", 0)) + int(entries["length"])
            sizes[entries["location"]] = max(end, sizes.get(entries["location"], 0))
    for location, size in sizes.items():
        with open(folder / location, "wb") as file:
            file.truncate(size)
    return path


def made_by(model, name, operator):
    """How many of the operator the pass made, as its explanation says."""
    done = subprocess.run([TOOL, "optimize", model, "--explain", "--rule", name], capture_output=True, text=True,
                          check=True)
    counts = re.compile(rf"{name}:(,? \S+ \d+ -> \d+)+")  # the line that sums up what the pass did
    summary = "\n".join(line for line in done.stdout.splitlines() if counts.fullmatch(line))
    found = re.findall(rf" {re.escape(operator)} (\d+) -> (\d+)", summary)
    return sum(int(after) - int(before) for before, after in found), summary


@needs_zoo
@pytest.mark.parametrize("row", ROWS, ids=[row["model"] for row in ROWS])
def test_operators_are_as_many_as_the_architecture_has(row, tmp_path):
    model = with_holes(row["model"], tmp_path)
    for column, (name, operator) in PASSES.items():
        count, summary = made_by(model, name, operator)
        assert count == int(row[column]), f"{row['why']}: {summary}"
    _, summary = made_by(model, "fuse_attention", "Attention")
    left = re.findall(r" Softmax \d+ -> (\d+)", summary)
    assert left and int(left[-1]) == (1 if row["model"] == "yolo11n" else 0), summary  # that one is no attention
