"""Threads and memory of sessions: options, counts, idle time, cancelled runs, shared weights, trimming."""
import json
import os
import pathlib
import subprocess
import sys
import threading
import time

import model_zoo
import numpy as np
import onnx.helper
import onnx.numpy_helper
import onnx.parser
import pytest
import sardonyx

WIDE = onnx.parser.parse_model("""
<ir_version: 10, opset_import: ["" : 21]>
wide (float[N,N] x) => (float[N,N] y) {
  a = MatMul(x, x)
  b = Tanh(x)
  c = Softmax(x)
  ab = Add(a, b)
  y = Add(ab, c)
}""").SerializeToString()
X = np.random.default_rng(0).standard_normal((300, 300), np.float32)


def run_child(code, **environment):
    """Runs Python code in a process of its own; its last line as JSON."""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], env=os.environ | environment,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def session(model=WIDE, mode="ORT_SEQUENTIAL", intra=2, inter=2, **config):
    options = sardonyx.SessionOptions()
    options.intra_op_num_threads = intra
    options.inter_op_num_threads = inter
    options.execution_mode = getattr(sardonyx.ExecutionMode, mode)
    for key, value in config.items():
        options.add_session_config_entry(key.replace("__", "."), value)
    return sardonyx.InferenceSession(model, options)


def test_any_number_of_threads_and_either_mode_give_the_same_bits():
    want = session(intra=1).run(None, {"x": X})[0]
    for intra in (2, 3, 2 * (os.cpu_count() or 1) + 1):
        for mode in ("ORT_SEQUENTIAL", "ORT_PARALLEL"):
            for _ in range(3):
                np.testing.assert_array_equal(session(mode=mode, intra=intra, inter=4).run(None, {"x": X})[0], want)


def test_parallel_mode_warns_of_nothing(capfd):
    session(mode="ORT_PARALLEL").run(None, {"x": X})
    assert "ORT_PARALLEL" not in capfd.readouterr().err


THREADS = """
import json, os, sys, numpy as np, onnx.parser, sardonyx
cores = sorted(os.sched_getaffinity(0))
os.sched_setaffinity(0, cores[:COUNT])
model = onnx.parser.parse_model('<ir_version: 10, opset_import: ["" : 21]> g (float[N,N] x) => (float[N,N] y) '
                                '{ y = MatMul(x, x) }').SerializeToString()
before = len(os.listdir("/proc/self/task"))
options = sardonyx.SessionOptions()
options.intra_op_num_threads = INTRA
session = sardonyx.InferenceSession(model, options)
session.run(None, {"x": np.ones((400, 400), np.float32)})
print(json.dumps(len(os.listdir("/proc/self/task")) - before + 1))
"""


def threads_of(count, intra):
    return run_child(THREADS.replace("COUNT", str(count)).replace("INTRA", str(intra)))


def test_the_default_count_follows_affinity_and_a_number_is_obeyed():
    cores = len(os.sched_getaffinity(0))
    assert threads_of(1, 0) == 1
    assert threads_of(cores, 0) <= cores  # a cgroup may allow fewer
    assert threads_of(1, 5) == 5
    assert threads_of(cores, cores + 3) == cores + 3


def test_affinities_are_obeyed_and_wrong_ones_are_errors():
    core = min(os.sched_getaffinity(0)) + 1  # processors count from 1
    made = session(intra=3, **{"session__intra_op_thread_affinities": f"{core};{core}-{core}"})
    np.testing.assert_array_equal(made.run(None, {"x": X})[0], session(intra=1).run(None, {"x": X})[0])
    for text in ("0;1", "a;1", "1;2-1", "1", "1;;2"):
        with pytest.raises(sardonyx.InvalidArgument, match="affinities"):
            session(intra=3, **{"session__intra_op_thread_affinities": text})


def test_spinning_is_switched_off_and_wrong_switches_are_errors():
    quiet = session(**{"session__intra_op__allow_spinning": "0"})
    np.testing.assert_array_equal(quiet.run(None, {"x": X})[0], session().run(None, {"x": X})[0])
    with pytest.raises(sardonyx.InvalidArgument, match="allow_spinning.*expected 0 or 1, found 'yes'"):
        session(**{"session__intra_op__allow_spinning": "yes"})


