"""Python: optimum's ORTOptimizer and ORTQuantizer, and sentence-transformers' exports, on a small random BERT."""
from client import PROGRAMS, STOCK_VERSION, compare_printed, make_venv, must

NAME = "optimizers and quantizers of optimum-onnx and sentence-transformers"
VERSION = "0.1.0, 5.2.0"
KIND = "package"
RUNS = "ORTOptimizer with O1 to O4, ORTQuantizer dynamic and static, exports of sentence models; compared with stock's"


def install(place):
    # torch from the package index brings its libraries for GPUs: 6 GB.
    python = make_venv(place, f"onnxruntime=={STOCK_VERSION}", "optimum-onnx==0.1.0", "sentence-transformers==5.2.0",
                       "transformers==4.57.6", "torch==2.6.0", "onnxscript", "datasets")
    must(python, "-W", "ignore", PROGRAMS / "tools/optimizer_models.py", place / "models", env={"HF_HUB_OFFLINE": "1"})


def run(place, side):
    made = place / side.name
    made.mkdir(exist_ok=True)
    return compare_printed(place, side, place / "venv/bin/python", "-W", "ignore",
                           PROGRAMS / "tools/optimizer_program.py", place / "models", made,
                           env={"HF_HUB_OFFLINE": "1"}, tolerance=2e-3)
