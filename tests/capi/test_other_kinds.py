"""Every function of the C interface, given a handle of another kind than it expects, answers with an error that says
what it found. Nothing crashes."""
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", ROOT / "build/release"))
sys.path.insert(0, str(ROOT / "tools/abi"))

import differences  # noqa: E402


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """[(function, call, result)] and what was said."""
    folder = tmp_path_factory.mktemp("kinds")
    differences.write_files(folder)
    done = subprocess.run([BUILD / "bin/capi_other_kinds", BUILD / "lib/libsardonyx.so", folder], capture_output=True,
                          text=True, timeout=300, env=os.environ | {"SDX_SHOW_MESSAGES": "1"})
    assert done.returncode == 0, done.stderr[-1000:]
    rows = [re.fullmatch(r"(\S+) (\S+) \| (.*)", line).groups() for line in done.stdout.splitlines()]
    return rows, done.stderr


def test_all_handles_are_tried(answers):
    rows, _ = answers
    assert len(rows) > 1200
    assert len({function for function, _, _ in rows}) > 400


def test_nothing_crashes(answers):
    rows, said = answers
    assert [row for row in rows if row[2] in ("crashes", "hangs", "exits")] == [], said[-2000:]


# Not looked at: there is nothing to do with it, or another argument is wrong before.
NOT_REACHED = re.compile(r"(EnableTelemetryEvents|DisableTelemetryEvents|SetLanguageProjection|CopyTensors \w+_tensors|"
                         r"ApplyModelToModelEditorSession model|InitGraphicsInteropForEpDevice config)\b")


def test_functions_with_a_status_return_an_error(answers):
    rows, said = answers
    wrong = [row for row in rows if row[2].startswith("status ") and row[2] != "status 2"
             and not NOT_REACHED.search(f"{row[0]} {row[1]}")]
    assert wrong == [], said[-2000:]
    assert sum(row[2] == "status 2" for row in rows) > 1200


def test_the_error_says_what_was_found(answers):
    _, said = answers
    found = re.findall(r"argument '.*': expected .*, found (a session|an arena configuration|something else)", said)
    assert len(found) > 1100
    assert set(found) == {"a session", "an arena configuration", "something else"}


def test_releasing_another_kind_is_reported(answers):
    rows, said = answers
    assert len([row for row in rows if "Release" in row[0] and row[2] == "done"]) > 80
    assert len(re.findall(r"sardonyx: expected .* to release, found .*: it is left alone", said)) > 80
