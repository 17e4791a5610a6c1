"""What the rules for operators on integers build on."""
from sardonyx.quantization.quant_types import FLOAT, FLOAT16, TENSOR_NAME_QUANT_SUFFIX, ms_domain


class QuantOperatorBase:
    """A node, and the ONNXQuantizer that asks for it to be quantized. By itself it keeps the node, and gives it back
    the floats of inputs that are only there quantized."""

    def __init__(self, onnx_quantizer, onnx_node):
        self.quantizer, self.node = onnx_quantizer, onnx_node

    def should_quantize(self):
        node = self.node
        return (self.quantizer.should_quantize_node(node) and bool(node.inputs) and
                self.quantizer.is_float_tensor(node.inputs[0]))

    def quantize(self):
        self.keep()

    def keep(self):
        for name in dict.fromkeys(self.node.inputs):
            self.quantizer.restore(name)

    def replace(self, op_type, inputs, params, domain=ms_domain, attributes=None, drop=()):
        """Puts an operator on integers in the node's place. `params`: the names of the output's scale and zero
        point."""
        output = self.node.outputs[0]
        made = self.quantizer.replace(self.node, op_type, inputs, output + TENSOR_NAME_QUANT_SUFFIX, domain, attributes,
                                      drop)
        self.quantizer.remember(output, made.outputs[0], *params)
        return made

    def as_float(self, name):
        """The name of a value as floats, if it is one of half precision; otherwise its own."""
        graph, made = self.quantizer.graph, f"{name}_as_float"
        if not name or self.quantizer.get_tensor_type(name) != FLOAT16:  # scales that are measured are floats
            return name
        if graph.producer(made) is None:
            graph.add_node("Cast", [name], [made], f"{made}_cast", attributes={"to": FLOAT})
        return made

    def pass_on(self, source, outputs=1, suffix=TENSOR_NAME_QUANT_SUFFIX):
        """Lets the node itself work on integers: its first outputs have the scale and zero point of its first input, of
        which `source` is the QuantizedValue."""
        self.node.set_input(0, source.q_name)
        for index, output in enumerate(self.node.outputs[:outputs]):
            made = self.quantizer.graph.unique_name(output + suffix)
            self.node.set_output(index, made)
            self.quantizer.remember(output, made, source.scale_name, source.zp_name)


def with_params(*values):
    """Names for the inputs of QLinear operators: each value with its scale and zero point."""
    return [name for value in values for name in (value.q_name, value.scale_name, value.zp_name)]
