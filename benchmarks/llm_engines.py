"""benchmarks/llm_engines.py - a process that generates with one engine as llm.py tells it, line by line.

usage: llm_engines.py ENGINE MODEL THREADS CAPACITY CACHE, with the Python that has the engine: sardonyx, onnxruntime or
llama_cpp.

Each line of the input is JSON, and so is each line of the answer: {"tokens": [...], "one_by_one": bool} runs over the
tokens, at once (long prompts in parts, for the memory of their scores) or in steps, and answers {"seconds": [of each
run], "scores": of the last token}; with "repeat": N the run at once is made N times from the same cache, which stays as
it is; {"begin": true} starts another generation; {"fill": N} one whose cache has N tokens that no run over a prompt
computed, so that a long one takes no minutes; {"peak": true} asks for {"peak_mb"}: the most memory since the engine was
imported. CACHE is how ONNX engines keep keys and values: "growing", each run's `present` is the `past` of the next
one, or "shared", both are one buffer of CAPACITY tokens. Scores are as many as the check needs (SCORES).
"""
import ctypes
import importlib
import json
import pathlib
import sys
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))

SCORES = 512
PART = 1024  # tokens of a prompt in a run
VOCABULARY = 256  # tokens of a filled cache stay below every model's number of them
FILLED = 512  # tokens of a sequence of which llama.cpp's filled cache is made


class OnnxGeneration:
    """A session of Sardonyx or ONNX Runtime, with the cache in OrtValues."""

    def __init__(self, engine, path, threads, capacity, cache):
        import peer

        peer.require()
        self.engine, self.capacity, self.shared = importlib.import_module(engine), capacity, cache == "shared"
        options = self.engine.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        self.session = self.engine.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.past = [i for i in self.session.get_inputs() if i.name.startswith("past")]
        self.has_positions = any(i.name == "position_ids" for i in self.session.get_inputs())
        self.outputs = [o.name for o in self.session.get_outputs()]
        self.type = np.float16 if self.past[0].type == "tensor(float16)" else np.float32
        self.begin()

    def begin(self):
        """Another generation, with an empty cache."""
        self.length, tokens = 0, self.capacity if self.shared else 0
        self.cache = {i.name: self.engine.OrtValue.ortvalue_from_numpy(
            np.zeros((1, i.shape[1], tokens, i.shape[3]), self.type)) for i in self.past}

    def fill(self, length):
        """Another generation behind `length` tokens, with a cache of random numbers."""
        rows, random = self.capacity if self.shared else length, np.random.default_rng(0)
        self.length = length
        self.cache = {i.name: self.engine.OrtValue.ortvalue_from_numpy(
            random.standard_normal((1, i.shape[1], rows, i.shape[3]), np.float32).astype(self.type))
            for i in self.past}

    def state(self):
        """What `restore` takes to forget the tokens after now."""
        return self.length, self.cache

    def restore(self, state):
        self.length, self.cache = state

    def run(self, tokens):
        """Seconds of a run over these tokens, and the scores of the last one."""
        total = self.length + len(tokens)
        binding = self.session.io_binding()
        start = time.perf_counter()
        binding.bind_cpu_input("input_ids", np.asarray(tokens, np.int64)[None])
        binding.bind_cpu_input("attention_mask", np.ones((1, total), np.int64))
        if self.has_positions:
            binding.bind_cpu_input("position_ids", np.arange(self.length, total, dtype=np.int64)[None])
        for name, value in self.cache.items():
            binding.bind_ortvalue_input(name, value)
        for name in self.outputs:
            past = name.replace("present", "past_key_values")
            if self.shared and past in self.cache:
                binding.bind_ortvalue_output(name, self.cache[past])
            else:
                binding.bind_output(name, "cpu")
        self.session.run_with_iobinding(binding)
        results = dict(zip(self.outputs, binding.get_outputs(), strict=True))
        if not self.shared:
            self.cache = {name: results[name.replace("past_key_values", "present")] for name in self.cache}
        self.length = total
        seconds = time.perf_counter() - start
        return seconds, results["logits"].numpy()[0, -1]


