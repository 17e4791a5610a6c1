"""Products on integers: MatMul, Gemm and Conv, with ranges that are known and with such that are measured."""
import logging

import numpy as np

from sardonyx.quantization.operators.base_operator import QuantOperatorBase, with_params
from sardonyx.quantization.quant_types import FLOAT, FLOAT8_TYPES, FLOAT8E4M3FN, FLOAT16, INT8, ms_domain


class _IntegerProduct(QuantOperatorBase):
    """A product of integers as int32, which is scaled afterwards."""

    def add_product(self, op_type, values, attributes_of=None):
        """Puts the product of two QuantizedValues and its scaling in the node's place; returns the node that scales,
        which makes the output."""
        quantizer, graph, node = self.quantizer, self.quantizer.graph, self.node
        output, name = node.outputs[0], f"{node.name}_quant" if node.name else ""
        element = quantizer.get_tensor_type(output, mandatory=True)
        product, floats = f"{output}_output_quantized", f"{output}_output_quantized_cast_output"
        graph.add_node(op_type, [value.q_name for value in values] + [value.zp_name for value in values], [product],
                       name, like=attributes_of)
        graph.remove_node(node)
        is_half = element == FLOAT16  # sums and products of scales have the range of floats
        graph.add_node("Cast", [product], [floats], f"{product}_cast", attributes={"to": FLOAT if is_half else element})
        scale_names = [value.scale_name for value in values]
        scaling = f"{name}_scales_mul" if name else "_".join(scale_names) + "_mul"
        scale = f"{scaling}:0"
        if graph.producer(scale) is None:
            graph.add_node("Mul", [self.as_float(one) for one in scale_names] if is_half else scale_names, [scale],
                           scaling)
        label = f"{name}_output_scale_mul" if name else ""
        if not is_half:
            return graph.add_node("Mul", [floats, scale], [output], label)
        graph.add_node("Mul", [floats, scale], [f"{output}_as_float"], label)
        return graph.add_node("Cast", [f"{output}_as_float"], [output], f"{output}_to_half",
                              attributes={"to": FLOAT16})


class QOpMatMul(QuantOperatorBase):
    def should_quantize(self):
        quantizer, node = self.quantizer, self.node
        if not quantizer.should_quantize_node(node):
            return False
        if not quantizer.is_float_tensor(node.inputs[1]) and not quantizer.is_float_tensor(node.inputs[0]):
            logging.info("%r is not quantized: its inputs are no floats", node)
            return False
        if quantizer.q_matmul_const_b_only and not quantizer.find_initializer_in_path(node.inputs[1]):
            logging.info("%r is not quantized: its second input is not constant", node)
            return False
        return True


class MatMulInteger(QOpMatMul, _IntegerProduct):
    def quantize(self):
        values = self.quantizer.quantize_activation(self.node, [0]) + self.quantizer.quantize_weight(
            self.node, [1], reduce_range=True, op_level_per_channel=True)
        self.add_product("MatMulInteger", values)


class ConvInteger(_IntegerProduct):
    def quantize(self):
        quantizer, node = self.quantizer, self.node
        values = quantizer.quantize_activation(node, [0]) + quantizer.quantize_weight(
            node, [1], reduce_range=quantizer.reduce_range)
        bias, output = node.inputs[2] if len(node.inputs) > 2 else "", node.outputs[0]
        scaled = self.add_product("ConvInteger", values, attributes_of=node)
        if bias:
            self.add_bias(scaled, bias, output, self.rank(values[1].q_name))

    def rank(self, weight):
        """The number of axes. A weight that another node makes (an Identity of a shared one) may have no known type."""
        if kernel := self.node.attribute("kernel_shape", None):
            return len(kernel) + 2
        for name in (weight, self.node.inputs[1]):
            known = self.quantizer.graph.type_of(name)
            if known is not None and known.shape is not None:
                return len(known.shape)
        raise ValueError(f"{self.node!r}: expected a weight of known shape, found {self.node.inputs[1]!r} without one: "
                         "run quant_pre_process on the model first, or exclude the node (nodes_to_exclude)")

    def add_bias(self, scaled, bias, output, rank):
        """The bias of a channel stands in axis 1."""
        graph = self.quantizer.graph
        scaled.set_output(0, f"{output}quant_scaled_output")
        shape = np.ones(rank, np.int64)
        shape[1] = -1
        graph.set_initializer(f"{output}_bias_reshape_shape", shape)
        spread = f"{output}_bias_reshape_output"
        graph.add_node("Reshape", [bias, f"{output}_bias_reshape_shape"], [spread])
        graph.add_node("Add", [scaled.outputs[0], spread], [output], f"{output}_bias_add")


class QLinearMatMul(QOpMatMul):
    def quantize(self):
        quantizer = self.quantizer
        params = quantizer.output_params(self.node.outputs[0])
        if params is None:
            return self.keep()
        sources = quantizer.quantize_activation(self.node, [0])
        weights = quantizer.quantize_weight(self.node, [1], reduce_range=True, op_level_per_channel=True)
        if sources is None or weights is None:
            return self.keep()
        domain = ms_domain if quantizer.weight_qType in FLOAT8_TYPES else ""
        self.replace("QLinearMatMul", [*with_params(*sources, *weights), *params], params, domain)
        return None


class QLinearGemm(QOpMatMul):
    def quantize(self):
        quantizer, node = self.quantizer, self.node
        bias = node.inputs[2] if len(node.inputs) > 2 else ""
        params, alpha = quantizer.output_params(node.outputs[0]), node.attribute("alpha", 1.0)
        if params is None or alpha == 0 or (bias and not quantizer.is_input_a_initializer(bias)):
            return self.keep()  # before its inputs are quantized for nobody
        values = _with_weight(quantizer, node, quantizer.weight_qType, 0 if node.attribute("transB", 0) else 1)
        if values is None:
            return self.keep()
        if bias:  # QGemm multiplies it by alpha, too
            bias = quantizer.quantize_bias_static(bias, node.inputs[0], node.inputs[1],
                                                  node.attribute("beta", 1.0) / alpha)
        self.replace("QGemm", [*with_params(*values), bias, *params], params, drop=["beta"])
        return None


class QLinearConv(QuantOperatorBase):
    def quantize(self):
        quantizer, node = self.quantizer, self.node
        bias = node.inputs[2] if len(node.inputs) > 2 else ""
        if bias and quantizer.weight_qType == FLOAT8E4M3FN:
            raise RuntimeError(f"{node!r}: a Conv with a bias cannot be quantized to float8")
        if bias and not quantizer.is_input_a_initializer(bias):
            return self.keep()
        params = quantizer.output_params(node.outputs[0])
        values = None if params is None else _with_weight(quantizer, node, INT8, 0)
        if values is None:
            return self.keep()
        biases = [quantizer.quantize_bias_static(bias, node.inputs[0], node.inputs[1])] if bias else []
        self.replace("QLinearConv", [*with_params(*values), *params, *biases], params, domain="")
        return None


def _with_weight(quantizer, node, kind, axis):
    """The QuantizedValues of a source and of a weight, which is quantized per channel if the caller says so."""
    sources = quantizer.quantize_activation(node, [0])
    if sources is None:
        return None
    if quantizer.is_input_a_initializer(node.inputs[1]) and quantizer.is_per_channel():
        return [*sources, quantizer.quantize_weight_per_channel(node.inputs[1], kind, axis)]
    weights = quantizer.quantize_weight(node, [1], reduce_range=quantizer.reduce_range)
    return None if weights is None else [*sources, *weights]
