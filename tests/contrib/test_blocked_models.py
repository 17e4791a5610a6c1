"""Models with operators of com.microsoft.nchwc: saved by ONNX Runtime at optimization level `all`, and made by hand for
both block sizes."""

import numpy as np
import onnx
import onnxruntime
import pytest
import sardonyx
from onnx import TensorProto, helper, numpy_helper
from onnx.parser import parse_graph

F = np.float32
LEVELS = ["ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_ALL"]
NCHWC = "com.microsoft.nchwc"


def weight(rng, *shape):
    return (rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]) + 1)).astype(F)


def session(engine, model, level="ORT_ENABLE_ALL", saved=None, **entries):
    options = engine.SessionOptions()
    options.graph_optimization_level = getattr(engine.GraphOptimizationLevel, level)
    options.log_severity_level = 4
    options.intra_op_num_threads = 2
    for key, value in entries.items():
        options.add_session_config_entry("sardonyx." + key, value)
    if saved is not None:
        options.optimized_model_filepath = str(saved)
    return engine.InferenceSession(model, options, providers=["CPUExecutionProvider"])


# Nodes (weights by name and shape), the shape of x, the opset. Channels of 20 and 24 leave part of a block empty; the
# first convolution of 3 channels takes its input as it is.
MODELS = {
    "residual": ("""
        c0 = Conv <pads = [1,1,1,1], strides = [2,2]> (x, w0, b0)  r0 = Relu(c0)
        p0 = MaxPool <kernel_shape = [3,3], strides = [2,2], pads = [1,1,1,1]> (r0)
        c1 = Conv <pads = [1,1,1,1]> (p0, w1, b1)  r1 = Relu(c1)
        c2 = Conv <pads = [1,1,1,1]> (r1, w2)  s = Add(c2, p0)  r2 = Relu(s)
        g = GlobalAveragePool(r2)  y = Conv(g, w3, b3)""",
        {"w0": (32, 3, 3, 3), "b0": (32,), "w1": (32, 32, 3, 3), "b1": (32,), "w2": (32, 32, 3, 3),
         "w3": (20, 32, 1, 1), "b3": (20,)}, ["N", 3, 33, 31]),
    "mobile": ("""
        c0 = Conv <pads = [1,1,1,1], strides = [2,2]> (x, w0)  r0 = Clip <min = 0.0, max = 6.0> (c0)
        d0 = Conv <group = 32, pads = [1,1,1,1]> (r0, w1, b1)  r1 = Clip <min = 0.0, max = 6.0> (d0)
        c1 = Conv(r1, w2)
        c2 = Conv(c1, w3)  d1 = Conv <group = 24, dilations = [2,2], pads = [2,2,2,2]> (c2, w4)  y = Sigmoid(d1)""",
        {"w0": (32, 3, 3, 3), "w1": (32, 1, 3, 3), "b1": (32,), "w2": (20, 32, 1, 1), "w3": (24, 20, 1, 1),
         "w4": (24, 1, 3, 3)}, ["N", 3, 24, 20]),
    "branches": ("""
        c0 = Conv(x, w0)
        a = Conv <pads = [0,1,0,1]> (c0, w1)  a1 = LeakyRelu <alpha = 0.2> (a)
        b = AveragePool <kernel_shape = [3,3], pads = [1,1,1,1], count_include_pad = 1> (c0)
        c = AveragePool <kernel_shape = [3,3], pads = [1,1,1,1]> (c0)
        d = MaxPool <kernel_shape = [1,3], pads = [0,1,0,1]> (c0)
        j = Concat <axis = 1> (a1, b, c, d)  e = Conv(j, w2)  t = Tanh(e)
        y = GlobalMaxPool(t)  z = Mul(t, t)""",
        {"w0": (16, 16, 1, 1), "w1": (32, 16, 1, 3), "w2": (48, 80, 1, 1)}, ["N", 16, 9, 11]),
    "groups": ("""
        c0 = Conv <group = 2> (x, w0, b0)  r0 = HardSigmoid <alpha = 0.3, beta = 0.4> (c0)
        n = BatchNormalization(r0, s, b1, m, v)  y = Conv <auto_pad = "SAME_UPPER", strides = [2,2]> (n, w1)""",
        {"w0": (64, 16, 3, 3), "b0": (64,), "s": (64,), "b1": (64,), "m": (64,), "v": (64,), "w1": (28, 64, 3, 3)},
        ["N", 32, 10, 12]),
    "upsampled": ("""
        c0 = Conv <pads = [1,1,1,1]> (x, w0)
        u = Resize <mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor">
          (c0, , scales)
        l = Resize <mode = "linear", coordinate_transformation_mode = "half_pixel"> (c0, , scales)
        k = Resize <mode = "linear", coordinate_transformation_mode = "align_corners"> (c0, , scales)
        s = Sum(u, l, k)  y = Conv(s, w1)""",
        {"w0": (16, 4, 3, 3), "w1": (8, 16, 2, 2)}, ["N", 4, 5, 7]),
    "last": ("""
        t = Transpose <perm = [0,3,1,2]> (x)  c0 = Conv <pads = [1,1,1,1]> (t, w0)  r = Relu(c0)
        c1 = Conv <pads = [1,1,1,1]> (r, w1)  y = Transpose <perm = [0,2,3,1]> (c1)""",
        {"w0": (32, 32, 3, 3), "w1": (20, 32, 3, 3)}, ["N", 6, 8, 32]),
}  # fmt: skip


