"""Small models of many kinds, for what a plug-in provider is shown of a model: each function writes one into a folder
and returns its path."""
import numpy as np
import onnx
import onnx.parser
from onnx import TensorProto, helper, numpy_helper


def save(model, folder, name):
    path = folder / f"{name}.onnx"
    onnx.save(model, path)
    return path


def parsed(text, folder, name):
    return save(onnx.parser.parse_model(text), folder, name)


def random(name, *shape, seed=1):
    return numpy_helper.from_array(np.random.default_rng(seed).standard_normal(shape).astype(np.float32), name)


def cnn(folder):
    """Convolutions, pools, a batch normalization, a residual and a free batch size."""
    nodes = [helper.make_node("Conv", ["x", "w1", "b1"], ["c1"], "first", pads=[1, 1, 1, 1]),
             helper.make_node("BatchNormalization", ["c1", "scale", "bias", "mean", "var"], ["n1"], "norm"),
             helper.make_node("Relu", ["n1"], ["r1"]),
             helper.make_node("MaxPool", ["r1"], ["p1"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
             helper.make_node("Conv", ["p1", "w2"], ["c2"], "second", pads=[1, 1, 1, 1], group=2),
             helper.make_node("Add", ["c2", "p1"], ["s"], "sum"),
             helper.make_node("Clip", ["s", "", "six"], ["k"], "relu6"),
             helper.make_node("GlobalAveragePool", ["k"], ["g"]),
             helper.make_node("Flatten", ["g"], ["f"]),
             helper.make_node("Gemm", ["f", "w3", "b3"], ["y"], "head", transB=1)]
    weights = [random("w1", 4, 3, 3, 3), random("b1", 4), random("scale", 4), random("bias", 4), random("mean", 4),
               numpy_helper.from_array(np.full(4, 0.5, np.float32), "var"), random("w2", 4, 2, 3, 3),
               numpy_helper.from_array(np.array(6, np.float32), "six"), random("w3", 5, 4), random("b3", 5)]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3, 8, 8], doc_string="pictures")
    x.type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
    graph = helper.make_graph(nodes, "cnn", [x], [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 5])],
                              weights, doc_string="a network for pictures")
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)], producer_name="tests",
                              producer_version="1", doc_string="a model")
    model.domain, model.model_version = "test.models", 7
    helper.set_model_props(model, {"task": "pictures", "labels": "a,b"})
    return save(model, folder, "cnn")


def transformer(folder):
    """A block of a transformer with symbolic shapes, and If, Loop and Scan, one of them in a body of another."""
    return parsed("""
<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
transformer (int64[batch, seq] ids, bool flag, int64 turns) => (float[batch, seq, 8] y, float[seq2] z)
<float[16, 8] table = {TABLE}, float[8, 8] wq = {SQUARE}, float[8] gamma = {1, 1, 1, 1, 1, 1, 1, 1},
 float[8] beta = {0, 0, 0, 0, 0, 0, 0, 0}, float half = {0.5}> {
  [gather] e = Gather (table, ids)
  [norm] n = LayerNormalization <axis = -1> (e, gamma, beta)
  [query] q = MatMul (n, wq)
  [swap] t = Transpose <perm = [0, 2, 1]> (n)
  [scores] s = MatMul (q, t)
  [scale] sc = Mul (s, half)
  [soft] p = Softmax (sc)
  [mix] m = MatMul (p, n)
  [act] g = com.microsoft.Gelu (m)
  [branch] b = If (flag) <
    then_branch = yes () => (float[batch, seq, 8] a) { [yes_add] a = Add (g, e) },
    else_branch = no () => (float[batch, seq, 8] o) {
      [no_c] c = Constant <value = float {2}> ()
      [inner] i = If (flag) <then_branch = deep () => (float d) { [deep_id] d = Mul (c, half) },
                             else_branch = flat () => (float f) { [flat_id] f = Identity (half) }>
      [no_mul] o = Mul (g, i)
    }>
  [go] on = Constant <value = bool {1}> ()
  [turn] l = Loop (turns, on, b) <body = turn (int64 at, bool go, float[batch, seq, 8] v)
                                  => (bool more, float[batch, seq, 8] w) {
    [more_id] more = Identity (go)
    [turn_add] w = Add (v, e)
  }>
  [plus] y = Add (l, b)
  [minus1] minus = Constant <value_ints = [-1]> ()
  [flat] r = Reshape (y, minus)
  [zero_c] zero = Constant <value_float = 0.0> ()
  [scan] last, z = Scan <num_scan_inputs = 1, body = step (float acc, float one) => (float sum, float each) {
    [step_add] sum = Add (acc, one)
    [step_mul] each = Mul (sum, half)
  }> (zero, r)
}""".replace("TABLE", ", ".join(str(k % 7 - 3) for k in range(128))).replace(
        "SQUARE", ", ".join(str(k % 5 - 2) for k in range(64))), folder, "transformer")


