"""Models that are not what the text of ONNX asks for, or hardly, and that ONNX Runtime takes: the same results here."""
import numpy as np
import onnx
import onnxruntime
import pytest
import sardonyx
from onnx import TensorProto, helper, numpy_helper
from test_late_errors import LEVELS, numbers
from test_unusual_inputs import session_of

TABLE = np.array([[0, 1], [-2, 3], [4, -5]], np.float32)
FLAGS = np.array([True, False, True, False])


def parsed(text, *imports, function=""):
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18, "my" : 1]> g {text}\n{function}')
    if imports:
        del model.opset_import[:]
        model.opset_import.extend(helper.make_opsetid(*given) for given in imports)
    return model


def of(nodes, feeds, constants=(), opset=17, outputs=("y",)):
    infos = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
             for name, array in feeds.items()]
    graph = helper.make_graph(nodes, "g", infos, [helper.make_empty_tensor_value_info(name) for name in outputs],
                              constants)
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", opset)])


def function(name, domain="", body="Exp (a)", inputs="a"):
    return f'<domain: "{domain}", opset_import: ["" : 18]> {name} ({inputs}) => (b) {{ b = {body} }}'


SCALER = "(float[N, 2] x) => (float[N, 2] y) { y = ai.onnx.ml.Scaler <offset = [1.0], scale = [2.0]> (x) }"
SUM = "(float[N, 2] x) => (float[N, K] y) { y = ReduceSum <axes = [1]> (x) }"
IN_BRANCHES = ("(float[N, 2] x, bool c) => (float[N, 2] y) { y = If (c) <then_branch = t () => (float[N, 2] a) "
               "{ a = ai.onnx.ml.Scaler <offset = [1.0], scale = [2.0]> (x) }, "
               "else_branch = e () => (float[N, 2] b) { b = com.microsoft.Gelu (x) }> }")
X = {"x": TABLE}
IMPORTS = {
    "the newer version last": (parsed(SUM, ("", 17), ("", 11)), X),
    "the standard domain by both names": (parsed(SUM, ("", 17), ("ai.onnx", 7)), X),
    "one version twice": (parsed(SUM, ("", 11), ("", 11)), X),
    "another domain in two versions": (parsed(SCALER, ("", 17), ("ai.onnx.ml", 3), ("ai.onnx.ml", 1)), X),
    "ai.onnx.ml not at all": (parsed(SCALER, ("", 17)), X),
    "com.microsoft not at all": (parsed("(float[N, 2] x) => (float[N, 2] y) { y = com.microsoft.Gelu (x) }",
                                        ("", 17)), X),
    "the standard domain not at all": (parsed("(float[N, 2] x) => (float[N, 2] y) { y = Relu (x) }",
                                              ("ai.onnx.ml", 2)), X),
    "domains of branches not at all": (parsed(IN_BRANCHES, ("", 17)), X | {"c": np.array(True)}),
}
FORMS = {"value_float": 1.5, "value_int": 3, "value_floats": [1.0, 2.0], "value_ints": [1, 2], "value_string": "a",
         "value_strings": ["a", "b"]}
CONSTANTS = {f"{form} {opset} {' '.join(chain)}": (
    of([helper.make_node("Constant", [], ["c" if chain else "y"], **{form: value}),
        *(helper.make_node(op, ["c"], ["y"]) for op in chain)], {}, opset=opset), {})
    for form, value in FORMS.items() for opset in (1, 9, 11) for chain in ([], ["Identity"])
    if opset > 1 or not chain}
FUNCTIONS = {
    **{f"{name} of {domain or 'no domain'}": (
        parsed(f"(float[N, 2] x) => (float[N, 2] y) {{ y = {name} (x) }}", function=function(name, domain)), X)
       for name in ("Relu", "Mish", "HardSwish") for domain in ("", "ai.onnx")},
    "Gelu of com.microsoft": (parsed("(float[N, 2] x) => (float[N, 2] y) { y = com.microsoft.Gelu (x) }", ("", 18),
                                     ("com.microsoft", 1), function=function("Gelu", "com.microsoft")), X),
    "Scaler of ai.onnx.ml": (parsed(SCALER, ("", 18), ("ai.onnx.ml", 1),
                                    function=function("Scaler", "ai.onnx.ml")), X),
    "in a function": (parsed("(float[N, 2] x) => (float[N, 2] y) { y = my.F (x) }",
                             function=function("F", "my", "Relu (a)") + function("Relu")), X),
    "in a branch": (parsed("(float[N, 2] x, bool c) => (float[N, 2] y) { y = If (c) <then_branch = t () => "
                           "(float[N, 2] a) { a = Relu (x) }, else_branch = e () => (float[N, 2] b) { b = Neg (x) }> }",
                           function=function("Relu")), X | {"c": np.array(True)}),
}