def blocked_model(name, opset):
    nodes, weights, shape = MODELS[name]
    rng = np.random.default_rng(len(name))
    results = [r for r in "yz" if f" {r} =" in nodes]
    if opset >= 11:
        nodes = nodes.replace("Clip <min = 0.0, max = 6.0> (", "Clip (").replace("Clip (c0)", "Clip (c0, low, high)")
        nodes = nodes.replace("Clip (d0)", "Clip (d0, low, high)")
    if opset == 11:
        nodes = nodes.replace("(c0, , scales)", "(c0, regions, scales)")
    outputs = ", ".join("float[] " + r for r in results)
    graph = parse_graph(f"g (float[{', '.join(map(str, shape))}] x) => ({outputs}) {{ {nodes} }}")
    for output in graph.output:
        output.type.tensor_type.ClearField("shape")
    for key, size in weights.items():
        value = np.abs(weight(rng, *size)) + F(0.1) if key in "sv" else weight(rng, *size)
        graph.initializer.append(numpy_helper.from_array(value, key))
    constants = {"regions": np.zeros(0, F), "low": F(0), "high": F(6), "scales": np.array([1, 1, 2, 3], F)}
    for key, value in constants.items():
        if key in nodes:
            graph.initializer.append(numpy_helper.from_array(np.asarray(value), key))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), shape


def agree(got, want):
    for ours, theirs in zip(got, want, strict=True):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=2e-5)


CASES = [(name, opset) for name in MODELS for opset in (9, 11, 13, 17) if name != "upsampled" or opset >= 11]


@pytest.mark.parametrize("name,opset", CASES)
def test_saved_by_onnx_runtime(name, opset, tmp_path):
    model, shape = blocked_model(name, opset)
    saved = tmp_path / "all.onnx"
    peer = session(onnxruntime, model.SerializeToString(), saved=saved)
    operators = {(n.domain, n.op_type) for n in onnx.load(saved).graph.node}
    assert (NCHWC, "Conv") in operators
    assert (NCHWC, "ReorderOutput") in operators
    ours = [session(sardonyx, str(saved), level) for level in LEVELS]
    for batch in (1, 3):
        x = np.random.default_rng(batch).standard_normal([batch, *shape[1:]]).astype(F)
        want = peer.run(None, {"x": x})
        for one in ours:
            agree(one.run(None, {"x": x}), want)


def test_every_operator_of_the_domain_is_saved(tmp_path):
    found = set()
    for name, opset in CASES:
        model, _ = blocked_model(name, opset)
        session(onnxruntime, model.SerializeToString(), saved=tmp_path / "all.onnx")
        found |= {n.op_type for n in onnx.load(tmp_path / "all.onnx").graph.node if n.domain == NCHWC}
    everything = {
        "Conv",
        "MaxPool",
        "AveragePool",
        "GlobalMaxPool",
        "GlobalAveragePool",
        "ReorderInput",
        "ReorderOutput",
    }
    assert found == everything | {"Upsample"}


def test_saved_again_without_blocks(tmp_path):
    model, shape = blocked_model("residual", 13)
    session(onnxruntime, model.SerializeToString(), saved=tmp_path / "all.onnx")
    for level in ("ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED"):
        session(sardonyx, str(tmp_path / "all.onnx"), level, saved=tmp_path / "ours.onnx")
        assert NCHWC not in {n.domain for n in onnx.load(tmp_path / "ours.onnx").graph.node}
        x = np.random.default_rng(5).standard_normal([2, *shape[1:]]).astype(F)
        want = session(onnxruntime, model.SerializeToString()).run(None, {"x": x})
        agree(session(onnxruntime, str(tmp_path / "ours.onnx"), "ORT_DISABLE_ALL").run(None, {"x": x}), want)


