"""Prints where faster-whisper hears speech in sounds made here. Arguments: none."""
import numpy as np
from faster_whisper.vad import VadOptions, get_speech_timestamps, get_vad_model

RATE = 16000
random = np.random.default_rng(1)
time = np.arange(4 * RATE) / RATE
sounds = {"noise": random.normal(size=time.size) * 0.05}
for name, pitch, resonances in (("a", 120, ((700, 90), (1200, 110), (2500, 150))),
                                ("i", 200, ((300, 60), (2300, 120), (3000, 150)))):
    phase = 2 * np.pi * np.cumsum(pitch + 10 * np.sin(2 * np.pi * 4 * time)) / RATE
    vowel = sum(np.sin(k * phase) * sum(np.exp(-((pitch * k - f) / width) ** 2) for f, width in resonances)
                for k in range(1, 35))
    sounds[name] = vowel * np.clip(np.sin(2 * np.pi * 3 * time), 0, 1) * 0.15 + random.normal(size=time.size) * 0.002
for name, sound in sounds.items():
    sound = sound.astype(np.float32)
    probabilities = get_vad_model()(sound[:sound.size // 512 * 512])
    print(f"result {name}, probabilities:", *np.round(np.ravel(probabilities)[::8], 3))
    for threshold in (0.1, 0.3):
        found = get_speech_timestamps(sound, VadOptions(threshold=threshold, min_silence_duration_ms=100))
        print(f"result {name}, times at {threshold}:", len(found),
              *(n for part in found for n in (part["start"], part["end"])))
