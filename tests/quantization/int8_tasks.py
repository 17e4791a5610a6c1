#!/usr/bin/env python3
"""tests/quantization/int8_tasks.py - released models with their programs, quantized: do they still do their task?

usage: int8_tasks.py [magika] [rapidocr] [silero] [--forms QDQ QOperator dynamic] [--files 150]

Magika labels files of the repository, RapidOCR reads images as the demo draws them, Silero finds speech in a signal.
Each program's models are quantized with inputs that the program itself gave them on other files and texts (Silero's
signal is the one it is judged by). Only products are quantized: statistics of normalizations, and the spectrum that
Silero computes by a convolution, need more than 8 bits. Without ranges (dynamic) convolutions stay floats, too: their
weights have one scale, and in Silero one channel of 128 is 200 times as large as most. Prints a line of JSON for each:
what the float and the quantized models agree in.
"""
import argparse
import difflib
import json
import pathlib
import sys
import tempfile
import types

import numpy as np
import sardonyx

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/models"), str(ROOT / "demo")]
CALIBRATED = 24  # runs of a model at most
PRODUCTS = {"static": ["Conv", "ConvTranspose", "MatMul", "Gemm"], "dynamic": ["MatMul", "LSTM", "Gather"]}
READ = ["Sardonyx runs ONNX models.", "Invoice 4711: 3 x 19.90 = 59.70 EUR",
        "The quick brown fox jumps over the lazy dog."]  # the demo's
OTHERS = ["Pack my box with five dozen jugs.", "Total 1280.45 USD, due 2026-03-17", "Order 20931: 7 x 12.50 EUR"]


class Replaced(sardonyx.InferenceSession):
    """A session that writes down what it is given, of another model in the place of some."""

    recorded, instead = {}, {}

    def __init__(self, model, *arguments, **keywords):
        self._name = pathlib.Path(model).name
        super().__init__(str(self.instead.get(self._name, model)), *arguments, **keywords)
        self._runs = self.recorded.setdefault(self._name, (str(model), []))[1]

    def run(self, names, feed, *arguments, **keywords):
        kinds = {one.name: one.type for one in self.get_inputs()}  # Magika gives lists of whole numbers
        feed = {name: np.asarray(value, "int32" if kinds[name] == "tensor(int32)" else None)
                for name, value in feed.items()}
        if len(self._runs) < CALIBRATED:
            self._runs.append(feed)
        return super().run(names, feed, *arguments, **keywords)


def install():
    """Programs that import onnxruntime get Sardonyx with such sessions."""
    module = types.ModuleType("onnxruntime")
    module.__dict__.update({name: getattr(sardonyx, name) for name in dir(sardonyx) if not name.startswith("__")})
    module.InferenceSession, module.__version__ = Replaced, sardonyx.__version__
    sys.modules["onnxruntime"] = module


class Reader:
    def __init__(self, feeds):
        self.feeds = list(feeds)

    def get_next(self):
        return self.feeds.pop(0) if self.feeds else None


def quantize(form, folder):
    """Puts quantized models in the place of all that were recorded; returns by how much they are smaller."""
    import sardonyx.quantization as tool

    Replaced.instead, sizes = {}, [0, 0]
    for name, (path, feeds) in list(Replaced.recorded.items()):
        prepared, result = str(folder / f"prepared_{name}"), str(folder / f"{form}_{name}")
        try:
            tool.quant_pre_process(path, prepared)
        except RuntimeError:  # shapes that do not follow from the model
            tool.quant_pre_process(path, prepared, skip_symbolic_shape=True)
        if form == "dynamic":
            tool.quantize_dynamic(prepared, result, PRODUCTS["dynamic"], per_channel=True,
                                  extra_options={"EnableSubgraph": True})
        else:
            tool.quantize_static(prepared, result, Reader(feeds), tool.QuantFormat[form], PRODUCTS["static"],
                                 per_channel=True, activation_type=tool.QuantType.QUInt8)
        Replaced.instead[name] = result
        sizes[0] += pathlib.Path(path).stat().st_size
        sizes[1] += pathlib.Path(result).stat().st_size
    return round(sizes[0] / sizes[1], 2)


