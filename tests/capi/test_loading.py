"""The library in a process that opens it with any flags, again and again, and beside its peer."""
import os
import pathlib
import subprocess

import onnx.parser
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", ROOT / "build/release"))
OURS = BUILD / "lib/libsardonyx.so"
MODEL = """
<ir_version: 8, opset_import: ["" : 17]>
product (float[N,3] x) => (float[N,2] y) <float[3,2] w = {1, 2, 3, 4, 5, 6}> { y = MatMul(x, w) }"""
RESULT = "22 28 49 64"


@pytest.fixture(scope="module")
def do(tmp_path_factory):
    path = tmp_path_factory.mktemp("loading") / "product.onnx"
    path.write_bytes(onnx.parser.parse_model(MODEL).SerializeToString())

    def run(*steps):
        done = subprocess.run([BUILD / "bin/capi_loading", path, *steps], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        return done.stdout.splitlines()

    return run


def peer():
    import onnxruntime
    (library,) = pathlib.Path(onnxruntime.__file__).parent.glob("capi/libonnxruntime.so.1*")
    return library


@pytest.mark.parametrize("flag", ["local", "global", "deepbind"])
def test_it_runs_opened_with_each_flag(do, flag):
    assert do(f"open:{flag}:{OURS}", "run:0", "run:0", "close:0") == [f"0 {RESULT}"] * 2


def test_it_is_unloaded_and_loaded_again(do):
    steps = []
    for turn in range(3):
        steps += [f"open:local:{OURS}", f"run:{turn}", f"close:{turn}", "threads", "mapped:libsardonyx.so"]
    lines = do(*steps)
    assert [line for line in lines if RESULT in line] == [f"{turn} {RESULT}" for turn in range(3)]
    assert [line for line in lines if line.startswith("threads")] == ["threads 1"] * 3
    assert [line for line in lines if line.startswith("mapped")] == ["mapped 0"] * 3


def test_loading_it_a_hundred_times_adds_little_memory_and_no_mapping(do):
    (line,) = do(f"again:100:{OURS}")
    kibibytes, maps, files = (int(number) for number in line.removeprefix("grown ").split())
    # Objects of the whole process go with the library (base/lasting.h); 4 KiB stayed each time before.
    assert kibibytes < 50 * 2
    assert (maps, files) <= (2, 0)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) == 1, reason="a session has no workers on one core")
def test_it_stays_while_a_forgotten_session_has_workers(do):
    lines = do(f"open:local:{OURS}", "run:0", "threads", "forget:0", "mapped:libsardonyx.so")
    assert lines[1] != "threads 1"
    assert lines[2] == "mapped 1"


@pytest.mark.parametrize("flag", ["local", "global", "deepbind"])
@pytest.mark.parametrize("ours_first", [True, False])
def test_it_runs_beside_onnx_runtime_in_one_process(do, flag, ours_first):
    libraries = (OURS, peer()) if ours_first else (peer(), OURS)
    lines = do(*(f"open:{flag}:{library}" for library in libraries), "run:0", "run:1", "run:0", "run:1", "close:1",
               "run:0", "close:0")
    assert lines == [f"{number} {RESULT}" for number in (0, 1, 0, 1, 0)]
