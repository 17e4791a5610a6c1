"""benchmarks/diffusion_rates.py - Stable Diffusion by optimum's pipeline on Sardonyx and on ONNX Runtime, in turns.

usage: diffusion_rates.py [--steps 10] [--rounds 3] [--environment FOLDER] [--folder FOLDER]

A small random model (text encoder, U-Net, both halves of the autoencoder) is made by diffusers and exported by optimum,
then optimum's ORTStableDiffusionPipeline makes pictures with it, unchanged, in a process for each engine; they differ
in nothing but the package `onnxruntime` that is found first. Times are the median of the rounds, the first one left
out. `difference` is the largest one of the pictures, whose values lie in 0 to 1. The environment is made if it is
missing: torch and diffusers are gigabytes.
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

REQUIREMENTS = ("onnxruntime==1.31.1", "optimum-onnx==0.1.0", "diffusers==0.39.0", "transformers==4.57.6",
                "torch==2.15.0", "onnxscript", "pillow", "numpy")
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", ROOT / "build/release"))
PACKAGES = {"sardonyx": BUILD / "as_onnxruntime", "onnxruntime": None}
PROMPT = "a cat on the mat"


def make(folder):
    """Writes the exported pipeline into the folder; runs in the environment."""
    import string

    import diffusers
    import torch
    import transformers
    from optimum.exporters.onnx import main_export

    torch.manual_seed(0)
    folder.mkdir(parents=True, exist_ok=True)
    letters = [*string.ascii_lowercase, *(f"{letter}</w>" for letter in string.ascii_lowercase)]
    vocabulary = {word: i for i, word in enumerate([*letters, "<|startoftext|>", "<|endoftext|>"])}
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    tokenizer = transformers.CLIPTokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"), model_max_length=77)
    text = transformers.CLIPTextConfig(
        vocab_size=len(vocabulary), hidden_size=128, intermediate_size=512, num_hidden_layers=4, num_attention_heads=8,
        bos_token_id=len(vocabulary) - 2, eos_token_id=len(vocabulary) - 1, pad_token_id=len(vocabulary) - 1)
    unet = diffusers.UNet2DConditionModel(
        sample_size=32, block_out_channels=(64, 128, 256), layers_per_block=2, cross_attention_dim=128,
        attention_head_dim=8, down_block_types=("CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D", "CrossAttnUpBlock2D"))
    vae = diffusers.AutoencoderKL(
        block_out_channels=(32, 64, 128), latent_channels=4, sample_size=128,
        down_block_types=("DownEncoderBlock2D",) * 3, up_block_types=("UpDecoderBlock2D",) * 3)
    pipeline = diffusers.StableDiffusionPipeline(
        vae=vae, text_encoder=transformers.CLIPTextModel(text), tokenizer=tokenizer, unet=unet, safety_checker=None,
        scheduler=diffusers.DDIMScheduler(), feature_extractor=None, requires_safety_checker=False)
    pipeline.save_pretrained(folder / "torch")
    main_export(str(folder / "torch"), folder / "onnx", task="text-to-image")


def serve(engine, folder, steps):
    """The process of an engine: makes a picture for each line of its input, and keeps the last one."""
    if engine != "sardonyx":
        peer.require()
    import numpy
    import onnxruntime
    import torch
    from optimum.onnxruntime import ORTStableDiffusionPipeline

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    pipeline = ORTStableDiffusionPipeline.from_pretrained(folder / "onnx", session_options=options)
    pipeline.set_progress_bar_config(disable=True)
    seconds = {}
    for name in ("text_encoder", "unet", "vae_decoder"):
        part = getattr(pipeline, name)

        def timed(*arguments, _run=part.forward, _name=name, **named):
            begin = time.perf_counter()
            result = _run(*arguments, **named)
            seconds[_name] = seconds.get(_name, 0) + time.perf_counter() - begin
            return result

        part.forward = timed
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        latents = numpy.random.default_rng(1).standard_normal((1, 4, 32, 32), numpy.float32)
        seconds.clear()
        begin = time.perf_counter()
        picture = pipeline(PROMPT, num_inference_steps=steps, latents=torch.from_numpy(latents), output_type="np")
        found = {"pipeline": time.perf_counter() - begin} | seconds
        numpy.save(line.strip(), picture.images[0])
        time.sleep(0.05)  # its threads fall asleep before the others' turn
        print(json.dumps(found), flush=True)


class Engine:
    def __init__(self, name, python, options):
        self.name, self.picture = name, pathlib.Path(options.folder) / f"{name}.npy"
        path = {"PYTHONPATH": str(PACKAGES[name] or ""), "HF_HUB_OFFLINE": "1"}
        self.process = subprocess.Popen(
            [python, "-W", "ignore", __file__, "--serve", name, str(options.folder), str(options.steps)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | path)
        self.read()

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name} ended with code {self.process.wait()}; its messages are above")
        return json.loads(line)

    def draw(self):
        print(self.picture, file=self.process.stdin, flush=True)
        return self.read()

    def maps_sardonyx(self):
        return f"{BUILD.resolve()}/lib/" in pathlib.Path(f"/proc/{self.process.pid}/maps").read_text()

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


def environment(folder):
    python = pathlib.Path(folder) / "bin/python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *REQUIREMENTS], check=True)
    return python


def main():
    import numpy

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", default=BUILD / "benchmarks/diffusion", help="where the model is written")
    parser.add_argument("--environment", default=ROOT / "build/diffusion", help="made if it is missing")
    options = parser.parse_args()
    python = environment(options.environment)
    if not (pathlib.Path(options.folder) / "onnx/unet/model.onnx").exists():
        subprocess.run([python, "-W", "ignore", __file__, "--make", str(options.folder)], check=True,
                       env=os.environ | {"PYTHONPATH": "", "HF_HUB_OFFLINE": "1"})
    engines = [Engine(name, python, options) for name in PACKAGES]
    found = {engine.name: [] for engine in engines}
    try:
        for turn in range(options.rounds + 1):
            for engine in engines if turn % 2 == 0 else engines[::-1]:
                found[engine.name].append(engine.draw())
        for engine in engines:
            if engine.maps_sardonyx() != (engine.name == "sardonyx"):
                raise RuntimeError(f"the process of {engine.name} has loaded the other library")
    finally:
        for engine in engines:
            engine.stop()
    print(f"ms of a picture of {options.steps} steps".ljust(32), *(name.rjust(12) for name in PACKAGES), "  ratio")
    for part in ("pipeline", "text_encoder", "unet", "vae_decoder"):
        ours, theirs = (1e3 * statistics.median(one[part] for one in rounds[1:]) for rounds in found.values())
        print(part.ljust(32), f"{ours:12.1f} {theirs:12.1f} {theirs / ours:7.2f}")
    ours, theirs = (numpy.load(engine.picture) for engine in engines)
    print(f"difference of the pictures: {numpy.abs(ours - theirs).max():.1e}; they spread by {theirs.std():.2f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--make"]:
        make(pathlib.Path(sys.argv[2]))
    elif sys.argv[1:2] == ["--serve"]:
        serve(sys.argv[2], pathlib.Path(sys.argv[3]), int(sys.argv[4]))
    else:
        main()
