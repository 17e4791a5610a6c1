"""Which numbers an input of integers may have, as far as the model tells: those that select rows of a table."""

# Nodes that only move or convert the numbers of their first input.
_PASSING = {"Cast", "Reshape", "Unsqueeze", "Squeeze", "Identity", "Transpose", "Flatten", "Expand", "Slice"}
_REACH = 64  # nodes that are looked at behind an input


def token_limit(graph, name):
    """The size of the smallest table from which an input selects, or None: valid numbers lie below it."""
    limits, waiting, seen = [], [name], set()
    while waiting and len(seen) < _REACH:
        value = waiting.pop()
        if value in seen:
            continue
        seen.add(value)
        for node in graph.consumers(value):
            size = _table_size(graph, node, value)
            if size is not None:
                limits.append(size)
            elif node.op_type in _PASSING and node.inputs[0] == value:
                waiting += node.outputs[:1]
    return min(limits, default=None)


def _table_size(graph, node, value):
    if node.op_type == "Gather" and len(node.inputs) > 1 and node.inputs[1] == value:
        return _dimension(graph, node.inputs[0], node.attribute("axis", 0))
    if node.op_type == "GatherBlockQuantized" and node.inputs[1] == value:
        return _dimension(graph, node.inputs[0], node.attribute("gather_axis", 0))
    if node.op_type == "EmbedLayerNormalization" and value in node.inputs[:2]:
        return _dimension(graph, node.inputs[2 if node.inputs[0] == value else 4], 0)
    return None


def _dimension(graph, name, axis):
    known = graph.type_of(name)
    if known is None or not known.shape or not -len(known.shape) <= axis < len(known.shape):
        return None
    size = known.shape[axis]
    return size if isinstance(size, int) and size > 0 else None
