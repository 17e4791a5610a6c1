#!/usr/bin/env python3
"""tests/zoo/quantized_zoo.py - every float model of the zoo with products, in each quantized form, made by our tool and
by ONNX Runtime's with the same data; writes docs/quantization_proof.md.

usage: quantized_zoo.py [MODEL ...] [--forms FORM ...] [--again] [--judged N] [--write]

Each model and form runs in a process of its own, the small models first. Rows are kept in build/quantization_proof, so
that what is there is not computed again (unless --again); --write makes the page of the rows that are there. Needs
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
import quantized_forms  # noqa: E402

ROWS = ROOT / "build/quantization_proof"
LIMIT = 1500  # seconds for a model in a form


def candidates(patterns):
    """Float models, those with few weights and nodes first."""
    rows = model_zoo.entries()
    names = [name for name in model_zoo.select(patterns) if rows[name]["family"] != "quantized"]
    return sorted(names, key=lambda name: int(rows[name]["weight_bytes"]) / 1e6 + int(rows[name]["nodes"]) / 10)


def place_of(name, form):
    return ROWS / f"{name}.{form.replace(' ', '_')}.json"


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


def has_products(name):
    place = ROWS / f"{name}.products"
    if not place.exists():
        place.write_text(str(quantized_forms.products(model_zoo.path(name))))
    return int(place.read_text()) > 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", help="names, families, globs; default: all")
    parser.add_argument("--forms", nargs="+", default=list(quantized_forms.FORMS))
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--judged", type=int, default=quantized_forms.JUDGED, help="inputs that judge a result")
    parser.add_argument("--child", nargs=2)
    options = parser.parse_args()
    ROWS.mkdir(parents=True, exist_ok=True)
    if options.child:
        with tempfile.TemporaryDirectory(dir=ROWS) as folder:
            row = quantized_forms.compared(*options.child, folder, options.judged)
        print(json.dumps(row))
        return
    if options.write:
        rows = [json.loads(place.read_text()) for place in sorted(ROWS.glob("*.json"))]
        proof_page.write(rows)
        return
    for name in candidates(options.models or ["all"]):
        if not has_products(name):
            continue
        for form in options.forms:
            if place_of(name, form).exists() and not options.again:
                continue
            start = time.monotonic()
            row = in_a_process(name, form, options.judged)
            place_of(name, form).write_text(json.dumps(row) + "\n")
            wrong = [row["ended"]] if "ended" in row else quantized_forms.problems(row)
            print(f"{name} {form} ({time.monotonic() - start:.0f} s): {'; '.join(wrong) or 'ok'}", flush=True)


if __name__ == "__main__":
    main()
