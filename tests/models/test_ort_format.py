"""Models in ONNX Runtime's own format (.ort), which the peer has saved, compute what the peer computes with them."""
import random

import numpy as np
import onnx.parser
import onnxruntime
import pytest
import sardonyx

MODELS = {
    "attributes of all kinds": """<ir_version: 8, opset_import: ["" : 17], producer_name: "someone", model_version: 3>
        g (float[N,3] x, int64[] k, float[?,2] z) => (float[N,2] y, float[] total, string[2] words, float[?,4] both)
        <float[3,2] w = {1, 2, 3, 4, 5, 6}, int64[2] two = {-1, 2}, string[2] words_ = {"a", "b c"}>
        { m = MatMul (x, w)
          l = LeakyRelu <alpha: float = 0.25> (m)
          c = Cast <to: int = 1> (k)
          y = Add (l, c)
          total = ReduceSum <keepdims: int = 0> (y)
          words = Identity (words_)
          zz = Concat <axis: int = 1> (z, z)
          both = Transpose <perm: ints = [0, 1]> (zz) }""",
    "graphs inside": """<ir_version: 8, opset_import: ["" : 17]>
        g (float[N,3] x, bool yes, int64 k) => (float[N,3] y, float[N,3] sum)
        { y = If (yes) <then_branch = t () => (float[N,3] a) { a = Neg (x) },
                        else_branch = e () => (float[N,3] b) { b = Abs (x) }>
          start = Sub (x, x)
          sum = Loop (k, yes, start) <body = l (int64 i, bool go, float[N,3] s) => (bool on, float[N,3] t)
            { on = Identity (go)
              t = Add (s, x) }> }""",
}
FEEDS = {"attributes of all kinds": {"x": np.arange(6, dtype=np.float32).reshape(2, 3) - 3, "k": np.array(5),
                                     "z": np.ones((3, 2), np.float32)},
         "graphs inside": {"x": np.arange(6, dtype=np.float32).reshape(2, 3) - 3, "yes": np.array(True),
                           "k": np.array(4)}}


def saved(model, path):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.optimized_model_filepath = str(path)
    options.add_session_config_entry("session.save_model_format", "ORT")
    onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return path


@pytest.fixture(scope="module", params=MODELS)
def case(request, tmp_path_factory):
    model = onnx.parser.parse_model(MODELS[request.param])
    return saved(model, tmp_path_factory.mktemp("ort") / "model.ort"), FEEDS[request.param]


@pytest.mark.parametrize("given", ["path", "bytes"])
def test_they_compute_the_same(case, given):
    path, feeds = case
    model = path if given == "path" else path.read_bytes()
    ours, theirs = (package.InferenceSession(model, providers=["CPUExecutionProvider"])
                    for package in (sardonyx, onnxruntime))
    for one, other in zip([*ours.get_inputs(), *ours.get_outputs()], [*theirs.get_inputs(), *theirs.get_outputs()],
                          strict=True):
        assert (one.name, one.type, one.shape) == (other.name, other.type, other.shape)
    for one, other in zip(ours.run(None, feeds), theirs.run(None, feeds), strict=True):
        assert one.dtype == other.dtype and np.array_equal(one, other)
    assert ours.get_modelmeta().producer_name == theirs.get_modelmeta().producer_name
    assert ours.get_modelmeta().version == theirs.get_modelmeta().version


def test_damaged_ones_are_errors(case):
    """Any byte may be wrong: the model loads, or there is an error that says so, and nothing else."""
    data = bytearray(case[0].read_bytes())
    chance = random.Random(1)
    errors = 0
    for _ in range(1500):
        damaged = data.copy()
        for _ in range(chance.randint(1, 4)):
            damaged[chance.randrange(8, len(damaged))] = chance.choice((0, 1, 127, 128, 255))
        if chance.random() < 0.2:
            del damaged[chance.randrange(8, len(damaged)):]
        try:
            sardonyx.InferenceSession(bytes(damaged))
        except Exception as error:
            assert type(error).__name__ in ("InvalidArgument", "InvalidProtobuf", "InvalidGraph", "NotImplemented",
                                            "NoSuchFile"), repr(error)
            errors += 1
    assert errors > 300
