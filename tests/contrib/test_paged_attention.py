"""com.microsoft.PagedAttention: caches of keys and values in blocks. ONNX Runtime has it for GPUs only: results are
compared with the formula in float64. That 4-bit integers are stored plus 8, that blocks of -1 are hidden, and that an
explicit slot changes only where a row goes, are facts of its CUDA kernel and of the document beside it."""

import itertools

import ml_dtypes
import numpy as np
import pytest
import sardonyx
from onnx import helper

D, F, H, B, I32 = np.float64, np.float32, np.float16, ml_dtypes.bfloat16, np.int32
F8, F4 = ml_dtypes.float8_e4m3fn, ml_dtypes.float4_e2m1fn
BOUNDS = {np.dtype(H): 1e-3, np.dtype(B): 8e-3}
MIXED = [(0, 5), (17, 1), (3, 4), (40, 1), (0, 1)]  # past and new tokens of each sequence
NAMES = [
    "query",
    "key",
    "value",
    "key_cache",
    "value_cache",
    "cumulative_sequence_length",
    "past_seqlens",
    "block_table",
    "cos_cache",
    "sin_cache",
    "slot_mapping",
    "head_sink",
    "q_norm_weight",
    "k_norm_weight",
    "k_scale",
    "v_scale",
    "attention_metadata",
]


class Codec:
    """How a cache stores the numbers of a row."""

    def __init__(self, kind, dtype):
        self.kind = kind
        self.quantized = kind != "float"
        self.packed = kind in ("int4", "float4e2m1")
        tensors = {"float": dtype, "int8": np.int8, "float8e4m3fn": F8, "int4": np.uint8, "float4e2m1": np.uint8}
        self.tensor = np.dtype(tensors[kind])
        self.most = {"float": 1, "int8": 127, "float8e4m3fn": 448, "int4": 7, "float4e2m1": 6}[kind]

    def encode(self, x):
        """Codes of scaled numbers; the last dimension of packed ones is halved."""
        if self.kind in ("float", "float8e4m3fn"):
            return (np.clip(x, -448, 448) if self.quantized else x).astype(F).astype(self.tensor)
        if self.kind == "int8":
            return np.clip(np.rint(x), -128, 127).astype(np.int8)
        if self.kind == "int4":
            codes = (np.clip(np.rint(x), -8, 7) + 8).astype(np.uint8)
        else:
            codes = np.clip(x, -6, 6).astype(F).astype(F4).view(np.uint8) & 15
        if codes.shape[-1] % 2:
            codes = np.concatenate([codes, np.full((*codes.shape[:-1], 1), 8 * (self.kind == "int4"), np.uint8)], -1)
        return (codes[..., 0::2] | codes[..., 1::2] << 4).astype(np.uint8)

    def decode(self, codes, size):
        if not self.packed:
            return codes.astype(D)
        both = np.stack([codes & 15, codes >> 4], -1).reshape(*codes.shape[:-1], -1)[..., :size]
        return both.astype(D) - 8 if self.kind == "int4" else both.astype(np.uint8).view(F4).astype(D)


