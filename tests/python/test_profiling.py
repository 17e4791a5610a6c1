"""Profiles have ONNX Runtime's files and fields, and also bytes, operations, threads and the share of the ceiling."""
import json
import os
import subprocess
import sys
import threading

import numpy as np
import onnx.numpy_helper
import onnx.parser
import onnxruntime
import pytest
import sardonyx

MODEL = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[N, 64] x) => (float[N, 32] y) {
  w = ConstantOfShape <value = float[1] {0.5}> (shape)
  m = MatMul (x, w)
  y = Softmax (m)
}
""".replace("{\n  w", "<int64[2] shape = {64, 32}> {\n  w", 1)).SerializeToString()
X = np.ones((8, 64), np.float32)


def options(folder, prefix="trace"):
    made = sardonyx.SessionOptions()
    made.enable_profiling = True
    made.profile_file_prefix = folder / prefix
    return made


def events(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def nodes(path):
    return [event for event in events(path) if event["cat"] == "Node"]


@pytest.fixture
def profile(tmp_path):
    session = sardonyx.InferenceSession(MODEL, options(tmp_path))
    assert session.get_profiling_start_time_ns() > 1_700_000_000 * 10**9
    for _ in range(3):
        session.run(None, {"x": X})
    path = session.end_profiling()
    assert session.end_profiling() == ""
    session.run(None, {"x": X})  # after the end: not in the file
    return path


def test_the_file_is_named_as_onnxruntime_names_it(profile, tmp_path):
    assert os.path.dirname(profile) == str(tmp_path)
    name = os.path.basename(profile)
    assert name.startswith("trace_20") and name.endswith(".json")
    assert len(name) == len("trace_2026-11-21_15-21-35_564.json")


def test_readers_of_onnxruntimes_profiles_find_their_fields(profile, tmp_path):
    peer_options = onnxruntime.SessionOptions()
    peer_options.enable_profiling = True
    peer_options.profile_file_prefix = str(tmp_path / "peer")
    peer = onnxruntime.InferenceSession(MODEL, peer_options, providers=["CPUExecutionProvider"])
    peer.run(None, {"x": X})
    theirs = events(peer.end_profiling())
    ours = events(profile)
    kinds = [event["cat"] in ("Machine", "Thread", "Memory") for event in ours]
    assert any(kinds) and kinds == sorted(kinds), "what ONNX Runtime's profiles lack belongs behind all others"
    assert [event["name"] for event in ours[:2]] == [event["name"] for event in theirs[:2]]
    memory_of_its_arena = {"mem_arena_held", "mem_arena_held_delta", "mem_bytes_in_use", "mem_bytes_requested_in_use",
                           "mem_in_use_delta", "mem_in_use_peak", "mem_requested_in_use_delta",
                           "thread_scheduling_stats"}
    for event in theirs:
        same = [other for other in ours if other["cat"] == event["cat"] and other["name"] == event["name"]]
        if event["cat"] == "Session":
            assert same and event.keys() <= same[0].keys(), event["name"]
    their_product = next(e for e in theirs if e["cat"] == "Node" and e["args"]["op_name"] == "MatMul")
    our_product = next(e for e in ours if e["cat"] == "Node" and e["args"]["op_name"] == "MatMul")
    assert their_product["args"].keys() - memory_of_its_arena <= our_product["args"].keys()
    for field in ("op_name", "provider", "output_type_shape", "activation_size", "output_size"):
        assert our_product["args"][field] == their_product["args"][field], field
    # Weights that are packed are not among the inputs there.
    ours, theirs = our_product["args"]["input_type_shape"], their_product["args"]["input_type_shape"]
    assert ours[:1] == theirs == [{"float": [8, 64]}]


def test_shapes_bytes_operations_threads_and_the_share_of_the_ceiling(profile):
    product = next(event["args"] for event in nodes(profile) if event["args"]["op_name"] == "MatMul")
    assert product["flops"] == 2 * 8 * 64 * 32
    assert product["bytes"] == 4 * (8 * 64 + 64 * 32 + 8 * 32)
    assert product["output_type_shape"] == [{"float": [8, 32]}]
    assert product["threads"] >= 1 and 0 < product["ceiling_share"] < 1.1
    machine = next(event["args"] for event in events(profile) if event["cat"] == "Machine")
    assert machine["float_operations_per_second"] > 1e8
    assert all(stream["bytes_per_second"] > 1e7 for stream in machine["streams"])


@pytest.mark.parametrize(("kernel", "share"), [(3, 0.25), (5, ((56 * 5 - 6) / (56 * 5)) ** 2)])  # Winograd; padding
def test_the_ceiling_counts_the_arithmetic_that_the_kernel_needs(kernel, share, tmp_path):
    model = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["" : 17]>
    g (float[1, 64, 56, 56] x) => (float[1, 64, 56, 56] y) {{
      y = Conv <pads = [{kernel // 2}, {kernel // 2}, {kernel // 2}, {kernel // 2}]> (x, w)
    }}""")
    weights = onnx.numpy_helper.from_array(np.ones((64, 64, kernel, kernel), np.float32), "w")
    model.graph.initializer.append(weights)
    session = sardonyx.InferenceSession(model.SerializeToString(), options(tmp_path))
    session.run(None, {"x": np.ones((1, 64, 56, 56), np.float32)})
    path = session.end_profiling()
    conv = next(event["args"] for event in nodes(path) if "Conv" in event["args"]["op_name"])
    machine = next(event["args"] for event in events(path) if event["cat"] == "Machine")
    assert conv["flops"] == 2 * 64 * 64 * 56 * 56 * kernel**2
    seconds = conv["ceiling_share"] * conv["self_dur"] * 1e-6
    assert seconds * machine["float_operations_per_second"] / conv["flops"] == pytest.approx(share, rel=1e-3)


