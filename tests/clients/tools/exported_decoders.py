"""Python: language models as optimum, torch's two exporters and genai's builder write them: results and fusions."""
from client import PROGRAMS, STOCK_VERSION, compare_printed, make_venv, must

NAME = "exported language models"
VERSION = "0.1.0"
KIND = "package"
RUNS = "95 exports of 14 random models: a prompt and five steps with caches, compared with stock's; attention is fused"


def install(place):
    # torch from the package index brings its libraries for GPUs: 6 GB. This builder is the last for transformers 4.
    python = make_venv(place, f"onnxruntime=={STOCK_VERSION}", f"optimum-onnx=={VERSION}", "transformers==4.57.6",
                       "torch==2.15.0", "onnxscript==0.7.2", "onnxruntime-genai==0.11.4", "sentencepiece")
    must(python, "-W", "ignore", PROGRAMS / "tools/exported_decoders_models.py", place / "models",
         env={"HF_HUB_OFFLINE": "1"}, timeout=3600)


def run(place, side):
    return compare_printed(place, side, place / "venv/bin/python", PROGRAMS / "tools/exported_decoders_program.py",
                           place / "models", side.name, timeout=1800)
