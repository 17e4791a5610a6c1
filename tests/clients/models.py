"""Small models for client programs, one for each thing that a program asks a session."""
import numpy as np
import onnx
import onnx.helper as h
import onnx.numpy_helper
from onnx import TensorProto as T

TYPES = {"float32": T.FLOAT, "float64": T.DOUBLE, "int8": T.INT8, "uint8": T.UINT8, "int16": T.INT16,
         "uint16": T.UINT16, "int32": T.INT32, "uint32": T.UINT32, "int64": T.INT64, "uint64": T.UINT64,
         "bool": T.BOOL, "string": T.STRING, "float16": T.FLOAT16, "bfloat16": T.BFLOAT16}

# Writes an adapter: a program for the environment that has ONNX Runtime's package.
ADAPTER = """
import sys, numpy as np, onnxruntime as o
adapter = o.AdapterFormat()
adapter.set_adapter_version(1)
adapter.set_model_version(1)
adapter.set_parameters({'a': o.OrtValue.ortvalue_from_numpy(np.array([[1], [2]], np.float32)),
                        'b': o.OrtValue.ortvalue_from_numpy(np.array([[3, 4]], np.float32))})
adapter.export_adapter(sys.argv[1])
"""


def _save(folder, name, nodes, inputs, outputs, initializers=(), opsets=(("", 17),), **more):
    graph = h.make_graph(nodes, name, inputs, outputs, list(initializers), doc_string=f"the graph {name}")
    model = h.make_model(graph, ir_version=8, opset_imports=[h.make_opsetid(*pair) for pair in opsets],
                         producer_name="sardonyx tests", **more)
    onnx.save(model, str(folder / f"{name}.onnx"))
    return model


def make(folder):
    """Writes all of them."""
    folder.mkdir(parents=True, exist_ok=True)
    f = T.FLOAT
    for name, kind in TYPES.items():
        _save(folder, f"identity_{name}", [h.make_node("Identity", ["x"], ["y"])],
              [h.make_tensor_value_info("x", kind, ["rows", 2])], [h.make_tensor_value_info("y", kind, ["rows", 2])])
    weights = onnx.numpy_helper.from_array(np.array([[1, 2], [3, 4], [5, 6]], np.float32), "weights")
    bias = onnx.numpy_helper.from_array(np.array([0.5, -0.5], np.float32), "bias")
    model = _save(folder, "linear", [h.make_node("MatMul", ["x", "weights"], ["p"], name="product"),
                                     h.make_node("Add", ["p", "bias"], ["y"], name="sum")],
                  [h.make_tensor_value_info("x", f, ["batch", 3])], [h.make_tensor_value_info("y", f, ["batch", 2])],
                  [weights, bias], domain="sardonyx.tests", model_version=7, doc_string="a linear layer")
    h.set_model_props(model, {"author": "somebody", "empty": "", "unicode": "ż 大 김"})
    onnx.save(model, str(folder / "linear.onnx"))
    onnx.save(model, str(folder / "linear_external.onnx"), save_as_external_data=True, size_threshold=0,
              location="linear_external.bin")
    # The bias is an input too: a caller may replace it.
    _save(folder, "overridable", [h.make_node("Add", ["x", "bias"], ["y"])],
          [h.make_tensor_value_info("x", f, ["batch", 2]), h.make_tensor_value_info("bias", f, [2])],
          [h.make_tensor_value_info("y", f, ["batch", 2])], [bias])
    _save(folder, "two_of_two", [h.make_node("Add", ["a", "b"], ["sum"]), h.make_node("Mul", ["a", "b"], ["product"])],
          [h.make_tensor_value_info(name, f, ["n"]) for name in "ab"],
          [h.make_tensor_value_info(name, f, ["n"]) for name in ("sum", "product")])
    _save(folder, "scalar", [h.make_node("ReduceSum", ["x"], ["y"], keepdims=0)],
          [h.make_tensor_value_info("x", f, ["n"])], [h.make_tensor_value_info("y", f, [])])
    _save(folder, "upper", [h.make_node("StringNormalizer", ["x"], ["y"], case_change_action="UPPER", locale="C")],
          [h.make_tensor_value_info("x", T.STRING, ["n"])], [h.make_tensor_value_info("y", T.STRING, ["n"])])
    _save(folder, "to_sequence", [h.make_node("SequenceConstruct", ["a", "b"], ["s"])],
          [h.make_tensor_value_info(name, f, ["n"]) for name in "ab"],
          [h.make_tensor_sequence_value_info("s", f, ["n"])])
    _save(folder, "sequence_at", [h.make_node("SequenceAt", ["s", "i"], ["y"])],
          [h.make_tensor_sequence_value_info("s", f, ["n"]), h.make_tensor_value_info("i", T.INT64, [])],
          [h.make_tensor_value_info("y", f, ["n"])])
    for kind, value, attribute in (("int64", T.INT64, {"classlabels_int64s": [10, 20, 30]}),
                                   ("string", T.STRING, {"classlabels_strings": ["a", "b", "c"]})):
        maps = h.make_sequence_type_proto(h.make_map_type_proto(value, h.make_tensor_type_proto(f, [])))
        _save(folder, f"zip_map_{kind}", [h.make_node("ZipMap", ["x"], ["z"], domain="ai.onnx.ml", **attribute)],
              [h.make_tensor_value_info("x", f, ["n", 3])], [h.make_value_info("z", maps)],
              opsets=(("", 17), ("ai.onnx.ml", 1)))
    _save(folder, "custom_op", [h.make_node("Nobody", ["x"], ["y"], domain="nowhere")],
          [h.make_tensor_value_info("x", f, ["n"])], [h.make_tensor_value_info("y", f, ["n"])],
          opsets=(("", 17), ("nowhere", 1)))
    body = h.make_graph([h.make_node("Sin", ["v"], ["w"]), h.make_node("Identity", ["go"], ["on"])], "body",
                        [h.make_tensor_value_info("i", T.INT64, []), h.make_tensor_value_info("go", T.BOOL, []),
                         h.make_tensor_value_info("v", f, ["n"])],
                        [h.make_tensor_value_info("on", T.BOOL, []), h.make_tensor_value_info("w", f, ["n"])])
    _save(folder, "long_loop", [h.make_node("Loop", ["times", "", "x"], ["y"], body=body)],
          [h.make_tensor_value_info("times", T.INT64, []), h.make_tensor_value_info("x", f, ["n"])],
          [h.make_tensor_value_info("y", f, ["n"])])
    (folder / "broken.onnx").write_bytes(b"this is not a model")


