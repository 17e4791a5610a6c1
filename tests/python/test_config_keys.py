"""Every configuration entry that ONNX Runtime knows has the effect that is shown here, or causes one warning."""
import ctypes
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnx.helper as make
import onnx.numpy_helper
import onnx.parser
import onnx.printer
import pytest
import sardonyx

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROWS = [line.split("\t") for line in (ROOT / "tools/abi/config_keys.tsv").read_text().splitlines()[1:]]
KEYS = [(scope.split("(")[0], key) for scope, key, *_ in ROWS]
# Values that ask for something, where "1" would not: others are asked for "1".
VALUES = {"session.enable_cpu_mem_arena": "0", "session.enable_mem_pattern": "0", "session.enable_quant_qdq": "0",
          "session.use_per_session_threads": "0", "session.enable_dq_matmulnbits_fusion": "0",
          "session.prepack.enable_parallel": "0",
          "session.load_model_format": "ORT", "session.save_model_format": "ORT", "session.gqa_value_layout": "BNHS",
          "session.use_device_allocator_for_initializers": "0",
          "session.model_external_initializers_file_folder_path": "/",
          "session.intra_op_thread_affinities": "1", "ep.<lower-case ep name>.<option>": "1"}
NEG = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
    g (float[3] x) => (float[3] y) { y = Neg (x) }""").SerializeToString()
OURS = ["sardonyx.load_timeout_ms", "sardonyx.max_load_memory", "sardonyx.max_run_memory", "sardonyx.run_timeout_ms"]


def options_with(**entries):
    options = sardonyx.SessionOptions()
    for key, value in entries.items():
        options.add_session_config_entry(key.replace("__", "."), value)
    return options


def parsed(text, opset=21):
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : {opset}, "com.microsoft" : 1]> {text}')
    return model.SerializeToString()


def text_of(model, key=None, value="1", level="ORT_ENABLE_ALL"):
    """The optimized model."""
    with tempfile.TemporaryDirectory() as folder:
        options = options_with(**({key: value} if key else {}))
        options.graph_optimization_level = getattr(sardonyx.GraphOptimizationLevel, level)
        options.optimized_model_filepath = os.path.join(folder, "out.onnx")
        sardonyx.InferenceSession(model, options)
        return onnx.printer.to_text(onnx.load(options.optimized_model_filepath).graph).replace(" ", "")


def run_child(code, *arguments):
    package = str(pathlib.Path(sardonyx.__file__).parents[1])
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code, *arguments], capture_output=True, text=True,
                          env=os.environ | {"PYTHONPATH": package})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


# ---- one function for each entry that is honoured ----

EFFECTS = {}


def shows(scope, key):
    def add(function):
        EFFECTS[scope, key] = function
        return function
    return add


CHAIN = parsed("g (float[N] x) => (float[N] y) {" + "".join(
    f"h{i + 1} = {'Sin' if i % 2 else 'Cos'}({'x' if i == 0 else f'h{i}'})" for i in range(3000)) + "y = Neg(h3000) }")
LARGE = np.ones(200_000, np.float32)


@shows("session", "sardonyx.load_timeout_ms")
def _(_tmp_path):
    with pytest.raises(Exception, match="load_timeout_ms"):
        text_of(CHAIN, "sardonyx__load_timeout_ms", "1")


@shows("session", "sardonyx.max_load_memory")
def _(_tmp_path):
    w = onnx.numpy_helper.from_array(np.ones(100_000, np.float32), "w")
    ports = [make.make_tensor_value_info(name, 1, [100_000]) for name in "xyw"]
    graph = make.make_graph([make.make_node("Neg", ["x"], ["y"])], "g", ports[:1], ports[1:], [w])
    model = make.make_model(graph, ir_version=8, opset_imports=[make.make_opsetid("", 17)]).SerializeToString()
    text_of(model)
    with pytest.raises(Exception, match="max_load_memory"):
        text_of(model, "sardonyx__max_load_memory", "399999")


def run_with(model, feed, session_entries, run_entries):
    options = sardonyx.RunOptions()
    for key, value in run_entries.items():
        options.add_run_config_entry(key, value)
    return sardonyx.InferenceSession(model, options_with(**session_entries)).run(None, feed, options)


@shows("session", "sardonyx.max_run_memory")
def _(_tmp_path):
    with pytest.raises(Exception, match="max_run_memory"):
        run_with(CHAIN, {"x": LARGE}, {"sardonyx__max_run_memory": "1000"}, {})


@shows("run", "sardonyx.max_run_memory")
def _(_tmp_path):
    with pytest.raises(Exception, match="max_run_memory"):
        run_with(CHAIN, {"x": LARGE}, {}, {"sardonyx.max_run_memory": "1000"})


@shows("session", "sardonyx.run_timeout_ms")
def _(_tmp_path):
    with pytest.raises(Exception, match="run_timeout_ms"):
        run_with(CHAIN, {"x": LARGE}, {"sardonyx__run_timeout_ms": "1"}, {})


@shows("run", "sardonyx.run_timeout_ms")
def _(_tmp_path):
    with pytest.raises(Exception, match="run_timeout_ms"):
        run_with(CHAIN, {"x": LARGE}, {}, {"sardonyx.run_timeout_ms": "1"})


@shows("session", "optimization.constant_folding_max_output_size_in_bytes")
def _(_tmp_path):
    model = parsed("g (float[4] x) => (float[4] y) <float16[4] h = {1, 2, 3, 4}> { a = Cast<to = 1>(h) y = Div(x, a) }")
    assert "Cast" not in text_of(model)
    assert "Cast" in text_of(model, "optimization__constant_folding_max_output_size_in_bytes", "15")


@shows("session", "optimization.disable_specified_optimizers")
def _(_tmp_path):
    model = parsed("g (float[4] x) => (float[4] y) { a = Identity(x) b = Neg(a) y = Abs(b) }")
    assert "Identity" not in text_of(model)
    assert "Identity" in text_of(model, "optimization__disable_specified_optimizers", "EliminateIdentity")


@shows("session", "optimization.enable_gelu_approximation")
def _(_tmp_path):
    model, x = parsed("g (float[N] x) => (float[N] y) { y = Gelu(x) }"), np.linspace(-4, 4, 1000, dtype=np.float32)
    exact, fast = (sardonyx.InferenceSession(model, options).run(None, {"x": x})[0] for options in (
        options_with(), options_with(optimization__enable_gelu_approximation="1")))
    assert 1e-5 < np.abs(exact - fast).max() < 1e-2


@shows("session", "session.disable_cpu_ep_fallback")
def _(_tmp_path):
    with pytest.raises(Exception, match="disable_cpu_ep_fallback"):
        sardonyx.InferenceSession(NEG, options_with(session__disable_cpu_ep_fallback="1"),
                                  providers=["CPUExecutionProvider"])


@shows("session", "session.disable_double_qdq_remover")
def _(_tmp_path):
    model = parsed("""g (float[N] x) => (float[N] y) <float s = {0.02}, float t = {0.3}, int8 z = {0}, int8 w = {5}> {
        a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z) c = QuantizeLinear(b, t, w)
        d = DequantizeLinear(c, t, w) y = Relu(d) }""")
    x = np.linspace(-3, 3, 999, dtype=np.float32)
    q = np.clip(np.rint(x / np.float32(0.02)), -128, 127) * np.float32(0.02)
    want = np.maximum((np.clip(np.rint(q / np.float32(0.3)) + 5, -128, 127) - 5) * np.float32(0.3), 0)
    for value in "01":
        options = options_with(session__disable_double_qdq_remover=value)
        got = sardonyx.InferenceSession(model, options).run(None, {"x": x})
        np.testing.assert_allclose(got[0], want, rtol=1e-6)


@shows("session", "session.disable_qdq_constant_folding")
def _(_tmp_path):
    model = parsed("g (float[2] x) => (float[2] y) <int8[2] q = {3, -4}, float s = {0.5}> "
                   "{ d = DequantizeLinear(q, s) y = Div(x, d) }")
    assert "DequantizeLinear" not in text_of(model)
    assert "DequantizeLinear" in text_of(model, "session__disable_qdq_constant_folding")


@shows("session", "session.disable_quant_qdq")
def _(_tmp_path):
    model = parsed("""g (float[N,2] x) => (float[N,2] y) <float s = {0.02}, uint8 z = {7}, int8[2,2] w = {1, 2, 3, 4},
        float t = {0.1}, int8 v = {0}> {
        a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z) k = DequantizeLinear(w, t, v) c = MatMul(b, k)
        d = QuantizeLinear(c, s, z) y = DequantizeLinear(d, s, z) }""")
    assert "QLinearMatMul" in text_of(model)
    assert "QLinearMatMul" not in text_of(model, "session__disable_quant_qdq")


@shows("session", "session.enable_quant_qdq_cleanup")
def _(_tmp_path):
    model = parsed("""g (float[N,4] x) => (float[N,4] y) <float s = {0.02}, uint8 z = {7}> {
        a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z) y = Softmax(b) }""")
    assert "QuantizeLinear" in text_of(model)
    assert "QuantizeLinear" not in text_of(model, "session__enable_quant_qdq_cleanup")


@shows("session", "session.dynamic_block_base")
def _(_tmp_path):
    text_of(NEG, "session__dynamic_block_base", "4")
    with pytest.raises(Exception, match="expected a whole number of 0 or more, found 'small'"):
        text_of(NEG, "session__dynamic_block_base", "small")


WORKERS = """
import json, os, sys, numpy as np, sardonyx
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


