"""What needs PyTorch or NVIDIA's modelopt can be imported without, and names the package that is missing."""
import os
import subprocess
import sys
import types

import numpy as np
import onnx
import pytest
import sardonyx
from quantized_models import mlp
from sardonyx.quantization import CudaQuantizer
from sardonyx.quantization.cuda_quantizer import has_cuda_weight_prepacking
from sardonyx.quantization.matmul_nbits_quantizer import (
    MatMulNBitsQuantizer,
    NVAWQWeightOnlyQuantConfig,
    NVAWQWeightOnlyQuantizer,
)
from sardonyx.tools import pytorch_export_contrib_ops


def stand_in(monkeypatch, name, **members):
    module = types.ModuleType(name)
    vars(module).update(members)
    monkeypatch.setitem(sys.modules, name, module)


def test_commands_without_onnx():
    """They name it only where they need it: an older opset, half precision."""
    done = subprocess.run(
        [sys.executable, "-c", "import sys; sys.modules['onnx'] = None\n"
         "from sardonyx.commands import candidates, convert, quantize\n"
         "from sardonyx.quantization import quantize_static, quant_pre_process\n"
         "from sardonyx.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer"],
        env={**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(sardonyx.__file__))}, capture_output=True,
        text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_pytorch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    assert not has_cuda_weight_prepacking()
    for use in (lambda: CudaQuantizer.qmoe_symmetric_per_channel_quantize(None, 4), pytorch_export_contrib_ops.register,
                lambda: NVAWQWeightOnlyQuantConfig("folder")):
        with pytest.raises(ImportError, match="torch"):
            use()


def test_modelopt_gets_the_model_and_the_data(monkeypatch):
    """It is the last of the packages that are asked for; a stand-in takes what it would get."""
    config = types.SimpleNamespace(algorithm="nvidia_awq", calibration_method="awq_clip",
                                   calibration_data_reader=["inputs"], quant_format=None, op_types_to_quantize=set())
    with pytest.raises(ImportError, match="needs the package modelopt"):
        NVAWQWeightOnlyQuantizer(config).quantize_awq(mlp())
    calls = []

    def quantize(model, **arguments):
        calls.append(arguments)
        made = onnx.ModelProto.FromString(model.SerializeToString())
        made.producer_name = "modelopt"
        return made
    for name in ("modelopt", "modelopt.onnx", "modelopt.onnx.quantization"):
        stand_in(monkeypatch, name)
    stand_in(monkeypatch, "modelopt.onnx.quantization.int4", quantize=quantize)
    quantizer = MatMulNBitsQuantizer(mlp(), algo_config=config)
    quantizer.process()
    assert quantizer.model.model.producer_name == "modelopt"
    assert calls == [{"calibration_method": "awq_clip", "calibration_data_reader": ["inputs"]}]


class Tensor:
    """As much of torch.Tensor as CudaQuantizer asks for."""

    dtype = "float32"

    def __init__(self, array):
        self.array, self.shape = np.asarray(array), np.shape(array)

    def detach(self):
        return self

    cpu = float = detach

    def to(self, kind):  # noqa: ARG002
        return self

    def numpy(self):
        return self.array


@pytest.fixture
def weights(monkeypatch):
    stand_in(monkeypatch, "torch", float32="float32", from_numpy=Tensor)
    return np.random.default_rng(3).standard_normal((64, 128)).astype(np.float32)


def unpacked(data, bits):
    return data if bits == 8 else np.stack([data & 15, data >> 4], -1).reshape(*data.shape[:-1], -1)


@pytest.mark.parametrize("bits", [4, 8])
def test_numbers_for_cuda(weights, bits):
    middle, tensor = 1 << (bits - 1), Tensor(weights)
    for full in (True, False):
        made, scales = CudaQuantizer.qmoe_symmetric_per_channel_quantize(tensor, bits, unsigned_full_range=full)
        restored = (unpacked(made.array, bits).astype(np.float32) - middle) * scales.array[:, None]
        assert np.abs(restored - weights).max() <= scales.array.max() * (1.01 if full else 0.51)
    for symmetric in (True, False):
        made, scales, zeros = CudaQuantizer.matmulnbits_blockwise_quantize(
            tensor, bits, 32, symmetric=symmetric, return_zero_points=True, flatten_qweight=False, abs_scales=False)
        assert made.shape == (64, 4, 32 * bits // 8) and scales.shape == (64, 4)
        zero = np.full((64, 4), middle) if symmetric else unpacked(zeros.array, bits)
        numbers = unpacked(made.array, bits).reshape(64, 4, 32)
        restored = (numbers.astype(np.float32) - zero[..., None]) * scales.array[..., None]
        assert np.abs(restored.reshape(64, 128) - weights).max() <= scales.array.max() * 1.01
    made, scales = CudaQuantizer.symmetric_blockwise_quantize(tensor, bits, 48)
    assert scales.shape == (64, 3) and made.shape == (64, 64 if bits == 4 else 128)


@pytest.mark.parametrize(("bits", "architecture", "first"), [
    (4, 80, [0, 1, 8, 9, 16, 17, 24, 25]), (4, 90, [0, 1, 8, 9, 16, 17, 24, 25]), (8, 80, [0, 1, 8, 9]),
    (8, 90, [0, 1, 8, 9])])
def test_the_layout_of_cuda_kernels(weights, bits, architecture, first):
    """It only moves numbers: the first word has those of the first output channel that the first thread reads."""
    plain, _ = CudaQuantizer.qmoe_per_channel_quantize(Tensor(weights), bits, False)
    moved, _ = CudaQuantizer.qmoe_per_channel_quantize(Tensor(weights), bits, True, architecture)
    assert moved.shape == (128, 64 * bits // 8)
    numbers, others = unpacked(plain.array, bits), unpacked(moved.array.reshape(-1), bits)
    assert np.array_equal(np.sort(numbers, None), np.sort(others))
    order = {4: [0, 2, 4, 6, 1, 3, 5, 7], 8: [0, 2, 1, 3]}[bits]
    assert others[:len(order)].tolist() == numbers[0, [first[index] for index in order]].tolist()
    boxes = CudaQuantizer.matmulnbits_prepacked_blockwise_quantize(Tensor(weights), bits, 64, architecture)[0]
    assert boxes.shape == (64, 2, 64 * bits // 8)


@pytest.mark.parametrize(("use", "message"), [
    (lambda w: CudaQuantizer.qmoe_symmetric_per_channel_quantize(w, 3), "expected 4 or 8, found 3"),
    (lambda w: CudaQuantizer.matmulnbits_prepacked_blockwise_quantize(w, 4, 32, 90), "expected one of .64, 128."),
    (lambda w: CudaQuantizer.matmulnbits_prepacked_blockwise_quantize(w, 4, 64, 70), "found 70"),
    (lambda w: CudaQuantizer.qmoe_prepacked_blockwise_quantize(w, 4, 96), "a multiple of block_size, 96"),
    (lambda w: CudaQuantizer.qmoe_per_channel_quantize(Tensor(w.array[:8, :48]), 4, True), "K a multiple of")])
def test_wrong_arguments(weights, use, message):
    with pytest.raises(ValueError, match=message):
        use(Tensor(weights))
