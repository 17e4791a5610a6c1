"""All rules and what ONNX Runtime's modules of rules have besides: ours are divided otherwise, so that this module
stands for each of theirs (onnxruntime.quantization.operators.conv ...)."""
from sardonyx.quantization.operators.products import QOpMatMul  # noqa: F401
from sardonyx.quantization.quant_utils import *  # noqa: F403
from sardonyx.quantization.registry import *  # noqa: F403
from sardonyx.quantization.registry import (  # noqa: F401
    CreateDefaultOpQuantizer,
    CreateOpQuantizer,
    CreateQDQQuantizer,
)


def get_beta(gemm_node):
    """The factor of a Gemm's bias: of an onnx.NodeProto."""
    return next((one.f for one in gemm_node.attribute if one.name == "beta"), 1.0)


def set_default_beta(gemm_node):
    """Makes the factor of the bias 1, which is returned, if the onnx.NodeProto has one."""
    for one in gemm_node.attribute:
        if one.name == "beta":
            one.f = 1.0
    return 1.0


def is_B_transposed(gemm_node):  # noqa: N802
    """Whether a Gemm's weight is [N, K]: of an onnx.NodeProto."""
    return any(one.name == "transB" and one.i > 0 for one in gemm_node.attribute)
