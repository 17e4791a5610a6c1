"""benchmarks/genai_rates.py - onnxruntime-genai, as it was released, on Sardonyx and on ONNX Runtime, in turns.

usage: genai_rates.py [--models 135m] [--bits fp32,fp16,4-bit] [--prompt 512] [--steps 128] [--rounds 3] [--threads 2]
                      [--cache shared|growing] [--environment FOLDER]

Each engine has a process with onnxruntime-genai and the model, and generates greedily in its turn: genai's own loop,
sampling and cache. The processes differ in nothing but the package `onnxruntime` that is found first. Rates are the
median of the rounds, the first one left out; the texts must be the same, but where a tie may have been broken another
way. The environment is made if it is missing.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import peer  # noqa: E402

REQUIREMENTS = ("onnxruntime==1.31.1", "onnxruntime-genai==0.18.0", "numpy")
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", ROOT / "build/release"))
PACKAGES = {"sardonyx": BUILD / "as_onnxruntime", "onnxruntime": None}


def configure(folder, shape, onnx, threads, cache, capacity):
    """Writes the folder that genai loads, which must hold the model itself."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in (onnx, onnx.with_suffix(".weights")):
        (folder / file.name).unlink(missing_ok=True)
        os.link(file, folder / file.name)
    decoder = {"session_options": {"log_id": "genai", "provider_options": [], "intra_op_num_threads": threads},
               "filename": onnx.name, "head_size": shape.head_size, "hidden_size": shape.hidden,
               "num_attention_heads": shape.heads, "num_hidden_layers": shape.layers,
               "num_key_value_heads": shape.cache_heads,
               "inputs": {"input_ids": "input_ids", "attention_mask": "attention_mask",
                          "past_key_names": "past_key_values.%d.key", "past_value_names": "past_key_values.%d.value"},
               "outputs": {"logits": "logits", "present_key_names": "present.%d.key",
                           "present_value_names": "present.%d.value"}}
    model = {"bos_token_id": 1, "eos_token_id": shape.vocabulary - 1, "pad_token_id": 0, "type": "llama",
             "vocab_size": shape.vocabulary, "context_length": capacity, "decoder": decoder}
    search = {"max_length": capacity, "past_present_share_buffer": cache == "shared"}
    (folder / "genai_config.json").write_text(json.dumps({"model": model, "search": search}))
    return folder


def serve(engine, folder, prompt, steps):
    """The process of an engine: generates once for each line of its input."""
    if engine != "sardonyx":
        peer.require()
    import numpy
    import onnxruntime_genai

    model = onnxruntime_genai.Model(folder)
    tokens = numpy.random.default_rng(0).integers(3, 300, prompt).astype(numpy.int32)
    print(json.dumps({"ready": True}), flush=True)
    for _ in sys.stdin:
        parameters = onnxruntime_genai.GeneratorParams(model)
        parameters.set_search_options(max_length=prompt + steps + 1, do_sample=False)
        generator = onnxruntime_genai.Generator(model, parameters)
        begin = time.perf_counter()
        generator.append_tokens(tokens)
        generator.generate_next_token()
        prompted = time.perf_counter()
        for _ in range(steps):
            generator.generate_next_token()
        if generator.is_done() and len(generator.get_sequence(0)) < prompt + steps + 1:
            raise RuntimeError("the model chose the token that ends a text")
        ended = time.perf_counter()
        found = {"prompt": prompt / (prompted - begin), "step": steps / (ended - prompted),
                 "text": [int(token) for token in generator.get_sequence(0)[prompt:]]}
        del generator
        time.sleep(0.05)  # its threads fall asleep before the others' turn
        print(json.dumps(found), flush=True)


class Engine:
    def __init__(self, name, python, folder, options):
        self.name = name
        path = {"PYTHONPATH": str(PACKAGES[name] or "")}
        self.process = subprocess.Popen(
            [python, "-W", "ignore", __file__, "--serve", name, folder, str(options.prompt), str(options.steps)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | path)
        self.read()

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name} ended with code {self.process.wait()}; its messages are above")
        return json.loads(line)

    def generate(self):
        print("generate", file=self.process.stdin, flush=True)
        return self.read()

    def maps_sardonyx(self):
        maps = pathlib.Path(f"/proc/{self.process.pid}/maps").read_text()
        return f"{BUILD.resolve()}/lib/" in maps  # (the weights of both lie in the build, too)

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


def environment(folder):
    python = pathlib.Path(folder) / "bin/python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *REQUIREMENTS], check=True)
    return python


def measure(python, folder, options):
    """{engine: (prompt tokens per second, steps per second)}, and after how many tokens the texts differ, or None."""
    engines = [Engine(name, python, folder, options) for name in PACKAGES]
    try:
        found = {engine.name: [] for engine in engines}
        for turn in range(options.rounds + 1):
            for engine in engines if turn % 2 == 0 else engines[::-1]:
                found[engine.name].append(engine.generate())
        for engine in engines:
            if engine.maps_sardonyx() != (engine.name == "sardonyx"):
                raise RuntimeError(f"the process of {engine.name} has loaded the other library")
    finally:
        for engine in engines:
            engine.stop()
    ours, theirs = (rounds[-1]["text"] for rounds in found.values())
    differs = next((i for i, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b), None)
    return {name: [statistics.median(one[kind] for one in rounds[1:]) for kind in ("prompt", "step")]
            for name, rounds in found.items()}, differs


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--models", default="135m")
    parser.add_argument("--bits", default="fp32,fp16,4-bit")
    parser.add_argument("--prompt", type=int, default=512)
    parser.add_argument("--steps", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cache", choices=("growing", "shared"), default="shared")
    parser.add_argument("--folder", default=BUILD / "benchmarks/llm", help="where the models are written")
    parser.add_argument("--environment", default=ROOT / "build/genai", help="made if it is missing")
    options = parser.parse_args()
    import llm_models

    python = environment(options.environment)
    print("model".ljust(16), "prompt t/s: Sardonyx  ONNX Runtime  ratio   steps/s: Sardonyx  ONNX Runtime  ratio  text")
    for model in options.models.split(","):
        for bits in options.bits.split(","):
            shape = llm_models.SHAPES[model]
            onnx, _ = llm_models.prepare(shape, bits, options.folder, with_gguf=False)
            folder = configure(pathlib.Path(options.folder) / f"genai_{model}_{bits}", shape, onnx, options.threads,
                               options.cache, options.prompt + options.steps + 1)
            rates, differs = measure(python, str(folder), options)
            (ours_prompt, ours), (peer_prompt, theirs) = rates["sardonyx"], rates["onnxruntime"]
            text = "the same" if differs is None else f"other from token {differs} on"
            print(f"{model} {bits}".ljust(16), f"{ours_prompt:20.0f} {peer_prompt:13.0f}",
                  f"{ours_prompt / peer_prompt:6.2f} {ours:19.1f} {theirs:13.1f} {ours / theirs:6.2f}  {text}",
                  flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
    else:
        main()