@shows("session", "session.intra_op_thread_affinities")
def _(_tmp_path):
    core = max(os.sched_getaffinity(0))
    assert workers_with("session.intra_op_thread_affinities", str(core + 1)) == [[core]]


@shows("session", "session.graph_optimizations_loop_level")
def _(_tmp_path):
    body = "".join(f"c{i + 1} = Concat <axis = 0> (z, b{i})  a{i + 1}, b{i + 1} = Split <axis = 0> (c{i + 1}, halves) "
                   for i in range(4))
    model = parsed(f"""g (float[2] z, float[2] b0) => (float[2] y) <int64[2] halves = {{2, 2}}>
        {{ {body} unread = Neg(b4) y = Sum(a1, a2, a3, a4) }}""", opset=17)

    counts = [text_of(model, "session__graph_optimizations_loop_level", level, "ORT_ENABLE_BASIC").count("Split<")
              for level in "012"]
    assert counts == [4, 2, 0]


def external_model():
    weight = onnx.TensorProto(name="w", data_type=1, dims=[3], data_location=onnx.TensorProto.EXTERNAL)
    weight.external_data.add(key="location", value="w.bin")
    x, y = (make.make_tensor_value_info(name, 1, [3]) for name in "xy")
    graph = make.make_graph([make.make_node("Add", ["x", "w"], ["y"])], "g", [x], [y], [weight])
    return make.make_model(graph, ir_version=8, opset_imports=[make.make_opsetid("", 17)])


