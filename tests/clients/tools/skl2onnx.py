"""Python: the tests of skl2onnx, which compare scikit-learn's models with what the package computes."""
import os

from client import STOCK_VERSION, junit_results, make_venv, must

NAME = "skl2onnx"
VERSION = "1.20.0"
KIND = "package"
RUNS = "its own tests"


def install(place):
    python = make_venv(place, f"onnxruntime=={STOCK_VERSION}", f"skl2onnx=={VERSION}", "pytest", "pytest-xdist",
                       "pandas", "setuptools", "wheel")
    # The tests are in the source package only; pip is asked for it without building it.
    must(python, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", "--no-build-isolation", "-d",
         place, f"skl2onnx=={VERSION}")
    must("tar", "xzf", place / f"skl2onnx-{VERSION}.tar.gz", cwd=place)


def run(place, side):
    source = place / f"skl2onnx-{VERSION}"
    report = place / f"{side.name}.xml"
    report.unlink(missing_ok=True)
    # Two tests train for many minutes: no other waits behind them.
    side.run(place / "venv/bin/python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n",
             os.environ.get("JOBS", "2"), "--dist", "worksteal", f"--junitxml={report}", "tests", cwd=source,
             timeout=7200,
             env={"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})
    return junit_results(report)
