"""The real models in the installed packages, with inputs like those that they were trained on.

To add a model, write a function that yields its runs, and add its rows to models(). A run is a dictionary of inputs. A
value that is a string, such as "=stateN", stands for that output of the previous run: a state that the caller keeps.
"""
import dataclasses
import functools
import importlib.util
import pathlib
from collections.abc import Callable, Iterator

import numpy as np
from PIL import Image, ImageDraw, ImageFont

WORDS = "Sardonyx reads 3 lines of text, 42 numbers & signs"


def package(name):
    """The folder of an installed package, without importing it (silero_vad would want torch)."""
    spec = importlib.util.find_spec(name)
    assert spec, f"the package {name} is not installed: make setup"
    return pathlib.Path(spec.submodule_search_locations[0])


@dataclasses.dataclass(frozen=True)
class Model:
    name: str
    path: pathlib.Path
    runs: Callable[[], Iterator[dict]]


def same_state(runs, **state):
    """Each run with the state that the run before left; `state` maps input to (output, first value)."""
    first = True
    for run in runs:
        yield run | {name: value if first else f"={output}" for name, (output, value) in state.items()}
        first = False


# ---- Magika: the first and last bytes of a file ----


def magika_runs():
    texts = [b"#include <cstdio>\nint main() { return 0; }\n", b'{"name": "sardonyx", "version": [1, 2, 3]}\n',
             b"import os\n\nfor line in open('x'):\n    print(line)\n", bytes(range(256)), b""]
    padding = 256
    rows = []
    for text in texts:
        row = np.full(2048, padding, np.int32)
        begin, end = text[:1024], text[-1024:]
        row[: len(begin)] = list(begin)
        if end:
            row[2048 - len(end):] = list(end)
        rows.append(row)
    batch = np.stack(rows)
    for count in (1, 5, 3):  # the batch size changes between runs of one session
        yield {"bytes": batch[:count]}


# ---- Silero VAD: half a second of a voice, a pause, the voice again ----


def voice(rate, seconds=1.2):
    """A gliding pitch with formants, in syllables, over faint noise; silent in the middle third."""
    random = np.random.default_rng(7)
    time = np.arange(int(rate * seconds)) / rate
    phase = 2 * np.pi * np.cumsum(120 + 25 * np.sin(2 * np.pi * 1.5 * time)) / rate
    sound = np.zeros_like(time)
    for harmonic in range(1, 30):
        frequency = 130 * harmonic
        gain = sum(np.exp(-(((frequency - formant) / width) ** 2)) for formant, width in
                   ((600, 150), (1200, 200), (2500, 300)))
        if frequency < rate / 2:
            sound += gain * np.sin(harmonic * phase)
    syllables = np.clip(np.sin(2 * np.pi * 4 * time), 0, 1) ** 0.5
    third = len(time) // 3
    syllables[third:2 * third] = 0
    sound = 0.3 * sound * syllables / np.abs(sound).max() + 0.002 * random.standard_normal(len(time))
    return sound.astype(np.float32)


def voice_frames(rate, batch=1):
    """Windows of 32 ms, each with the last 4 ms of the one before in front: [batch, 64 + 512] at 16 kHz."""
    window, context = (512, 64) if rate == 16000 else (256, 32)
    sound = voice(rate)
    previous = np.zeros((batch, context), np.float32)
    for start in range(0, len(sound) - window + 1, window):
        frame = np.stack([np.roll(sound, 777 * i)[start:start + window] for i in range(batch)])
        yield np.concatenate([previous, frame], axis=1)
        previous = frame[:, -context:]


def silero_runs(rate=16000, batch=1, with_rate=True):
    extra = {"sr": np.array(rate, np.int64)} if with_rate else {}
    runs = ({"input": frame} | extra for frame in voice_frames(rate, batch))
    return same_state(runs, state=("stateN", np.zeros((2, batch, 128), np.float32)))


