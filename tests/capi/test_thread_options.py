"""Options of sessions and environments decide where workers run and which functions create and join them."""
import json
import os
import pathlib
import subprocess
import sys

import onnx.parser
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", ROOT / "build/release"))
MODEL = """
<ir_version: 10, opset_import: ["" : 21]>
square (float[N,N] x) => (float[N,N] y) { y = MatMul(x, x) }"""

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="expected Linux: reads /proc/self/task")


def cores():
    """From 1 on, as affinities are written."""
    return sorted(core + 1 for core in os.sched_getaffinity(0))


@pytest.fixture
def scenario(tmp_path):
    path = tmp_path / "square.onnx"
    path.write_bytes(onnx.parser.parse_model(MODEL).SerializeToString())

    def run(*arguments):
        done = subprocess.run([BUILD / "bin/capi_thread_options", path, *arguments], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert found.pop("first") == 256
        assert found.pop("wrong") == 0
        return found

    return run


@pytest.mark.parametrize("core", [cores()[0], cores()[-1]])
def test_workers_of_the_environment_stay_on_its_processors(scenario, core):
    assert scenario("affinity", str(core))["workers"] == [[core], [core]]


def test_functions_of_the_environment_make_its_workers_and_join_them_when_it_goes(scenario):
    found = scenario("global-hooks")
    assert len(found.pop("workers")) == 2
    assert found == {"created": 2, "joined_before": 0, "joined_after_session": 0, "joined": 2}


def test_functions_of_a_session_make_its_workers_and_join_them_when_it_goes(scenario):
    found = scenario("session-hooks")
    assert len(found.pop("workers")) == 2
    assert found == {"created": 2, "joined_before": 0, "joined_after_session": 2, "joined": 2}


def test_a_session_with_threads_of_its_own_has_none_of_the_environments(scenario):
    found = scenario("own-threads", str(cores()[0]))
    assert len(found.pop("workers")) == 1
    assert found == {"created": 0, "joined_before": 0, "joined_after_session": 0, "joined": 0}
