"""benchmarks/llm_models.py - Llama-like models with random weights, the same ones as ONNX and as GGUF.

The ONNX model is spelled as onnxruntime-genai's builder writes it: GroupQueryAttention with rotary embeddings,
SkipSimplifiedLayerNormalization, and MatMul or MatMulNBits (blocks of 32, symmetric, accuracy_level 4; with the bits
"4-bit-f32" accuracy_level 0: activations stay floats). Quantized weights are rounded once, in the form that both files
can say: Q4_0 and Q8_0 of GGUF, whose scales are float16. "Q4_K_M" is GGUF's mixture of Q4_K and Q6_K, whose blocks of
256 share a float16 that a small whole number for each 32 multiplies: the same numbers are weights of 4 and of 8 bits
for MatMulNBits (6 bits are not among its forms), with scales of float32.
"""
import dataclasses
import pathlib
import zlib

import gguf_file
import numpy as np

BLOCK = 32
POSITIONS = 32768  # rows of the tables of rotary embeddings
SUPER_BLOCK = 256  # of Q4_K and Q6_K
ALL_BITS = ("fp32", "fp16", "8-bit", "4-bit")
EMPTY_MODEL = b"\x08\x0a\x3a\x05\x12\x03llm\x42\x02\x10\x16"  # ir_version 10, an empty graph "llm", opset 22
QUANTIZED = {"8-bit": 8, "4-bit": 4, "4-bit-f32": 4, "Q4_K": 4, "Q6_K": 8}  # bits for MatMulNBits


EMBEDDING = "token_embd.weight"


@dataclasses.dataclass(frozen=True)
class Shape:
    """Sizes of a Llama: head_size is hidden / heads, the embedding is the last product's weight, too."""

    name: str
    hidden: int
    inner: int
    layers: int
    heads: int
    cache_heads: int
    vocabulary: int
    base: float  # of the rotary embedding's wavelengths
    epsilon: float = 1e-5

    @property
    def head_size(self):
        return self.hidden // self.heads

    def products(self, layer):
        """(name in GGUF, [outputs, inputs]) of the products of a layer."""
        keys = self.cache_heads * self.head_size
        for name, rows, columns in (("attn_q", self.hidden, self.hidden), ("attn_k", keys, self.hidden),
                                    ("attn_v", keys, self.hidden), ("attn_output", self.hidden, self.hidden),
                                    ("ffn_gate", self.inner, self.hidden), ("ffn_up", self.inner, self.hidden),
                                    ("ffn_down", self.hidden, self.inner)):
            yield f"blk.{layer}.{name}.weight", (rows, columns)

    def parameters(self):
        """Weights of products that a token reads."""
        return self.vocabulary * self.hidden + self.layers * sum(r * c for _, (r, c) in self.products(0))

    def form(self, bits, name):
        """The key in gguf_file.FORMS of a weight. llama.cpp's mixture has more bits for what matters most."""
        if bits != "Q4_K_M":
            return bits.removesuffix("-f32")
        if name == EMBEDDING:
            return "Q6_K"
        layer, eighth = int(name.split(".")[1]), self.layers // 8
        more = layer < eighth or layer >= 7 * self.layers // 8 or (layer - eighth) % 3 == 2
        return "Q6_K" if more and (".attn_v." in name or ".ffn_down." in name) else "Q4_K"

    def weight_bytes(self, bits):
        """Bytes of weights that a token reads at least."""
        weights = [(EMBEDDING, (self.vocabulary, self.hidden))]
        for layer in range(self.layers):
            weights += self.products(layer)
        return sum(gguf_file.FORMS[self.form(bits, name)].bytes(size) for name, size in weights)

    def cache_bytes(self, length, size=4):
        """Bytes of keys and values of `length` tokens."""
        return 2 * self.layers * self.cache_heads * self.head_size * length * size


SHAPES = {  # of SmolLM-135M and Llama-3.2-1B
    "135m": Shape("135m", 576, 1536, 30, 9, 3, 49152, 10000.0),
    "1b": Shape("1b", 2048, 8192, 16, 32, 8, 128256, 500000.0),
}


def weight(name, shape):
    """Normal numbers that leave the size of what they multiply as it is."""
    generator = np.random.default_rng(zlib.crc32(name.encode()))
    return generator.standard_normal(shape, np.float32) * np.float32(shape[-1] ** -0.5)


def norm_weight(name, size):
    generator = np.random.default_rng(zlib.crc32(name.encode()))
    return generator.uniform(0.8, 1.2, size).astype(np.float32)


