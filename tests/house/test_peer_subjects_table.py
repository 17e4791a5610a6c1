"""The table of ONNX Runtime's test subjects: each test of ours that it names exists, and no operator is missing."""
import ast
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / "tests/contrib/peer_subjects.tsv"
# The operators with a CPU kernel in ONNX Runtime 1.31.1 that came last, and those that it has for other devices alone.
CONTRIBUTED = """
AttnLSTM BeamSearch BifurcationDetector BranchwiseRMSNorm ConvTransposeWithDynamicPads CropAndResize DynamicQuantizeLSTM
DynamicTimeWarping EngramGate ExpandDims GatedAdd GatedRMSNorm GatherND GreedySearch GridSample HyperConnectionPostMix
HyperConnectionPreMix Inverse LinearAttentionGate MRotaryEmbedding MatMulBnb4 MatMulFpQ4 MatMulInteger16 MaxpoolWithMask
MoE MurmurHash3 NGramHashMapping NGramRepeatBlock NhwcMaxPool Pad QEmbedLayerNormalization QMoE Range SampleOp Sampling
ScaledSiLU SparseAttention SparseToDenseMatMul Trilu UnfoldTensor Unique VarlenNGramHashMapping WhisperBeamSearch
WordConvEmbedding Affine Crop DynamicSlice ImageScaler ParametricSoftplus Scale ScaledTanh
PackedAttention PackedMultiHeadAttention DecoderMaskedSelfAttention RemovePadding RestorePadding RelativePositionBias
GatedRelativePositionBias LongformerAttention GroupNorm SkipGroupNorm BiasSplitGelu BiasSoftmax BiasAdd NhwcConv
NhwcFusedConv GemmFastGelu GemmFloat8 Rfft Irfft ComplexMul ComplexMulConj TorchEmbedding MatMulNBitsMlp MatMulNBitsQkv
"""


def rows():
    return [line.split("\t") for line in TABLE.read_text().splitlines() if not line.startswith("#")]


def functions(path):
    return {node.name for node in ast.parse((ROOT / path).read_text()).body if isinstance(node, ast.FunctionDef)}


def test_each_named_test_exists():
    known = {path: functions(path) for path in {ours.split("::")[0] for _, _, ours in rows()}}
    assert [ours for _, _, ours in rows() if ours.split("::")[1] not in known[ours.split("::")[0]]] == []


def test_no_row_is_there_twice_or_without_a_subject():
    pairs = [(operator, subject) for operator, subject, _ in rows()]
    assert len(set(pairs)) == len(pairs) and all(subject for _, subject in pairs)


def test_no_operator_is_missing():
    operators = {operator for operator, _, _ in rows()}
    assert set(CONTRIBUTED.split()) - operators == set()


def test_standard_operators_are_those_with_cases():
    named = {operator.removeprefix("ai.onnx.") for operator, _, _ in rows() if operator.startswith("ai.onnx.")}
    tree = ast.parse((ROOT / "tests/differential/test_standard_subjects.py").read_text())
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    cased = {call.args[0].value for call in calls if call.func.id == "case" and isinstance(call.args[0], ast.Constant)}
    assert len(named) >= 20 and named == cased
