"""`sardonyx bench`: its figures, several threads and callers, and the progress line, which only a terminal gets."""
import json
import os
import pathlib
import pty
import re
import select
import subprocess
import time

import onnx.parser
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = pathlib.Path(os.environ.get("SDX_BUILD", ROOT / "build/release")) / "bin/sardonyx"
LOOP = """<ir_version: 10, opset_import: ["" : 21]>
slow (int64 trips, float[batch, 4] x) => (float[batch, 4] y) {
  y = Loop <body = step (int64 i, bool go, float[batch, 4] a) => (bool go_on, float[batch, 4] b) {
    go_on = Identity(go)
    b = Cos(a)
  }> (trips, , x)
}"""


def sardonyx(*arguments, expect=0):
    done = subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == expect, f"{arguments}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
    return done


@pytest.fixture
def model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    onnx.save(onnx.parser.parse_model(LOOP), "slow.onnx")
    return "slow.onnx"


def test_every_figure_is_there_and_they_agree(model):
    answer = json.loads(sardonyx("bench", model, "--threads", "1,2", "--runs", 40, "-i", "trips=9", "--json").stdout)
    assert [row["threads"] for row in answer["results"]] == [1, 2]
    assert [(one["name"], one["shape"]) for one in answer["inputs"]] == [("trips", []), ("x", [1, 4])]
    for row in answer["results"]:
        latency = row["latency_ms"]
        order = [latency[name] for name in ("min", "p50", "p90", "p95", "p99", "max")]
        assert order == sorted(order) and order[0] > 0 and latency["min"] <= latency["mean"] <= latency["max"]
        assert row["runs"] == 40 and row["session_creation_ms"] > 0 and row["first_run_ms"] > 0
        assert row["runs_per_second"] <= 1000 / latency["mean"] * 1.01
        assert set(row["memory"]) == {"peak_bytes", "weight_bytes", "mapped_bytes"}
        assert row["memory"]["peak_bytes"] is None or 0 <= row["memory"]["peak_bytes"] < 1e9


def test_time_limits_the_runs(model):
    (row,) = json.loads(sardonyx("bench", model, "--threads", 1, "--seconds", 0.3, "-i", "trips=9", "--json").stdout)[
        "results"]
    assert row["runs"] > 1 and row["runs"] * row["latency_ms"]["mean"] < 3000


def test_callers_share_the_session(model):
    (row,) = json.loads(sardonyx("bench", model, "--threads", 1, "--callers", 3, "--runs", 60, "--json").stdout)[
        "results"]
    assert row["runs"] == 60


def test_peak_memory_is_what_the_session_added(model, tmp_path):
    big = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["" : 21]>
        big (float[N] x) => (float[1] z) { a = Exp(x)  b = Cos(a)  c = Add(a, b)  z = ReduceSum(c) }""")
    onnx.save(big, "big.onnx")
    peaks = [json.loads(sardonyx("bench", "big.onnx", "--dim", f"N={n}", "--runs", 2, "--threads", 1, "--json").stdout)[
        "results"][0]["memory"]["peak_bytes"] for n in (1000, 20_000_000)]
    if None in peaks:
        assert not os.access("/proc/self/clear_refs", os.W_OK)
        return
    assert peaks[1] - peaks[0] > 70e6  # at least one buffer of 80 MB


def test_the_table_is_for_people(model):
    text = sardonyx("bench", model, "--threads", "1,2", "--runs", 5).stdout
    assert re.search(r"threads +create +first run +runs +p50", text) and "the model leaves batch open" in text
    assert len(re.findall(r"^ +[12] .* [mu]s .*[kM]B$|^ +[12] .* not known$|^ +[12] .* bytes$", text, re.M)) == 2


@pytest.mark.parametrize(("arguments", "code", "message"), [
    (["--threads", "0"], 2, "not in range"),
    (["--input", "z=1"], 1, "the model has no input 'z'; its inputs are 'trips', 'x'"),
    (["--runs", "some"], 2, "--runs"),
])
def test_mistakes_are_said(model, arguments, code, message):
    assert message in sardonyx("bench", model, *arguments, expect=code).stderr


def on_a_terminal(*arguments, term="xterm"):
    """What the tool writes to standard error when that is a terminal."""
    reader, writer = pty.openpty()
    process = subprocess.Popen([TOOL, *map(str, arguments)], stderr=writer, stdout=subprocess.DEVNULL,
                               env=os.environ | {"TERM": term})
    os.close(writer)
    seen = b""
    while select.select([reader], [], [], 60)[0]:
        try:
            part = os.read(reader, 65536)
        except OSError:  # the other side is closed
            break
        seen += part
        if not part:
            break
    os.close(reader)
    assert process.wait() == 0
    return seen.decode()


def test_a_terminal_sees_how_far_it_is(model):
    seen = on_a_terminal("bench", model, "--threads", 1, "--seconds", 1.5, "-i", "trips=1000")
    percents = [int(p) for p in re.findall(r"measuring with 1 threads +\[=* *\] +(\d+) %", seen)]
    assert len(percents) > 3 and percents == sorted(percents) and percents[-1] > 60
    assert seen.endswith("\r\033[K"), "the line is wiped at the end"


def test_a_long_run_shows_its_time(model):
    seen = on_a_terminal("run", model, "-i", "trips=3000000")
    assert re.search(r"running +\d+ s", seen)


def test_short_work_dumb_terminals_and_pipes_stay_clean(model):
    start = time.monotonic()
    seen = on_a_terminal("run", model, "-i", "trips=2")
    assert seen == "" or time.monotonic() - start > 0.5  # on a machine that is busy even this may take long
    assert on_a_terminal("bench", model, "--seconds", 1, "-i", "trips=1000", "--threads", 1, term="dumb") == ""
    assert sardonyx("bench", model, "--seconds", 1, "-i", "trips=1000", "--threads", 1).stderr == ""
