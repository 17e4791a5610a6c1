"""Operators of whole layers whose weights become integers: Attention, LSTM, EmbedLayerNormalization.

Those on integers take and make floats: in models of half precision casts stand around them."""
import logging

import numpy as np

from sardonyx.quantization.operators.base_operator import QuantOperatorBase
from sardonyx.quantization.quant_types import FLOAT16, INT8, ms_domain


def _inputs(node, first, count):
    """The names of inputs from `first` on, "" for those that the node does not have."""
    return [node.inputs[index] if index < len(node.inputs) else "" for index in range(first, first + count)]


class _LayerQuant(QuantOperatorBase):
    def put(self, op_type, inputs, is_half, floats):
        """Puts an operator of com.microsoft in the node's place and returns it. With `is_half` it reads values of half
        precision as floats, and its outputs with the indices `floats` become half precision behind it."""
        node, graph = self.node, self.quantizer.graph
        outputs = list(node.outputs)
        made = graph.add_node(op_type, [self.as_float(name) for name in inputs] if is_half else inputs,
                              [f"{name}_of_{op_type}" if name else "" for name in outputs],
                              f"{node.name}_quant" if node.name else "", ms_domain, like=node)
        graph.remove_node(node)
        for index, name in enumerate(outputs):
            if name and is_half and index in floats:
                graph.add_node("Cast", [made.outputs[index]], [name], f"{name}_to_half", attributes={"to": FLOAT16})
            elif name:
                made.set_output(index, name)
        return made

    def is_half(self, weight):
        return self.quantizer.get_tensor_type(weight) == FLOAT16


class AttentionQuant(_LayerQuant):
    """Of com.microsoft: ONNX's own operator of this name has no weights."""

    def should_quantize(self):
        return self.node.domain == ms_domain and self.quantizer.should_quantize_node(self.node)

    def quantize(self):
        node = self.node
        # QAttention has heads of one size only, and no bias of scores.
        if {"qkv_hidden_sizes", "rotary_embedding_dim"}.intersection(node.attribute_names) or any(node.inputs[5:]):
            return self.keep()
        source = self.quantizer.quantize_activation(node, [0])
        weight = self.quantizer.quantize_weight(node, [1], reduce_range=True, op_level_per_channel=True)
        if source is None or weight is None:
            return self.keep()
        values, (bias, mask, past) = source + weight, _inputs(node, 2, 3)
        inputs = [*(one.q_name for one in values), bias, *(one.scale_name for one in values), mask,
                  *(one.zp_name for one in values), past]
        self.put("QAttention", inputs, self.is_half(node.inputs[1]), (0, 1))
        return None


class LSTMQuant(_LayerQuant):
    """DynamicQuantizeLSTM, whose weights [directions, inputs, 4 * hidden] are transposed against those of LSTM."""

    def quantize(self):
        quantizer, node, graph = self.quantizer, self.node, self.quantizer.graph
        names = node.inputs[1:3]
        if not all(name in graph.initializers and quantizer.is_valid_quantize_weight(name) and
                   len(graph.initializers[name].type.shape) == 3 for name in names):
            return self.keep()
        params = [self._quantized_weight(name) for name in names]
        inputs = [node.inputs[0], *(value.q_name for value in params), *_inputs(node, 3, 5),
                  *(name for value in params for name in (value.scale_name, value.zp_name))]
        quantizer.restore(node.inputs[0])
        made = self.put("DynamicQuantizeLSTM", inputs, self.is_half(names[0]), (0, 1, 2))
        made.set_attribute("layout", None)
        return None

    def _quantized_weight(self, name):
        """Each gate of each direction has its own scale if the caller asks for channels, otherwise each direction."""
        quantizer, graph = self.quantizer, self.quantizer.graph
        if name in quantizer.quantized_value_map:
            return quantizer.quantized_value_map[name]
        weight = graph.tensor(name)
        directions, gates = weight.shape[:2]
        lines = directions * gates if quantizer.is_per_channel() else directions
        flat = graph.unique_name(f"{name}_by_scale")
        graph.set_initializer(flat, np.ascontiguousarray(weight).reshape(lines, -1))
        made = quantizer.quantize_weight_per_channel(flat, INT8, 0)
        scale_shape = (directions, gates) if quantizer.is_per_channel() else (directions,)
        parts = {"quantized": graph.tensor(made.q_name).reshape(weight.shape).transpose(0, 2, 1),
                 "scale": graph.tensor(made.scale_name).reshape(scale_shape),
                 "zero_point": graph.tensor(made.zp_name).reshape(scale_shape)}
        parts = {part: np.ascontiguousarray(array) for part, array in parts.items()}
        for old in (flat, made.q_name, made.scale_name, made.zp_name):
            graph.remove_initializer(old)
        for part, array in parts.items():
            graph.set_initializer(f"{name}_{part}", array, as_numbers=part != "quantized")
        return quantizer.remember(name, f"{name}_quantized", f"{name}_scale", f"{name}_zero_point", made.value_type, 0)


class EmbedLayerNormalizationQuant(_LayerQuant):
    def should_quantize(self):
        return self.quantizer.should_quantize_node(self.node)

    def quantize(self):
        node = self.node
        if len(node.outputs) > 2:
            logging.info("%r is not quantized: QEmbedLayerNormalization has no third output", node)
            return self.keep()
        if len(node.inputs) > 8 and node.inputs[8]:
            logging.info("%r is not quantized: QEmbedLayerNormalization counts positions from 0", node)
            return self.keep()
        values = self.quantizer.quantize_activation(node, [2, 3, 4, 5, 6])
        if values is None:
            return self.keep()
        inputs = [*node.inputs[:2], *(one.q_name for one in values), *_inputs(node, 7, 1),
                  *(one.scale_name for one in values), *(one.zp_name for one in values)]
        self.put("QEmbedLayerNormalization", inputs, self.is_half(node.inputs[2]), (0,))
        return None
