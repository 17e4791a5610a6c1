"""benchmarks/kept_results.py - the figures of `make bench` in short, as benchmarks/results keeps them by ISA and date.

All ratios are a peer's time (or memory) / ours. A file is {"date", "machine": {"cpu", "versions", "ceilings", "note"},
"models": {name: {"family", "peak": ratio of memory, "process": ratio of whole processes beyond `import numpy`,
"threads": {number: {"ms": ours, "onnxruntime": ratio, "openvino": ratio, "start": ratio, "error": largest relative
difference}}}}, "nodes": {name: {number of threads: {"ms", "onnxruntime", "fma": share of the ceiling}}}}. What was not
measured is left out.
"""
import datetime
import json
import pathlib

import ceilings
import single_nodes

FOLDER = pathlib.Path(__file__).resolve().parent / "results"
ISAS = (("amx_int8", "amx"), ("avx512_vnni", "avx512_vnni"), ("avx512f", "avx512"), ("avx_vnni", "avx2_vnni"),
        ("avx2", "avx2"))  # the first that a CPU has gives the file its name


def isa(machine):
    return next((name for flag, name in ISAS if flag in machine["cpu"]["flags"]), "baseline")


def rounded(value):
    return float(f"{value:.4g}")


def of_threads(measured):
    row = {"ms": measured["latency_ms"]["sardonyx"], "onnxruntime": measured["speed"][1]}
    if "openvino" in measured:
        row["openvino"] = measured["openvino"][1]
    if "start_ms" in measured:
        row["start"] = measured["start_ms"]["onnxruntime"] / max(measured["start_ms"]["sardonyx"], 1e-3)
    return {name: rounded(value) for name, value in (row | {"error": measured["error"]}).items()}


def of_model(row):
    kept = {"family": row["family"]}
    for name, figure in (("peak", "peak_mb"), ("process", "process_ms")):
        if figure in row:
            kept[name] = rounded(row[figure]["onnxruntime"] / max(row[figure]["sardonyx"], 1e-3))
    return kept | {"threads": {str(count): of_threads(measured) for count, measured in row["threads"].items()}}


def of_nodes(kernels, machine):
    nodes = {}
    for row in kernels:
        if "failure" in row:
            continue
        ms, flops = row["latency_ms"]["sardonyx"], single_nodes.NODES[row["name"]].flops()
        limit = ceilings.fma(machine, row["threads"])
        kept = {"ms": rounded(ms), "onnxruntime": rounded(row["speed"][1])}
        if limit:
            kept["fma"] = rounded(flops / (ms * 1e6) / limit)
        nodes.setdefault(row["name"], {})[str(row["threads"])] = kept
    return nodes


def shortened(machine, results, kernels, note=""):
    found = {"cpu": machine["cpu"], "versions": machine["versions"], "note": note, "ceilings": machine["ceilings"]}
    return {"date": datetime.date.today().isoformat(), "machine": found,
            "models": {row["name"]: of_model(row) for row in results if "failure" not in row},
            "nodes": of_nodes(kernels, machine)}


def write(kept, folder=FOLDER):
    """The path of the file, which replaces an earlier one of the same ISA and day."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{isa(kept['machine'])}_{kept['date']}.json"
    lines = [f'{json.dumps(name)}: {json.dumps(row)}' for name, row in kept["models"].items()]
    nodes = [f'{json.dumps(name)}: {json.dumps(row)}' for name, row in kept["nodes"].items()]
    path.write_text(f'{{"date": "{kept["date"]}", "machine": {json.dumps(kept["machine"])},\n"models": {{\n'
                    + ",\n".join(lines) + '\n}, "nodes": {\n' + ",\n".join(nodes) + "\n}}\n")
    return path
