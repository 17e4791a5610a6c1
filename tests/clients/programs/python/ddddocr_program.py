"""Prints what ddddocr reads from pictures drawn here. Arguments: none."""
import cv2
import ddddocr
import numpy as np

random = np.random.default_rng(1)


def picture(text):
    image = (random.random((64, 200, 3)) * 50 + 200).astype(np.uint8)
    for number, letter in enumerate(text):
        cv2.putText(image, letter, (12 + 42 * number, 46), cv2.FONT_HERSHEY_SIMPLEX, 1.3, (40, 30, 90), 3)
    return cv2.imencode(".png", image)[1].tobytes()


pictures = {text: picture(text) for text in ("aB3d", "9kLm", "7391", "XyZw")}
for name, options in {"new": {"beta": True}, "old": {}}.items():
    reader = ddddocr.DdddOcr(show_ad=False, **options)
    for text, image in pictures.items():
        print(f"result {name} model, {text}:", repr(reader.classification(image)))
reader.set_ranges(0)
print("result only digits:", reader.classification(pictures["7391"], probability=True).get("text"))
finder = ddddocr.DdddOcr(det=True, ocr=False, show_ad=False)
for text, image in pictures.items():
    print(f"result boxes, {text}:", *(number for box in finder.detection(image) for number in box))
