"""What sherpa-onnx computes with models made here; prints `name: numbers`. usage: sherpa.py SILERO_VAD.onnx FOLDER"""
import pathlib
import sys

import numpy as np
import sherpa_onnx
from sherpa_models import RATE, make_models


def voice(random):
    """Three seconds of a voice that says two vowels again and again: the harmonics of a pitch through resonances."""
    time = np.arange(3 * RATE) / RATE
    sound = np.zeros(0)
    for pitch, resonances in ((120, ((700, 90), (1200, 110), (2500, 150))),
                              (200, ((300, 60), (2300, 120), (3000, 150)))):
        phase = 2 * np.pi * np.cumsum(pitch + 10 * np.sin(2 * np.pi * 4 * time)) / RATE
        vowel = sum(np.sin(k * phase) * sum(np.exp(-((pitch * k - f) / width) ** 2) for f, width in resonances)
                    for k in range(1, 35))
        sound = np.concatenate([sound, vowel[:time.size // 2]])
    loudness = np.clip(np.sin(2 * np.pi * 3 * np.arange(sound.size) / RATE), 0, 1) * 0.15
    return (sound * loudness + random.normal(size=sound.size) * 0.002).astype(np.float32)


def main(vad_model, folder):
    folder = pathlib.Path(folder)
    random = np.random.default_rng(1)
    make_models(folder, random)
    sound = voice(random)

    for threshold in (0.1, 0.3, 0.7):
        config = sherpa_onnx.VadModelConfig()
        config.silero_vad.model = vad_model
        config.silero_vad.threshold = threshold
        config.sample_rate = RATE
        assert config.validate()
        detector = sherpa_onnx.VoiceActivityDetector(config, buffer_size_in_seconds=30)
        found = []
        for start in range(0, len(sound) - 512, 512):
            detector.accept_waveform(sound[start:start + 512])
            found.append(detector.is_speech_detected())
        detector.flush()
        segments = []
        while not detector.empty():
            segments += [detector.front.start, len(detector.front.samples)]
            detector.pop()
        print(f"result voice activity at {threshold}:", sum(found), *segments)

    speaker = sherpa_onnx.SpeakerEmbeddingExtractor(
        sherpa_onnx.SpeakerEmbeddingExtractorConfig(model=str(folder / "speaker.onnx"), num_threads=2))
    stream = speaker.create_stream()
    stream.accept_waveform(RATE, sound)
    stream.input_finished()
    print("result speaker embedding:", *np.round(speaker.compute(stream), 4))

    recognizer = sherpa_onnx.OfflineRecognizer.from_wenet_ctc(model=str(folder / "ctc.onnx"), num_threads=2,
                                                              tokens=str(folder / "tokens.txt"))
    streams = [recognizer.create_stream() for _ in range(3)]
    for number, stream in enumerate(streams):
        stream.accept_waveform(RATE, sound[:RATE * (number + 1)])
    recognizer.decode_streams(streams)
    print("result speech recognition:", *(stream.result.text for stream in streams))


main(*sys.argv[1:])
