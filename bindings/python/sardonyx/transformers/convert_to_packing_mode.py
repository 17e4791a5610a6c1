"""PackingMode: a BERT that computes nothing for padding. RemovePadding in front of the first attention leaves the
tokens of all sequences one behind the other, PackedAttention or PackedMultiHeadAttention reads them, and RestorePadding
behind the last normalization puts them back in their places, with zeros for padding.

usage: python -m sardonyx.transformers.convert_to_packing_mode --input MODEL --output MODEL"""
import argparse
import logging
import os

from sardonyx.transformers.constants import AttentionInputIDs, MultiHeadAttentionInputIDs, Operators
from sardonyx.transformers.fusion import Held, proto_of
from sardonyx.transformers.onnx_model import OnnxModel
from sardonyx.transformers.packed_region import NORMALIZATIONS, CannotPack, PackedRegion, input_of

logger = logging.getLogger(__name__)

# Attributes that the packed operator does not have, but that change nothing at these values.
_WITHOUT_EFFECT = {"unidirectional": 0, "do_rotary": 0, "past_present_share_buffer": 0, "rotary_embedding_dim": 0}


class PackingAttentionBase:
    """`model`: an OnnxModel. The attention of one operator is packed; what differs by operator is in the classes below.

    `tokens_of`: indices of the inputs that hold a row for each token; `mask`, `bias`: those of the number of tokens of
    each sequence and of what is added to the scores; `kept`: those that stay in front of the layout of the tokens;
    `attributes`: those that the packed operator has, too."""

    packed_op_type = ""
    tokens_of = kept = attributes = ()
    mask = bias = 0

    def __init__(self, model, attention_op_type):
        self.model, self.attention_op_type = model, attention_op_type

    def convert(self, use_symbolic_shape_infer=True):
        """Changes the model; one that cannot be packed stays as it is, and the log has an error that says why."""
        self.model.topological_sort()
        try:
            region = self._found()
        except CannotPack as reason:
            logger.error("the model is not packed: %s", reason)
            return
        self._change(region)
        self.model.topological_sort()
        self.model.clean_shape_infer()
        if use_symbolic_shape_infer:
            with Held(self.model.model) as held:
                held.infer_types()
                self.model.model = proto_of(held)
        logger.info("%d %s nodes became %s, and %d GatedRelativePositionBias read packed queries",
                    len(region.attentions), self.attention_op_type, self.packed_op_type, len(region.gates))

    # What is packed.

    def _found(self):
        nodes = [node for node in self.model.model.graph.node if node.op_type == self.attention_op_type]
        if len(nodes) != len(self.model.get_nodes_by_op_type(self.attention_op_type)):
            raise CannotPack(f"expected {self.attention_op_type} in the main graph alone, found some in a body")
        for node in nodes:
            self._check(node)
        masks = {input_of(node, self.mask) for node in nodes}
        if len(masks) > 1 or "" in masks:
            raise CannotPack("expected all attention to read one mask, found " + (
                "some without one" if "" in masks else f"{len(masks)} of them: {', '.join(sorted(masks))}"))
        # The model's last normalization, or, if what lies in front of that one does not stay packed, one before it.
        last = max(index for index, node in enumerate(self.model.model.graph.node) if node in nodes)
        norms = [node for node in self.model.model.graph.node[last:] if node.op_type in NORMALIZATIONS]
        if not norms:
            raise CannotPack("expected a LayerNormalization or SkipLayerNormalization behind the last attention, found "
                             "none")
        source, reason = self._source(nodes[0]), None
        with Held(self.model.model) as held:
            held.infer_types()
            for norm in reversed(norms):
                try:
                    return PackedRegion(self, nodes, *masks, source, norm, lambda name: _shape_in(held, name))
                except CannotPack as error:
                    reason = error
        raise reason

    def _check(self, node):
        for one in node.attribute:
            known = one.name in (*self.attributes, "mask_filter_value")
            if not known and (one.name not in _WITHOUT_EFFECT or one.i != _WITHOUT_EFFECT[one.name]):
                raise CannotPack(f"expected attention without the attribute {one.name}, found it in '{node.name}'")
        others = [index for index, name in enumerate(node.input)
                  if name and index not in (*self.kept, self.mask, self.bias)]
        if others or any(node.output[1:]):
            raise CannotPack("expected attention without keys and values of earlier runs, found " + (
                f"input {others[0]}" if others else "more than one output") + f" in '{node.name}'")

    def _source(self, node):
        """The value whose padding is removed."""
        raise NotImplementedError

    # How it is packed.

    def _change(self, region):
        from onnx import helper

        source, made = region.source, region.end.output[0]
        packed, offsets, sums, longest = (self._new_name(f"{source}_{part}") for part in (
            "no_padding", "token_offset", "cumulated_seq_len", "max_seq_len"))
        before = self._new_name(f"{made}_restore_input")
        for node in region.reads_source:
            self.model.replace_node_input(node, source, packed)
        for node in region.attentions:
            self._pack(node, offsets, sums)
        for node in region.gates:
            node.input.append(offsets)
        region.end.output[0] = before
        for op_type, inputs, outputs in (
                (Operators.REMOVEPADDING, [source, region.counts], [packed, offsets, sums, longest]),
                (Operators.RESTOREPADDING, [before, offsets], [made])):
            self.model.add_node(helper.make_node(op_type, inputs, outputs, self.model.create_node_name(op_type),
                                                 domain="com.microsoft"))

    def _pack(self, node, offsets, sums):
        inputs = [*(input_of(node, index) for index in self.kept), offsets, sums, input_of(node, self.bias)]
        attributes = [one for one in node.attribute if one.name in self.attributes]
        output = node.output[0]
        node.Clear()
        node.op_type, node.domain = self.packed_op_type, "com.microsoft"
        node.name = self.model.create_node_name(self.packed_op_type)
        node.input.extend(inputs)
        node.output.append(output)
        node.attribute.extend(attributes)

    def _new_name(self, name):
        taken = {one for node in self.model.nodes() for one in (*node.input, *node.output)}
        while name in taken:
            name += "_"
        return name