def magika(forms, folder, count):
    """Labels of files of the repository."""
    from magika import Magika

    files = sorted(path for place in ("bindings", "benchmarks", "cmake", "demo", "docs", "examples", "include", "src",
                                      "tests", "tools", "third_party") for path in (ROOT / place).rglob("*")
                   if path.is_file() and "__pycache__" not in path.parts)
    files = files[::max(1, len(files) // count)]
    calibration, judged = files[::8], [file for index, file in enumerate(files) if index % 8]

    def labels(some):
        program = Magika()
        return [str(program.identify_path(file).output.label) for file in some]
    labels(calibration)
    exact = labels(judged)
    for form in forms:
        smaller = quantize(form, folder)
        found = labels(judged)
        same = sum(map(str.__eq__, exact, found))
        yield {"task": "magika", "form": form, "same": same, "of": len(judged), "labels": len(set(exact)),
               "smaller": smaller}


def _image(text):
    from PIL import Image, ImageDraw, ImageFont

    font = ImageFont.load_default(36)
    image = Image.new("RGB", (max(int(font.getlength(text)) + 60, 320), 100), (252, 250, 244))
    ImageDraw.Draw(image).text((30, 20), text, fill=(30, 30, 60), font=font)
    return np.asarray(image)[:, :, ::-1]


def rapidocr(forms, folder, _):
    """Texts in images, read by three models."""
    from rapidocr import RapidOCR

    def texts(some):
        program = RapidOCR(params={"Global.log_level": "error", "Det.limit_side_len": 320})
        return ["\n".join(program(_image(text)).txts or ()) for text in some]
    texts(OTHERS)
    exact = texts(READ)
    for form in forms:
        smaller = quantize(form, folder)
        found = texts(READ)
        drawn, seen, floats = ("".join("".join(some).split()) for some in (READ, found, exact))
        read = [sum(block.size for block in difflib.SequenceMatcher(None, drawn, one, False).get_matching_blocks())
                for one in (floats, seen)]
        yield {"task": "rapidocr", "form": form, "same": sum(map(str.__eq__, exact, found)), "of": len(READ),
               "characters": len(drawn), "read by floats": read[0], "read": read[1], "smaller": smaller}


def _segments(session, frames):
    """(probabilities, [first, behind the last] of the frames with speech): it begins above 0.5 and ends below 0.35."""
    state, found = np.zeros((2, 1, 128), np.float32), []
    inputs = [one.name for one in session.get_inputs()]
    for frame in frames:
        feed = {"input": frame, "state": state, "sr": np.array(16000, np.int64)}
        probability, state = session.run(None, {name: feed[name] for name in inputs})
        found.append(float(probability.item()))
    parts, speaking = [], False
    for index, one in enumerate(found):
        if one >= 0.5 and not speaking:
            parts.append([index, len(found)])
            speaking = True
        elif one < 0.35 and speaking:
            parts[-1][1] = index
            speaking = False
    return np.array(found), parts


def silero(forms, folder, _):
    """Where the speech is in a signal of tones of a voice, with a pause."""
    import zoo

    frames = list(zoo.voice_frames(16000, 1))
    for file in ("silero_vad_openvino_16k", "silero_vad"):
        Replaced.recorded, Replaced.instead = {}, {}
        path = str(zoo.silero(file))
        exact, parts = _segments(Replaced(path), frames)
        for form in forms if file != "silero_vad" else ["dynamic"]:  # its products are in bodies of control flow
            smaller = quantize(form, folder)
            found, others = _segments(Replaced(path), frames)
            yield {"task": file, "form": form, "segments": parts, "found": others,
                   "largest difference": round(float(np.abs(found - exact).max()), 4),
                   "frames decided alike": int(((found > 0.5) == (exact > 0.5)).sum()), "of": len(frames),
                   "smaller": smaller}


TASKS = {"magika": magika, "rapidocr": rapidocr, "silero": silero}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tasks", nargs="*", default=list(TASKS))
    parser.add_argument("--forms", nargs="+", default=["QDQ", "QOperator", "dynamic"])
    parser.add_argument("--files", type=int, default=150)
    options = parser.parse_args()
    install()
    for task in options.tasks:
        Replaced.recorded, Replaced.instead = {}, {}
        with tempfile.TemporaryDirectory() as folder:
            for row in TASKS[task](options.forms, pathlib.Path(folder), options.files):
                print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
