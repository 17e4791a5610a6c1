"""The bias of MatMulNBits: node counts compared with ONNX Runtime, and saved models loaded by the other library."""
import numpy as np
import onnx.parser
import onnxruntime
import pytest
import sardonyx


def saved_by(engine, model, path, level="ORT_ENABLE_EXTENDED"):
    options = engine.SessionOptions()
    options.graph_optimization_level = getattr(engine.GraphOptimizationLevel, level)
    options.log_severity_level = 3
    options.optimized_model_filepath = str(path)
    engine.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return onnx.load(path)


@pytest.mark.parametrize("sum_", ["Add (p, row)", "Add (row, p)", "Add (wide, p)"])
def test_a_bias_is_saved_as_either_library_reads_it(tmp_path, sum_):
    random = np.random.default_rng(5)
    weights = ", ".join(map(str, random.integers(0, 256, 7 * 2 * 16)))
    scales = ", ".join(f"{scale:.3f}" for scale in random.uniform(0.01, 0.1, 14))
    model = onnx.parser.parse_model(f"""<ir_version: 9, opset_import: ["" : 20, "com.microsoft" : 1]>
        g (float[2,3,64] x) => (float[2,3,7] y) <uint8[7,2,16] w = {{{weights}}}, float[14] s = {{{scales}}},
           float[7] row = {{1, -2, 3, -4, 5, -6, 7}}, float[1,7] wide = {{7, 6, 5, -4, 3, 2, 1}}> {{
          p = com.microsoft.MatMulNBits <K = 64, N = 7, block_size = 32, bits = 4> (x, w, s)
          y = {sum_}  }}""").SerializeToString()
    feed = {"x": random.uniform(-1, 1, (2, 3, 64)).astype(np.float32)}
    want = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, feed)[0]
    counts = {}
    for saves, loads in ((sardonyx, onnxruntime), (onnxruntime, sardonyx)):
        path = tmp_path / f"{saves.__name__}.onnx"
        counts[saves] = len(saved_by(saves, model, path).graph.node)
        got = loads.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, feed)[0]
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5, err_msg=f"saved by {saves.__name__}")
    assert counts[sardonyx] == 1 <= counts[onnxruntime], counts
