"""Values inside a model: by name, also those that optimization removed; statistics of all values; the memory plan."""
import pathlib
import threading

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest
import sardonyx

# The optimizer makes one node of each line of three, folds c and drops i.
MODEL = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[N, 8] x) => (float[N, 8] y) <float[8, 8] w, float[8] b = {1, 2, 3, 4, 5, 6, 7, 8}> {
  m = MatMul (x, w)
  a = Add (m, b)
  r = Relu (a)
  i = Identity (r)
  c = Add (b, b)
  s = Mul (i, c)
  y = Tanh (s)
}""".replace("float[8, 8] w", "float[8, 8] w = {" + ", ".join(str((7 * k) % 11 / 8 - 0.6) for k in range(64)) + "}"))
BYTES = MODEL.SerializeToString()
X = np.linspace(-1, 1, 24, dtype=np.float32).reshape(3, 8)
NAMES = [name for node in MODEL.graph.node for name in node.output]


def expected(model, feed, names):
    """ONNX Runtime, told to have these outputs, without optimization."""
    told = onnx.ModelProto()
    told.CopyFrom(model)
    have = {output.name for output in told.graph.output}
    told.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names if name not in have)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    peer = onnxruntime.InferenceSession(told.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return peer.run(names, feed)


@pytest.fixture(params=["bytes", "path"])
def session(request, tmp_path):
    if request.param == "bytes":
        return sardonyx.InferenceSession(BYTES)
    onnx.save(MODEL, tmp_path / "m.onnx")
    return sardonyx.InferenceSession(tmp_path / "m.onnx")


def test_the_fixture_is_optimized(session):
    assert len(session.placement()) < len(MODEL.graph.node)


@pytest.mark.parametrize("name", NAMES)
def test_every_value_has_its_name(session, name):
    got = session.run([name], {"x": X})
    np.testing.assert_allclose(got[0], expected(MODEL, {"x": X}, [name])[0], rtol=1e-5, atol=1e-6)


def test_all_at_once_beside_outputs_inputs_and_weights(session):
    asked = [*reversed(NAMES), "x", "b"]
    got = session.run(asked, {"x": X})
    for name, value, want in zip(asked, got, expected(MODEL, {"x": X}, NAMES[::-1]) + [X, np.arange(1, 9)]):
        np.testing.assert_allclose(value, want, rtol=1e-5, atol=1e-6, err_msg=name)


def test_the_session_itself_is_left_as_it_was(session):
    before, placement = session.run(None, {"x": X})[0], session.placement()
    session.run(["a", "c"], {"x": X})
    after = session.run(None, {"x": X})[0]
    assert before.tobytes() == after.tobytes() and session.placement() == placement
    assert [output.name for output in session.get_outputs()] == ["y"]


def test_unknown_names_are_told_with_the_closest(session):
    with pytest.raises(sardonyx.InvalidArgument, match="no output 'mm', and no value with this name.*did you mean 'm'"):
        session.run(["mm"], {"x": X})


def test_a_name_may_be_asked_for_twice(session):
    once, twice, other = session.run(["m", "m", "a"], {"x": X})
    assert once.tobytes() == twice.tobytes()
    for name, got in (("m", once), ("a", other)):  # alone it may be part of another fused node
        np.testing.assert_allclose(got, session.run([name], {"x": X})[0], rtol=1e-5, atol=1e-6)


def test_other_shapes_and_ort_values(session):
    for rows in (1, 5, 2):
        feed = {"x": np.ones((rows, 8), np.float32)}
        value = session.run_with_ort_values(["m"], {"x": sardonyx.OrtValue.ortvalue_from_numpy(feed["x"])})[0]
        np.testing.assert_allclose(value.numpy(), expected(MODEL, feed, ["m"])[0], rtol=1e-5)


def test_many_threads_ask_for_many_values(session):
    want = dict(zip(NAMES, expected(MODEL, {"x": X}, NAMES)))
    wrong = []

    def ask(first):
        for turn in range(12):
            name = NAMES[(first + turn) % len(NAMES)]
            if not np.allclose(session.run([name], {"x": X})[0], want[name], rtol=1e-5, atol=1e-6):
                wrong.append(name)

    threads = [threading.Thread(target=ask, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


FUNCTION = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17, "my" : 1]>
    g (float[2] x) => (float[2] y) { [call] y = my.Twice (x) }
    <domain: "my", opset_import: ["" : 17]>
    Twice (a) => (b) { half = Exp (a)  b = Add (half, half) }""")
FUNCTION.graph.node[0].name = "call"


def test_values_of_functions_have_the_name_that_inlining_gives_them():
    session = sardonyx.InferenceSession(FUNCTION.SerializeToString())
    np.testing.assert_allclose(session.run(["call/half"], {"x": np.float32([0, 1])})[0], np.exp([0, 1]), rtol=1e-6)


