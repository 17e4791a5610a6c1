"""Quantized models: how each is made."""
import logging
from dataclasses import dataclass, replace
from pathlib import Path

from sardonyx.commands import model_facts
from sardonyx.commands.failure import Failure, need_onnx
from sardonyx.model import Model
from sardonyx.quantization import QuantFormat, QuantType, quant_pre_process, quantize_dynamic, quantize_static
from sardonyx.quantization.calibration_data import CalibrationMethod

LARGE = 1 << 30  # bytes of weights from which on they lie in a file of their own, as a model file ends at 2 GB
_CHANNELS_OPSET, _OLDEST_OPSET = 13, 11

# What is quantized where ranges are known. Softmax, normalizations, functions of one value and products of two values
# (gates, SiLU) lose more than they gain.
_PRODUCTS = ["Conv", "ConvTranspose", "Gemm", "MatMul"]
_BETWEEN = ["Add", "Concat", "MaxPool", "AveragePool", "GlobalAveragePool", "Relu", "Clip", "LeakyRelu", "Reshape",
            "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Resize", "Split", "Slice", "Pad"]
_DYNAMIC = ["MatMul", "Attention", "LSTM", "Gather", "EmbedLayerNormalization", "Conv"]


@dataclass(frozen=True)
class Settings:
    """How a model is quantized. `ranges`: minmax, percentile or entropy; "" where they are measured in each run."""

    method: str  # "static", "dynamic" or "int4"
    ranges: str = ""
    format: str = "qdq"
    reduce_range: bool = False
    block_size: int = 32
    kinds: tuple = ()
    excluded: tuple = ()
    weighted_alone: bool = False  # products of two computed values stay in float: attention remains one kernel

    @property
    def text(self):
        if self.method == "int4":
            return f"weights of 4 bits in blocks of {self.block_size} (k-quant), activations float"
        bits = "7" if self.reduce_range else "8"
        if self.method == "dynamic":
            return f"dynamic: weights int8 ({bits} bits, per channel), activations uint8 with ranges of each run"
        form = "QDQ" if self.format == "qdq" else "QOperator"
        return f"static {form}: weights int8 ({bits} bits, per channel), activations uint8, ranges by {self.ranges}"

    def without(self, nodes):
        """The same with these nodes left in float, too."""
        return replace(self, excluded=tuple(sorted({*self.excluded, *nodes})))


class Workshop:
    """Makes quantized models of one model in a folder for temporary files. `histograms` is set once calibration is
    done."""

    def __init__(self, model, file, folder):
        self.folder, self.histograms = Path(folder), None
        self.is_large = _weight_bytes(model) > LARGE
        version = model.opsets.get("", model.opsets.get("ai.onnx", 0))
        if version < _CHANNELS_OPSET:
            need_onnx(f"the model is of opset {version}, and scales per channel need opset {_CHANNELS_OPSET}: "
                      "converting it")
        prepared = self.folder / "prepared.onnx"
        source = self.folder / "named.onnx"
        model_facts.name_all(model)
        model.save(source, f"{source.name}.data" if self.is_large else None)
        with quiet():
            quant_pre_process(str(source), str(prepared), skip_symbolic_shape=True,
                              save_as_external_data=self.is_large)
        for left in self.folder.glob("named.onnx*"):
            left.unlink()
        self.prepared = _named(prepared, self.is_large)
        self.prepared_file = self.prepared.path

    def make(self, settings, path):
        """Writes a quantized model."""
        with quiet():
            if settings.method == "int4":
                self._make_int4(settings, path)
            elif settings.method == "dynamic":
                # A Gemm becomes NAME_MatMul.
                excluded = [*settings.excluded, *(f"{name}_MatMul" for name in settings.excluded)]
                quantize_dynamic(str(self.prepared_file), str(path), op_types_to_quantize=list(settings.kinds),
                                 per_channel=True, reduce_range=settings.reduce_range, weight_type=QuantType.QInt8,
                                 nodes_to_exclude=excluded, use_external_data_format=self.is_large)
            else:
                left = model_facts.products_of_values(self.prepared.graph) if settings.weighted_alone else ()
                quantize_static(
                    str(self.prepared_file), str(path), None,
                    quant_format=QuantFormat.QDQ if settings.format == "qdq" else QuantFormat.QOperator,
                    op_types_to_quantize=list(settings.kinds), per_channel=True, reduce_range=settings.reduce_range,
                    activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8,
                    nodes_to_exclude=[*settings.excluded, *left], use_external_data_format=self.is_large,
                    calibrate_method=CalibrationMethod.MinMax,
                    calibration_cache_path=self.histograms.cache(settings.ranges),
                    extra_options={"MatMulConstBOnly": True})

    def _make_int4(self, settings, path):
        from sardonyx.quantization.matmul_nbits_quantizer import KQuantWeightOnlyQuantConfig, MatMulNBitsQuantizer

        quantizer = MatMulNBitsQuantizer(str(self.prepared_file), block_size=settings.block_size, accuracy_level=4,
                                         nodes_to_exclude=list(settings.excluded),
                                         algo_config=KQuantWeightOnlyQuantConfig())
        quantizer.process()
        quantizer.model.save_model_to_file(str(path), self.is_large)


