"""Sessions in Python, compared with ONNX Runtime: loading, descriptions, runs and their errors."""
import os
import threading
import warnings

import numpy as np
import onnx.parser
import onnxruntime
import pytest
import sardonyx
from sardonyx.capi import onnxruntime_pybind11_state as state

AFFINE = """
<ir_version: 8, opset_import: ["" : 17], producer_name: "tests", domain: "d", model_version: 7, doc_string: "about",
 metadata_props: ["key" : "value", "schlüssel" : "wert"]>
g (float[N, 3] x, float[3] w = {1, 2, 3}) => (float[N, 3] y, int64[2] s) {
  y = Mul (x, w)
  s = Shape (y)
}
"""


@pytest.fixture(scope="module")
def model():
    return onnx.parser.parse_model(AFFINE).SerializeToString()


@pytest.fixture
def session(model):
    return sardonyx.InferenceSession(model)


@pytest.fixture(scope="module")
def peer(model):
    return onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])


X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize("name", ["m.onnx", "模型 é.onnx"])
@pytest.mark.parametrize("form", [str, os.fsencode, lambda path: path], ids=["str", "bytes path", "pathlib"])
def test_loads_from_paths(model, tmp_path, name, form):
    path = tmp_path / name
    path.write_bytes(model)
    if form is os.fsencode:
        with pytest.raises(sardonyx.InvalidProtobuf):
            sardonyx.InferenceSession(form(path))  # bytes are a model, not a path
        return
    y, s = sardonyx.InferenceSession(form(path)).run(None, {"x": X})
    assert np.array_equal(y, X * [1, 2, 3]) and s.tolist() == [2, 3]


@pytest.mark.parametrize("version", [None, 0, 5])
def test_the_version_of_a_model_that_may_have_none(model, version, tmp_path):
    proto = onnx.ModelProto.FromString(model)
    proto.ClearField("model_version")
    if version is not None:
        proto.model_version = version
    expected = onnxruntime.InferenceSession(proto.SerializeToString()).get_modelmeta().version
    options = sardonyx.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "saved.onnx")
    assert sardonyx.InferenceSession(proto.SerializeToString(), options).get_modelmeta().version == expected
    assert sardonyx.InferenceSession(tmp_path / "saved.onnx").get_modelmeta().version == expected
    assert expected == (2**63 - 1 if version is None else version)


def test_describes_itself_as_onnxruntime_does(session, peer):
    for get in ("get_inputs", "get_outputs", "get_overridable_initializers"):
        ours, theirs = getattr(session, get)(), getattr(peer, get)()
        assert [(p.name, p.type, p.shape) for p in ours] == [(p.name, p.type, p.shape) for p in theirs]
    ours, theirs = session.get_modelmeta(), peer.get_modelmeta()
    for field in ("producer_name", "graph_name", "domain", "description", "graph_description", "version",
                  "custom_metadata_map"):
        assert getattr(ours, field) == getattr(theirs, field), field
    assert session.get_providers() == peer.get_providers() == ["CPUExecutionProvider"]
    assert session.get_provider_options() == {"CPUExecutionProvider": {}}
    assert str(session.get_inputs()[0]) == str(peer.get_inputs()[0])


@pytest.mark.parametrize("names", [None, [], ["y"], ["s", "y"]])
def test_outputs_in_the_order_asked(session, peer, names):
    ours, theirs = session.run(names, {"x": X}), peer.run(names, {"x": X})
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs):
        assert a.dtype == b.dtype and np.array_equal(a, b)


def test_overrides_a_default_input(session):
    w = np.float32([10, 20, 30])
    assert np.array_equal(session.run(["y"], {"x": X, "w": w})[0], X * w)


