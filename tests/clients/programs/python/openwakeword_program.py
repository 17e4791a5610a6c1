"""Prints what openwakeword makes of sounds made here: features, how sure it is of each word, voice. Arguments: none."""
import numpy as np
from openwakeword import VAD, Model

RATE = 16000
FRAME = 1280
random = np.random.default_rng(1)
time = np.arange(3 * RATE) / RATE
sweep = np.sin(2 * np.pi * (200 + 400 * time) * time)
tones = sum(np.sin(2 * np.pi * 130 * k * time) / k for k in range(1, 20)) * np.clip(np.sin(12 * time), 0, 1)
sounds = {"noise": random.normal(size=time.size) * 3000, "sweep": sweep * 8000,
          "tones": tones * 4000 + random.normal(size=time.size) * 30}
for name, sound in sounds.items():
    sound = sound.astype(np.int16)
    model = Model()
    features = model.preprocessor.embed_clips(sound[None])
    print(f"result {name}, shape of the features:", *features.shape)
    print(f"result {name}, features:", *np.round(features.ravel()[::29], 3))
    model.reset()
    scores = [model.predict(sound[at:at + FRAME]) for at in range(0, sound.size - FRAME + 1, FRAME)]
    for word in sorted(scores[0]):  # most are near 0: their logarithms tell more
        print(f"result {name}, {word}:", *np.round([np.log10(max(it[word], 1e-4)) for it in scores], 4))
    voice = VAD()
    print(f"result {name}, voice:", *np.round([voice.predict(sound[at:at + FRAME]) for at in
                                               range(0, sound.size - FRAME + 1, FRAME)], 3))
