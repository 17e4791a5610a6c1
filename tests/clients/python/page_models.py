"""Python: detectors, readers of pages and of names, whose random models their own packages export."""
import transformers_small
from client import PROGRAMS, STOCK_VERSION, compare_printed, make_venv, must

PACKAGES = {"ultralytics": "8.4.190", "onnxtr[cpu]": "0.9.0", "unstructured-inference": "1.2.0", "gliner": "0.2.29"}
NAME = ", ".join(PACKAGES).replace("[cpu]", "")
VERSION = ", ".join(PACKAGES.values())
KIND = "package"
RUNS = ("boxes, masks, points and directions in pictures, lines of text, parts of pages and names in texts, compared "
        "with stock's")
OFFLINE = {"YOLO_AUTOINSTALL": "false", "YOLO_OFFLINE": "true", "HF_HUB_OFFLINE": "1"}


def install(place):
    python = make_venv(place, f"onnxruntime=={STOCK_VERSION}", *(f"{name}=={version}" for name, version in
                                                                 PACKAGES.items()),
                       "python-doctr==1.1.0", "torch==2.6.0", "torchvision==0.21.0", "transformers==4.57.6",
                       "onnx==1.23.2", "opencv-python-headless")
    transformers_small.make(place / "small")
    must(python, "-W", "ignore", PROGRAMS / "python/page_models.py", place / "models",
         place / "small/feature-extraction", cwd=place, env=OFFLINE | {"HOME": str(place)})


def run(place, side):
    return compare_printed(place, side, place / "venv/bin/python", "-W", "ignore", PROGRAMS / "python/page_program.py",
                           place / "models", cwd=place, env=OFFLINE | {"HOME": str(place)}, tolerance=5e-3)