def flags(raw=None, numbers_=None):
    tensor = TensorProto(name="w", data_type=TensorProto.BOOL, dims=[4])
    if raw is not None:
        tensor.raw_data = bytes(raw)
    tensor.int32_data.extend(numbers_ or [])
    return tensor


READERS = {"And": ["x", "w"], "Xor": ["w", "x"], "Equal": ["w", "x"], "Not": ["w"], "Identity": ["w"],
           "NonZero": ["w"], "Compress": ["x", "w"], "Where": ["w", "n", "m"]}
BOOLS = {
    **{f"{op} {text}": (of([helper.make_node(op, inputs, ["y"])], {"x": FLAGS, "n": numbers(4), "m": -numbers(4)},
                           [tensor]), {"x": FLAGS, "n": numbers(4), "m": -numbers(4)})
       for op, inputs in READERS.items()
       for text, tensor in (("raw", flags([0, 1, 2, 255])), ("numbers", flags(None, [0, 1, 2, 256])))},
    **{f"Cast to {to}": (of([helper.make_node("Cast", ["w"], ["y"], to=to)], {"x": FLAGS}, [flags([0, 1, 2, 255])]),
                         {"x": FLAGS})
       for to in (TensorProto.FLOAT, TensorProto.INT64, TensorProto.UINT8, TensorProto.STRING)},
}


def segment(begin, end):
    tensor = numpy_helper.from_array(TABLE, "w")
    tensor.segment.begin, tensor.segment.end = begin, end
    return tensor


ADD = [helper.make_node("Add", ["x", "w"], ["y"])]
SEGMENTS = {
    **{f"from {begin} to {end}": (of(ADD, X, [segment(begin, end)]), X)
       for begin, end in ((0, 0), (0, 6), (2, 4), (5, 1))},
    "of a Constant": (of([helper.make_node("Constant", [], ["w"], value=segment(0, 3)), *ADD], X), X),
}


def with_zero(x="x", w="w", y="y", node="n", dim="N"):
    nodes = [helper.make_node("Add", [x, w], ["t"], node), helper.make_node("Relu", ["t"], [y], node + "2")]
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [dim, 2]) for name in (x, y)]
    graph = helper.make_graph(nodes, "g\0h", infos[:1], infos[1:], [numpy_helper.from_array(TABLE, w)])
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), {x: TABLE}


NAMES = {text: with_zero(**given) for text, given in {
    "of an input": {"x": "x\0y"}, "of a weight": {"w": "w\0"}, "of an output": {"y": "\0y"},
    "of a node": {"node": "n\0m"}, "of a dimension": {"dim": "N\0M"},
    "that differ behind it": {"x": "a\0x", "w": "a\0w", "y": "a\0y"}}.items()}
GIVEN = "(float[N, 2] x, float[M, 2] w) => (float[K, 2] y) <float[1, 2] w = {1, 2}> { y = Add (x, w) }"
NOTHING = {
    "for an initializer": (parsed(GIVEN), X | {"w": None}),
    "for what is no input": (parsed(GIVEN), X | {"q": None}),
}
THREE = np.array([1, 2, 3], np.float32)
SCALES = {name: THREE for name in ("s", "b", "mean", "var")}
STATISTICS = {f"{opset} {kind} {attributes}": (
    of([*([helper.make_node("Conv", ["x", "k"], ["c"])] if kind == "behind a Conv" else []),
        helper.make_node("BatchNormalization", ["c" if kind == "behind a Conv" else "x", *SCALES], [*"yghij"],
                         **attributes)],
       {"x": numbers(2, 3, 4), **SCALES}, [numpy_helper.from_array(numbers(3, 3, 1), "k")], opset, [*"yghij"]),
    {"x": numbers(2, 3, 4), **SCALES})
    for opset in (7, 9, 13) for kind in ("alone", "behind a Conv") for attributes in ({}, {"momentum": 0.5})}