class LlamaCppGeneration:
    """A model and a context of llama.cpp, by its C functions. The cache has the type of the weights, at least float16;
    scores are computed for every token, as the ONNX models do."""

    def __init__(self, _engine, path, threads, capacity, _cache):
        import llama_cpp

        self.api = llama_cpp
        # Messages go nowhere; the callback must live as long as the library.
        self.silence = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(lambda *_: None)
        llama_cpp.llama_log_set(ctypes.cast(self.silence, type(llama_cpp.llama_log_callback(lambda *_: None))), None)
        llama_cpp.llama_backend_init()
        parameters = llama_cpp.llama_model_default_params()
        self.model = llama_cpp.llama_model_load_from_file(path.encode(), parameters)
        if not self.model:
            raise RuntimeError(f"llama.cpp cannot load {path}")
        self.path, self.threads, self.capacity = path, threads, capacity
        self.context = None
        self.open(1)
        self.vocabulary = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(self.model))
        self.batch = llama_cpp.llama_batch_init(min(capacity, PART), 0, 1)
        self.length = 0

    def open(self, sequences):
        """Makes the context, in the place of an older one, with one cache for at most so many sequences."""
        if self.context:
            self.api.llama_free(self.context)
        parameters = self.api.llama_context_default_params()
        parameters.n_ctx = -(-self.capacity // 256) * 256
        parameters.n_batch = min(self.capacity, PART)
        parameters.n_threads = parameters.n_threads_batch = self.threads
        parameters.n_seq_max, parameters.kv_unified = sequences, sequences > 1
        if "fp32" in self.path:
            parameters.type_k = parameters.type_v = self.api.GGML_TYPE_F32
        self.context = self.api.llama_init_from_model(self.model, parameters)

    def begin(self):
        """Another generation, with an empty cache."""
        self.api.llama_memory_clear(self.api.llama_get_memory(self.context), True)
        self.length = 0

    def fill(self, length):
        """Another generation behind `length` tokens, a multiple of FILLED: copies of a short sequence, joined to one.
        All have the positions of the first; what a step reads is the same."""
        self.open(length // FILLED)
        self.length = 0
        self.run([i % VOCABULARY for i in range(FILLED)])
        memory = self.api.llama_get_memory(self.context)
        size = self.api.llama_state_seq_get_size(self.context, 0)
        kept = (ctypes.c_uint8 * size)()
        self.api.llama_state_seq_get_data(self.context, kept, size, 0)
        for sequence in range(1, length // FILLED):
            if self.api.llama_state_seq_set_data(self.context, kept, size, sequence) == 0:
                raise RuntimeError(f"llama.cpp has no room for {length} tokens")
            self.api.llama_memory_seq_cp(memory, sequence, 0, -1, -1)
            self.api.llama_memory_seq_rm(memory, sequence, -1, -1)
        self.length = FILLED

    def decode(self):
        code = self.api.llama_decode(self.context, self.batch)
        if code:
            raise RuntimeError(f"llama_decode failed with code {code}")

    def state(self):
        """What `restore` takes to forget the tokens after now."""
        return self.length

    def restore(self, state):
        self.api.llama_memory_seq_rm(self.api.llama_get_memory(self.context), 0, state, -1)
        self.length = state

    def run(self, tokens):
        """Seconds of a run over these tokens, and the scores of the last one."""
        batch = self.batch
        start = time.perf_counter()
        batch.n_tokens = len(tokens)
        for i, token in enumerate(tokens):
            batch.token[i], batch.pos[i] = token, self.length + i
            batch.n_seq_id[i], batch.seq_id[i][0], batch.logits[i] = 1, 0, 1
        self.decode()
        scores = self.api.llama_get_logits_ith(self.context, len(tokens) - 1)
        seconds = time.perf_counter() - start
        self.length += len(tokens)
        return seconds, np.ctypeslib.as_array(scores, (self.vocabulary,))


def peak_megabytes():
    """VmHWM of this process."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:")) / 1024


def settle(limit=0.3):
    """Returns when the worker threads of this process have gone to sleep: others measure next."""
    begin = time.perf_counter()
    while time.perf_counter() - begin < limit:
        used, start = time.process_time(), time.perf_counter()
        time.sleep(0.004)
        if time.process_time() - used < 0.02 * (time.perf_counter() - start):
            return


def answer(generation, order, before):
    if order.get("begin"):
        generation.begin()
        return {}
    if "fill" in order:
        generation.fill(order["fill"])
        return {}
    if order.get("peak"):
        return {"peak_mb": peak_megabytes() - before}
    tokens, seconds = order["tokens"], []
    if "repeat" in order:
        state = generation.state()
        for _ in range(order["repeat"]):
            generation.restore(state)
            took, scores = generation.run(tokens)
            seconds.append(took)
        generation.restore(state)
        settle()
        return {"seconds": seconds, "scores": [round(float(x), 5) for x in scores[:SCORES]]}
    step = 1 if order["one_by_one"] else PART
    for part in (tokens[begin : begin + step] for begin in range(0, len(tokens), step)):
        took, scores = generation.run(part)
        seconds.append(took)
    settle()
    return {"seconds": seconds, "scores": [round(float(x), 5) for x in scores[:SCORES]]}


def main():
    engine, path, threads, capacity, cache = sys.argv[1:]
    importlib.import_module(engine)
    before = peak_megabytes()
    kind = LlamaCppGeneration if engine == "llama_cpp" else OnnxGeneration
    generation = kind(engine, path, int(threads), int(capacity), cache)
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(generation, json.loads(line), before)), flush=True)


if __name__ == "__main__":
    main()
