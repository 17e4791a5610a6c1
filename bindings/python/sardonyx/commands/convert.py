"""`sardonyx convert`: half precision, or weights of 4 bits."""
import json
import math
import re
import tempfile
from pathlib import Path

import numpy as np

from sardonyx.commands import comparison, files, model_facts, speed
from sardonyx.commands.accuracy import Reference
from sardonyx.commands.candidates import Settings, Workshop
from sardonyx.commands.failure import Failure, need_onnx
from sardonyx.commands.outputs import output_path
from sardonyx.commands.samples import Reader, Samples
from sardonyx.commands.terminal import Progress, styled
from sardonyx.model import Model

_FLOAT = 1  # TensorProto.DataType
_LARGEST_HALF = 65504.0
_MARGIN = 4.0  # values of other data may be so much larger than those that were seen
_LARGE = 2 << 30  # bytes of a file of protobuf


def run(request):
    with tempfile.TemporaryDirectory(prefix="work_", dir=request.folder) as folder:
        Conversion(request, Path(folder)).run()


class Conversion:
    """The command at work."""

    def __init__(self, request, folder):
        self.request, self.folder = request, folder
        self.says = (lambda *_: None) if request.json else print
        self.model = Model(request.file)
        self.model.graph.fix_defaults()
        self.output = output_path(request, request.to)
        self._check()
        if request.to != "int4":
            need_onnx(f"conversion to {request.to}")
        self.samples = Samples(request, self.model)

    def _check(self):
        name, to = self.request.model, self.request.to
        if to == "int4":
            model_facts.refuse_quantized(self.model, name)
            if not any(node.op_type == "MatMul" for node in model_facts.products(self.model.graph)):
                raise Failure(f"'{name}' has no MatMul with weights of floats, which --to int4 is for: use --to fp16, "
                              "or sardonyx quantize")
            return
        floats = [value for value in _types(self.model) if value == "float"]
        if not floats:
            raise Failure(f"'{name}' has no floats to convert: its types are "
                          + ", ".join(sorted(set(_types(self.model)))))
        weights = {known.type.dtype for graph in self.model.graphs if graph is not None
                   for known in graph.initializers.values()}
        half = sorted({"float16", "bfloat16"} & weights)
        if half and "float" not in weights:
            raise Failure(f"'{name}' is in half precision already: its weights are of {' and '.join(half)}, none of "
                          "float. Give the model that it was made from.")

    def run(self):
        request = self.request
        with Progress("running the original"):
            reference = Reference(speed.make_session(request.file, request.threads), self.samples, request.compare,
                                  model_facts.is_convolutional(self.model.graph))
        for text in self.samples.assumed:
            self.says(styled("dim", f"  {text}"))
        with Progress("converting"), files.unfinished(self.output) as unready:
            kept = self._int4(unready) if request.to == "int4" else self._half(unready)
        result = comparison.compare(request, self.output, self.samples, reference)
        if request.json:
            print(json.dumps({"model": request.model, "output": str(self.output), "to": request.to,
                              "left_in_float": kept, **comparison.as_json(result)}, indent=2))
            return
        source = f"{self.samples.count} samples from {request.data}" if request.data else (
            f"{self.samples.count} random samples, as there is no --data")
        self.says(f"converted to {request.to}; compared on {source}")
        if kept:
            self.says(f"  left in float: {len(kept)} nodes ({', '.join(kept[:4])}{' ...' if len(kept) > 4 else ''})")
        comparison.show(result, reference)
        self.says("\nwrote " + styled("bold", str(self.output)))

    def _int4(self, path):
        workshop = Workshop(self.model, self.request.file, self.folder)
        kept = model_facts.excluded_names(self.model, workshop.prepared, self.request.exclude)
        workshop.make(Settings("int4", block_size=self.request.block_size or 32, excluded=tuple(kept)), path)
        return kept

    def _half(self, path):
        from sardonyx import float16

        named = self.folder / "named.onnx"
        model_facts.name_all(self.model)
        kept = set(model_facts.excluded_names(self.model, self.model, self.request.exclude))
        self.model.infer_types()
        if self.request.to == "fp16":
            kept |= self._too_large(named)
        arguments = {"keep_io_types": not self.request.convert_io, "node_block_list": sorted(kept)}
        source = self._save(named) if self._is_large() else self.model.to_proto()
        if self.request.to == "fp16":
            made = float16.convert_float_to_float16(source, **arguments)
        else:
            made = float16.convert_float_to_bfloat16(source, **arguments)
        converted = self._opened(made)
        for graph in [graph for graph in converted.graphs if graph is not None]:
            _join_floats(graph)
        weights = sum(known.size for graph in converted.graphs if graph is not None
                      for known in graph.initializers.values())
        converted.save(str(path), f"{path.name}.data" if weights > _LARGE // 2 else None)
        return sorted(kept)

    def _is_large(self):
        """Whether the model's weights lie in a file of their own."""
        return sum(known.size for known in self.model.graph.initializers.values()) > _LARGE // 2

    def _save(self, file):
        """The path of the model, as a text."""
        self.model.save(str(file), f"{file.name}.data" if self._is_large() else None)
        return str(file)

    def _opened(self, proto):
        """The Model of a proto, which passes through a file where it may be too large to be serialized."""
        if sum(len(one.raw_data) for one in proto.graph.initializer) <= _LARGE // 2:
            return Model(proto)
        import onnx

        file = self.folder / "converted.onnx"
        onnx.save(proto, str(file), save_as_external_data=True, location=f"{file.name}.data")
        return Model(str(file))

    def _too_large(self, file):
        """Names of nodes that make or read values that half precision lacks, on the samples."""
        from sardonyx.quantization.calibrate import MinMaxCalibrater

        calibrater = MinMaxCalibrater(self._save(file), None, str(self.folder / "watched.onnx"),
                                      use_external_data_format=self._is_large())
        calibrater.augment_graph()
        calibrater.create_inference_session()
        calibrater.collect_data(Reader(self.samples, self.samples.calibration))
        found, graph = set(), self.model.graph
        for name, data in calibrater.compute_data().items():
            low, high = (np.asarray(one).max() for one in (-data.range_value[0], data.range_value[1]))
            size = max(abs(float(low)), abs(float(high)))
            if math.isfinite(size) and size * _MARGIN > _LARGEST_HALF:
                maker = graph.producer(name)
                found.update(node.name for node in [maker, *graph.consumers(name)] if node is not None)
        return found


def _join_floats(graph):
    """Nodes that stay float read what others that do make, not what half precision leaves of it."""
    for node in graph.nodes:
        narrow = graph.producer(node.inputs[0]) if node.op_type == "Cast" and node.attribute("to") == _FLOAT else None
        if narrow is None or narrow.op_type != "Cast" or not (
                re.search(r"_cast_to_fp16_node(_\d+)?$", narrow.name) or narrow.name.startswith("graph_input_cast")):
            continue
        if node.outputs[0] in graph.outputs:
            continue
        graph.replace_uses(node.outputs[0], narrow.inputs[0])
        graph.remove_node(node)
        name = narrow.outputs[0]
        if not graph.consumers(name) and name not in graph.outputs and not graph.is_read_by_bodies(name):
            graph.remove_node(narrow)


def _types(model):
    for graph in model.graphs:
        if graph is None:
            continue
        for known in graph.initializers.values():
            yield known.type.dtype
        for name in graph.inputs:
            known = graph.type_of(name)
            if known is not None:
                yield known.dtype