@pytest.mark.parametrize("feed, kind, words", [
    ({}, "ValueError", ["x"]),
    ({"x": X, "z": X}, "InvalidArgument", ["z"]),
    ({"x": X.astype(np.float64)}, "InvalidArgument", ["x", "double", "float"]),
    ({"x": X[0]}, "InvalidArgument", ["x"]),
    ({"x": X[:, :2]}, "InvalidArgument", ["x", "2", "3"]),
])
def test_wrong_feeds_have_the_peers_exceptions(session, peer, feed, kind, words):
    with pytest.raises(Exception) as theirs:  # noqa: B017, PT011  (which one is what is tested)
        peer.run(None, feed)
    with pytest.raises(Exception) as ours:  # noqa: B017, PT011
        session.run(None, feed)
    assert type(ours.value).__name__ == type(theirs.value).__name__ == kind
    assert all(word in str(ours.value) for word in words), str(ours.value)


def test_unknown_output_is_named(session):
    with pytest.raises(sardonyx.InvalidArgument, match="nothere"):
        session.run(["nothere"], {"x": X})


def test_exceptions_have_the_peers_names():
    from onnxruntime.capi import onnxruntime_pybind11_state as theirs

    for name in ("Fail", "InvalidArgument", "NoSuchFile", "NoModel", "EngineError", "RuntimeException",
                 "InvalidProtobuf", "ModelLoaded", "NotImplemented", "InvalidGraph", "EPFail"):
        assert getattr(state, name) is getattr(sardonyx, name)
        assert getattr(state, name).__name__ == getattr(theirs, name).__name__
        assert issubclass(getattr(state, name), Exception)


def test_load_errors(tmp_path):
    with pytest.raises(sardonyx.NoSuchFile, match="absent.onnx"):
        sardonyx.InferenceSession(tmp_path / "absent.onnx")
    with pytest.raises(sardonyx.InvalidProtobuf):
        sardonyx.InferenceSession(b"\xff" * 40)
    with pytest.raises(TypeError, match="int"):
        sardonyx.InferenceSession(3)


def test_providers(model):
    with pytest.warns(UserWarning, match="CUDAExecutionProvider") as caught:
        session = sardonyx.InferenceSession(model, providers=["CUDAExecutionProvider", "CPUExecutionProvider"])
    assert len(caught) == 1 and caught[0].filename == __file__
    assert session.get_providers() == ["CPUExecutionProvider"]
    assert session.run(["s"], {"x": X})[0].tolist() == [2, 3]
    with pytest.raises(sardonyx.InvalidArgument, match="'CUDAExecutionProvider'; add 'CPUExecutionProvider' to run on"):
        sardonyx.InferenceSession(model, providers=[("CUDAExecutionProvider", {"device_id": 0})])
    with pytest.raises(ValueError, match="same length"):
        sardonyx.InferenceSession(model, providers=["CPUExecutionProvider"], provider_options=[{}, {}])
    with pytest.raises(ValueError, match="strings or"):
        sardonyx.InferenceSession(model, providers=[3])
    assert sardonyx.get_available_providers()[-1] == "CPUExecutionProvider" and sardonyx.get_device() == "CPU"


CPU = "CPUExecutionProvider"


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("lists", [
    {}, {"providers": None}, {"providers": []}, {"providers": [CPU]}, {"providers": (CPU,)}, {"providers": [CPU, CPU]},
    {"providers": [(CPU, {})]}, {"providers": [CPU], "provider_options": [{}]}, {"provider_options": [{}]},
    {"providers": [CPU, CPU], "provider_options": [{}, {}]}], ids=str)
def test_lists_of_providers_mean_what_they_mean_to_the_peer(model, lists, strict):
    """The same providers, the same warnings; or the same exception."""
    def outcome(module):
        options = module.SessionOptions()
        options.log_severity_level = 4
        if strict:
            options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                session = module.InferenceSession(model, options, **lists)
            except Exception as error:  # noqa: BLE001  (which it is, is compared)
                return type(error).__name__, sorted(str(each.message) for each in said)
        return session.get_providers(), session.get_provider_options(), sorted(str(each.message) for each in said)

    assert outcome(sardonyx) == outcome(onnxruntime)


@pytest.mark.parametrize(("lists", "words"), [
    ({"providers": [CPU], "provider_options": ["fast"]}, "must be dicts"),
    ({"providers": [CPU], "provider_options": {"a": 1}}, "should be a sequence"),
    ({"providers": [CPU], "provider_options": []}, "found 1 and 0"),
    ({"providers": [(CPU, {})], "provider_options": [{}]}, "Only string values"),
    ({"providers": CPU}, "should be a list")], ids=str)
