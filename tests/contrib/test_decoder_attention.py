"""com.microsoft.DecoderAttention: attention of a decoder over itself or over an encoder, [sequence, batch, hidden].

ONNX Runtime has it for GPUs only: results are compared with the formula in float64. That `true` in key_padding_mask
hides a key, whatever mask_filter_value is, and that caches count only with has_layer_state, are facts of its kernel and
its test."""

import itertools

import numpy as np
import pytest
import sardonyx
from node_model import assert_close, node_model, run_model
from onnx import TensorProto, helper

F, H, I32 = np.float32, np.float16, np.int32
OP, HEADS, SIZE = "DecoderAttention", 3, 8
HIDDEN = HEADS * SIZE
BOUNDS = {F: 3e-6, H: 2e-3}
STATIC, USE_PAST, HAS_STATE, HAS_MASK = 8, 9, 10, 11


def given(dtype, crosses, caches, masks=False, sequence=4, keys=6, past=5, batch=2, seed=1, state=True):
    rng = np.random.default_rng(seed)

    def random(*shape):
        return (rng.standard_normal(shape) / 2).astype(dtype)

    total = past if crosses and caches else keys if crosses else past + sequence if caches else sequence
    mask = rng.random((batch, total)) < 0.4
    mask[:, :1] = False
    flags = [np.array([f]) for f in (crosses, caches, state, masks)]
    cache = [random(batch, HEADS, past, SIZE) for _ in range(2)]
    return [
        random(sequence, batch, HIDDEN),
        random(keys, batch, HIDDEN),
        random(HIDDEN, HIDDEN),
        random(HIDDEN, 2 * HIDDEN),
        random(3 * HIDDEN),
        mask,
        *cache,
        *flags,
    ]


def formula(inputs):
    query, key, q_weight, kv_weight, bias = (x.astype(np.float64) for x in inputs[:5])
    crosses, past, state, masks = (bool(x.reshape(())) for x in inputs[STATIC:])
    caches = past and state
    sequence, batch, _ = query.shape

    def heads(x):
        return x.reshape(len(x), batch, HEADS, SIZE).transpose(1, 2, 0, 3)

    q = heads(query @ q_weight + bias[:HIDDEN])
    projected = (key if crosses else query) @ kv_weight + bias[HIDDEN:]
    k, v = heads(projected[..., :HIDDEN]), heads(projected[..., HIDDEN:])
    if caches:
        old = [x.astype(np.float64) for x in inputs[6:8]]
        k, v = old if crosses else (np.concatenate([o, n], 2) for o, n in zip(old, (k, v), strict=True))
    scores = q @ k.swapaxes(2, 3) / np.sqrt(SIZE)
    if masks:
        scores = np.where(inputs[5][:, None, None], -np.inf, scores)
    weights = np.exp(scores - scores.max(-1, keepdims=True, initial=-1e300))
    weights /= np.maximum(weights.sum(-1, keepdims=True), 1e-300)
    return (weights @ v).transpose(2, 0, 1, 3).reshape(sequence, batch, HIDDEN), k, v


def model_of(inputs, outputs, constants=(), **attributes):
    """node_model has no tensors of bool."""
    numbers = [x if x is None or x.dtype != bool else x.astype(I32) for x in inputs]
    model = node_model(OP, numbers, outputs, constants, num_heads=HEADS, **attributes)
    for value in model.graph.input:
        if inputs[int(value.name[1:])].dtype == bool:
            value.type.tensor_type.elem_type = TensorProto.BOOL
    for weight in model.graph.initializer:
        if inputs[int(weight.name[1:])].dtype == bool:
            x = inputs[int(weight.name[1:])]
            weight.CopyFrom(helper.make_tensor(weight.name, TensorProto.BOOL, x.shape, x.reshape(-1).tolist()))
    return model


def run(inputs, outputs=None, constants=(), threads=2, **attributes):
    outputs = outputs or [inputs[0].dtype] * 3
    return run_model(sardonyx, model_of(inputs, outputs, constants, **attributes), inputs, constants, threads)


