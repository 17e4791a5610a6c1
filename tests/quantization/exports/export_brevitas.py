"""Exports small networks of brevitas as QuantizeLinear, Clip and DequantizeLinear: `python export_brevitas.py FOLDER`.

Needs an environment of its own: brevitas, torch, onnxscript.
"""
import pathlib
import sys
import warnings

import brevitas.nn as qnn
import torch
from brevitas.export import export_onnx_qcdq
from brevitas.quant import (
    Int8ActPerTensorFloat,
    Int8Bias,
    Int8WeightPerChannelFloat,
    Int8WeightPerTensorFloat,
    Int32Bias,
    ShiftedUint8ActPerTensorFloat,
    Uint8ActPerTensorFloat,
)
from torch import nn

warnings.filterwarnings("ignore")


class Residual(nn.Module):
    def __init__(self, bits=8, bias=Int32Bias, weight=Int8WeightPerChannelFloat):
        super().__init__()
        conv = dict(weight_quant=weight, weight_bit_width=bits, bias_quant=bias, return_quant_tensor=True)
        act = dict(bit_width=bits, return_quant_tensor=True)
        self.input = qnn.QuantIdentity(act_quant=Int8ActPerTensorFloat, return_quant_tensor=True)
        self.stem = qnn.QuantConv2d(3, 16, 3, 2, 1, **conv)
        self.relu = qnn.QuantReLU(act_quant=Uint8ActPerTensorFloat, **act)
        self.one, self.relu1 = qnn.QuantConv2d(16, 16, 3, 1, 1, **conv), qnn.QuantReLU(**act)
        self.two = qnn.QuantConv2d(16, 16, 3, 1, 1, groups=16, **conv)
        self.sum, self.relu2 = qnn.QuantEltwiseAdd(Int8ActPerTensorFloat, Int8ActPerTensorFloat), qnn.QuantReLU(**act)
        self.pool, self.mean = nn.MaxPool2d(2), nn.AvgPool2d(2)
        self.between = qnn.QuantIdentity(**act)
        self.everything, self.last = nn.AdaptiveAvgPool2d(1), qnn.QuantIdentity(return_quant_tensor=True)
        self.classes = qnn.QuantLinear(16, 10, True, weight_quant=weight, weight_bit_width=bits, bias_quant=bias)

    def forward(self, x):
        x = self.pool(self.relu(self.stem(self.input(x))))
        y = self.two(self.relu1(self.one(x)))
        x = self.between(self.mean(self.relu2(self.sum(x, y)).value))
        return self.classes(self.last(torch.flatten(self.everything(x.value), 1)))


class Layers(nn.Module):
    """Linear layers of three axes, a product of two activations, ConvTranspose, asymmetric activations."""

    def __init__(self, bits=8):
        super().__init__()
        linear = dict(weight_bit_width=bits, weight_quant=Int8WeightPerChannelFloat, bias_quant=None)
        self.input = qnn.QuantIdentity(act_quant=ShiftedUint8ActPerTensorFloat, return_quant_tensor=True)
        self.q, self.k = qnn.QuantLinear(16, 16, True, **linear), qnn.QuantLinear(16, 16, True, **linear)
        self.q_act, self.k_act, self.s_act = (qnn.QuantIdentity() for _ in range(3))
        self.larger = qnn.QuantConvTranspose1d(16, 8, 2, 2, weight_quant=Int8WeightPerTensorFloat)
        self.tanh = qnn.QuantTanh()

    def forward(self, x):
        x = self.input(x)
        q, k = self.q_act(self.q(x)), self.k_act(self.k(x))
        s = self.s_act(torch.softmax(torch.matmul(q, k.transpose(1, 2)), -1))
        return self.tanh(self.larger(self.s_act(torch.matmul(s, k)).transpose(1, 2)))


MODELS = {
    "residual": (Residual, (2, 3, 32, 32)),
    "residual4": (lambda: Residual(4), (2, 3, 32, 32)),
    "residual_bias8": (lambda: Residual(8, Int8Bias), (2, 3, 32, 32)),
    "residual_floatbias": (lambda: Residual(8, None, Int8WeightPerTensorFloat), (2, 3, 32, 32)),
    "layers": (Layers, (2, 5, 16)),
    "layers4": (lambda: Layers(4), (2, 5, 16)),
}


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, (make, shape) in MODELS.items():
        torch.manual_seed(1)
        model, x = make(), torch.randn(shape)
        with torch.no_grad():
            for _ in range(3):
                model(torch.randn(shape))
            model.eval()(x)
        try:
            export_onnx_qcdq(model, x, export_path=str(folder / f"brevitas_{name}.onnx"), opset_version=17,
                             dynamo=False)
            print("exported", name)
        except Exception as error:
            print("not exported", name, type(error).__name__, str(error)[:300])


if __name__ == "__main__":
    main()
