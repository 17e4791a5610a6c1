"""Converts a model to a later opset.

usage: python -m onnxruntime.tools.update_onnx_opset [--opset N] INPUT_MODEL OUTPUT_MODEL"""
import argparse
import pathlib

from sardonyx.tools.onnx_model_utils import update_onnx_opset


def update_onnx_opset_helper():
    parser = argparse.ArgumentParser("update_onnx_opset", description=__doc__.split("\n")[0])
    parser.add_argument("--opset", type=int, default=15, help="the version of ONNX's operators (15)")
    parser.add_argument("input_model", type=pathlib.Path)
    parser.add_argument("output_model", type=pathlib.Path)
    options = parser.parse_args()
    update_onnx_opset(options.input_model, options.opset, options.output_model)


if __name__ == "__main__":
    update_onnx_opset_helper()