@shows("session", "session.model_external_initializers_file_folder_path")
def _(tmp_path):
    (tmp_path / "w.bin").write_bytes(np.array([1, 2, 3], np.float32).tobytes())
    options = options_with(session__model_external_initializers_file_folder_path=str(tmp_path))
    session = sardonyx.InferenceSession(external_model().SerializeToString(), options)
    got = session.run(None, {"x": np.zeros(3, np.float32)})
    assert got[0].tolist() == [1, 2, 3]


def saved_files(tmp_path, **entries):
    w = onnx.numpy_helper.from_array(np.arange(600, dtype=np.float32).reshape(2, 300), "w")
    x, y = make.make_tensor_value_info("x", 1, [5, 2]), make.make_tensor_value_info("y", 1, [5, 300])
    graph = make.make_graph([make.make_node("MatMul", ["x", "w"], ["y"])], "g", [x], [y], [w])
    model = make.make_model(graph, ir_version=8, opset_imports=[make.make_opsetid("", 17)])
    options = options_with(**entries)
    options.optimized_model_filepath = tmp_path / "out.onnx"
    sardonyx.InferenceSession(model.SerializeToString(), options)
    return {path.name: path.stat().st_size for path in tmp_path.iterdir()}


@shows("session", "session.optimized_model_external_initializers_file_name")
def _(tmp_path):
    key = "session__optimized_model_external_initializers_file_name"
    assert saved_files(tmp_path, **{key: "w.data"})["w.data"] >= 2400


