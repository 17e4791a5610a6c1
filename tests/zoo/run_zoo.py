#!/usr/bin/env python3
"""tests/zoo/run_zoo.py - compares the whole zoo with ONNX Runtime, as `make test-zoo` does.

usage: run_zoo.py [MODEL ...] [--jobs N] [--no-saved] [--json FILE]

MODEL is a name, a family or a glob. Each model runs in its own process; the first of each family runs again with
SDX_MAX_ISA=avx2 and baseline. The models that sessions save are also checked (saved_models.py; not with --no-saved).
Ends with a table and one line: N passed, N failed.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", ROOT / "build/release"))
sys.path[:0] = [str(ROOT / "tools"), str(HERE)]
import checks  # noqa: E402
import model_zoo  # noqa: E402

ISAS = checks.isas()[1:]  # the best is what all models run with
SAVED = "saved"  # the job that looks at what sessions save
LIMIT = 1800  # seconds for one model


def answer(command, variables, limit):
    """The JSON in the last line of what a process prints, and what went wrong."""
    path = os.pathsep.join([str(BUILD / "python"), os.environ.get("PYTHONPATH", "")])
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit,
                              env=os.environ | {"PYTHONPATH": path} | variables)
    except subprocess.TimeoutExpired:
        return None, f"no answer within {limit} s"
    found = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else None
    return found, "" if found else f"exit code {done.returncode}: {done.stderr.strip()[-1000:]}"


def row_of(name, level, problem):
    return {"model": name, "level": level, "size": "", "output": "", "error": 0.0, "unmatched": 0, "tolerance": 0.0,
            "problem": problem}


def check_saved(name, limit=LIMIT):
    """A row for each problem of the models that sessions save, or one that says there is none."""
    command = [sys.executable, "-W", "ignore", str(HERE / "optimized_models.py"), "--one", name, "--what", "saved"]
    try:
        model_zoo.path(name)
        found, problem = answer(command, {}, limit)
    except SystemExit as error:  # the zoo's way to say that the disk is full
        found, problem = None, str(error)
    problems = [problem] if problem else found["problems"] or [""]
    return [row_of(name, SAVED, each) | {"isa": "best"} for each in problems]


def check(name, isa=None, levels=(), first_size_only=False, limit=LIMIT):
    """The rows of check_model.py; a process that dies is one row with a problem."""
    command = [sys.executable, "-W", "ignore", str(HERE / "check_model.py"), name]
    command += ["--levels", *levels] if levels else []
    command += ["--first-size-only"] if first_size_only else []
    try:
        model_zoo.path(name)
        rows, problem = answer(command, {"SDX_MAX_ISA": isa} if isa else {}, limit)
    except SystemExit as error:  # the zoo's way to say that the disk is full
        rows, problem = None, str(error)
    rows = [row_of(name, "", problem)] if problem else rows
    return [row | {"isa": isa or "best"} for row in rows]


def one_per_family(names):
    """The model with the least weights of each family."""
    by_family = {}
    for name in sorted(names, key=lambda name: model_zoo.entries()[name]["weight_bytes"]):
        by_family.setdefault(model_zoo.entries()[name]["family"], name)
    return sorted(by_family.values())


def jobs(names, saved):
    yield from ((name, None) for name in names)
    yield from ((name, SAVED) for name in names if saved)
    yield from ((name, isa) for name in one_per_family(names) for isa in ISAS)


def run_job(job):
    name, isa = job
    if isa == SAVED:
        return check_saved(name)
    return check(name, isa, levels=["ORT_ENABLE_ALL"] if isa else ())


def worst(rows):
    """Per model, size, level and ISA the output that is nearest to its limit, or beyond."""
    found = {}
    for row in rows:
        key = (row["model"], row["isa"], row["size"], row["level"], row["problem"] if row["level"] == SAVED else "")
        found.setdefault(key, row)
        if (bool(row["problem"]), row["error"]) > (bool(found[key]["problem"]), found[key]["error"]):
            found[key] = row
    return list(found.values())


def table(rows):
    head = f"{'model':<38}{'size':<34}{'level':<18}{'ISA':<10}{'error':>9}{'tolerance':>11}"
    lines = [head, "-" * len(head)]
    for row in worst(rows):
        line = (f"{row['model']:<38}{row['size']:<34}{row['level']:<18}{row['isa']:<10}{row['error']:>9.1e}"
                f"{row['tolerance']:>11.1e}")
        lines.append(line + (f"  FAILED '{row['output']}': {row['problem']}" if row["problem"] else ""))
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", help="names, families, globs; default: all")
    parser.add_argument("--jobs", type=int, default=1, help="models at once; each takes up to 3 GB of memory")
    parser.add_argument("--no-saved", action="store_true", help="do not look at what sessions save")
    parser.add_argument("--json", type=pathlib.Path, default=ROOT / "build/test-zoo.json")
    options = parser.parse_args()
    if not model_zoo.present():
        sys.exit(f"nothing to test: {model_zoo.why_absent()}")
    todo = list(jobs(model_zoo.select(options.models or ["all"]), not options.no_saved))
    rows, begin, terminal = [], time.monotonic(), sys.stderr.isatty()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        running = {pool.submit(run_job, job): job for job in todo}
        for count, future in enumerate(concurrent.futures.as_completed(running), 1):
            found, (name, isa) = future.result(), running[future]
            failed = sum(bool(row["problem"]) for row in found)
            rows += found
            line = (f"[{count}/{len(todo)}, {time.monotonic() - begin:.0f} s] {name}{f' ({isa})' if isa else ''}: "
                    f"{f'{failed} FAILED' if failed else 'ok'}")
            print(f"\r\033[K{line}" if terminal else line, end="\n" if failed or not terminal else "", file=sys.stderr,
                  flush=True)
    if terminal:
        print("\r\033[K", end="", file=sys.stderr)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(rows, indent=1) + "\n")
    print(table(rows))
    models = {row["model"] for row in rows}
    failed = {row["model"] for row in rows if row["problem"]}
    print(f"JSON: {options.json}\n{len(models - failed)} models passed, {len(failed)} failed"
          + (f": {' '.join(sorted(failed))}" if failed else ""))
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
