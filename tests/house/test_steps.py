"""Long commands show their progress, and a command that failed can be typed again."""
import io
import sys

import run_tests
import steps

SLOW = "import time\nfor i in range(3):\n  print(f'[{i}/3] part {i}', flush=True); time.sleep(0.4)"


def test_a_long_command_says_how_far_it_is(monkeypatch, capsys):
    monkeypatch.setattr(steps, "SECONDS_BETWEEN", 0.3)
    done = steps.run([sys.executable, "-c", SLOW], "counting", r"^\[\d/3\]")
    said = capsys.readouterr().out.splitlines()
    assert done.code == 0
    assert done.output == "[0/3] part 0\n[1/3] part 1\n[2/3] part 2\n"
    assert len(said) >= 2
    assert all(line.startswith("  counting: [") for line in said)


def test_a_short_command_says_nothing(capsys):
    text = "import sys; print('a'); print('b', file=sys.stderr); sys.exit(3)"
    done = steps.run([sys.executable, "-c", text], "short")
    assert (done.code, sorted(done.output)) == (3, ["\n", "\n", "a", "b"])
    assert capsys.readouterr().out == ""


def test_a_command_is_shown_as_one_types_it(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KEPT", "as it is")
    shown = steps.typed([tmp_path / "bin/tests", "--filter=A.b c"], {"KEPT": "as it is", "ISA": f"{tmp_path}/x y"})
    assert shown == "ISA='x y' bin/tests '--filter=A.b c'"


def test_a_failed_case_of_pytest_can_be_repeated():
    report = io.StringIO('<testsuite><testcase classname="tests.house.test_steps" name="test_x[1]">'
                         '<failure message="no"/></testcase></testsuite>')
    case, = run_tests.read_junit(report, command=lambda case: run_tests.repeated(case, {}))
    assert case.outcome == "failed"
    assert case.command.endswith("-m pytest 'tests/house/test_steps.py::test_x[1]'")
