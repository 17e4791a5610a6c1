"""Two thousand steps of small decoders: no drift of the cache, the tokens of ONNX Runtime, and memory that stays.

The models are written as onnxruntime-genai's builder writes them (benchmarks/llm_models.py), with random weights. Each
step gives the `present` of the step before as `past`, or all steps write into one shared buffer.
"""

import pathlib
import sys

import numpy as np
import onnxruntime
import pytest
import sardonyx

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "benchmarks"))
import llm_models  # noqa: E402

SHAPE = llm_models.Shape("small", 96, 160, 2, 6, 2, 311, 10000.0)
STEPS, PROMPT = 2000, 5
ALL_BITS = ("fp32", "fp16", "8-bit", "4-bit-f32", "4-bit")
# Largest difference of a score from float32, relative to the largest score: each engine rounds activations to 16 bits
# at other places (some dozens of roundings of 2^-11), or to 8 bits for products of bytes (of 1/254 in every product).
BOUNDS = {"fp32": 5e-6, "4-bit-f32": 5e-6, "fp16": 5e-3, "8-bit": 4e-2, "4-bit": 4e-2}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """{bits: the path of a model}"""
    folder = tmp_path_factory.mktemp("decoders")
    return {bits: str(llm_models.prepare(SHAPE, bits, folder, with_gguf=False)[0]) for bits in ALL_BITS}


class Generation:
    """A session with its cache. `capacity`: of a shared buffer, else the cache grows."""

    def __init__(self, engine, path, capacity=0, threads=1, config=()):
        options = engine.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        for key, value in config:
            options.add_session_config_entry(key, value)
        self.engine, self.capacity = engine, capacity
        self.session = engine.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        past = [i for i in self.session.get_inputs() if i.name.startswith("past")]
        dtype = np.float16 if past[0].type == "tensor(float16)" else np.float32
        self.cache = {
            i.name: engine.OrtValue.ortvalue_from_numpy(np.zeros((1, i.shape[1], capacity, i.shape[3]), dtype))
            for i in past
        }
        self.length = 0

    def run(self, tokens):
        """The scores of the last of these tokens."""
        total = self.length + len(tokens)
        binding = self.session.io_binding()
        binding.bind_cpu_input("input_ids", np.asarray(tokens, np.int64)[None])
        binding.bind_cpu_input("attention_mask", np.ones((1, total), np.int64))
        outputs = [o.name for o in self.session.get_outputs()]
        for name, value in self.cache.items():
            binding.bind_ortvalue_input(name, value)
        for name in outputs:
            past = name.replace("present", "past_key_values")
            if self.capacity and past in self.cache:
                binding.bind_ortvalue_output(name, self.cache[past])
            else:
                binding.bind_output(name, "cpu")
        self.session.run_with_iobinding(binding)
        results = dict(zip(outputs, binding.get_outputs(), strict=True))
        if not self.capacity:
            self.cache = {name: results[name.replace("past_key_values", "present")] for name in self.cache}
        self.length = total
        return results["logits"].numpy()[0, -1].astype(np.float32)

    def cached(self):
        """Keys and values of the tokens so far, by name."""
        return {name: value.numpy()[:, :, : self.length].astype(np.float32) for name, value in self.cache.items()}


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def assert_close(found, wanted, bound, text):
    difference = float(np.abs(found - wanted).max() / np.abs(wanted).max())
    assert difference <= bound, f"{text}: differs by {difference:.2e}, at most {bound:.0e} is expected"


@pytest.mark.parametrize("shared", [False, True], ids=["growing", "shared"])
@pytest.mark.parametrize("bits", ALL_BITS)
def test_a_cache_does_not_drift(models, bits, shared):
    """What 2,000 steps leave in the cache is what one run over the same tokens computes."""
    tokens = np.random.default_rng(3).integers(0, SHAPE.vocabulary, PROMPT + STEPS).tolist()
    steps = Generation(sardonyx, models[bits], PROMPT + STEPS if shared else 0, threads=2)
    steps.run(tokens[:PROMPT])
    for i in range(PROMPT, len(tokens)):
        scores = steps.run(tokens[i : i + 1])
    once = Generation(sardonyx, models[bits], PROMPT + STEPS if shared else 0, threads=2)
    wanted = once.run(tokens)
    bound = BOUNDS[bits]
    assert_close(scores, wanted, bound, "scores")
    found = steps.cached()
    for name, rows in once.cached().items():
        assert_close(found[name], rows, bound, name)


@pytest.mark.parametrize("shared", [False, True], ids=["growing", "shared"])
@pytest.mark.parametrize("bits", ALL_BITS)
def test_deterministic_steps_have_the_bits_of_one_run(models, bits, shared):
    """Steps and runs over a few tokens behind a cache leave the bits that one run over the same tokens computes."""
    count = 1100  # three blocks of keys
    tokens = np.random.default_rng(5).integers(0, SHAPE.vocabulary, count).tolist()
    capacity, config = count if shared else 0, (("session.use_deterministic_compute", "1"),)
    steps = Generation(sardonyx, models[bits], capacity, threads=2, config=config)
    once = Generation(sardonyx, models[bits], capacity, threads=2, config=config)
    steps.run(tokens[:PROMPT])
    while steps.length < count:
        some = 7 if steps.length % 100 == 0 else 1
        scores = steps.run(tokens[steps.length : steps.length + some])
    assert np.array_equal(scores, once.run(tokens))
    found = steps.cached()
    for name, rows in once.cached().items():
        assert np.array_equal(found[name], rows), name


@pytest.mark.parametrize("bits", ALL_BITS)
def test_tokens_of_the_peer(models, bits):
    """Greedy tokens are the peer's, but where its scores of both are closer than what rounding explains."""
    ours, theirs = Generation(sardonyx, models[bits]), Generation(onnxruntime, models[bits])
    token = [7]
    chosen, ties = [], 0
    for step in range(STEPS):
        scores, wanted = ours.run(token), theirs.run(token)
        assert_close(scores, wanted, BOUNDS[bits], f"step {step}")
        best, expected = int(scores.argmax()), int(wanted.argmax())
        gap = float(wanted[expected] - wanted[best]) / float(np.abs(wanted).max())
        assert gap <= (1e-4 if bits in ("fp32", "4-bit-f32") else 2 * BOUNDS[bits]), (
            f"step {step}: token {best} in place of {expected}, {gap:.1e} apart"
        )
        ties += best != expected
        # A random decoder soon repeats itself: now and then a token comes from outside.
        token = [best if step % 16 else (31 * step) % SHAPE.vocabulary]
        chosen.append(best)
    assert len(set(chosen)) > 20, "the generation says too little"
    assert ties <= STEPS // (1000 if bits in ("fp32", "4-bit-f32") else 20), f"{ties} ties"


def test_memory_stays(models):
    """After a first generation, ten more in the same shared buffer need no more memory."""
    steps = Generation(sardonyx, models["4-bit"], PROMPT + STEPS, threads=2)

    def generate():
        steps.length = 0
        for i in range(STEPS):
            steps.run([i % SHAPE.vocabulary])

    generate()
    before = resident_bytes()
    for _ in range(10):
        generate()
    grown = resident_bytes() - before
    assert grown < 1 << 20, f"{grown} bytes more after {10 * STEPS} steps"
