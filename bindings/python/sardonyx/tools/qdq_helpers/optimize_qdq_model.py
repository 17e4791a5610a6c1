"""Writes a quantized model in the form that sessions run fastest. There is nothing to change in it: what this command
did once is part of each session (DequantizeLinear with several readers).

usage: python -m onnxruntime.tools.qdq_helpers.optimize_qdq_model INPUT_MODEL OUTPUT_MODEL"""
import argparse
import os
import pathlib

from sardonyx.model import Model


def optimize_qdq_model():
    parser = argparse.ArgumentParser("optimize_qdq_model", description=__doc__.split("\n")[0])
    parser.add_argument("input_model", type=pathlib.Path)
    parser.add_argument("output_model", type=pathlib.Path)
    options = parser.parse_args()
    model = Model(os.fspath(options.input_model.resolve(strict=True)))
    print("the model stays as it is: sessions give each reader of a DequantizeLinear its own when they are created")
    model.save(os.fspath(options.output_model.resolve()))


if __name__ == "__main__":
    optimize_qdq_model()
