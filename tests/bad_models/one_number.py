"""Calls of operators (hostile_nodes.py) with one number changed.

Each attribute and each integer input is set to each of a few hostile numbers, one at a time. hostile_nodes.py draws
such changes at random; this module tries all of them.
"""
import hostile_nodes
import numpy as np
import onnx
from onnx import AttributeProto

INTEGERS = [0, -1, 1, 2, 7, 1 << 15, (1 << 31) - 1, 1 << 31, 1 << 32, 1 << 40, 1 << 62, (1 << 63) - 1, -(1 << 31),
            -(1 << 63)]
FLOATS = [0.0, -1.0, 1e-30, 3e38, float("inf"), float("-inf"), float("nan")]
NUMBERS = {AttributeProto.INT: INTEGERS, AttributeProto.INTS: INTEGERS, AttributeProto.FLOAT: FLOATS,
           AttributeProto.FLOATS: FLOATS}
LISTS = (AttributeProto.INTS, AttributeProto.FLOATS)


def attributes_of(case):
    """{name: type} of those with numbers, also of those that the case leaves out."""
    node = case.model.graph.node[0]
    types = dict(hostile_nodes.attribute_types().get((node.domain, node.op_type), {}))
    types.update({a.name: a.type for a in node.attribute})
    return {name: kind for name, kind in sorted(types.items()) if kind in NUMBERS}


def is_counted(value):
    return isinstance(value, np.ndarray) and value.size and value.dtype.kind in "iu" and value.itemsize >= 4


def changes_of(case):
    """Names of all its changes: =attribute|one|all|input/NAME/WHICH, the number's place in its list."""
    for name, kind in attributes_of(case).items():
        for how in ("one", "all") if kind in LISTS else ("attribute",):
            yield from (f"={how}/{name}/{which}" for which in range(len(NUMBERS[kind])))
    for name, value in case.feeds.items():
        if is_counted(value):
            for how in ("input", "input all")[:1 + (value.size > 1)]:
                yield from (f"={how}/{name}/{which}" for which in range(len(INTEGERS)))


def list_attribute(node, name, kind):
    """The items of the attribute, which is made with one if it is missing."""
    for a in node.attribute:
        if a.name == name:
            return a.ints if kind == AttributeProto.INTS else a.floats
    a = node.attribute.add(name=name, type=kind)
    items = a.ints if kind == AttributeProto.INTS else a.floats
    items.append(1)
    return items


def make(case, change):
    how, rest = change[1:].split("/", 1)
    name, _, which = rest.rpartition("/")
    mutation = hostile_nodes.Mutation(case, change)
    node = mutation.node
    if how.startswith("input"):
        value = mutation.case.feeds[name].copy()
        bounds = np.iinfo(value.dtype)
        number = min(max(INTEGERS[int(which)], bounds.min), bounds.max)
        value.reshape(-1)[slice(None) if how == "input all" else -1] = number
        mutation.put(name, value)
    else:
        kind = attributes_of(case)[name]
        number = NUMBERS[kind][int(which)]
        if kind in LISTS:
            items = list_attribute(node, name, kind)
            changed = [number] * len(items) if how == "all" else [*items[:-1], number]
            del items[:]
            items.extend(changed)
        else:
            kept = [a for a in node.attribute if a.name != name]
            del node.attribute[:]
            node.attribute.extend([*kept, onnx.helper.make_attribute(name, number)])
    mutation.note(how, name, "is", number)
    return mutation.seal("shapes")
