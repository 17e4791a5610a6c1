"""Node: pipelines of transformers.js, in its present package and in its former one."""
import json
import shutil

import transformers_small
from client import PROGRAMS, compare_printed, must, need

PACKAGES = {"@huggingface/transformers": "4.3.1", "@xenova/transformers": "2.17.2"}
NAME = "Node: " + ", ".join(PACKAGES)
VERSION = ", ".join(PACKAGES.values())
KIND = "library"
RUNS = "pipelines and generation on ten small random models, compared with stock's"


def install(place):
    need("node", "npm")
    for name, version in PACKAGES.items():
        folder = place / "stock" / name
        folder.mkdir(parents=True)
        # The sharp that the former package asks for fetches its library from elsewhere.
        (folder / "package.json").write_text(json.dumps({"dependencies": {name: version},
                                                         "overrides": {"sharp": "0.34.5"}}))
        must("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", cwd=folder)
    shutil.copytree(place / "stock", place / "ours", symlinks=True)
    transformers_small.make(place / "models")


def run(place, side):
    results = {}
    for name in PACKAGES:
        folder = place / side.name / name
        libraries = list(folder.glob("node_modules/onnxruntime-node/bin/napi-v*/linux/x64/libonnxruntime.so*"))
        if side.name == "ours":
            for library in libraries:
                library.unlink()
                shutil.copy(side.library, library)
        kept = place / name.replace("/", "_")
        kept.mkdir(exist_ok=True)
        printed = compare_printed(kept, side, "node", PROGRAMS / "node/transformers_js.mjs", name, place / "models",
                                  cwd=folder)
        results |= {f"{name}: {test}": outcome for test, outcome in printed.items()}
    return results