def test_lists_of_providers_that_are_none(model, lists, words):
    """The peer prints these and goes on with the CPU alone; asked for by set_providers, it raises the same."""
    with pytest.raises(ValueError, match=words):
        sardonyx.InferenceSession(model, **lists)
    session = sardonyx.InferenceSession(model)
    with pytest.raises(ValueError, match=words):
        session.set_providers(**lists)


def test_of_a_provider_named_twice_the_first_options_count(model):
    with pytest.warns(UserWarning, match="Duplicate provider 'CPUExecutionProvider' encountered, ignoring."):
        session = sardonyx.InferenceSession(model, providers=[(CPU, {"use_arena": "1"}), (CPU, {"use_arena": "0"})])
    assert session.get_provider_options() == {CPU: {"use_arena": "1"}}


def test_the_cpu_cannot_be_named_and_forbidden(model):
    options = sardonyx.SessionOptions()
    options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    with pytest.raises(sardonyx.InvalidArgument, match="names 'CPUExecutionProvider', which .*disable_cpu_ep_fallback"):
        sardonyx.InferenceSession(model, options, providers=[CPU])


def test_placement_names_every_node(session):
    assert {row["op_type"] for row in session.placement()} >= {"Mul"}


def test_run_async(session):
    done, got = threading.Event(), []

    def callback(outputs, user_data, error):
        got.append((outputs, user_data, error))
        done.set()

    session.run_async(["y"], {"x": X}, callback, "mine")
    assert done.wait(30)
    outputs, user_data, error = got[0]
    assert np.array_equal(outputs[0], X * [1, 2, 3]) and user_data == "mine" and error == ""


def test_disabled_optimizers(tmp_path):
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
        g (float[3] x) => (float[3] y) { a = Identity (x)  y = Neg (a) }""").SerializeToString()

    def operators(**arguments):
        options = sardonyx.SessionOptions()
        options.optimized_model_filepath = tmp_path / "out.onnx"
        sardonyx.InferenceSession(model, options, **arguments)
        return [node.op_type for node in onnx.load(tmp_path / "out.onnx").graph.node]

    assert operators() == ["Neg"]
    assert operators(disabled_optimizers=["EliminateIdentity"]) == ["Identity", "Neg"]


def operators_left(text, tmp_path, **entries):
    options = sardonyx.SessionOptions()
    options.optimized_model_filepath = tmp_path / "out.onnx"
    for key, value in entries.items():
        options.add_session_config_entry(key.replace("__", "."), value)
    sardonyx.InferenceSession(onnx.parser.parse_model(text).SerializeToString(), options)
    return [node.op_type for node in onnx.load(tmp_path / "out.onnx").graph.node]


def test_the_size_of_folded_constants_is_limited_on_demand(tmp_path):
    key = "optimization__constant_folding_max_output_size_in_bytes"
    text = """<ir_version: 8, opset_import: ["" : 17]> g (float[4] x) => (float[4] y) <float16[4] h = {1, 2, 3, 4}>
        { a = Cast <to = 1> (h)  y = Div (x, a) }"""
    for limit in ("", "0", "16", "1073741824"):
        assert "Cast" not in operators_left(text, tmp_path, **({key: limit} if limit else {}))
    assert "Cast" in operators_left(text, tmp_path, **{key: "15"})
    for wrong in ("many", "-1", "1.5", "1 MB"):
        with pytest.raises(sardonyx.capi.onnxruntime_pybind11_state.InvalidArgument, match=f"found '{wrong}'"):
            operators_left(text, tmp_path, **{key: wrong})


def test_constants_stay_quantized_on_demand(tmp_path):
    text = """<ir_version: 8, opset_import: ["" : 17]>
        g (float[2] x) => (float[2] y) <int8[2] q = {3, -4}, float s = {0.5}> {
          d = DequantizeLinear (q, s)  y = Add (x, d) }"""
    assert operators_left(text, tmp_path) == ["Add"]
    assert operators_left(text, tmp_path, session__disable_qdq_constant_folding="1") == ["DequantizeLinear", "Add"]


def test_optimizers_run_until_nothing_changes_on_demand(tmp_path):
    """Two rounds find that one part of the last Split is read: it goes, and with it a reader of the one before."""
    key, splits = "session.graph_optimizations_loop_level", 4
    body = "".join(f"c{i + 1} = Concat <axis = 0> (z, b{i})  a{i + 1}, b{i + 1} = Split <axis = 0> (c{i + 1}, halves) "
                   for i in range(splits))
    parts = ", ".join(f"a{i + 1}" for i in range(splits))
    text = f"""<ir_version: 8, opset_import: ["" : 17]> g (float[2] z, float[2] b0) => (float[2] y)
        <int64[2] halves = {{2, 2}}> {{ {body} unread = Neg (b{splits})  y = Sum ({parts}) }}"""

    def splits_left(level):
        options = sardonyx.SessionOptions()
        options.graph_optimization_level = sardonyx.GraphOptimizationLevel.ORT_ENABLE_BASIC
        options.optimized_model_filepath = tmp_path / "out.onnx"
        options.add_session_config_entry(key, level)
        sardonyx.InferenceSession(onnx.parser.parse_model(text).SerializeToString(), options)
        return [node.op_type for node in onnx.load(tmp_path / "out.onnx").graph.node].count("Split")

    assert [splits_left(level) for level in ("0", "1", "2")] == [4, 2, 0]
    with pytest.raises(sardonyx.capi.onnxruntime_pybind11_state.InvalidArgument, match="expected 0, 1 or 2, found '3'"):
        splits_left("3")


def test_names_of_optimizers_that_do_not_exist_are_warned_of(capfd):
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
        g (float[3] x) => (float[3] y) { y = Neg (x) }""").SerializeToString()
    sardonyx.InferenceSession(model, disabled_optimizers=["ConstantFolding", "GeluFusionL2", "WhereDummyDq"])
    assert "optimizer" not in capfd.readouterr().err
    sardonyx.InferenceSession(model, disabled_optimizers=["EliminateIdentiti"])
    assert "there is no optimizer 'EliminateIdentiti' to switch off; did you mean 'EliminateIdentity'?" in (
        capfd.readouterr().err)


