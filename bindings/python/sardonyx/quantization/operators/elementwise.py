"""Activations, arithmetic, Softmax, pools and Where on integers: operators whose output has a range of its own."""
import numpy as np

from sardonyx.quantization.operators.base_operator import QuantOperatorBase, with_params
from sardonyx.quantization.operators.qdq_base_operator import QDQOperatorBase
from sardonyx.quantization.quant_types import UINT8


class QLinearActivation(QuantOperatorBase):
    def quantize(self):
        quantizer, node = self.quantizer, self.node
        if node.op_type in ("Relu", "Clip"):
            return self._pass_over()
        fixed = node.op_type == "Sigmoid" and quantizer.extra_options.get("extra.Sigmoid.nnapi")
        params = quantizer.output_params(node.outputs[0], 1 / 256.0, 0) if fixed else quantizer.output_params(
            node.outputs[0])
        values = quantizer.quantize_activation(node, [0])
        if params is None or values is None:
            return self.keep()
        self.replace(f"QLinear{node.op_type}", [*with_params(*values), *params], params)
        return None

    def _pass_over(self):
        """Where what goes into Relu and Clip has the range of what comes out, the integers are the same. It does not if
        others read it, too, or if it shares the range of what came before; nor if the range was made symmetric."""
        value = self.quantizer.quantized_value_map.get(self.node.inputs[0])
        if value is None or self.quantizer.is_activation_symmetric or not self._has_range_of_output(value):
            return self.keep()
        self.quantizer.graph.remove_node(self.node)
        self.quantizer.remember(self.node.outputs[0], value.q_name, value.scale_name, value.zp_name, value.value_type,
                                value.axis)
        return None

    def _has_range_of_output(self, value):
        wanted, graph = self.quantizer.quantization_params.get(self.node.outputs[0]), self.quantizer.graph
        return wanted is not None and all(
            value_name in graph.initializers and np.array_equal(graph.tensor(value_name).reshape(()), wanted[part])
            for part, value_name in (("scale", value.scale_name), ("zero_point", value.zp_name)))


class QDQRemovableActivation(QDQOperatorBase):
    def quantize(self):
        quantizer, node = self.quantizer, self.node
        if not quantizer.is_tensor_quantized(node.inputs[0]):
            return
        keeps = quantizer.is_activation_symmetric or quantizer.qdq_keep_removable_activations
        if keeps or not quantizer.try_replacing_upstream_output(node):
            quantizer.quantize_activation_tensor(node.inputs[0])
        if not self.disable_qdq_for_node_output:
            quantizer.quantize_activation_tensor(node.outputs[0])


class QLinearBinaryOp(QuantOperatorBase):
    def quantize(self):
        params = self.quantizer.output_params(self.node.outputs[0])
        values = self.quantizer.quantize_activation(self.node, [0, 1])
        if params is None or values is None:
            return self.keep()
        self.replace(f"QLinear{self.node.op_type}", [*with_params(*values), *params], params)
        return None


class QLinearConcat(QuantOperatorBase):
    def quantize(self):
        params = self.quantizer.output_params(self.node.outputs[0])
        values = self.quantizer.quantize_activation(self.node, range(len(self.node.inputs)))
        if params is None or values is None:
            return self.keep()
        self.replace("QLinearConcat", [*params, *with_params(*values)], params)
        return None


class QLinearSoftmax(QuantOperatorBase):
    """Its results lie between 0 and 1, so their scale is 1/256 whatever was measured."""

    def quantize(self):
        quantizer, node = self.quantizer, self.node
        lowest = 0 if quantizer.activation_qType == UINT8 else -128
        params = quantizer.output_params(node.outputs[0], 1 / 256.0, lowest)
        values = quantizer.quantize_activation(node, [0])
        if params is None or values is None:
            return self.keep()
        self.replace("QLinearSoftmax", [*with_params(*values), *params], params,
                     attributes={"opset": quantizer.opset_version})
        return None


class QLinearPool(QuantOperatorBase):
    def quantize(self):
        params = self.quantizer.output_params(self.node.outputs[0])
        values = self.quantizer.quantize_activation(self.node, [0])
        if params is None or values is None:
            return self.keep()
        self.replace(f"QLinear{self.node.op_type}", [*with_params(*values), *params], params)
        return None


class QGlobalAveragePool(QuantOperatorBase):
    def quantize(self):
        value = self.quantizer.quantized_value_map.get(self.node.inputs[0])
        if value is None:
            return self.keep()
        params = self.quantizer.output_params(self.node.outputs[0]) or (value.scale_name, value.zp_name)
        self.replace("QLinearGlobalAveragePool", [*with_params(value), *params], params,
                     attributes={"channels_last": 0})
        return None


class QLinearWhere(QuantOperatorBase):
    def should_quantize(self):
        return True

    def quantize(self):
        quantizer, node = self.quantizer, self.node
        if not quantizer.force_quantize_no_input_check or not quantizer.should_quantize_node(node):
            return self.keep()
        params = quantizer.output_params(node.outputs[0])
        values = quantizer.quantize_activation(node, [1, 2])
        if params is None or values is None:
            return self.keep()
        self.replace("QLinearWhere", [node.inputs[0], *with_params(*values), *params], params)
        return None


class QDQWhere(QDQOperatorBase):
    def quantize(self):
        quantizer, branches = self.quantizer, self.node.inputs[1:3]
        if quantizer.force_quantize_no_input_check:
            for name in branches:
                quantizer.quantize_activation_tensor(name)
        elif not all(quantizer.is_tensor_quantized(name) for name in branches):
            return
        if not self.disable_qdq_for_node_output:
            quantizer.quantize_activation_tensor(self.node.outputs[0])
