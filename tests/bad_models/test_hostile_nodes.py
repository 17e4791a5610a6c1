"""A few thousand hostile calls of all operators, always the same ones; hostile_run.py runs any number of others."""
import subprocess
import sys

import hostile_nodes
import hostile_run
import one_number
import resized_inputs


def test_hostile_calls_end_in_results_or_good_errors():
    faults = hostile_run.hunt(hostile_run.all_cases(range(10)), jobs=2)
    assert not faults, f"{len(faults)} cases; the first: {faults[0]}"


def test_inputs_of_other_shapes_end_in_results_or_good_errors():
    """No shape stands in the models; what is fed ends where memory ends."""
    faults = hostile_run.hunt(hostile_run.changed_cases(resized_inputs, most=1), jobs=2)
    assert not faults, f"{len(faults)} cases; the first: {faults[0]}"


def test_each_number_changed_ends_in_results_or_good_errors():
    faults = hostile_run.hunt(hostile_run.changed_cases(one_number, most=1), jobs=2)
    assert not faults, f"{len(faults)} cases; the first: {faults[0]}"


def test_reading_behind_what_is_fed_ends_the_process():
    code = ("import ctypes, numpy, resized_inputs; value = resized_inputs.at_the_edge(numpy.arange(6.0)); "
            "assert value.tolist() == [0, 1, 2, 3, 4, 5]; ctypes.string_at(value.ctypes.data, value.nbytes + READ)")
    ends = [subprocess.run([sys.executable, "-c", code.replace("READ", read)], cwd=hostile_run.HERE, check=False)
            for read in ("0", "1")]
    assert [end.returncode for end in ends] == [0, -11]


def test_a_crash_a_hang_and_a_bad_error_are_seen():
    """The hunter must find what it looks for."""
    case = next(iter(hostile_nodes.parents().values()))[0]
    assert list(hostile_run.faults_of(case, "sardonyx.Fail", "node 'it': expected 1, found 2")) == []
    assert list(hostile_run.faults_of(case, "sardonyx.Fail", "expected 1, found 2")) != []
    assert list(hostile_run.faults_of(case, "sardonyx.Fail", "node 'it': std::bad_alloc")) != []
    assert list(hostile_run.faults_of(case, "builtins.MemoryError", "node 'it'")) != []
    ((name, seed, _, words),) = hostile_run.Hunt([(case.name, hostile_run.ABORT)]).run()
    assert (name, seed) == (case.name, hostile_run.ABORT) and words[0].startswith("ended with -6")