# ---- Quantized: images channels last, and blocks where floats are left


def quantized_model(kind):
    zero = 0 if kind == "int8" else 128
    convolutions = ["c0 = Conv <pads = [1,1,1,1]> (xd, w0d) r0 = Relu(c0)", "c1 = Conv <group = 16> (md, w1d)",
                    'c2 = Conv <auto_pad = "SAME_UPPER"> (pd, w2d)']  # fmt: skip
    nodes = f"""
        xq = QuantizeLinear(x, s1, zp) xd = DequantizeLinear(xq, s1, zp)
        w0d = DequantizeLinear(w0, ws0, wz0) w1d = DequantizeLinear(w1, ws1, wz1) w2d = DequantizeLinear(w2, ws2, wz2)
        {convolutions[0]} q0 = QuantizeLinear(r0, s2, zp) d0 = DequantizeLinear(q0, s2, zp)
        m = MaxPool <kernel_shape = [3,3], strides = [2,2], pads = [1,1,1,1]> (d0)
        mq = QuantizeLinear(m, s2, zp) md = DequantizeLinear(mq, s2, zp)
        {convolutions[1]} q1 = QuantizeLinear(c1, s2, zp) d1 = DequantizeLinear(q1, s2, zp)
        p = AveragePool <kernel_shape = [2,2], strides = [2,2]> (d1)
        pq = QuantizeLinear(p, s3, zp) pd = DequantizeLinear(pq, s3, zp)
        {convolutions[2]} q2 = QuantizeLinear(c2, s2, zp) y = DequantizeLinear(q2, s2, zp)
        j = Concat <axis = 1> (y, pd) jq = QuantizeLinear(j, s2, zp) z = DequantizeLinear(jq, s2, zp)"""
    graph = parse_graph(f"g (float[N,3,20,20] x) => (float[] y, float[] z) {{ {nodes} }}")
    for i, node in enumerate(graph.node):
        node.name = f"n{i}"
    rng = np.random.default_rng(0)
    low, high = (-127, 128) if kind == "int8" else (0, 256)
    weights = {f"w{i}": rng.integers(low, high, s).astype(kind) for i, s in enumerate([(16, 3, 3, 3), (16, 1, 3, 3),
                                                                                       (24, 16, 3, 3)])}  # fmt: skip
    scales = {"s1": F(0.02), "s2": F(0.0473), "s3": F(0.0391), "zp": np.array(zero, kind)}
    for i in range(3):
        weights |= {f"ws{i}": np.array(0.01, F), f"wz{i}": np.array(zero, kind)}
    for key, value in (weights | scales).items():
        graph.initializer.append(numpy_helper.from_array(np.asarray(value), key))
    for output in graph.output:
        output.type.tensor_type.ClearField("shape")
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


@pytest.mark.parametrize("kind", ["uint8", "int8"])
def test_quantized(kind, tmp_path):
    model = quantized_model(kind).SerializeToString()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.add_session_config_entry("session.x64quantprecision", "1")
    options.optimized_model_filepath = str(tmp_path / "all.onnx")
    peer = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    nodes = onnx.load(tmp_path / "all.onnx").graph.node
    if kind == "uint8":
        assert any(n.op_type == "QLinearConv" and n.domain == "com.microsoft" for n in nodes)
    else:
        assert any(n.domain == NCHWC for n in nodes)
    x = np.random.default_rng(1).standard_normal((2, 3, 20, 20)).astype(F)
    want = peer.run(None, {"x": x})
    for level in LEVELS:
        got = session(sardonyx, str(tmp_path / "all.onnx"), level).run(None, {"x": x})
        for ours, theirs in zip(got, want, strict=True):
            steps = np.rint((ours - theirs) / 0.0473)  # a number beside a half moves those that follow
            assert np.abs(steps).max() <= 3
            assert (steps != 0).mean() < 0.02


# ---- Made by hand