def _shape_in(held, name):
    known = held.graph.type_of(name)
    return None if known is None else known.shape


class PackingAttention(PackingAttentionBase):
    packed_op_type = Operators.PACKEDATTENTION
    tokens_of = (AttentionInputIDs.INPUT,)
    kept = (AttentionInputIDs.INPUT, AttentionInputIDs.WEIGHTS, AttentionInputIDs.BIAS)
    mask, bias = AttentionInputIDs.MASK_INDEX, AttentionInputIDs.ATTENTION_BIAS
    attributes = ("num_heads", "qkv_hidden_sizes", "scale")

    def __init__(self, model):
        super().__init__(model, Operators.ATTENTION)

    def _check(self, node):
        super()._check(node)
        if node.domain != "com.microsoft" or not input_of(node, AttentionInputIDs.BIAS):
            raise CannotPack("expected Attention of com.microsoft with a bias of the projections, found "
                             f"'{node.name}' without one, or of ONNX")

    def _source(self, node):
        return node.input[AttentionInputIDs.INPUT]


class PackingMultiHeadAttention(PackingAttentionBase):
    packed_op_type = Operators.PACKED_MULTI_HEAD_ATTENTION
    tokens_of = (MultiHeadAttentionInputIDs.QUERY, MultiHeadAttentionInputIDs.KEY, MultiHeadAttentionInputIDs.VALUE)
    kept = (*tokens_of, MultiHeadAttentionInputIDs.BIAS)
    mask, bias = MultiHeadAttentionInputIDs.KEY_PADDING_MASK, MultiHeadAttentionInputIDs.ATTENTION_BIAS
    attributes = ("num_heads", "mask_filter_value", "scale")

    def __init__(self, model):
        super().__init__(model, Operators.MULTI_HEAD_ATTENTION)

    def _check(self, node):
        super()._check(node)
        if not all(input_of(node, index) for index in self.tokens_of):
            raise CannotPack(f"expected queries, keys and values apart, found '{node.name}', which reads them packed "
                             "into one input")

    def _source(self, node):
        producers = self.model.output_name_to_node()
        for path in (["MatMul"], ["Add", "MatMul"]):  # the bias is in attention, or by itself
            found = self.model.match_parent_path(node, path, [MultiHeadAttentionInputIDs.QUERY, None][:len(path)],
                                                 producers)
            if found is not None:
                return found[-1].input[0]
        raise CannotPack(f"expected a MatMul, and an Add at most, that make the queries of '{node.name}', found none")


class PackingMode:
    """`model`: an OnnxModel whose attention and normalizations are fused. All attention has to read the number of
    tokens of each sequence (AttentionMaskFormat.MaskIndexEnd), and each operator between the layers to compute a token
    from nothing but the same token."""

    def __init__(self, model):
        self.model = model

    def convert(self, use_symbolic_shape_infer=True):
        """`use_symbolic_shape_infer`: the packed model has the shapes of all values."""
        classes = {Operators.ATTENTION: PackingAttention, Operators.MULTI_HEAD_ATTENTION: PackingMultiHeadAttention}
        found = [op_type for op_type in classes if self.model.get_nodes_by_op_type(op_type)]
        if len(found) != 1:
            logger.error("the model is not packed: expected Attention or MultiHeadAttention, found %s",
                         "both" if found else "neither")
            return
        classes[found[0]](self.model).convert(use_symbolic_shape_infer)


def main(arguments=None):
    import onnx

    parser = argparse.ArgumentParser(description="Attention and the layers around it skip padding.")
    parser.add_argument("--input", required=True, help="a model of optimize_model")
    parser.add_argument("--output", required=True, help="where the packed model is written")
    parser.add_argument("--verbose", action="store_true", help="say more")
    parser.add_argument("--use_external_data_format", action="store_true", help="weights lie beside the model")
    args = parser.parse_args(arguments)
    logging.basicConfig(level=logging.DEBUG if args.verbose else logging.INFO, format="%(name)s: %(message)s",
                        force=True)
    if os.path.realpath(args.input) == os.path.realpath(args.output):
        logger.warning("the model is replaced: --input and --output name one file")
    mode = PackingMode(OnnxModel(onnx.load(args.input)))
    mode.convert()
    mode.model.save_model_to_file(args.output, use_external_data_format=args.use_external_data_format)


if __name__ == "__main__":
    main()
