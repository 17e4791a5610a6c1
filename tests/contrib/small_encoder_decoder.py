"""Encoders and decoders in T5's and Whisper's forms with a vocabulary of twelve, for operators that generate text."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

VOCABULARY, HEADS, SIZE, LAYERS, FEATURES = 12, 2, 2, 2, 3
WIDTH = HEADS * SIZE
INTS, FLOATS = TensorProto.INT32, TensorProto.FLOAT


class Maker:
    """Makes a graph's nodes; names but those of inputs and outputs begin with its prefix."""

    def __init__(self, prefix, seed, dtype, vocabulary):
        self.prefix, self.dtype, self.vocabulary, self.nodes, self.weights = prefix, dtype, vocabulary, [], []
        self.rng = np.random.default_rng(seed)

    def constant(self, value):
        name = f"{self.prefix}c{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(value, name))
        return name

    def random(self, *shape, scale=1.0):
        value = (scale * self.rng.standard_normal(shape)).astype(np.float16)  # exact in both types
        return self.constant(value.astype(helper.tensor_dtype_to_np_dtype(self.dtype)))

    def add(self, op, *inputs, to=None, **attributes):
        output = to or f"{self.prefix}v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [output], **attributes))
        return output

    def ints(self, *values):
        return self.constant(np.array(values, np.int64))

    def heads(self, x, to=None):
        """[rows, length, heads * size] as [rows, heads, length, size]."""
        split = self.add("Reshape", x, self.ints(0, -1, HEADS, SIZE))
        return self.add("Transpose", split, to=to, perm=[0, 2, 1, 3])

    def sum_over(self, x, axis):
        return self.add("ReduceSum", x, self.ints(axis), keepdims=0)


def tensor(name, dtype, *shape):
    return helper.make_tensor_value_info(name, dtype, list(shape))


def states(kind, group, length, dtype):
    names = [f"{kind}_{part}_{group}_{layer}" for layer in range(LAYERS) for part in ("key", "value")]
    return [tensor(name, dtype, "b", HEADS, length, SIZE) for name in names]


def text_step(m, seed, ids, past, cross, mask, hidden, whole=False, words=None, twin=False):
    """Scores that depend on the token, all earlier tokens, and what of the encoded is seen."""
    m.rng = np.random.default_rng(seed)  # of encoder and decoder alike
    embeddings, following = m.random(m.vocabulary, WIDTH), m.random(m.vocabulary, m.vocabulary, scale=2.0)
    if whole:
        everything = m.sum_over(m.add("Gather", embeddings, ids), 1)
        by_text = m.add("Unsqueeze", m.add("MatMul", everything, m.random(WIDTH, m.vocabulary)), m.ints(1))
        ids = m.add("Slice", ids, m.ints(-1), m.ints(1 << 30), m.ints(1))
    embedded = m.add("Gather", embeddings, ids)
    logits = m.add("Gather", following, ids)
    if whole:
        logits = m.add("Add", logits, by_text)
    for layer in range(LAYERS):
        for part in ("key", "value"):
            own = m.heads(m.add("MatMul", embedded, m.random(WIDTH, WIDTH)))
            name = f"present_{part}_self_{layer}"
            if past:
                m.add("Concat", f"past_{part}_self_{layer}", own, to=name, axis=2)
            else:
                m.add("Identity", own, to=name)
            context = m.sum_over(m.sum_over(name, 2), 1)
            seen = f"{cross}_{part}_cross_{layer}"
            if mask:
                wide = m.add("Unsqueeze", mask, m.ints(1, 3))
                seen = m.add("Mul", seen, m.add("CastLike", wide, seen))
            both = m.add("Concat", context, m.sum_over(m.sum_over(seen, 2), 1), axis=1)
            mixed = m.add("MatMul", both, m.random(2 * SIZE, m.vocabulary, scale=0.5))
            logits = m.add("Add", logits, m.add("Unsqueeze", mixed, m.ints(1)))
    if hidden or twin:
        if hidden:
            source = m.sum_over("encoder_hidden_states", 1)
        else:
            source = m.add("Reshape", m.sum_over(f"{cross}_key_cross_0", 2), m.ints(0, WIDTH))
        mixed = m.add("MatMul", source, m.random(WIDTH, m.vocabulary, scale=0.2))
        logits = m.add("Add", logits, m.add("Unsqueeze", mixed, m.ints(1)))
    m.add("Slice", logits, m.ints(0), m.ints(words or m.vocabulary), m.ints(2), to="logits")


