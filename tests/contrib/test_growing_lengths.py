"""Steps of decoders whose caches grow: a session that has seen other lengths computes what a fresh one does.

A session keeps the places of values from length to length where it can, and plans anew where it must; results are
equal bit for bit.
"""

import threading

import numpy as np
import onnx.parser
import pytest
import sardonyx

HEADS, SIZE = 2, 8
WIDTH = HEADS * SIZE
HEADER = '<ir_version: 10, opset_import: ["": 18, "com.microsoft": 1]>'
PORTS = f"""float[b,s,{WIDTH}] x, float[b,{HEADS},past,{SIZE}] past_key, float[b,{HEADS},past,{SIZE}] past_value"""
RESULTS = "float[b,s,w] y, float[b,h,total,d] present_key, float[b,h,total,d] present_value"

# Key and value are made from x, so that a step's caches differ from row to row. `z` is what follows the attention.
AROUND = "e = Erf(x)\n k = Add(x, e)\n v = Sub(x, e)"
AFTER = "z = Tanh(a)\n y = Add(z, x)"
MODELS = {
    "GroupQueryAttention": f"""g ({PORTS}, int64[b,total] mask) => ({RESULTS})
        <int64 one = {{1}}, int64[1] last = {{1}}> {{
        {AROUND}
        sum = ReduceSum<keepdims = 1>(mask, last)
        less = Sub(sum, one)
        lengths = Cast<to = 6>(less)
        shape = Shape(mask)
        place = Gather<axis = 0>(shape, one)
        total = Cast<to = 6>(place)
        a, present_key, present_value = com.microsoft.GroupQueryAttention<num_heads = {HEADS}, kv_num_heads = {HEADS}>
            (x, k, v, past_key, past_value, lengths, total)
        {AFTER}
    }}""",
    "MultiHeadAttention": f"""g ({PORTS}) => ({RESULTS}) {{
        {AROUND}
        a, present_key, present_value = com.microsoft.MultiHeadAttention<num_heads = {HEADS}>
            (x, k, v, , , , past_key, past_value)
        {AFTER}
    }}""",
    "Concat": f"""g ({PORTS}) => ({RESULTS})
        <int64[4] split = {{0, 0, {HEADS}, {SIZE}}}, int64[3] merged = {{0, 0, {WIDTH}}}, int64[1] two = {{2}},
         int64[1] unit = {{1}}> {{
        {AROUND}
        q4 = Reshape(x, split)
        k4 = Reshape(k, split)
        v4 = Reshape(v, split)
        queries = Transpose<perm = [0,2,1,3]>(q4)
        new_keys = Transpose<perm = [0,2,1,3]>(k4)
        new_values = Transpose<perm = [0,2,1,3]>(v4)
        present_key = Concat<axis = 2>(past_key, new_keys)
        present_value = Concat<axis = 2>(past_value, new_values)
        turned = Transpose<perm = [0,1,3,2]>(present_key)
        shape = Shape(past_key)
        past_rows = Gather<axis = 0>(shape, two)
        x_shape = Shape(x)
        new_rows = Gather<axis = 0>(x_shape, unit)
        total = Add(past_rows, new_rows)
        bias_shape = Concat<axis = 0>(unit, total)
        bias = ConstantOfShape<value = float[1] {{0.25}}>(bias_shape)
        ramp = CumSum(bias, unit_axis)
        products = MatMul(queries, turned)
        scores = Add(products, ramp)
        weights = Softmax(scores)
        mixed = MatMul(weights, present_value)
        back = Transpose<perm = [0,2,1,3]>(mixed)
        a = Reshape(back, merged)
        unit_axis = Constant<value_int = 1>()
        {AFTER}
    }}""",
}  # fmt: skip
PAST_AND_NEW = """        shape = Shape(past_key)
        past_rows = Gather<axis = 0>(shape, two)
        x_shape = Shape(x)
        new_rows = Gather<axis = 0>(x_shape, unit)
        total = Add(past_rows, new_rows)
"""
OF_CACHE = "shape = Shape(present_key)\n total = Gather<axis = 0>(shape, two)\n"
assert PAST_AND_NEW in MODELS["Concat"]
MODELS["Concat, mask as long as the cache"] = MODELS["Concat"].replace(PAST_AND_NEW, OF_CACHE)


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    return onnx.parser.parse_model(HEADER + MODELS[request.param]).SerializeToString()


def make_session(model, threads=1, mode="ORT_SEQUENTIAL"):
    options = sardonyx.SessionOptions()
    options.intra_op_num_threads = threads
    options.execution_mode = getattr(sardonyx.ExecutionMode, mode)
    return sardonyx.InferenceSession(model, options)


def inputs_of(session, past, rows=1, batch=1):
    rng = np.random.default_rng(past)
    shapes = {
        "x": (batch, rows, WIDTH),
        "past_key": (batch, HEADS, past, SIZE),
        "past_value": (batch, HEADS, past, SIZE),
    }
    feeds = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    feeds["mask"] = np.ones((batch, past + rows), np.int64)
    return {port.name: feeds[port.name] for port in session.get_inputs()}


def assert_same(session, model, **sizes):
    feeds = inputs_of(session, **sizes)
    fresh = make_session(model).run(None, feeds)
    for ours, wanted in zip(session.run(None, feeds), fresh, strict=True):
        np.testing.assert_array_equal(ours, wanted, err_msg=str(sizes))


@pytest.mark.parametrize("mode", ["ORT_SEQUENTIAL", "ORT_PARALLEL"])
@pytest.mark.parametrize("threads", [1, 2])
def test_hundreds_of_steps(model, threads, mode):
    session = make_session(model, threads, mode)
    for past in range(300):
        assert_same(session, model, past=past)


def test_lengths_that_come_and_go(model):
    session = make_session(model)
    rng = np.random.default_rng(0)
    for past in (*range(40, 0, -1), *rng.integers(0, 300, 60), *range(900, 910), *range(3)):
        assert_same(session, model, past=int(past))


def test_prompts_and_batches_between_steps(model):
    session = make_session(model)
    for turn in range(6):
        assert_same(session, model, past=0, rows=5 + turn)
        for past in range(5 + turn, 25):
            assert_same(session, model, past=past, batch=1 + turn % 3)
        assert_same(session, model, past=25, rows=2)


def test_callers_at_once_with_lengths_of_their_own(model):
    """Each caller's lengths grow from another start, so that plans of one come between those of another."""
    session = make_session(model, 2)
    wrong = []

    def grow(start):
        for past in range(start, start + 60):
            feeds = inputs_of(session, past)
            fresh = make_session(model).run(None, feeds)
            if not all(np.array_equal(a, b) for a, b in zip(session.run(None, feeds), fresh, strict=True)):
                wrong.append(past)

    callers = [threading.Thread(target=grow, args=(start,)) for start in (1, 20, 300)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert wrong == []
