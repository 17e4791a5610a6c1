"""Models that sessions save at the levels basic and extended load in ONNX Runtime, which computes the same with them;
operators that it lacks have functions there. Loaded again here they give the same bits."""
import pathlib
import sys

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest
import sardonyx
import zoo
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/providers"))
import seen_models  # noqa: E402

LEVELS = ("ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED")
SIZES = {"batch": 2, "seq": 3, "N": 3, "rows": 4, "total": 6}
ACTIVATIONS = {  # what a product or a convolution takes over, as nodes from {x} to {y}
    "Clip": "{y} = Clip ({x}, low, high)", "Elu": "{y} = Elu <alpha = 0.7> ({x})", "Gelu": "{y} = Gelu ({x})",
    "GeluTanh": '{y} = Gelu <approximate = "tanh"> ({x})',
    "HardSigmoid": "{y} = HardSigmoid <alpha = 0.3, beta = 0.4> ({x})", "HardSwish": "{y} = HardSwish ({x})",
    "LeakyRelu": "{y} = LeakyRelu <alpha = 0.2> ({x})", "Mish": "{y} = Mish ({x})",
    "QuickGelu": "{y} = com.microsoft.QuickGelu <alpha = 1.5> ({x})", "Relu": "{y} = Relu ({x})",
    "Selu": "{y} = Selu ({x})", "Sigmoid": "{y} = Sigmoid ({x})", "Silu": "{y}s = Sigmoid ({x}) {y} = Mul ({x}, {y}s)",
    "Softplus": "{y} = Softplus ({x})", "Softsign": "{y} = Softsign ({x})", "Tanh": "{y} = Tanh ({x})",
    "ThresholdedRelu": "{y} = ThresholdedRelu <alpha = 0.3> ({x})"}
# Each of its own numbers, so that no two are one node.
PRODUCTS = {"Conv": "{y}k = Mul (image, {n}) {y} = Conv <pads = [1, 1, 1, 1]> ({y}k, filters, four)",
            "ConvSum": "{y}k = Mul (image, {n}) {y}c = Conv <pads = [1, 1, 1, 1]> ({y}k, filters) "
                       "{y} = Add ({y}c, image)",
            "Gemm": "{y}k = Mul (x, {n}) {y} = Gemm <alpha = 0.5, transB = 1> ({y}k, square, four)",
            "MatMul": "{y}k = Mul (rows, {n}) {y}m = MatMul ({y}k, square) {y} = Add ({y}m, four)",
            "Turned": "{y}k = Mul (rows, {n}) {y}t = Transpose <perm = [0, 2, 1]> ({y}k) "
                      "{y} = MatMul ({y}t, other)"}
UNARY = ("Abs", "Neg", "Exp", "Sqrt", "Erf", "Sin", "Cos", "Atan", "Floor", "Ceil", "Round", "Sign", "Reciprocal",
         "Log")


def fused(products, activations):
    """Every product with every activation, each an output."""
    nodes, outputs = "", []
    for product in products:
        for activation in activations:
            y = f"{product}_{activation}".lower()
            inner = PRODUCTS[product].replace("{y}", y + "_p").replace("{n}", f"n{len(outputs)}")
            nodes += f"  n{len(outputs)} = Constant <value_float = {1 + len(outputs) / 8}> ()"
            nodes += f"  {inner} {ACTIVATIONS[activation].replace('{x}', y + '_p').replace('{y}', y)}\n"
            outputs.append(y)
    return onnx.parser.parse_model(f"""<ir_version: 9, opset_import: ["" : 20, "com.microsoft" : 1]>
        fused (float[1, 4, 5, 5] image, float[3, 4] x, float[2, 3, 4] rows, float[2, 3, 5] other)
          => ({', '.join(outputs)})
        <float[4, 4, 3, 3] filters = {{{numbers(144)}}}, float[4, 4] square = {{{numbers(16)}}},
         float[4] four = {{1, -2, 0.5, 0}}, float low = {{-0.5}}, float high = {{0.75}}> {{
        {nodes} }}""")


def numbers(count):
    return ", ".join(str((k * 37 % 101 - 50) / 40) for k in range(count))


def elementwise(element):
    """Chains of operators on one and two tensors, with a row and a scalar beside them."""
    nodes, outputs = "", []
    for i, op in enumerate(UNARY):
        nodes += f"  a{i} = Add (x, row) b{i} = Mul (a{i}, a{i}) c{i} = Add (b{i}, one) d{i} = {op} (c{i})\n"
        nodes += f"  e{i} = Sub (d{i}, x) f{i} = Max (e{i}, row) g{i} = Min (f{i}, ten) y{i} = Div (g{i}, c{i})\n"
        outputs.append(f"y{i}")
    dtype = {"float": np.float32, "float16": np.float16}[element]
    model = onnx.parser.parse_model(f"""<ir_version: 9, opset_import: ["" : 18]>
        chains ({element}[N, 4] x) => ({', '.join(outputs)}) {{ {nodes} }}""")
    for name, values in (("row", [1, 2, -1, 0.5]), ("one", 1), ("ten", 10)):
        model.graph.initializer.append(numpy_helper.from_array(np.array(values, dtype), name))
    return model


