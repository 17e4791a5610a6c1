"""Python: optimum's pipelines on small random transformers, torch beside us in one process, what torch exports."""
from client import PROGRAMS, STOCK_VERSION, compare_printed, make_venv, must

NAME = "transformers and torch through optimum-onnx"
VERSION = "0.1.0"
KIND = "package"
RUNS = "pipelines and generation on 13 random models, torch's exports, torch before and after us; compared with stock's"


def install(place):
    # torch from the package index brings its libraries for GPUs: 6 GB.
    python = make_venv(place, f"onnxruntime=={STOCK_VERSION}", f"optimum-onnx=={VERSION}", "transformers==4.57.6",
                       "torch==2.15.0", "onnxscript", "pillow", "sentencepiece")
    must(python, "-W", "ignore", PROGRAMS / "tools/transformers_models.py", place / "models",
         env={"HF_HUB_OFFLINE": "1"})


def run(place, side):
    results = {}
    for order in ("torch", "onnxruntime"):
        (place / order).mkdir(exist_ok=True)
        printed = compare_printed(place / order, side, place / "venv/bin/python", "-W", "ignore",
                                  PROGRAMS / "tools/transformers_program.py", place / "models", order,
                                  env={"HF_HUB_OFFLINE": "1"}, tolerance=2e-4)
        results |= {f"{order} first: {name}": outcome for name, outcome in printed.items()}
    return results