def encoder(
    seed=0, starts=True, whisper=False, dtype=FLOATS, hidden=True, words=None, twin=False, vocabulary=VOCABULARY
):
    """starts: it runs the decoder's first step, too. twin: the keys of layer 0 are the hidden states."""
    m = Maker("e_", seed + 100, dtype, vocabulary)
    if whisper:
        moved = m.add("Transpose", "encoder_input_ids", perm=[0, 2, 1])
        states_of = m.add("MatMul", moved, m.random(FEATURES, WIDTH))
        inputs = [tensor("encoder_input_ids", dtype, "b", FEATURES, "s")]
    else:
        states_of = m.add("Gather", m.random(vocabulary, WIDTH), "encoder_input_ids")
        inputs = [tensor("encoder_input_ids", INTS, "b", "s"), tensor("encoder_attention_mask", INTS, "b", "s")]
    outputs = []
    for layer in range(LAYERS):
        for part in ("key", "value"):
            own = m.add("MatMul", states_of, m.random(WIDTH, WIDTH))
            first = twin and layer == 0 and part == "key"
            m.heads(states_of if first else own, to=f"present_{part}_cross_{layer}")
    if starts:
        inputs.append(tensor("decoder_input_ids", INTS, "b", "t"))
        outputs = [tensor("logits", dtype, "b", "t", words or vocabulary)]
        outputs.append(tensor("encoder_hidden_states", dtype, "b", "s", WIDTH))
        outputs += states("present", "self", "t", dtype)
        m.add("Identity", states_of, to="encoder_hidden_states")
        mask = None if whisper else "encoder_attention_mask"
        text_step(m, seed, "decoder_input_ids", False, "present", mask, hidden, words=words, twin=twin)
    outputs += states("present", "cross", "s", dtype)
    return helper.make_graph(m.nodes, "encoder", inputs, outputs, m.weights)


def decoder(
    seed=0, hidden=True, whole=False, whisper=False, dtype=FLOATS, words=None, twin=False, vocabulary=VOCABULARY
):
    """hidden: it reads the encoder's hidden states. whole: it reads all tokens, not the last one."""
    m = Maker("d_", seed, dtype, vocabulary)
    inputs = [tensor("input_ids", INTS, "b", "t" if whole else 1)]
    if not whisper:
        inputs.append(tensor("encoder_attention_mask", INTS, "b", "s"))
    if hidden:
        inputs.append(tensor("encoder_hidden_states", dtype, "b", "s", WIDTH))
    inputs += states("past", "self", "p", dtype) + states("past", "cross", "s", dtype)
    mask = None if whisper else "encoder_attention_mask"
    text_step(m, seed, "input_ids", True, "past", mask, hidden, whole, words, twin)
    logits = tensor("logits", dtype, "b", "l" if whole else 1, words or vocabulary)
    outputs = [logits, *states("present", "self", "n", dtype)]
    return helper.make_graph(m.nodes, "decoder", inputs, outputs, m.weights)


def model(seed=0, starts=True, hidden=True, whole=False, whisper=False, **options):
    hidden = hidden and starts
    return {
        "encoder": encoder(seed, starts, whisper, hidden=hidden, **options),
        "decoder": decoder(seed, hidden, whole, whisper, **options),
    }
