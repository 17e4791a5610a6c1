"""Which rule quantizes which operator: a new rule is a class in operators/ and a line here."""
from sardonyx.quantization.operators.base_operator import QuantOperatorBase
from sardonyx.quantization.operators.elementwise import (
    QDQRemovableActivation,
    QDQWhere,
    QGlobalAveragePool,
    QLinearActivation,
    QLinearBinaryOp,
    QLinearConcat,
    QLinearPool,
    QLinearSoftmax,
    QLinearWhere,
)
from sardonyx.quantization.operators.movement import (
    Direct8BitOp,
    GatherQuant,
    QArgMax,
    QDQDirect8BitOp,
    QDQGather,
    QDQMaxPool,
    QDQPad,
    QDQResize,
    QDQSplit,
    QMaxPool,
    QPad,
    QResize,
    QSplit,
)
from sardonyx.quantization.operators.networks import AttentionQuant, EmbedLayerNormalizationQuant, LSTMQuant
from sardonyx.quantization.operators.products import ConvInteger, MatMulInteger, QLinearConv, QLinearGemm, QLinearMatMul
from sardonyx.quantization.operators.qdq_base_operator import (
    QDQConv,
    QDQGemm,
    QDQMatMul,
    QDQNormalization,
    QDQOperatorBase,
)
from sardonyx.quantization.quant_types import QuantizationMode, ms_domain

CommonOpsRegistry = {
    "Gather": GatherQuant, "Transpose": Direct8BitOp, "EmbedLayerNormalization": EmbedLayerNormalizationQuant,
}
# Ranges measured in each run.
IntegerOpsRegistry = {
    "Conv": ConvInteger, "MatMul": MatMulInteger, "Attention": AttentionQuant, "LSTM": LSTMQuant, **CommonOpsRegistry,
}
# Known ranges, operators on integers.
QLinearOpsRegistry = {
    "ArgMax": QArgMax, "Conv": QLinearConv, "Gemm": QLinearGemm, "MatMul": QLinearMatMul, "Add": QLinearBinaryOp,
    "Mul": QLinearBinaryOp, "Relu": QLinearActivation, "Clip": QLinearActivation, "LeakyRelu": QLinearActivation,
    "Sigmoid": QLinearActivation, "MaxPool": QMaxPool, "GlobalAveragePool": QGlobalAveragePool, "Split": QSplit,
    "Pad": QPad, "Reshape": Direct8BitOp, "Squeeze": Direct8BitOp, "Unsqueeze": Direct8BitOp, "Flatten": Direct8BitOp,
    "Resize": QResize, "AveragePool": QLinearPool, "Concat": QLinearConcat, "Softmax": QLinearSoftmax,
    "Where": QLinearWhere, **CommonOpsRegistry,
}
# Known ranges, float operators between QuantizeLinear and DequantizeLinear.
QDQRegistry = {
    "Conv": QDQConv, "ConvTranspose": QDQConv, "Gemm": QDQGemm, "Clip": QDQRemovableActivation,
    "Relu": QDQRemovableActivation, "Reshape": QDQDirect8BitOp, "Transpose": QDQDirect8BitOp,
    "Squeeze": QDQDirect8BitOp, "Unsqueeze": QDQDirect8BitOp, "Flatten": QDQDirect8BitOp, "Resize": QDQResize,
    "MaxPool": QDQMaxPool, "AveragePool": QDQDirect8BitOp, "Slice": QDQDirect8BitOp, "Pad": QDQPad,
    "MatMul": QDQMatMul, "Split": QDQSplit, "Gather": QDQGather, "GatherElements": QDQGather, "Where": QDQWhere,
    "InstanceNormalization": QDQNormalization, "LayerNormalization": QDQNormalization,
    "BatchNormalization": QDQNormalization, "TopK": QDQDirect8BitOp, "CumSum": QDQOperatorBase,
}


_DOMAINS = ("", "ai.onnx", ms_domain)  # an operator of another domain may have the name of one of these


def CreateDefaultOpQuantizer(onnx_quantizer, node):  # noqa: N802  (names of the API)
    """The rule that leaves a node on floats."""
    return QuantOperatorBase(onnx_quantizer, node)


def CreateOpQuantizer(onnx_quantizer, node):  # noqa: N802
    """The rule of a node for an ONNXQuantizer; that of a node that is not to be quantized leaves it on floats."""
    rules = IntegerOpsRegistry if onnx_quantizer.mode == QuantizationMode.IntegerOps else QLinearOpsRegistry
    if node.op_type in rules and node.domain in _DOMAINS:
        rule = rules[node.op_type](onnx_quantizer, node)
        if rule.should_quantize():
            return rule
    return CreateDefaultOpQuantizer(onnx_quantizer, node)


def CreateQDQQuantizer(onnx_quantizer, node):  # noqa: N802
    """The rule of a node for a QDQQuantizer: without one of its own, all of its tensors are quantized."""
    rule = QDQRegistry.get(node.op_type, QDQOperatorBase) if node.domain in _DOMAINS else QDQOperatorBase
    return rule(onnx_quantizer, node)
