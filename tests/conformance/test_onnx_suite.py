"""Every case of the official suite passes, or is listed in not_passing.txt with the operator that is missing."""
import onnx_suite
import pytest

CASES = onnx_suite.cases()
EXPECTED = onnx_suite.expected()


@pytest.mark.parametrize("name", CASES)
def test_case(name):
    outcome, reason = onnx_suite.run(*CASES[name])
    if name in EXPECTED:
        assert outcome != "passed", "it passes: take it out of not_passing.txt"
        assert outcome == "not implemented", reason
    else:
        assert outcome == "passed", reason


def test_the_suite_is_all_there():
    assert len(CASES) >= 2000


def test_the_list_names_only_cases_of_the_suite():
    assert not set(EXPECTED) - set(CASES)
