"""Prints the pitches that swift-f0 finds in sounds made here. Arguments: none."""
import numpy as np
import swift_f0

RATE = swift_f0.SAMPLE_RATE
random = np.random.default_rng(1)
time = np.arange(2 * RATE) / RATE


def tone(hertz):
    """A tone with five overtones whose pitch, `hertz`, may change with the time."""
    phase = 2 * np.pi * np.cumsum(np.broadcast_to(hertz, time.shape)) / RATE
    return sum(np.sin(k * phase) / k for k in range(1, 7)) * 0.2


sounds = {"steady": tone(220.0), "gliding": tone(110 * 2 ** time),
          "vibrato": tone(440 + 12 * np.sin(12 * np.pi * time)), "two notes": tone(np.where(time < 1, 196.0, 293.7)),
          "in noise": tone(330.0) + random.normal(size=time.size) * 0.05,
          "noise": random.normal(size=time.size) * 0.1, "silence": np.zeros_like(time),
          "shorter than a frame": tone(220.0)[:100]}


def say(name, values):
    print(f"result {name}:", *np.round(np.ravel(values), 5))


def voiced(found):
    """The pitches and the confidences of every sixth frame, a pitch only where there clearly is one."""
    return np.stack([np.where(found.confidence > 0.6, found.pitch_hz, 0), found.confidence])[:, ::6]


detector = swift_f0.SwiftF0(threads=1)
for name, sound in sounds.items():
    say(name, voiced(detector.detect(sound, RATE)))
    say(f"{name}, in a range", voiced(detector.detect(sound, RATE, fmin=100, fmax=500)))
    stream = swift_f0.SwiftF0(threads=2, spin=False).stream()
    parts = [stream.push(part, RATE) for part in np.array_split(sound, 5)] + [stream.flush()]
    say(f"{name}, as a stream", voiced(swift_f0.concat(parts)))
notes = swift_f0.segment_notes(detector.detect(sounds["two notes"], RATE))
say("notes", [(note.start, note.end, note.pitch_hz) for note in notes])
