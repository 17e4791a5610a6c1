#!/usr/bin/env python3
"""Checks the sources: clang-format, clang-tidy on changed files, ruff, and the checks of the tree (checks.py).

Changed files are those that differ from --base, or, without it, from the branch `main` (on main itself, from its
previous commit).

usage: tools/lint.py [--fix] [--base COMMIT] [--all]
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys

import checks

ROOT = checks.ROOT
CPP = (".h", ".hpp", ".c", ".cpp")


def changed(base):
    """The files that differ from `base`, or, without one, from the commit where this branch left main."""
    if not base:
        on_main = checks.git("rev-parse", "HEAD") == checks.git("rev-parse", "--verify", "-q", "main")
        base = "HEAD~1" if on_main else (checks.git("merge-base", "HEAD", "main") or ["HEAD~1"])[0]
    return set(checks.git("diff", "--name-only", base)) | set(checks.git("ls-files", "--others", "--exclude-standard"))


def clang_format(files, fix):
    files = [file for file in files if file.endswith(CPP) and not checks.generated(file)]
    mode = ["-i"] if fix else ["--dry-run", "-Werror"]
    found = checks.findings("clang-format", *mode, *files) if files else []
    places = collections.Counter(line.split(":")[0] for line in found if "[-Wclang-format-violations]" in line)
    return [f"{file}: {count} places (make format)" for file, count in places.items()] or found


def clang_tidy(files):
    """Runs clang-tidy on those of `files` that the release build compiles."""
    failed = checks.configure("build/release")
    if failed:
        return failed
    database = json.loads((ROOT / "build/release/compile_commands.json").read_text())
    compiled = {pathlib.Path(entry["file"]).relative_to(ROOT).as_posix() for entry in database
                if pathlib.Path(entry["file"]).is_relative_to(ROOT)}
    files = sorted(compiled & set(files))

    def tidy(file):
        found = checks.findings("clang-tidy", "--quiet", "-p", "build/release",
                                "--extra-arg=-Wno-unknown-warning-option", file)
        noise = r"\d+ warnings? (generated|treated)|Suppressed|Use -header"
        return [line for line in found if not re.match(noise, line)]

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return [finding for found in pool.map(tidy, files) for finding in found]


def ruff(fix):
    return checks.findings(sys.executable, "-m", "ruff", "check", "--quiet", "--output-format=concise",
                           *(["--fix"] if fix else []), ".")


def commit_subjects():
    """Subjects of the commits since main: `<folder>: <imperative>`, at most 72 characters."""
    done = subprocess.run(["git", "log", "--format=%h %s", "main..HEAD"], cwd=ROOT, capture_output=True, text=True)
    return [f"commit {line}: expected '<folder>: <what it does>' of up to 72 characters" for line in
            done.stdout.splitlines() if not re.fullmatch(r"\w+ (?=.{1,72}$)[\w/., +-]+: \S.*", line)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fix", action="store_true", help="fix what clang-format and ruff can fix")
    parser.add_argument("--base", help="find the files that differ from this commit")
    parser.add_argument("--all", action="store_true", help="run clang-tidy on all files (slow)")
    options = parser.parse_args()

    files = checks.sources()
    tidied = files if options.all else changed(options.base)
    steps = {
        "clang-format": lambda: clang_format(files, options.fix),
        "ruff": lambda: ruff(options.fix),
        "commit subjects": commit_subjects,
        **checks.ALL,
        f"clang-tidy ({'all' if options.all else 'changed'} files)": lambda: clang_tidy(tidied),
    }
    red = False
    for name, step in steps.items():
        found = step()
        red |= bool(found)
        print(f"{name}: {'ok' if not found else ''}", flush=True)
        print("\n".join(f"  {line}" for line in found), end="\n" if found else "", flush=True)
    sys.exit(red)


if __name__ == "__main__":
    main()