def convolved(op, x, w, bias=None, more=(), **attributes):
    rng = np.random.default_rng(len(x) + x[-1])
    feeds = {"x": rng.standard_normal(x).astype(np.float32), "w": rng.standard_normal(w).astype(np.float32)}
    if bias:
        feeds["b"] = rng.standard_normal(bias).astype(np.float32)
    nodes = [helper.make_node(op, [*feeds], ["c" if more else "y"], **attributes)]
    nodes += [helper.make_node(then, ["c", "c"] if then == "Mul" else ["c"], ["y"]) for then in more]
    return of(nodes, feeds), feeds


def with_constant_weights(model, feeds):
    model.graph.initializer.append(numpy_helper.from_array(feeds["w"], "w"))
    del model.graph.input[1]
    return model, {name: array for name, array in feeds.items() if name != "w"}


GROUPED = {"x": (2, 4, 4, 5, 4, 5), "w": (4, 2, 2, 3, 2, 3), "bias": (4,), "group": 2}
SPATIAL = {
    "Conv": convolved("Conv", (1, 2, 4, 4, 4, 4), (3, 2, 2, 2, 2, 2)),
    "Conv with constant weights": with_constant_weights(*convolved("Conv", (1, 2, 4, 4, 4, 4), (3, 2, 2, 2, 2, 2))),
    "Conv then Relu": convolved("Conv", (1, 2, 4, 4, 4, 4), (3, 2, 2, 2, 2, 2), (3,), ["Relu"]),
    "Conv in groups": convolved("Conv", **GROUPED),
    "Conv with pads": convolved("Conv", **GROUPED, pads=[1, 0, 1, 2, 0, 1, 1, 0], strides=[1, 2, 1, 2]),
    "Conv with holes": convolved("Conv", (1, 2, 5, 5, 5, 5), (2, 2, 2, 2, 2, 2), dilations=[2, 1, 3, 2]),
    "Conv of the same size": convolved("Conv", (1, 1, 4, 3, 4, 3), (2, 1, 3, 3, 2, 3), auto_pad="SAME_UPPER"),
    "Conv of one pixel": convolved("Conv", (1, 2, 1, 1, 1, 1), (3, 2, 1, 1, 1, 1)),
    "Conv of five": convolved("Conv", (1, 2, 3, 3, 3, 3, 3), (2, 2, 2, 2, 2, 2, 2), (2,)),
    "Conv of many pixels": convolved("Conv", (1, 3, 12, 12, 12, 12), (4, 3, 3, 3, 3, 3), (4,)),
    "ConvTranspose": convolved("ConvTranspose", (1, 2, 3, 3, 3, 3), (2, 3, 2, 2, 2, 2)),
    "ConvTranspose with pads": convolved("ConvTranspose", (2, 4, 3, 2, 3, 2), (4, 2, 3, 3, 2, 3), (4,), group=2,
                                         strides=[2, 1, 2, 1], pads=[1, 0, 1, 0, 0, 1, 0, 1],
                                         output_padding=[1, 0, 1, 0], dilations=[1, 2, 1, 1]),
    "ConvTranspose of a size": convolved("ConvTranspose", (1, 2, 3, 3, 3, 3), (2, 1, 3, 3, 3, 3), strides=[2] * 4,
                                         output_shape=[6, 6, 6, 6]),
}


def reshaped(shape, target):
    x, sizes = np.zeros(shape, np.float32), np.array(target)
    infos = [helper.make_tensor_value_info(name, kind, [None] * rank)
             for name, kind, rank in (("x", TensorProto.FLOAT, len(shape)), ("s", TensorProto.INT64, 1))]
    graph = helper.make_graph([helper.make_node("Reshape", ["x", "s"], ["y"], allowzero=1)], "g", infos,
                              [helper.make_empty_tensor_value_info("y")])
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
    return model, {"x": x, "s": sizes}


