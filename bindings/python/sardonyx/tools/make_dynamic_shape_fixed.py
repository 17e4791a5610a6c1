"""Gives a symbol in shapes, or an input, fixed sizes.

usage: python -m onnxruntime.tools.make_dynamic_shape_fixed (--dim_param SYMBOL --dim_value N |
       --input_name INPUT --input_shape N,N,...) INPUT_MODEL OUTPUT_MODEL"""
from __future__ import annotations

import argparse
import os
import pathlib

import onnx

from sardonyx.tools.onnx_model_utils import fix_output_shapes, make_dim_param_fixed, make_input_shape_fixed


def _sizes(text):
    return [int(number) for number in text.split(",")]


def make_dynamic_shape_fixed_helper():
    parser = argparse.ArgumentParser("make_dynamic_shape_fixed", description=__doc__.split("\n")[0])
    parser.add_argument("--dim_param", help="the symbol; with --dim_value")
    parser.add_argument("--dim_value", type=int, help="the number that it becomes, at least 1")
    parser.add_argument("--input_name", help="the input; with --input_shape")
    parser.add_argument("--input_shape", type=_sizes, help="its shape: numbers of at least 1 between commas")
    parser.add_argument("input_model", type=pathlib.Path)
    parser.add_argument("output_model", type=pathlib.Path)
    options = parser.parse_args()
    if bool(options.dim_param) == bool(options.input_name):
        parser.error("expected either --dim_param or --input_name")
    if options.dim_param and (options.dim_value or 0) < 1:
        parser.error("--dim_param: expected --dim_value of at least 1")
    if options.input_name and min(options.input_shape or [0]) < 1:
        parser.error("--input_name: expected --input_shape with numbers of at least 1")
    model = onnx.load(os.fspath(options.input_model.resolve(strict=True)))
    if options.dim_param:
        make_dim_param_fixed(model.graph, options.dim_param, options.dim_value)
    else:
        make_input_shape_fixed(model.graph, options.input_name, options.input_shape)
    fix_output_shapes(model)
    onnx.save(model, os.fspath(options.output_model.resolve()))


if __name__ == "__main__":
    make_dynamic_shape_fixed_helper()