@shows("session", "session.optimized_model_external_initializers_min_size_in_bytes")
def _(tmp_path):
    name = {"session__optimized_model_external_initializers_file_name": "w.data"}
    key = "session__optimized_model_external_initializers_min_size_in_bytes"
    assert saved_files(tmp_path, **name, **{key: "100000"}).get("w.data", 0) == 0
    assert saved_files(tmp_path, **name, **{key: "1000"})["w.data"] >= 2400


@shows("session", "session.qdq_matmulnbits_accuracy_level")
def _(_tmp_path):
    q = make.make_tensor("q", onnx.TensorProto.INT4, [64, 32], np.tile(np.arange(-8, 8), 128).tolist())
    s = onnx.numpy_helper.from_array(np.full((2, 32), 0.1, np.float32), "s")
    x, y = make.make_tensor_value_info("x", 1, ["N", 64]), make.make_tensor_value_info("y", 1, ["N", 32])
    nodes = [make.make_node("DequantizeLinear", ["q", "s"], ["w"], axis=0, block_size=32),
             make.make_node("MatMul", ["x", "w"], ["y"])]
    model = make.make_model(make.make_graph(nodes, "g", [x], [y], [q, s]), ir_version=10,
                            opset_imports=[make.make_opsetid("", 21)]).SerializeToString()
    for level in "14":
        text = text_of(model, "session__qdq_matmulnbits_accuracy_level", level)
        assert f"accuracy_level:int={level}" in text


@shows("session", "session.record_ep_graph_assignment_info")
def _(_tmp_path):
    for value in "01":
        session = sardonyx.InferenceSession(NEG, options_with(session__record_ep_graph_assignment_info=value))
        assert len(session.get_provider_graph_assignment_info()) == 1


@shows("session", "session.set_denormal_as_zero")
def _(_tmp_path):
    x = np.full(3, 1e-40, np.float32)
    results = [sardonyx.InferenceSession(parsed("g (float[3] x) => (float[3] y) { y = Add(x, x) }"), options_with(
        session__set_denormal_as_zero=value)).run(None, {"x": x})[0][0] for value in "01"]
    assert results[0] > 0 and results[1] == 0


@shows("session", "session.strict_shape_type_inference")
def _(_tmp_path):
    model = parsed("g (float[3] x) => (float[4] y) { y = Neg(x) }")
    text_of(model)
    with pytest.raises(Exception, match="'y'"):
        text_of(model, "session__strict_shape_type_inference")


@shows("session", "session.use_deterministic_compute")
def _(_tmp_path):
    model = parsed("g (float[N,N] x) => (float y) { a = MatMul(x, x) b = Softmax(a) y = ReduceSum<keepdims = 0>(b) }")
    x, results = np.random.default_rng(0).standard_normal((257, 257), np.float32), set()
    for asked in (False, True):
        for threads in (1, 2, 3, 5):
            options = options_with()
            options.intra_op_num_threads = threads
            options.use_deterministic_compute = asked
            session = sardonyx.InferenceSession(model, options)
            results |= {session.run(None, {"x": x})[0].tobytes() for _ in range(5)}
    assert len(results) == 1


