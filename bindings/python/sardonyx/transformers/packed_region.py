"""PackedRegion: the part of a model that computes tokens without padding, from the first attention to a normalization
behind the last one; and the proof that it may. Between both, each value has a row for each token, [tokens, width] in
the place of [batch, sequence, width]."""
from sardonyx.transformers.onnx_model import names_read_by

NORMALIZATIONS = ("LayerNormalization", "SkipLayerNormalization")
# The last axis is normalized, and a second output would have one axis less.
_OF_LAST_AXIS = ("LayerNormalization", "SimplifiedLayerNormalization")
_OF_SUM = ("SkipLayerNormalization", "SkipSimplifiedLayerNormalization")
# The first input is multiplied by weights.
_PRODUCTS = ("MatMul", "MatMulNBits", "GemmFastGelu")
_ELEMENTWISE = {"Abs", "Add", "BiasGelu", "Cast", "Clip", "Div", "Elu", "Erf", "Exp", "FastGelu", "Gelu", "HardSigmoid",
                "HardSwish", "Identity", "LeakyRelu", "Log", "Max", "Min", "Mish", "Mul", "Neg", "Pow", "QuickGelu",
                "Reciprocal", "Relu", "Sigmoid", "Softplus", "Sqrt", "Sub", "Swish", "Tanh", "Where"}
_DOMAINS = ("", "ai.onnx", "com.microsoft")
_GATE_INPUTS = 6  # of GatedRelativePositionBias without token_offset


class CannotPack(Exception):  # noqa: N818  (a reason; nothing is wrong with the model)
    """Why a model stays as it is."""


def input_of(node, index):
    """The name of an input; "" if the node has none there."""
    return node.input[index] if index < len(node.input) else ""


class PackedRegion:
    """`attentions`: all nodes of the operator that `rules` (a PackingAttentionBase) is for; `counts`: the value that
    says how many tokens each sequence has; `source`: the value whose padding is removed; `end`: the normalization whose
    first output gets it back; `shape_of`: gives the shape of a value, or None. Nodes are in topological order.

    `reads_source`: the nodes that read `source` without padding; `gates`: GatedRelativePositionBias nodes, which have
    to know where each query stood. Fails with CannotPack."""

    def __init__(self, rules, attentions, counts, source, end, shape_of):
        self.rules, self.attentions, self.counts = rules, attentions, counts
        self.source, self.end = source, end
        self.reads_source, self.gates = [], []
        self._shape_of, self._packed = shape_of, {source}
        self._made_by_attention = {node.output[0] for node in attentions}
        self._check_layout()
        nodes = list(rules.model.model.graph.node)
        needed = _needed(nodes, end)
        for index, node in enumerate(nodes):
            if index in needed and self._packed & names_read_by(node):
                self._visit(node)
        missing = self._made_by_attention - self._packed
        if missing:
            raise CannotPack(f"expected all attention between '{source}' and '{end.output[0]}', found the one that "
                             f"makes '{min(missing)}' elsewhere")
        if end.output[0] not in self._packed:
            raise CannotPack(f"expected attention in front of the normalization that makes '{end.output[0]}'")
        self._check_readers(nodes, needed)

    def _check_layout(self):
        counts, source = self._shape_of(self.counts), self._shape_of(self.source)
        if source is not None and len(source) != 3:
            raise CannotPack(f"expected '{self.source}' as [batch, sequence, hidden], found {_text(source)}")
        if counts is not None and (len(counts) != 1 or (source is not None and _differ(counts[0], source[0]))):
            raise CannotPack("expected a mask that is the number of tokens of each sequence (AttentionMaskFormat."
                             f"MaskIndexEnd), found '{self.counts}' {_text(counts)}")

    def _visit(self, node):
        """Whether the values that the node makes are packed, and whether it can read packed ones."""
        if node.output[0] in self._made_by_attention:
            self._visit_attention(node)
        elif self._computes_each_token(node):
            self._take(node, node.output)
        elif self._is_gate(node):
            self.gates.append(node)
            self._take(node, ())
        elif self._packed & names_read_by(node) != {self.source}:  # what else reads the source goes on with padding
            raise CannotPack("expected operators that compute each token by itself between the layers, found "
                             f"{node.op_type} '{node.name}'")

    def _take(self, node, outputs):
        if self.source in node.input:
            self.reads_source.append(node)
        self._packed.update(filter(None, outputs))

    def _visit_attention(self, node):
        plain = [name for index, name in enumerate(node.input)
                 if (name in self._packed) != (index in self.rules.tokens_of)]
        if plain:
            raise CannotPack(f"expected {node.op_type} that reads only tokens of the layers, found '{node.name}', "
                             f"which reads '{plain[0]}'")
        self._take(node, node.output)

    def _is_gate(self, node):
        """GatedRelativePositionBias of packed queries, which only attention reads."""
        return (node.op_type == "GatedRelativePositionBias" and len(node.input) == _GATE_INPUTS
                and [name in self._packed for name in node.input] == [True] + (_GATE_INPUTS - 1) * [False])

    def _computes_each_token(self, node):
        if node.domain not in _DOMAINS:
            return False
        names = [name for name in node.input if name]
        packed = [name in self._packed for name in names]
        if node.op_type in _OF_SUM:
            return packed[:2] == [True, True] and not any(packed[2:]) and not any(node.output[1:3])
        if node.op_type in _OF_LAST_AXIS:
            axis = self.rules.model.get_node_attribute(node, "axis")
            return (axis in (None, -1) and packed[0] and not any(packed[1:]) and self._fits_all(names[1:])
                    and not any(node.output[1:]))
        if node.op_type in _PRODUCTS:
            weights = self._shape_of(names[1])
            return (packed[0] and not any(packed[1:])
                    and (node.op_type != "MatMul" or (weights is not None and len(weights) == 2)))
        return node.op_type in _ELEMENTWISE and self._fits_all(
            name for name, is_packed in zip(names, packed, strict=True) if not is_packed)

    def _fits_all(self, names):
        """Whether these values have the last axis at most, so that they mean the same to [tokens, width]."""
        shapes = [self._shape_of(name) for name in names]
        return all(shape is not None and (len(shape) < 2 or (len(shape) == 2 and shape[0] == 1)) for shape in shapes)

    def _check_readers(self, nodes, needed):
        """Nothing outside of the region reads what has no padding any more."""
        inner = self._packed - {self.source, self.end.output[0]}
        outputs = inner & {value.name for value in self.rules.model.model.graph.output}
        for index, node in enumerate(nodes):
            outputs |= set() if index in needed else inner & names_read_by(node)
        if outputs:
            raise CannotPack("expected that only the layers read what they make in front of the last normalization, "
                             f"found that '{min(outputs)}' is read elsewhere, too")


def _needed(nodes, end):
    """The indices of the nodes that `end` depends on, and its own."""
    producers = {name: index for index, node in enumerate(nodes) for name in node.output if name}
    found, waiting = set(), [producers[end.output[0]]]
    while waiting:
        index = waiting.pop()
        if index not in found:
            found.add(index)
            waiting.extend(producers[name] for name in names_read_by(nodes[index]) if name in producers)
    return found


def _differ(size, other):
    """Whether two sizes are surely not the same: numbers, or a name and a sum or product."""
    if isinstance(size, int) and isinstance(other, int):
        return size != other
    return isinstance(size, str) and not size.isidentifier() and size != other


def _text(shape):
    return f"[{', '.join('?' if size is None else str(size) for size in shape)}]"
