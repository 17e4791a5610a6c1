"""Calls of operators that the official suite lacks: com.microsoft, most of ai.onnx.ml, sequences and random numbers.

A row of CALLS is (domain, operator, inputs, number of outputs, attributes). All calls must run, but the cases that are
derived from them need not. To add a call, add a row.
"""
import numpy as np

_random = np.random.default_rng(1)
MS, ML, OWN, LAST = "com.microsoft", "ai.onnx.ml", "ai.sardonyx", "com.ms.internal.nhwc"
BLOCKED = "com.microsoft.nchwc"
I32, I64, U8, I8 = np.int32, np.int64, np.uint8, np.int8


def f(*shape):
    return _random.standard_normal(shape).astype(np.float32)


def half(*shape):
    return f(*shape).astype(np.float16)


def u(*shape):
    return _random.integers(0, 256, shape).astype(U8)


def i(*shape):
    return _random.integers(-128, 128, shape).astype(I8)


def ints(*numbers):
    return np.array(numbers, I64)


def ints32(*numbers):
    return np.array(numbers, I32)


SCALE, ZERO, SIGNED_ZERO = np.float32(0.02), U8(128), I8(3)
_Q = (SCALE, ZERO)
_TREE = {"nodes_treeids": [0, 0, 0], "nodes_nodeids": [0, 1, 2], "nodes_featureids": [1, 0, 0],
         "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"], "nodes_values": [0.5, 0.0, 0.0],
         "nodes_truenodeids": [1, 0, 0], "nodes_falsenodeids": [2, 0, 0]}
_REGRESSOR = {**_TREE, "n_targets": 1, "target_treeids": [0, 0], "target_nodeids": [1, 2], "target_ids": [0, 0],
              "target_weights": [1.0, 2.0]}
_CLASSIFIER = {**_TREE, "class_treeids": [0, 0], "class_nodeids": [1, 2], "class_ids": [0, 1],
               "class_weights": [0.3, 0.7], "classlabels_int64s": [4, 5]}
_SVM = {"kernel_type": "RBF", "kernel_params": [0.5, 0.0, 3.0], "support_vectors": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6],
        "rho": [0.1]}
_WORDS = np.array([["one two", "three"], ["", "a b c"]], object)

