"""Weights in blocks by the names of Intel's Neural Compressor, of which ONNX Runtime's package has a part."""
from sardonyx.quantization.neural_compressor.weight_only import gptq_quantize, rtn_quantize  # noqa: F401