def test_every_run_is_there_and_nodes_lie_within_their_run(profile):
    runs = [event for event in events(profile) if event["name"] == "model_run"]
    assert len(runs) == 3
    for node in nodes(profile):
        assert any(run["ts"] <= node["ts"] and node["ts"] + node["dur"] <= run["ts"] + run["dur"] + 0.01
                   for run in runs)
    assert {event["ph"] for event in events(profile)} == {"X", "C"}


def test_memory_over_time_is_that_of_the_plan_and_of_what_comes_with_the_run(tmp_path):
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
    g (float[600] x) => (float[1, K] y, float[1] z)
    <int64[2] row = {1, 600}, int64[2] column = {600, 1}, int64[1] one = {1}> {
      e = Exp (x)
      s = Sin (x)
      a = Reshape (e, row)
      b = Reshape (s, column)
      m = MatMul (a, b)
      z = Reshape (m, one)
      n = NonZero (x)
      f = Cast <to = 1> (n)
      y = Neg (f)
    }""")
    asked = options(tmp_path)
    asked.graph_optimization_level = sardonyx.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = sardonyx.InferenceSession(model.SerializeToString(), asked)
    x = np.zeros(600, np.float32)
    x[[1, 5, 8, 9]] = 1
    session.run(None, {"x": x})
    memory = [event["args"] for event in events(session.end_profiling()) if event["cat"] == "Memory"]
    (plan,) = session.memory_plan()
    alive = [sum(buffer["bytes"] for buffer in plan["buffers"] if buffer["first_step"] <= step <= buffer["last_step"])
             for step in range(len(plan["steps"]))]
    assert [moment["bytes"] for moment in memory] == alive and max(alive) > 0
    # Four elements are not zero: n of 8 bytes each, f and y of 4.
    late = dict(zip([step["op_type"] for step in plan["steps"]], [moment["late_bytes"] for moment in memory]))
    assert late["MatMul"] == 0 and late["NonZero"] == 32 and late["Cast"] == 48 and late["Neg"] == 64


def test_without_optimization_every_node_of_the_author_is_shown(tmp_path):
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
    g (float[2, 6] x) => (float[3, 4] y) <int64[2] s = {3, 4}, int64[1] k = {3}> {
      a = Identity (x)
      z = Size (a)
      b = Reshape (a, s)
      f = Cast <to = 1> (z)
      c = Add (b, f)
      y = Relu (c)
    }""")
    asked = options(tmp_path)
    asked.graph_optimization_level = sardonyx.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = sardonyx.InferenceSession(model.SerializeToString(), asked)
    session.run(None, {"x": np.ones((2, 6), np.float32)})
    shown = [event["args"]["op_name"] for event in nodes(session.end_profiling())]
    assert sorted(shown) == sorted(node.op_type for node in model.graph.node)


