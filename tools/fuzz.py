#!/usr/bin/env python3
"""Builds the fuzz targets of tests/fuzz with clang's address and undefined-behaviour sanitizers, and runs them.

Each target begins with the files of tests/fuzz/regressions/TARGET (inputs that once failed), the seeds that
tests/fuzz/make_seeds.py writes, and the new inputs of earlier runs. Inputs that fail are kept in build/fuzz/findings.
Targets that compute run twice: with the best kernels of this machine and with the portable ones.
To add a target, write tests/fuzz/fuzz_NAME.cpp and add its row to TARGETS.

usage: tools/fuzz.py [--seconds N | --runs N] [--jobs N] [TARGET ...]
"""
import argparse
import concurrent.futures
import dataclasses
import os
import random
import re
import shutil
import subprocess
import sys

import checks
import steps

ROOT = checks.ROOT
BUILD = ROOT / "build/fuzz"
COMPILER = "clang++"  # g++'s address sanitizer does not see the masked loads and stores of vector code
CONFIGURE = ("-DCMAKE_C_COMPILER=clang", f"-DCMAKE_CXX_COMPILER={COMPILER}", "-DSDX_FUZZ=ON",
             "-DSDX_SANITIZE=address,undefined", "-DSDX_BUILD_PYTHON=OFF", "-DSDX_BUILD_TESTS=OFF",
             "-DSDX_WARNINGS_AS_ERRORS=OFF", f"-DSDX_PLAIN_BUILD={ROOT / 'build/release'}")
# Limits that find hangs and endless memory; a slow input on a busy machine must stay below them.
LIMITS = ("-timeout=120", "-rss_limit_mb=4096", "-print_final_stats=1", "-detect_leaks=0")
OPTIONS = {"ASAN_OPTIONS": "allocator_may_return_null=1:detect_leaks=0:malloc_context_size=8"}


@dataclasses.dataclass(frozen=True)
class Target:
    max_bytes: int
    # For targets with very many edges: counting how rare each is would take longer than the runs.
    flags: tuple = ()
    brief_runs: int = 0  # runs of `make test`, including the seeds unless brief_bytes is given
    # If not 0, these runs are random inputs of so many bytes: what threads do changes which edges an input meets, and
    # so what would be derived from it.
    brief_bytes: int = 0
    forms: tuple = ("",)  # values of SDX_MAX_ISA


TARGETS = {
    "load": Target(6000, brief_runs=20_000),
    "text": Target(5000, brief_runs=10_000),
    "optimizer": Target(256, flags=("-entropic=0",), brief_runs=1_500, brief_bytes=32,
                        forms=("", "baseline")),
    "model": Target(6000, flags=("-entropic=0",), brief_runs=4_000, forms=("", "baseline")),
}


@dataclasses.dataclass(frozen=True)
class Form:
    """A target, and the kernels that it runs with."""
    target: str
    isa: str = ""  # the value of SDX_MAX_ISA; if empty, it is not set

    def __str__(self):
        return f"{self.target} {self.isa}".strip()

    def variables(self):
        return OPTIONS | ({"SDX_MAX_ISA": self.isa} if self.isa else {})


def forms(targets):
    return [Form(target, isa) for target in targets for isa in TARGETS[target].forms]


@dataclasses.dataclass
class Result:
    form: Form
    code: int
    executions: int
    edges: int
    all_edges: int
    output: str
    command: str

    def fault(self):
        """What is wrong with the run as a whole, or ""."""
        found = re.search(r"^reach: .* ([\d.]+) % began a run", self.output, re.M)
        if self.code == 0 and self.form.target == "model" and (found is None or float(found[1]) < 100 / 3):
            return "expected at least a third of the inputs to begin a run"
        return "" if self.code == 0 else f"exit code {self.code}"

    def summary(self):
        reach = re.search(r"^reach: (.*)$", self.output, re.M)
        return (f"{self.form!s:<20}{self.executions:>10} executions  {self.edges} of {self.all_edges} edges"
                + (f"  ({reach[1]})" if reach else "") + (f"  FAILED, {self.fault()}" if self.fault() else ""))