@pytest.mark.parametrize(("name", "here"), [("half", "call/half"), ("a", "x"), ("b", "y")])
def test_names_of_functions_are_told_as_they_are_in_the_graph(name, here):
    session = sardonyx.InferenceSession(FUNCTION.SerializeToString())
    with pytest.raises(sardonyx.InvalidArgument, match=f"'{name}' is made in a function, .* model it is '{here}'"):
        session.run([name], {"x": np.float32([0, 1])})


def test_a_value_of_a_body_is_refused_with_the_reason():
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
    g (int64 n, float[2] x) => (float[2] y) {
      y = Loop (n, , x) <body = turn (int64 i, bool go, float[2] v) => (bool on, float[2] w) {
        on = Identity (go)
        inside = Exp (v)
        w = Neg (inside)
      }>
    }""").SerializeToString()
    with pytest.raises(sardonyx.InvalidArgument, match=r"'inside' is made in body 'turn' of node .*Loop, output 'y'"):
        sardonyx.InferenceSession(model).run(["inside"], {"n": np.int64(1), "x": np.float32([1, 2])})
    with pytest.raises(sardonyx.InvalidArgument, match="no value with this name.*did you mean 'inside'"):
        sardonyx.InferenceSession(model).run(["insides"], {"n": np.int64(1), "x": np.float32([1, 2])})


def test_a_profile_shows_the_runs_that_ask_for_values(tmp_path):
    options = sardonyx.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = tmp_path / "p"
    session = sardonyx.InferenceSession(BYTES, options)
    session.run(["a"], {"x": X})
    session.run(["r", "m"], {"x": X})
    text = pathlib.Path(session.end_profiling()).read_text()
    assert text.count('"model_run"') == 2


# ---- statistics ----

DIVIDES = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
g (float[4] x) => (float[4] y, float[4] z) {
  [log] l = Log (x)
  [quotient] q = Div (x, x)
  [sum] y = Add (l, q)
  [again] z = Neg (y)
}""".replace("[log] ", "").replace("[quotient] ", "").replace("[sum] ", "").replace("[again] ", ""))
for node, name in zip(DIVIDES.graph.node, ["log", "quotient", "sum", "again"]):
    node.name = name


def unoptimized(model):
    options = sardonyx.SessionOptions()
    options.graph_optimization_level = sardonyx.GraphOptimizationLevel.ORT_DISABLE_ALL
    return sardonyx.InferenceSession(model.SerializeToString(), options)


def test_the_node_that_made_the_first_nan_and_infinity_is_named():
    found = unoptimized(DIVIDES).check_values({"x": np.float32([1, 0, 2, 3])})
    assert found["first_nan"]["node"] == "quotient" and found["first_nan"]["op_type"] == "Div"
    assert found["first_infinity"]["node"] == "log" and found["first_infinity"]["value"] == "l"
    by_name = {row["value"]: row for row in found["values"]}
    assert list(by_name) == ["l", "q", "y", "z"]
    assert by_name["q"]["nan_count"] == 1 and by_name["q"]["infinity_count"] == 0
    assert by_name["l"]["infinity_count"] == 1
    assert by_name["l"]["min"] == 0 and by_name["l"]["max"] == pytest.approx(np.log(3))
    assert by_name["l"]["mean"] == pytest.approx(np.log([1, 2, 3]).mean())
    assert by_name["l"]["std"] == pytest.approx(np.log([1, 2, 3]).std())


def test_what_the_input_brings_is_nobodys_fault():
    brought = unoptimized(DIVIDES).check_values({"x": np.float32([1, np.nan, 2, np.inf])})
    assert brought["first_nan"] is None and brought["first_infinity"] is None
    infinite = unoptimized(DIVIDES).check_values({"x": np.float32([1, 2, 2, np.inf])})
    assert infinite["first_nan"]["node"] == "quotient" and infinite["first_infinity"] is None
    clean = unoptimized(DIVIDES).check_values({"x": np.float32([1, 2, 3, 4])})
    assert clean["first_nan"] is None and clean["first_infinity"] is None


