"""tests/zoo/quantized_forms.py - one model of the zoo in one quantized form, made by our tool and by ONNX Runtime's
with the same data and arguments, and how near both are to the float model.

A new form is a function in FORMS.
"""
import contextlib
import importlib
import logging
import pathlib
import re
import subprocess
import sys
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests/zoo")]
import model_zoo  # noqa: E402
import peer  # noqa: E402
import zoo_cases  # noqa: E402

peer.require()

CALIBRATED = 3  # inputs that give the ranges; others judge the result
JUDGED = 16
BOUND = 0.5  # dB below the result of ONNX Runtime's tool
ROUNDING = 80.0  # dB from which on results differ as floats round
PRODUCTS = {"Conv", "ConvTranspose", "MatMul", "Gemm", "LSTM", "GRU", "RNN", "Attention", "FusedMatMul", "FusedConv",
            "QkvToContext", "MultiHeadAttention", "GroupQueryAttention", "Einsum"}
# What these choose changes when a score does: results behind them differ in number, not in digits.
CHOICES = {"NonMaxSuppression", "TopK", "NonZero", "ArgMax", "RoiAlign"}


class Reader:
    def __init__(self, feeds):
        self.feeds, self.at = feeds, 0

    def get_next(self):
        self.at += 1
        return self.feeds[self.at - 1] if self.at <= len(self.feeds) else None

    def __len__(self):
        return len(self.feeds)


def _dynamic(library, source, target, _):
    quantization(library).quantize_dynamic(source, target, per_channel=True)


def _pairs(library, source, target, feeds):
    tool = quantization(library)
    tool.quantize_static(source, target, Reader(feeds), quant_format=tool.QuantFormat.QDQ, per_channel=True)


def _operators(library, source, target, feeds):
    tool = quantization(library)
    tool.quantize_static(source, target, Reader(feeds), quant_format=tool.QuantFormat.QOperator, per_channel=True,
                         activation_type=tool.QuantType.QUInt8)


def _four_bits(library, source, target, _):
    import onnx

    nbits = importlib.import_module(f"{library}.quantization.matmul_nbits_quantizer")
    made = nbits.MatMulNBitsQuantizer(onnx.load(source), block_size=32)
    made.process()
    made.model.save_model_to_file(target, False)


def _half(library, source, target, _):
    import onnx

    place = {"sardonyx": "sardonyx.float16", "onnxruntime": "onnxruntime.transformers.float16"}[library]
    made = importlib.import_module(place).convert_float_to_float16(onnx.load(source), keep_io_types=True)
    onnx.save(made, target)


FORMS = {"dynamic": _dynamic, "QDQ": _pairs, "QOperator": _operators, "4 bits": _four_bits, "fp16": _half}


def quantization(library):
    return importlib.import_module(f"{library}.quantization")


def products_of_graph(name):
    """How many products of floats a model of the zoo has, bodies of control flow included; weights are not needed."""
    import onnx

    def count(graph):
        bodies = [body for node in graph.node for one in node.attribute for body in (one.g, *one.graphs)]
        return sum(node.op_type in PRODUCTS for node in graph.node) + sum(map(count, bodies))
    return count(onnx.load(str(model_zoo.SOURCE / "models" / f"{name}.onnx"), load_external_data=False).graph)


def _nearest_products_before_a_choice(graph):
    """Outputs of products that depend on no choice, and that reach the outputs through no other such product."""
    chosen, reached = set(), set()  # values behind a choice; values that such a product depends on
    for node in graph.nodes:
        if node.op_type in CHOICES or chosen.intersection(node.inputs):
            chosen.update(node.outputs)
    found = []
    for node in reversed(graph.nodes):
        is_product = node.op_type in PRODUCTS and not chosen.intersection(node.outputs)
        if is_product and not reached.intersection(node.outputs):
            found.append(node.outputs[0])
        if is_product or reached.intersection(node.outputs):
            reached.update(node.inputs)
    return found


def source_of(name, folder):
    """(path of the float model, the outputs that are judged; None: all). Outputs behind a choice cannot be compared:
    the last products before it become outputs."""
    from sardonyx.model import Model

    path = str(model_zoo.path(name))
    if model_zoo.entries()[name]["family"] != "detection":
        return path, None
    model = Model(path)
    if not any(node.op_type in CHOICES for node in model.graph.nodes):
        return path, None
    model.infer_types()
    judged = [one for one in _nearest_products_before_a_choice(model.graph)
              if (kind := model.graph.type_of(one)) is not None and kind.dtype == "float"]
    for one in judged:
        if one not in model.graph.outputs:
            model.graph.add_output(one)
    path = str(pathlib.Path(folder) / "judged.onnx")
    model.save(path)
    return path, judged


def open_session(library, path, level="ORT_ENABLE_ALL"):
    return zoo_cases.open_session(importlib.import_module(library), path, level)


def open_quantized(library, path):
    """(session, whether its sums are exact). ONNX Runtime fails to make sums exact where two nodes between pairs share
    a weight: it takes the name of the converted one twice."""
    try:
        return open_session(library, path), True
    except Exception as error:
        if library != "onnxruntime" or "Attempt to replace the existing tensor" not in str(error):
            raise
    engine = importlib.import_module(library)
    options = engine.SessionOptions()
    options.log_severity_level = 4
    return engine.InferenceSession(path, options, providers=["CPUExecutionProvider"]), False


def outputs(session, feeds, judged):
    """The float outputs of the runs."""
    made = []
    for feed in feeds:
        found = zoo_cases.run(session, feed)
        made.append({name: np.asarray(value) for name, value in found.items()
                     if judged is None or name in judged})
    return made


