"""Writes a model as a session with the given level of optimization has it.

usage: python -m onnxruntime.tools.optimize_onnx_model [--opt_level LEVEL] [--log_level LEVEL] INPUT_MODEL OUTPUT_MODEL
"""
from __future__ import annotations

import argparse
import pathlib

from sardonyx.tools.onnx_model_utils import get_optimization_level, optimize_model

_SEVERITIES = ["debug", "info", "warning", "error"]


def optimize_model_helper():
    parser = argparse.ArgumentParser("optimize_onnx_model", description=__doc__.split("\n")[0])
    parser.add_argument("--opt_level", default="basic", choices=["disable", "basic", "extended", "layout", "all"],
                        help="what is optimized (basic)")
    parser.add_argument("--log_level", default="error", choices=_SEVERITIES, help="the least that is logged (error)")
    parser.add_argument("input_model", type=pathlib.Path)
    parser.add_argument("output_model", type=pathlib.Path)
    options = parser.parse_args()
    optimize_model(options.input_model, options.output_model, get_optimization_level(options.opt_level),
                   _SEVERITIES.index(options.log_level))


if __name__ == "__main__":
    optimize_model_helper()
