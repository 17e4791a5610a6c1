"""Models in ONNX Runtime's own format (.ort): both libraries load what either has saved, and compute the same."""
import random
import struct

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


def saved(model, path, package=onnxruntime, level="ORT_DISABLE_ALL", **entries):
    options = package.SessionOptions()
    options.graph_optimization_level = getattr(package.GraphOptimizationLevel, level)
    options.log_severity_level = 3
    options.optimized_model_filepath = str(path)
    for key, value in (entries or {"session.save_model_format": "ORT"}).items():
        options.add_session_config_entry(key, value)
    package.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
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
                                            "NoSuchFile", "Fail"), repr(error)
            errors += 1
    assert errors > 300


def test_wrong_offsets_and_lengths_are_errors(case):
    """Four bytes that may be an offset or a length: to the start, beside itself, to the end, beyond it, backwards;
    and the file cut there."""
    data = case[0].read_bytes()
    wrong = [struct.pack("<I", number) for number in (0, 1, 4, len(data) - 4, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFC)]
    ended = 0
    places = sorted(random.Random(2).sample(range(0, len(data) - 4, 4), 60))
    for at in places:
        for damaged in [data[:at] + word + data[at + 4:] for word in wrong] + [data[:at]]:
            try:
                sardonyx.InferenceSession(damaged)
            except Exception as error:
                name = type(error).__name__
                assert name in ("Fail", "InvalidArgument", "InvalidProtobuf", "InvalidGraph", "NotImplemented"), at
                ended += 1
    assert ended > 2 * len(places)


def place_of_the_version(data):
    """Where the file says which version of the format it has: the first field of its root table."""
    root = struct.unpack_from("<I", data)[0]
    field = root + struct.unpack_from("<H", data, root - struct.unpack_from("<i", data, root)[0] + 4)[0]
    return field + struct.unpack_from("<I", data, field)[0] + 4


@pytest.mark.parametrize("version", "123456789")
def test_versions_load_as_in_onnx_runtime(case, version):
    """Older files differ in what they say of kernels, which we find by ourselves; the newest known one is 6."""
    path, feeds = case
    data = bytearray(path.read_bytes())
    at = place_of_the_version(data)
    assert data[at:at + 1] == b"6"
    data[at:at + 1] = version.encode()
    outcomes = []
    for package in (sardonyx, onnxruntime):
        options = package.SessionOptions()
        options.log_severity_level = 4
        try:
            session = package.InferenceSession(bytes(data), options, providers=["CPUExecutionProvider"])
            outcomes.append(plain(session.run(None, feeds)))
        except Exception as error:
            outcomes.append(type(error).__name__)
    assert outcomes[0] == outcomes[1]


# What either library must find in the file: optional inputs, bodies that read values around them, initializers that
# nobody reads and that are outputs, strings, sequences, maps, sparse weights, variadic inputs, functions.
OURS = MODELS | {
    "missing inputs": """<ir_version: 8, opset_import: ["" : 17]>
        g (float[N] x) => (float[N] y) <float high = {0.5}> { y = Clip (x, , high) }""",
    "an initializer as output": """<ir_version: 8, opset_import: ["" : 17]>
        g (float[N] x) => (float[N] y, float[2] w) <float[2] w = {1, 2}> { y = Neg (x) }""",
    "constants of all kinds": """<ir_version: 8, opset_import: ["" : 17]>
        g (float[N] x) => (float[N] y, string[2] s, float[3] f)
        { one = Constant <value_float: float = 1.5> ()
          y = Add (x, one)
          s = Constant <value_strings: strings = ["a", "b"]> ()
          f = Constant <value_floats: floats = [1.0, 2.0, 3.0]> () }""",
    "a sequence": """<ir_version: 8, opset_import: ["" : 17]>
        g (float[2,3] x) => (seq(float[?,3]) parts, float[1,3] last) <int64 at = {-1}, int64 one = {1}>
        { parts = SplitToSequence <axis: int = 0> (x, one)
          last = SequenceAt (parts, at) }""",
    "a function": """<ir_version: 8, opset_import: ["" : 17, "mine" : 1]>
        g (float[N] x) => (float[N] y) { y = mine.Twice (x) }
        <domain: "mine", opset_import: ["" : 17]> Twice (a) => (b) { b = Add (a, a) }""",
    "a map": """<ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 3]>
        g (float[N,2] x) => (seq(map(string, float)) y)
        { y = ai.onnx.ml.ZipMap <classlabels_strings: strings = ["no", "yes"]> (x) }""",
}
OUR_FEEDS = FEEDS | {
    "missing inputs": {"x": np.float32([0, 1])}, "an initializer as output": {"x": np.float32([0, 1])},
    "constants of all kinds": {"x": np.float32([0, 1])}, "a sequence": {"x": np.float32([[1, 2, 3], [4, 5, 6]])},
    "a function": {"x": np.float32([3, 4])}, "a map": {"x": np.float32([[0.25, 0.75]])}}


def plain(value):
    """Arrays as lists, so that results of any kind can be compared."""
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.tolist()
    if isinstance(value, dict):
        return [(key, plain(item)) for key, item in value.items()]
    return [plain(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("level", ["ORT_DISABLE_ALL", "ORT_ENABLE_BASIC"])
@pytest.mark.parametrize("name", OURS)
def test_what_we_save_runs_in_both(name, level, tmp_path):
    model, feeds = onnx.parser.parse_model(OURS[name]), OUR_FEEDS[name]
    path = saved(model, tmp_path / "model.ort", sardonyx, level)
    assert path.read_bytes()[4:8] == b"ORTM"
    want = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for package in (sardonyx, onnxruntime):
        session = package.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        ports = [[(port.name, port.type, port.shape) for port in [*each.get_inputs(), *each.get_outputs()]]
                 for each in (session, want)]
        assert ports[0] == ports[1]
        assert plain(session.run(None, feeds)) == plain(want.run(None, feeds)), package.__name__
        assert session.get_modelmeta().producer_name == model.producer_name


def test_the_format_follows_from_the_path_or_the_entry(tmp_path):
    model = onnx.parser.parse_model(MODELS["graphs inside"])
    by_name = saved(model, tmp_path / "by_name.ort", sardonyx, **{"session.log_id": "x"})
    assert by_name.read_bytes()[4:8] == b"ORTM"
    assert by_name.read_bytes() == saved(model, tmp_path / "by_entry", sardonyx).read_bytes()
    other = saved(model, tmp_path / "other.ort", sardonyx, **{"session.save_model_format": "ONNX"})
    assert onnx.load_model(other, format="protobuf").graph.node


def test_what_the_format_does_not_have_is_an_error(tmp_path):
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
        g (optional(float[2]) x) => (float[2] y) { y = OptionalGetElement (x) }""")
    with pytest.raises(Exception, match="value 'x': expected a tensor, a sequence or a map, found optional"):
        saved(model, tmp_path / "model.ort", sardonyx)
    assert not (tmp_path / "model.ort").exists()
