"""Node: vectors of texts with fastembed, and the voice activity detector of LiveKit's agents."""
import transformers_small
from client import PROGRAMS, compare_printed, node_folder, node_packages

PACKAGES = {"fastembed": "2.1.0", "@livekit/agents-plugin-silero": "1.9.0"}
NAME = "Node: " + ", ".join(PACKAGES)
VERSION = ", ".join(PACKAGES.values())
KIND = "library"
RUNS = "vectors of texts one by one and together, the voice in a sound at two rates, compared with stock's"


def install(place):
    node_packages(place, PACKAGES)
    transformers_small.make(place / "models")


def run(place, side):
    folder = node_folder(place, side)
    program = folder / "node_texts.mjs"
    program.write_text((PROGRAMS / "node/node_texts.mjs").read_text())
    results = {}
    for name, arguments in (("texts", [place / "models"]), ("voices", [])):
        kept = place / name
        kept.mkdir(exist_ok=True)
        results |= compare_printed(kept, side, "node", program, *arguments, cwd=folder)
    return results