def test_idle_sessions_use_no_processor_time():
    held = [session(intra=4), session(mode="ORT_PARALLEL"), session(**{"session__force_spinning_stop": "1"})]
    for each in held:
        each.run(None, {"x": X})
    time.sleep(0.3)
    before = time.process_time()
    time.sleep(0.5)
    assert time.process_time() - before < 0.02


ENDLESS = onnx.parser.parse_model("""
<ir_version: 10, opset_import: ["" : 21]>
endless (int64 trips, float[4] x) => (float[4] y) {
  y = Loop <body = step (int64 i, bool go, float[4] a) => (bool go_on, float[4] b) { go_on = Identity(go) b = Cos(a) }>
      (trips, , x)
}""").SerializeToString()


@pytest.mark.parametrize("mode", ["ORT_SEQUENTIAL", "ORT_PARALLEL"])
def test_a_cancelled_run_returns_at_once_and_the_next_one_runs(mode):
    endless, delays = session(ENDLESS, mode), [1.0]
    while min(delays) >= 0.010 and len(delays) < 40:  # others may hold the cores: then a run waits to be told
        options, ended = sardonyx.RunOptions(), []

        def work(options=options, ended=ended):
            with pytest.raises(sardonyx.Fail, match="terminate"):
                endless.run(None, {"trips": np.int64(2**60), "x": np.ones(4, np.float32)}, options)
            ended.append(time.perf_counter())

        thread = threading.Thread(target=work)
        thread.start()
        time.sleep(0.02)
        asked = time.perf_counter()
        options.terminate = True
        thread.join()
        delays.append(ended[0] - asked)
    assert min(delays) < 0.010, delays
    assert endless.run(None, {"trips": np.int64(1), "x": np.zeros(4, np.float32)})[0].tolist() == [1, 1, 1, 1]


def test_a_session_works_after_fork_in_parent_and_child():
    ours = session(mode="ORT_PARALLEL", intra=3, inter=3)
    want = ours.run(None, {"x": X})[0]
    child = os.fork()
    if child == 0:
        try:
            same = all(np.array_equal(ours.run(None, {"x": X})[0], want) for _ in range(5))
            same = same and np.array_equal(ours.run(None, {"x": X[:77, :77]})[0].shape, (77, 77))
            os._exit(0 if same else 1)
        except BaseException:
            os._exit(2)
    np.testing.assert_array_equal(ours.run(None, {"x": X})[0], want)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


FORKING = """
import json, os, threading, numpy as np, onnx.parser, sardonyx
model = onnx.parser.parse_model('<ir_version: 10, opset_import: ["" : 21]> g (float[N,N] x) => (float[N,N] y) '
                                '{ a = MatMul(x, x) b = Tanh(x) y = Add(a, b) }').SerializeToString()
options = sardonyx.SessionOptions()
options.intra_op_num_threads = 3
options.execution_mode = sardonyx.ExecutionMode.MODE
options.inter_op_num_threads = 2
session = sardonyx.InferenceSession(model, options)
x = np.random.default_rng(0).standard_normal((300, 300), np.float32)
want, stop, wrong = session.run(None, {"x": x})[0], [], []

def work():
    while not stop:
        if not np.array_equal(session.run(None, {"x": x})[0], want):
            wrong.append(1)

threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
codes = []
for _ in range(5):
    child = os.fork()
    if child == 0:
        try:
            same = all(np.array_equal(session.run(None, {"x": x})[0], want) for _ in range(3))
            other = sardonyx.InferenceSession(model, options).run(None, {"x": x})[0]
            os._exit(0 if same and np.array_equal(other, want) else 1)
        except BaseException:
            os._exit(2)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
stop.append(1)
for thread in threads:
    thread.join()
print(json.dumps([codes, wrong]))
"""


@pytest.mark.parametrize("mode", ["ORT_SEQUENTIAL", "ORT_PARALLEL"])
def test_a_fork_while_other_threads_run_leaves_both_processes_working(mode):
    assert run_child(FORKING.replace("MODE", mode)) == [[0] * 5, []]


