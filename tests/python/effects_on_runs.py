"""Configuration entries that change threads, memory and options: each is shown to do what it says."""
import json
import os
import pathlib

import pytest
import sardonyx
from config_entries import NEG, options_with, parsed, run_child, shows


def session_with(model=NEG, **entries):
    return sardonyx.InferenceSession(model, options_with(**entries))

WORKERS = """
import json, os, sys, time, numpy as np, sardonyx
def threads():
    return set(os.listdir("/proc/self/task"))
def session(*entry, mode="ORT_SEQUENTIAL"):
    options = sardonyx.SessionOptions()
    options.intra_op_num_threads = 2
    options.inter_op_num_threads = 2
    options.execution_mode = getattr(sardonyx.ExecutionMode, mode)
    if entry:
        options.add_session_config_entry(*entry)
    return sardonyx.InferenceSession(bytes.fromhex(sys.argv[1]), options)
key, value, mode = sys.argv[2:]
plain, shared = session(mode=mode), threads()
held = session(key, value, mode=mode)
own = threads() - shared
def seconds(threads):  # on a core, of these threads
    ticks = [open(f"/proc/self/task/{t}/stat").read().rsplit(")", 1)[1].split()[11:13] for t in threads]
    return sum(int(a) + int(b) for a, b in ticks) / os.sysconf("SC_CLK_TCK")
for _ in range(20):
    held.run(None, {"x": np.ones(3, np.float32)})
def sleeps(thread):  # so it has begun, and found its place
    return open(f"/proc/self/task/{thread}/stat").read().rsplit(")", 1)[1].split()[0] == "S"
for _ in range(3000):
    if all(sleeps(thread) for thread in own):
        break
    time.sleep(0.01)
print(json.dumps([len(own), [sorted(os.sched_getaffinity(int(t))) for t in own]]))
"""


def workers_with(key, value, mode="ORT_SEQUENTIAL"):
    """Affinities of the workers that the entry made for the session: those of the process's pool do not behave so."""
    count, affinities = run_child(WORKERS, NEG.hex(), key, value, mode)
    assert count == 1
    return affinities


@shows("session", "session.force_spinning_stop")
def _(_tmp_path):
    workers_with("session.force_spinning_stop", "1")


@shows("session", "session.intra_op.allow_spinning")
def _(_tmp_path):
    workers_with("session.intra_op.allow_spinning", "0")


@shows("session", "session.inter_op.allow_spinning")
def _(_tmp_path):
    workers_with("session.inter_op.allow_spinning", "0", "ORT_PARALLEL")


@shows("session", "session.intra_op.spin_duration_us")
def _(_tmp_path):
    workers_with("session.intra_op.spin_duration_us", "50")
    workers_with("session.intra_op.spin_duration_us", "0")
    with pytest.raises(Exception, match="spin_duration_us.*whole number of 0 or more, found 'long'"):
        session_with(session__intra_op__spin_duration_us="long")


@shows("session", "session.inter_op.spin_duration_us")
def _(_tmp_path):
    workers_with("session.inter_op.spin_duration_us", "50", "ORT_PARALLEL")


@shows("session", "session.intra_op.spin_backoff_max")
def _(_tmp_path):
    workers_with("session.intra_op.spin_backoff_max", "8")


@shows("session", "session.inter_op.spin_backoff_max")
def _(_tmp_path):
    workers_with("session.inter_op.spin_backoff_max", "8", "ORT_PARALLEL")


@shows("session", "session.intra_op_thread_affinities")
def _(_tmp_path):
    core = max(os.sched_getaffinity(0))
    assert workers_with("session.intra_op_thread_affinities", str(core + 1)) == [[core]]


SHRINKING = """
import json, sys, numpy as np, sardonyx
def resident():
    return int(next(line for line in open("/proc/self/smaps_rollup") if line.startswith("Rss:")).split()[1]) / 1024
options, run_options = sardonyx.SessionOptions(), sardonyx.RunOptions()
options.enable_cpu_mem_arena = "arena" not in sys.argv
if "entry" in sys.argv:
    options.add_session_config_entry("session.enable_cpu_mem_arena", "0")
if "run" in sys.argv:
    run_options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
session = sardonyx.InferenceSession(bytes.fromhex(sys.argv[1]), options)
session.run(None, {"x": np.ones((8, 8), np.float32)}, run_options)
before, large = resident(), np.ones((2000, 2000), np.float32)
session.run(None, {"x": large}, run_options)
del large
print(json.dumps(resident() - before))
"""


def kept_memory(*arguments):
    model = parsed("g (float[N,M] x) => (float y) { a = Exp(x) b = Relu(a) y = ReduceMean<keepdims = 0>(b) }")
    return run_child(SHRINKING, model.hex(), *arguments)


@shows("run", "memory.enable_memory_arena_shrinkage")
def _(_tmp_path):
    assert kept_memory() > 12 and kept_memory("run") < 4


