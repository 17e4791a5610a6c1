"""Python: language models of transformers 5 as torch's two exporters and genai's builder of today write them."""
from client import PROGRAMS, STOCK_VERSION, compare_printed, make_venv, must

NAME = "exported language models of transformers 5"
VERSION = "5.24.0"
KIND = "package"
RUNS = "14 exports of 7 random models: a prompt and five steps with caches, compared with stock's; attention is fused"


def install(place):
    # torch from the package index brings its libraries for GPUs: 6 GB.
    python = make_venv(place, f"onnxruntime=={STOCK_VERSION}", f"transformers=={VERSION}", "torch==2.15.0",
                       "onnxscript==0.7.2", "onnxruntime-genai==0.18.0", "sentencepiece")
    must(python, "-W", "ignore", PROGRAMS / "tools/exported_decoders_newer_models.py", place / "models",
         env={"HF_HUB_OFFLINE": "1"}, timeout=3600)


def run(place, side):
    return compare_printed(place, side, place / "venv/bin/python", PROGRAMS / "tools/exported_decoders_program.py",
                           place / "models", side.name, timeout=1800)
