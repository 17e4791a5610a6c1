"""The table of the subjects of ONNX Runtime's tests of its quantization tools: each test of ours that it names exists,
and no file of theirs is missing."""
import ast
import functools
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / "tests/quantization/peer_subjects.tsv"
# The files that begin with test_ in onnxruntime/test/python/quantization of ONNX Runtime 1.31, in words after test_.
FILES = """
calibration conv_dynamic conv_dynamic_qdq fp16_converter get_int_qdq_config get_qdq_config minimum_real_range_option
mixed_prec_quant_overrides_fixer onnx_model op_argmax op_argmax_qdq op_attention op_attention_qdq op_concat
op_concat_qdq op_conv_transpose op_embed_layernorm op_embed_layernorm_qdq op_flatten op_gather_elems op_gavgpool
op_gavgpool_qdq op_gemm op_gemm_qdq op_instance_normalization op_lstm op_matmul op_matmul_2bits op_matmul_4bits
op_matmul_8bits op_matmul_bnb4 op_matmulfpq4 op_matmulnbits_prepacked_cuda op_maxpool op_maxpool_qdq op_pad op_pad_qdq
op_pooling op_pooling_qdq op_relu op_relu_qdq op_reshape op_reshape_qdq op_resize op_resize_qdq op_slice op_softmax
op_split op_squeeze_unsqueeze op_squeeze_unsqueeze_qdq op_topk op_transpose op_transpose_qdq op_where qat qdq
qdq_block_size qdq_dyn qdq_loss_debug qoperator_adjust_int32_bias quant_issues quant_min_real_range_option
quant_preprocess quant_preprocess_cli quant_preprocess_optional_stages quant_util quantize_static
quantize_static_resnet quantize_weight_only quantizeblockwise_2bits quantizeblockwise_4bits quantizeblockwise_bnb4
quantizer_shape_inference save_activations smoothquant subgraph symmetric_flag symmetric_flag_qdq
tensor_quant_overrides_option weight_only_k_quant
"""
# About modules that are no part of these tools: graph fusions, QNN, a runner of commands, conversion of types by opset.
ELSEWHERE = """
fusions model_converter op_bias_gelu op_embed_layer_norm_bias_gelu op_skip_layer_norm qnn_preprocess_model
static_quantize_runner
"""
MOST = 150


def rows():
    return [line.split("\t") for line in TABLE.read_text().splitlines() if not line.startswith("#")]


@functools.cache
def functions(path):
    return {node.name for node in ast.parse((ROOT / path).read_text()).body if isinstance(node, ast.FunctionDef)}


def test_each_named_test_exists():
    assert [ours for _, _, ours in rows() if ours.split("::")[1] not in functions(ours.split("::")[0])] == []


def test_every_file_has_a_subject_and_none_is_there_twice():
    pairs = [(file, subject) for file, subject, _ in rows()]
    assert len(set(pairs)) == len(pairs) <= MOST and all(subject for _, subject in pairs)
    named = {file for file, _ in pairs}
    assert {f"test_{word}.py" for word in FILES.split()} - named == set()
    assert {f"test_{word}.py" for word in ELSEWHERE.split()} & named == set()
