"""Each operator of ONNX Runtime's registry is quantized as its tool does it, in each form that has a rule for it, and
what comes out computes the same in both runtimes."""
import numpy as np
import onnx
import onnxruntime
import onnxruntime.quantization.registry as peer_registry
import pytest
import sardonyx
from onnx import TensorProto
from quantized_models import assert_same, by_both, contents, feed
from registry_cases import CASES

FORMS = {
    "dynamic": ("IntegerOpsRegistry", "dynamic", {}),
    "QOperator": ("QLinearOpsRegistry", "static", {"quant_format": "QOperator", "activation_type": "QUInt8"}),
    "QDQ": ("QDQRegistry", "static", {"quant_format": "QDQ"}),
}
# Where ours differs from the result of ONNX Runtime's tool on purpose: form, operator, case, and why.
_ALPHA = "QGemm multiplies the bias by alpha, too: ONNX Runtime's tool does not divide it by alpha before"
_BETA = "beta multiplies the bias: ONNX Runtime's tool divides by it"
_READ = "the node works on values below its range, as others read them, too: ONNX Runtime's tool drops it"
DIFFERENT = {
    ("QOperator", "Gemm", "alpha"): _ALPHA, ("QOperator", "Gemm", "alpha and beta"): _ALPHA,
    ("QDQ", "Gemm", "alpha and beta"): _BETA,
    ("QOperator", "Relu", "of a value that others read"): _READ,
    ("QOperator", "Clip", "of a value that others read"): _READ,
    ("QOperator", "Where", "two products"): _READ,
    ("QOperator", "Relu", "behind a pool"): "what comes out of the pool has the range of what goes into it, which "
                                            "reaches below zero: ONNX Runtime's tool drops the node",
}
# ONNX Runtime's DynamicQuantizeLSTM saturates its sums even where it is told to sum exactly.
BOUNDS = {("dynamic", "LSTM"): 5e-3}
# What rules are called with when the operator is quantized only if it is asked for.
ASKED_FOR = {"Where": {"extra_options": {"ForceQuantizeNoInputCheck": True}}}


def rows(form):
    """The cases of the operators that have a rule in this form."""
    registry = getattr(peer_registry, FORMS[form][0])
    return [pytest.param(form, *case, id=f"{form}-{case[0]}-{case[1]}") for case in CASES if case[0] in registry]


@pytest.mark.parametrize("form", FORMS)
def test_no_rule_is_without_a_case(form):
    rules = set(getattr(peer_registry, FORMS[form][0]))
    assert rules - {case[0] for case in CASES} == set()


def sessions(path):
    """ONNX Runtime node by node and with all optimizations, with sums that do not saturate, and Sardonyx twice."""
    for library in (onnxruntime, sardonyx):
        for level in ("ORT_DISABLE_ALL", "ORT_ENABLE_ALL"):
            options = library.SessionOptions()
            options.graph_optimization_level = getattr(library.GraphOptimizationLevel, level)
            if library is onnxruntime:
                options.add_session_config_entry("session.x64quantprecision", "1")
            yield level, library.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def runs_alike(source, path, bound):
    """Whether all sessions give the same: the same numbers where everything between the ends is whole numbers, and
    otherwise nearly the same."""
    values = feed(onnx.load(source), 10)  # the first of those that gave the ranges
    floats = sardonyx.InferenceSession(source).run(None, values)
    # Without optimizations ONNX Runtime's sums saturate on processors without VNNI.
    has_sums = any(word in kind for _, kind in contents(path)[0] for word in ("Integer", "LSTM", "QLinear", "QGemm",
                                                                              "QAttention"))
    given = [session.run(None, values) for level, session in sessions(path)
             if not has_sums or level != "ORT_DISABLE_ALL" or "onnxruntime" not in type(session).__module__]
    for exact, *found in zip(floats, *given, strict=True):
        if exact.dtype.kind != "f":
            assert all((one == found[0]).mean() > 0.98 for one in found)
            continue
        spread = np.abs(exact).max()
        for one in found:
            assert one.shape == exact.shape
            assert np.abs(one - found[0]).max() <= bound * spread
            assert np.abs(one - exact).mean() <= 0.05 * spread


def on_integers(path, op_type):
    """The nodes of the operator that read whole numbers: those of a quantizing node, of one on integers, or weights."""
    graph = onnx.load(path).graph
    makers = {name: node.op_type for node in graph.node for name in node.output}
    weights = {one.name for one in graph.initializer if one.data_type in (TensorProto.INT8, TensorProto.UINT8)}
    return [node for node in graph.node if node.op_type == op_type and any(
        name in weights or "Quantize" in makers.get(name, "").removeprefix("De") or "QL" in makers.get(name, "")
        for name in node.input)]


@pytest.mark.parametrize(("form", "op_type", "case", "make", "integer_name"),
                         [row for form in FORMS for row in rows(form)])
def test_rule(tmp_path, form, op_type, case, make, integer_name):
    source, (_, how, arguments) = str(tmp_path / "f.onnx"), FORMS[form]
    onnx.save(make(), source)
    paths = by_both(how, source, tmp_path, **arguments, **(ASKED_FOR.get(op_type, {}) if how == "static" else {}))
    reason = DIFFERENT.get((form, op_type, case))
    if reason is None:
        assert_same(paths)
    else:
        with pytest.raises(AssertionError):
            assert_same(paths)
    runs_alike(source, paths["ours"], BOUNDS.get((form, op_type), 0.03 if form == "QDQ" else 1e-5))
    counts = contents(paths["ours"])[0]
    if form == "QOperator" and integer_name == "":
        assert counts["", op_type] == 0
    elif form == "QOperator" and integer_name is not None:
        assert on_integers(paths["ours"], integer_name)
