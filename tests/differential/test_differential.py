"""A minute of `make fuzz-ops`, always the same cases; and that the hunt itself finds, reduces and repeats."""
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import cases  # noqa: E402
import compare  # noqa: E402
import judge  # noqa: E402
import numpy as np  # noqa: E402
import run  # noqa: E402
import shrink  # noqa: E402

SEED = 17


def test_random_calls_and_chains(tmp_path):
    options = run.arguments(["--seed", str(SEED), "--cases", "1", "--newest", "--findings", str(tmp_path)])
    summary = run.hunt(options)
    assert not summary.findings, summary.text()
    assert summary.cases > 1900 and summary.compared["reference"] > 1700 and summary.compared["stock"] > 900


def test_the_same_seed_makes_the_same_case():
    one, other = (cases.make("chain/conv_norm/3", SEED) for _ in range(2))
    assert one.model.SerializeToString() == other.model.SerializeToString()
    assert all(np.array_equal(one.feeds[k], other.feeds[k], equal_nan=True) for k in one.feeds)
    assert cases.make("chain/conv_norm/3", SEED + 1).model.SerializeToString() != one.model.SerializeToString()


def wrong(case, stage=None):
    """A judge for whom every result with a Relu in it differs from ONNX Runtime's."""
    real = judge.judge(case)
    faults = [("stock", "planted")] if "Relu" in cases.operators_of(case) and "stock" in real.peers else []
    return judge.Verdict(case.name, faults, real.peers)


def test_a_finding_is_reduced_and_runs_again(tmp_path):
    chains = (cases.make(f"chain/conv_norm/{i}", SEED) for i in range(20))
    case = next(c for c in chains if len(c.model.graph.node) == 3)
    small, verdict = shrink.shrunk(case, wrong(case), wrong)
    assert verdict.faults == [("stock", "planted")] and shrink.size_of(small) <= shrink.size_of(case)
    folder = shrink.store(small, tmp_path, "planted")
    again = shrink.load(folder)
    assert again.model == small.model and all(np.array_equal(again.feeds[k], small.feeds[k]) for k in small.feeds)
    done = subprocess.run([sys.executable, "-W", "ignore", run.__file__, "--again", str(folder)], capture_output=True,
                          text=True)
    assert done.returncode == 0 and "compared with ['reference', 'stock']" in done.stdout, done.stdout + done.stderr


def test_differences_are_found():
    x = np.array([1, np.nan, np.inf], np.float32)
    assert not compare.fault(x, [x.copy()])
    other = np.array([1, 2, np.inf], np.float32)
    assert "1 of 3 elements, first at (1,): nan instead of 2.0" in compare.fault(x, [other])
    assert "shape (3,) instead of (1, 3)" in compare.fault(x, [x[None]])
    one, two = np.array([1, 2]), np.array([1, 3])
    assert compare.fault(one, [two]) and not compare.fault(one, [two], off_by=1)
    assert compare.fault([x], [[x, x]]) == "1 items instead of 2"
    assert "in single precision" in compare.fault(np.array([1 / 3]), [np.array([np.float32(1 / 3)], np.float64)])
