"""Prints where silero-vad hears speech in sounds made here. Arguments: none."""
import pathlib

import numpy as np
import onnxruntime
import silero_vad
import torch
from silero_vad.utils_vad import OnnxWrapper

RATE = 16000
random = np.random.default_rng(1)
time = np.arange(3 * RATE) / RATE
phase = 2 * np.pi * np.cumsum(130 + 10 * np.sin(2 * np.pi * 4 * time)) / RATE
vowel = sum(np.sin(k * phase) * sum(np.exp(-((130 * k - f) / width) ** 2)
                                    for f, width in ((700, 90), (1200, 110), (2500, 150))) for k in range(1, 35))
vowel = vowel * np.clip(np.sin(2 * np.pi * 3 * time), 0, 1) * 0.15 + random.normal(size=time.size) * 0.002
sounds = {"vowel": vowel, "noise": random.normal(size=time.size) * 0.05}
sounds = {name: torch.from_numpy(sound.astype(np.float32)) for name, sound in sounds.items()}


def say(name, values):
    print(f"result {name}:", *np.round(np.ravel(values), 3), flush=True)


for name, sound in sounds.items():
    for version in (15, 16):
        model = silero_vad.load_silero_vad(onnx=True, opset_version=version)
        say(f"{name}, opset {version}", model.audio_forward(sound, RATE)[0, ::6])
        for threshold in (0.1, 0.4):
            found = silero_vad.get_speech_timestamps(sound, model, threshold=threshold, min_speech_duration_ms=50)
            say(f"{name}, opset {version}, times at {threshold}", [n for part in found for n in part.values()])
    steps = silero_vad.VADIterator(silero_vad.load_silero_vad(onnx=True), threshold=0.2)
    events = [(k, event) for k in range(sound.numel() // 512) if (event := steps(sound[512 * k:512 * k + 512]))]
    say(f"{name}, step by step", [n for k, event in events for n in (k, *event.values())])
    say(f"{name}, at 8 kHz", silero_vad.load_silero_vad(onnx=True).audio_forward(sound[::2], RATE // 2)[0, ::6])
    say(f"{name}, the sequence", silero_vad.load_silero_vad(sequence=True).audio_forward(sound.numpy(), RATE)[::6])
folder = pathlib.Path(silero_vad.__file__).parent / "data"
for path in sorted(folder.glob("*.onnx")):
    session = onnxruntime.InferenceSession(path)
    inputs = {value.name: value for value in session.get_inputs()}
    say(f"{path.stem}, inputs", [len(inputs), *(len(value.shape) for value in inputs.values())])
    if {"state", "sr"} <= set(inputs):
        say(path.stem, OnnxWrapper(str(path)).audio_forward(sounds["vowel"], RATE)[0, ::6])
