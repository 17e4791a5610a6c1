"""Python: tools around torch, which export models themselves and run them on values of torch and of numpy."""
import transformers_small
from client import PROGRAMS, STOCK_VERSION, compare_printed, make_venv

PACKAGES = {"torch": "2.6.0", "onnx-diagnostic": "0.9.3", "hummingbird-ml": "0.4.11", "txtai": "9.10.0",
            "sentence-transformers": "5.2.0"}
NAME = "torch.onnx, " + ", ".join(list(PACKAGES)[1:])
VERSION = ", ".join(PACKAGES.values())
KIND = "package"
RUNS = ("exports checked and called, run on tensors without a copy and node by node, trees as tensors, vectors, labels "
        "and ranks of texts, compared with stock's")


def install(place):
    make_venv(place, f"onnxruntime=={STOCK_VERSION}", *(f"{name}=={version}" for name, version in PACKAGES.items()),
              "transformers==4.57.6", "optimum-onnx==0.1.0", "onnx==1.23.2", "onnxscript")
    transformers_small.make(place / "models")


def run(place, side):
    return compare_printed(place, side, place / "venv/bin/python", "-W", "ignore",
                           PROGRAMS / "tools/torch_tools_program.py", place / "models", place / side.name, cwd=place,
                           env={"HF_HUB_OFFLINE": "1"}, tolerance=2e-3)
