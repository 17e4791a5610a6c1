"""What a plug-in provider is shown of a model, in Sardonyx and in ONNX Runtime: the same but for the rows of
seen_differences.tsv, each with its reason."""
import csv
import functools
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
import seen_models

HERE = pathlib.Path(__file__).parent
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", HERE.parents[1] / "build/release")).resolve()
LIBRARY = BUILD / "lib/libtest_seeing_plugin.so"
# ONNX Runtime has these in the order of a hash table.
UNORDERED = ("initializers", "consumers", "implicit_inputs", "inputs of a part")
CLAIMS = {"claim": "MatMul,Add,If", "bodies": "0"}


def lines(path, folder, level, options, package):
    file = folder / f"{package or 'stock'}_{path.stem}_{level}.jsonl"
    file.unlink(missing_ok=True)
    environment = {**os.environ, "PYTHONPATH": str(BUILD / package) if package else ""}
    command = [sys.executable, HERE / "seen_cases.py", LIBRARY, path, file, str(level),
               *(f"{key}={value}" for key, value in options.items())]
    done = subprocess.run([*map(str, command)], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return [json.loads(line) for line in file.read_text().splitlines()]


def both(model, folder, level=0, **options):
    path = seen_models.ALL[model](folder)
    return [lines(path, folder, level, options, package) for package in ("", "as_onnxruntime")]


def in_order(shown, key=None):
    if isinstance(shown, dict):
        part = "inputs of a part" if key == "part" else "inputs"
        return {name: in_order(value, part if name == "inputs" else name) for name, value in shown.items()}
    if not isinstance(shown, list):
        return shown
    return sorted(shown, key=json.dumps) if key in UNORDERED else [in_order(value) for value in shown]


def differences(stock, ours, where=""):
    """The places where two answers differ."""
    if isinstance(stock, dict) and isinstance(ours, dict):
        for key in sorted(stock.keys() | ours.keys()):
            if key not in stock or key not in ours:
                yield f"{where}/{key}"
            else:
                yield from differences(stock[key], ours[key], f"{where}/{key}")
    elif isinstance(stock, list) and isinstance(ours, list) and len(stock) == len(ours):
        for i, (a, b) in enumerate(zip(stock, ours)):
            yield from differences(a, b, f"{where}/{i}")
    elif stock != ours:
        yield where


@functools.cache
def rows():
    with open(HERE / "seen_differences.tsv", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def compare(name, stock, ours):
    patterns = {row["where"]: 0 for row in rows() if row["model"] == name and row["where"]}
    assert [kind(line) for line in stock] == [kind(line) for line in ours], name
    for a, b in zip(in_order(stock), in_order(ours)):
        for where in differences(a, b):
            matching = [pattern for pattern in patterns if re.fullmatch(pattern, where)]
            assert matching, f"{name}: {where} differs, without a reason"
            patterns[matching[0]] += 1
    assert all(patterns.values()), f"nothing differs in {[pattern for pattern, count in patterns.items() if not count]}"


def kind(line):
    return ("compiled", "") if "compiled" in line else ("seen", line["seen"]["name"])


@pytest.mark.parametrize("model", ["cnn", "transformer", "constants", "quantized", "external", "old", "sequences",
                                   "late_errors"])
def test_graphs_are_those_of_onnx_runtime(model, tmp_path):
    compare(model, *both(model, tmp_path))


def test_compiled_graphs_are_those_of_onnx_runtime(tmp_path):
    stock, ours = both("transformer", tmp_path, **CLAIMS)
    for lines_of in (stock, ours):  # the same as without claims
        for line in lines_of:
            for key in ("seen", "part", "compiled"):
                for name in ("l", "r"):
                    line.get(key, {"values": {}})["values"].pop(name, None)
    assert sum("compiled" in line for line in ours) == 9
    compare("transformer, compiled", stock, ours)


def test_compiled_loops_and_their_bodies_are_those_of_onnx_runtime(tmp_path):
    """ONNX Runtime ends where the bodies of a compiled If are looked at."""
    stock, ours = both("transformer", tmp_path, claim="Loop,Scan")
    assert sum("compiled" in line for line in ours) == 2
    compare("transformer, loops", stock, ours)


def test_nodes_whose_errors_come_in_a_run_are_compiled_as_written(tmp_path):
    stock, ours = both("late_errors", tmp_path, claim="Reshape,BiasGelu")
    shown = [[(node["op_type"], node["domain"], sorted(node["attributes"])) for line in lines_of if "compiled" in line
              for node in line["compiled"]["nodes"]] for lines_of in (stock, ours)]
    assert shown[0] == shown[1]
    assert [op for op, _, _ in shown[1]] == ["BiasGelu", "Reshape"]


def structure(lines_of):
    """The graphs without the names that were made for them."""
    shown = []
    for line in lines_of:
        graph = line.get("seen") or line["compiled"]
        types = sorted(json.dumps(value["type"]) for value in graph["values"].values())
        nodes = [(*(node[key] for key in ("op_type", "domain", "since_version")), sorted(node["attributes"]),
                  len(node["inputs"])) for node in graph["nodes"]]
        shown.append(("seen" in line, nodes, types, len(graph["initializers"]), graph["inputs"], line.get("outer")))
    return shown


@pytest.mark.parametrize("options", [{}, {"claim": "Scaled,Half,Neg", "bodies": "0"}], ids=["shown", "claimed"])
def test_calls_of_functions_are_offered_level_by_level(options, tmp_path):
    stock, ours = both("functions", tmp_path, **options)
    assert structure(ours) == structure(stock)
    operators = [[node["op_type"] for node in line["seen"]["nodes"]] for line in ours if "seen" in line]
    assert operators[0] == ["Scaled", "Twice", "Abs", "Choose"]
    assert "Half" in operators[1] and "Twice" not in operators[1]
    assert "Half" not in operators[-1] or options


def test_functions_of_the_standard_that_the_cpu_runs_stay(tmp_path):
    stock, ours = both("standard_functions", tmp_path)
    assert (len(stock), len(ours)) == (2, 1)
    assert list(differences(in_order(stock[0]), in_order(ours[0]))) == []


def test_weights_stay_quantized_at_every_level(tmp_path):
    _, (ours,) = both("quantized", tmp_path, 99)
    assert {"w", "v", "bias"} <= set(ours["seen"]["initializers"])
    assert [node["name"] for node in ours["seen"]["nodes"] if node["op_type"] == "DequantizeLinear"].count("dv") == 1


def moved(lines_of):
    """The operators on images channels last, when the provider is asked for the last time."""
    graph = [line["seen"] for line in lines_of if "seen" in line][-1]
    return {node["op_type"] + " " + node["name"].split("_")[0]: (node["since_version"], sorted(node["attributes"]))
            for node in graph["nodes"] if node["domain"] == "com.ms.internal.nhwc"}


@pytest.mark.parametrize("forced", [False, True], ids=["by default", "all"])
def test_images_lie_as_in_onnx_runtime(forced, tmp_path):
    options = {"layout": "NHWC", "claim": seen_models.IMAGE_OPERATORS}
    if forced:
        options["convert"] = seen_models.IMAGE_OPERATORS
    stock, ours = both("images", tmp_path, **options)
    assert moved(ours) == moved(stock)
    assert len(moved(ours)) == (29 if forced else 21)
    assert [kind(line) for line in ours] == [kind(line) for line in stock]


def test_the_nodes_between_images_follow(tmp_path):
    claim = "Conv,MaxPool,Add,Clip,GlobalAveragePool,BatchNormalization,Relu"
    for shown in both("cnn", tmp_path, layout="NHWC", claim=claim):
        nodes = [line["seen"] for line in shown if "seen" in line][-1]["nodes"]
        assert [node["op_type"] for node in nodes] == [
            "Transpose", "Conv", "BatchNormalization", "Relu", "MaxPool", "Conv", "Add", "Clip", "GlobalAveragePool",
            "Transpose", "Flatten", "Gemm"]
