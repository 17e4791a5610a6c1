"""Every element type that a CPU kernel of ONNX Runtime takes is taken here: sessions of one node for each of its
kernels and types. ONNX Runtime's own session decides which of them count."""

import collections
import functools
import re

import numpy as np
import onnx
import onnx.defs
import onnxruntime
import sardonyx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.capi import onnxruntime_pybind11_state as peer
from sardonyx.operators import get_all_opkernel_def

ELEMENTS = {name.lower(): number for name, number in TensorProto.DataType.items()}

# Whose kernels need more than a node: bodies that compute logits.
SEARCHES = {"BeamSearch", "GreedySearch", "Sampling", "WhisperBeamSearch"}

# Attributes without which a session of ONNX Runtime refuses a node, by operator.
POOL = {"kernel_shape": [2, 2]}
HEADS = {"num_heads": 2, "kv_num_heads": 2}
NGRAMS = {"max_ngram_size": 2, "n_head_per_ngram": 1, "pad_id": 0}
TREE = {
    "nodes_treeids": [0], "nodes_nodeids": [0], "nodes_featureids": [0], "nodes_values": [0.0], "nodes_modes": ["LEAF"],
    "nodes_truenodeids": [0], "nodes_falsenodeids": [0], "nodes_missing_value_tracks_true": [0],
    "class_treeids": [0], "class_nodeids": [0], "class_ids": [0], "class_weights": [1.0], "classlabels_int64s": [1],
    "target_treeids": [0], "target_nodeids": [0], "target_ids": [0], "target_weights": [1.0], "n_targets": 1,
    "nodes_hitrates": [1.0],
}  # fmt: skip
VECTORS = {
    "coefficients": [1.0], "support_vectors": [1.0], "vectors_per_class": [1], "rho": [0.0], "n_supports": 1,
    "kernel_type": "LINEAR", "kernel_params": [1.0, 1.0, 1.0], "classlabels_ints": [1], "proba": [], "probb": [],
}  # fmt: skip
ATTRIBUTES = {
    "Affine": {"alpha": 1.0, "beta": 1.0},
    "ArrayFeatureExtractor": {},
    "Attention": {"num_heads": 2},
    "AttnLSTM": {"hidden_size": 2},
    "AveragePool": POOL,
    "BitShift": {"direction": "LEFT"},
    "CDist": {"metric": "euclidean"},
    "CategoryMapper": {"cats_int64s": [1], "cats_strings": ["a"]},
    "CausalConvWithState": {"activation": "silu"},
    "Compress": {"axis": 0},
    "Concat": {"axis": 0},
    "ConcatFromSequence": {"axis": 0},
    "Crop": {"border": [0, 0, 0, 0]},
    "DecoderMaskedMultiHeadAttention": {"num_heads": 2},
    "DepthToSpace": {"blocksize": 2},
    "DynamicQuantizeLSTM": {"hidden_size": 2},
    "Einsum": {"equation": "i->i"},
    "FeatureVectorizer": {"inputdimensions": [1]},
    "FusedGemm": {"activation": "Relu"},
    "GRU": {"hidden_size": 2},
    "GroupNormalization": {"num_groups": 1},
    "GroupQueryAttention": HEADS,
    "ImageScaler": {"bias": [0.0]},
    "LRN": {"size": 3},
    "LSTM": {"hidden_size": 2},
    "LinearAttention": {"q_num_heads": 1, "kv_num_heads": 1, "update_rule": "linear"},
    "LinearClassifier": {"coefficients": [1.0, 1.0], "intercepts": [0.0, 0.0], "classlabels_ints": [0, 1]},
    "LinearRegressor": {"coefficients": [1.0]},
    "LpPool": POOL,
    "MRotaryEmbedding": {"mrope_section": [1, 1, 1], "num_heads": 1, "rotary_embedding_dim": 0},
    "MatMulBnb4": {"K": 16, "N": 4, "bits": 4, "block_size": 16, "quant_type": 0},
    "MatMulNBits": {"K": 16, "N": 4, "bits": 4, "block_size": 16},
    "MaxPool": POOL,
    "MaxRoiPool": {"pooled_shape": [1, 1]},
    "MaxUnpool": POOL,
    "MaxpoolWithMask": POOL,
    "MoE": {"k": 1},
    "MultiHeadAttention": {"num_heads": 2},
    "NGramHashMapping": NGRAMS,
    "NGramRepeatBlock": {"ngram_size": 2},
    "NhwcMaxPool": POOL,
    "Pad": {"pads": [0, 0, 0, 0], "paddings": [0, 0, 0, 0]},
    "ParametricSoftplus": {"alpha": 1.0, "beta": 1.0},
    "QAttention": {"num_heads": 2},
    "QLinearAveragePool": POOL,
    "QLinearConcat": {"axis": 0},
    "QLinearReduceMean": {"axes": [0], "keepdims": 1},
    "QLinearSoftmax": {"opset": 13},
    "QMoE": {"k": 1},
    "RNN": {"hidden_size": 2},
    "RandomNormal": {"shape": [2]},
    "RandomUniform": {"shape": [2]},
    "RegexFullMatch": {"pattern": "a"},
    "Reshape": {"shape": [-1]},
    "SVMClassifier": VECTORS,
    "SVMRegressor": VECTORS,
    "Scaler": {"offset": [0.0], "scale": [1.0]},
    "ScaledTanh": {"alpha": 1.0, "beta": 1.0},
    "Slice": {"starts": [0], "ends": [1]},
    "SpaceToDepth": {"blocksize": 2},
    "SparseAttention": {**HEADS, "scale": 1.0, "sparse_block_size": 16},
    "Squeeze": {"axes": [0]},
    "TfIdfVectorizer": {
        "mode": "TF", "min_gram_length": 1, "max_gram_length": 1, "max_skip_count": 0, "ngram_counts": [0],
        "ngram_indexes": [0], "pool_int64s": [1],
    },
    "Tokenizer": {"mark": 0, "pad_value": "", "mincharnum": 1, "tokenexp": "."},
    "TopK": {"k": 1},
    "TreeEnsemble": {
        "tree_roots": [0], "nodes_featureids": [0], "nodes_truenodeids": [0], "nodes_falsenodeids": [0],
        "nodes_trueleafs": [1], "nodes_falseleafs": [1], "leaf_targetids": [0], "n_targets": 1,
    },
    "TreeEnsembleClassifier": TREE,
    "TreeEnsembleRegressor": TREE,
    "UnfoldTensor": {"size": 1},
    "Unsqueeze": {"axes": [0]},
    "Upsample": {"scales": [1.0, 1.0, 1.0, 1.0], "mode": "nearest"},
    "VarlenNGramHashMapping": NGRAMS,
    "ZipMap": {"classlabels_int64s": [1]},
}  # fmt: skip

