"""A decoder in GPT-2's form with a vocabulary of twelve, for operators that generate text."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

VOCABULARY, HEADS, SIZE = 12, 1, 2


def small_decoder(seed=0, prefix="", vocabulary=VOCABULARY):
    """Scores depend on the token, its position, and the sum of all earlier tokens that the mask shows."""
    rng = np.random.default_rng(seed)

    def weight(name, value):
        return numpy_helper.from_array(value, prefix + name)

    def random(*shape):
        return rng.standard_normal(shape).astype(np.float32)

    weights = [
        weight("embeddings", random(vocabulary, SIZE)),
        weight("next", 2 * random(vocabulary, vocabulary)),
        weight("places", random(64, vocabulary)),
        weight("mix", random(SIZE, vocabulary)),
        weight("axes_0_2", np.array([0, 2])),
        weight("axes_1_3", np.array([1, 3])),
        weight("axis_2", np.array([2])),
        weight("zero", np.array(0)),
    ]

    def node(op, inputs, output, **attributes):
        outer = ("input_ids", "position_ids", "attention_mask", "past_0", "present_0", "logits")
        names = [n if n in outer else prefix + n for n in (*inputs, output)]
        return helper.make_node(op, names[:-1], names[-1:], **attributes)

    nodes = [
        node("Gather", ["embeddings", "input_ids"], "embedded"),
        node("Unsqueeze", ["embedded", "axes_0_2"], "one"),
        node("Concat", ["one", "one"], "both", axis=0),
        node("Concat", ["past_0", "both"], "present_0", axis=3),
        node("Gather", ["present_0", "zero"], "keys", axis=0),
        node("Cast", ["attention_mask"], "mask", to=TensorProto.FLOAT),
        node("Unsqueeze", ["mask", "axes_1_3"], "wide_mask"),
        node("Mul", ["keys", "wide_mask"], "seen"),
        node("ReduceSum", ["seen", "axis_2"], "context", keepdims=0),
        node("MatMul", ["context", "mix"], "mixed"),
        node("Gather", ["next", "input_ids"], "by_token"),
        node("Gather", ["places", "position_ids"], "by_place"),
        node("Add", ["by_token", "by_place"], "sum"),
        node("Add", ["sum", "mixed"], "logits"),
    ]

    def info(name, dtype, shape):
        return helper.make_tensor_value_info(name, dtype, shape)

    ints, floats = TensorProto.INT32, TensorProto.FLOAT
    inputs = [info("input_ids", ints, ["b", "s"]), info("position_ids", ints, ["b", "s"])]
    inputs += [info("attention_mask", ints, ["b", "t"]), info("past_0", floats, [2, "b", HEADS, "p", SIZE])]
    outputs = [info("logits", floats, ["b", "s", vocabulary]), info("present_0", floats, [2, "b", HEADS, "t", SIZE])]
    return helper.make_graph(nodes, prefix + "decoder", inputs, outputs, weights)


def generate(engine, op, inputs, graphs, outputs=(TensorProto.INT32,), weights=(), **attributes):
    """The outputs of one node that generates text; inputs: arrays or None in order; outputs: types or None.

    weights: initializers of the graph around it."""
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    results = [f"y{i}" if dtype is not None else "" for i, dtype in enumerate(outputs)]
    node = helper.make_node(op, names, results, domain="com.microsoft", **attributes)
    node.attribute.extend(helper.make_attribute(name, graph) for name, graph in graphs.items())
    given = [
        helper.make_tensor_value_info(
            f"x{i}", helper.np_dtype_to_tensor_dtype(x.dtype), [f"d{i}_{k}" for k in range(x.ndim)]
        )
        for i, x in enumerate(inputs)
        if x is not None
    ]
    asked = [helper.make_tensor_value_info(f"y{i}", x, None) for i, x in enumerate(outputs) if x is not None]
    model = helper.make_model(
        helper.make_graph([node], "g", given, asked, weights),
        opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)],
        ir_version=8,
    )
    options = engine.SessionOptions()
    options.log_severity_level = 4
    session = engine.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {f"x{i}": x for i, x in enumerate(inputs) if x is not None})
