"""Prints what pipecat's detectors say of sounds made here. Arguments: none."""
import numpy as np
from pipecat.audio.turn.smart_turn.local_smart_turn_v3 import LocalSmartTurnAnalyzerV3
from pipecat.audio.vad.silero import SileroVADAnalyzer

RATE = 16000
random = np.random.default_rng(1)
time = np.arange(3 * RATE) / RATE
phase = 2 * np.pi * np.cumsum(130 + 10 * np.sin(2 * np.pi * 4 * time)) / RATE
vowel = sum(np.sin(k * phase) * sum(np.exp(-((130 * k - f) / width) ** 2)
                                    for f, width in ((700, 90), (1200, 110), (2500, 150))) for k in range(1, 35))
sounds = {"vowel": vowel * np.clip(np.sin(2 * np.pi * 3 * time), 0, 1) * 0.15,
          "noise": random.normal(size=time.size) / 20}
turn = LocalSmartTurnAnalyzerV3()
for name, sound in sounds.items():
    detector = SileroVADAnalyzer(sample_rate=RATE)
    detector.set_sample_rate(RATE)
    frames = (np.clip(sound, -1, 1) * 32767).astype(np.int16).reshape(-1)
    size = detector.num_frames_required()
    confidences = [float(np.ravel(detector.voice_confidence(frames[i:i + size].tobytes()))[0])
                   for i in range(0, frames.size - size, size)]
    print(f"result {name}, voice:", *np.round(confidences[::6], 3), flush=True)
    for part in (1, 2, 3):
        answer = turn._predict_endpoint(sound[:part * RATE].astype(np.float32))
        print(f"result {name}, {part} s, the end of a turn:", answer["prediction"], round(answer["probability"], 4),
              flush=True)
