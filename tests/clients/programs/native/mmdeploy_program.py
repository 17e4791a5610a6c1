"""Prints what MMDeploy's runtime finds in pictures with models of random weights. Arguments: their folder."""
import sys

import mmdeploy_runtime
import numpy as np

FOLDER = sys.argv[1]


def say(name, *values):
    print(f"result {name}:", *values, flush=True)


def picture(height, width, seed):
    """Slopes, a bright box and some noise."""
    down, across = np.indices((height, width))
    channels = np.stack([down * 255 / height, across * 255 / width, (down + across) % 256], axis=-1)
    channels[height // 4 : height // 2, width // 3 : width // 2] = (250, 240 - 60 * seed, 30 * seed)
    noise = np.random.default_rng(seed).normal(0, 6, channels.shape)
    return np.clip(channels + noise, 0, 255).astype(np.uint8)


PICTURES = [picture(*size, seed) for seed, size in enumerate(((64, 64), (48, 120), (200, 160), (33, 57)))]


def classes():
    classifier = mmdeploy_runtime.Classifier(model_path=f"{FOLDER}/classifier", device_name="cpu", device_id=0)
    for number, image in enumerate(PICTURES):
        say(f"classes of {number}", *(f"{value:.5f}" for pair in classifier(image) for value in pair))
    say("classes of all", *(f"{value:.5f}" for found in classifier.batch(PICTURES) for pair in found for value in pair))


def boxes():
    detector = mmdeploy_runtime.Detector(model_path=f"{FOLDER}/detector", device_name="cpu", device_id=0)
    for number, image in enumerate(PICTURES):
        found, labels, _ = detector(image)
        say(f"boxes of {number}", len(found), *np.asarray(labels)[:12], *np.round(np.ravel(found)[:60], 3))
    every = detector.batch(PICTURES)
    say("boxes of all", *(len(found[0]) for found in every), *np.round([np.mean(found[0]) for found in every], 3))


def masks():
    segmentor = mmdeploy_runtime.Segmentor(model_path=f"{FOLDER}/segmentor", device_name="cpu", device_id=0)
    for number, image in enumerate(PICTURES):
        found = np.asarray(segmentor(image))
        say(f"mask of {number}", *found.shape, *np.bincount(found.ravel().astype(int), minlength=4))


def no_model():
    try:
        mmdeploy_runtime.Classifier(model_path=f"{FOLDER}/none", device_name="cpu", device_id=0)
        say("what is no model", "is loaded")
    except RuntimeError:
        say("what is no model", "is refused")


if __name__ == "__main__":
    for part in (classes, boxes, masks, no_model):
        part()
    print("end")
