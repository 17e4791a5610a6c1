"""Loading or running beyond a limit of memory or time ends with an error that names the limit."""
import time

import numpy as np
import onnx
import onnx.helper
import onnx.parser
import pytest
import sardonyx

FILL = """<ir_version: 10, opset_import: ["" : 21]> g (int64[1] n) => (float[m] y) { y = ConstantOfShape(n) }"""
COUNT = """<ir_version: 10, opset_import: ["" : 21]> g (int64 n, float[2] x) => (float[2] y) {
  y = Loop(n, "", x) <body = b (int64 i, bool c, float[2] a) => (bool d, float[2] z) { d = Identity(c) z = Neg(a) }>
}"""


def session(text, **limits):
    options = sardonyx.SessionOptions()
    for name, value in limits.items():
        options.add_session_config_entry(f"sardonyx.{name}", str(value))
    model = onnx.parser.parse_model(text) if isinstance(text, str) else text
    return sardonyx.InferenceSession(model.SerializeToString(), options)


def sizes(n):
    return {"n": np.array([n], np.int64)}


def counts(n):
    return {"n": np.array(n, np.int64), "x": np.ones(2, np.float32)}


def test_the_memory_of_a_run():
    limited = session(FILL, max_run_memory=1_000_000)
    assert limited.run(None, sizes(1000))[0].shape == (1000,)
    expected = r"at most 1000000 bytes \(sardonyx.max_run_memory\), found .* 4000000 more"
    with pytest.raises(Exception, match=expected) as e:
        limited.run(None, sizes(1_000_000))
    assert type(e.value).__name__ == "Fail"
    assert limited.run(None, sizes(2000))[0].shape == (2000,)


def test_the_memory_of_one_run():
    free = session(FILL)
    options = sardonyx.RunOptions()
    options.add_run_config_entry("sardonyx.max_run_memory", "1000")
    assert free.run(None, sizes(1000))[0].shape == (1000,)
    with pytest.raises(Exception, match="sardonyx.max_run_memory"):
        free.run(None, sizes(1000), options)
    assert free.run(None, sizes(1000))[0].shape == (1000,)


def test_the_time_of_a_run():
    limited = session(COUNT, run_timeout_ms=100)
    start = time.monotonic()
    with pytest.raises(Exception, match=r"at most 100 ms \(sardonyx.run_timeout_ms\)"):
        limited.run(None, counts(2**62))
    assert 0.05 < time.monotonic() - start < 20
    np.testing.assert_array_equal(limited.run(None, counts(3))[0], -np.ones(2, np.float32))


def test_the_memory_of_a_load():
    model = onnx.parser.parse_model(FILL)
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(100_000, np.float32), "w"))
    model.graph.output.append(onnx.helper.make_tensor_value_info("w", onnx.TensorProto.FLOAT, [100_000]))
    assert session(model, max_load_memory=10_000_000)
    with pytest.raises(Exception, match=r"at most 399999 bytes \(sardonyx.max_load_memory\)"):
        session(model, max_load_memory=399_999)


def test_the_time_of_a_load():
    nodes = [onnx.helper.make_node("Sin", [f"x{i}"], [f"x{i + 1}"]) for i in range(20_000)]
    ports = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2]) for name in ("x0", "x20000")]
    model = onnx.helper.make_model(onnx.helper.make_graph(nodes, "g", ports[:1], ports[1:]),
                                   opset_imports=[onnx.helper.make_opsetid("", 21)], ir_version=10)
    with pytest.raises(Exception, match=r"at most 1 ms \(sardonyx.load_timeout_ms\)") as e:
        session(model, load_timeout_ms=1)
    assert type(e.value).__name__ == "ModelLoadCanceled"


DOUBLE = """<ir_version: 10, opset_import: ["" : 21]> g (int64 n, string[k] x) => (string[m] y) {
  y = Loop(n, "", x) <body = b (int64 i, bool c, string[o] a) => (bool d, string[p] z) {
    d = Identity(c) [twice] z = StringConcat(a, a) }> }"""
REPEAT = """<ir_version: 10, opset_import: ["" : 21]> g (int64[1] n, string[1] x) => (string[m] y) {
  [repeat] y = Expand(x, n) }"""


@pytest.mark.parametrize("text,node,count", [(DOUBLE, "'twice' (StringConcat)", np.array(60)),
                                             (REPEAT, "'repeat' (Expand)", np.array([1000]))])
def test_texts_count_as_memory(text, node, count):
    limited = session(text, max_run_memory=1_000_000)
    assert limited.run(None, {"n": count // 20, "x": np.array(["ab" * 50], object)})[0].size in (1, 50)
    with pytest.raises(Exception, match=r"at most 1000000 bytes \(sardonyx.max_run_memory\)") as e:
        limited.run(None, {"n": count, "x": np.array(["ab" * 5000], object)})
    assert node in str(e.value), e.value


def test_the_error_names_the_value_that_is_too_large():
    text = """<ir_version: 10, opset_import: ["" : 21]> g (float[n] x, int64[1] k) => (float y) {
      [small] a = Neg(x) [large] b = Tile(a, k) [sum] y = ReduceSum <keepdims = 0> (b) }"""
    limited = session(text, max_run_memory=1_000_000)
    with pytest.raises(Exception, match=r"node 'large' \(Tile\).* float\[1000000\].*sardonyx.max_run_memory"):
        limited.run(None, {"x": np.ones(1000, np.float32), "k": np.array([1000])})


def test_a_limit_is_a_number():
    with pytest.raises(Exception, match="'sardonyx.max_run_memory': expected a whole number .*, found '1 GB'"):
        session(FILL, max_run_memory="1 GB")
