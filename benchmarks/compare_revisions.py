#!/usr/bin/env python3
"""benchmarks/compare_revisions.py - the working tree's build beside the build of another revision.

usage: benchmarks/compare_revisions.py BASE [MODEL ...] [options of two_builds.py]

BASE is a commit, branch or tag. It is checked out and built in build/compare/COMMIT, which is kept for the next time;
`git worktree remove` deletes it. Ratios above 1 say that the working tree is faster.
"""
import argparse
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def git(*arguments):
    return subprocess.run(["git", "-C", ROOT, *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def build_of(base):
    """The build folder of the revision, which is built first where something of it is missing."""
    commit = git("rev-parse", "--verify", "--short=12", f"{base}^{{commit}}")
    tree = ROOT / "build/compare" / commit
    if not (tree / "CMakeLists.txt").exists():
        git("worktree", "prune")
        git("worktree", "add", "--detach", str(tree), commit)
    for environment in (".venv", ".venv-test"):
        if not (tree / environment).exists():
            (tree / environment).symlink_to(ROOT / environment)
    build = tree / "build/release"
    subprocess.run(["cmake", "-S", tree, "-B", build, "-G", "Ninja", "--log-level=NOTICE",
                    f"-DSDX_RE2_SOURCE={ROOT / 'third_party/re2'}"], check=True)
    subprocess.run(["ninja", "-C", build, "sardonyx_python"], check=True)
    return build


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("base", help="the commit, branch or tag to compare with")
    options, others = parser.parse_known_args()
    build = build_of(options.base)
    sys.exit(subprocess.run([sys.executable, "-W", "ignore", ROOT / "benchmarks/two_builds.py", build,
                             ROOT / "build/release", *others]).returncode)


if __name__ == "__main__":
    main()
