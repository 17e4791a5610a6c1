"""The soak test's measure of growth finds a leak of a few percent, and ignores memory that comes and goes."""
import random

import growth
import pytest


def series(count, **slopes):
    """Samples with noise above a floor that rises by `slopes` from sample to sample."""
    rng = random.Random(5)
    floor = {"heap_mb": 300.0, "anonymous_mb": 350.0, "threads": 4, "files": 7, "maps": 450}
    noise = {"heap_mb": 0.3, "anonymous_mb": 40.0, "threads": 0, "files": 0, "maps": 10}
    return [{name: floor[name] + slopes.get(name, 0) * at + noise[name] * rng.choice((0, 0, rng.random()))
             for name in floor} for at in range(count)]


def test_what_comes_and_goes_is_no_growth():
    for count in (6, 12, 60):
        assert growth.findings(series(count)) == []


@pytest.mark.parametrize(("name", "slope"),
                         [("heap_mb", 0.2), ("anonymous_mb", 1.2), ("threads", 1), ("files", 0.3), ("maps", 8)])
def test_what_rises_is_found(name, slope):
    found = growth.findings(series(12, **{name: slope}))
    assert len(found) == 1
    assert found[0].startswith(f"{name} grew")


def test_few_samples_prove_nothing():
    assert growth.findings(series(5)) == ["expected at least 6 samples, found 5"]


def test_a_sample_sees_memory_threads_and_files():
    before = growth.sample()
    held = bytearray(20 << 20)
    held[::4096] = b"x" * len(held[::4096])
    with open("/proc/self/status"):
        after = growth.sample()
    assert after["anonymous_mb"] - before["anonymous_mb"] == pytest.approx(20, abs=3)
    assert after["files"] == before["files"] + 1
    assert before["heap_mb"] > 0