def embeddings():
    """The first layers of a transformer of words, with a norm whose sum is read again."""
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
        words (int64[batch, seq] ids, int64[batch, seq] kinds) => (float[batch, seq, 8] y, float[batch, seq, 8] again) {
        a = Gather (table, ids)  b = Gather (types, kinds)  c = Add (a, b)
        s = Shape (ids)  one = Constant <value_ints = [1]> ()  two = Constant <value_ints = [2]> ()
        l = Slice (s, one, two)  zero = Constant <value_ints = [0]> ()  p = Slice (all, zero, l, one)
        d = Gather (places, p)  e = Add (c, d)
        n = LayerNormalization <axis = -1, epsilon = 1e-6> (e, gamma, beta)
        m = MatMul (n, square)  y = Add (m, n)  again = Add (e, y) }""")
    random = np.random.default_rng(5)
    held = {name: random.standard_normal(shape).astype(np.float32) for name, shape in (
        ("table", (16, 8)), ("types", (16, 8)), ("places", (12, 8)), ("gamma", (8,)), ("beta", (8,)),
        ("square", (8, 8)))}
    model.graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in held.items())
    model.graph.initializer.append(numpy_helper.from_array(np.arange(12)[None], "all"))
    return model


def options_of(engine, level="ORT_ENABLE_ALL", path=None):
    options = engine.SessionOptions()
    options.graph_optimization_level = getattr(engine.GraphOptimizationLevel, level)
    options.intra_op_num_threads = 2
    options.log_severity_level = 3
    if path:
        options.optimized_model_filepath = str(path)
    return options


def opened(engine, path, *arguments):
    return engine.InferenceSession(str(path), options_of(engine, *arguments), providers=["CPUExecutionProvider"])


def feeds_of(session):
    random, feeds = np.random.default_rng(3), {}
    for each in session.get_inputs():
        dims = [dim if isinstance(dim, int) else SIZES[dim] for dim in each.shape]
        if "bool" in each.type:
            feeds[each.name] = np.array(random.integers(0, 2, dims), bool)
        elif "int64" in each.type:
            feeds[each.name] = np.array(random.integers(1, 4, dims))
        else:
            dtype = np.float16 if "float16" in each.type else np.float32
            feeds[each.name] = np.array(random.standard_normal(dims), dtype)
    return feeds


def own_nodes(graph):
    """The nodes of ai.sardonyx, those of bodies too."""
    bodies = [attribute.g for node in graph.node for attribute in node.attribute if attribute.HasField("g")]
    return [node for node in graph.node if node.domain == "ai.sardonyx"] + [
        node for body in bodies for node in own_nodes(body)]


def check(path, folder, feeds=None, tolerance=2e-5):
    """Saves the model at each level; returns the nodes of ai.sardonyx at the level extended."""
    reference = opened(onnxruntime, path, "ORT_DISABLE_ALL")
    feeds = feeds or feeds_of(reference)
    want = reference.run(None, feeds)
    for level in LEVELS:
        saved = folder / f"{level}.onnx"
        mine = opened(sardonyx, path, level, saved).run(None, feeds)
        onnx.checker.check_model(str(saved))
        model = onnx.load(str(saved))
        functions = {(each.name, each.overload) for each in model.functions}
        assert {(node.op_type, node.overload) for node in own_nodes(model.graph)} == functions
        again = opened(sardonyx, saved, level).run(None, feeds)
        theirs = opened(onnxruntime, saved).run(None, feeds)
        for a, b, c, d in zip(want, mine, again, theirs, strict=True):
            if a.dtype.kind in "OU":
                assert a.tolist() == b.tolist() == c.tolist() == d.tolist()
                continue
            np.testing.assert_array_equal(b, c, err_msg=f"{level}: loaded again")
            limit = tolerance * max(np.abs(a[np.isfinite(a)], dtype=np.float64).max(initial=0), 1e-3)
            np.testing.assert_allclose(d.astype(np.float64), a.astype(np.float64), rtol=tolerance, atol=limit,
                                       err_msg=f"{level}: in ONNX Runtime")
    return own_nodes(model.graph)


@pytest.mark.parametrize("name", ["cnn", "transformer", "functions", "standard_functions", "constants", "external",
                                  "old"])
def test_small_models(name, tmp_path):
    check(seen_models.ALL[name](tmp_path), tmp_path)


@pytest.mark.parametrize("model", zoo.models(), ids=[model.name for model in zoo.models()])
def test_models_of_packages(model, tmp_path):
    run = {name: value for name, value in next(iter(model.runs())).items() if not isinstance(value, str)}
    check(model.path, tmp_path, run, 1e-3)


def saved(model, folder):
    onnx.save(model, folder / "model.onnx")
    return folder / "model.onnx"


@pytest.mark.parametrize("product", PRODUCTS)
def test_every_product_with_every_activation(product, tmp_path):
    own = check(saved(fused([product], ACTIVATIONS), tmp_path), tmp_path)
    kinds = {"Conv": "FusedConv", "ConvSum": "FusedConv", "Gemm": "FusedGemm"}
    assert sum(node.op_type == kinds.get(product, "FusedMatMul") for node in own) >= 5, [node.op_type for node in own]


@pytest.mark.parametrize(("element", "tolerance"), [("float", 2e-5), ("float16", 5e-3)])
def test_chains_of_elementwise_operators(element, tolerance, tmp_path):
    own = check(saved(elementwise(element), tmp_path), tmp_path, tolerance=tolerance)
    assert [node.op_type for node in own].count("FusedElementwise") >= len(UNARY) // 2


def sinks(element, flat):
    """Attention with a sink for each of four heads, of which two share keys, behind a cache."""
    shape = f"{element}[batch, seq, 12]" if flat else f"{element}[batch, 4, seq, 3]"
    split = "q0 = Reshape (x, parts) q = Transpose <perm = [0, 2, 1, 3]> (q0)" if flat else ""
    joined = "o1 = Transpose <perm = [0, 2, 1, 3]> (o) y = Reshape (o1, whole)" if flat else "y = Identity (o)"
    return onnx.parser.parse_model(f"""<ir_version: 9, opset_import: ["" : 17]>
        g ({shape} {"x" if flat else "q"}, {element}[batch, 2, seq, 3] k0, {element}[batch, 2, seq, 3] v0,
           {element}[batch, 2, N, 3] pk, {element}[batch, 2, N, 3] pv, {element}[batch, 1, 1, total] mask,
           {element}[4] sinks)
          => ({shape} y, {element}[batch, 2, total, 3] nk, {element}[batch, 2, total, 3] nv)
        <int64[4] parts = {{0, 0, 4, 3}}, int64[3] whole = {{0, 0, 12}}, int64[1] two = {{2}}, int64[1] cut = {{-1}},
         int64[1] none = {{0}}, int64[1] last = {{3}}, int64[1] one = {{1}},
         int64[1] four = {{4}}, int64[4] each = {{1, 4, 1, 1}}, int64[4] all = {{0, 4, -1, 3}}> {{
        {split}
        nk = Concat <axis = 2> (pk, k0) ku = Unsqueeze (nk, two) ke = Concat <axis = 2> (ku, ku) k = Reshape (ke, all)
        nv = Concat <axis = 2> (pv, v0) vu = Unsqueeze (nv, two) ve = Concat <axis = 2> (vu, vu) v = Reshape (ve, all)
        kt = Transpose <perm = [0, 1, 3, 2]> (k) a = MatMul (q, kt) e = Add (a, mask)
        s4 = Reshape (sinks, each) size = Shape (q) b = Gather (size, none) s = Gather (size, two)
        to = Concat <axis = 0> (b, four, s, one) column = Expand (s4, to) c = Concat <axis = -1> (e, column)
        top = ReduceMax <axes = [-1], keepdims = 1> (c) d = Sub (c, top) p0 = Softmax <axis = -1> (d)
        p = Slice (p0, none, cut, last) o = MatMul (p, v) {joined} }}""")


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize(("element", "tolerance"), [("float", 2e-5), ("float16", 5e-3)])
def test_attention_with_sinks(element, tolerance, flat, tmp_path):
    own = check(saved(sinks(element, flat), tmp_path), tmp_path, tolerance=tolerance)
    assert [node.op_type for node in own] == ["SinkAttention"]


def cached(element, flat):
    """Attention behind a cache of 16 bits, or of which rows come before heads."""
    axes = "batch, N, 2, 3" if element == "float" else "batch, 2, N, 3"
    stored = ("k1 = Identity (k0) v1 = Identity (v0)" if element == "float" else
              "k2 = Cast <to = 10> (k0) k1 = Transpose <perm = [0, 2, 1, 3]> (k2)"
              " v2 = Cast <to = 10> (v0) v1 = Transpose <perm = [0, 2, 1, 3]> (v2)")
    heads_first = (2, [0, 1, 3, 2], [0, 1, 2, 3])
    axis, to_keys, to_values = (1, [0, 2, 3, 1], [0, 2, 1, 3]) if element == "float" else heads_first
    shape = "float[batch, seq, 12]" if flat else "float[batch, 4, seq, 3]"
    split = "q0 = Reshape (x, parts) q = Transpose <perm = [0, 2, 1, 3]> (q0)" if flat else ""
    joined = "o1 = Transpose <perm = [0, 2, 1, 3]> (o) y = Reshape (o1, whole)" if flat else "y = Identity (o)"
    return onnx.parser.parse_model(f"""<ir_version: 9, opset_import: ["" : 17]>
        g ({shape} {"x" if flat else "q"}, float[batch, seq, 2, 3] k0, float[batch, seq, 2, 3] v0,
           {element}[{axes}] pk, {element}[{axes}] pv, float[batch, 1, 1, total] mask)
          => ({shape} y, {element}[{axes.replace("N", "total")}] nk, {element}[{axes.replace("N", "total")}] nv)
        <int64[4] parts = {{0, 0, 4, 3}}, int64[3] whole = {{0, 0, 12}}, int64[1] two = {{2}},
         int64[4] all = {{0, 4, -1, 3}}> {{
        {split} {stored}
        nk = Concat <axis = {axis}> (pk, k1) nv = Concat <axis = {axis}> (pv, v1)
        kf = Cast <to = 1> (nk) vf = Cast <to = 1> (nv)
        kh = Transpose <perm = {[*to_keys[:2], to_keys[3], to_keys[2]]}> (kf) vh = Transpose <perm = {to_values}> (vf)
        ku = Unsqueeze (kh, two) ke = Concat <axis = 2> (ku, ku) k = Reshape (ke, all)
        vu = Unsqueeze (vh, two) ve = Concat <axis = 2> (vu, vu) v = Reshape (ve, all)
        kt = Transpose <perm = [0, 1, 3, 2]> (k) a = MatMul (q, kt) e = Add (a, mask)
        p = Softmax <axis = -1> (e) o = MatMul (p, v) {joined} }}""")


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize(("element", "tolerance"), [("float", 2e-5), ("float16", 5e-3)])
def test_attention_with_other_caches(element, tolerance, flat, tmp_path):
    own = check(saved(cached(element, flat), tmp_path), tmp_path, tolerance=tolerance)
    assert [node.op_type for node in own] == ["CachedAttention"]


def test_products_of_bytes_by_keys_as_they_lie(tmp_path):
    model = onnx.parser.parse_model("""<ir_version: 9, opset_import: ["" : 17]>
        g (uint8[2, 1, 40] a, uint8[2, 30, 40] b, uint8[30, 40] c) => (uint8[2, 1, 30] y, uint8[2, 1, 30] z)
        <float s = {0.1}, float t = {2.5}, uint8 zero = {60}> {
        bt = Transpose <perm = [0, 2, 1]> (b) y = QLinearMatMul (a, s, zero, bt, s, zero, t, zero)
        ct = Transpose (c) z = QLinearMatMul (a, s, zero, ct, s, zero, t, zero) }""")
    random = np.random.default_rng(5)
    feeds = {name: random.integers(30, 90, shape).astype(np.uint8)
             for name, shape in (("a", (2, 1, 40)), ("b", (2, 30, 40)), ("c", (30, 40)))}
    own = check(saved(model, tmp_path), tmp_path, feeds, 0)
    assert [node.op_type for node in own] == ["QLinearMatMul"] * 2


def test_embeddings_keep_the_output_that_onnx_runtime_wants(tmp_path):
    check(saved(embeddings(), tmp_path), tmp_path)
    nodes = onnx.load(tmp_path / "ORT_ENABLE_EXTENDED.onnx").graph.node
    (embedding,) = [node for node in nodes if node.op_type == "EmbedLayerNormalization"]
    assert len(embedding.output) >= 2 and embedding.output[1]


def test_nodes_of_one_form_share_a_function(tmp_path):
    nodes = [helper.make_node("Gemm", [f"v{i}", "w", "b"], [f"g{i}"]) for i in range(3)]
    nodes += [helper.make_node("HardSwish", [f"g{i}"], [f"v{i + 1}"]) for i in range(3)]
    held = [numpy_helper.from_array(np.eye(4, dtype=np.float32), "w"),
            numpy_helper.from_array(np.ones(4, np.float32), "b")]
    graph = helper.make_graph(sorted(nodes, key=lambda node: (node.input[0][1:], node.op_type != "Gemm")), "g",
                              [helper.make_tensor_value_info("v0", TensorProto.FLOAT, [2, 4])],
                              [helper.make_tensor_value_info("v3", TensorProto.FLOAT, [2, 4])], held)
    order = [node for i in range(3) for node in (nodes[i], nodes[i + 3])]
    del graph.node[:]
    graph.node.extend(order)
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
    own = check(saved(model, tmp_path), tmp_path)
    assert [node.overload for node in own] == ["1", "1", "1"]
    assert len(onnx.load(tmp_path / "ORT_ENABLE_EXTENDED.onnx").functions) == 1