def test_a_large_node_ends_before_a_cancelled_run_does_and_no_other_begins():
    """The time from the wish to the return is at most what the node in progress still takes."""
    model = onnx.parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 21]>
        g (float[N,N] x) => (float[N,N] y) { a = MatMul(x, x) b = MatMul(a, x) c = MatMul(b, x) y = MatMul(c, x) }
        """).SerializeToString()
    held, x = session(model), np.zeros((1500, 1500), np.float32)
    held.run(None, {"x": x})
    start = time.perf_counter()
    held.run(None, {"x": x})
    whole, ratios = time.perf_counter() - start, []
    while min(ratios, default=1) > 0.5 and len(ratios) < 20:  # others may hold the cores
        options = sardonyx.RunOptions()
        timer = threading.Timer(0.1 * whole, lambda options=options: setattr(options, "terminate", True))
        start = time.perf_counter()
        timer.start()
        with pytest.raises(sardonyx.Fail, match="terminate"):
            held.run(None, {"x": x}, options)
        ratios.append((time.perf_counter() - start) / whole)
        timer.join()
    assert min(ratios) <= 0.5, "the wish comes in the first of four equal nodes"


SHARED = """
import json, os, sys, numpy as np, sardonyx
def resident():
    for line in open("/proc/self/smaps_rollup"):
        if line.startswith("Rss:"):
            return int(line.split()[1]) / 1024
options = sardonyx.SessionOptions()
options.intra_op_num_threads = 1
x, held, sizes = np.ones((1, 1024), np.float32), [], []
for path in json.loads(os.environ["MODELS"]):
    held.append(sardonyx.InferenceSession(open(path, "rb").read() if "BYTES" in os.environ else path, options))
    sizes.append((resident(), float(held[-1].run(None, {"x": x})[0][0, 0])))
print(json.dumps(sizes))
"""


def dense_model(path, first):
    """Products with three constant matrices of 4 MB, in the file itself."""
    nodes, weights, name = [], [], "x"
    for layer in range(3):
        w = np.full((1024, 1024), 2.0**-10, np.float32)
        w[0, 0] = first
        weights.append(onnx.numpy_helper.from_array(w, f"w{layer}"))
        nodes.append(onnx.helper.make_node("MatMul", [name, f"w{layer}"], [f"h{layer}"]))
        name = f"h{layer}"
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(nodes, "dense", [value("x", 1, ["N", 1024])], [value(name, 1, ["N", 1024])], weights)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)], ir_version=10), path)


# The 12 MB of bytes that were read last and let go may wait in the C library's heap.
@pytest.mark.parametrize(("source", "most"), [({}, 6), ({"BYTES": "1"}, 18)], ids=["file", "bytes"])
def test_sessions_of_one_model_hold_its_weights_once(source, most, tmp_path):
    dense_model(tmp_path / "a.onnx", 1)
    sizes = run_child(SHARED, MODELS=json.dumps([str(tmp_path / "a.onnx")] * 8), **source)
    assert sizes[7][0] - sizes[0][0] < most, f"one matrix is 4 MB: {sizes}"
    assert len({value for _, value in sizes}) == 1


def test_a_file_that_changed_gives_its_new_weights(tmp_path):
    path = tmp_path / "a.onnx"
    dense_model(path, 1)
    x, before = np.eye(1, 1024, dtype=np.float32), sardonyx.InferenceSession(str(path))
    first = before.run(None, {"x": x})[0]
    dense_model(path.with_suffix(".new"), 9)
    os.replace(path.with_suffix(".new"), path)
    second = sardonyx.InferenceSession(str(path)).run(None, {"x": x})[0]
    np.testing.assert_array_equal(before.run(None, {"x": x})[0], first)
    assert second[0, 0] > 100 * first[0, 0]


SHRINKING = """
import json, numpy as np, onnx.parser, sardonyx
def resident():
    for line in open("/proc/self/smaps_rollup"):
        if line.startswith("Rss:"):
            return int(line.split()[1]) / 1024
model = onnx.parser.parse_model('<ir_version: 10, opset_import: ["" : 21]> g (float[N,M] x) => (float y) '
    '{ a = Exp(x) b = Relu(a) y = ReduceMean<keepdims = 0>(b) }').SerializeToString()