def close(x, block):
    """Blocks the channels of [N, C, H, W]; the shape stays."""
    n, c, h, w = x.shape
    return x.reshape(n, c // block, block, h, w).transpose(0, 1, 3, 4, 2).reshape(n, c, h, w)


def close_filters(w, block, input_blocks):
    m, c, kh, kw = w.shape
    inner = block if input_blocks else 1
    blocks = w.reshape(m // block, block, c // inner, inner, kh, kw)
    return np.ascontiguousarray(blocks.transpose(0, 2, 4, 5, 3, 1)).reshape(w.shape)


def run(nodes, feeds, weights, outputs, opset=13, domains=(NCHWC,), **entries):
    given = [helper.make_tensor_value_info(k, TensorProto.FLOAT, v.shape) for k, v in feeds.items()]
    asked = [helper.make_tensor_value_info(k, TensorProto.FLOAT, None) for k in outputs]
    stored = [numpy_helper.from_array(np.asarray(v), k) for k, v in weights.items()]
    graph = helper.make_graph(nodes, "g", given, asked, stored)
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, 1) for d in domains)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
    results = [session(sardonyx, model, level, **entries).run(None, feeds) for level in LEVELS]
    for other in results[1:]:
        agree(other, results[0])
    return results[0]


def plain(op, inputs, outputs=("y",), **attributes):
    return helper.make_node(op, inputs, list(outputs), **attributes)


def blocked(op, inputs, outputs=("y",), **attributes):
    return helper.make_node(op, inputs, list(outputs), domain=NCHWC, **attributes)


