"""Prints what brainmaze-eeg-models finds in recordings made here, with the models that it carries. Arguments: none."""
import numpy as np
from brainmaze_eeg_models.seizure import predict_channel_seizure_probability
from brainmaze_eeg_models.spindles import SpindleDetector

RATE = 256
random = np.random.default_rng(1)
time = np.arange(330 * RATE) / RATE
spindles = 40 * np.sin(2 * np.pi * 13 * time) * np.exp(-(((time % 7 - 3) / 0.4) ** 2))
waves = 300 * np.sin(2 * np.pi * 3 * time) ** 15 * ((time > 200) & (time < 240))
recording = random.normal(size=time.size) * 20 + 30 * np.sin(2 * np.pi * 2 * time) + spindles + waves
recording[40 * RATE:42 * RATE] = np.nan


def say(name, *values):
    print(f"result {name}:", *(np.round(part, 3) for value in values for part in np.ravel(value)), flush=True)


for model in ("modelA", "modelB"):
    times, probability = predict_channel_seizure_probability(recording, RATE, model=model)
    say(f"seizures by {model}", times[::20], np.nan_to_num(probability[::20], nan=-1))
for model in ("eeg", "ieeg"):
    found = SpindleDetector(model=model).detect(np.stack([recording, recording[::-1]]), RATE)
    for channel in range(2):
        for start, end, sure in found.channel_intervals(channel):
            say(f"spindle by {model} in channel {channel} at {start:.0f}", start, end, sure)