def functions(folder):
    """Functions of the model: with attributes, one that calls another, one with a body of control flow."""
    return parsed("""
<ir_version: 9, opset_import: ["" : 18, "local" : 1]>
functions (float[N, 4] x, bool b) => (float[N, 4] y) <float[4] w = {1, 2, 3, 4}> {
  [first] a = local.Scaled <factor = 3.0> (x, w)
  [second] c = local.Twice (a)
  [third] d = Abs (c)
  [fourth] y = local.Choose (b, d)
}
<domain: "local", opset_import: ["" : 18]>
Scaled <factor: float = 2.0> (p, q) => (r) {
  [m] u = Mul (p, q)
  [k] f = Constant <value_float: float = @factor> ()
  [s] r = Mul (u, f)
}
<domain: "local", opset_import: ["" : 18, "local" : 1]>
Twice (p) => (r) {
  [t1] h = local.Half (p)
  [t2] r = Add (h, p)
}
<domain: "local", opset_import: ["" : 18]>
Half (p) => (r) {
  c = Constant <value = float {0.5}> ()
  r = Mul (p, c)
}
<domain: "local", opset_import: ["" : 18]>
Choose (b, p) => (r) {
  r = If (b) <then_branch = yes () => (u) { u = Neg (p) }, else_branch = no () => (v) { v = Exp (p) }>
}""", folder, "functions")


def standard_functions(folder):
    """Operators of the standard that are functions, some without a kernel in either runtime."""
    return parsed("""
<ir_version: 9, opset_import: ["" : 18]>
standard (float[N, 4] x, float[N, 4] t) => (float[N, 4] y, float[N] l) {
  [softplus] a = Softplus (x)
  [mish] b = Mish (a)
  [swish] c = HardSwish (b)
  [mvn] y = MeanVarianceNormalization <axes = [0]> (c)
  [group] g = GreaterOrEqual (x, t)
  [where] h = Where (g, x, t)
  [axes1] axes = Constant <value_ints = [1]> ()
  [norm] l = ReduceSumSquare <keepdims = 0> (h, axes)
}""", folder, "standard_functions")


def constants(folder):
    """Constant nodes of every form, in the graph and in bodies, one of them an output, and unused initializers."""
    return parsed("""
<ir_version: 8, opset_import: ["" : 17]>
constants (float[N, 4] x, bool b, float[4] over) => (float[N, 4] y, float[2] k, string[2] words)
<float[4] over = {4, 3, 2, 1}, float[2] unused = {1, 2}> {
  [f] one = Constant <value_float = 1.0> ()
  [fs] k = Constant <value_floats = [1.0, 2.0]> ()
  [s] words = Constant <value_strings = ["a", "b"]> ()
  [i] at = Constant <value_int = 4> ()
  [t] table = Constant <value = float[4] {1, 2, 3, 4}> ()
  [dead] nothing = Constant <value_int = 1> ()
  [add] a = Add (x, one)
  [mul] m = Mul (a, table)
  [plus] p = Add (m, over)
  [if] q = If (b) <then_branch = yes () => (float[N, 4] u) {
                     [yc] c = Constant <value_float = 2.0> ()
                     [ym] u = Mul (p, c)
                   },
                   else_branch = no () => (float[N, 4] v) { [nm] v = Mul (p, table) }>
  [shape_of] sh = Shape (x)
  [fill] z = ConstantOfShape (sh)
  [last] y = Add (q, z)
}""", folder, "constants")