RESHAPES = {f"{shape} to {target}": reshaped(shape, target) for shape, target in (
    ((0, 3), (0, -1)), ((0, 3), (-1, 0)), ((3, 0), (3, -1, 0)), ((0, 6), (-1, 2, 0)), ((0, 6), (0, 0, -1)),
    ((2, 0, 6), (0, 4, -1)))}
CASES = {f"{kind}: {name}": case for kind, cases in (
    ("import", IMPORTS), ("constant", CONSTANTS), ("function", FUNCTIONS), ("bool", BOOLS), ("segment", SEGMENTS),
    ("zero in the name", NAMES), ("None", NOTHING), ("statistics", STATISTICS), ("axes", SPATIAL),
    ("reshape", RESHAPES)) for name, case in cases.items()}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", CASES)
def test_the_results_are_the_peers(name, level):
    model, feeds = CASES[name]
    ours, theirs = (session_of(engine, model.SerializeToString(), level) for engine in (sardonyx, onnxruntime))
    names = [[port.name for port in (*session.get_inputs(), *session.get_outputs())] for session in (ours, theirs)]
    assert names[0] == names[1]
    for got, want in zip(ours.run(None, feeds), theirs.run(None, feeds), strict=True):
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        if want.dtype.kind == "f":
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
        else:
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("shape, target", [((0, 5), (3, -1, 0)), ((0, 3), (-1, 2, 0)), ((3, 2), (0, -1))])
def test_a_size_that_does_not_divide_is_refused(shape, target):
    model, feeds = reshaped(shape, target)
    for engine in (sardonyx, onnxruntime):
        with pytest.raises(Exception) as error:
            session_of(engine, model.SerializeToString(), "ORT_ENABLE_ALL").run(None, feeds)
        assert type(error.value).__name__ == "Fail"


def with_sparse_output(kind, declared, indices, values):
    sparse = helper.make_sparse_tensor(numpy_helper.from_array(np.array(values, np.float32), "w"),
                                       numpy_helper.from_array(np.array(indices), "i"), [2, 3])
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in "xyw"]
    if declared == "sparse":
        infos[2] = helper.make_sparse_tensor_value_info("w", TensorProto.FLOAT, [2, 3])
    nodes = [helper.make_node("Add", ["x", "x"], ["y"])]
    if kind == "Constant":
        nodes.append(helper.make_node("Constant", [], ["w"], sparse_value=sparse))
    graph = helper.make_graph(nodes, "g", infos[:1], infos[1:],
                              sparse_initializer=[sparse] if kind == "initializer" else [])
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])


# Elements that are zero are not in the result, and what is out of order is in order.
@pytest.mark.parametrize("values", [[5, 6], [0, 6], [0, 0]])
@pytest.mark.parametrize("indices", [[1, 5], [5, 1], [[0, 1], [1, 2]]])
def test_sparse_constants_that_are_sparse_outputs_stay_sparse(indices, values):
    model = with_sparse_output("Constant", "sparse", indices, values)
    found = []
    for engine in (sardonyx, onnxruntime):
        session = session_of(engine, model.SerializeToString(), "ORT_ENABLE_ALL")
        y, w = session.run(None, {"x": np.ones((2, 3), np.float32)})
        w = engine.SparseTensor(w)
        found.append([y.tolist(), [port.type for port in session.get_outputs()], w.format().name, w.dense_shape(),
                      w.values().tolist(), w.as_coo_view().indices().tolist()])
    assert found[0] == found[1]


# As the standard has it. ONNX Runtime gives a sparse tensor here, too.
@pytest.mark.parametrize("kind", ["Constant", "initializer"])
def test_sparse_constants_that_are_dense_outputs_are_dense(kind):
    session = session_of(sardonyx, with_sparse_output(kind, "dense", [1, 5], [5, 6]).SerializeToString(),
                         "ORT_ENABLE_ALL")
    assert session.run(["w"], {"x": np.ones((2, 3), np.float32)})[0].tolist() == [[0, 5, 0], [0, 0, 6]]


def test_affinities_are_ignored_where_no_worker_runs():
    for engine in (sardonyx, onnxruntime):
        options = engine.SessionOptions()
        options.intra_op_num_threads = 1
        options.add_session_config_entry("session.intra_op_thread_affinities", "1")
        model, feeds = IMPORTS["one version twice"]
        engine.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, feeds)
