"""Configuration entries that change how a model is loaded and optimized: each is shown to do what it says."""

import os
import pathlib

import numpy as np
import onnx
import onnx.helper as make
import onnx.numpy_helper
import onnx.parser
import pytest
import sardonyx
from config_entries import NEG, options_with, parsed, shows, text_of

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


@shows("session", "sardonyx.nchwc_block_size")
def _(_tmp_path):
    ports = [make.make_tensor_value_info(name, 1, [1, 4, 1, 1]) for name in "xy"]
    node = make.make_node("ReorderInput", ["x"], ["y"], domain="com.microsoft.nchwc")
    graph = make.make_graph([node], "g", ports[:1], [make.make_tensor_value_info("y", 1, None)])
    opsets = [make.make_opsetid("", 17), make.make_opsetid("com.microsoft.nchwc", 1)]
    model = make.make_model(graph, ir_version=8, opset_imports=opsets).SerializeToString()
    x = {"x": np.arange(4, dtype=np.float32).reshape(1, 4, 1, 1)}
    for size in (8, 16):
        (y,) = run_with(model, x, {"sardonyx__nchwc_block_size": str(size)}, {})
        assert y.ravel().tolist() == [0, 1, 2, 3] + [0] * (size - 4)


@shows("session", "sardonyx.precision")
def _(_tmp_path):
    """A product and a 1x1 convolution: of rounded factors with bf16 if the CPU is fast at it, and else exact ones."""
    generator = np.random.default_rng(0)
    w, x = (generator.standard_normal(shape, np.float32) for shape in ((96, 128), (64, 96)))
    product = make.make_model(make.make_graph(
        [make.make_node("MatMul", ["x", "w"], ["y"])], "g", [make.make_tensor_value_info("x", 1, [64, 96])],
        [make.make_tensor_value_info("y", 1, None)], [onnx.numpy_helper.from_array(w, "w")]),
        ir_version=8, opset_imports=[make.make_opsetid("", 17)]).SerializeToString()
    shapes = (96, 8, 3, 3), (128, 96, 1, 1), (8, 128, 3, 3)
    kernels = [generator.standard_normal(shape, np.float32) for shape in shapes]
    convolutions = make.make_model(make.make_graph(
        [make.make_node("Conv", ["x", "k"], ["h"]), make.make_node("Conv", ["h", "l"], ["i"]),
         make.make_node("Conv", ["i", "m"], ["y"])], "g",
        [make.make_tensor_value_info("x", 1, [1, 8, 16, 16])], [make.make_tensor_value_info("y", 1, None)],
        [onnx.numpy_helper.from_array(k, name) for k, name in zip(kernels, "klm", strict=True)]),
        ir_version=8, opset_imports=[make.make_opsetid("", 17)]).SerializeToString()
    image = generator.standard_normal((1, 8, 16, 16), np.float32)
    cpu = pathlib.Path("/proc/cpuinfo").read_text() if os.environ.get("SDX_MAX_ISA", "avx512") == "avx512" else ""
    fast = "amx_bf16" in cpu or ("AuthenticAMD" in cpu and "avx512_bf16" in cpu)
    for model, feed, want in ((product, x, x.astype(np.float64) @ w), (convolutions, image, None)):
        plain, asked, again = (run_with(model, {"x": feed}, entries, {})[0] for entries in (
            {}, {"sardonyx__precision": "bf16"}, {"sardonyx__precision": "float32"}))
        np.testing.assert_array_equal(plain, again)
        scale = np.abs(plain).max()
        assert np.array_equal(asked, plain) != fast
        assert np.abs(asked - plain).max() < 0.02 * scale
        if want is not None:
            assert np.abs(plain - want).max() < 1e-5 * scale
            assert np.abs(asked - want).max() < 0.01 * scale
    with pytest.raises(Exception, match="sardonyx.precision: expected float32 or bf16, found 'half'"):
        run_with(product, {"x": x}, {"sardonyx__precision": "half"}, {})


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