def quantized(folder):
    """Quantized weights and activations around a convolution and a product, and an integer product."""
    return parsed("""
<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
quantized (float[1, 2, 4, 4] x) => (float[1, 3] y, int32[1, 3] j)
<float sx = {0.05}, uint8 zx = {128}, int8[2, 2, 3, 3] w = {WEIGHTS}, float[2] sw = {0.01, 0.02}, int8[2] zw = {0, 0},
 int32[2] bias = {1, -2}, float sb = {0.0005}, int32 zb = {0}, int8[8, 3] v = {OTHERS}, float sv = {0.03},
 int8 zv = {0}, int64[2] flat = {1, -1}> {
  [q1] xq = QuantizeLinear (x, sx, zx)
  [d1] xd = DequantizeLinear (xq, sx, zx)
  [dw] wd = DequantizeLinear <axis = 0> (w, sw, zw)
  [db] bd = DequantizeLinear (bias, sb, zb)
  [conv] c = Conv (xd, wd, bd)
  [q2] cq = QuantizeLinear (c, sx, zx)
  [d2] cd = DequantizeLinear (cq, sx, zx)
  [flatten] f = Reshape (cd, flat)
  [dv] vd = DequantizeLinear (v, sv, zv)
  [product] p = MatMul (f, vd)
  [q3] pq = QuantizeLinear (p, sx, zx)
  [d3] y = DequantizeLinear (pq, sx, zx)
  [flatten8] f8 = Reshape (cq, flat)
  [integer] j = MatMulInteger (f8, v, zx)
}""".replace("WEIGHTS", ", ".join(str(k % 9 - 4) for k in range(36))).replace(
        "OTHERS", ", ".join(str(k % 7 - 3) for k in range(24))), folder, "quantized")


def external(folder):
    """Weights in two files of their own."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["a"], "product"),
             helper.make_node("Add", ["a", "b"], ["y"], "sum")]
    graph = helper.make_graph(
        nodes, "external", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 64])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", 32])], [random("w", 64, 32), random("b", 32)])
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
    path = folder / "external.onnx"
    onnx.save(model, path, save_as_external_data=True, all_tensors_to_one_file=True, location="external.data",
              size_threshold=0)
    return path


def old(folder):
    """A model of opset 7: initializers that are inputs too, attributes that have become inputs since."""
    weights = [random("w", 3, 2, 3, 3), random("fc", 12, 2)]
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], auto_pad="SAME_UPPER", kernel_shape=[3, 3]),
             helper.make_node("BatchNormalization", ["c", "s", "s", "s", "v"], ["n"], epsilon=1e-3),
             helper.make_node("Relu", ["n"], ["r"]), helper.make_node("AveragePool", ["r"], ["p"], kernel_shape=[2, 2],
                                                                      strides=[2, 2]),
             helper.make_node("Dropout", ["p"], ["d"], ratio=0.4), helper.make_node("Upsample", ["d"], ["u"],
                                                                                    scales=[1.0, 1.0, 2.0, 2.0]),
             helper.make_node("MaxPool", ["u"], ["m"], kernel_shape=[2, 2], strides=[2, 2]),
             helper.make_node("Reshape", ["m", "to"], ["f"]), helper.make_node("MatMul", ["f", "fc"], ["g"]),
             helper.make_node("Softmax", ["g"], ["h"]), helper.make_node("Squeeze", ["h"], ["k"], axes=[0]),
             helper.make_node("Sum", ["k", "k"], ["y"])]
    weights += [numpy_helper.from_array(np.ones(3, np.float32), name) for name in ("s", "v")]
    weights += [numpy_helper.from_array(np.array([1, -1]), "to")]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 4, 4])]
    inputs += [helper.make_tensor_value_info(w.name, w.data_type, w.dims) for w in weights if w.name != "to"]
    graph = helper.make_graph(nodes, "old", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])],
                              weights)
    graph.input.append(helper.make_tensor_value_info("to", TensorProto.INT64, [2]))
    return save(helper.make_model(graph, ir_version=3, opset_imports=[helper.make_opsetid("", 7)]), folder, "old")


def sequences(folder):
    """Sequences, optional values and outputs that are missing."""
    return parsed("""
<ir_version: 8, opset_import: ["" : 17]>
sequences (float[N, 4] x, seq(float[M]) s, float[3, 2, 1] t3, float[1, 2, 2] start)
  => (float[K, 4] y, int64 n, float[1, 2, 2] h)
