"""Operators that only move elements or choose among them: what goes in and what comes out share scale and zero
point."""
import numpy as np

from sardonyx.quantization.operators.base_operator import QuantOperatorBase
from sardonyx.quantization.operators.qdq_base_operator import QDQOperatorBase
from sardonyx.quantization.quant_math import quantize_nparray
from sardonyx.quantization.quant_types import FLOAT8_TYPES, TENSOR_NAME_QUANT_SUFFIX


class Direct8BitOp(QuantOperatorBase):
    """Runs on integers where its input is quantized already, or where the caller asks for it."""

    def quantize(self):
        quantizer, node = self.quantizer, self.node
        if not quantizer.force_quantize_no_input_check:
            value = quantizer.find_quantized_value(node.inputs[0])
        elif quantizer.is_valid_quantize_weight(node.inputs[0]):
            value = (quantizer.quantize_activation(node, [0]) or [None])[0]
        else:
            value = None
        if value is None:
            return self.keep()
        self.pass_on(value)
        return None


class QMaxPool(Direct8BitOp):
    """On integers from opset 12 on, and never on float8."""

    def quantize(self):
        if self.quantizer.opset_version < 12 or self.quantizer.activation_qType in FLOAT8_TYPES:
            return self.keep()
        return super().quantize()


class QResize(Direct8BitOp):
    def quantize(self):
        return self.keep() if self.quantizer.opset_version < 11 else super().quantize()


class QArgMax(QuantOperatorBase):
    """The order of integers is that of the numbers they stand for."""

    def quantize(self):
        value = self.quantizer.find_quantized_value(self.node.inputs[0])
        if value is not None:
            self.node.set_input(0, value.q_name)


class GatherQuant(QuantOperatorBase):
    def should_quantize(self):
        return (self.quantizer.should_quantize_node(self.node) and
                self.quantizer.is_valid_quantize_weight(self.node.inputs[0]))

    def quantize(self):
        values = self.quantizer.quantize_activation(self.node, [0])
        if values is None:
            return self.keep()
        self.pass_on(values[0])
        return None


class QSplit(QuantOperatorBase):
    def quantize(self):
        values = self.quantizer.quantize_activation(self.node, [0])
        if values is None:
            return self.keep()
        if self.node.name:
            self.node.set_operator(name=f"{self.node.name}_quant")
        self.pass_on(values[0], len(self.node.outputs), suffix="quantized")
        return None


class QPad(QuantOperatorBase):
    """Pads with the integer that stands for the constant, which is the zero point for 0."""

    def quantize(self):
        quantizer, node = self.quantizer, self.node
        value = quantizer.quantized_value_map.get(node.inputs[0])
        if quantizer.opset_version < 11 or value is None:
            return self.keep()
        if node.attribute("mode", "constant") == "constant":
            padding = self._padding(value, node.inputs[2] if len(node.inputs) > 2 else "")
            if padding is None:
                return self.keep()
            node.set_input(2, padding)
        self.pass_on(value)
        return None

    def _padding(self, value, constant):
        """The name of the quantized constant; None if the scale is not known before the model runs."""
        quantizer, graph = self.quantizer, self.quantizer.graph
        if not constant:
            return value.zp_name
        if value.scale_name not in graph.initializers or value.zp_name not in graph.initializers:
            return None
        known, name = graph.constant(constant), graph.unique_name(constant + TENSOR_NAME_QUANT_SUFFIX)
        if known is None:
            graph.add_node("QuantizeLinear", [constant, value.scale_name, value.zp_name], [name],
                           f"{constant}_QuantizeLinear")
            return name
        scale, zero_point = (graph.tensor(one).reshape(-1)[0] for one in (value.scale_name, value.zp_name))
        graph.set_initializer(name, quantize_nparray(quantizer.activation_qType, known, scale, zero_point))
        return name


class QDQDirect8BitOp(QDQOperatorBase):
    def quantize(self):
        quantizer, source = self.quantizer, self.node.inputs[0]
        if quantizer.force_quantize_no_input_check:
            quantizer.quantize_activation_tensor(source)
        elif not quantizer.is_tensor_quantized(source):
            return
        self.share_output()


class QDQMaxPool(QDQDirect8BitOp):
    def quantize(self):
        if self.quantizer.opset_version >= 12 and self.quantizer.activation_qType not in FLOAT8_TYPES:
            super().quantize()


class QDQResize(QDQDirect8BitOp):
    def quantize(self):
        if self.quantizer.opset_version >= 11:
            super().quantize()


class QDQGather(QDQOperatorBase):
    def quantize(self):
        quantizer, source = self.quantizer, self.node.inputs[0]
        if quantizer.is_valid_quantize_weight(source) or quantizer.force_quantize_no_input_check:
            quantizer.quantize_activation_tensor(source)
        elif not quantizer.is_tensor_quantized(source):
            return
        quantizer.quantize_output_same_as_input(self.node.outputs[0], source, self.node)


class QDQSplit(QDQOperatorBase):
    def quantize(self):
        if not self.quantizer.is_tensor_quantized(self.node.inputs[0]):
            self.quantizer.quantize_activation_tensor(self.node.inputs[0])
        self.share_output()


class QDQPad(QDQOperatorBase):
    def quantize(self):
        for name in self.node.inputs:
            if name:
                self.quantizer.quantize_activation_tensor(name)
        if self.disable_qdq_for_node_output:
            return
        if self._keeps_range():
            self.share_output()
        else:
            self.quantizer.quantize_activation_tensor(self.node.outputs[0])

    def _keeps_range(self):
        """Whether what is added is a number of the input or 0, which every range has."""
        node, graph = self.node, self.quantizer.graph
        if node.attribute("mode", "constant") != "constant":
            return True
        if self.quantizer.opset_version < 11:
            return node.attribute("value", 0.0) == 0
        if len(node.inputs) < 3 or not node.inputs[2]:
            return True
        padding = graph.constant(node.inputs[2])
        return padding is not None and padding.dtype in (np.float32, np.float16) and float(padding.item()) == 0

