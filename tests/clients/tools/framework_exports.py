"""Python: models as Keras, TensorFlow, Paddle and JAX export them, in an environment for each framework."""
from client import PROGRAMS, STOCK_VERSION, compare_printed, make_venv

PACKAGES = {"tensorflow": {"tensorflow-cpu": "2.21.0", "tf2onnx": "1.17.0", "keras": "3.15.1"},
            "paddle": {"paddlepaddle": "3.3.1", "paddle2onnx": "2.1.0"},
            "jax": {"jax": "0.10.2", "flax": "0.12.8", "jax2onnx": "0.17.1"}}
NAME = "tf2onnx, Keras, paddle2onnx, jax2onnx"
VERSION = "1.17.0, 3.15.1, 2.1.0, 0.17.1"
KIND = "package"
RUNS = ("networks, loops, boxes and sorts as their converters write them, compared with stock's numbers and with the "
        "framework's")


def install(place):
    for framework, packages in PACKAGES.items():
        (place / framework).mkdir()
        make_venv(place / framework, f"onnxruntime=={STOCK_VERSION}",
                  *(f"{name}=={version}" for name, version in packages.items()))


def run(place, side):
    results = {}
    for framework in PACKAGES:
        results |= compare_printed(place / framework, side, place / framework / "venv/bin/python", "-W", "ignore",
                                   PROGRAMS / "tools/framework_exports_program.py", framework, cwd=place / framework,
                                   timeout=2700)
    return results