# Optional inputs without which a kernel refuses a node.
NEEDED = {
    "QEmbedLayerNormalization": {"segment_ids", "segment_embedding_quant", "segment_embedding_scale",
                                 "segment_embedding_zero_point"},
    "AttnLSTM": {"QW", "MW", "V", "M", "AW"},
    "QGemm": {"y_scale"},
    "QMoE": {"fc1_scales", "fc2_scales"},
}  # fmt: skip
# Optional inputs that ONNX Runtime's session takes and its run refuses.
REFUSED = {
    "GatherBlockQuantized": {"zero_points"},
    "MoE": {"fc3_experts_weights", "fc3_experts_bias"},
    "QMoE": {"fc3_experts_weights", "fc3_experts_bias", "fc3_scales", "fc3_zero_points"},
}
# Outputs that a node must have.
OUTPUTS = {"EmbedLayerNormalization": 2, "GroupQueryAttention": 3, "QEmbedLayerNormalization": 2}


def type_of(p):
    return p.type_str if hasattr(p, "type_str") else p.typeStr


def option_of(p):
    return str(p.option).split(".")[-1]


@functools.cache
def schemas():
    """{(domain, operator): {version: schema}}; ONNX's own where it has one."""
    found = collections.defaultdict(dict)
    for s in [*peer.get_all_operator_schema(), *onnx.defs.get_all_schemas_with_history()]:
        found[s.domain, s.name][s.since_version] = s
    return found


def type_proto(text):
    kind, _, inner = text[:-1].partition("(")
    if kind == "tensor":
        return helper.make_tensor_type_proto(ELEMENTS[inner], None)
    if kind == "sparse_tensor":
        return helper.make_sparse_tensor_type_proto(ELEMENTS[inner], None)
    if kind == "seq":
        return helper.make_sequence_type_proto(type_proto(inner))
    if kind == "optional":
        return helper.make_optional_type_proto(type_proto(inner))
    key, value = (part.strip() for part in inner.split(",", 1))
    made = onnx.TypeProto()
    made.map_type.key_type = ELEMENTS[key]
    made.map_type.value_type.CopyFrom(type_proto(value if "(" in value else f"tensor({value})"))
    return made


