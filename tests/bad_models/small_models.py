"""Small models and inputs as text, with one mistake each.

A row has the model (a body for HEAD), the error code, the words that the error must contain, and inputs if only a run
shows the mistake. To add a model, add a row to ROWS.
"""
import numpy as np
import onnx.parser

HEAD = '<ir_version: 10, opset_import: ["" : 21, "com.microsoft" : 1, "ai.onnx.ml" : 5]>\n'
I64, F32 = np.int64, np.float32
GRAPH, ARGUMENT, NOT_THERE, FAIL = "InvalidGraph", "InvalidArgument", "NotImplemented", "Fail"


def one(node, inputs="float[2, 3] x", outputs="float[n, m] y", constants=""):
    """A graph of one node, called 'it'."""
    return f"g ({inputs}) => ({outputs}) {constants} {{ [it] {node} }}"


X = np.arange(6, dtype=F32).reshape(2, 3)


def run(**inputs):
    return inputs


# name: (model, code, words, inputs)
ROWS = {
    # ---- Indices that a run brings
    "Gather beyond the axis": (one("y = Gather(x, i)", "float[2, 3] x, int64[k] i"), ARGUMENT,
                               ["it", "Gather", "found 2", "[-2, 1]"], run(x=X, i=np.array([0, 2]))),
    "Gather far below the axis": (one("y = Gather(x, i)", "float[2, 3] x, int64[k] i"), ARGUMENT,
                                  ["it", "Gather", "[-2, 1]", "found -9223372036854775808"],
                                  run(x=X, i=np.array([-2**63]))),
    "GatherElements beyond the axis": (one("y = GatherElements <axis = 1> (x, i)", "float[2, 3] x, int64[2, k] i"),
                                       FAIL, ["it", "GatherElements", "[-3, 2]", "found 3"],
                                       run(x=X, i=np.array([[0], [3]]))),
    "GatherElements of more rows than there are": (
        one("y = GatherElements <axis = 1> (x, i)", "float[2, 3] x, int64[a, b] i"), ARGUMENT,
        ["it", "GatherElements", "[2, 3]", "[3, 1]"], run(x=X, i=np.zeros((3, 1), I64))),
    "GatherND beyond a dimension": (one("y = GatherND(x, i)", "float[2, 3] x, int64[a, b] i", "float[n] y"), ARGUMENT,
                                    ["it", "GatherND", "[-3, 2]", "found 4"], run(x=X, i=np.array([[1, 4]]))),
    "GatherND with more indices than dimensions": (
        one("y = GatherND(x, i)", "float[2, 3] x, int64[a, b] i", "float[n] y"), ARGUMENT,
        ["it", "GatherND", "at most 2", "found 3"], run(x=X, i=np.zeros((1, 3), I64))),
    "ScatterElements beyond the axis": (
        one("y = ScatterElements(x, i, u)", "float[2, 3] x, int64[a, b] i, float[a, b] u"), ARGUMENT,
        ["it", "ScatterElements", "[-2, 1]", "found -3"],
        run(x=X, i=np.array([[-3]]), u=np.ones((1, 1), F32))),
    "ScatterElements with other updates": (
        one("y = ScatterElements(x, i, u)", "float[2, 3] x, int64[a, b] i, float[c, d] u"), ARGUMENT,
        ["it", "ScatterElements", "one shape", "[1, 1]", "[1, 2]"],
        run(x=X, i=np.array([[0]]), u=np.ones((1, 2), F32))),
    "ScatterND beyond a dimension": (
        one("y = ScatterND(x, i, u)", "float[2, 3] x, int64[a, b] i, float[c, d] u"), ARGUMENT,
        ["it", "ScatterND", "[-2, 1]", "found 2"], run(x=X, i=np.array([[2]]), u=np.ones((1, 3), F32))),
    "ScatterND with other updates": (
        one("y = ScatterND(x, i, u)", "float[2, 3] x, int64[a, b] i, float[c, d] u"), ARGUMENT,
        ["it", "ScatterND", "updates of shape [1, 3]", "found [1, 4]"],
        run(x=X, i=np.array([[1]]), u=np.ones((1, 4), F32))),
    "sequence position beyond the end": (
        "g (float[n] x, int64 p) => (float[n] y) { s = SequenceConstruct(x, x) [it] y = SequenceAt(s, p) }", ARGUMENT,
        ["it", "SequenceAt", "sequence of 2", "found 2"], run(x=X[0], p=np.array(2))),
    "sequence position without a number": (
        "g (float[n] x, int64[k] p) => (float[n] y) { s = SequenceConstruct(x) [it] y = SequenceAt(s, p) }", ARGUMENT,
        ["it", "SequenceAt", "at least 1", "[0]"], run(x=X[0], p=np.zeros(0, I64))),
    "insertion beyond the end": (
        "g (float[n] x, int64 p) => (seq(float[n]) y) { s = SequenceConstruct(x) [it] y = SequenceInsert(s, x, p) }",
        ARGUMENT, ["it", "SequenceInsert", "sequence of 1", "found 3"], run(x=X[0], p=np.array(3))),
    "OneHot without classes": (
        one("y = OneHot(i, d, v)", "int64[k] i, int64 d, float[2] v"), ARGUMENT,
        ["it", "OneHot", "depth of at least 1", "found 0"],
        run(i=np.zeros(2, I64), d=np.array(0), v=np.zeros(2, F32))),
    "RoiAlign in an image that is not there": (
        one("y = RoiAlign(x, r, b)", "float[1, 1, 4, 4] x, float[k, 4] r, int64[k] b", "float[a, b, c, d] y"), ARGUMENT,
        ["it", "RoiAlign", "[-1, 0]", "found 1"],
        run(x=np.ones((1, 1, 4, 4), F32), r=np.ones((1, 4), F32), b=np.array([1]))),
    "RoiAlign with too many batch indices": (
        one("y = RoiAlign(x, r, b)", "float[1, 1, 4, 4] x, float[k, 4] r, int64[l] b", "float[a, b, c, d] y"), ARGUMENT,
        ["it", "RoiAlign", "batch_indices [R]", "[2]"],
        run(x=np.ones((1, 1, 4, 4), F32), r=np.ones((1, 4), F32), b=np.array([0, 0]))),
    "NonMaxSuppression with other scores": (
        one("y = NonMaxSuppression(b, s)", "float[1, k, 4] b, float[1, 1, l] s", "int64[n, 3] y"), FAIL,
        ["it", "NonMaxSuppression", "boxes [B, N, 4]", "[1, 2, 4]", "[1, 1, 3]"],
        run(b=np.ones((1, 2, 4), F32), s=np.ones((1, 1, 3), F32))),
    "NonMaxSuppression above one": (
        one('y = NonMaxSuppression(b, s, "", t)', "float[1, k, 4] b, float[1, 1, k] s, float t", "int64[n, 3] y"),
        FAIL,
        ["it", "NonMaxSuppression", "iou_threshold in [0, 1]", "found 1.5"],
        run(b=np.ones((1, 2, 4), F32), s=np.ones((1, 1, 2), F32), t=np.array(1.5, F32))),
    "MaxUnpool beyond the plane": (
        one("y = MaxUnpool <kernel_shape = [2], strides = [2]> (x, i)", "float[1, 1, 2] x, int64[1, 1, 2] i",
            "float[a, b, c] y"), ARGUMENT, ["it", "MaxUnpool", "[0, 4)", "found 4"],
        run(x=np.ones((1, 1, 2), F32), i=np.array([[[0, 4]]]))),
    "Compress along no axis": (
        one("y = Compress <axis = 5> (x, k)", "float[2, 3] x, bool[n] k"), FAIL,
        ["it", "Compress", "axis", "5"], run(x=X, k=np.ones(2, bool))),
    "ReverseSequence longer than the time": (
        one("y = ReverseSequence(x, l)", "float[2, 3] x, int64[k] l"), FAIL,
        ["it", "ReverseSequence", "sequence lengths in [0, 2]", "found 3", "batch 1"], run(x=X, l=np.array([0, 3, 1]))),
    "ReverseSequence with too few lengths": (
        one("y = ReverseSequence(x, l)", "float[2, 3] x, int64[k] l"), ARGUMENT,
        ["it", "ReverseSequence", "expected 3", "found 2"], run(x=X, l=np.array([1, 1]))),
    "TensorScatter beyond the cache": (
        '<ir_version: 11, opset_import: ["" : 24]> ' +
        one("y = TensorScatter <axis = 1> (x, u, i)", "float[1, 4, 2] x, float[1, k, 2] u, int64[1] i",
            "float[a, b, c] y"), FAIL, ["it", "TensorScatter", "write indices in [0, 2]", "found 3"],
        run(x=np.ones((1, 4, 2), F32), u=np.ones((1, 2, 2), F32), i=np.array([3]))),
    "TopK of more than there are": (
        "g (float[2, 3] x, int64[1] k) => (float[n, m] y, int64[n, m] j) { [it] y, j = TopK(x, k) }", FAIL,
        ["it", "TopK", "[0, 3]", "found 4"], run(x=X, k=np.array([4]))),
    "CumSum along an axis that is not there": (
        one("y = CumSum(x, a)", "float[2, 3] x, int64 a"), FAIL,
        ["it", "CumSum", "[-2, 1]", "found 2"], run(x=X, a=np.array(2))),
    "EmbedLayerNormalization of an unknown word": (
        "g (int32[1, 1] i, float[2, 4] w, float[2, 4] p, float[4] s) => (float[a, b, c] y) "
        '{ [it] y, m = com.microsoft.EmbedLayerNormalization(i, "", w, p, "", s, s) }', ARGUMENT,
        ["it", "EmbedLayerNormalization", "word_embedding", "[-2, 2)", "found 2"],
        run(i=np.array([[2]], np.int32), w=np.ones((2, 4), F32), p=np.ones((2, 4), F32), s=np.ones(4, F32))),
    "GroupQueryAttention longer than its cache": (
        "g (float[1, 1, 8] q, float[1, 1, 8] k, float[1, 1, 4, 8] c, int32[1] l, int32[1] t) => (float[a, b, d] y) "
        "{ [it] y, pk, pv = com.microsoft.GroupQueryAttention <num_heads = 1, kv_num_heads = 1> "
        "(q, k, k, c, c, l, t) }",
        ARGUMENT, ["it", "GroupQueryAttention", "seqlens_k", "cache of 4 rows", "found 9"],
        run(q=np.ones((1, 1, 8), F32), k=np.ones((1, 1, 8), F32), c=np.ones((1, 1, 4, 8), F32),
            l=np.array([9], np.int32), t=np.array([10], np.int32))),
    # ---- Counts and sizes that a run brings
    "Slice by a step of zero": (
        one("y = Slice(x, s, e, a, t)", "float[2, 3] x, int64[1] s, int64[1] e, int64[1] a, int64[1] t"), ARGUMENT,
        ["it", "Slice", "other than 0", "found 0"],
        run(x=X, s=np.array([0]), e=np.array([1]), a=np.array([0]), t=np.array([0]))),
    "Slice of an axis that is not there": (
        one("y = Slice(x, s, e, a)", "float[2, 3] x, int64[1] s, int64[1] e, int64[1] a"), ARGUMENT,
        ["it", "Slice", "[-2, 1]", "found 2"], run(x=X, s=np.array([0]), e=np.array([1]), a=np.array([2]))),
    "Pad below nothing": (
        one("y = Pad(x, p)", "float[2, 3] x, int64[4] p"), FAIL,
        ["it", "Pad", "pads -3 and 0", "dimension 0", "2"], run(x=X, p=np.array([-3, 0, 0, 0]))),
    "Pad with too few numbers": (
        one("y = Pad(x, p)", "float[2, 3] x, int64[k] p"), FAIL,
        ["it", "Pad", "two pads for each of 2", "found 3"], run(x=X, p=np.array([0, 0, 0]))),
    "Resize to less than nothing": (
        one('y = Resize(x, "", "", s)', "float[2, 3] x, int64[2] s"), FAIL,
        ["it", "Resize", "-1"], run(x=X, s=np.array([-1, 3]))),
    "Resize by zero": (
        one('y = Resize(x, "", s)', "float[2, 3] x, float[2] s"), FAIL,
        ["it", "Resize", "scale", "0"], run(x=X, s=np.array([1, 0], F32))),
    "Resize by NaN": (
        one('y = Resize(x, "", s)', "float[2, 3] x, float[2] s"), FAIL,
        ["it", "Resize", "scale", "nan"], run(x=X, s=np.array([1, np.nan], F32))),
    "Tile less than no times": (
        one("y = Tile(x, r)", "float[2, 3] x, int64[2] r"), ARGUMENT,
        ["it", "Tile", "at least 0", "[1, -1]"], run(x=X, r=np.array([1, -1]))),
    "Tile for another rank": (
        one("y = Tile(x, r)", "float[2, 3] x, int64[k] r"), ARGUMENT,
        ["it", "Tile", "one repeat per dimension", "found"], run(x=X, r=np.array([1, 1, 1]))),
    "Tile beyond all memory": (
        one("y = Tile(x, r)", "float[2, 3] x, int64[2] r"), ("InvalidArgument", "Fail"),
        ["4611686018427387904"], run(x=X, r=np.array([1, 2**62]))),
    "Expand to another size": (
        one("y = Expand(x, s)", "float[a, b] x, int64[2] s"), ARGUMENT,
        ["it", "Expand", "[2, 3] does not broadcast to [2, 4]"], run(x=X, s=np.array([2, 4]))),
    "Expand to a negative size": (
        one("y = Expand(x, s)", "float[a, b] x, int64[2] s"), ARGUMENT,
        ["it", "Expand", "without negative dimensions", "found [-2, 3]"], run(x=X, s=np.array([-2, 3]))),
    "ConstantOfShape below zero": (
        one("y = ConstantOfShape(s)", "int64[2] s"), FAIL,
        ["it", "ConstantOfShape", "-1"], run(s=np.array([2, -1]))),
    "ConstantOfShape beyond all numbers": (
        one("y = ConstantOfShape(s)", "int64[2] s"), ("InvalidArgument", "Fail"),
        ["4611686018427387904"], run(s=np.array([2**62, 2**62]))),
    "Range by zero": (
        one("y = Range(a, b, d)", "int64 a, int64 b, int64 d", "int64[n] y"), ARGUMENT,
        ["it", "Range", "other than 0", "found 0"], run(a=np.array(0), b=np.array(5), d=np.array(0))),
    "Range without an end": (
        one("y = Range(a, b, d)", "float a, float b, float d", "float[n] y"), ARGUMENT,
        ["it", "Range", "from 0 to inf by 1"],
        run(a=np.array(0, F32), b=np.array(np.inf, F32), d=np.array(1, F32))),
    "Reshape to another count": (
        one("y = Reshape(x, s)", "float[2, 3] x, int64[2] s"), FAIL,
        ["it", "Reshape", "[2, 3]", "[4, 2]"], run(x=X, s=np.array([4, 2]))),
    "Reshape with two unknowns": (
        one("y = Reshape(x, s)", "float[2, 3] x, int64[2] s"), FAIL,
        ["it", "Reshape", "one", "-1"], run(x=X, s=np.array([-1, -1]))),
    "Split that does not add up": (
        "g (float[2, 3] x, int64[2] s) => (float[a, b] y, float[c, d] z) { [it] y, z = Split <axis = 1> (x, s) }",
        FAIL, ["it", "Split", "sum 3", "found [2, 2]"], run(x=X, s=np.array([2, 2]))),
    "Unsqueeze of an axis twice": (
        one("y = Unsqueeze(x, a)", "float[2, 3] x, int64[2] a", "float[a, b, c, d] y"), FAIL,
        ["it", "Unsqueeze", "0"], run(x=X, a=np.array([0, 0]))),
    "Squeeze of more than one": (
        one("y = Squeeze(x, a)", "float[2, 3] x, int64[1] a", "float[a] y"), FAIL,
        ["it", "Squeeze", "1", "3"], run(x=X, a=np.array([1]))),
    "Loop with two conditions": (
        "g (bool[k] c, float[2] x) => (float[2] y) { [it] y = Loop(\"\", c, x) <body = b (int64 i, bool d, float[2] a) "
        "=> (bool e, float[2] z) { e = Identity(d) z = Add(a, a) }> }", FAIL,
        ["it", "Loop", "one bool", "[2]"], run(c=np.ones(2, bool), x=X[0, :2])),
    "If with no condition": (
        "g (bool[k] c, float[2] x) => (float[2] y) { [it] y = If(c) <then_branch = t () => (float[2] a) "
        "{ a = Add(x, x) }, else_branch = e () => (float[2] b) { b = Neg(x) }> }", FAIL,
        ["it", "If", "one bool", "bool[0]"], run(c=np.zeros(0, bool), x=X[0, :2])),
    "Trilu with an empty diagonal": (
        one("y = Trilu(x, k)", "float[2, 3] x, int64[n] k"), FAIL,
        ["it", "Trilu", "at least 1", "[0]"], run(x=X, k=np.zeros(0, I64))),
    "MatMul of other inner sizes": (
        one("y = MatMul(x, z)", "float[2, 3] x, float[k, 2] z"), FAIL,
        ["it", "MatMul", "3", "4"], run(x=X, z=np.ones((4, 2), F32))),
    "Add of shapes that do not broadcast": (
        one("y = Add(x, z)", "float[2, 3] x, float[a, b] z"), FAIL,
        ["it", "Add", "broadcast", "3 against 2"], run(x=X, z=np.ones((2, 2), F32))),
    "integer division by zero": (
        one("y = Div(x, z)", "int64[2] x, int64[2] z", "int64[n] y"), FAIL,
        ["it", "Div", "0"], run(x=np.array([1, 2]), z=np.array([1, 0]))),
    "Einsum with other sizes": (
        one('y = Einsum <equation = "ij,jk->ik"> (x, z)', "float[2, 3] x, float[a, b] z"), ARGUMENT,
        ["it", "Einsum", "3", "4"], run(x=X, z=np.ones((4, 2), F32))),
    "Concat of other sizes": (
        one("y = Concat <axis = 0> (x, z)", "float[2, 3] x, float[a, b] z"), FAIL,
        ["it", "Concat", "3", "4"], run(x=X, z=np.ones((1, 4), F32))),
    "LSTM longer than its input": (
        "g (float[2, 1, 1] x, float[1, 4, 1] w, int32[1] l) => (float[a, b, c, d] y) "
        '{ [it] y = LSTM <hidden_size = 1> (x, w, w, "", l) }', ARGUMENT,
        ["it", "LSTM", "3", "2"],
        run(x=np.ones((2, 1, 1), F32), w=np.ones((1, 4, 1), F32), l=np.array([3], np.int32))),
    # ---- Inputs of the caller
    "input of another type": (one("y = Relu(x)"), ARGUMENT, ["'x'", "float", "double"], run(x=X.astype(np.float64))),
    "input of another rank": (one("y = Relu(x)"), ARGUMENT, ["'x'", "float[2,3]", "rank 1"], run(x=X[0])),
    "input of another size": (one("y = Relu(x)"), ARGUMENT, ["'x'", "2 instead of 3", "dimension 1"],
                              run(x=X[:, :2].copy())),
    "input that nobody knows": (one("y = Relu(x)"), ARGUMENT, ["no input 'z'", "its inputs are 'x'"], run(x=X, z=X)),
    "sequence of another type": (
        "g (seq(float[n]) s, int64 p) => (float[n] y) { [it] y = SequenceAt(s, p) }", ARGUMENT,
        ["'s'", "float", "int64"], run(s=[np.arange(3)], p=np.array(0))),
    "tensor for a sequence": (
        "g (seq(float[n]) s, int64 p) => (float[n] y) { [it] y = SequenceAt(s, p) }", ARGUMENT,
        ["'s'", "seq"], run(s=X[0], p=np.array(0))),
    # ---- What the model says
    "sum of two types": (one("y = Add(x, z)", "float[2, 3] x, int64[2, 3] z"), GRAPH,
                         ["it", "Add", "expected", "float", "found int64[2,3]", "'z'"], None),
    "type the operator does not take": (one("y = Relu(x)", "bool[2] x", "bool[2] y"), GRAPH,
                                        ["it", "Relu", "expected", "found bool[2]", "'x'"], None),
    "output declared as another type": (one("y = Relu(x)", outputs="int64[2, 3] y"), FAIL,
                                        ["it", "Relu", "'y'", "declared as int64", "computed as float"], None),
    "too few inputs": (one("y = Add(x)"), GRAPH, ["it", "Add", "expected 2 inputs", "found 1"], None),
    "too many inputs": (one("y = Relu(x, x)"), GRAPH, ["it", "Relu", "expected 1 inputs", "found 2"], None),
    "required input without a name": (one('y = Add("", x)'), GRAPH, ["it", "Add", "input 0", "required and missing"],
                                      None),
    "too many outputs": ("g (float[2] x) => (float[2] y) { [it] y, z = Relu(x) }", GRAPH,
                         ["it", "Relu", "expected 1 outputs", "found 2"], None),
    "unknown operator": (one("y = Rellu(x)"), GRAPH, ["it", "unknown operator Rellu", "did you mean"], None),
    "operator of a later opset": ('<ir_version: 8, opset_import: ["" : 13]> ' + one("y = Gelu(x)"), GRAPH,
                                  ["it", "Gelu", "since opset 20", "imports opset 13"], None),
    "scales for another rank": (
        '<ir_version: 8, opset_import: ["" : 9]> ' + one("y = Upsample(x, s)", constants="<float[3] s = {1, 1, 1}>"),
        FAIL, ["it", "Upsample", "expected 2 scales", "found 3"], None),
    "domain without an import": (one("y = my.domain.Relu(x)"), GRAPH, ["it", "Relu", "my.domain"], None),
    "attribute of another type": (one("y = LeakyRelu <alpha = 1> (x)"), GRAPH,
                                  ["it", "LeakyRelu", "'alpha'", "expected float", "found int"], None),
    "unknown attribute": (one("y = LeakyRelu <alpa = 1.0> (x)"), GRAPH,
                          ["it", "LeakyRelu", "unknown attribute 'alpa'", "did you mean 'alpha'"], None),
    "missing attribute": (one("y = Concat(x, x)"), GRAPH, ["it", "Concat", "'axis'", "required and missing"], None),
    "axis beyond the rank": (one("y = Concat <axis = 2> (x, x)"), FAIL,
                             ["it", "Concat", "axis", "[-2, 1]", "found 2"], None),
    "cycle of two nodes": ("g (float[2] x) => (float[2] y) { [one] y = Add(x, z) [two] z = Relu(y) }", FAIL,
                           ["cycle of 2 nodes", "'one'", "'two'"], None),
    "value that nobody makes": (one("y = Add(x, zz)"), ARGUMENT, ["it", "Add", "'zz'", "found nothing"], None),
    "value made twice": ("g (float[2] x) => (float[2] y) { [one] y = Relu(x) [two] y = Neg(x) }", FAIL,
                         ["'two'", "nothing else in the graph defines", "'y'"], None),
    "branches of other counts": (
        "g (bool c, float[2] x) => (float[2] y) { [it] y = If(c) <then_branch = t () => (float[2] a, float[2] a2) "
        "{ a = Add(x, x) a2 = Neg(x) }, else_branch = e () => (float[2] b) { b = Neg(x) }> }", FAIL,
        ["it", "If", "branches with 1 outputs", "found 2 and 1"], None),
    "Loop whose body gives too little": (
        "g (int64 n, float[2] x) => (float[2] y) { [it] y = Loop(n, \"\", x) <body = b (int64 i, bool d, float[2] a) "
        "=> (bool e) { e = Identity(d) }> }", FAIL, ["it", "Loop", "body", "2 outputs", "found 1"], None),
    "function that calls itself": (
        '<ir_version: 10, opset_import: ["" : 21, "my" : 1]> g (float[2] x) => (float[2] y) { [it] y = my.F(x) } '
        '<domain: "my", opset_import: ["my" : 1]> F (a) => (b) { b = my.F(a) }', GRAPH,
        ["do not call themselves", "'my.F'"], None),
    "function with fewer inputs than the call": (
        '<ir_version: 10, opset_import: ["" : 21, "my" : 1]> g (float[2] x) => (float[2] y) { [it] y = my.F(x, x) } '
        '<domain: "my", opset_import: ["" : 21]> F (a) => (b) { b = Relu(a) }', GRAPH,
        ["it", "F", "takes 1 inputs", "found 2"], None),
    "Einsum without an equation": (one('y = Einsum <equation = "ij,jk->"> (x)'), FAIL,
                                   ["it", "Einsum", "1 operands", "'ij,jk->'"], None),
    "normalization over an axis beyond": (
        one("y = LayerNormalization <axis = 5> (x, z)", "float[2, 3] x, float[3] z"), FAIL,
        ["it", "LayerNormalization", "axis", "[-2, 1]", "found 5"], None),
    "reduction over an axis beyond": (
        one("y = ReduceSum(x, a)", constants="<int64[1] a = {7}>"), FAIL,
        ["it", "ReduceSum", "[-2, 1]", "found 7"], None),
}


def build(row):
    model, code, words, inputs = row
    proto = onnx.parser.parse_model(model if model.startswith("<") else HEAD + model)
    return proto.SerializeToString(), code, [str(word) for word in words], inputs