def check(inputs, **options):
    got, want = run(inputs, **options), formula(inputs)
    for name, ours, expected in zip(("output", "new_key_cache", "new_value_cache"), got, want, strict=True):
        assert ours.dtype == inputs[0].dtype and ours.shape == expected.shape, (name, ours.shape, expected.shape)
        assert_close(ours, expected, BOUNDS[inputs[0].dtype.type], name)
    return got


@pytest.mark.parametrize("dtype", [F, H])
@pytest.mark.parametrize("crosses,caches,masks", list(itertools.product([False, True], repeat=3)))
@pytest.mark.parametrize("sequence,keys,past,batch", [(4, 6, 5, 2), (1, 1, 1, 1), (1, 70, 90, 3), (65, 40, 30, 2)])
def test_what_it_looks_at(sequence, keys, past, batch, crosses, caches, masks, dtype):
    inputs = given(dtype, crosses, caches, masks, sequence, keys, past, batch)
    check(inputs)
    for constants in [(2, 3, 4), (2,), (3, STATIC, USE_PAST, HAS_STATE, HAS_MASK)]:
        check(inputs, constants=constants)


@pytest.mark.parametrize("dtype", [F, H])
@pytest.mark.parametrize("crosses,caches", list(itertools.product([False, True], repeat=2)))
def test_outputs_that_nobody_wants(crosses, caches, dtype):
    inputs = given(dtype, crosses, caches, True)
    want = run(inputs)
    for outputs in ([dtype], [dtype, dtype], [dtype, None, dtype]):
        got = run(inputs, outputs)
        for ours, expected in zip(got, [w for w, t in zip(want, outputs, strict=False) if t], strict=True):
            np.testing.assert_array_equal(ours, expected)