@pytest.mark.parametrize("switch", [None, "session.disable_quant_qdq", "QDQSelectorActionTransformer",
                                    "fuse_quantized_product"])
def test_integer_operators_of_quantized_graphs_can_be_switched_off(tmp_path, switch):
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
        g (uint8[2,3] x) => (uint8[2,2] y) <float s = {0.02}, uint8 z = {7}, int8[3,2] w = {1,2,3,4,5,6}> {
          f = DequantizeLinear (x, s, z)  v = DequantizeLinear (w, s)  p = MatMul (f, v)  y = QuantizeLinear (p, s, z)
        }""").SerializeToString()
    options = sardonyx.SessionOptions()
    options.optimized_model_filepath = tmp_path / "out.onnx"
    if switch is not None and switch.startswith("session."):
        options.add_session_config_entry(switch, "1")
    elif switch is not None:
        options.add_session_config_entry("optimization.disable_specified_optimizers", switch)
    session = sardonyx.InferenceSession(model, options)
    operators = {node.op_type for node in onnx.load(tmp_path / "out.onnx").graph.node}
    assert ("QLinearMatMul" in operators) == (switch is None)
    x = np.array([[0, 100, 200], [7, 8, 9]], np.uint8)
    peer = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    assert np.abs(session.run(None, {"x": x})[0].astype(int) - peer.run(None, {"x": x})[0]).max() <= 1


def test_strings_keep_what_is_behind_a_nul():
    session = sardonyx.InferenceSession(onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (string[n] x) => (string[n] y) { y = Identity (x) }'
    ).SerializeToString())
    texts = np.array(["nul\0inside", "", "end\0", "plain", "ż\0大"], object)
    assert session.run(None, {"x": texts})[0].tolist() == texts.tolist()
    assert session.run(None, {"x": np.array([b"a\0b", 3], object)})[0].tolist() == ["a\0b", "3"]