class Case:
    """Inputs by name, attributes, and what follows from them."""

    def __init__(
        self, lengths=MIXED, dtype=H, kinds=("float", "float"), heads=4, kv=2, size=16, block=4, seed=0, **rest
    ):
        self.rng = np.random.default_rng(seed)
        self.lengths, self.dtype, self.heads, self.kv, self.size, self.block = lengths, dtype, heads, kv, size, block
        self.attributes = {"num_heads": heads, "kv_num_heads": kv} | rest
        self.latent = rest.get("kv_cache_layout") == "LATENT"
        self.v_size = rest.get("v_head_size", 0) or size
        self.k_codec, self.v_codec = (Codec(kind, dtype) for kind in kinds)
        tokens = sum(new for _, new in lengths)
        needed = [-(-(past + new) // block) for past, new in lengths]
        self.columns = max([1, *needed]) + 1
        self.blocks = sum(needed) + 3
        places = iter(self.rng.permutation(self.blocks))
        table = np.full((len(lengths), self.columns), -1, I32)
        for b, count in enumerate(needed):
            table[b, :count] = list(itertools.islice(places, count))
        self.inputs = {
            "query": self.random(tokens, heads * size),
            "key": self.random(tokens, kv * size),
            "cumulative_sequence_length": np.cumsum([0, *(new for _, new in lengths)]).astype(I32),
            "past_seqlens": np.array([past for past, _ in lengths], I32),
            "block_table": table,
        }
        self.add_cache("k", "key_cache", self.k_codec)
        if not self.latent:
            self.inputs["value"] = self.random(tokens, kv * size)
            self.add_cache("v", "value_cache", self.v_codec)

    def random(self, *shape, dtype=None):
        return self.rng.standard_normal(shape).astype(F).astype(dtype or self.dtype)

    def add_cache(self, letter, name, codec, per_channel=True):
        shape = (self.blocks, self.block, self.kv, self.size)
        numbers = self.rng.standard_normal(shape) * (codec.most / 2.5 if codec.quantized else 1)
        self.inputs[name] = codec.encode(numbers)
        if codec.quantized:
            scales = (2 + self.rng.random((self.kv, 1, self.size))) / codec.most
            self.inputs[f"{letter}_scale"] = scales.astype(F) if per_channel else scales.reshape(-1)[:1].astype(F)
            self.attributes[f"{letter}_quant_type"] = "PER_CHANNEL" if per_channel else "PER_TENSOR"
        if codec.packed:
            self.attributes[f"{letter}_cache_dtype"] = codec.kind

    def scale_tensors(self):
        for letter in "kv":
            if f"{letter}_scale" in self.inputs:
                self.inputs[f"{letter}_scale"] = self.inputs[f"{letter}_scale"].reshape(-1)[:1]
                self.attributes[f"{letter}_quant_type"] = "PER_TENSOR"
        return self

    def rotate(self, half=None, interleaved=0, offset=0, positions=64):
        half = half or self.size // 2
        angles = np.arange(positions)[:, None] * 0.6 ** np.arange(half)[None] + 0.3
        self.inputs["cos_cache"] = np.cos(angles).astype(F).astype(self.dtype)
        self.inputs["sin_cache"] = np.sin(angles).astype(F).astype(self.dtype)
        self.attributes |= {"do_rotary": 1, "rotary_interleaved": interleaved, "rotary_offset": offset}
        return self

    def normalize(self):
        self.inputs["q_norm_weight"] = self.random(self.size)
        self.inputs["k_norm_weight"] = self.random(self.size)
        return self

    def pack(self):
        i = self.inputs
        i["query"] = np.concatenate([i["query"], i.pop("key"), i.pop("value")], 1)
        return self

    def places(self):
        """The sequence and the position of each token."""
        return [(b, past + i) for b, (past, new) in enumerate(self.lengths) for i in range(new)]

    def slots(self):
        table = self.inputs["block_table"]
        blocks = [table[b, p // self.block] for b, p in self.places()]
        offsets = [p % self.block for _, p in self.places()]
        return [-1 if at < 0 else at * self.block + offset for at, offset in zip(blocks, offsets, strict=True)]

    def model(self, outputs=None, unknown=False):
        given = [n for n in NAMES if n in self.inputs]
        names = [n if n in self.inputs else "" for n in NAMES]
        while not names[-1]:
            names.pop()
        outputs = outputs or ["output", "key_cache_out"] + ([] if self.latent else ["value_cache_out"])
        node = helper.make_node("PagedAttention", names, outputs, "node_7", domain="com.microsoft", **self.attributes)

        def info(name, array):
            dims = [f"{name}_{k}" if unknown else n for k, n in enumerate(array.shape)]
            return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), dims)

        types = {"output": self.inputs["query"], "key_cache_out": self.inputs["key_cache"]}
        types["value_cache_out"] = self.inputs.get("value_cache", self.inputs["key_cache"])
        types = {n: helper.np_dtype_to_tensor_dtype(x.dtype) for n, x in types.items()}
        asked = [helper.make_tensor_value_info(n, types[n], None) for n in outputs]
        graph = helper.make_graph([node], "g", [info(n, self.inputs[n]) for n in given], asked)
        imports = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=imports, ir_version=10).SerializeToString()

    def run(self, threads=2, level=None, **options):
        session_options = sardonyx.SessionOptions()
        session_options.intra_op_num_threads = threads
        if level is not None:
            session_options.graph_optimization_level = level
        session = sardonyx.InferenceSession(self.model(**options), session_options, providers=["CPUExecutionProvider"])
        return session.run(None, self.inputs)

    # ---- the formula

    def heads_of(self, x, heads):
        return x.astype(D).reshape(len(x), heads, self.size)

    def queries_and_keys(self):
        i, at = self.inputs, self.attributes
        q, k, v = i["query"], i.get("key"), i.get("value")
        if k is None and not self.latent:
            q, k, v = np.split(q, [self.heads * self.size, (self.heads + self.kv) * self.size], 1)
        q, k = self.heads_of(q, self.heads), self.heads_of(k, self.kv)
        if "q_norm_weight" in i:
            eps = at.get("qk_norm_epsilon", 1e-6)
            q = q / np.sqrt((q**2).mean(-1, keepdims=True) + eps) * i["q_norm_weight"].astype(D)
            k = k / np.sqrt((k**2).mean(-1, keepdims=True) + eps) * i["k_norm_weight"].astype(D)
        if at.get("do_rotary"):
            q, k = self.turned(q), self.turned(k)
        return q, k, None if v is None else self.heads_of(v, self.kv)

    def turned(self, x):
        positions = [p for _, p in self.places()]
        cos, sin = (self.inputs[n].astype(D)[positions][:, None] for n in ("cos_cache", "sin_cache"))
        half, offset = cos.shape[-1], self.attributes["rotary_offset"]
        y = x.copy()
        if self.attributes["rotary_interleaved"]:
            first, second = (slice(offset + i, offset + 2 * half, 2) for i in (0, 1))
        else:
            first, second = slice(offset, offset + half), slice(offset + half, offset + 2 * half)
        y[..., first] = x[..., first] * cos - x[..., second] * sin
        y[..., second] = x[..., first] * sin + x[..., second] * cos
        return y

    def scale_of(self, letter):
        scale = self.inputs.get(f"{letter}_scale")
        if scale is None:
            return D(1)
        return D(scale.reshape(())) if scale.size == 1 else scale.astype(D).reshape(self.kv, self.size)

    def cache(self, name, letter, codec, rows):
        """The cache with the new rows, flat in slots, and which slots are new."""
        flat = self.inputs[name].reshape(self.blocks * self.block, self.kv, -1).copy()
        slots = self.inputs["slot_mapping"] if "slot_mapping" in self.inputs else self.slots()
        new = np.zeros(len(flat), bool)
        for slot, row in zip(slots, rows, strict=True):
            if slot >= 0:
                flat[slot], new[slot] = codec.encode(row / self.scale_of(letter)), True
        return flat, new

    def attend(self, q, keys, values):
        """keys, values: [slot, head, size] in float64."""
        at, y = self.attributes, np.zeros((len(q), self.heads, self.v_size))
        scale, cap = at.get("scale", 1 / np.sqrt(self.size)), at.get("softcap", 0)
        window = at.get("local_window_size", -1)
        sinks = self.inputs.get("head_sink", np.full(self.heads, -np.inf)).astype(D)
        token = 0
        for b, (past, new) in enumerate(self.lengths):
            positions = np.arange(past + new)
            blocks = self.inputs["block_table"][b][positions // self.block]
            slots = blocks * self.block + positions % self.block
            k, v = (np.repeat(x[slots], self.heads // self.kv, 1) for x in (keys, values))
            for p in range(past, past + new):
                seen = (blocks >= 0) & ((positions <= p) | (not at.get("is_causal", 1)))
                if window > 0:
                    seen &= positions > p - window
                scores = np.einsum("hc,khc->hk", q[token], k) * scale
                scores = cap * np.tanh(scores / cap) if cap else scores
                scores = np.concatenate([np.where(seen, scores, -np.inf), sinks[:, None]], 1)
                if np.isfinite(scores).any():
                    weights = np.exp(scores - scores.max(1, keepdims=True))
                    weights /= weights.sum(1, keepdims=True)
                    y[token] = np.einsum("hk,khc->hc", weights[:, :-1], v[..., : self.v_size])
                token += 1
        return y.reshape(len(q), self.heads * self.v_size)


def check_cache(case, got, name, letter, codec, rows):
    """Old rows keep their bits. New ones are rounded once; next to a boundary, the other side may be right, too."""
    want, new = case.cache(name, letter, codec, rows)
    assert got.dtype == case.inputs[name].dtype and got.shape == case.inputs[name].shape
    got = got.reshape(want.shape)
    np.testing.assert_array_equal(got[~new].view(np.uint8), want[~new].view(np.uint8))
    numbers, wanted = codec.decode(got, case.size), codec.decode(want, case.size)
    step = {"int8": 1, "int4": 1, "float8e4m3fn": np.abs(wanted).max() / 8, "float4e2m1": 2}.get(codec.kind, 0.02)
    off = np.abs(numbers - wanted)[new]
    if off.size:
        assert off.max() <= step and (off > step / 100).mean() < 0.02
    return numbers * case.scale_of(letter)


def check(case, **options):
    outputs = case.run(**options)
    q, k, v = case.queries_and_keys()
    keys = check_cache(case, outputs[1], "key_cache", "k", case.k_codec, k)
    values = keys if case.latent else check_cache(case, outputs[2], "value_cache", "v", case.v_codec, v)
    want = case.attend(q, keys, values)
    y = outputs[0]
    assert y.dtype == case.dtype and y.shape == want.shape
    largest = max(1.0, np.abs(want).max(initial=0))
    assert np.abs(y.astype(D) - want).max(initial=0) <= BOUNDS[y.dtype] * largest
    return outputs


LENGTHS = {
    "prefill": [(0, 37)],
    "prefills": [(0, 6), (0, 6), (0, 9)],
    "decode": [(13, 1), (2, 1), (40, 1), (0, 1)],
    "mixed": MIXED,
    "some without tokens": [(5, 0), (3, 2), (0, 0), (7, 2)],
    "chunk of a prompt": [(21, 19)],
    "long": [(700, 1), (130, 70)],
}


@pytest.mark.parametrize("dtype", [H, B])
@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS.keys())
@pytest.mark.parametrize("heads,kv,size,block", [(4, 2, 16, 4), (3, 3, 8, 16), (6, 1, 5, 1), (8, 2, 64, 32)])
def test_lengths_and_heads(lengths, heads, kv, size, block, dtype):
    check(Case(lengths, dtype, heads=heads, kv=kv, size=size, block=block))


@pytest.mark.parametrize("lengths", [[(9000, 3)], [(3000, 1), (2900, 1), (3100, 1)]])
@pytest.mark.parametrize("kind", ["float", "int4"])
def test_caches_that_are_gathered_in_parts(lengths, kind):
    case = Case(lengths, kinds=(kind, kind), heads=8, kv=4, size=64, block=16)
    case.inputs["head_sink"] = case.random(8)
    check(case)


@pytest.mark.parametrize("lengths", [MIXED, [(0, 30)]])
@pytest.mark.parametrize(
    "attributes",
    [
        {"scale": 0.7},
        {"softcap": 1.5},
        {"local_window_size": 1},
        {"local_window_size": 6},
        {"local_window_size": 1000},
        {"local_window_size": 3, "softcap": 2.0, "scale": 0.4},
        {"is_causal": 0},
        {"is_causal": 0, "local_window_size": 4},
    ],
    ids=str,
)
def test_scores(lengths, attributes):
    check(Case(lengths, **attributes))
    case = Case(lengths, **attributes)
    case.inputs["head_sink"] = (case.rng.random(4) * 8 - 2).astype(H)
    check(case)


@pytest.mark.parametrize("dtype", [H, B])
@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("half,offset", [(8, 0), (3, 0), (4, 8), (2, 8)])
@pytest.mark.parametrize("normalized", [False, True])
def test_turned_and_normalized(half, offset, interleaved, normalized, dtype):
    case = Case(dtype=dtype).rotate(half, interleaved, offset)
    check(case.normalize() if normalized else case)


def test_normalized_without_turning():
    check(Case(qk_norm_epsilon=0.5).normalize())


@pytest.mark.parametrize("kind", ["float", "int8", "int4"])
def test_packed(kind):
    check(Case(kinds=(kind, kind)).pack())
    check(Case(kinds=(kind, kind)).pack().rotate().normalize())


KINDS = ["int8", "float8e4m3fn", "int4", "float4e2m1"]


@pytest.mark.parametrize("dtype", [H, B])
@pytest.mark.parametrize("tensor", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [16, 7, 130])
def test_quantized_caches(kind, size, tensor, dtype):
    case = Case(dtype=dtype, kinds=(kind, kind), size=size)
    check(case.scale_tensors() if tensor else case)


def test_caches_of_two_kinds_and_names_of_the_own_type():
    check(Case(kinds=("int4", "float4e2m1")))
    check(Case(kinds=("int8", "int8"), k_cache_dtype="int8", v_cache_dtype="int8"))
    check(Case(k_cache_dtype="float16", v_cache_dtype="float16", k_quant_type="NONE"))


def test_saturation_and_a_scale_of_0():
    for kind in KINDS:
        case = Case([(0, 3)], kinds=(kind, kind), kv=4)
        case.inputs["key"] *= H(1000)
        case.inputs["v_scale"][1] = 0
        keys, values = case.run()[1:]
        rows = case.k_codec.decode(keys.reshape(-1, 4, keys.shape[-1])[case.slots()], 16)
        assert np.abs(rows).max() == case.k_codec.most + (kind.startswith("int"))
        assert np.abs(rows)[np.abs(case.inputs["key"].reshape(3, 4, 16)) > 20].min() >= case.k_codec.most
        zeros = case.v_codec.decode(values.reshape(-1, 4, values.shape[-1])[case.slots()][:, 1], 16)
        np.testing.assert_array_equal(zeros, 0)


@pytest.mark.parametrize("kind", ["float", "int8", "float8e4m3fn", "int4"])
@pytest.mark.parametrize("size,v_size,offset", [(24, 16, 16), (24, 0, 0), (40, 7, 32)])
def test_latent(kind, size, v_size, offset):
    """Values are the first elements of the keys."""
    case = Case(
        kinds=(kind, "float"), heads=5, kv=1, size=size, kv_cache_layout="LATENT", v_head_size=v_size, scale=0.3
    )
    check(case)
    check(case.rotate(4, 0, offset))


def test_slots_are_where_rows_go():
    """The table stays what queries read by: rows that went elsewhere are not seen, -1 writes nothing."""
    case = Case()
    case.inputs["slot_mapping"] = np.array(case.slots(), I32)
    plain, mapped = check(Case()), check(case)
    for a, b in zip(plain, mapped, strict=True):
        np.testing.assert_array_equal(a, b)
    free = sorted(set(range(case.blocks)) - set(case.inputs["block_table"].reshape(-1)))[0] * case.block
    case.inputs["slot_mapping"][[1, 5]] = [-1, -1]
    case.inputs["slot_mapping"][[2, 6]] = [free, free + 1]
    check(case)
    case.inputs["slot_mapping"][[7, 8]] = free  # the later one wins
    check(case)
    case.inputs["slot_mapping"][:] = -1
    y, keys, _ = check(case)
    np.testing.assert_array_equal(keys, case.inputs["key_cache"])
    assert not np.array_equal(y, plain[0])


def test_sequences_share_blocks():
    """A prompt that several sequences begin with lies in the cache once."""
    case = Case([(9, 1), (10, 2), (8, 3)])
    case.inputs["block_table"][:, :2] = case.inputs["block_table"][0, :2]
    check(case)


@pytest.mark.parametrize("dtype,stored", [(B, H), (H, B)])
def test_caches_of_the_other_float(dtype, stored):
    case = Case(dtype=dtype)
    for name in ("key_cache", "value_cache"):
        case.inputs[name] = case.inputs[name].astype(stored)
    case.k_codec = case.v_codec = Codec("float", stored)
    check(case)


@pytest.mark.parametrize("window", [-1, 5])
def test_missing_blocks_are_hidden(window):
    case = Case([(30, 2), (9, 1), (17, 1)], local_window_size=window)
    case.inputs["block_table"][0, :2] = -1
    case.inputs["block_table"][0, 5] = -1
    case.inputs["block_table"][2, 4] = -1  # that of the new token: it is not written
    check(case)
    case.inputs["block_table"][1] = -1  # nothing to see: zeros
    y = check(case)[0]
    np.testing.assert_array_equal(y[2], 0)


def test_blocks_before_the_window_are_not_read():
    case = Case([(30, 1)], local_window_size=5)
    want = check(case)
    case.inputs["block_table"][0, :6] = 10**6
    for a, b in zip(want, case.run(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_what_is_beyond_a_sequence_does_not_matter():
    """Other rows of a block, and other blocks, may hold anything."""
    case = Case([(5, 1), (2, 3), (14, 1)])
    want = case.run()[0]
    table = case.inputs["block_table"]
    used = {table[b, p // 4] * 4 + p % 4 for b, (past, new) in enumerate(case.lengths) for p in range(past + new)}
    rest = [s for s in range(case.blocks * 4) if s not in used]
    for name in ("key_cache", "value_cache"):
        case.inputs[name].reshape(-1, 2, 16)[rest] = np.nan
    np.testing.assert_array_equal(case.run()[0], want)


@pytest.mark.parametrize("kind", ["float", "int8", "int4"])
def test_caches_in_place(kind):
    """Bound as input and output, the caches' memory gets the new rows, and nothing else is touched."""
    case = Case(kinds=(kind, kind))
    want = check(case)
    session = sardonyx.InferenceSession(case.model(), providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    arrays = {name: x.copy() for name, x in case.inputs.items()}
    values = {name: sardonyx.OrtValue.ortvalue_from_numpy(x) for name, x in arrays.items()}
    for name, value in values.items():
        binding.bind_ortvalue_input(name, value)
    binding.bind_output("output")
    binding.bind_ortvalue_output("key_cache_out", values["key_cache"])
    binding.bind_ortvalue_output("value_cache_out", values["value_cache"])
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(binding.get_outputs()[0].numpy(), want[0])
    np.testing.assert_array_equal(arrays["key_cache"], want[1])
    np.testing.assert_array_equal(arrays["value_cache"], want[2])


def test_steps_of_a_decoder():
    """A prompt and single tokens give what one prompt of all of them gives."""
    whole = Case([(0, 12)]).rotate()
    want = whole.run()[0]
    caches = [whole.inputs["key_cache"], whole.inputs["value_cache"]]
    for begin, end in [(0, 7), (7, 8), (8, 9), (9, 12)]:
        step = Case([(begin, end - begin)]).rotate()
        step.inputs |= {n: whole.inputs[n][begin:end] for n in ("query", "key", "value")}
        step.inputs |= {"key_cache": caches[0], "value_cache": caches[1], "block_table": whole.inputs["block_table"]}
        y, *caches = step.run()
        np.testing.assert_allclose(y.astype(D), want[begin:end].astype(D), atol=1e-3)


def test_levels_threads_and_unknown_shapes_do_not_matter():
    case = Case(LENGTHS["long"], kinds=("int8", "int8")).rotate(positions=800)
    levels = sardonyx.GraphOptimizationLevel
    results = [case.run(level=level) for level in (levels.ORT_DISABLE_ALL, levels.ORT_ENABLE_ALL)]
    results += [case.run(threads=1), case.run(threads=3), case.run(unknown=True)]
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("count", [2, 3])
def test_metadata_are_hints(count):
    case = Case()
    want = case.run()
    case.inputs["attention_metadata"] = np.array([1, 1, 0][:count], I32)
    for a, b in zip(want, case.run(), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("lengths", [[], [(0, 0)], [(3, 0), (0, 0)]])
def test_nothing_to_do(lengths):
    y, keys, values = check(Case(lengths))
    assert y.shape == (0, 64) and keys.size > 0 and values.size > 0


def set_to(name, at, value):
    def change(case):
        case.inputs[name][at] = value

    return change


def reshaped(name, function):
    def change(case):
        case.inputs[name] = np.ascontiguousarray(function(case.inputs[name]))

    return change


def with_attribute(**attributes):
    return lambda case: case.attributes.update(attributes)


def without(*names):
    return lambda case: [case.inputs.pop(n) for n in names]


def with_input(name, *shape, dtype=H):
    return lambda case: case.inputs.update({name: np.ones(shape, dtype)})


BAD = {
    "rank of the query": (reshaped("query", lambda x: x[0]), r"input 0 \('query'\): expected rank 2, found"),
    "hidden size": (reshaped("query", lambda x: x[:, 1:]), r"'query'\): expected \[tokens, a multiple of 4 heads\]"),
    "key": (reshaped("key", lambda x: x[:, 1:]), r"input 1 \('key'\): expected \[12, 32\], found \[12, 31\]"),
    "value": (reshaped("value", lambda x: x[1:]), r"input 2 \('value'\): expected \[12, 32\], found \[11, 32\]"),
    "key without a value": (without("value"), "expected a key and a value together, found only one"),
    "rank of a cache": (reshaped("key_cache", lambda x: x[0]), r"input 3 \('key_cache'\): expected rank 4"),
    "heads of a cache": (
        reshaped("key_cache", lambda x: x[:, :, 1:]),
        r"input 3 \('key_cache'\): expected \[\d+, 4, 2, 16\], found \[\d+, 4, 1, 16\]",
    ),
    "two caches": (
        reshaped("value_cache", lambda x: x[:, 1:]),
        r"input 4 \('value_cache'\): expected \[\d+, 4, 2, 16\], found \[\d+, 3, 2, 16\]",
    ),
    "no value cache": (without("value_cache"), r"input 4 \('value_cache'\): expected one"),
    "batch": (reshaped("past_seqlens", lambda x: x[1:]), r"input 6 \('past_seqlens'\): expected \[5\], found \[4\]"),
    "table": (reshaped("block_table", lambda x: x[1:]), r"input 7 \('block_table'\): expected \[5, 12\]"),
    "rank of the table": (reshaped("block_table", lambda x: x[0]), r"input 7 \('block_table'\): expected rank 2"),
    "falling sums": (
        set_to("cumulative_sequence_length", 2, 4),
        r"input 5 \('cumulative_sequence_length'\): expected rising numbers from 0 to the 12 tokens .* found 4 at 2",
    ),
    "sums beyond the tokens": (set_to("cumulative_sequence_length", 5, 13), "'cumulative_.*found 13 at 5"),
    "sums before the last token": (set_to("cumulative_sequence_length", 5, 11), "'cumulative_.*found 11 at 5"),
    "sums that begin late": (set_to("cumulative_sequence_length", 0, 1), "'cumulative_.*found 1 at 0"),
    "no sums": (reshaped("cumulative_sequence_length", lambda x: x[:0]), r"'cumulative_.*expected \[batch \+ 1\]"),
    "negative past": (set_to("past_seqlens", 1, -1), r"input 6 \('past_seqlens'\): .* found -1 at 1"),
    "past beyond the table": (set_to("past_seqlens", 0, 44), r"'past_seqlens'\): .* 5 new .* 12 blocks of 4 .*44 at 0"),
    "block": (
        set_to("block_table", (1, 3), 1000),
        r"input 7 \('block_table'\): expected blocks in \[0, \d+\), or -1 for none, found 1000 at \[1, 3\]",
    ),
    "negative block": (set_to("block_table", (1, 3), -2), r"'block_table'\): .*found -2 at \[1, 3\]"),
    "slots": (with_input("slot_mapping", 11, dtype=I32), r"input 10 \('slot_mapping'\): expected \[12\], found \[11\]"),
    "sinks": (with_input("head_sink", 3), r"input 11 \('head_sink'\): expected \[4\], found \[3\]"),
    "one norm": (with_input("q_norm_weight", 16), "expected q_norm_weight and k_norm_weight together"),
    "metadata": (
        with_input("attention_metadata", 4, dtype=I32),
        r"'attention_metadata'\): expected \[2\], found \[4\]",
    ),
    "no angles": (with_attribute(do_rotary=1), "expected cos_cache and sin_cache for do_rotary, found none"),
    "heads": (with_attribute(kv_num_heads=3), "divisible by kv_num_heads, found 4 and 3"),
    "window": (with_attribute(local_window_size=-2), "'local_window_size': expected -1 or more, found -2"),
    "offset": (with_attribute(rotary_offset=4), "'rotary_offset': expected a multiple of 8, found 4"),
    "layout": (
        with_attribute(kv_cache_layout="JOINED"),
        "'kv_cache_layout': expected SEPARATE or LATENT, found 'JOINED'",
    ),
    "value size": (with_attribute(v_head_size=8), "'v_head_size': expected 0 or 16, found 8"),
    "quantized floats": (
        with_attribute(k_quant_type="PER_TENSOR"),
        "'k_quant_type': expected NONE for a cache of float16",
    ),
    "kind of scales": (with_attribute(v_quant_type="PER_ROW"), "'v_quant_type': .* found 'PER_ROW'"),
    "scales of floats": (with_input("k_scale", 1, dtype=F), r"input 14 \('k_scale'\): expected none"),
    "name of the type": (
        with_attribute(k_cache_dtype="int8"),
        "'k_cache_dtype': expected '' or float16, .*found 'int8'",
    ),
    "latent value": (with_attribute(kv_cache_layout="LATENT"), r"input 2 \('value'\): expected none where"),
}


@pytest.mark.parametrize("unknown", [False, True])
@pytest.mark.parametrize("change,message", BAD.values(), ids=BAD.keys())
def test_refuses(change, message, unknown):
    case = Case()
    change(case)
    with pytest.raises(Exception, match=message) as error:
        case.run(unknown=unknown)
    assert "PagedAttention" in str(error.value) and "node_7" in str(error.value)


BAD_SPECIAL = {
    "slot": (lambda c: c.inputs.update(slot_mapping=np.full(12, 10**6, I32)), "'slot_mapping'.*found 1000000 at 0"),
    "negative slot": (lambda c: c.inputs.update(slot_mapping=np.full(12, -2, I32)), "'slot_mapping'.*found -2 at 0"),
    "angles": (lambda c: c.rotate(9), r"'cos_cache'\): expected \[positions, 8 or less\], found \[64, 9\]"),
    "angles behind an offset": (lambda c: c.rotate(5, 0, 8), r"expected \[positions, 4 or less\], found \[64, 5\]"),
    "positions": (
        lambda c: [c.rotate(), c.inputs.update({n: c.inputs[n][:40] for n in ("cos_cache", "sin_cache")})],
        r"'cos_cache'\): expected at least 41 positions, found \[40, 8\]",
    ),
    "sines": (lambda c: [c.rotate(), c.inputs.update(sin_cache=c.inputs["cos_cache"][1:])], r"'sin_cache'\): expected"),
}


@pytest.mark.parametrize("change,message", BAD_SPECIAL.values(), ids=BAD_SPECIAL.keys())
def test_refuses_more(change, message):
    case = Case()
    change(case)
    with pytest.raises(Exception, match=message):
        case.run()


def test_refuses_quantized():
    for change, message in [
        (without("k_scale"), r"input 14 \('k_scale'\): expected scales for a cache of int8"),
        (with_attribute(v_quant_type="NONE"), "'v_quant_type': expected PER_TENSOR or PER_CHANNEL for a cache of int8"),
        (reshaped("k_scale", lambda x: x[:1]), r"'k_scale'\): expected \[2, 1, 16\], found \[1, 1, 16\]"),
        (with_attribute(v_quant_type="PER_TENSOR"), r"'v_scale'\): expected one element, found \[2, 1, 16\]"),
    ]:
        case = Case(kinds=("int8", "int8"))
        change(case)
        with pytest.raises(Exception, match=message):
            case.run()
    case = Case(kinds=("int4", "int4"))
    del case.attributes["k_cache_dtype"]
    with pytest.raises(Exception, match="'k_cache_dtype': expected int4 or float4e2m1 for a cache of uint8, found ''"):
        case.run()


def test_refuses_latent():
    def latent(**rest):
        return Case(heads=4, kv=1, size=24, kv_cache_layout="LATENT", **rest)

    with pytest.raises(Exception, match="'scale': expected one where v_head_size is not the size of a head"):
        latent(v_head_size=16).run()
    with pytest.raises(Exception, match="'v_head_size': expected 0 or at most 24, found 25"):
        latent(v_head_size=25, scale=1.0).run()
    with pytest.raises(Exception, match="'kv_num_heads': expected 1 where kv_cache_layout is LATENT, found 2"):
        Case(kv_cache_layout="LATENT").run()
    with pytest.raises(Exception, match="'v_quant_type' and 'v_cache_dtype': expected none where"):
        latent(v_quant_type="PER_TENSOR").run()


def test_caches_that_would_be_lost():
    """New rows go to the outputs; a node without them would forget them."""
    with pytest.raises(Exception, match="not implemented for a node without the output key_cache_out"):
        Case().run(outputs=["output"])
    with pytest.raises(Exception, match="without the output value_cache_out"):
        Case().run(outputs=["output", "key_cache_out"])


def test_the_types_of_the_schema():
    case = Case()
    for name, x in case.inputs.items():
        if x.dtype == H:
            case.inputs[name] = x.astype(F)
    with pytest.raises(Exception, match="float"):
        case.run()
