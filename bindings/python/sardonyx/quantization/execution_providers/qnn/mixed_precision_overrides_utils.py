"""Makes TensorQuantOverrides complete: where a tensor gets another type than most, the nodes around it need inputs and
outputs of one type, and tensors are converted between both."""
from __future__ import annotations

import logging
from dataclasses import dataclass

import onnx

from sardonyx.model import Model
from sardonyx.quantization.quant_utils import QuantType
from sardonyx.quantization.tensor_quant_overrides import QuantTypeInfo, TensorQuantOverridesHelper

_FLOATS = (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16)


@dataclass
class TensorTypeRequest:
    """What types of a tensor nodes ask for: that which its producer writes, and that which the nodes of these names
    read. None: that of most activations."""

    producer: QuantTypeInfo | None
    consumers: tuple[QuantTypeInfo, set[str]] | None


class MixedPrecisionTensorQuantOverridesFixer:
    """Changes `overrides`, in place: nodes that write or read an activation of another type get all of their
    activations of that type, and what goes in and out is converted ("convert", with "recv_nodes").

    `producers`: nodes by what they make; `consumers`: lists of nodes by what they read; `value_infos`, `initializers`:
    protos by name."""

    def __init__(
        self,
        overrides: TensorQuantOverridesHelper,
        producers: dict[str, onnx.NodeProto],
        consumers: dict[str, list[onnx.NodeProto]],
        value_infos: dict[str, onnx.ValueInfoProto],
        initializers: dict[str, onnx.TensorProto],
    ):
        self.overrides, self.producers, self.consumers = overrides, producers, consumers
        self.value_infos, self.initializers = value_infos, initializers

    @staticmethod
    def create_from_model(
        overrides: TensorQuantOverridesHelper, model: onnx.ModelProto, default_activation_qtype: QuantType
    ) -> MixedPrecisionTensorQuantOverridesFixer:
        """For the overrides of a model. Errors: ValueError for overrides that it cannot have."""
        known = Model(model)
        known.infer_types()
        graph = known.to_proto().graph
        consumers = {}
        for node in graph.node:
            for name in filter(None, node.input):
                consumers.setdefault(name, []).append(node)
        made = MixedPrecisionTensorQuantOverridesFixer(
            overrides, {name: node for node in graph.node for name in node.output}, consumers,
            {value.name: value for value in (*graph.value_info, *graph.output, *graph.input)},
            {one.name: one for one in graph.initializer})
        made._check(default_activation_qtype)
        return made

    def apply(
        self,
        default_activation_qtype: QuantType,
        default_activation_symmetric: bool,
    ):
        """Completes the overrides for a model whose other activations have this type.

        Errors: ValueError where nodes ask for different types of one tensor."""
        usual = QuantTypeInfo(default_activation_qtype)
        for name, request in self.get_desired_tensor_types(default_activation_qtype,
                                                           default_activation_symmetric).items():
            readers = {node.name for node in self.consumers.get(name, [])}
            if request.producer is None and request.consumers is None:
                raise ValueError(f"tensor '{name}': no node asks for a type")
            if request.consumers is None:
                self._convert(name, request.producer, usual, readers)
                continue
            wanted, chosen = request.consumers
            written = request.producer or self.overrides.get_node_output_qtype_info(name, default_activation_qtype)
            if written != wanted:
                self._convert(name, written, wanted, chosen)
            elif request.producer is None:
                if self._is_converted_for(name, chosen):
                    raise ValueError(f"tensor '{name}' is converted for {', '.join(sorted(chosen))}, which need what "
                                     "its producer writes")
            elif readers - chosen:
                self._convert(name, written, usual, readers - chosen)
            elif name not in self.overrides:
                self.overrides[name] = [{}]
                written.save_to_dict(self.overrides[name][0])
        self._check(default_activation_qtype)

    def get_desired_tensor_types(
        self,
        default_activation_qtype: QuantType,
        default_activation_symmetric: bool,
    ) -> dict[str, TensorTypeRequest]:
        """What types nodes ask for, by tensors, in the order in which the overrides lead to them."""
        usual, requests = QuantTypeInfo(default_activation_qtype, default_activation_symmetric), {}
        for name, entries in self.overrides.items():
            is_activation = self._is_quantizable(name) and name not in self.initializers
            if not is_activation or len(entries or []) != 1 or "convert" in entries[0]:
                continue
            wanted = QuantTypeInfo.load_from_dict(entries[0], usual.quant_type)
            if wanted != usual:
                producer = [self.producers[name]] if name in self.producers else []
                for node in (*producer, *self.consumers.get(name, [])):
                    self._ask(requests, wanted, node)
        return requests

    def _ask(self, requests, wanted, node):
        """Asks for one type of all activations that a node reads and makes."""
        for name in filter(self._is_quantizable, node.output):
            request = requests.setdefault(name, TensorTypeRequest(None, None))
            if request.producer is not None and request.producer != wanted:
                raise ValueError(f"tensor '{name}' is asked to have two types: {request.producer} and {wanted}")
            request.producer = wanted
        for name in node.input:
            if not name or name in self.initializers or not self._is_quantizable(name):
                continue
            request = requests.setdefault(name, TensorTypeRequest(None, None))
            if request.consumers is None:
                request.consumers = (wanted, set())
            if request.consumers[0] != wanted:
                raise ValueError(f"tensor '{name}': nodes that read it ask for two types, {request.consumers[0]} and "
                                 f"{wanted}")
            if not node.name:
                raise ValueError(f"the node {node.op_type} that makes '{node.output[0]}' has no name, which overrides "
                                 "need")
            request.consumers[1].add(node.name)

    def _convert(self, name, written, read, readers):
        """Enters that a tensor is written in one type, and that these nodes read another."""
        if not self.overrides.get(name):
            self.overrides[name] = [{}]
            written.save_to_dict(self.overrides[name][0])
        entry = self.overrides[name][0]
        if written != QuantTypeInfo.load_from_dict(entry):
            raise ValueError(f"tensor '{name}': its producer is asked for {written}, and has {entry}")
        if not readers:
            return
        if "convert" not in entry:
            entry["convert"] = {}
            read.save_to_dict(entry["convert"])
        if read != QuantTypeInfo.load_from_dict(entry["convert"]):
            raise ValueError(f"tensor '{name}' is asked to be converted to {read}, and is converted to "
                             f"{entry['convert']}")
        entry["convert"].setdefault("recv_nodes", set()).update(readers)

    def _is_converted_for(self, name, nodes):
        entries = self.overrides.get(name)
        if not entries or "convert" not in entries[0]:
            return False
        chosen = entries[0]["convert"].get("recv_nodes")
        return chosen is None or bool(chosen & nodes)

    def _is_quantizable(self, name):
        if name in self.initializers:
            return self.initializers[name].data_type in _FLOATS
        known = self.value_infos.get(name)
        return known is not None and known.type.tensor_type.elem_type in _FLOATS

    def _check(self, default_type):
        is_valid, fault = self.overrides.is_valid(self.initializers, set(self.value_infos), default_type)
        if not is_valid:
            logging.error("overrides that the model cannot have:\n%s", self.overrides.pprint_str(indent=4))
            raise ValueError(fault)
