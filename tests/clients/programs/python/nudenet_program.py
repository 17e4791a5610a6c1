"""Prints what nudenet finds in pictures drawn here. Arguments: none."""
import cv2
import numpy as np
from nudenet import NudeDetector

random = np.random.default_rng(1)
detector = NudeDetector()
images = []
for number in range(4):
    image = (random.random((240, 320, 3)) * 60 + 60).astype(np.uint8)
    cv2.ellipse(image, (160, 90), (40, 55), 0, 0, 360, (150, 180, 220), -1)  # a face, more or less
    for x in (145, 175):
        cv2.circle(image, (x, 80), 6, (40, 40, 40), -1)
    cv2.ellipse(image, (160, 115), (15, 6), 0, 0, 180, (60, 60, 160), -1)
    cv2.rectangle(image, (110, 150), (210, 240), (150, 180, 220), -1)
    images.append(cv2.GaussianBlur(image, (2 * number + 1, 2 * number + 1), 0))
for number, image in enumerate(images):
    found = detector.detect(image)
    print(f"result picture {number}:", len(found),
          *(f"{box['class']} {box['score']:.3f} {box['box']}" for box in found))
print("result a batch:", *(len(found) for found in detector.detect_batch(images, batch_size=3)))
tensor = np.stack([cv2.resize(image, (320, 320)).transpose(2, 0, 1) for image in images]).astype(np.float32) / 255
(raw,) = detector.onnx_session.run(None, {detector.input_name: tensor})
print("result the model itself:", *raw.shape, *np.round(raw.max(axis=(0, 2)), 3))
