"""A few thousand hostile calls of all operators, always the same; hostile_run.py makes as many as one has time for."""
import hostile_nodes
import hostile_run


def test_hostile_calls_end_in_results_or_good_errors():
    faults = hostile_run.hunt(hostile_run.all_cases(range(10)), jobs=2)
    assert not faults, f"{len(faults)} cases; the first: {faults[0]}"


def test_a_crash_a_hang_and_a_bad_error_are_seen():
    """The hunter must find what it looks for."""
    case = next(iter(hostile_nodes.parents().values()))[0]
    assert list(hostile_run.faults_of(case, "sardonyx.Fail", "node 'it': expected 1, found 2")) == []
    assert list(hostile_run.faults_of(case, "sardonyx.Fail", "expected 1, found 2")) != []
    assert list(hostile_run.faults_of(case, "sardonyx.Fail", "node 'it': std::bad_alloc")) != []
    assert list(hostile_run.faults_of(case, "builtins.MemoryError", "node 'it'")) != []
    ((name, seed, _, words),) = hostile_run.Hunt([(case.name, hostile_run.ABORT)]).run()
    assert (name, seed) == (case.name, hostile_run.ABORT) and words[0].startswith("ended with -6")