<float[1, 6, 1] w = {1, 2, 3, 4, 5, 6}, float[1, 6, 2] r = {1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6}> {
  [one] one = Constant <value = int64 {1}> ()
  [split] parts = SplitToSequence <axis = 0> (x, one)
  [reverse] first = SequenceAt (parts, one)
  [join] y = ConcatFromSequence <axis = 0> (parts)
  [length] n = SequenceLength (s)
  [gru] , h = GRU <hidden_size = 2> (t3, w, r, , , start)
}""", folder, "sequences")


def images(folder):
    """Operators on images, each by itself, and some others."""
    def ones(name, *shape):
        return numpy_helper.from_array(np.ones(shape, np.float32), name)

    held = [ones("w", 4, 4, 3, 3), ones("turned", 4, 2, 3, 3), *(ones(f"b{i}", 4) for i in range(4)),
            ones("grid", 2, 3, 3, 2), ones("slope", 4, 1, 1), ones("offset", 2, 18, 6, 6), ones("roi", 1, 4),
            numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "scales"),
            numpy_helper.from_array(np.zeros((2, 4, 8, 8), np.int64), "places"),
            numpy_helper.from_array(np.array([2, 3]), "axes"), numpy_helper.from_array(np.array([0]), "batch"),
            numpy_helper.from_array(np.array([0, 0, 1, 1, 0, 0, 1, 1]), "pads"),
            numpy_helper.from_array(np.float32(0.1), "s"), numpy_helper.from_array(np.uint8(3), "z"),
            numpy_helper.from_array(np.ones((4, 4, 3, 3), np.uint8), "qw")]
    pool = {"kernel_shape": [2, 2]}
    microsoft = {"domain": "com.microsoft"}
    rows = [("AveragePool", "x", pool), ("MaxPool", "x", pool), ("LpPool", "x", pool), ("GlobalAveragePool", "x", {}),
            ("GlobalMaxPool", "x", {}), ("GlobalLpPool", "x", {}), ("Conv", "x w", {}),
            ("ConvTranspose", "x turned", {}),
            ("BatchNormalization", "x b0 b1 b2 b3", {}), ("InstanceNormalization", "x b0 b1", {}),
            ("GroupNormalization", "x b0 b1", {"num_groups": 4}), ("LRN", "x", {"size": 3}),
            ("GridSample", "x grid", {}),
            ("SpaceToDepth", "x", {"blocksize": 2}), ("DepthToSpace", "x", {"blocksize": 2}),
            ("Resize", "x - scales", {"mode": "linear"}), ("MaxUnpool", "x places", pool), ("PRelu", "x slope", {}),
            ("Softmax", "x", {"axis": 1}), ("Pad", "x pads", {}), ("ReduceMean", "x axes", {}), ("Relu", "x", {}),
            ("DeformConv", "x w offset", {}), ("RoiAlign", "x roi batch", {}), ("QLinearConv", "q s z qw s z s z", {}),
            ("ConvInteger", "q qw z z", {}), ("QLinearAveragePool", "q s z s z", {**pool, **microsoft}),
            ("QLinearGlobalAveragePool", "q s z s z", microsoft),
            ("FusedConv", "x w", {"activation": "Relu", **microsoft})]
    nodes = [helper.make_node(op, ["" if name == "-" else name for name in inputs.split()], [op + "_out"], op + "_node",
                              **more) for op, inputs, more in rows]
    graph = helper.make_graph(
        nodes, "images", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 4, 8, 8]),
                          helper.make_tensor_value_info("q", TensorProto.UINT8, [2, 4, 8, 8])],
        [helper.make_empty_tensor_value_info(node.output[0]) for node in nodes], held)
    opsets = [helper.make_opsetid("", 19), helper.make_opsetid("com.microsoft", 1)]
    return save(helper.make_model(graph, ir_version=8, opset_imports=opsets), folder, "images")


def late_errors(folder):
    """Nodes whose errors come only in a run, one of them in a branch."""
    return parsed("""
<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
late_errors (float[3, 2] x, bool flag) => (float[4, 4] y, float[M, N] z, float[K] v)
<int64[2] square = {4, 4}, float[3] three = {1, 2, 3}> {
  [wrong] y = Reshape (x, square)
  [gelu] b = com.microsoft.BiasGelu (x, three)
  [after] z = Relu (b)
  [branch] v = If (flag) <
    then_branch = yes () => (float[K] p) { [inner] p = TopK0 (x) },
    else_branch = no () => (float[K] q) { [fine] q = Identity (three) }>
}""".replace("TopK0 (x)", "Einsum <equation = \"ij->iq\"> (x)"), folder, "late_errors")


IMAGE_OPERATORS = ("AveragePool,MaxPool,LpPool,GlobalAveragePool,GlobalMaxPool,GlobalLpPool,Conv,ConvTranspose,"
                   "BatchNormalization,InstanceNormalization,GroupNormalization,LRN,GridSample,SpaceToDepth,DepthToSpace,"
                   "Resize,MaxUnpool,PRelu,Softmax,Pad,ReduceMean,Relu,DeformConv,RoiAlign,QLinearConv,ConvInteger,"
                   "QLinearAveragePool,QLinearGlobalAveragePool,FusedConv")
ALL = {model.__name__: model for model in (cnn, transformer, functions, standard_functions, constants, quantized,
                                           external, old, sequences, late_errors, images)}
