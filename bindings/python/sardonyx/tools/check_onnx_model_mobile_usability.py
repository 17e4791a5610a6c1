"""Tells whether the providers of phones are likely to run a model fast.

usage: python -m onnxruntime.tools.check_onnx_model_mobile_usability [--log_level debug|info] MODEL"""
import argparse
import logging
import pathlib

from sardonyx.tools.mobile_helpers import usability_checker


def check_usability():
    parser = argparse.ArgumentParser("check_onnx_model_mobile_usability", description=__doc__.split("\n")[0])
    parser.add_argument("--log_level", choices=["debug", "info"], default="info", help="what is logged (info)")
    parser.add_argument("model_path", type=pathlib.Path, help="the model")
    options = parser.parse_args()
    logging.basicConfig(format="%(levelname)s:  %(message)s")
    logger = logging.getLogger("check_usability")
    logger.setLevel(options.log_level.upper())
    if usability_checker.analyze_model(options.model_path, skip_optimize=False, logger=logger):
        logger.info("measure this model with NNAPI on Android and CoreML on iOS beside the CPU")
    else:
        logger.info("this model runs best on the CPU")


if __name__ == "__main__":
    check_usability()
