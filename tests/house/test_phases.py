"""The table of phases at the end of `make test`, and `make check`, which runs the tests beside one file."""
import subprocess
import sys

import family_tests
import phases
import pytest


def test_the_first_phase_begins_a_new_list_and_the_table_ends_with_the_sum(tmp_path, monkeypatch):
    monkeypatch.setattr(phases, "LIST", tmp_path / "build/phases.tsv")
    phases.add("left over", 1000, 1000)
    phases.add("setup", 3.5, 2)
    phases.add("build", 61.5, 121)
    assert phases.table() == ["  setup          0 min   3.5 s, of processors    0 min   2.0 s",
                              "  build          1 min   1.5 s, of processors    2 min   1.0 s",
                              "  all phases     1 min   5.0 s, of processors    2 min   3.0 s"]


def test_a_list_of_an_older_form_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(phases, "LIST", tmp_path / "phases.tsv")
    phases.LIST.write_text("build\t61.5\n")
    phases.add("soak", 3, 2)
    assert [line.split()[0] for line in phases.table()] == ["soak", "all"]


def test_a_clock_counts_what_processes_took_that_it_waited_for():
    clock = phases.Clock()
    subprocess.run([sys.executable, "-c", "import time\nwhile time.process_time() < 0.2: pass"], check=True)
    seconds, processors = clock.seconds()
    assert 0.15 < processors <= seconds + 0.05


def test_a_phase_hands_on_what_its_command_returns(tmp_path, monkeypatch):
    monkeypatch.setattr(phases, "LIST", tmp_path / "phases.tsv")
    monkeypatch.setattr(sys, "argv", ["phases.py", "try", sys.executable, "-c", "raise SystemExit(3)"])
    with pytest.raises(SystemExit) as ended:
        phases.main()
    assert ended.value.code == 3
    assert phases.LIST.read_text().startswith("try\t")


def test_the_tests_beside_a_file_are_those_of_its_folder():
    assert family_tests.folder_of("src/ops/math/softmax.cpp") == "ops/math"
    found = family_tests.suites(family_tests.BINARY, "ops/math")
    assert "Softmax" in found and "Conv" not in found


def test_a_place_outside_of_src_is_refused():
    with pytest.raises(SystemExit, match="expected a file or folder of src/, found 'docs'"):
        family_tests.folder_of("docs")
