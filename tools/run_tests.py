#!/usr/bin/env python3
"""Runs all tests of a built tree and ends with one line: `N passed, N failed, N skipped`.

The stages are: the checks of the tree; the C++ tests; those of the kernels again with each lower instruction set; the
thread pool and sessions with the thread sanitizer; the loader, kernels and operators with the address and
undefined-behaviour sanitizers; a short run of the fuzz targets; the Python tests; two minutes of soaking. Long stages
show their progress every twenty seconds. Each failure and each skip is printed with its reason and the command that
repeats it. If ../shared exists, skips are not allowed.
To add a stage, write a function that yields Case objects, and add its row to STAGES.

usage: tools/run_tests.py [--only STAGE]... [--jobs N]
"""
import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

import checks
import family_tests
import fuzz
import phases
import steps

ROOT = checks.ROOT
BUILD = ROOT / "build/release"
PYTHON_TESTS = ("tests", "bindings/python")


@dataclasses.dataclass
class Case:
    name: str
    outcome: str  # passed, failed, skipped
    reason: str = ""
    command: str = ""  # runs the case alone


def read_junit(path, prefix="", command=lambda case: ""):
    """The cases of a report by GoogleTest or pytest, which use the same format. `command(case)` repeats a case."""
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = f"{prefix}{case.get('classname')}.{case.get('name')}"
        failure = next((e for tag in ("failure", "error") if (e := case.find(tag)) is not None), None)
        skipped = case.find("skipped")
        if failure is not None:
            yield Case(name, "failed", (failure.get("message") or failure.text or "").strip(), command(case))
        elif skipped is not None:
            yield Case(name, "skipped", (skipped.get("message") or skipped.text or "no reason given").strip())
        elif case.get("status", "run") == "run":
            yield Case(name, "passed")


def run_gtest(binary, jobs, prefix="", test_filter="*", environment=None, wrapper=()):
    """Runs a GoogleTest binary in `jobs` shards. A crash is one failed case with the end of the output."""

    def again(case):
        only = f"--gtest_filter={case.get('classname')}.{case.get('name')}"
        return steps.typed([*wrapper, binary, only], environment)

    with tempfile.TemporaryDirectory() as folder:
        shards = []
        for shard in range(jobs):
            report = pathlib.Path(folder) / f"{shard}.xml"
            flags = [f"--gtest_output=xml:{report}", f"--gtest_filter={test_filter}", "--gtest_brief=1"]
            variables = os.environ | (environment or {}) | {"GTEST_TOTAL_SHARDS": str(jobs),
                                                            "GTEST_SHARD_INDEX": str(shard)}
            log = open(pathlib.Path(folder) / f"{shard}.log", "w+", errors="replace")  # noqa: SIM115
            process = subprocess.Popen([*wrapper, str(binary), *flags], env=variables, cwd=ROOT, stdout=log,
                                       stderr=subprocess.STDOUT)
            shards.append((process, report, log))
        for process, report, log in shards:
            code = process.wait()
            cases = list(read_junit(report, prefix, again)) if report.exists() else []
            yield from cases
            if code and not any(case.outcome == "failed" for case in cases):
                log.seek(0)
                yield Case(f"{prefix}{pathlib.Path(binary).name}", "failed",
                           f"exit code {code}; its output ends with:\n{log.read()[-6000:]}",
                           steps.typed(process.args, environment))
            log.close()


def suites_filter(binary, *folders):
    """A filter that selects the tests whose sources lie in these folders of src/."""
    return ":".join(f"{suite}.*" for folder in folders for suite in family_tests.suites(binary, folder)) or "-*"


def stage_checks(_):
    """checks of the tree: layers, lengths, symbols, no static initialisers"""
    for name, check in checks.ALL.items():
        found = check()
        yield Case(f"check: {name}", "failed" if found else "passed", "\n".join(found))


def stage_cpp(options):
    """the unit tests"""
    yield from run_gtest(BUILD / "bin/unit_tests", options.jobs)


def stage_isa(options):
    """the tests of the kernels with each lower instruction set"""
    binary = BUILD / "bin/unit_tests"
    test_filter = suites_filter(binary, "kernels")
    for isa in checks.isas()[1:]:
        yield from run_gtest(binary, options.jobs, f"{isa}: ", test_filter, {"SDX_MAX_ISA": isa})


def plain_libraries():
    """Those of the release build, for code that needs no sanitizer."""
    return [f"-DSDX_PLAIN_{part.upper()}={BUILD / f'lib/libsdx_{part}.a'}" for part in ("core", "capi")]


def sanitized(target, sanitizers, jobs, *settings):
    folder = f"build/{sanitizers.replace(',', '-')}"
    failed = checks.configure(folder, f"-DSDX_SANITIZE={sanitizers}", *settings) or checks.ninja(folder, target)
    if failed:
        yield Case(f"{sanitizers}: {target}", "failed", "\n".join(failed[-60:]))
    else:
        wrapper = fixed_addresses() if sanitizers == "thread" else []
        yield from run_gtest(ROOT / folder / "bin" / target, jobs, f"{sanitizers}: ", wrapper=wrapper)


def fixed_addresses():
    """Disables random addresses, among which the thread sanitizer may not find room. Not all containers allow it."""
    wrapper = ["setarch", "--addr-no-randomize"]
    allowed = shutil.which(wrapper[0]) and subprocess.run([*wrapper, "true"], capture_output=True).returncode == 0
    return wrapper if allowed else []