def body_of(op, types):
    """The attributes that hold graphs, which hand on what they get."""
    v = type_proto(types["V"]) if "V" in types else None
    if op == "If":
        nodes = [helper.make_node("Identity", ["x9"], ["r"])]
        body = helper.make_graph(nodes, "b", [], [helper.make_value_info("r", v)])
        return {"then_branch": body, "else_branch": body}
    if op == "Loop":
        given = [("i", type_proto("tensor(int64)")), ("c", type_proto("tensor(bool)")), ("v", v)]
        nodes = [helper.make_node("Identity", [a], [a + "1"]) for a in "cv"]
        outputs = [helper.make_value_info("c1", given[1][1]), helper.make_value_info("v1", v)]
        return {"body": helper.make_graph(nodes, "b", [helper.make_value_info(*g) for g in given], outputs)}
    if op == "Scan":
        nodes = [helper.make_node("Identity", ["v"], ["r"])]
        given, asked = [helper.make_value_info(name, v) for name in "vr"]
        return {"body": helper.make_graph(nodes, "b", [given], [asked]), "num_scan_inputs": 1}
    return {}


def keyed(schema, types):
    """Attributes of LabelEncoder and of others that depend on the types."""
    values = {"string": ["a"], "int64": [1], "float": [1.0]}
    names = {"string": "strings", "int64": "int64s", "float": "floats"}
    made = {}
    if schema.name == "TreeEnsemble":
        real = np.float64 if "double" in types["T"] else np.float32
        arrays = {
            "nodes_splits": np.zeros(1, real),
            "nodes_modes": np.zeros(1, np.uint8),
            "leaf_weights": np.ones(1, real),
        }
        return {name: numpy_helper.from_array(array, name) for name, array in arrays.items()}
    if schema.name == "GroupQueryAttention" and "int8" in types["T_CACHE"]:
        bits = 4 if "uint8" in types["T_CACHE"] else 8
        return {"kv_cache_bit_width": bits, "k_quant_type": "PER_TENSOR", "v_quant_type": "PER_TENSOR"}
    kinds = {k: v[7:-1] for k, v in types.items() if v.startswith("tensor(")}
    if schema.name == "LabelEncoder":
        if schema.since_version == 1:
            return {"classes_strings": ["a"]}
        if {kinds["T1"], kinds["T2"]} & {"double", "int16"}:
            parameters = {"keys_tensor": "T1", "values_tensor": "T2", "default_tensor": "T2"}
            numpy = {"string": object, "float": np.float32}
            for attribute, parameter in parameters.items():
                kind = kinds[parameter]
                array = np.array(["a"] if kind == "string" else [1], numpy.get(kind, kind))
                made[attribute] = numpy_helper.from_array(array, attribute)
            return made
        return {f"keys_{names[kinds['T1']]}": values[kinds["T1"]], f"values_{names[kinds['T2']]}": values[kinds["T2"]]}
    if schema.name == "ConstantOfShape":
        element = helper.tensor_dtype_to_np_dtype(ELEMENTS[kinds["T2"]])
        return {"value": numpy_helper.from_array(np.ones(1, element))}
    if schema.name == "Optional" and "O" in types:
        return {"type": type_proto(types["O"][9:-1])} if "O" in types and types["O"].startswith("optional") else {}
    if schema.name == "OneHotEncoder":
        return {"cats_strings": ["a"]} if kinds["T"] == "string" else {"cats_int64s": [1]}
    if schema.name == "Imputer":
        return {"imputed_value_int64s": [1]} if kinds["T"] == "int64" else {"imputed_value_floats": [1.0]}
    if schema.name == "DictVectorizer":
        text = "map(string" in types["T1"]
        return {"string_vocabulary": ["a"]} if text else {"int64_vocabulary": [1]}
    return made


