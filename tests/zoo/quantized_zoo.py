#!/usr/bin/env python3
"""tests/zoo/quantized_zoo.py - every float model of the zoo with products, in each quantized form, made by our tool and
by ONNX Runtime's with the same data; writes docs/quantization_proof.md.

usage: quantized_zoo.py [MODEL ...] [--forms FORM ...] [--again] [--judged N] [--write]

Each model and form runs in a process of its own, the small models first. Rows are kept in tests/zoo/quantized_zoo.tsv,
so that what is there is not computed again (unless --again); --write makes the page of the rows that are there. Needs
../shared/zoo and the folder SDX_ZOO (tools/model_zoo.py); about three hours on two cores.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests/zoo")]
import model_zoo  # noqa: E402
import proof_page  # noqa: E402
import proof_rows  # noqa: E402
import quantized_forms  # noqa: E402

LIMIT = 1500  # seconds for a model in a form


def candidates(patterns):
    """Float models, those with few weights and nodes first."""
    rows = model_zoo.entries()
    names = [name for name in model_zoo.select(patterns) if rows[name]["family"] != "quantized"]
    return sorted(names, key=lambda name: int(rows[name]["weight_bytes"]) / 1e6 + int(rows[name]["nodes"]) / 10)


def in_a_process(name, form, judged):
    """The row of a model in a form; what ends the process is in the row."""
    command = [sys.executable, "-W", "ignore", __file__, "--child", name, form, "--judged", str(judged)]
    try:
        made = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return {"model": name, "form": form, "ended": f"after {LIMIT} s"}
    lines = made.stdout.strip().splitlines()
    if made.returncode or not lines:
        return {"model": name, "form": form, "ended": f"code {made.returncode}: {made.stderr.strip()[-300:]}"}
    return json.loads(lines[-1])


def count_products():
    """The products of each float model that has no row yet."""
    known = {row["model"] for row in proof_rows.read() if row["form"] == proof_rows.COUNT}
    proof_rows.put([{"model": name, "form": proof_rows.COUNT, "products": quantized_forms.products_of_graph(name)}
                    for name in candidates(["all"]) if name not in known])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", help="names, families, globs; default: all")
    parser.add_argument("--forms", nargs="+", default=list(quantized_forms.FORMS))
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--judged", type=int, default=quantized_forms.JUDGED, help="inputs that judge a result")
    parser.add_argument("--child", nargs=2)
    options = parser.parse_args()
    if options.child:
        with tempfile.TemporaryDirectory() as folder:
            row = quantized_forms.compared(*options.child, folder, options.judged)
        print(json.dumps(row))
        return
    if options.write:
        proof_page.write(proof_rows.read())
        return
    count_products()
    known = {(row["model"], row["form"]): row for row in proof_rows.read()}
    for name in candidates(options.models or ["all"]):
        if not known[name, proof_rows.COUNT]["products"]:
            continue
        for form in options.forms:
            row = known.get((name, form))
            if row is not None and "earlier" not in row and not options.again:
                continue
            start = time.monotonic()
            row = in_a_process(name, form, options.judged)
            proof_rows.put([row])
            wrong = [row["ended"]] if "ended" in row else quantized_forms.problems(row)
            print(f"{name} {form} ({time.monotonic() - start:.0f} s): {'; '.join(wrong) or 'ok'}", flush=True)


if __name__ == "__main__":
    main()