# ---- entries that stand for options ----

@shows("session", "session.enable_cpu_mem_arena")
def _(_tmp_path):
    assert kept_memory("entry") < 4


@shows("session", "session.enable_profiling")
def _(tmp_path):
    path = session_with(session__enable_profiling=str(tmp_path / "profile")).end_profiling()
    assert pathlib.Path(path).parent == tmp_path and json.loads(pathlib.Path(path).read_text())
    options = options_with(session__enable_profiling="")
    options.enable_profiling = True
    assert sardonyx.InferenceSession(NEG, options).end_profiling() == ""


THREADS = """
import json, os, sys, numpy as np, sardonyx
options = sardonyx.SessionOptions()
options.intra_op_num_threads = 1
options.inter_op_num_threads = 1
for entry in sys.argv[2:]:
    options.add_session_config_entry(*entry.split("=", 1))
before = len(os.listdir("/proc/self/task"))
session = sardonyx.InferenceSession(bytes.fromhex(sys.argv[1]), options)
print(json.dumps(len(os.listdir("/proc/self/task")) - before))
"""


@shows("session", "session.intra_op_num_threads")
def _(_tmp_path):
    assert run_child(THREADS, NEG.hex()) == 0
    assert run_child(THREADS, NEG.hex(), "session.intra_op_num_threads=3") == 2
    with pytest.raises(Exception, match="session.intra_op_num_threads.*found 'many'"):
        session_with(session__intra_op_num_threads="many")


@shows("session", "session.inter_op_num_threads")
def _(_tmp_path):
    parallel = "session.execution_mode=parallel"
    assert run_child(THREADS, NEG.hex(), parallel) == 0
    assert run_child(THREADS, NEG.hex(), parallel, "session.inter_op_num_threads=4") == 3


@shows("session", "session.execution_mode")
def _(_tmp_path):
    wide = ["session.inter_op_num_threads=4"]
    assert [run_child(THREADS, NEG.hex(), f"session.execution_mode={mode}", *wide) for mode in (
        "sequential", "parallel", "ort_sequential", "ort_parallel")] == [0, 3, 0, 3]
    with pytest.raises(Exception, match="session.execution_mode.*expected one of sequential, parallel"):
        session_with(session__execution_mode="both")


@shows("session", "session.use_per_session_threads")
def _(_tmp_path):
    # The environment's threads are as many as the machine grants, whatever the session asks for.
    granted = run_child(THREADS, NEG.hex(), "session.intra_op_num_threads=0")
    asked = ["session.intra_op_num_threads=7"]
    assert run_child(THREADS, NEG.hex(), *asked) == 6
    assert run_child(THREADS, NEG.hex(), *asked, "session.use_per_session_threads=0") == granted


@shows("session", "session.graph_optimization_level")
def _(tmp_path):
    model = parsed("g (float[4] x) => (float[4] y) { a = Identity(x) y = Neg(a) }")
    texts = []
    for level in ("disable_all", "enable_all"):
        path = tmp_path / f"{level}.onnx"
        session_with(model, session__graph_optimization_level=level, session__optimized_model_filepath=str(path))
        texts.append(b"Identity" in path.read_bytes())
    assert texts == [True, False]
    with pytest.raises(Exception, match="session.graph_optimization_level.*found '99'"):
        session_with(session__graph_optimization_level="99")


@shows("session", "session.optimized_model_filepath")
def _(tmp_path):
    session_with(session__optimized_model_filepath=str(tmp_path / "saved.onnx"))
    assert (tmp_path / "saved.onnx").stat().st_size > 0


LOG = """
import json, os, sys, sardonyx
read, write = os.pipe()
os.dup2(write, 2)
options = sardonyx.SessionOptions()
for entry in sys.argv[2:]:
    options.add_session_config_entry(*entry.split("=", 1))
sardonyx.InferenceSession(bytes.fromhex(sys.argv[1]), options)
os.write(2, b"end")
print(json.dumps(os.read(read, 100000).decode()))
"""


@shows("session", "session.log_id")
def _(_tmp_path):
    unknown = "no.such.entry=1"
    assert "harpsichord" in run_child(LOG, NEG.hex(), unknown, "session.log_id=harpsichord")


@shows("session", "session.log_severity_level")
def _(_tmp_path):
    unknown = "no.such.entry=1"
    assert "no.such.entry" in run_child(LOG, NEG.hex(), unknown, "session.log_severity_level=2")
    assert "no.such.entry" not in run_child(LOG, NEG.hex(), unknown, "session.log_severity_level=3")
    with pytest.raises(Exception, match="session.log_severity_level.*expected 0 to 4, found 9"):
        session_with(session__log_severity_level="9")


@shows("session", "session.log_verbosity_level")
def _(_tmp_path):
    session_with(session__log_verbosity_level="2")
    with pytest.raises(Exception, match="session.log_verbosity_level"):
        session_with(session__log_verbosity_level="loud")

