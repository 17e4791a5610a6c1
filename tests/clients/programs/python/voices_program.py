"""Prints what packages for voices, texts and people make of models of random weights.

usage: voices_program.py FOLDER, with what voices_models.py has written"""
import asyncio
import pathlib
import sys

import kokoro_onnx
import minisbd
import numpy as np
import phonikud_onnx
import rtmlib
import supertonic.loader
import tokenizers
import wtpsplit_lite

FOLDER = pathlib.Path(sys.argv[1])
PHONEMES = {"short": "həlˈoʊ wˈɜːld.", "two": "ðə kwˈɪk bɹˈaʊn fˈɑːks. dʒˈʌmps ˌoʊvɚ, ðə lˈeɪzi dˈɑːɡ!",
            "long": "kwˈɪk ðə dˈɑːɡ, " * 45}
TEXT = "Hello world. This is text, it goes on and ends! Does it? The quick brown fox 12 jumps over a lazy dog. "


def say(name, *values):
    print(f"result {name}:", *values)


def sound(values):
    """How long, and how loud in eight parts: a hundredth of a sample's shift does not count."""
    parts = np.array_split(np.asarray(values, np.float64).reshape(-1), 8)
    return [len(np.ravel(values)), *(f"{np.sqrt(np.mean(part * part)):.4f}" for part in parts)]


def voices():
    for kind in ("plain", "timed"):
        kokoro = kokoro_onnx.Kokoro(str(FOLDER / f"kokoro_{kind}.onnx"), str(FOLDER / "voices.bin"))
        say(f"kokoro {kind} voices", *kokoro.get_voices(), kokoro.has_timings)
        for name, phonemes in PHONEMES.items():
            for voice, speed in (("one", 1.0), ("two", 0.7), ("one", 1.9)):
                made, rate, times = kokoro.create_timed(phonemes, voice, speed, is_phonemes=True, trim=speed == 1)
                say(f"kokoro {kind} {name} {voice} {speed}", rate, *sound(made), len(times))
        say(f"kokoro {kind} of text", *sound(kokoro.create("Hello world, how are you?", "two")[0]))

        async def stream(kokoro=kokoro):
            return [part async for part, _ in kokoro.create_stream(PHONEMES["long"], "one", is_phonemes=True)]

        for k, part in enumerate(asyncio.run(stream())):
            say(f"kokoro {kind} stream {k}", *sound(part))
    made, _, times = kokoro.create_timed(PHONEMES["long"], "two", is_phonemes=True, continuous=True)
    say("kokoro continuous", *sound(made), len(times))
    for threads in (None, 1):
        engine = supertonic.loader.load_model(FOLDER / "supertonic", auto_download=False, intra_op_num_threads=threads)
        style = supertonic.loader.load_voice_style_from_name(FOLDER / "supertonic", "V1")
        for text in ("Hello world.", TEXT):
            for steps in (1, 5):
                np.random.seed(3)
                made, length = engine([text], style, total_step=steps, lang="en")
                say(f"supertonic {threads} threads, {len(text)} letters, {steps} steps", f"{length[0]:.4f}",
                    *sound(made))


def texts():
    tokenizers.Tokenizer.from_pretrained = lambda _: tokenizers.Tokenizer.from_file(
        str(FOLDER / "phonikud/tokenizer.json"))  # which it otherwise fetches
    phonikud = phonikud_onnx.Phonikud(str(FOLDER / "phonikud/model.onnx"))
    say("phonikud metadata", *phonikud.get_metadata().items())
    for text in ("שלום עולם", "אני רוצה לאכול - הרבה, מאוד.", "א"):
        say(f"phonikud {text}", str(phonikud.add_diacritics(text)).replace(" ", "_"))
    sat = wtpsplit_lite.SaT(FOLDER / "sat", FOLDER / "sat/tokenizer.json")
    for text in (TEXT, TEXT * 20):
        found = sat.predict_proba(text, block_size=64, stride=32)
        say(f"wtpsplit {len(text)} probabilities", *(f"{one:.3f}" for one in found[:: len(found) // 30]))
        say(f"wtpsplit {len(text)} parts", *(len(part) for part in sat.split(text, threshold=0.6)))
    for threads in (None, 1):
        detector = minisbd.SBDetect(str(FOLDER / "minisbd.onnx"), use_gpu=False, max_threads=threads)
        for text in (TEXT, TEXT.lower() * 30, "One.\n\nTwo. Three"):
            found = detector.sentences(text)
            say(f"minisbd {threads} threads, {len(text)} letters", len(found), *(len(part) for part in found[:40]))


def people():
    random = np.random.default_rng(2)
    detector = rtmlib.YOLOX(str(FOLDER / "yolox.onnx"), (128, 160), det_mode="multiclass", score_thr=0.3)
    pose = rtmlib.RTMPose(str(FOLDER / "rtmpose.onnx"))
    for height, width in ((128, 160), (300, 200), (64, 90)):
        picture = random.integers(0, 256, (height // 8 + 1, width // 8 + 1, 3), np.uint8)
        picture = picture.repeat(8, 0).repeat(8, 1)[:height, :width]
        boxes, kinds = detector(picture)
        say(f"rtmlib boxes {height}", len(boxes), *kinds[:20], *(f"{one:.2f}" for one in np.ravel(boxes[:10])))
        for name, given in (("all", []), ("boxes", [[5, 5, 60, 50], [20, 10, 85, 60]])):
            points, scores = pose(picture, given)
            say(f"rtmlib points {name} {height}", *(f"{one:.1f}" for one in np.ravel(points)),
                *(f"{one:.3f}" for one in np.ravel(scores)))


voices()
texts()
people()