def model_of(schema, types, tested):
    """A model of one node; `types` says what the schema's type parameters are. Outputs declare types only where these
    are what is tested."""
    given, names = [], []
    needed = NEEDED.get(schema.name, set())
    for i, p in enumerate(schema.inputs):
        optional = option_of(p) == "Optional" and (type_of(p) != tested or p.name in REFUSED.get(schema.name, ()))
        if (optional and p.name not in needed) or (schema.name == "Loop" and i < 2):
            names.append("")
            continue
        names.append(f"x{i}")
        given.append(helper.make_value_info(f"x{i}", type_proto(types.get(type_of(p), type_of(p)))))
    if schema.name == "QLinearConcat":  # the last parameter takes triples: a tensor, its scale and its zero point
        names.pop()
        for i, kind in enumerate((types["T8"], types["TF"], types["T8"])):
            names.append(f"t{i}")
            given[-1:] = given[-1:] if i else []
            given.append(helper.make_value_info(f"t{i}", type_proto(kind)))
    if schema.name == "If":
        given.append(helper.make_value_info("x9", type_proto(types["V"])))
    while names and not names[-1]:
        names.pop()
    only_outputs = all(type_of(p) != tested for p in schema.inputs)
    count = max(OUTPUTS.get(schema.name, 0), schema.min_output, min(1, len(schema.outputs)))
    for i, p in enumerate(schema.outputs):
        if only_outputs and type_of(p) == tested:
            count = max(count, i + 1)
    outputs = []
    for i in range(count):
        declared = types.get(type_of(schema.outputs[i])) if type_of(schema.outputs[i]) == tested else None
        info = helper.make_value_info(f"y{i}", type_proto(declared)) if declared else onnx.ValueInfoProto(name=f"y{i}")
        outputs.append(info)
    node = helper.make_node(schema.name, names, [f"y{i}" for i in range(count)], domain=schema.domain)
    attributes = {**ATTRIBUTES.get(schema.name, {}), **body_of(schema.name, types), **keyed(schema, types)}
    for name in ("to", "dtype", "output_datatype"):
        out = types.get(type_of(schema.outputs[0]), "") if schema.outputs else ""
        if name in schema.attributes and out.startswith("tensor("):
            attributes[name] = ELEMENTS[out[7:-1]]
    for name, value in attributes.items():
        if name in schema.attributes and value != []:
            node.attribute.append(helper.make_attribute(name, value))
    opsets = [helper.make_opsetid("", schema.since_version if schema.domain == "" else 21)]
    if schema.domain:
        opsets.append(helper.make_opsetid(schema.domain, schema.since_version))
    graph = helper.make_graph([node], "g", given, outputs)
    return helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString()


def error_of(engine, model):
    options = engine.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = engine.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        engine.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # noqa: BLE001
        return str(error)
    return None


def like(types, text):
    """The first of the types with the element of `text`, as most operators want it; else the first."""
    element = re.search(r"(\w+)\)*$", text).group(1)
    return next((t for t in types if re.search(rf"\b{element}\b", t)), types[0])


def cells():
    """(schema, type parameter, its type, types of all parameters) of each kernel of ONNX Runtime and each type that it
    takes."""
    seen = set()
    for kernel in peer.get_all_opkernel_def():
        if kernel.domain == "com.microsoft.nchwc":  # of one type; tests/contrib/test_blocked_models.py runs them
            continue
        first = kernel.version_range[0]
        versions = schemas()[kernel.domain, kernel.op_name]
        schema = versions[max(v for v in versions if v <= first)]
        allowed = {c.type_param_str: list(c.allowed_type_strs) for c in schema.type_constraints}
        taken = {name: [t for t in kernel.type_constraints.get(name, types) if t in types] or types
                 for name, types in allowed.items()}  # fmt: skip
        for name, types in taken.items():
            for text in types:
                for alike in (True, False):
                    chosen = {n: like(t, text) if alike else t[0] for n, t in taken.items()} | {name: text}
                    key = (kernel.domain, kernel.op_name, schema.since_version, name, tuple(sorted(chosen.items())))
                    if key not in seen:
                        seen.add(key)
                        yield schema, name, text, chosen


@functools.cache
def walk():
    """(cells that ONNX Runtime takes and we refuse, operators of which it takes none, how many it takes)."""
    holes, silent, taken, count = [], set(), set(), 0
    for schema, name, text, chosen in cells():
        operator = f"{schema.domain or 'ai.onnx'}.{schema.name}"
        model = model_of(schema, chosen, name)
        if error_of(onnxruntime, model) is not None:
            silent.add(operator)
            continue
        taken.add(operator)
        count += 1
        error = error_of(sardonyx, model)
        if error is not None:
            holes.append(f"{operator} {schema.since_version} {name} = {text}: {error}")
    return holes, silent - taken, count


# What a session refuses here although ONNX Runtime's takes it, because its run fails: scores of another type than the
# result's.
EXCEPTIONS = ["MultiHeadAttention 1 QK = ", "DecoderMaskedMultiHeadAttention 1 QK = "]


def test_no_type_is_missing():
    holes, _, count = walk()
    assert count > 5500
    assert [h for h in holes if not any(text in h for text in EXCEPTIONS)] == []


def test_every_operator_is_asked():
    _, silent, _ = walk()
    assert {s.split(".")[-1] for s in silent} == SEARCHES


def test_every_kernel_has_a_row():
    ours = {(k.domain, k.op_name) for k in get_all_opkernel_def()}
    assert {(k.domain, k.op_name) for k in peer.get_all_opkernel_def()} - ours == set()
