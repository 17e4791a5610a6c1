"""What the rules for float operators between QuantizeLinear and DequantizeLinear build on."""
# ONNX Runtime's module of this name has these, too, so programs may import them from here.
from sardonyx.quantization.operators.base_operator import QuantOperatorBase  # noqa: F401
from sardonyx.quantization.quant_utils import (  # noqa: F401
    QuantizedValue,
    QuantizedValueType,
    attribute_to_kwarg,
    quantize_nparray,
)


class QDQOperatorBase:
    """A node, and the QDQQuantizer that asks which of its tensors are quantized. By itself all of them are."""

    def __init__(self, onnx_quantizer, onnx_node):
        self.quantizer, self.node = onnx_quantizer, onnx_node
        self.disable_qdq_for_node_output = onnx_node.op_type in onnx_quantizer.op_types_to_exclude_output_quantization

    def quantize(self):
        outputs = [] if self.disable_qdq_for_node_output else self.node.outputs
        for name in (*self.node.inputs, *outputs):
            if name:
                self.quantizer.quantize_activation_tensor(name)

    def share_output(self):
        """Outputs get the scale and zero point of the first input."""
        if not self.disable_qdq_for_node_output:
            for name in self.node.outputs:
                if name:
                    self.quantizer.quantize_output_same_as_input(name, self.node.inputs[0], self.node)


class QDQMatMul(QDQOperatorBase):
    """Only matrices have channels: no QLinearMatMul takes scales along an axis of a vector or of a stack of matrices,
    so that ONNX Runtime would load the result and fail in a run."""

    def quantize(self):
        quantizer = self.quantizer
        outputs = [] if self.disable_qdq_for_node_output else self.node.outputs
        for name in (*self.node.inputs, *outputs):
            if not quantizer.is_input_a_initializer(name):
                quantizer.quantize_activation_tensor(name)
            elif len(quantizer.graph.initializers[name].type.shape) == 2 or quantizer.tensor_quant_overrides.get(name):
                quantizer.quantize_weight_of(name, default_axis=1, op_type=self.node.op_type)
            else:
                quantizer.quantize_weight_tensor(name)


class QDQConv(QDQOperatorBase):
    def quantize(self):
        quantizer, node = self.quantizer, self.node
        quantizer.quantize_activation_tensor(node.inputs[0])
        if not self.disable_qdq_for_node_output:
            quantizer.quantize_activation_tensor(node.outputs[0])
        quantizer.quantize_weight_of(node.inputs[1], default_axis=0 if node.op_type == "Conv" else 1)
        if len(node.inputs) > 2 and node.inputs[2]:
            quantizer.quantize_bias_tensor(node, node.inputs[2], node.inputs[0], node.inputs[1])


class QDQGemm(QDQOperatorBase):
    def quantize(self):
        quantizer, node = self.quantizer, self.node
        quantizer.quantize_activation_tensor(node.inputs[0])
        if not self.disable_qdq_for_node_output:
            quantizer.quantize_activation_tensor(node.outputs[0])
        quantizer.quantize_weight_of(node.inputs[1], default_axis=0 if node.attribute("transB", 0) else 1)
        bias = node.inputs[2] if len(node.inputs) > 2 else ""
        if bias and quantizer.is_input_a_initializer(bias):
            has_beta = quantizer.quantize_bias_tensor(node, bias, node.inputs[0], node.inputs[1],
                                                      node.attribute("beta", 1.0))
            if has_beta and "beta" in node.attribute_names:
                node.set_attribute("beta", 1.0)


class QDQNormalization(QDQOperatorBase):
    def quantize(self):
        quantizer, node = self.quantizer, self.node
        quantizer.quantize_activation_tensor(node.inputs[0])
        if quantizer.is_input_a_initializer(node.inputs[1]):
            quantizer.quantize_weight_of(node.inputs[1], default_axis=1, op_type=node.op_type)
        else:
            quantizer.quantize_activation_tensor(node.inputs[1])
        if len(node.inputs) > 2 and node.inputs[2]:
            quantizer.quantize_bias_tensor(node, node.inputs[2], node.inputs[0], node.inputs[1])
        if not self.disable_qdq_for_node_output:
            for name in node.outputs:
                if name:
                    quantizer.quantize_activation_tensor(name)