@shows("session", "session.x64quantprecision")
def _(_tmp_path):
    a, b = np.full((3, 400), 255, np.uint8), np.full((400, 5), 127, np.int8)
    model = parsed("g (uint8[M,K] a, int8[K,N] b) => (int32[M,N] y) { y = MatMulInteger(a, b) }")
    assert (sardonyx.InferenceSession(model).run(None, {"a": a, "b": b})[0] == 400 * 255 * 127).all()


@shows("session", "session.use_ort_model_bytes_directly")
def _(_tmp_path):
    sys.path.insert(0, str(ROOT / "tests/capi"))
    from test_from_python import Api, out
    api, env = Api(), out()
    api.CreateEnv(2, b"test", ctypes.byref(env))
    w = onnx.numpy_helper.from_array(np.full((1, 65536), 3, np.float32), "w")
    x, y = make.make_tensor_value_info("x", 1, ["N", 1]), make.make_tensor_value_info("y", 1, ["N", 65536])
    graph = make.make_graph([make.make_node("Sub", ["x", "w"], ["y"])], "g", [x], [y], [w])
    model = make.make_model(graph, ir_version=8, opset_imports=[make.make_opsetid("", 17)]).SerializeToString()

    def after_a_change(value):
        data, result = ctypes.create_string_buffer(model), (ctypes.c_void_p * 1)()
        options, session, info, given, got = (out() for _ in range(5))
        api.CreateSessionOptions(ctypes.byref(options))
        api.AddSessionConfigEntry(options, b"session.use_ort_model_bytes_directly", value)
        api.CreateSessionFromArray(env, data, len(model), options, ctypes.byref(session))
        at = model.index(np.full(65536, 3, np.float32).tobytes())
        ctypes.memmove(ctypes.addressof(data) + at + 4 * 100, np.float32(5).tobytes(), 4)
        zero = np.zeros((1, 1), np.float32)
        api.CreateCpuMemoryInfo(0, 0, ctypes.byref(info))
        api.CreateTensorWithDataAsOrtValue(info, zero.ctypes.data, 4, (ctypes.c_int64 * 2)(1, 1), 2, 1,
                                           ctypes.byref(given))
        api.Run(session, None, (ctypes.c_char_p * 1)(b"x"), (ctypes.c_void_p * 1)(given), 1,
                (ctypes.c_char_p * 1)(b"y"), 1, result)
        api.GetTensorMutableData(result[0], ctypes.byref(got))
        return ctypes.cast(got, ctypes.POINTER(ctypes.c_float))[100]

    assert (after_a_change(b"0"), after_a_change(b"1")) == (-3, -5)