def make_for_cxx(folder):
    """Writes those that only programs/cxx_api needs, besides the others."""
    make(folder)
    f = T.FLOAT
    optional = h.make_optional_type_proto(h.make_tensor_type_proto(f, ["n"]))
    _save(folder, "optional", [h.make_node("OptionalHasElement", ["x"], ["y"])], [h.make_value_info("x", optional)],
          [h.make_tensor_value_info("y", T.BOOL, [])])
    own = (("", 17), ("cxx", 1))
    x, z, y = (h.make_tensor_value_info(name, f, ["rows", 2]) for name in "xzy")
    second = onnx.numpy_helper.from_array(np.array([[10, 20]], np.float32), "second")
    _save(folder, "cxx_add",
          [h.make_node("AddAmount", ["x", "second"], ["y"], "add", domain="cxx", amount=0.5, whole=3, text="words",
                       reals=[1.0, 2.0], longs=[4, 5, 6], texts=["a", "b"], tensor=second)], [x], [y], [second], own)
    sums = h.make_tensor_value_info("y", f, None)
    for fault in ("", "made", "run"):
        _save(folder, f"cxx_sums{'_not_' if fault else ''}{fault}",
              [h.make_node("Sums", ["x", "z"], ["y"], "sums", domain="cxx", fault=fault)], [x, z], [sums], (), own)
    _save(folder, "cxx_lite", [h.make_node("Doubled", ["x"], ["d"], domain="cxx"),
                               h.make_node("Scaled", ["d"], ["y"], domain="cxx", by=3.0)], [x], [y], (), own)
    # Attributes of all kinds, a body that captures, an input that a caller may leave out, an output without a name.
    branches = {name: h.make_graph([h.make_node(op, ["p", "x"], ["q"], f"{op}_inside")], name, [],
                                   [h.make_tensor_value_info("q", f, None)])
                for name, op in (("then_branch", "Add"), ("else_branch", "Sub"))}
    _save(folder, "cxx_graph",
          [h.make_node("LeakyRelu", ["x"], ["l"], "leaky", alpha=0.25),
           h.make_node("Transpose", ["l"], ["t"], "transposed", perm=[1, 0]),
           h.make_node("Transpose", ["t"], ["p"], "back", perm=[1, 0]),
           h.make_node("If", ["yes"], ["c"], "choice", **branches),
           h.make_node("Clip", ["c", "", "high"], ["k"], "clipped"),
           h.make_node("LabelEncoder", ["n"], ["e"], "labels", domain="ai.onnx.ml", keys_int64s=[1, 2],
                       values_strings=["a", "b"], default_string="none"),
           h.make_node("Dropout", ["k"], ["y", ""], "dropout")],
          [x, h.make_tensor_value_info("yes", T.BOOL, []), h.make_tensor_value_info("n", T.INT64, ["n"]),
           h.make_tensor_value_info("high", f, [])],
          [y, h.make_tensor_value_info("e", T.STRING, ["n"])],
          [onnx.numpy_helper.from_array(np.array(2, np.float32), "high")], (("", 17), ("ai.onnx.ml", 2)),
          model_version=3)
    # y = x w + x a b, where a and b are parameters of an adapter.
    zeros = [onnx.numpy_helper.from_array(np.zeros(shape, np.float32), name)
             for name, shape in (("a", (2, 0)), ("b", (0, 2)))]
    ones = onnx.numpy_helper.from_array(np.ones((2, 2), np.float32), "w")
    _save(folder, "adapted",
          [h.make_node("MatMul", ["x", "a"], ["xa"]), h.make_node("MatMul", ["xa", "b"], ["xab"]),
           h.make_node("MatMul", ["x", "w"], ["xw"]), h.make_node("Add", ["xab", "xw"], ["y"])],
          [x, h.make_tensor_value_info("a", f, [2, "r"]), h.make_tensor_value_info("b", f, ["r", 2])], [y],
          [ones, *zeros])