def sqnr(found, wanted):
    """Signal to noise in dB: the mean over the outputs of noise relative to signal, each summed over the runs."""
    shares = []
    for name in wanted[0]:
        signal = noise = 0.0
        for one, other in zip(found, wanted, strict=True):
            other = other[name]
            if other.dtype.kind != "f" or not other.size:
                continue
            other = other.astype(np.float64)
            good = np.isfinite(other)
            value = one[name].astype(np.float64)
            if value.shape != other.shape:
                raise ValueError(f"'{name}': expected the shape {other.shape}, found {value.shape}")
            signal += np.square(other[good]).sum()
            noise += np.square(value[good] - other[good]).sum()
        if signal > 0:
            shares.append(noise / signal)
    if not shares:
        raise ValueError("the model has no outputs of floats that can be compared")
    share = np.mean(shares)
    if not np.isfinite(share):
        return -999.0
    return 200.0 if share == 0 else float(-10 * np.log10(share))


def described(error):
    """One line, without the paths of this machine and of the builds of others."""
    return f"{type(error).__name__}: {re.sub(r'/[^ :]*/', '', ' '.join(str(error).split()))[:160]}"


def make(library, form, source, target, feeds):
    """Quantizes; returns (seconds, what is wrong or "")."""
    start = time.perf_counter()
    root = logging.getLogger()
    root.setLevel(logging.ERROR)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            FORMS[form](library, source, target, feeds)
    except BaseException as error:  # the other tool raises anything
        return time.perf_counter() - start, described(error)
    return time.perf_counter() - start, ""


def _load_ends(path):
    """How a process ends in which ONNX Runtime loads a model, if it does not end well: it does not catch everything."""
    code = f"import quantized_forms as forms; forms.open_session('onnxruntime', {str(path)!r})"
    made = subprocess.run([sys.executable, "-W", "ignore", "-c", code], cwd=pathlib.Path(__file__).parent,
                          capture_output=True, text=True)
    return f"the process that loads it ends by signal {-made.returncode}" if made.returncode < 0 else ""


def result_of(library, path, feeds, judged, wanted, ends=False):
    """(SQNR, what is wrong or "", outputs, whether sums were exact) of a quantized model in a runtime. `ends`: loading
    may end the process."""
    try:
        if ends and (ended := _load_ends(path)):
            return None, ended, None, True
        session, is_exact = open_quantized(library, path)
        found = outputs(session, feeds, judged)
        return sqnr(found, wanted), "", found, is_exact
    except Exception as error:
        return None, described(error), None, True


def compared(name, form, folder, judging=JUDGED):
    """The row of one model in one form, judged by so many inputs."""
    folder = pathlib.Path(folder)
    source, judged = source_of(name, folder)
    row = {"model": name, "form": form, "judged": judging, "exact": True}
    feeds = [model_zoo.inputs(name, seed=seed) for seed in range(1, CALIBRATED + 1)]
    tests = [model_zoo.inputs(name, seed=100 + seed) for seed in range(judging)]
    wanted = outputs(open_session("onnxruntime", source), tests, judged)
    for library in ("sardonyx", "onnxruntime"):
        path = str(folder / f"{library}.onnx")
        row[f"{library} s"], row[f"{library} refuses"] = make(library, form, source, path, feeds)
    found = {}
    for made_by, library in (("sardonyx", "sardonyx"), ("sardonyx", "onnxruntime"), ("onnxruntime", "onnxruntime")):
        key = f"{made_by} in {library}"
        row[key] = row[f"{key}: fails"] = None
        if not row[f"{made_by} refuses"]:
            path, ends = str(folder / f"{made_by}.onnx"), form == "fp16" and library == "onnxruntime"
            row[key], row[f"{key}: fails"], found[key], is_exact = result_of(library, path, tests, judged, wanted, ends)
            row["exact"] = row["exact"] and is_exact
    both = [found.get(f"sardonyx in {library}") for library in ("sardonyx", "onnxruntime")]
    row["agreement"] = sqnr(*both) if all(both) else None
    if not row["sardonyx refuses"]:
        from integer_nodes import compare_nodes

        path = folder / "sardonyx.onnx"
        row["bytes"] = path.stat().st_size
        if form in ("dynamic", "QDQ", "QOperator"):
            try:
                row["nodes"] = compare_nodes(path, tests[0])
            except Exception as error:
                row["nodes"] = f"nodes were not compared: {described(error)}"
    return row


def problems(row):
    """What a row says against our tool and runtime."""
    found = []
    if row["sardonyx refuses"]:
        return [f"our tool refuses it: {row['sardonyx refuses']}"]
    for library in ("sardonyx", "onnxruntime"):
        if row[f"sardonyx in {library}: fails"] and not row.get(f"onnxruntime in {library}: fails"):
            found.append(f"fails in {library}: {row[f'sardonyx in {library}: fails']}")
    theirs = row["onnxruntime in onnxruntime"]
    if theirs is not None:
        for library in ("sardonyx", "onnxruntime"):
            ours = row[f"sardonyx in {library}"]
            if ours is not None and ours < min(theirs, ROUNDING) - BOUND:
                found.append(f"{theirs - ours:.2f} dB below theirs in {library}")
    if "nodes" in row and not isinstance(row["nodes"], dict):
        return [*found, row["nodes"]]
    for operator, (nodes, _, elements, differing, most) in row.get("nodes", {}).items():
        if differing:
            found.append(f"{differing} of {elements} numbers of {nodes} nodes {operator} differ by up to {most}")
    return found