session = sardonyx.InferenceSession(model)
small = np.ones((8, 8), np.float32)
session.run(None, {"x": small})
sizes = [resident()]
large = np.ones((2000, 2000), np.float32)
RUNS
sizes.append(resident())
print(json.dumps(sizes))
"""


@pytest.mark.parametrize("runs", [
    'session.run(None, {"x": large}); [session.run(None, {"x": small}) for _ in range(200)]; del large',
    'session.run(None, {"x": large}); del large; session.trim(); session.run(None, {"x": small})',
    'o = sardonyx.RunOptions(); o.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0"); '
    'session.run(None, {"x": large}, o); del large',
])
def test_memory_of_a_large_shape_goes_when_shapes_are_small_again(runs):
    before, after = run_child(SHRINKING.replace("RUNS", runs))
    assert after - before < 4, f"the large shape's values take 16 MB each: {before} MB, then {after} MB"


SETTLING = """
import json, numpy as np, os, sardonyx
def anonymous():
    for line in open("/proc/self/smaps_rollup"):
        if line.startswith("Anonymous:"):
            return int(line.split()[1]) / 1024
options = sardonyx.SessionOptions()
options.intra_op_num_threads = 1
session = sardonyx.InferenceSession(os.environ["MODEL"], options)
random = np.random.default_rng(7)
def run(batch, length):
    session.run(None, {port.name: random.integers(0, 2, (batch, length)) for port in session.get_inputs()})
run(1, 8)
sizes = [anonymous()]
for _ in range(1000):
    run(int(random.integers(1, 5)), int(random.integers(1, 129)))
for _ in range(10):
    run(1, 8)
sizes.append(anonymous())
session.trim()
sizes.append(anonymous())
print(json.dumps(sizes))
"""


def text_model(path):
    """An embedding, a wide layer and back, scores of all words with all: what a model of text needs by its lengths."""
    table, wide = np.ones((2, 256), np.float32), np.ones((256, 1024), np.float32)
    model = onnx.parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 21]>
        g (int64[B,N] ids) => (float[B,N,256] y) {
            x = Gather(table, ids)
            h = MatMul(x, up) r = Relu(h) d = MatMul(r, down)
            t = Transpose<perm = [0, 2, 1]>(d) s = MatMul(d, t) p = Softmax(s)
            y = MatMul(p, d)
        }""")
    for name, values in (("table", table), ("up", wide), ("down", wide.T)):
        model.graph.initializer.append(onnx.numpy_helper.from_array(values, name))
    onnx.save(model, path)
    return path


def settled(path):
    first, after, trimmed = run_child(SETTLING, MODEL=str(path))
    assert after <= 1.15 * first, f"{first} MB after the first run, {after} MB after ten small ones, trimmed {trimmed}"


def test_memory_of_many_shapes_goes_when_one_is_repeated(tmp_path):
    settled(text_model(tmp_path / "text.onnx"))


@pytest.mark.skipif(not model_zoo.present(), reason=model_zoo.why_absent())
def test_memory_of_many_lengths_of_text_goes_when_one_is_repeated():
    settled(model_zoo.path("minilm_l6"))


BOUNDS = """
import json, numpy as np, sardonyx, sys
sys.path.insert(0, "PATH")
import zoo
model = next(model for model in zoo.models() if model.name == "NAME")
feed, found = next(iter(model.runs())), []
for threads in (1, 2, 3, 5, 8, 16):
    options = sardonyx.SessionOptions()
    options.intra_op_num_threads = threads
    got = sardonyx.InferenceSession(str(model.path), options).run(None, feed)
    found.append([np.asarray(value).tobytes().hex() if np.asarray(value).dtype != object else repr(value)
                  for value in got])
print(json.dumps(all(values == found[0] for values in found)))
"""


@pytest.mark.parametrize("name", ["silero_16k", "light_squeezenet", "light_inception_v1", "rapidocr_recognition"])
def test_models_give_the_same_bits_with_any_number_of_threads(name):
    path = str(pathlib.Path(__file__).resolve().parents[1] / "models")
    assert run_child(BOUNDS.replace("PATH", path).replace("NAME", name)) is True


def test_a_device_without_an_arena_is_refused():
    options = sardonyx.RunOptions()
    options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "gpu:0")
    with pytest.raises(sardonyx.InvalidArgument, match="expected 'cpu:0', found 'gpu:0'"):
        session().run(None, {"x": X}, options)