def quantize_k(array, form):
    """[rows, columns] in the form Q4_K or Q6_K, as (unsigned numbers [rows, blocks, 32], whole factors [rows, blocks],
    float16 scales [rows, columns / 256]); the zero point is in the middle."""
    if array.shape[1] % SUPER_BLOCK != 0:
        raise ValueError(f"{form}: expected rows of a multiple of {SUPER_BLOCK} weights, found {array.shape[1]}")
    middle, most = (8, 63) if form == "Q4_K" else (32, 127)
    blocks = array.reshape(array.shape[0], -1, BLOCK)
    wanted = np.abs(blocks).max(-1) / (middle - 0.5)
    groups = wanted.reshape(array.shape[0], -1, SUPER_BLOCK // BLOCK)
    scales = (groups.max(-1) / most).astype(np.float16)
    factors = np.clip(np.rint(groups / scales[..., None].astype(np.float32)), 1, most)
    steps = (factors * scales[..., None].astype(np.float32)).reshape(wanted.shape)
    numbers = np.clip(np.rint(blocks / steps[..., None]) + middle, 0, 2 * middle - 1).astype(np.uint8)
    return numbers, factors.reshape(wanted.shape).astype(np.uint8), scales


def quantize_for_onnx(array, form):
    """(unsigned numbers [rows, blocks, 32], float32 scales [rows, blocks]) for MatMulNBits; the zero point is
    2^(bits - 1)."""
    if form not in ("Q4_K", "Q6_K"):
        numbers, scales = quantize(array, QUANTIZED[form])
        return numbers, scales.astype(np.float32)
    numbers, factors, scales = quantize_k(array, form)
    scales = np.repeat(scales.astype(np.float32), SUPER_BLOCK // BLOCK, 1) * factors
    return numbers + np.uint8(96 if form == "Q6_K" else 0), scales


def quantize(array, bits):
    """[rows, columns] as (unsigned numbers [rows, blocks, 32], float16 scales [rows, blocks]); the zero point is
    2^(bits - 1)."""
    blocks = array.reshape(array.shape[0], -1, BLOCK)
    middle = 1 << (bits - 1)
    at = np.abs(blocks).argmax(-1)
    largest = np.take_along_axis(blocks, at[..., None], -1)
    # Of 4 bits, GGUF uses all 16 steps: the largest becomes -8.
    scales = (-largest / middle if bits == 4 else np.abs(largest) / (middle - 1)).astype(np.float16)
    inverse = np.divide(1, scales.astype(np.float32), out=np.zeros(scales.shape, np.float32), where=scales != 0)
    numbers = np.clip(np.rint(blocks * inverse) + middle, 0, 2 * middle - 1).astype(np.uint8)
    return numbers, scales[..., 0]


def pack(numbers, bits):
    """MatMulNBits' layout: [rows, blocks, 32 * bits / 8], low bits first."""
    return numbers if bits == 8 else numbers[..., 0::2] | numbers[..., 1::2] << 4


def interleave_rotary(array, heads):
    """Rows of queries or keys in the order of GGUF's Llama, whose rotary embedding turns neighbours."""
    rows, columns = array.shape
    return array.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2).reshape(rows, columns)


def write_gguf(shape, bits, path):
    """The model for llama.cpp."""
    def form(name):
        return gguf_file.FORMS[shape.form(bits, name)]

    keys = {"general.architecture": "llama", "general.name": f"random {shape.name}",
            "llama.vocab_size": shape.vocabulary, "llama.context_length": POSITIONS,
            "llama.embedding_length": shape.hidden, "llama.block_count": shape.layers,
            "llama.feed_forward_length": shape.inner,
            "llama.rope.dimension_count": shape.head_size, "llama.rope.freq_base": shape.base,
            "llama.attention.head_count": shape.heads, "llama.attention.head_count_kv": shape.cache_heads,
            "llama.attention.layer_norm_rms_epsilon": shape.epsilon, "general.file_type": form(EMBEDDING).file_type,
            "tokenizer.ggml.model": "no_vocab"}
    tensors = [(EMBEDDING, (shape.vocabulary, shape.hidden), form(EMBEDDING))]
    for layer in range(shape.layers):
        tensors += [(f"blk.{layer}.{norm}.weight", (shape.hidden,), gguf_file.FORMS["fp32"])
                    for norm in ("attn_norm", "ffn_norm")]
        tensors += [(name, size, form(name)) for name, size in shape.products(layer)]
    tensors.append(("output_norm.weight", (shape.hidden,), gguf_file.FORMS["fp32"]))

    def content(name, size):
        if len(size) == 1:
            return norm_weight(name, size[0])
        array = weight(name, size)
        if ".attn_q." in name or ".attn_k." in name:
            array = interleave_rotary(array, shape.heads if ".attn_q." in name else shape.cache_heads)
        found = shape.form(bits, name)
        if found in ("Q4_K", "Q6_K"):
            return quantize_k(array, found)
        return array if found not in QUANTIZED else quantize(array, QUANTIZED[found])

    gguf_file.write(path, keys, tensors, content)


class OnnxWriter:
    """Writes the graph node by node, as genai's builder does."""

    def __init__(self, shape, bits):
        from sardonyx import model

        self.shape, self.bits = shape, bits
        self.numpy = np.float16 if bits == "fp16" else np.float32
        self.type = "float16" if bits == "fp16" else "float"
        self.model = model.Model(EMPTY_MODEL)
        self.model.set_opset("com.microsoft", 1)
        self.graph = self.model.graph

    def node(self, op_type, inputs, name, outputs=None, **attributes):
        domain = "" if op_type in STANDARD else "com.microsoft"
        outputs = outputs or [f"{name}/output_0"]
        self.graph.add_node(op_type, inputs, outputs, name, domain, attributes)
        return outputs[0]

    def constant(self, name, array):
        self.graph.set_initializer(name, np.ascontiguousarray(array))
        return name

    def norm(self, name):
        return self.constant(name, norm_weight(name, self.shape.hidden).astype(self.numpy))

    def product(self, value, weights, name):
        """`weights` [outputs, inputs], by name: several of one form are joined."""
        array = np.concatenate([weight(key, size) for key, size in weights])
        form = self.shape.form(self.bits, weights[0][0])
        if form not in QUANTIZED:
            return self.node("MatMul", [value, self.constant(f"{name}.weight", array.T.astype(self.numpy))], name)
        bits = QUANTIZED[form]
        numbers, scales = quantize_for_onnx(array, form)
        inputs = [value, self.constant(f"{name}.weight_Q{bits}", pack(numbers, bits)),
                  self.constant(f"{name}.weight_scales", scales)]
        return self.node("MatMulNBits", inputs, name, K=array.shape[1], N=array.shape[0], bits=bits, block_size=BLOCK,
                         accuracy_level=0 if self.bits.endswith("-f32") else 4)

    def embedding(self):
        """Rows of the last product's weight."""
        shape, name = self.shape, "lm_head.MatMul"
        form = shape.form(self.bits, EMBEDDING)
        if form not in QUANTIZED:
            turned = self.node("Transpose", [f"{name}.weight"], "embed_tokens/Transpose", perm=[1, 0])
            return self.node("Gather", [turned, "input_ids"], "embed_tokens/Gather")
        bits = QUANTIZED[form]
        sizes = self.constant("embed_tokens/sizes", np.array([shape.vocabulary, shape.hidden * bits // 8], np.int64))
        table = self.node("Reshape", [f"{name}.weight_Q{bits}", sizes], "embed_tokens/Reshape")
        return self.node("GatherBlockQuantized", [table, "input_ids", f"{name}.weight_scales"], "embed_tokens/Gather",
                         bits=bits, block_size=BLOCK, gather_axis=0, quantize_axis=1)

    def mask(self):
        """(number of past tokens of each row, number of all tokens)."""
        one = self.constant("one", np.array([1], np.int64))
        ones = self.node("ReduceSum", ["attention_mask", one], "mask/ReduceSum", keepdims=0)
        past = self.node("Cast", [self.node("Sub", [ones, one], "mask/Sub")], "mask/Sub/Cast", to=6)
        sizes = self.node("Shape", ["attention_mask"], "mask/Shape")
        total = self.node("Gather", [sizes, self.constant("index", np.array(1, np.int64))], "mask/Gather", axis=0)
        return past, self.node("Cast", [total], "mask/Gather/Cast", to=6)

    def rotary(self):
        half = self.shape.head_size // 2
        angles = np.outer(np.arange(POSITIONS), self.shape.base ** (-np.arange(half) / half))
        return (self.constant("cos_cache", np.cos(angles).astype(self.numpy)),
                self.constant("sin_cache", np.sin(angles).astype(self.numpy)))

    def attention(self, layer, value, mask, rotary):
        shape, name = self.shape, f"layers.{layer}/attn"
        weights = list(shape.products(layer))
        if len({shape.form(self.bits, key) for key, _ in weights[:3]}) == 1:
            inputs = [self.product(value, weights[:3], f"{name}/qkv_proj"), "", ""]
        else:
            inputs = [self.product(value, weights[i:i + 1], f"{name}/{part}_proj") for i, part in enumerate("qkv")]
        past, present = ([f"{kind}.{layer}.{part}" for part in ("key", "value")]
                         for kind in ("past_key_values", "present"))
        for one in past:
            self.graph.add_input(one, self.type, ["batch", shape.cache_heads, "past_sequence", shape.head_size])
        found = self.node("GroupQueryAttention", [*inputs, *past, *mask, *rotary], f"{name}/attention",
                          [f"{name}/attention/output_0", *present], num_heads=shape.heads,
                          kv_num_heads=shape.cache_heads, scale=shape.head_size ** -0.5, do_rotary=1)
        for one in present:
            self.graph.set_type(one, self.type, ["batch", shape.cache_heads, "total_sequence", shape.head_size])
            self.graph.add_output(one)
        return self.product(found, weights[3:4], f"{name}/o_proj")

    def perceptron(self, layer, value):
        name, weights = f"layers.{layer}/mlp", list(self.shape.products(layer))
        gate = self.product(value, weights[4:5], f"{name}/gate_proj")
        up = self.product(value, weights[5:6], f"{name}/up_proj")
        swish = self.node("Mul", [gate, self.node("Sigmoid", [gate], f"{name}/Sigmoid")], f"{name}/act")
        return self.product(self.node("Mul", [swish, up], f"{name}/Mul"), weights[6:7], f"{name}/down_proj")

    def add_and_norm(self, value, added, weight_name, last=False):
        """(normalized sum, sum)."""
        name = f"{weight_name}/norm"
        outputs = [f"{name}/output_0", *(() if last else ("", "", f"{name}/output_3"))]
        self.node("SkipSimplifiedLayerNormalization", [value, added, self.norm(weight_name)], name, outputs,
                  epsilon=self.shape.epsilon)
        return outputs[0], outputs[-1]

    def write(self, path):
        shape = self.shape
        self.graph.add_input("input_ids", "int64", ["batch", "sequence"])
        self.graph.add_input("attention_mask", "int64", ["batch", "total_sequence"])
        mask, rotary = self.mask(), self.rotary()
        head = [(EMBEDDING, (shape.vocabulary, shape.hidden))]
        self.product("final", head, "lm_head.MatMul")
        value = total = self.embedding()
        added = None
        for layer in range(shape.layers):
            if added is None:
                value = self.node("SimplifiedLayerNormalization", [total, self.norm("blk.0.attn_norm.weight")],
                                  "first_norm", epsilon=shape.epsilon, axis=-1, stash_type=1)
            else:
                value, total = self.add_and_norm(total, added, f"blk.{layer}.attn_norm.weight")
            added = self.attention(layer, value, mask, rotary)
            value, total = self.add_and_norm(total, added, f"blk.{layer}.ffn_norm.weight")
            added = self.perceptron(layer, value)
        value, _ = self.add_and_norm(total, added, "output_norm.weight", last=True)
        self.graph.producer("lm_head.MatMul/output_0").set_input(0, value)
        self.graph.producer("lm_head.MatMul/output_0").set_output(0, "logits")
        self.graph.set_type("logits", self.type, ["batch", "sequence", shape.vocabulary])
        self.graph.add_output("logits")
        self.model.save(str(path), external_data=f"{path.stem}.weights")


STANDARD = {"MatMul", "Transpose", "Gather", "Reshape", "ReduceSum", "Sub", "Cast", "Shape", "Mul", "Sigmoid",
            "SimplifiedLayerNormalization"}


def prepare(shape, bits, folder, with_gguf=True):
    """The paths of the ONNX and the GGUF file (None unless asked for), which are written first if they are missing."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    onnx, gguf = (folder / f"llama_{shape.name}_{bits}.{end}" for end in ("onnx", "gguf"))
    if not onnx.exists():
        part = folder / "part" / onnx.name
        part.parent.mkdir(exist_ok=True)
        OnnxWriter(shape, bits).write(part)
        part.with_suffix(".weights").rename(onnx.with_suffix(".weights"))
        part.rename(onnx)
    if not with_gguf:
        return onnx, None
    if not gguf.exists():
        part = gguf.with_suffix(".part")
        write_gguf(shape, bits, part)
        part.rename(gguf)
    return onnx, gguf
