"""Python: models of LightGBM, XGBoost and CatBoost, converted and compared with the libraries that trained them."""
from client import PROGRAMS, STOCK_VERSION, line_results, make_venv, must

NAME = "LightGBM, XGBoost and CatBoost through onnxmltools"
VERSION = "4.6.0, 2.1.4, 1.2.8"
KIND = "package"
RUNS = "twelve models, compared with the libraries that trained them"


def install(place):
    lightgbm, xgboost, catboost = VERSION.split(", ")
    python = make_venv(place, f"onnxruntime=={STOCK_VERSION}", f"lightgbm=={lightgbm}", f"catboost=={catboost}",
                       "onnxmltools==1.14.0", "skl2onnx==1.20.0", "scikit-learn<1.7", "onnx<1.19", "protobuf<5",
                       "setuptools")
    # Without what only its training on other machines needs.
    must(python, "-m", "pip", "install", "-q", "--no-deps", f"xgboost=={xgboost}")


def run(place, side):
    return line_results(side.run(place / "venv/bin/python", PROGRAMS / "tools/boosted_trees_program.py", cwd=place))