def test_bodies_are_searched_turn_by_turn():
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
    g (int64 n, float[2] x) => (float[2] y) {
      y = Loop (n, , x) <body = turn (int64 i, bool go, float[2] v) => (bool on, float[2] w) {
        on = Identity (go)
        w = Mul (v, v)
      }>
    }""")
    found = unoptimized(model).check_values({"n": np.int64(6), "x": np.float32([2, 1e10])})
    maker = found["first_infinity"]
    assert maker["op_type"] == "Mul" and maker["graph"] == "Loop_0.turn" and maker["turn"] == 1
    (before,) = {row["value"]: row for row in maker["inputs"]}.values()
    assert before["max"] == pytest.approx(1e20) and before["infinity_count"] == 0
    value = next(row for row in found["values"] if row["value"] == "w")
    assert value["turns"] == 6 and value["count"] == 12


def test_turns_of_bodies_within_bodies_count_from_their_own_beginning():
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
    g (int64 n, float x) => (float y) <float minus = {-1}> {
      y = Loop (n, , x) <body = outer (int64 i, bool go, float v) => (bool on, float w) {
        on = Identity (go)
        k = Neg (v)
        w = Loop (n, , v) <body = inner (int64 j, bool go2, float u) => (bool on2, float r) {
          on2 = Identity (go2)
          r = Add (u, minus)
          unused = Log (u)
        }>
      }>
    }""")
    found = unoptimized(model).check_values({"n": np.int64(3), "x": np.float32(4.5)})
    maker = found["first_nan"]  # log(4.5), log(3.5), ..., log(0.5), log(-0.5): the sixth of three times three
    assert maker["op_type"] == "Log" and maker["value"] == "unused"
    assert [(turn["graph"], turn["turn"]) for turn in maker["turns"]] == [
        ("Loop_0.outer", 1), ("Loop_0.outer/Loop_2.inner", 2)]
    assert maker["inputs"][0]["value"] == "u" and maker["inputs"][0]["max"] == -0.5


def test_control_flow_is_not_blamed_for_what_its_bodies_read_from_outside():
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
    g (bool c, float[2] x) => (float[2] z) {
      z = If (c) <then_branch = yes () => (float[2] p) { p = Neg (x) },
                  else_branch = no () => (float[2] q) { q = Abs (x) }>
    }""")
    for condition in (True, False):
        brought = unoptimized(model).check_values({"c": np.array(condition), "x": np.float32([1, np.nan])})
        assert brought["first_nan"] is None
        assert next(row for row in brought["values"] if row["value"] == "z")["nan_count"] == 1


def test_what_the_author_has_written_is_nobodys_fault():
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x, int64[1] n) => (float[2] y, float[2] z) {
      mask = Constant <value = float[2] {0, -inf}> ()
      rows = ConstantOfShape <value = float[1] {inf}> (n)
      y = Add (x, mask)
      s = Add (x, rows)
      z = Sub (s, rows)
    }""")
    found = unoptimized(model).check_values({"x": np.float32([1, 2]), "n": np.int64([2])})
    assert found["first_infinity"] is None and found["first_nan"]["op_type"] == "Sub"
    assert next(row for row in found["values"] if row["value"] == "mask")["infinity_count"] == 1


def test_the_inputs_of_the_maker_are_told_as_they_were_before_it():
    maker = unoptimized(DIVIDES).check_values({"x": np.float32([1, 0, 2, 3])})["first_nan"]
    assert [row["value"] for row in maker["inputs"]] == ["x", "x"]
    assert maker["inputs"][0]["min"] == 0 and maker["inputs"][0]["max"] == 3 and maker["inputs"][0]["nan_count"] == 0
    assert maker["turns"] == []


def test_a_run_that_fails_tells_who_made_nan_before():
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
    g (float[1] x, float[3] d) => (float[1] y) { l = Sqrt (x)  i = Cast <to = 7> (l)  y = Gather (d, i) }""")
    with pytest.raises(Exception, match="Gather.*made the first NaN in 'l'"):
        unoptimized(model).check_values({"x": np.float32([-1]), "d": np.ones(3, np.float32)})


# ---- the plan of memory ----


def test_buffers_that_live_together_do_not_overlap():
    session = sardonyx.InferenceSession(BYTES)
    assert session.memory_plan() == []
    session.run(None, {"x": X})
    plan = session.memory_plan()[0]
    buffers = plan["buffers"]
    for at, one in enumerate(buffers):
        assert one["offset"] + one["bytes"] <= plan["memories"][one["memory"]]["arena_bytes"]
        assert one["values"] and one["first_step"] <= one["last_step"]
        for other in buffers[:at]:
            apart = one["offset"] + one["bytes"] <= other["offset"] or other["offset"] + other["bytes"] <= one["offset"]
            assert apart or one["last_step"] < other["first_step"] or other["last_step"] < one["first_step"]
    assert [step["op_type"] for step in plan["steps"]] == [row["op_type"] for row in session.placement()]
    places = {value["name"]: value for value in plan["values"]}
    assert places["y"]["place"] == "output" and places["y"]["bytes"] == 96 and places["x"]["place"] == "input"


def test_the_plan_follows_the_shapes():
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
    g (float[N, 8] x) => (float[N] y) <int64[1] axes = {0}> {
      t = Transpose <perm = [1, 0]> (x)
      e = Exp (t)
      y = ReduceSum <keepdims = 0> (e, axes)
    }""")
    session = sardonyx.InferenceSession(model.SerializeToString())
    for rows in (4, 100):
        session.run(None, {"x": np.ones((rows, 8), np.float32)})
        assert sum(buffer["bytes"] for buffer in session.memory_plan()[0]["buffers"]) >= rows * 32