def silero_sequence_runs():
    frames = np.concatenate(list(voice_frames(16000)))
    blocks = ({"input": block} for block in np.array_split(frames, 4))
    zeros = np.zeros((1, 1, 128), np.float32)
    return same_state(blocks, h=("hn", zeros), c=("cn", zeros))


# ---- RapidOCR: images of text ----


def text_image(height, width, text=WORDS, size=None):
    image = Image.new("RGB", (width, height), (250, 248, 240))
    draw = ImageDraw.Draw(image)
    size = size or max(12, height // 3)
    for line, top in enumerate(range(size // 2, max(height - size, size // 2 + 1), 2 * size)):
        draw.text((size // 2, top), text[7 * line:], fill=(20, 20, 60), font=ImageFont.load_default(size))
    return image


def as_input(image):
    """[1, 3, height, width] from -1 to 1."""
    pixels = np.asarray(image, np.float32).transpose(2, 0, 1)[None]
    return np.ascontiguousarray(pixels / 127.5 - 1)


def detection_runs():
    for height, width in ((64, 96), (160, 320), (352, 224), (160, 320)):
        yield {"x": as_input(text_image(height, width, size=20))}


def classification_runs():
    images = [as_input(text_image(48, 192)), as_input(text_image(48, 192).rotate(180))]
    yield {"x": images[0]}
    yield {"x": np.concatenate([*images, images[0]])}
    yield {"x": as_input(text_image(80, 160))}


def recognition_runs():
    for width in (48, 160, 333):
        yield {"x": as_input(text_image(48, width, size=28))}
    yield {"x": np.concatenate([as_input(text_image(48, 160, text, 28)) for text in ("Onyx", "2026-11-21", "Zürich")])}


# ---- ONNX's light models: the classifiers of ten years, with weights that take no space ----


def picture_runs(name):
    count = 3 * 224 * 224
    ramp = (np.arange(count) / count).astype(np.float32).reshape(1, 3, 224, 224)  # what ONNX's own test feeds
    yield {name: ramp}
    yield {name: as_input(text_image(224, 224, size=30))}


LIGHT_INPUT = {"resnet50": "gpu_0/data_0", "shufflenet": "gpu_0/data_0", "zfnet512": "gpu_0/data_0"}
LIGHT = ("bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50", "shufflenet", "squeezenet", "vgg19",
         "zfnet512")


def light_path(name):
    return package("onnx") / f"backend/test/data/light/light_{name}.onnx"


def silero(file):
    return package("silero_vad") / "data" / f"{file}.onnx"


def rapidocr(kind):
    (path,) = package("rapidocr").glob(f"models/*_{kind}_*.onnx")
    return path


def models():
    part = functools.partial
    (magika,) = package("magika").glob("models/*/model.onnx")
    return [
        Model("magika", magika, magika_runs),
        Model("silero_16k", silero("silero_vad"), silero_runs),
        Model("silero_8k", silero("silero_vad"), part(silero_runs, rate=8000)),
        Model("silero_batch_of_3", silero("silero_vad"), part(silero_runs, batch=3)),
        Model("silero_op15", silero("silero_vad_16k_op15"), silero_runs),
        Model("silero_half", silero("silero_vad_half"), part(silero_runs, with_rate=False)),
        Model("silero_ifless_16k", silero("silero_vad_op18_ifless"), silero_runs),
        Model("silero_ifless_8k", silero("silero_vad_op18_ifless"), part(silero_runs, rate=8000)),
        Model("silero_openvino", silero("silero_vad_openvino_16k"), part(silero_runs, with_rate=False)),
        Model("silero_sequence", silero("silero_vad_16k_sequence"), silero_sequence_runs),
        Model("rapidocr_detection", rapidocr("det"), detection_runs),
        Model("rapidocr_classification", rapidocr("cls"), classification_runs),
        Model("rapidocr_recognition", rapidocr("rec"), recognition_runs),
        *(Model(f"light_{name}", light_path(name), part(picture_runs, LIGHT_INPUT.get(name, "data_0")))
          for name in LIGHT),
    ]
