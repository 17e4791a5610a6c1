"""Makes a failing case smaller, and stores and loads cases as files.

A stored case is a folder as the official suite has them: model.onnx and test_data_set_0/input_N.pb.
"""
import copy
import dataclasses
import pathlib

import numpy as np
import onnx
from calls import Call, Case, Draw
from onnx import TensorProto, numpy_helper


def clone(case):
    return dataclasses.replace(case, model=copy.deepcopy(case.model), feeds=copy.deepcopy(case.feeds))


def kinds_of(verdict):
    return {peer for peer, _ in verdict.faults}


def attributes_removed(case):
    for number, node in enumerate(case.model.graph.node):
        for at in range(len(node.attribute)):
            smaller = clone(case)
            del smaller.model.graph.node[number].attribute[at]
            yield smaller


def inputs_removed(case):
    for number, node in enumerate(case.model.graph.node):
        if node.input and len(node.input) > 1:
            smaller = clone(case)
            name = smaller.model.graph.node[number].input.pop()
            drop(smaller, name)
            yield smaller


def drop(case, name):
    graph = case.model.graph
    if any(name in node.input for node in graph.node):
        return
    case.feeds.pop(name, None)
    for group in (graph.input, graph.initializer):
        for at in [i for i, value in enumerate(group) if value.name == name]:
            del group[at]


def last_node_removed(case):
    if len(case.model.graph.node) > 1:
        smaller = clone(case)
        node = smaller.model.graph.node.pop()
        graph = smaller.model.graph
        kind = next(o.type for o in graph.output if o.name == node.output[0])
        for at in [i for i, o in enumerate(graph.output) if o.name in node.output]:
            del graph.output[at]
        known = {o.name for o in graph.output}
        before = [name for name in node.input if name.startswith("v") and name not in known]
        graph.output.extend([onnx.ValueInfoProto(name=name, type=kind) for name in before])
        for name in node.input:
            drop(smaller, name)
        yield smaller


def values_flattened(case):
    """Halves of the elements of each float input become 1."""
    for name, value in case.feeds.items():
        if not isinstance(value, np.ndarray) or value.dtype.kind != "f" or value.size == 0:
            continue
        for part in (slice(None), slice(0, value.size // 2), slice(value.size // 2, None)):
            smaller = clone(case)
            flat = smaller.feeds[name].reshape(-1)
            if (flat[part] == 1).all():
                continue
            flat[part] = 1
            smaller.feeds[name] = flat.reshape(value.shape)
            yield smaller


def redrawn(case, make, tries=30):
    """Smaller cases of the same cell."""
    cell, _, index = case.name.rpartition("/")
    seed = case.draw.seed if hasattr(case.draw, "seed") else 0
    for other in range(tries):
        for mood in ("tame", None):
            try:
                found = make(f"{cell}/{int(index) * 1000 + other}", seed, mood)
            except Exception:  # noqa: BLE001, S112  (a smaller case that cannot be made is not one)
                continue
            if size_of(found) < size_of(case):
                yield found


def size_of(case):
    return len(case.model.SerializeToString()) + sum(np.asarray(v, object).size if isinstance(v, list) else
                                                     np.asarray(v).nbytes for v in case.feeds.values())


def shrunk(case, verdict, judge, make=None):
    """The smallest case found that shows a fault of the same peers, and its verdict."""
    wanted = kinds_of(verdict)
    if make:
        for candidate in redrawn(case, make):
            found = judge(candidate)
            if kinds_of(found) == wanted and size_of(candidate) < size_of(case):
                case, verdict = candidate, found
    for _ in range(20):
        for way in (last_node_removed, attributes_removed, inputs_removed, values_flattened):
            better = next(((c, v) for c in way(case) if kinds_of(v := judge(c)) == wanted and "refused" not in str(
                v.faults) or (kinds_of(v) == wanted and v.faults == verdict.faults)), None)
            if better:
                case, verdict = better
                break
        else:
            break
    return case, verdict


def store(case, folder, words):
    folder = pathlib.Path(folder) / case.name.replace("/", "_")
    data = folder / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    (folder / "why.txt").write_text(words)
    for number, value in enumerate(case.model.graph.input):
        x, kind = case.feeds[value.name], value.type.WhichOneof("value")
        if kind == "tensor_type":
            proto = numpy_helper.from_array(np.asarray(x), value.name)
        elif kind == "sequence_type":
            proto = numpy_helper.from_list(x, value.name)
        else:
            proto = numpy_helper.from_optional(x, value.name, onnx.OptionalProto.TENSOR if x is None else None)
        (data / f"input_{number}.pb").write_bytes(proto.SerializeToString())
    return folder


LOADERS = {"tensor_type": (TensorProto, numpy_helper.to_array), "sequence_type": (onnx.SequenceProto,
           numpy_helper.to_list), "optional_type": (onnx.OptionalProto, numpy_helper.to_optional)}


def load(folder, seed=0):
    folder = pathlib.Path(folder)
    model, feeds = onnx.load(folder / "model.onnx"), {}
    for number, value in enumerate(model.graph.input):
        make, read = LOADERS[value.type.WhichOneof("value")]
        feeds[value.name] = read(make.FromString((folder / f"test_data_set_0/input_{number}.pb").read_bytes()))
    schema = onnx.defs.get_schema("Identity", 13)
    return Case(folder.name, model, feeds, Call([], tolerance=16), Draw(schema, seed, 0))
