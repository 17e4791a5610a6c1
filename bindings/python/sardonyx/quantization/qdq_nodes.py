"""The nodes that QDQQuantizer adds once tensors are marked and scales are known."""
from dataclasses import dataclass

from sardonyx.quantization.quant_types import (
    DEQUANT_OP_NAME,
    ELEMENT_NUMBERS,
    FLOAT8E4M3FN,
    QUANT_OP_NAME,
    TENSOR_NAME_QUANT_SUFFIX,
)
from sardonyx.quantization.quant_utils import (
    add_dequant_output_suffix,
    add_dequant_suffix,
    add_quant_input_suffix,
    add_quant_output_suffix,
    add_quant_suffix,
    quantize_weight_array,
)


@dataclass
class _Scale:
    """The names of a scale and a zero point, with the axis and the size of blocks where there are such."""

    scale: str
    zero_point: str
    axis: int | None = None
    block_size: int = 0


@dataclass
class _Written:
    """What readers of a tensor got: its scale, and that of readers (None: all) that see another type."""

    original: _Scale
    converted: _Scale | None = None
    converted_recv_nodes: set[str] | None = None


class QDQNodes:
    def __init__(self, quantizer):
        self.quantizer, self.graph = quantizer, quantizer.graph
        self.written = {}  # a _Written for each tensor that is done
        self.node_names = {node.name for node in quantizer.graph.nodes}

    def add_all(self):
        quantizer = self.quantizer
        waiting = {}
        for name, info in quantizer.tensors_to_quantize.items():
            if name in self.graph.initializers:
                if info.is_shared:
                    raise ValueError(f"weight '{name}': a rule gave it the scale of another tensor")
                self._add_weight(name)
            elif info.is_shared:
                waiting[name] = info.quant_para_provider
            elif name not in quantizer.tensor_to_producing_dq:
                self._add_activation(name)
        self._add_shared(waiting)
        for name, info in quantizer.bias_to_quantize.items():
            if name not in self.written:
                self._add_bias(name, info)

    def _add_shared(self, waiting):
        """Tensors with the scale of another, as soon as that is known."""
        while waiting:
            ready = [name for name, provider in waiting.items() if provider.input_name in self.written]
            if not ready:
                name, provider = next(iter(waiting.items()))
                raise ValueError(f"tensor '{name}' is to have the scale of '{provider.input_name}', which is not "
                                 f"quantized; exclude node '{provider.node_name}' from quantization")
            for name in ready:
                provider = waiting.pop(name)
                if name in self.quantizer.tensor_to_producing_dq:
                    raise ValueError(f"tensor '{name}' is to have the scale of '{provider.input_name}', but the model "
                                     "quantizes it already")
                self._add_activation(name, self._scale_for(provider.input_name, provider.node_name))

    def _scale_for(self, name, reader):
        written = self.written[name]
        if written.converted is None:
            return written.original
        readers = written.converted_recv_nodes
        return written.converted if readers is None or reader in readers else written.original

    def _scale_of(self, name, params, suffix=""):
        names = self.quantizer.add_scale_and_zero_point(
            f"{name}_scale{suffix}", params["scale"], f"{name}_zero_point{suffix}", params["zero_point"],
            params["quant_type"])
        return _Scale(*names, params.get("axis"), params.get("block_size", 0))

    def _add_node(self, op_type, source, output, name, scale):
        taken, number = name, 0
        while name in self.node_names:
            name, number = f"{taken}_{number}", number + 1
        self.node_names.add(name)
        self.graph.add_node(op_type, [source, scale.scale, scale.zero_point], [output], name,
                            self.quantizer.qdq_op_domain,
                            {"axis": scale.axis, "block_size": scale.block_size or None})

    def _add_pair(self, source, quantized, output, name, scale, number=""):
        """Returns the name of the integers."""
        quantized = self.graph.unique_name(quantized + number)
        self._add_node(QUANT_OP_NAME, source, quantized, add_quant_suffix(name) + number, scale)
        self._add_node(DEQUANT_OP_NAME, quantized, output, add_dequant_suffix(name) + number, scale)
        return quantized

    def _add_weight(self, name):
        """Integers and their DequantizeLinear; or both nodes behind the floats, if the caller asks for pairs."""
        quantizer, graph = self.quantizer, self.graph
        params = quantizer.initializer_quant_params[name]
        scale, output = self._scale_of(name, params), graph.unique_name(add_dequant_output_suffix(name))
        self._redirect(name, None, output)
        if quantizer.add_qdq_pair_to_weight:
            self._add_pair(name, add_quant_output_suffix(name), output, name, scale)
        else:
            quantized = graph.unique_name(name + TENSOR_NAME_QUANT_SUFFIX)
            graph.set_initializer(quantized, quantize_weight_array(
                graph.tensor(name), params["quant_type"], params["zero_point"], params["scale"], scale.axis,
                scale.block_size))
            self._add_node(DEQUANT_OP_NAME, quantized, output, add_dequant_suffix(name), scale)
        self.written[name] = _Written(scale)

    def _add_activation(self, name, scale=None):
        """`scale`: that of another tensor; without one, from the tensor's own range."""
        params = self.quantizer.quantization_params.get(name)
        if params is None and scale is None:
            raise ValueError(f"tensor '{name}' is to be quantized, but its range is not known: calibration has to see "
                             "the inputs and outputs of all nodes that are quantized")
        if scale is None:
            scale = self._scale_of(name, params.original)
        if params is not None and params.converted is not None:
            readers = params.converted_recv_nodes
            converted = self._scale_of(name, params.converted, "_convert")
            self._add_conversion(name, scale, converted, readers)
            self.written[name] = _Written(scale, converted, readers)
            return
        readers = list(dict.fromkeys(self.quantizer.tensor_to_its_receiving_nodes.get(name, [])))
        if self.quantizer.dedicated_qdq_pair and len(readers) > 1:
            self._add_pair_for_each(name, readers, scale)
        else:
            source, output = self._insert_behind(name)
            self._add_pair(source, add_quant_output_suffix(name), output, name, scale)
        self.written[name] = _Written(scale)

    def _insert_behind(self, name):
        """(what a QuantizeLinear reads, what its DequantizeLinear makes) so that all readers see the latter. The output
        of a graph keeps its name."""
        if name in self.graph.outputs and self.graph.producer(name) is not None:
            return self._rename_output(name), name
        output = self.graph.unique_name(add_dequant_output_suffix(name))
        self._redirect(name, None, output)
        return name, output

    def _rename_output(self, name):
        producer, free = self.graph.producer(name), self.graph.unique_name(add_quant_input_suffix(name))
        producer.set_output(producer.outputs.index(name), free)
        return free

    def _add_pair_for_each(self, name, readers, scale):
        for number, node in enumerate(readers, 1):
            output = self.graph.unique_name(f"{add_dequant_output_suffix(name)}_{number}")
            for index, one in enumerate(node.inputs):
                if one == name:
                    node.set_input(index, output)
            self._add_pair(name, add_quant_output_suffix(name), output, name, scale, f"_{number}")

    def _add_conversion(self, name, first, second, readers):
        """Quantizes a tensor to one type, and what that gives to another, which `readers` see (None: all).

        source -> Q -> DQ -> readers of the first type, and Q -> DQ' -> Q2 -> DQ2 -> readers of the second. If all read
        the second, there is no DQ'."""
        quantizer, graph, changed = self.quantizer, self.graph, f"{name}_convert"
        nodes = quantizer.tensor_to_its_receiving_nodes.get(name, [])
        if quantizer.dedicated_qdq_pair and len(nodes) > 1:
            raise ValueError(f"TensorQuantOverrides of '{name}': 'convert' cannot be combined with DedicatedQDQPair")
        known = {node.name for node in nodes}
        readers = known if readers is None else readers
        is_output, all_see_second = name in graph.outputs, len(readers) == len(known)
        source = self._rename_output(name) if is_output else name
        output = name if is_output and not all_see_second else add_dequant_output_suffix(name)
        second_output = name if is_output and all_see_second else add_dequant_output_suffix(changed)
        self._redirect(name, known - readers, output)
        self._redirect(name, readers, second_output)
        quantized = self._add_pair(source, add_quant_output_suffix(name), output, name, first)
        if not all_see_second:
            output = add_quant_input_suffix(changed)
            self._add_node(DEQUANT_OP_NAME, quantized, output, add_dequant_suffix(f"{changed}_clone"), first)
        self._add_pair(output, add_quant_output_suffix(changed), second_output, changed, second)

    def _redirect(self, name, readers, output):
        """Nodes of this graph with these names (None: all) read `output`. Bodies, which are not quantized, go on
        reading the floats."""
        for node in list(self.graph.consumers(name)) if output != name else ():
            if readers is None or node.name in readers:
                for index, one in enumerate(node.inputs):
                    if one == name:
                        node.set_input(index, output)

    def _add_bias(self, name, info):
        quantizer, graph = self.quantizer, self.graph
        element = ELEMENT_NUMBERS[graph.initializers[name].type.dtype]
        input_scale, weight_scale = (self._scale_value(one, info.node_name, name)
                                     for one in (info.input_name, info.weight_name))
        quantized, scale_name, zero_point_name, scale = quantizer.add_quantized_bias(name, input_scale, weight_scale,
                                                                                     info.beta)
        rank = max(len(graph.initializers[name].type.shape), 1)
        graph.remove_initializer(name)
        if quantizer.weight_qType == FLOAT8E4M3FN:
            graph.add_node("Cast", [quantized], [name], add_dequant_suffix(name), attributes={"to": element})
        else:
            made = _Scale(scale_name, zero_point_name, rank - 1 if scale.size > 1 else None)
            self._add_node(DEQUANT_OP_NAME, quantized, name, add_dequant_suffix(name), made)
        self.written[name] = _Written(_Scale(scale_name, zero_point_name))

    def _scale_value(self, name, reader, bias):
        """The scale of a tensor that this run quantized, or that the model had quantized before."""
        if name in self.written:
            return self.graph.tensor(self._scale_for(name, reader).scale)
        node = self.quantizer.tensor_to_producing_dq.get(name)
        if node is None or node.inputs[1] not in self.graph.initializers:
            raise ValueError(f"bias '{bias}' of node '{reader}': it needs the scale of '{name}', which is not "
                             "quantized with a constant one; exclude the node from quantization")
        return self.graph.tensor(node.inputs[1])