def has_vnni():
    """Whether this machine multiplies 8-bit integers without sums that saturate."""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            flags = next((line for line in file if line.startswith(("flags", "Features"))), "").split()
    except OSError:
        return False
    return bool({"avx512_vnni", "avx_vnni", "amx_int8", "asimddp"} & set(flags))


def choices(request, workshop):
    """The Settings that are tried: one, or those of which the best is taken."""
    graph = workshop.prepared.graph
    excluded = tuple(request.excluded)
    reduce_range = request.reduce_range == "yes" or request.reduce_range == "auto" and not has_vnni()
    is_convolutional = model_facts.is_convolutional(graph)
    method = request.method
    if method == "int4":
        if not any(node.op_type == "MatMul" for node in model_facts.products(graph)):
            raise Failure("--method int4: weights of 4 bits are for MatMul, and the model has none with weights: use "
                          "--method static")
        return [Settings("int4", excluded=excluded, block_size=request.block_size or 32)]
    dynamic = Settings("dynamic", reduce_range=reduce_range, excluded=excluded,
                       kinds=tuple(kind for kind in _DYNAMIC if kind != "Conv" or request.method == "dynamic"))
    if method == "auto":
        method = "static" if is_convolutional else "both"
        if model_facts.has_recurrence(graph):
            method = "dynamic"
    if method == "dynamic":
        return [dynamic]
    kinds = _PRODUCTS + (_BETWEEN if is_convolutional else [])
    ways = ["minmax", "percentile"] if request.calibrate == "auto" else [request.calibrate]
    static = [Settings("static", way, request.format, reduce_range, kinds=tuple(kinds), excluded=excluded,
                       weighted_alone=not is_convolutional) for way in ways]
    return [*static, dynamic] if method == "both" else static


class quiet:  # noqa: N801  (reads as a word of the language)
    """Warnings of the library are for programs: this tool has told the user by itself what matters."""

    def __enter__(self):
        self._before = logging.root.manager.disable
        logging.disable(logging.WARNING)

    def __exit__(self, *_):
        logging.disable(self._before)


def _weight_bytes(model):
    return sum(known.size for graph in model.graphs if graph is not None for known in graph.initializers.values())


def _named(path, is_large):
    """The prepared model, in whose file new nodes have names, too."""
    model = Model(str(path))
    before = [node.name for node in model.graph.nodes]
    model_facts.name_all(model)
    if before == [node.name for node in model.graph.nodes]:
        return model
    named = path.with_name("prepared_and_named.onnx")
    model.save(named, f"{named.name}.data" if is_large else None)
    return Model(str(named))