def test_nodes_of_bodies_say_which_body_and_are_not_counted_twice(tmp_path):
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
    g (int64 n, float[50000] x) => (float[50000] y) {
      y = Loop (n, , x) <body = turn (int64 i, bool go, float[50000] v) => (bool on, float[50000] w) {
        on = Identity (go)
        w = Exp (v)
      }>
    }""").SerializeToString()
    session = sardonyx.InferenceSession(model, options(tmp_path))
    session.run(None, {"n": np.int64(5), "x": np.zeros(50000, np.float32)})
    path = session.end_profiling()
    whole = next(event for event in events(path) if event["name"] == "SequentialExecutor::Execute")
    shown = nodes(path)
    assert all(whole["ts"] <= event["ts"] + 1e-3
               and event["ts"] + event["dur"] <= whole["ts"] + whole["dur"] + 1e-3 for event in shown)
    inner = [event for event in shown if event["args"]["op_name"] == "Exp"]
    loop = next(event for event in shown if event["args"]["op_name"] == "Loop")
    assert len(inner) == 5 and all(event["args"]["graph"].endswith("turn") for event in inner)
    assert loop["args"]["self_dur"] <= loop["dur"] - sum(event["dur"] for event in inner) + 0.01


def test_two_threads_share_a_big_node(tmp_path):
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
    g (float[4000000] x) => (float[4000000] y) { y = Sin (x) }""").SerializeToString()
    asked = options(tmp_path)
    asked.intra_op_num_threads = 2
    session = sardonyx.InferenceSession(model, asked)
    for _ in range(20):
        session.run(None, {"x": np.ones(4000000, np.float32)})
    path = session.end_profiling()
    assert max(event["args"]["threads"] for event in nodes(path)) == 2
    assert any(event["cat"] == "Thread" for event in events(path))


def test_one_run_may_have_a_profile_of_its_own(tmp_path):
    session = sardonyx.InferenceSession(MODEL)
    run = sardonyx.RunOptions()
    run.enable_profiling(tmp_path / "single")
    session.run(None, {"x": X}, run)
    session.run(None, {"x": X}, run)
    run.disable_profiling()
    session.run(None, {"x": X}, run)
    written = sorted(tmp_path.glob("single_*.json"))
    assert len(written) == 2
    assert all(len(nodes(path)) == len(nodes(written[0])) > 0 for path in written)
    assert session.end_profiling() == "" and session.get_profiling_start_time_ns() == 0


def test_a_run_that_fails_leaves_what_it_did(tmp_path):
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
    g (float[3] x, int64[1] at) => (float[1] y) { a = Exp (x)  y = Gather (a, at) }""").SerializeToString()
    session = sardonyx.InferenceSession(model, options(tmp_path))
    with pytest.raises(Exception, match="Gather"):
        session.run(None, {"x": np.ones(3, np.float32), "at": np.int64([7])})
    assert [event["args"]["op_name"] for event in nodes(session.end_profiling())] == ["Exp"]


def test_a_closed_session_writes_its_profile(tmp_path):
    session = sardonyx.InferenceSession(MODEL, options(tmp_path))
    session.run(None, {"x": X})
    session.close()
    assert len(list(tmp_path.glob("trace_*.json"))) == 1


def test_runs_of_many_threads_are_all_there(tmp_path):
    session = sardonyx.InferenceSession(MODEL, options(tmp_path))
    threads = [threading.Thread(target=lambda: [session.run(None, {"x": X}) for _ in range(20)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(event["name"] == "model_run" for event in events(session.end_profiling())) == 80


def test_a_folder_that_is_not_there_is_said_before_the_work(tmp_path):
    with pytest.raises(sardonyx.InvalidArgument, match="nowhere"):
        sardonyx.InferenceSession(MODEL, options(tmp_path / "nowhere"))


def test_a_disk_without_room_is_said_and_left_clean(tmp_path):
    prefix = tmp_path / "trace"
    code = f"""
import resource, signal, sys, numpy, sardonyx
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))
options = sardonyx.SessionOptions()
options.enable_profiling = True
options.profile_file_prefix = {str(prefix)!r}
session = sardonyx.InferenceSession(sys.stdin.buffer.read(), options)
session.run(None, {{"x": numpy.ones((8, 64), numpy.float32)}})
try:
    session.end_profiling()
except sardonyx.Fail as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], input=MODEL, capture_output=True)
    assert b"profile: cannot write" in done.stdout and b"File too large" in done.stdout, done
    assert not list(tmp_path.iterdir())
