"""Writes the arrays of a .npz file as a LoRA adapter."""
import argparse
import sys

import numpy as np

import onnxruntime


def get_args():
    """The arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--npz_file_path", required=True, help="the .npz file with the parameters")
    parser.add_argument("--output_file_path", required=True, help="the adapter to write")
    parser.add_argument("--adapter_version", type=int, required=True, help="a number for the adapter")
    parser.add_argument("--model_version", type=int, required=True, help="a number for the model that it belongs to")
    return parser.parse_args()


def export_lora_parameters(npz_file_path, adapter_version, model_version, output_file_path):
    """Writes each array of the file as the parameter of its name."""
    adapter = onnxruntime.AdapterFormat()
    adapter.set_adapter_version(adapter_version)
    adapter.set_model_version(model_version)
    with np.load(npz_file_path) as arrays:
        values = {name: onnxruntime.OrtValue.ortvalue_from_numpy(array) for name, array in arrays.items()}
    adapter.set_parameters(values)
    adapter.export_adapter(output_file_path)


def main():
    """Writes the adapter that the command line asks for."""
    arguments = get_args()
    export_lora_parameters(arguments.npz_file_path, arguments.adapter_version, arguments.model_version,
                           arguments.output_file_path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
