"""Prints what rapidocr reads from pictures drawn here. Arguments: by how many degrees to turn them (0, 4 and 180)."""
import sys

import cv2
import numpy as np
from rapidocr import RapidOCR

LINES = ["Sardonyx runs this model", "Order 66 of 2026-11-22", "The quick brown fox", "12345 67890"]


def picture(angle):
    image = np.full((60 + 70 * len(LINES), 760, 3), 255, np.uint8)
    for number, line in enumerate(LINES):
        cv2.putText(image, line, (30, 70 + 70 * number), cv2.FONT_HERSHEY_SIMPLEX, 1.4, (20, 20, 20), 3)
    turn = cv2.getRotationMatrix2D((image.shape[1] / 2, image.shape[0] / 2), angle, 1.0)
    return cv2.warpAffine(image, turn, (image.shape[1], image.shape[0]), borderValue=(255, 255, 255))


engine = RapidOCR()
for angle in map(int, sys.argv[1:] or (0, 4, 180)):
    result = engine(picture(angle))
    for number, (text, box, score) in enumerate(zip(result.txts, result.boxes, result.scores, strict=True)):
        print(f"result turned by {angle}, line {number}:", text, *np.round(np.ravel(box)), round(float(score), 3))
    print(f"result turned by {angle}, lines:", len(result.txts))