def build_target(*names):
    """The findings of the build; none if it succeeds."""
    return checks.configure("build/fuzz", *CONFIGURE) or checks.ninja("build/fuzz", *names)


def build(targets):
    return build_target(*(f"fuzz_{target}" for target in targets))


def make_seeds():
    done = BUILD / "seeds/done"
    if done.exists():
        return []
    failed = checks.findings(sys.executable, "-W", "ignore", ROOT / "tests/fuzz/make_seeds.py", BUILD / "seeds")
    if not failed:
        done.touch()
    return failed


def corpora(target):
    folders = [BUILD / "corpus" / target, ROOT / "tests/fuzz/regressions" / target, BUILD / "seeds" / target]
    folders[0].mkdir(parents=True, exist_ok=True)
    return [folder for folder in folders if folder.is_dir()]


def start(form, *flags, folders=None):
    (BUILD / "findings").mkdir(exist_ok=True)
    target = form.target
    command = [BUILD / f"bin/fuzz_{target}", *LIMITS, *TARGETS[target].flags, f"-max_len={TARGETS[target].max_bytes}",
               f"-artifact_prefix={BUILD}/findings/{target}-", *flags, *(folders or corpora(target))]
    return subprocess.Popen([str(part) for part in command], env=os.environ | form.variables(), cwd=ROOT, text=True,
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, errors="replace")


def finish(form, process):
    output = steps.follow(process, process.stderr, f"fuzz_{form}", r"^#\d+.*")

    def last(pattern):
        found = re.findall(pattern, output)
        return int(found[-1]) if found else 0

    return Result(form, process.returncode, last(r"stat::number_of_executed_units: (\d+)"), last(r"cov: (\d+)"),
                  last(r"\((\d+) inline 8-bit counters\)"), output,
                  steps.typed(process.args, form.variables()))


def brief(form):
    """A short run that is the same on every machine: the regressions, the seeds and some thousand other inputs.

    The order of files in a folder, and values that comparisons met, addresses among them, would change the inputs.
    """
    target = TARGETS[form.target]
    found = BUILD / "brief" / str(form)  # new inputs are written to the first folder
    shutil.rmtree(found, ignore_errors=True)
    found.mkdir(parents=True)
    seeds = [file for folder in corpora(form.target) if "corpus" not in folder.parts
             for file in sorted(folder.iterdir())]
    runs = target.brief_runs
    if target.brief_bytes:
        generator = random.Random(1)
        for i in range(runs):
            (found / str(i)).write_bytes(generator.randbytes(target.brief_bytes))
        runs = 0  # besides those that are given
    listed = found.with_name(f"{found.name}.seeds")
    listed.write_text(",".join(str(seed) for seed in seeds))
    flags = [f"-runs={runs}", "-seed=1", "-use_cmp=0", f"-seed_inputs=@{listed}"]
    return finish(form, start(form, *flags, folders=[found]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=0, help="how long each form of a target runs")
    parser.add_argument("--runs", type=int, default=0, help="how many inputs each form of a target runs")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes to run at once")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}; all without one")
    options = parser.parse_args()
    targets = options.targets or list(TARGETS)
    if unknown := set(targets) - set(TARGETS):
        parser.error(f"there is no target {', '.join(sorted(unknown))}; there are {', '.join(TARGETS)}")
    if failed := build(targets) or make_seeds():
        sys.exit("\n".join(failed[-40:]))
    flags = [f"-max_total_time={options.seconds or (0 if options.runs else 3600)}"]
    if options.runs:
        flags.append(f"-runs={options.runs}")
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(max(1, options.jobs)) as pool:
        for result in pool.map(lambda form: finish(form, start(form, *flags)), forms(targets)):
            print(result.summary(), flush=True)
            if result.fault():
                bad += 1
                print(f"{result.output[-4000:]}\nagain: {result.command}", flush=True)
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
