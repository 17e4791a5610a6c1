"""Makes defaults of inputs constants: initializers are inputs no longer.

usage: python -m onnxruntime.tools.remove_initializer_from_input --input MODEL --output MODEL"""
import argparse

import onnx


def get_args():
    """The arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--input", required=True, help="the model")
    parser.add_argument("--output", required=True, help="where the changed model is written")
    return parser.parse_args()


def remove_initializer_from_input(model: onnx.ModelProto) -> bool:
    """Changes an onnx.ModelProto; returns whether there was something to change. Models of an IR version below 4 stay:
    there initializers have to be inputs."""
    if model.ir_version < 4:
        print(f"the model has IR version {model.ir_version}: below 4 initializers have to be inputs")
        return False
    weights = {one.name for one in model.graph.initializer}
    defaults = [value for value in model.graph.input if value.name in weights]
    for value in defaults:
        model.graph.input.remove(value)
    return bool(defaults)


def _main():
    options = get_args()
    model = onnx.load(options.input)
    remove_initializer_from_input(model)
    onnx.save(model, options.output)


if __name__ == "__main__":
    _main()
