"""What each layer costs and brings: noise of its output, range of its values, time in float and in integers."""
import math
import re
from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from sardonyx.commands.accuracy import Noise, decibels
from sardonyx.commands.candidates import quiet
from sardonyx.commands.speed import node_times
from sardonyx.model import Model
from sardonyx.quantization.quant_types import DEQUANT_OUTPUT_SUFFIX

# Operators that make no new numbers, and functions that become part of a range.
_MOVING = {"Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "MaxPool", "Split", "Slice", "Pad", "Concat"}
_CLIPPING = {"Relu", "Clip"}
_BEHIND = 0.999
_MADE = re.compile(r"(_MatMul)?(_quant\w*)?$")  # what the dynamic quantizer adds to the name of a node
_SAMPLES = 4  # of which values are compared; noise of a layer differs little between samples


@dataclass
class Layer:
    """A node that can be quantized. `sqnr`: of its output against the original's, with the noise of the layers before
    it and that of its own quantization; `added`: the noise that the layer adds, as a share of its output's signal; None
    where the value is not there to be compared. Times are in milliseconds, and None where the node has become part of
    `part_of`."""

    name: str
    op_type: str
    output: str
    is_quantized: bool
    sqnr: float | None = None
    added: float | None = None
    weight_sqnr: float | None = None
    low: float | None = None
    high: float | None = None
    scale: float | None = None
    float_ms: float | None = None
    integer_ms: float | None = None
    part_of: str = ""

    @property
    def gain_ms(self):
        return None if self.float_ms is None or self.integer_ms is None else self.float_ms - self.integer_ms


def layers_of(workshop, settings):
    """The nodes that these settings quantize, and those that they would without `excluded`; in topological order."""
    graph, found = workshop.prepared.graph, []
    kinds = {"MatMul"} if settings.method == "int4" else set(settings.kinds)
    if settings.method == "dynamic":
        kinds.add("Gemm")  # becomes a MatMul
    from sardonyx.commands.model_facts import products

    weighted = {node.name for node in products(graph)}
    for node in graph.nodes:
        known = graph.type_of(node.outputs[0])
        if node.op_type not in kinds or node.op_type in _MOVING | _CLIPPING or known is None:
            continue
        if known.dtype not in ("float", "float16"):
            continue
        needs_weight = settings.method != "static" or node.op_type in ("MatMul", "Conv", "ConvTranspose")
        if needs_weight and node.name not in weighted and node.op_type != "Gather":
            continue
        if node.op_type == "Gather" and node.inputs[0] not in graph.initializers:
            continue
        found.append(Layer(node.name, node.op_type, _clipped(graph, node), node.name not in settings.excluded))
    return found


def _clipped(graph, node):
    """The value of a node, or that of the Relu or Clip alone that reads it: its quantized range stands for these."""
    readers = graph.consumers(node.outputs[0])
    is_clipped = len(readers) == 1 and readers[0].op_type in _CLIPPING and node.outputs[0] not in graph.outputs
    return readers[0].outputs[0] if is_clipped else node.outputs[0]


def measure_noise(layers, workshop, settings, path, samples, progress=lambda _: None):
    """Sets sqnr, added and weight_sqnr of layers. `path`: the quantized model; that of operators on integers is
    measured in the form with QuantizeLinear and DequantizeLinear, which has all values as floats."""
    if settings.format == "qoperator" and settings.method == "static":
        from dataclasses import replace

        settings = replace(settings, format="qdq")
        path = workshop.folder / "layers_qdq.onnx"
        workshop.make(settings, path)
    graph = workshop.prepared.graph
    nodes = {node.name: node for node in graph.nodes}
    wanted = {layer.output for layer in layers}
    for layer in layers:
        wanted.update(name for name in nodes[layer.name].inputs if graph.producer(name) is not None)
    other, names = _watched(path, {name: (f"{name}{DEQUANT_OUTPUT_SUFFIX}", name) for name in wanted}, workshop)
    exact, names = _watched(workshop.prepared_file, {name: (name,) for name in names}, workshop)
    shares = _shares(exact, other, names, samples, progress)
    for layer in layers:
        if layer.output not in shares:
            continue
        before = [shares[name] for name in nodes[layer.name].inputs if name in shares]
        layer.sqnr = decibels(shares[layer.output])
        layer.added = max(shares[layer.output] - max(before, default=0), 0)
    if settings.method == "static":
        _measure_weights(layers, workshop.prepared, path)
    for layer in layers:
        if workshop.histograms is not None and layer.output in workshop.histograms.of:
            counts, edges, low, high, *_ = workshop.histograms.of[layer.output]
            layer.low, layer.high = float(low), float(high)


def _watched(path, names, workshop):
    """(a function that gives values by the keys of `names` on a feed, those keys). `names`: for each key the names that
    the value may have in the model, of which the first that is there counts."""
    import sardonyx

    model = Model(str(path))
    model.infer_types()
    graph = model.graph

    def is_there(name):
        known = graph.type_of(name)
        return graph.producer(name) is not None and (known is None or known.dtype in ("float", "float16"))
    found = {key: next(filter(is_there, several), None) for key, several in sorted(names.items())}
    found = {key: name for key, name in found.items() if name is not None}
    for name in list(graph.outputs):
        if name not in found.values():
            graph.remove_output(name)
    for name in found.values():
        if name not in graph.outputs:
            graph.add_output(name)
    file = workshop.folder / "watched_layers.onnx"
    model.save(file, f"{file.name}.data" if workshop.is_large else None)
    options = sardonyx.SessionOptions()
    options.graph_optimization_level = sardonyx.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = sardonyx.InferenceSession(str(file), options)

    def values(feed, keys):
        return session.run([found[key] for key in keys], feed)
    return values, list(found)


def _shares(exact, other, names, samples, progress):
    """Noise of each value as a share of its signal."""
    noises = {name: Noise() for name in names}
    numbers = samples.comparison[:_SAMPLES]
    for at, number in enumerate(numbers if names else ()):
        progress(at / len(numbers))
        feed = samples.feed(number)
        for name, one, two in zip(names, exact(feed, names), other(feed, names), strict=True):
            if one.shape == two.shape and np.issubdtype(one.dtype, np.floating):
                noises[name].add(one, two)
    return {name: noise.share for name, noise in noises.items() if noise.signal}


def _measure_weights(layers, prepared, path):
    from sardonyx.quantization.qdq_loss_debug import compute_weight_error, create_weight_matching

    nodes = {node.name: node for node in prepared.graph.nodes}
    with quiet():
        errors = compute_weight_error(create_weight_matching(prepared.path, str(path)))
    for layer in layers:
        found = [errors[name] for name in nodes[layer.name].inputs if name in errors]
        layer.weight_sqnr = min(found) if found else None


def measure_times(layers, workshop, path, threads, feed, folder):
    """Sets times of layers. Layers that became part of another node have their time there, and none of their own."""
    graph = workshop.prepared.graph
    exact = node_times(workshop.prepared_file, threads, feed, folder)
    other = _by_layer(node_times(path, threads, feed, folder), {layer.name for layer in layers})
    for layer in layers:
        home = {name: _home(graph, layer.name, times) for name, times in (("exact", exact), ("other", other))}
        layer.part_of = "" if home["other"] in (layer.name, None) else home["other"]
    # Nodes that are one in either model are counted together, at the last of them.
    groups = {}
    for layer in layers:
        groups.setdefault(_home(graph, layer.name, other) or layer.name, []).append(layer)
    for name, members in groups.items():
        homes = {_home(graph, member.name, exact) or member.name for member in members}
        last = next((member for member in members if member.name == name), members[-1])
        last.part_of = ""
        last.float_ms = sum(exact.get(home, 0.0) for home in homes)
        last.integer_ms = other.get(name)
        if last.integer_ms is None:  # neither it nor what follows has a time of its own
            last.float_ms = None
        for member in members:
            if member is not last:
                member.part_of = last.name


def _by_layer(times, names):
    """Times of the quantized model's nodes under the names of the layers that these are made from."""
    found = defaultdict(float)
    for node, milliseconds in times.items():
        origin = _MADE.sub("", node)
        found[origin if node not in names and origin in names else node] += milliseconds
    return found


def _home(graph, name, times):
    """The node whose time includes that of a node: itself, or the next one behind it that was measured."""
    node = next((one for one in graph.nodes if one.name == name), None)
    for _ in range(8):
        if node is None:
            return None
        if node.name in times:
            return node.name
        readers = graph.consumers(node.outputs[0])
        node = readers[0] if len(readers) == 1 else None
    return None


def by_cost(layers):
    """The quantized layers, those that add most noise first; those that could not be compared last."""
    known = [layer for layer in layers if layer.is_quantized]
    return sorted(known, key=lambda layer: -(layer.added if layer.added is not None else -math.inf))


def by_blame(layers, graph):
    """Names of the quantized layers in the order in which a search leaves them in float: as by_cost, but a layer comes
    right behind the one that reads it if that one adds more noise. Its output is quantized, too, and what that loses
    may show only where it is read: outliers hide it."""
    readers = {layer.name: {node.name for node in graph.consumers(layer.output)} for layer in layers}
    cost = {layer.name: layer.added or 0.0 for layer in layers}
    blame = {name: max([cost[name]] + [_BEHIND * cost.get(one, 0.0) for one in readers[name]]) for name in cost}
    return sorted((layer.name for layer in layers if layer.is_quantized), key=lambda name: -blame[name])


