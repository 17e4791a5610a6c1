#!/usr/bin/env python3
"""tests/zoo/optimized_models.py - what the optimizer leaves of each model of the zoo, compared with ONNX Runtime.

usage: optimized_models.py [MODEL ...] [--operators] [--write]

Prints for each model: the nodes of the saved model at the extended level (with function bodies and subgraphs), ours and
ONNX Runtime's; what is wrong with our saved models at each level, and which nodes of the author do not run without
optimizations (saved_models.py); the largest difference between the results with optimizations off, basic and all.
--operators lists the operators that differ. --write renews the table in docs/optimizer.md, or the rows of the models
that are named. Needs ../shared/zoo and, for the weights, the folder SDX_ZOO (tools/model_zoo.py).
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests/zoo")]
import model_zoo  # noqa: E402
import peer  # noqa: E402
import saved_models  # noqa: E402
import zoo_cases  # noqa: E402

peer.require()

BUILD = pathlib.Path(os.environ.get("SDX_BUILD", ROOT / "build/release"))
DOCUMENT = ROOT / "docs/optimizer.md"
BEGIN, END = "<!-- zoo: begin -->", "<!-- zoo: end -->"
EXCEPTIONS = ROOT / "tests/zoo/node_exceptions.tsv"


def largest_difference(name):
    """Between our own results with optimizations off, basic and all, over the sizes; and where."""
    import sardonyx

    path = model_zoo.path(name)
    sessions = {level: zoo_cases.open_session(sardonyx, path, level) for level in zoo_cases.LEVELS}
    shapes = {port.name: port.shape for port in sessions[zoo_cases.LEVELS[0]].get_inputs()}
    worst = {"error": 0.0, "where": "", "problem": ""}
    for size in model_zoo.sizes(name):
        feed = model_zoo.inputs(name, size, shapes)
        outputs = {level: zoo_cases.run(session, feed) for level, session in sessions.items()}
        want = outputs[zoo_cases.LEVELS[0]]
        for level in zoo_cases.LEVELS[1:]:
            for output, found in zoo_cases.compare(name, outputs[level], want).items():
                where = f"'{output}', {size.name}, {level}"
                if found.problem:
                    worst["problem"] = f"{where}: {found.problem}"
                if found.error > worst["error"]:
                    worst |= {"error": found.error, "where": where}
    return worst


def examine(name, what):
    """What one model's row says."""
    import onnx
    import onnxruntime
    import sardonyx

    onnxruntime.set_default_logger_severity(3)
    row = {"model": name, "problems": []}
    with tempfile.TemporaryDirectory(dir=model_zoo.FOLDER) as folder:
        if "nodes" in what:
            row["author"] = saved_models.operators(onnx.load(str(model_zoo.path(name)), load_external_data=False))
            for key, engine in {"theirs": onnxruntime, "ours": sardonyx}.items():
                saved = saved_models.save(engine, model_zoo.path(name), saved_models.LEVELS["extended"], folder)
                row[key] = saved_models.operators(saved[1])
        if "saved" in what:
            row["problems"] += saved_models.problems(name, folder)
        if "profile" in what:
            row["problems"] += [f"does not run: {text}" for text in saved_models.missing_nodes(name, folder)]
    if "values" in what:
        row |= {"difference": largest_difference(name), "tolerance": zoo_cases.tolerance(name).error}
    return row


def exceptions():
    lines = EXCEPTIONS.read_text().splitlines() if EXCEPTIONS.exists() else []
    return dict(line.split("\t") for line in lines if line and not line.startswith("#"))


def count(counter):
    return sum(counter.values())


def differing(row):
    names = sorted({*row["theirs"], *row["ours"]})
    pairs = ((name, row["ours"].get(name, 0), row["theirs"].get(name, 0)) for name in names)
    return ", ".join(f"{name} {ours}/{theirs}" for name, ours, theirs in pairs if ours != theirs)


def table(rows):
    why = exceptions()
    lines = ["| model | author's nodes | ONNX Runtime | Sardonyx | largest difference off/basic/all | tolerance |",
             "|---|---:|---:|---:|---:|---:|"]
    notes = []
    for row in rows:
        ours, theirs = count(row["ours"]), count(row["theirs"])
        mark = " *" if ours > theirs else ""
        if mark:
            notes.append(f"`{row['model']}`: {why.get(row['model'], 'NOT EXPLAINED')}")
        difference = f"{row['difference']['error']:.1e}" if "difference" in row else "not measured"
        tolerance = zoo_cases.tolerance(row["model"]).error
        lines.append(f"| {row['model']} | {count(row['author'])} | {theirs} | {ours}{mark} | {difference} | "
                     f"{tolerance:.1e} |")
    return "\n".join(lines + ([""] + [f"- {note}" for note in notes] if notes else []))


def write(rows):
    """Renews the rows of these models, or the whole table if they are all of the zoo."""
    text = DOCUMENT.read_text()
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    lines = table(rows)
    if {row["model"] for row in rows} != set(model_zoo.entries()):
        new = {line.split(" | ")[0]: line for line in lines.splitlines()[2:] if line.startswith("| ")}
        lines = "\n".join(new.get(line.split(" | ")[0], line) for line in text[begin:end].strip().splitlines())
    DOCUMENT.write_text(f"{text[:begin]}\n{lines}\n{text[end:]}")


def run_one(name, what):
    command = [sys.executable, "-W", "ignore", __file__, "--one", name, "--what", *what]
    path = os.pathsep.join([str(BUILD / "python"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": path})
    if done.returncode:
        return {"model": name, "problems": [f"exit code {done.returncode}: {done.stderr.strip()[-1000:]}"]}
    return json.loads(done.stdout.splitlines()[-1])


def verdict(row):
    """What is not as it should be."""
    found = list(row["problems"])
    if "ours" in row and count(row["ours"]) > count(row["theirs"]) and row["model"] not in exceptions():
        found.append("more nodes than ONNX Runtime's")
    if "difference" in row:
        if row["difference"]["problem"]:
            found.append(row["difference"]["problem"])
        if row["difference"]["error"] > row["tolerance"]:
            found.append(f"levels differ by {row['difference']['error']:.1e}: {row['difference']['where']}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*")
    parser.add_argument("--what", nargs="+", default=["nodes", "saved", "profile", "values"])
    parser.add_argument("--operators", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(examine(options.one, options.what)))
        return
    rows, wrong = [], 0
    for name in model_zoo.select(options.models or ["all"]):
        row = run_one(name, options.what)
        rows.append(row)
        found = verdict(row)
        wrong += bool(found)
        counts = f"{count(row['ours']):>6} {count(row['theirs']):>6}" if "ours" in row else ""
        error = f"{row['difference']['error']:.1e}" if "difference" in row else ""
        print(f"{name:<40}{counts} {error} {'; '.join(found)}", flush=True)
        if options.operators and "ours" in row:
            print(f"    {differing(row)}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows))
    if options.write:
        write(rows)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
