"""The test runner counts every test that fails, crashes or is skipped, up to the last line."""
import stat

import run_tests

REPORT = """<testsuites><testsuite name="Relu">
<testcase name="KeepsPositives" classname="Relu" status="run" result="completed" file="src/kernels/a_test.cpp"/>
<testcase name="NeedsAmx" classname="Relu" status="run" result="skipped"><skipped message="no AMX here"/></testcase>
<testcase name="HandlesNaN" classname="Relu" status="run" result="completed"><failure message="expected 1"/></testcase>
<testcase name="IsOff" classname="Relu" status="notrun" result="suppressed"/>
</testsuite></testsuites>"""


def program(tmp_path, text):
    path = tmp_path / "fake_tests"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_a_report_is_read_case_by_case(tmp_path):
    report = tmp_path / "report.xml"
    report.write_text(REPORT)
    cases = [(case.name, case.outcome, case.reason) for case in run_tests.read_junit(report, "avx2: ")]
    assert cases == [
        ("avx2: Relu.KeepsPositives", "passed", ""),
        ("avx2: Relu.NeedsAmx", "skipped", "no AMX here"),
        ("avx2: Relu.HandlesNaN", "failed", "expected 1"),
    ]


def test_a_crash_is_a_failure_with_the_end_of_its_output(tmp_path):
    cases = list(run_tests.run_gtest(program(tmp_path, "echo about to crash; kill -SEGV $$"), jobs=2))
    assert [case.outcome for case in cases] == ["failed", "failed"]
    assert "exit code -11" in cases[0].reason and "about to crash" in cases[0].reason


def test_an_exit_code_without_a_failed_case_is_a_failure(tmp_path):
    (tmp_path / "canned.xml").write_text(REPORT.replace('<failure message="expected 1"/>', ""))
    binary = program(tmp_path, f"cp {tmp_path}/canned.xml ${{1#--gtest_output=xml:}}; exit 3")
    outcomes = [case.outcome for case in run_tests.run_gtest(binary, jobs=1)]
    assert outcomes == ["passed", "skipped", "passed", "failed"]


def test_continuous_integration_runs_the_readmes_command():
    root = run_tests.ROOT
    assert (root / ".ci/run").read_text().rstrip().endswith("&& exec make test")
    assert "make test" in (root / "README.md").read_text().split("## Two commands")[1].split("```")[1]