@shows("session", "session.load_model_format")
def _(tmp_path):
    path = str(tmp_path / "model.ort")
    options = options_with()
    options.optimized_model_filepath = path
    sardonyx.InferenceSession(NEG, options)
    for model, right, wrong in ((path, "ORT", "ONNX"), (NEG, "ONNX", "ORT")):
        sardonyx.InferenceSession(model, options_with(session__load_model_format=right))
        message = f"load_model_format expects a model in {wrong} format, found a model in {right}"
        with pytest.raises(Exception, match=message):
            sardonyx.InferenceSession(model, options_with(session__load_model_format=wrong))
    # Another word is no error in ONNX Runtime: there is one warning, and the model's first bytes decide.
    sardonyx.InferenceSession(NEG, options_with(session__load_model_format="TFLITE"))


@shows("session", "session.save_model_format")
def _(tmp_path):
    saved_files(tmp_path, session__save_model_format="SDX")
    assert (tmp_path / "out.onnx").read_bytes().startswith(b"SDXMODEL")


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
    sessions = [sardonyx.InferenceSession(NEG, options_with(session__record_ep_graph_assignment_info=value))
                for value in "01"]
    with pytest.raises(sardonyx.Fail, match="record_ep_graph_assignment_info"):
        sessions[0].get_provider_graph_assignment_info()
    assert len(sessions[1].get_provider_graph_assignment_info()) == 1


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


@shows("session", "session.allow_released_opsets_only")
def _(_tmp_path):
    model = parsed("g (float[4] x) => (float[4] y) { y = Neg(x) }", opset=999)
    text_of(model)
    with pytest.raises(Exception, match="expected an opset of at most.*found opset 999"):
        text_of(model, "session__allow_released_opsets_only")


@shows("session", "session.function_expansion_node_limit")
def _(_tmp_path):
    steps = " ".join(f"h{i + 1} = Neg({'x' if i == 0 else f'h{i}'})" for i in range(20))
    text = f"""<ir_version: 10, opset_import: ["" : 21, "local" : 1]> g (float[4] x) => (float[4] y) {{
        a = local.chain(x) y = local.chain(a) }}
        <domain: "local", opset_import: ["" : 21]> chain (x) => (h20) {{ {steps} }}"""
    model = onnx.parser.parse_model(text).SerializeToString()
    text_of(model, "session__function_expansion_node_limit", "100")
    for limit, found in (("30", "30|32"), ("0", "1 or more, found '0'"), ("many", "found 'many'")):
        with pytest.raises(Exception, match=found):
            text_of(model, "session__function_expansion_node_limit", limit)


@shows("session", "session.function_expansion_byte_limit")
def _(_tmp_path):
    text = """<ir_version: 10, opset_import: ["" : 21, "local" : 1]> g (float[4] x) => (float[4] y) { y = local.sum(x) }
        <domain: "local", opset_import: ["" : 21]> sum (x) => (y) {
            c = Constant<value = float[4] {1, 2, 3, 4}>() y = Add(x, c) }"""
    model = onnx.parser.parse_model(text).SerializeToString()
    text_of(model, "session__function_expansion_byte_limit", "1000")
    with pytest.raises(sardonyx.Fail, match="at most 16 bytes"):
        text_of(model, "session__function_expansion_byte_limit", "16")


@shows("session", "sardonyx.strict_providers")
def _(_tmp_path):
    def make_session(strict):
        return sardonyx.InferenceSession(NEG, options_with(sardonyx__strict_providers=strict),
                                         providers=["CUDAExecutionProvider"])
    with pytest.raises(Exception, match="CUDAExecutionProvider"):
        make_session("1")
    with pytest.warns(UserWarning, match="CUDAExecutionProvider"):
        assert make_session("0").get_providers() == ["CPUExecutionProvider"]
