"""Exports small networks that NVIDIA's modelopt quantized: `python export_modelopt.py FOLDER`.

Needs an environment of its own: nvidia-modelopt, torch, onnxscript. What cannot be exported is said.
"""
import copy
import pathlib
import sys
import warnings

import modelopt.torch.quantization as quantization
import torch
from torch_networks import inputs, networks

warnings.filterwarnings("ignore")


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, network in networks().items():
        x = inputs()[name]

        def calibrate(model, x=x):
            with torch.no_grad():
                model(x)

        for dynamo in (False, True):
            path = folder / f"modelopt_{'dynamo_' if dynamo else ''}{name}.onnx"
            try:
                model = quantization.quantize(copy.deepcopy(network), quantization.INT8_DEFAULT_CFG, calibrate)
                arguments = {"dynamo": True, "external_data": False} if dynamo else {"dynamo": False}
                with torch.no_grad():
                    torch.onnx.export(model, (x,), str(path), opset_version=20, **arguments)
                print("exported", path.name)
            except Exception as error:
                print("not exported", path.name, type(error).__name__, str(error)[:300])


if __name__ == "__main__":
    main()