@pytest.mark.parametrize("crosses", [False, True])
def test_no_state_means_no_caches(crosses):
    without = given(F, crosses, False, state=True)
    with_past = [*without]
    with_past[USE_PAST], with_past[HAS_STATE] = np.array([True]), np.array([False])
    for a, b in zip(check(with_past), check(without), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("crosses,caches", list(itertools.product([False, True], repeat=2)))
def test_inputs_that_are_not_read_may_be_missing_or_anything(crosses, caches):
    inputs = given(F, crosses, caches)
    want = run(inputs)
    inputs[5] = np.ones((3, 3, 3), bool)
    if not caches:
        inputs[6] = inputs[7] = np.full((1, 2), np.nan, F)
    others = list(inputs)
    others[5] = None
    if not caches:
        others[6] = others[7] = None
    for changed in (inputs, others):
        for a, b in zip(run(changed, mask_filter_value=3.0), want, strict=True):
            np.testing.assert_array_equal(a, b)


def test_steps_of_a_decoder():
    """A token sees itself and what came before it; in the end, the caches are those of all tokens at once."""
    inputs = given(F, False, False, sequence=6)
    _, keys, values = run(inputs)
    caches = [np.zeros((2, HEADS, 0, SIZE), F)] * 2
    for token in range(6):
        step = [*inputs]
        step[0], step[6:8], step[USE_PAST] = inputs[0][token : token + 1], caches, np.array([True])
        y, *caches = check(step)
    assert_close(caches[0], keys.astype(np.float64), 3e-6, "keys")
    assert_close(caches[1], values.astype(np.float64), 3e-6, "values")
    assert_close(y[0], run(inputs)[0][-1].astype(np.float64), 3e-6, "the last token sees all")


def test_the_mask_filter_value_does_not_matter():
    inputs = given(F, True, False, True)
    want = check(inputs)[0]
    for value in (0.0, 5.0):
        np.testing.assert_array_equal(run(inputs, mask_filter_value=value)[0], want)


@pytest.mark.parametrize("dtype", [F, H])
def test_nothing_to_see(dtype):
    inputs = given(dtype, False, True, True)
    inputs[5][1] = True
    y = check(inputs)[0]
    np.testing.assert_array_equal(y[:, 1], 0)


@pytest.mark.parametrize("crosses,caches", list(itertools.product([False, True], repeat=2)))
@pytest.mark.parametrize("sizes", [{"batch": 0}, {"sequence": 0}, {"keys": 0}, {"past": 0}], ids=str)
def test_empty(crosses, caches, sizes):
    check(given(F, crosses, caches, **sizes))
    inputs = given(F, crosses, caches, **sizes)
    np.testing.assert_array_equal(run(inputs, [F])[0], run(inputs)[0])


def test_caches_in_place():
    """Those of an encoder may be bound as inputs and outputs: they stay."""
    inputs = given(F, True, True)
    want = run(inputs)
    session = sardonyx.InferenceSession(model_of(inputs, [F] * 3).SerializeToString())
    binding = session.io_binding()
    values = [sardonyx.OrtValue.ortvalue_from_numpy(x) for x in inputs]
    for i, value in enumerate(values):
        binding.bind_ortvalue_input(f"x{i}", value)
    binding.bind_output("y0")
    binding.bind_ortvalue_output("y1", values[6])
    binding.bind_ortvalue_output("y2", values[7])
    session.run_with_iobinding(binding)
    for ours, expected in zip(binding.get_outputs(), want, strict=True):
        np.testing.assert_array_equal(ours.numpy(), expected)


def test_threads_do_not_matter():
    inputs = given(F, False, True, True, sequence=70, past=300)
    for a, b in zip(run(inputs, threads=1), run(inputs, threads=3), strict=True):
        np.testing.assert_array_equal(a, b)


BAD = [
    ("rank of the query", 0, lambda x: x[0], r"input 0 \('query'\): expected rank 3"),
    (
        "heads",
        0,
        lambda x: x[..., 1:],
        r"'query'\): expected \[sequence, batch, a multiple of 3 heads\], found \[4, 2, 23",
    ),
    ("batch of the key", 1, lambda x: x[:, 1:], r"input 1 \('key'\): expected \[6, 2, 24\], found \[6, 1, 24\]"),
    ("q_weight", 2, lambda x: x[1:], r"input 2 \('q_weight'\): expected \[24, 24\], found \[23, 24\]"),
    ("kv_weight", 3, lambda x: x[:, 1:], r"input 3 \('kv_weight'\): expected \[24, 48\], found \[24, 47\]"),
    ("bias", 4, lambda x: x[1:], r"input 4 \('bias'\): expected \[72\], found \[71\]"),
    ("mask", 5, lambda x: x[:, 1:], r"input 5 \('key_padding_mask'\): expected \[2, 9\], found \[2, 8\]"),
    (
        "no mask",
        5,
        lambda x: None,
        r"input 5 \('key_padding_mask'\): expected one with has_key_padding_mask, found none",
    ),
    ("key cache", 6, lambda x: x[:, 1:], r"input 6 \('key_cache'\): expected \[2, 3, 5, 8\], found \[2, 2, 5, 8\]"),
    (
        "value cache",
        7,
        lambda x: x[:, :, 1:],
        r"input 7 \('value_cache'\): expected \[2, 3, 5, 8\], found \[2, 3, 4, 8\]",
    ),
    ("rank of a cache", 6, lambda x: x[0], r"input 6 \('key_cache'\): expected \[2, 3, \d, 8\], found \[3, 5, 8\]"),
    ("no cache", 7, lambda x: None, r"input 7 \('value_cache'\): expected one with use_past, found none"),
    (
        "flag",
        USE_PAST,
        lambda x: np.array([True, False]),
        r"input 9 \('use_past'\): expected one element, found shape \[2\]",
    ),
]


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("what,index,change,message", BAD, ids=[case[0] for case in BAD])
def test_refuses(what, index, change, message, constant):
    inputs = given(F, False, True, True)
    inputs[index] = change(inputs[index])
    if inputs[index] is not None:
        inputs[index] = np.ascontiguousarray(inputs[index])
    with pytest.raises(Exception, match=message) as error:
        run(inputs, constants=(index,) if constant and inputs[index] is not None else ())
    assert OP in str(error.value), what


def test_refuses_attributes():
    inputs = given(F, False, False)
    model = model_of(inputs, [F])
    model.graph.node[0].attribute[0].i = 0
    with pytest.raises(Exception, match="'num_heads': expected at least 1, found 0"):
        run_model(sardonyx, model, inputs)
