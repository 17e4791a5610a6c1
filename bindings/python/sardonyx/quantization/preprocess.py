"""Prepares a model for quantization: see quant_pre_process.

usage: python -m onnxruntime.quantization.preprocess --input MODEL --output MODEL [--skip_optimization True]
       [--skip_onnx_shape True] [--skip_symbolic_shape True] [--guess_output_rank] [--save_as_external_data]"""
import argparse
import sys

from sardonyx.quantization.shape_inference import quant_pre_process


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--input", required=True, help="the model")
    parser.add_argument("--output", required=True, help="where the prepared model is written")
    for name, text in (("skip_optimization", "fuse and fold nothing"), ("skip_onnx_shape", "fill in no types"),
                       ("skip_symbolic_shape", "do not insist on the shapes of all values")):
        parser.add_argument(f"--{name}", type=lambda value: value.lower() not in ("", "0", "false"), default=False,
                            help=text)
    parser.add_argument("--auto_merge", action="store_true", help="has no effect: equal symbols are one")
    parser.add_argument("--int_max", type=int, default=2**31 - 1, help="has no effect")
    parser.add_argument("--guess_output_rank", action="store_true",
                        help="outputs of operators that are not known have the rank of the first input")
    parser.add_argument("--verbose", type=int, default=0, help="1: log what is not inferred")
    parser.add_argument("--save_as_external_data", action="store_true", help="weights lie in a file beside the model")
    parser.add_argument("--all_tensors_to_one_file", action="store_true", help="has no effect: they always do")
    parser.add_argument("--external_data_location", help="the name of that file")
    parser.add_argument("--external_data_size_threshold", type=int, default=1024,
                        help="smaller weights stay in the model")
    return parser.parse_args()


def main():
    options = vars(parse_arguments())
    source, output = options.pop("input"), options.pop("output")
    try:
        quant_pre_process(source, output, **options)
    except Exception as failure:  # whatever it is, a command says it in one line
        sys.exit(f"{source}: {failure}")


if __name__ == "__main__":
    main()
