"""Runs with bound outputs allocate nothing, take no lock and make no futex call after the first runs."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", ROOT / "build/release"))
sys.path[:0] = [str(ROOT / "tests/models"), str(ROOT / "tools")]
import model_zoo  # noqa: E402
import zoo  # noqa: E402

PATHS = {model.name: model.path for model in zoo.models()}
PACKAGED = {
    "magika": ["bytes=1x2048@32"],
    "silero_16k": ["input=1x576", "state=2x1x128", "sr=@16000"],
    "light_resnet50": ["gpu_0/data_0=1x3x224x224"],
}
# A transformer, a decoder step with its caches bound, trees.
ZOO = {
    "minilm_l6": ["input_ids=1x128@7", "attention_mask=1x128@1"],
    "gpt2": ["input_ids=1x1@11", "attention_mask=1x129@1", "position_ids=1x1@128",
             *(f"past_key_values.{layer}.{part}=1x12x128x64" for layer in range(12) for part in ("key", "value"))],
    "xgboost_500": ["X=64x20"],
    "lightgbm_500": ["X=64x30"],
}
CASES = PACKAGED | ZOO


def measure(name, threads):
    if name in ZOO and not model_zoo.present():
        pytest.skip(model_zoo.why_absent())
    path = model_zoo.path(name) if name in ZOO else PATHS[name]
    command = [BUILD / "bin/capi_steady_state", path, str(threads), *CASES[name]]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    cost = json.loads(done.stdout)
    assert cost["cold"]["allocations"] > 100, "creating a session allocates; the counter counts nothing"
    assert cost["cold"]["locks"] > 0, "creating a session takes locks; the counter counts nothing"
    return cost["run"], cost["binding"]


@pytest.mark.parametrize("name", CASES)
def test_a_hundred_runs_on_one_thread_cost_no_allocation_and_no_lock(name):
    for cost in measure(name, 1):
        assert cost == {"allocations": 0, "locks": 0, "futex_calls": 0}


@pytest.mark.parametrize("name", [*PACKAGED, "minilm_l6", "xgboost_500"])
def test_a_hundred_runs_on_all_threads_cost_no_allocation_and_no_lock(name):
    """A worker that finds no work for a while parks by a futex call, which happens where others use the machine."""
    quiet = os.getloadavg()[0] < 0.5
    for cost in measure(name, 0):
        assert (cost["allocations"], cost["locks"]) == (0, 0)
        assert cost["futex_calls"] == 0 or not quiet


@pytest.mark.parametrize("name", ["silero_16k", "light_resnet50"])
def test_a_hundred_runs_in_parallel_mode_cost_no_allocation_and_no_lock(name):
    """A worker that parks and is woken costs a few futex calls in all; a wait in every run would cost one in each."""
    quiet = os.getloadavg()[0] < 0.5
    for cost in measure(name, "2p"):
        assert (cost["allocations"], cost["locks"]) == (0, 0)
        assert cost["futex_calls"] < 100 or not quiet


@pytest.mark.parametrize(("name", "threads"),
                         [("silero_16k", "1x2"), ("silero_16k", "1x5"), ("minilm_l6", "1x2"), ("xgboost_500", "1x3")])
def test_callers_at_once_cost_no_allocation_and_no_lock(name, threads):
    for cost in measure(name, threads):
        assert cost == {"allocations": 0, "locks": 0, "futex_calls": 0}


@pytest.mark.parametrize("threads", ["2x2", "2px2"])
def test_callers_at_once_with_workers_cost_no_allocation_and_no_lock(threads):
    for cost in measure("silero_16k", threads):
        assert (cost["allocations"], cost["locks"]) == (0, 0)
