"""Node: @gutenye/ocr-node reads text from pictures with the models that its package carries."""
import shutil

import cv2
import numpy as np
from client import PROGRAMS, compare_printed, must, need

NAME = "Node: @gutenye/ocr-node"
VERSION = "1.4.8"
KIND = "library"
RUNS = "pictures of text, compared with stock's words and boxes"
PICTURES = {"order.png": (1.2, ["Sardonyx runs this model", "Order 66 of 2026-11-22", "The quick brown fox"]),
            "digits.png": (2.0, ["12345 67890"]), "small.png": (0.9, ["one two three", "FOUR FIVE", "six, seven."])}


def install(place):
    need("node", "npm")
    must("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", place / "stock",
         f"@gutenye/ocr-node@{VERSION}")
    shutil.copytree(place / "stock", place / "ours", symlinks=True)
    for name, (size, lines) in PICTURES.items():
        picture = np.full((60 + 70 * len(lines), 640, 3), 255, np.uint8)
        for number, line in enumerate(lines):
            cv2.putText(picture, line, (25, 65 + 70 * number), cv2.FONT_HERSHEY_SIMPLEX, size, (20, 20, 20), 3)
        cv2.imwrite(str(place / name), picture)


def run(place, side):
    (library,) = (place / side.name).glob("node_modules/onnxruntime-node/bin/napi-v*/linux/x64/libonnxruntime.so.1")
    if side.name == "ours":
        library.unlink()
        shutil.copy(side.library, library)
    shutil.copy(PROGRAMS / "node/ocr.mjs", place / side.name)
    return compare_printed(place, side, "node", place / side.name / "ocr.mjs", *(place / name for name in PICTURES),
                           cwd=place / side.name)
