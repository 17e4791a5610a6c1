"""Runs real models on real input: Magika identifies the types of files, and RapidOCR reads the text in an image.

Both packages run their own code; only what they import as `onnxruntime` is Sardonyx (stand_in.py).

usage: demo/demo.py [--text TEXT] [FILE...]
"""
import argparse
import difflib
import os
import pathlib
import statistics
import sys
import textwrap

import stand_in  # isort: skip  (before the packages that import onnxruntime)
import numpy as np
import sardonyx
from magika import Magika
from PIL import Image, ImageDraw, ImageFont
from rapidocr import RapidOCR

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILES = ("README.md", "Makefile", "CMakeLists.txt", "src/base/error.h", "src/model/load.cpp", "tools/setup.py",
         "tools/check_static_init.sh", "vcpkg.json", "docs/architecture.svg", "build/release/bin/sardonyx",
         "build/release/compile_commands.json", "build/release/lib/libsardonyx.so")
TEXT = """Sardonyx runs ONNX models.
Invoice 4711: 3 x 19.90 = 59.70 EUR
The quick brown fox jumps over the lazy dog."""


def colour(code, text):
    return f"\033[{code}m{text}\033[0m" if sys.stdout.isatty() and not os.environ.get("NO_COLOR") else text


def heading(text):
    print(f"\n{colour(1, text)}")


def identify(files):
    """Prints a table of what Magika says about each file."""
    heading("What kind of files are these? (Magika)")
    magika = Magika()
    width = max(len(str(file)) for file in files)
    for file in files:
        result = magika.identify_path(file)
        if not result.ok:
            print(f"  {str(file):<{width}}  {colour(31, result.status)}")
            continue
        shown = f"{result.output.label} ({result.output.description})"
        print(f"  {str(file):<{width}}  {colour(32, shown)}, {100 * result.score:.1f} % sure")


def draw(text):
    """An image of `text`, dark on light, with wrapped lines."""
    font = ImageFont.load_default(36)
    lines = [part for line in text.splitlines() for part in textwrap.wrap(line, 48) or [""]]
    width = int(max(font.getlength(line) for line in lines)) + 60
    image = Image.new("RGB", (max(width, 320), 60 * len(lines) + 40), (252, 250, 244))
    canvas = ImageDraw.Draw(image)
    for row, line in enumerate(lines):
        canvas.text((30, 20 + 60 * row), line, fill=(30, 30, 60), font=font)
    return image, lines


def read(text):
    """Prints what RapidOCR's three models (detection, direction, recognition) read from an image of `text`."""
    image, lines = draw(text)
    path = ROOT / "build/demo/text.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path)
    heading(f"What is written in {path.relative_to(ROOT)}? (RapidOCR)")
    reader = RapidOCR(params={"Global.log_level": "error", "Det.limit_side_len": 320})
    result = reader(np.asarray(image)[:, :, ::-1])
    found = list(zip(result.txts or (), result.scores or (), strict=True))
    for line, score in found:
        print(f"  {colour(32, line)}  {100 * score:.1f} % sure")
    drawn, seen = "".join("".join(lines).split()), "".join("".join(line for line, _ in found).split())
    equal = sum(block.size for block in difflib.SequenceMatcher(None, drawn, seen, False).get_matching_blocks())
    print(f"  {equal} of the {len(drawn)} characters drawn were read")


def show_times():
    heading(f"Time per inference (Sardonyx {sardonyx.sardonyx_version}, {sardonyx.get_device()})")
    for name, seconds in stand_in.inference_times.items():
        runs = f"{len(seconds)} run{'s' if len(seconds) != 1 else ''}"
        print(f"  {name:<40} {1000 * statistics.median(seconds):8.2f} ms  ({runs}, median)")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--text", default=TEXT, help="the text to draw and read")
    parser.add_argument("files", nargs="*", metavar="FILE", help="the files to identify (default: some of this folder)")
    options = parser.parse_args()
    if not options.text.strip():
        parser.error("--text: expected some text to draw, found none")
    os.chdir(ROOT if not options.files else os.getcwd())
    identify(options.files or [file for file in FILES if pathlib.Path(file).exists()])
    read(options.text)
    show_times()


if __name__ == "__main__":
    main()