def image(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(F)


@pytest.mark.parametrize("block", [8, 16])
@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("channels", [4, 12, 16, 20, 48])
def test_reorder(block, last, channels):
    x = image(1, 2, channels, 5, 3)
    padded = np.pad(x, ((0, 0), (0, -channels % block), (0, 0), (0, 0)))
    moved = x.transpose(0, 2, 3, 1) if last else x
    entry = {"nchwc_block_size": str(block)}
    (y,) = run(
        [blocked("ReorderInput", ["x"], channels_last=last)], {"x": np.ascontiguousarray(moved)}, {}, ["y"], **entry
    )
    np.testing.assert_array_equal(y, close(padded, block))
    node = blocked("ReorderOutput", ["x"], channels=channels, channels_last=last)
    (y,) = run([node], {"x": close(padded, block)}, {}, ["y"], **entry)
    np.testing.assert_array_equal(y, moved)


@pytest.mark.parametrize("block", [8, 16])
@pytest.mark.parametrize("channels", [4, 16, 20])
def test_reorder_of_unknown_channels(block, channels):
    node = blocked("ReorderInput", ["x"])
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", "c", "h", "w"])
    graph = helper.make_graph([node], "g", [given], [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    opsets = [helper.make_opsetid("", 13), helper.make_opsetid(NCHWC, 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
    x = image(1, 2, channels, 5, 3)
    for level in LEVELS:
        (y,) = session(sardonyx, model, level, nchwc_block_size=str(block)).run(None, {"x": x})
        np.testing.assert_array_equal(y, close(np.pad(x, ((0, 0), (0, -channels % block), (0, 0), (0, 0))), block))


CONVOLUTIONS = {  # shape of x, weights, attributes; x is blocked unless it has fewer channels than a block
    "few": ((2, 3, 7, 9), (32, 3, 3, 3), {"pads": [1, 0, 1, 2], "strides": [2, 1]}),
    "blocks": ((1, 32, 6, 5), (16, 32, 3, 3), {"pads": [1, 1, 1, 1]}),
    "groups": ((2, 32, 5, 5), (64, 16, 3, 3), {"group": 2, "dilations": [2, 1]}),
    "depthwise": ((1, 48, 6, 6), (48, 1, 3, 3), {"group": 48, "auto_pad": "SAME_LOWER"}),
    "point": ((3, 16, 4, 4), (48, 16, 1, 1), {}),
}


@pytest.mark.parametrize("block", [8, 16])
@pytest.mark.parametrize("name", CONVOLUTIONS)
@pytest.mark.parametrize("addends", [(), ("bias",), ("sum",), ("bias", "sum")])
@pytest.mark.parametrize("activation", [None, "Relu", "LeakyRelu", "Clip"])
def test_conv(block, name, addends, activation):
    shape, weights, attributes = CONVOLUTIONS[name]
    x, w, b = image(2, *shape), image(3, *weights) / F(9), image(4, weights[0])
    bias = ["b"] if "bias" in addends else []
    (want,) = run([plain("Conv", ["x", "w", *bias], **attributes)], {"x": x}, {"w": w, "b": b}, ["y"])
    z = image(5, *want.shape)
    want = want + (z if "sum" in addends else 0)
    parameters = {"LeakyRelu": [0.3], "Clip": [-0.5, 0.75]}.get(activation)
    if activation is not None:
        attributes = {**attributes, "activation": activation}
        want = {"Relu": np.maximum(want, 0), "LeakyRelu": np.where(want > 0, want, F(0.3) * want)}.get(
            activation, np.clip(want, -0.5, 0.75)
        )
    if parameters:
        attributes["activation_params"] = parameters
    as_it_is = weights[1] < block and name != "depthwise"
    stored = {"w": close_filters(w, block, not as_it_is and name != "depthwise"), "b": b}
    feeds = {"x": x if as_it_is else close(x, block)}
    inputs = ["x", "w", *(bias or [""])]
    if "sum" in addends:
        inputs, feeds = [*inputs, "z"], {**feeds, "z": close(z, block)}
    entry = {"nchwc_block_size": str(block)}
    (y,) = run([blocked("Conv", inputs, **attributes)], feeds, stored, ["y"], **entry)
    agree([y], [close(want, block)])


@pytest.mark.parametrize("block", [8, 16])
@pytest.mark.parametrize(
    "op,attributes",
    [
        ("MaxPool", {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1], "ceil_mode": 1}),
        ("MaxPool", {"kernel_shape": [2, 2], "dilations": [2, 1]}),
        ("AveragePool", {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "count_include_pad": 1}),
        ("AveragePool", {"kernel_shape": [2, 3], "strides": [2, 2], "auto_pad": "SAME_UPPER"}),
        ("GlobalMaxPool", {}),
        ("GlobalAveragePool", {}),
    ],
)
def test_pools(block, op, attributes):
    x = image(6, 2, 32, 7, 6)
    (want,) = run([plain(op, ["x"], **attributes)], {"x": x}, {}, ["y"])
    extra = {"storage_order": 0} if op == "MaxPool" else {}
    entry = {"nchwc_block_size": str(block)}
    (y,) = run([blocked(op, ["x"], **attributes, **extra)], {"x": close(x, block)}, {}, ["y"], **entry)
    agree([y], [close(want, block)])


@pytest.mark.parametrize("block", [8, 16])
@pytest.mark.parametrize(
    "mode,coordinates",
    [("nearest", "asymmetric"), ("linear", "asymmetric"), ("linear", "half_pixel"), ("linear", "align_corners")],
)
@pytest.mark.parametrize("scales", [[1, 1, 2, 3], [1, 1, 1, 1]])
def test_upsample(block, mode, coordinates, scales):
    x = image(7, 1, 16, 3, 4)
    rounding = {"nearest_mode": "floor"} if mode == "nearest" else {}
    node = plain("Resize", ["x", "", "s"], mode=mode, coordinate_transformation_mode=coordinates, **rounding)
    (want,) = run([node], {"x": x}, {"s": np.array(scales, F)}, ["y"])
    node = blocked("Upsample", ["x"], mode=mode, coordinate_transformation_mode=coordinates, scales=scales)
    (y,) = run([node], {"x": close(x, block)}, {}, ["y"], nchwc_block_size=str(block))
    agree([y], [close(want, block)])


@pytest.mark.parametrize("block", [8, 16])
def test_what_lies_between_and_reads_blocks(block):
    """Elementwise operators and Concat work on blocks; Shape and ReduceSum read a blocked value as it is."""
    x = image(8, 2, 16, 4, 4)
    nodes = [
        blocked("ReorderInput", ["x"], ["a"]),
        plain("Mul", ["a", "half"], ["b"]),
        plain("Sigmoid", ["b"], ["c"]),
        plain("Concat", ["a", "c"], ["d"], axis=1),
        blocked("MaxPool", ["d"], ["e"], kernel_shape=[2, 2], strides=[2, 2]),
        blocked("ReorderOutput", ["e"], ["y"], channels=32),
        plain("Slice", ["d", "from", "to", "axis"], ["z"]),
        plain("Shape", ["a"], ["s"]),
        plain("Cast", ["s"], ["t"], to=TensorProto.FLOAT),
    ]
    one = np.array([1])
    constants = {"half": np.array(0.5, F), "from": 0 * one, "to": 5 * one, "axis": one}
    y, z, t = run(nodes, {"x": x}, constants, ["y", "z", "t"], nchwc_block_size=str(block))
    joined = np.concatenate([x, 1 / (1 + np.exp(-x * F(0.5)))], 1)
    agree([y], [joined.reshape(2, 32, 2, 2, 2, 2).max((3, 5))])
    agree([z], [close(joined, block)[:, :5]])
    np.testing.assert_array_equal(t, [2, 16, 4, 4])


def test_block_size_from_the_sizes_of_a_model():
    """24 output channels are whole blocks of 8; 12 channels as they are, or 9 padded ones, tell 16."""
    x, w = image(9, 1, 16, 4, 4), image(10, 24, 16, 1, 1)
    (want,) = run([plain("Conv", ["x", "w"])], {"x": x}, {"w": w}, ["y"])
    (y,) = run([blocked("Conv", ["x", "w"])], {"x": close(x, 8)}, {"w": close_filters(w, 8, True)}, ["y"])
    agree([y], [close(want, 8)])
    x, w = image(9, 1, 12, 4, 4), image(10, 32, 12, 1, 1)
    (want,) = run([plain("Conv", ["x", "w"])], {"x": x}, {"w": w}, ["y"])
    (y,) = run([blocked("Conv", ["x", "w"])], {"x": x}, {"w": close_filters(w, 16, False)}, ["y"])
    agree([y], [close(want, 16)])
    (y,) = run([blocked("ReorderOutput", ["x"], channels=7)], {"x": close(image(9, 1, 16, 2, 2), 16)}, {}, ["y"])
    np.testing.assert_array_equal(y, image(9, 1, 16, 2, 2)[:, :7])


@pytest.mark.parametrize("opset", [7, 9, 10, 11])
def test_old_opsets(opset):
    x, w = image(11, 1, 12, 5, 5), image(12, 16, 16, 3, 3)
    w[:, 12:] = 0
    pool = {"kernel_shape": [3, 3], "storage_order": 0, "ceil_mode": 0, "strides": [2, 2]}
    nodes = [
        blocked("ReorderInput", ["x"], ["a"]),
        blocked("Conv", ["a", "w"], ["b"], pads=[1, 1, 1, 1]),
        blocked("MaxPool", ["b"], ["c"], dilations=[1, 1], **pool),
        blocked("ReorderOutput", ["c"], channels=10),
    ]
    entry = {"nchwc_block_size": "16"}
    (y,) = run(nodes, {"x": x}, {"w": close_filters(w, 16, True)}, ["y"], opset, **entry)
    nodes = [
        plain("Conv", ["x", "w"], ["b"], pads=[1, 1, 1, 1]),
        plain("MaxPool", ["b"], kernel_shape=[3, 3], strides=[2, 2]),
    ]
    (want,) = run(nodes, {"x": x}, {"w": w[:10, :12]}, ["y"], opset)
    agree([y], [want])


def refusal(nodes, feeds, weights=(), opset=13, **entries):
    with pytest.raises(Exception) as raised:  # noqa: PT011
        run(nodes, feeds, dict(weights), ["y"], opset, **entries)
    return str(raised.value)


def test_refuses():
    x, w = image(1, 1, 16, 4, 4), image(2, 20, 16, 1, 1)
    message = refusal([blocked("Conv", ["x", "w"])], {"x": x}, {"w": w})
    assert "expected whole blocks of channels, found weights [20, 16, 1, 1], in blocks of" in message
    message = refusal([blocked("Conv", ["x", "w"])], {"x": x, "w": w})
    assert "input 1 ('W'): expected constant weights" in message
    message = refusal([blocked("ReorderOutput", ["x"], channels=40)], {"x": x}, nchwc_block_size="8")
    assert "'channels': expected at most 16 and the last block not empty, found 40, in blocks of 8" in message
    message = refusal([blocked("ReorderOutput", ["x"], channels=0)], {"x": x})
    assert "'channels': expected at least 1, found 0" in message
    assert "4 values, found 2" in refusal([blocked("Upsample", ["x"], scales=[2, 2])], {"x": x})
    assert "expected 4 dimensions" in refusal([blocked("ReorderInput", ["x"])], {"x": x[0]})
    assert "'kernel_shape'" in refusal([blocked("MaxPool", ["x"])], {"x": x})
    message = refusal([blocked("ReorderInput", ["x"])], {"x": x}, nchwc_block_size="4")
    assert "sardonyx.nchwc_block_size: expected 8 or 16, found '4'" in message
    message = refusal([blocked("Upsample", ["x"], scales=[1, 1, 2, 2], mode="linear",
                               coordinate_transformation_mode="half_pixel")], {"x": x}, opset=9)  # fmt: skip
    assert "expected opset 11 or newer, found 9" in message