def watched_tests(options):
    """The tests of graphs, model files, kernels and operators, with the library of the fuzz targets, whose vector code
    is instrumented, too. What depends on the instruction set runs with the best ISA of this machine and with each lower
    one but the baseline, which the fuzz targets use. The loader must not leak whatever it is given."""
    if failed := fuzz.build_target("watched_tests"):
        yield Case("watched_tests", "failed", "\n".join(failed[-60:]))
        return
    binary = fuzz.BUILD / "bin/watched_tests"
    yield from run_gtest(binary, options.jobs, "address,undefined: ", suites_filter(binary, "ir", "model"),
                         {"ASAN_OPTIONS": fuzz.OPTIONS["ASAN_OPTIONS"].replace("detect_leaks=0", "detect_leaks=1")})
    kernels = suites_filter(binary, "kernels", "ops")
    for isa in ["", *checks.isas()[1:-1]]:
        variables = fuzz.OPTIONS | ({"SDX_MAX_ISA": isa} if isa else {})
        yield from run_gtest(binary, options.jobs, f"address,undefined: {isa or 'best'}: ", kernels, variables)


def stage_sanitizers(options):
    """thread sanitizer: pool, sessions, C interface; address and undefined-behaviour sanitizers: loader, operators"""
    yield from sanitized("thread_tests", "thread", 1)
    yield from sanitized("session_tests", "thread", 1, *plain_libraries())
    yield from watched_tests(options)


def stage_fuzz(options):
    """a short run of the fuzz targets"""
    if failed := fuzz.build(fuzz.TARGETS) or fuzz.make_seeds():
        yield Case("fuzz: build", "failed", "\n".join(failed[-60:]))
        return
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for result in pool.map(fuzz.brief, fuzz.forms(fuzz.TARGETS)):
            fault = result.fault()
            yield Case(f"fuzz: {result.form}", "failed" if fault else "passed",
                       f"{result.summary()}\n{result.output[-6000:]}" if fault else "", result.command)


def stage_soak(_):
    """two minutes of many models, threads, cancelled runs, errors and sessions; `make soak` runs for thirty"""
    command = [sys.executable, "-W", "ignore", "tests/soak/soak.py", "--minutes", "2"]
    variables = {"PYTHONPATH": str(BUILD / "python")}
    done = steps.run(command, "soak", r"\d+ actions$", variables, ROOT)
    yield Case("soak for two minutes", "failed" if done.code else "passed", done.output[-6000:] if done.code else "",
               steps.typed(command, variables))


def repeated(case, variables):
    """The command that runs one case of a report by pytest. Its class name is the path of the file, then the class."""
    parts = case.get("classname").split(".")
    at = next((n for n in range(len(parts), 0, -1) if (ROOT / "/".join(parts[:n])).with_suffix(".py").exists()), 0)
    node = "::".join(["/".join(parts[:at]) + ".py", *parts[at:], case.get("name")]) if at else case.get("name")
    return steps.typed([sys.executable, "-m", "pytest", node], variables)


def stage_python(options):
    """the Python package, the official suite, real models, the C interface, the tool"""
    folders = [folder for folder in PYTHON_TESTS if (ROOT / folder).is_dir()]
    variables = {"PYTHONPATH": str(BUILD / "python"), "SDX_BUILD": str(BUILD)}
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider",
                   f"--junitxml={report}", f"--numprocesses={options.jobs}", "--dist=worksteal", *folders]
        done = steps.run(command, "python", r"\[ *\d+%\]", variables, ROOT)
        cases = list(read_junit(report, command=lambda case: repeated(case, variables))) if report.exists() else []
        yield from cases
        if done.code and not any(case.outcome == "failed" for case in cases):
            yield Case("pytest", "failed", f"exit code {done.code}\n{done.output[-6000:]}",
                       steps.typed(command, variables))
        if options.verbose or done.code:
            print(done.output[-20000:])


STAGES = {
    "checks": stage_checks,
    "cpp": stage_cpp,
    "isa": stage_isa,
    "sanitizers": stage_sanitizers,
    "fuzz": stage_fuzz,
    "python": stage_python,
    "soak": stage_soak,
}


def count(cases, outcome):
    return sum(case.outcome == outcome for case in cases)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", choices=STAGES, help="run only this stage (may be repeated)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes to run at once")
    parser.add_argument("--verbose", action="store_true", help="show the output of the Python tests")
    options = parser.parse_args()

    results = []
    for name in options.only or STAGES:
        print(f"{name}: {STAGES[name].__doc__}", flush=True)
        clock = phases.Clock()
        cases = list(STAGES[name](options))
        results += cases
        phases.add(name, *clock.seconds())
        print(f"{name:<12}{count(cases, 'passed'):>6} passed {count(cases, 'failed'):>5} failed "
              f"{count(cases, 'skipped'):>5} skipped  {clock.seconds()[0]:7.1f} s", flush=True)
        for case in cases:
            if case.outcome != "passed":
                print(f"  {case.outcome}: {case.name}: {case.reason}", flush=True)
                if case.command:
                    print(f"    again: {case.command}", flush=True)
    print("phases:", *phases.table(), sep="\n")
    # Once more at the end, because of a long run often only the last lines are kept.
    for case in results:
        if case.outcome == "failed":
            first = next(iter(case.reason.splitlines()), "")
            print(f"failed: {case.name}: {first[:200]}")
    failed, skipped = count(results, "failed"), count(results, "skipped")
    if skipped and (ROOT.parent / "shared").exists():
        print("no skip is allowed here, because ../shared is there")
    print(f"{count(results, 'passed')} passed, {failed} failed, {skipped} skipped")
    sys.exit(bool(failed or not results or (skipped and (ROOT.parent / "shared").exists())))


if __name__ == "__main__":
    main()