SHRINKING = """
import json, sys, numpy as np, sardonyx
def resident():
    return int(next(line for line in open("/proc/self/smaps_rollup") if line.startswith("Rss:")).split()[1]) / 1024
options, run_options = sardonyx.SessionOptions(), sardonyx.RunOptions()
options.enable_cpu_mem_arena = "arena" not in sys.argv
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


# ---- the walk ----

def said_of(scope, key, capfd):
    value = VALUES.get(key, "1")
    options, run_options = options_with(), sardonyx.RunOptions()
    options.intra_op_num_threads = 2
    if scope == "session":
        options.add_session_config_entry(key, value)
    else:
        run_options.add_run_config_entry(key, "cpu:0" if key.startswith("memory.") else value)
    capfd.readouterr()
    session = sardonyx.InferenceSession(NEG, options)
    for _ in range(2):
        session.run(None, {"x": np.ones(3, np.float32)}, run_options)
    return [line for line in capfd.readouterr().err.splitlines() if f"'{key}'" in line]


@pytest.mark.parametrize(("scope", "key"), [(s, k) for s, k in KEYS if s in ("session", "run")])
def test_an_entry_is_honoured_or_warned_of_once(scope, key, capfd):
    if (scope, key) in EFFECTS:
        if key not in ("session.disable_cpu_ep_fallback",):  # an error where the CPU is named
            assert said_of(scope, key, capfd) == []
        return
    said = said_of(scope, key, capfd)
    assert len(said) == 1 and f"the {scope} configuration '{key}' is not honoured by Sardonyx: " in said[0], said
    assert "changes nothing" not in said[0], "the table knows what holds instead"


@pytest.mark.parametrize(("scope", "key"), EFFECTS, ids=lambda value: value)
def test_an_honoured_entry_has_its_effect(scope, key, tmp_path):
    EFFECTS[scope, key](tmp_path)


def test_the_list_is_whole():
    shared = ROOT.parent / "shared/abi/config_keys.tsv"
    assert not shared.exists() or shared.read_text() == (ROOT / "tools/abi/config_keys.tsv").read_text()
    assert len(KEYS) > 120
    # Set elsewhere: dynamic options go to providers from libraries; providers and models tell the others, not callers.
    assert {scope for scope, _ in KEYS} == {"session", "run", "env", "ep_dynamic", "ep_metadata", "model_metadata"}
    assert {key for scope, key in EFFECTS if (scope, key) not in KEYS and key not in OURS} == set()


def test_dynamic_options_need_a_provider_that_takes_them():
    session = sardonyx.InferenceSession(NEG)
    for key in (key for scope, key in KEYS if scope == "ep_dynamic"):
        with pytest.raises(sardonyx.InvalidArgument, match="no provider of this session takes any"):
            session.set_ep_dynamic_options({key: "Default"})


ENVIRONMENT = """
import ctypes, json, sys
sys.path.insert(0, sys.argv[1])
from test_from_python import Api, out
class Options(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("severity", ctypes.c_int32), ("id", ctypes.c_char_p),
                ("function", ctypes.c_void_p), ("parameter", ctypes.c_void_p), ("threads", ctypes.c_void_p),
                ("entries", ctypes.c_void_p)]
said = []
Log = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, *[ctypes.c_char_p] * 4)
log = Log(lambda _, severity, category, logid, place, message: said.append(message.decode()))
api, entries, env = Api(), out(), out()
api.function("CreateKeyValuePairs", None)(ctypes.byref(entries), *[None] * 7)
for key in sys.argv[2:]:
    api.function("AddKeyValuePair", None)(entries, key.encode(), b"1", *[None] * 5)
options = Options(31, 2, b"test", ctypes.cast(log, ctypes.c_void_p), None, None, entries)
for _ in range(2):
    api.CreateEnvWithOptions(ctypes.byref(options), ctypes.byref(env))
print(json.dumps(said))
"""


def test_entries_of_an_environment_are_warned_of_once():
    keys = [key for scope, key in KEYS if scope == "env"]
    said = run_child(ENVIRONMENT, str(ROOT / "tests/capi"), *keys, "no_such_key")
    for key in (*keys, "no_such_key"):
        text = f"the environment configuration '{key}' is not honoured"
        assert [text in line for line in said].count(True) == 1, said


def test_a_session_without_a_memory_pattern_says_that_memory_is_planned_all_the_same(capfd):
    options = options_with()
    options.enable_mem_pattern = False
    session = sardonyx.InferenceSession(NEG, options)
    for _ in range(2):
        session.run(None, {"x": np.ones(3, np.float32)})
    assert capfd.readouterr().err.count("memory pattern") == 1


def test_a_session_without_an_arena_keeps_no_memory_between_runs():
    assert kept_memory() > 12, "with one it waits for the next run"
    assert kept_memory("arena") < 4