CALLS = [
    (MS, "Attention", [f(2, 3, 8), f(8, 24), f(24), ints32(3, 2)], 1, {"num_heads": 2}),
    (MS, "Attention", [f(1, 2, 8), f(8, 24), f(24), None, f(2, 1, 2, 3, 4)], 2, {"num_heads": 2, "unidirectional": 1}),
    (MS, "Attention", [f(1, 3, 8), f(8, 24), f(24), ints32([1, 1, 0]), None, f(1, 2, 3, 3)], 1, {"num_heads": 2}),
    (MS, "BiasGelu", [f(2, 4), f(4)], 1, {}),
    (MS, "CDist", [f(3, 4), f(2, 4)], 1, {"metric": "euclidean"}),
    (MS, "CausalConvWithState", [f(1, 3, 5), f(3, 1, 4), f(3), f(1, 3, 3)], 2, {"activation": "silu"}),
    (MS, "DecoderMaskedMultiHeadAttention",
     [f(1, 1, 8), f(1, 1, 8), f(1, 1, 8), None, None, f(1, 2, 6, 4), f(1, 2, 6, 4), ints32(3)], 3,
     {"num_heads": 2, "past_present_share_buffer": 1}),
    (MS, "DequantizeLinear", [u(2, 3), f(3), u(3)], 1, {"axis": 1}),
    (MS, "DynamicQuantizeMatMul", [f(2, 4), u(4, 3), SCALE, ZERO, f(3)], 1, {}),
    (MS, "EmbedLayerNormalization",
     [ints32([1, 2, 0]), ints32([0, 1, 1]), f(4, 8), f(5, 8), f(2, 8), f(8), f(8), ints32([1, 1, 0])], 2, {}),
    (MS, "EmbedLayerNormalization",
     [ints32([1, 2, 0]), None, f(4, 8), f(5, 8), None, f(8), f(8), None, ints32([0, 4, 1])], 3, {}),
    (MS, "FastGelu", [f(2, 4), f(4)], 1, {}),
    (MS, "FusedConv", [f(1, 2, 4, 4), f(4, 1, 3, 3), f(4), f(1, 4, 4, 4)], 1,
     {"activation": "LeakyRelu", "activation_params": [0.1], "group": 2, "pads": [1, 1, 1, 1]}),
    (MS, "FusedGemm", [f(2, 4), f(4, 3), f(3)], 1, {"activation": "Relu", "alpha": 0.5}),
    (MS, "FusedMatMul", [f(2, 4, 3), f(2, 4, 5)], 1, {"transA": 1, "alpha": 0.5}),
    (MS, "FusedMatMul", [f(4, 2, 3), f(2, 3, 5)], 1, {"transBatchA": 1, "transBatchB": 0}),
    (MS, "TransposeMatMul", [f(3, 4), f(5, 4)], 1, {"transB": 1}),
    (MS, "GatherBlockQuantized", [u(4, 16), ints(1, -1), f(4, 2), u(4, 1)], 1,
     {"bits": 4, "block_size": 16, "quantize_axis": 1, "gather_axis": 0}),
    (MS, "GatherBlockQuantized", [u(4, 32), ints([1], [3]), half(4, 2)], 1,
     {"bits": 8, "block_size": 16, "quantize_axis": 1}),
    (MS, "Gelu", [f(2, 4)], 1, {}),
    (MS, "GroupQueryAttention",
     [f(1, 1, 16), f(1, 1, 8), f(1, 1, 8), f(1, 1, 6, 8), f(1, 1, 6, 8), ints32(3), ints32(4)], 3,
     {"num_heads": 2, "kv_num_heads": 1}),
    (MS, "GroupQueryAttention",
     [f(2, 3, 32), None, None, None, None, ints32(2, 1), ints32(3), f(8, 4), f(8, 4)], 3,
     {"num_heads": 2, "kv_num_heads": 1, "do_rotary": 1, "local_window_size": 2}),
    (MS, "GroupQueryAttention",
     [f(1, 2, 16), f(1, 2, 8), f(1, 2, 8), f(1, 1, 6, 8), f(1, 1, 6, 8), ints32(3), ints32(4), f(8, 4), f(8, 4),
      ints([2, 3]), f(1, 1, 2, 4), f(2)], 3,
     {"num_heads": 2, "kv_num_heads": 1, "do_rotary": 1, "softcap": 3.0, "smooth_softmax": 1}),
    (MS, "LinearAttention", [f(1, 3, 8), f(1, 3, 8), f(1, 3, 8), f(1, 2, 4, 4), -abs(f(1, 3, 2)), abs(f(1, 3, 2))], 2,
     {"q_num_heads": 2, "kv_num_heads": 2, "update_rule": "gated_delta"}),
    (MS, "MatMulIntegerToFloat", [u(2, 4), u(4, 3), SCALE, f(3), ZERO, u(3), f(3)], 1, {}),
    (MS, "MatMulNBits", [f(2, 40), u(5, 3, 8), f(5, 3), u(5, 2)], 1, {"N": 5, "K": 40, "bits": 4, "block_size": 16}),
    (MS, "MatMulNBits", [f(2, 32), u(5, 2, 16), f(5, 2), None, None, f(5)], 1,
     {"N": 5, "K": 32, "bits": 8, "block_size": 16, "accuracy_level": 4}),
    (MS, "MatMulNBits", [f(1, 32), u(5, 2, 8), f(5, 2), None, np.repeat(ints32(0, 1), 16)], 1,
     {"N": 5, "K": 32, "bits": 4, "block_size": 16}),
    (MS, "MultiHeadAttention", [f(1, 3, 8), f(1, 4, 8), f(1, 4, 8), f(24), ints32([1, 1, 0, 1]), f(1, 2, 3, 4)], 1,
     {"num_heads": 2}),
    (MS, "MultiHeadAttention", [f(1, 3, 2, 3, 4)], 1, {"num_heads": 2}),
    (MS, "MultiHeadAttention", [f(1, 1, 8), f(1, 1, 8), f(1, 1, 8), None, None, None, f(1, 2, 3, 4), f(1, 2, 3, 4)], 3,
     {"num_heads": 2, "unidirectional": 1}),
    (MS, "QAttention", [u(1, 3, 8), u(8, 24), f(24), SCALE, f(1)[0], ints32(3), ZERO, U8(120), f(2, 1, 2, 2, 4)], 2,
     {"num_heads": 2}),
    (MS, "QGemm", [u(2, 4), SCALE, ZERO, i(3, 4), abs(f(3)), i(3), ints32(1, 2, 3), SCALE, ZERO], 1, {"transB": 1}),
    (MS, "QLinearAdd", [u(2, 3), *_Q, u(3), *_Q, *_Q], 1, {}),
    (MS, "QLinearMul", [u(2, 3), *_Q, u(2, 1), *_Q, *_Q], 1, {}),
    (MS, "QLinearAveragePool", [u(1, 2, 4, 4), *_Q, *_Q], 1,
     {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2], "ceil_mode": 1}),
    (MS, "QLinearAveragePool", [u(1, 4, 4, 2), *_Q, *_Q], 1, {"kernel_shape": [2, 2], "channels_last": 1}),
    (MS, "QLinearGlobalAveragePool", [u(1, 2, 4, 4), *_Q, *_Q], 1, {}),
    (MS, "QLinearConcat", [*_Q, u(2, 3), *_Q, u(2, 2), *_Q], 1, {"axis": 1}),
    (MS, "QLinearConv", [u(1, 4, 4, 2), *_Q, i(3, 2, 3, 3), abs(f(3)), I8(0), *_Q, ints32(1, 2, 3)], 1,
     {"channels_last": 1, "pads": [1, 1, 1, 1]}),
    (MS, "QLinearLeakyRelu", [u(2, 3), *_Q, *_Q], 1, {"alpha": 0.1}),
    (MS, "QLinearReduceMean", [u(2, 3, 4), *_Q, *_Q], 1, {"axes": [1], "keepdims": 1}),
    (MS, "QLinearSigmoid", [i(2, 3), SCALE, SIGNED_ZERO, SCALE, SIGNED_ZERO], 1, {}),
    (MS, "QLinearSoftmax", [u(2, 3), *_Q, *_Q], 1, {"axis": 1, "opset": 13}),
    (MS, "QLinearWhere", [np.array([True, False, True]), u(2, 3), *_Q, u(3), *_Q, *_Q], 1, {}),
    (MS, "QuantizeLinear", [f(2, 3), abs(f(3)), u(3)], 1, {"axis": 1}),
    (MS, "QuickGelu", [f(2, 3)], 1, {"alpha": 1.7}),
    (MS, "RotaryEmbedding", [f(1, 3, 16), ints([0, 1, 7]), f(8, 4), f(8, 4)], 1, {"num_heads": 0}),
    (MS, "RotaryEmbedding", [f(1, 2, 3, 8), ints(4), f(8, 2), f(8, 2)], 1,
     {"rotary_embedding_dim": 4, "num_heads": 2, "interleaved": 1}),
    ("", "SimplifiedLayerNormalization", [f(2, 8), f(8)], 1, {}),
    (MS, "SkipLayerNormalization", [f(2, 3, 8), f(1, 3, 8), f(8), f(8), f(8)], 4, {}),
    (MS, "SkipSimplifiedLayerNormalization", [f(2, 3, 8), f(2, 3, 8), f(8), f(8)], 4, {}),
    (MS, "Tokenizer", [_WORDS], 1, {"mark": 1, "pad_value": "#", "mincharnum": 1, "separators": [" ", ""]}),
    (MS, "Tokenizer", [_WORDS[1]], 1, {"mark": 0, "pad_value": "#", "mincharnum": 1, "tokenexp": "[a-z]+"}),
    (ML, "TreeEnsembleRegressor", [f(3, 2)], 1, _REGRESSOR),
    (ML, "TreeEnsembleClassifier", [f(3, 2)], 2, _CLASSIFIER),
    (ML, "SVMRegressor", [f(4, 2)], 1, {**_SVM, "coefficients": [0.1, 0.2, 0.3], "n_supports": 3}),
    (ML, "SVMClassifier", [f(4, 2)], 2,
     {**_SVM, "coefficients": [0.1, 0.2, 0.3], "vectors_per_class": [1, 2], "classlabels_ints": [0, 1],
      "prob_a": [0.5], "prob_b": [0.1]}),
    (ML, "LinearRegressor", [f(3, 2)], 1, {"coefficients": [0.5, 1.0, 2.0, 0.1], "intercepts": [0.1, 0.2],
                                           "targets": 2}),
    (ML, "LinearClassifier", [f(3, 2)], 2, {"coefficients": [0.5, 1.0, 2.0, 0.1], "intercepts": [0.1, 0.2],
                                            "classlabels_ints": [3, 4], "post_transform": "SOFTMAX"}),
    (ML, "Scaler", [f(3, 2)], 1, {"offset": [0.5, 1.0], "scale": [2.0, 3.0]}),
    (ML, "Normalizer", [f(3, 2)], 1, {"norm": "L2"}),
    (ML, "Imputer", [f(3, 2)], 1, {"imputed_value_floats": [0.5, 1.5], "replaced_value_float": 0.0}),
    (ML, "OneHotEncoder", [ints(1, 3, 9)], 1, {"cats_int64s": [1, 2, 3], "zeros": 1}),
    (ML, "FeatureVectorizer", [f(2, 3), f(2, 2)], 1, {"inputdimensions": [3, 2]}),
    (ML, "CategoryMapper", [np.array(["a", "z"], object)], 1,
     {"cats_strings": ["a", "b"], "cats_int64s": [1, 2], "default_int64": -1}),
    (ML, "LabelEncoder", [f(3)], 1, {"keys_floats": [0.5, 1.0], "values_floats": [2.0, 3.0], "default_float": -1.0}),
    ("", "GlobalLpPool", [f(1, 2, 3, 3)], 1, {"p": 2}),
    ("", "MaxRoiPool", [f(1, 2, 4, 4), np.array([[0, 0, 0, 3, 3]], np.float32)], 1, {"pooled_shape": [2, 2]}),
    ("", "Multinomial", [f(2, 3)], 1, {"sample_size": 4, "seed": 1.0}),
    ("", "RandomNormal", [], 1, {"shape": [2, 3], "mean": 0.5, "seed": 1.0}),
    ("", "RandomUniform", [], 1, {"shape": [2, 3], "low": 0.5, "seed": 1.0}),
    ("", "RandomNormalLike", [f(2, 3)], 1, {"seed": 1.0}),
    ("", "SequenceAt", [[f(2), f(3)], ints(1)[0]], 1, {}),
    ("", "SequenceErase", [[f(2), f(3)], ints(-1)[0]], 1, {}),
    ("", "SequenceConstruct", [f(2), f(3)], 1, {}),
    ("", "ConcatFromSequence", [[f(2, 3), f(1, 3)]], 1, {"axis": 0}),
    ("", "ConcatFromSequence", [[f(2, 3), f(2, 3)]], 1, {"axis": 1, "new_axis": 1}),
    ("", "DeformConv", [f(1, 2, 4, 4), f(2, 2, 2, 2), f(1, 8, 3, 3), f(2), f(1, 4, 3, 3)], 1, {}),
    ("", "GRU", [f(3, 2, 2), f(1, 9, 2), f(1, 9, 3), f(1, 18), ints32(3, 1), f(1, 2, 3)], 2, {"hidden_size": 3}),
    ("", "LSTM", [f(3, 2, 2), f(2, 12, 2), f(2, 12, 3), f(2, 24), ints32(3, 1), f(2, 2, 3), f(2, 2, 3), f(2, 9)], 3,
     {"hidden_size": 3, "direction": "bidirectional", "layout": 0}),
    ("", "RNN", [f(3, 2, 2), f(1, 3, 2), f(1, 3, 3), f(1, 6), ints32(3, 0), f(1, 2, 3)], 2, {"hidden_size": 3}),
    (OWN, "ExpandedConv", [f(1, 5, 4, 3), f(8, 3, 1, 1), f(8), f(8, 1, 3, 3), f(8)], 1,
     {"group": 8, "pads": [1, 1, 1, 1], "activation": "Relu", "wide_activation": "Clip",
      "wide_activation_params": [0.0, 6.0]}),
    (OWN, "FusedElementwise", [f(2, 3), f(3), f(2, 1)], 1,
     {"steps": ["Add", "Relu", "Mul"], "operands": [0, 1, -1, 0, -2, 2], "parameters": [0.0] * 6}),
    (OWN, "FusedElementwise", [u(2, 3), u(3)], 1,
     {"steps": ["Add", "Clip"], "operands": [0, 1, -1, 0], "parameters": [0.0, 0.0, 0.0, 6.0],
      "input_scales": [0.1, 0.2], "input_zeros": [128.0, 3.0], "to": 2, "output_scale": 0.05, "output_zero": 0.0}),
    (OWN, "FusedMatMul", [f(2, 2, 3), f(3, 4), f(4), f(2, 2, 4)], 1, {"activation": "Relu"}),
    (OWN, "FusedMatMul", [f(3, 2), f(4, 3), f(1, 4)], 1, {"transA": 1, "transB": 1, "alpha": 0.5}),
    (OWN, "Lookup8", [u(2, 3), u(256)], 1, {}),
    (OWN, "QLinearConvAdd",
     [u(1, 4, 4, 2), *_Q, i(3, 2, 3, 3), abs(f(3)), I8(0), *_Q, ints32(1, 2, 3), u(1, 4, 4, 3), *_Q, *_Q], 1,
     {"pads": [1, 1, 1, 1]}),
    (OWN, "SinkAttention", [f(1, 4, 2, 3), f(1, 2, 2, 3), f(1, 2, 2, 3), f(1, 1, 2, 3), f(1, 2, 1, 3), f(1, 2, 1, 3), f(4)],
     3, {"scale": 0.5}),
    (OWN, "SinkAttention", [f(1, 2, 6), f(1, 3, 6), f(1, 3, 6), None, None, None, f(2)], 1,
     {"q_num_heads": 2, "kv_num_heads": 2, "softcap": 2.0}),
    (LAST, "AveragePool", [f(1, 4, 4, 3)], 1, {"kernel_shape": [2, 2], "ceil_mode": 1}),
    (LAST, "GlobalAveragePool", [f(2, 4, 4, 3)], 1, {}),
    (LAST, "GlobalMaxPool", [f(2, 4, 4, 3)], 1, {}),
    (LAST, "MaxPool", [f(1, 4, 4, 3)], 1, {"kernel_shape": [2, 2], "strides": [2, 2]}),
    (LAST, "Conv", [f(1, 4, 4, 3), f(5, 3, 3, 3), f(5)], 1, {"pads": [1, 1, 1, 1]}),
    (LAST, "Conv", [f(1, 4, 4, 4), f(4, 1, 3, 3), f(4)], 1, {"group": 4}),
    (LAST, "FusedConv", [f(1, 4, 4, 3), f(5, 3, 3, 3), f(5), f(1, 2, 2, 5)], 1, {"activation": "Relu"}),
    (LAST, "ConvTranspose", [f(1, 3, 3, 2), f(2, 4, 3, 3), f(4)], 1, {"strides": [2, 2]}),
    (LAST, "DepthToSpace", [f(1, 2, 2, 8)], 1, {"blocksize": 2}),
    (LAST, "SpaceToDepth", [f(1, 4, 4, 2)], 1, {"blocksize": 2}),
    (LAST, "GroupNormalization", [f(1, 3, 3, 4), f(4), f(4)], 1, {"num_groups": 2}),
    (LAST, "InstanceNormalization", [f(1, 3, 3, 4), f(4), f(4)], 1, {}),
    (LAST, "QLinearConv", [u(1, 4, 4, 2), *_Q, i(3, 2, 3, 3), abs(f(3)), i(3) * 0, *_Q, ints32(1, 2, 3)], 1, {}),
    (MS, "SimplifiedLayerNormalization", [f(2, 8), f(8)], 1, {}),
    ("", "RandomUniformLike", [f(2, 3)], 1, {"seed": 1.0}),
    ("", "SequenceLength", [[f(2), f(3)]], 1, {}),
    ("", "Unique", [f(3, 4)], 4, {"axis": 1, "sorted": 1}),
    ("", "QLinearMatMul", [u(2, 4), *_Q, i(4, 3), abs(f(3)), i(3), *_Q], 1, {}),
    ("", "MatMulInteger", [u(2, 4), i(4, 3), u(2), i(3)], 1, {}),
    ("", "ConvInteger", [u(1, 2, 4, 4), u(3, 2, 3, 3), ZERO, U8(5)], 1, {"pads": [1, 1, 1, 1]}),
    ("", "QLinearConv", [u(1, 2, 4, 4), *_Q, i(3, 2, 3, 3), abs(f(3)), i(3) * 0, *_Q, ints32(1, 2, 3)], 1, {}),
    (MS, "GroupNorm", [f(2, 3, 3, 4), f(4), f(4)], 1, {"groups": 2, "activation": 1}),
    (MS, "GroupNorm", [f(2, 4, 3, 3), f(4), f(4)], 1, {"groups": 4, "activation": 0, "channels_last": 0}),
    (MS, "SkipGroupNorm", [f(2, 3, 3, 4), f(4), f(4), f(2, 4), f(4)], 2, {"groups": 2, "activation": 1}),
    (MS, "SkipGroupNorm", [f(2, 4, 3, 3), f(4), f(4), f(2, 4, 3, 3)], 1,
     {"groups": 2, "activation": 0, "channels_last": 0}),
    (MS, "BiasAdd", [f(2, 3, 4), f(4), f(2, 3, 4)], 1, {}),
    (MS, "BiasSplitGelu", [f(2, 3, 4), f(4)], 1, {}),
    (MS, "BiasSoftmax", [f(2, 3, 4), f(2, 1, 4)], 1, {"axis": 2, "is_inner_broadcast": 1}),
    (MS, "NhwcConv", [f(1, 4, 4, 3), f(5, 3, 3, 3), f(5)], 1, {"pads": [1, 1, 1, 1]}),
    (MS, "NhwcFusedConv", [f(1, 4, 4, 4), f(4, 1, 3, 3), f(4), f(1, 2, 2, 4)], 1, {"group": 4, "activation": "Relu"}),
    (MS, "GemmFastGelu", [f(2, 3, 4), f(4, 5), f(5)], 1, {}),
    (MS, "GemmFloat8", [f(3, 4), f(5, 4), f(3, 5), f(1), f(1), f(1)], 1,
     {"transB": 1, "beta": 0.5, "activation": "GELU"}),
    (MS, "Rfft", [f(2, 3, 8)], 1, {"signal_ndim": 2}),
    (MS, "Irfft", [f(2, 3, 5, 2)], 1, {"signal_ndim": 2}),
    (MS, "ComplexMul", [f(3, 1, 2), f(4, 2)], 1, {}),
    (MS, "ComplexMulConj", [f(3, 2), f(2)], 1, {}),
    (MS, "TorchEmbedding", [f(4, 3), ints(1, 3)], 1, {}),
    (MS, "QuantizeWithOrder", [f(8, 32), SCALE], 1, {"order_input": 1, "order_output": 3}),
    (MS, "DequantizeWithOrder", [i(32, 32), SCALE], 1, {"order_input": 4, "order_output": 1, "to": 1}),
    (MS, "QOrderedGelu", [i(3, 5), SCALE, SCALE], 1, {}),
    (MS, "QOrderedLayerNormalization", [i(3, 5), SCALE, f(5), f(5), SCALE], 1, {"axis": -1}),
    (MS, "QOrderedMatMul", [i(2, 3, 4), SCALE, i(4, 5), abs(f(5)), SCALE, f(5), i(3, 5), SCALE], 1,
     {"order_A": 1, "order_B": 0, "order_Y": 1}),
    (MS, "QOrderedAttention",
     [i(2, 3, 4), SCALE, *[SCALE] * 3, i(4, 6), i(4, 6), i(4, 6), *[SCALE] * 3, f(6), f(6), f(6), *[SCALE] * 3,
      ints32(3, 2)], 1, {"num_heads": 2, "order_input": 1, "order_weight": 0, "order_output": 1}),
    (BLOCKED, "ReorderInput", [f(1, 12, 3, 3)], 1, {}),
    (BLOCKED, "ReorderOutput", [f(1, 16, 3, 3)], 1, {"channels": 12, "channels_last": 1}),
    (BLOCKED, "MaxPool", [f(1, 16, 4, 4)], 1, {"kernel_shape": [2, 2], "strides": [2, 2]}),
    (BLOCKED, "AveragePool", [f(1, 16, 4, 4)], 1, {"kernel_shape": [2, 2], "pads": [1, 1, 0, 0]}),
    (BLOCKED, "GlobalAveragePool", [f(1, 16, 4, 4)], 1, {}),
    (BLOCKED, "GlobalMaxPool", [f(1, 16, 4, 4)], 1, {}),
    (BLOCKED, "Upsample", [f(1, 16, 2, 2)], 1, {"scales": [1, 1, 2, 3]}),
    ("", "MemcpyFromHost", [f(2, 3)], 1, {}),
    ("", "LayerNormalization", [f(2, 3, 4), f(2, 1, 4), f(3, 1)], 1, {}),
]
