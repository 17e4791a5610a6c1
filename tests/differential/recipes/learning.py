"""ai.onnx.ml: classic models and what prepares their features."""
import numpy as np
from calls import FLOATS, Call, constant, dtype_of
from onnx import helper

from recipes import recipe

ML = "ai.onnx.ml"
TRANSFORMS = [None, "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"]


def rows(d, variable="T", most=5):
    kind = d.kind(variable)
    x = d.values(kind, (d.whole(1, 4), d.whole(1, most)), "tame", *(() if kind in FLOATS else (-4, 4)))
    return x


def reals(d, count, low=-2, high=2):
    return [d.real(low, high) for _ in range(count)]


@recipe("ArrayFeatureExtractor", domain=ML)
def array_feature_extractor(d):
    x = d.values("T", tuple(max(n, 1) for n in d.shape(1, 3)))
    return Call([x, d.ints(*[d.whole(0, x.shape[-1] - 1) for _ in range(d.whole(1, 4))]).reshape(1, -1)])


@recipe("Binarizer", domain=ML)
def binarizer(d):
    return Call([rows(d)], {"threshold": d.pick(None, d.real(-1, 1))})


@recipe("Scaler", domain=ML)
def scaler(d):
    x = rows(d)
    n = d.pick(1, x.shape[1])
    return Call([x], {"offset": reals(d, n), "scale": reals(d, n)}, tolerance=4)


@recipe("Normalizer", domain=ML)
def normalizer(d):
    return Call([rows(d)], {"norm": d.pick(None, "MAX", "L1", "L2")}, tolerance=8)


@recipe("Imputer", domain=ML)
def imputer(d):
    x = rows(d)
    n = d.pick(1, x.shape[1])
    if x.dtype.kind == "f":
        nan = d.chance()
        x = np.where(d.rng.random(x.shape) < 0.4, np.nan if nan else 3.0, x).astype(x.dtype)
        return Call([x], {"imputed_value_floats": reals(d, n), "replaced_value_float": float("nan") if nan else 3.0})
    imputed = [d.whole(-9, 9) for _ in range(n)]
    return Call([x], {"imputed_value_int64s": imputed, "replaced_value_int64": d.whole(-2, 2)})


@recipe("OneHotEncoder", domain=ML)
def one_hot_encoder(d):
    kind, shape = d.kind("T"), tuple(max(n, 1) for n in d.shape(1, 2, 20))
    if kind == 8:
        x = np.array(["a", "zz", "B"], object)[d.rng.integers(0, 3, shape)]
        return Call([x], {"cats_strings": ["a", "zz", "12", "B"], "zeros": d.pick(None, 1)})
    x = d.rng.integers(0, 4, shape).astype(dtype_of(kind))
    return Call([x], {"cats_int64s": [0, 2, 1, 3, 7], "zeros": d.pick(None, 1)})


@recipe("FeatureVectorizer", domain=ML)
def feature_vectorizer(d):
    n, widths = d.whole(1, 3), [d.whole(1, 3) for _ in range(d.whole(1, 3))]
    kind = d.kind("T1")
    inputs = [d.values(kind, (n, w), "tame") for w in widths]
    return Call(inputs, {"inputdimensions": widths})


@recipe("CategoryMapper", domain=ML)
def category_mapper(d):
    kind, shape = d.kind("T1"), d.shape(1, 2, 20)
    d.types["T2"] = 7 if kind == 8 else 8
    x = (np.array(["a", "B", "q"], object)[d.rng.integers(0, 3, shape)] if kind == 8
         else d.rng.integers(0, 4, shape).astype(np.int64))
    return Call([x], {"cats_strings": ["a", "B", "zz"], "cats_int64s": [1, 2, 3],
                      "default_int64" if kind == 8 else "default_string": d.pick(None, -7 if kind == 8 else "none")})


def keyed(d, kind, name):
    """Keys or values of a LabelEncoder as an attribute; keys that the inputs hit."""
    numbers = [1, 2, 5]
    word = {1: "floats", 7: "int64s", 8: "strings"}.get(kind)
    items = ["a", "B", "zz"] if kind == 8 else [float(n) for n in numbers] if kind == 1 else numbers
    if word and (d.version < 4 or d.chance()):
        return {f"{name}_{word}": items}
    dtype = object if kind == 8 else dtype_of(kind)
    return {f"{name}_tensor": constant(np.array(items, dtype), name)}


@recipe("LabelEncoder", domain=ML)
def label_encoder(d):
    kind, shape = d.kind("T1"), d.shape(0, 2, 20)
    x = (np.array(["a", "B", "q"], object)[d.rng.integers(0, 3, shape)] if kind == 8
         else d.rng.integers(0, 6, shape).astype(dtype_of(kind)))
    x = np.asarray(x, object if kind == 8 else None)
    if d.version == 1:
        d.types["T2"] = 7 if kind == 8 else 8
        return Call([x], {"classes_strings": ["a", "B", "zz"]})
    out = d.kind("T2")
    attributes = keyed(d, kind, "keys") | keyed(d, out, "values")
    if out in (1, 7, 8) and d.chance():
        name = {1: "default_float", 7: "default_int64", 8: "default_string"}[out]
        attributes[name] = {1: 9.5, 7: 9, 8: "?"}[out]
        if "values_tensor" in attributes:
            attributes.pop(name)
            attributes["default_tensor"] = constant(np.array([{1: 9.5, 7: 9, 8: "?"}[out]],
                                                             object if out == 8 else dtype_of(out)), "default")
    elif out not in (1, 7, 8):
        attributes["default_tensor"] = constant(np.array([9], dtype_of(out)), "default")
    return Call([x], attributes)


@recipe("LinearRegressor", domain=ML)
def linear_regressor(d):
    x, targets = rows(d), d.pick(1, 2, 3)
    return Call([x], {"coefficients": reals(d, targets * x.shape[1]), "targets": targets if targets > 1 else None,
                      "intercepts": reals(d, targets) if d.chance() else None,
                      "post_transform": d.pick(*TRANSFORMS)}, tolerance=32)


def labels(d, n):
    return ({"classlabels_ints": list(range(3, 3 + n))}, 7) if d.chance() else (
        {"classlabels_strings": ["a", "b", "c", "d"][:n]}, 8)


@recipe("LinearClassifier", domain=ML)
def linear_classifier(d):
    x, classes = rows(d, "T1"), d.pick(2, 3, 4)
    names, d.types["T2"] = labels(d, classes)
    return Call([x], {"coefficients": reals(d, classes * x.shape[1]), "intercepts": reals(d, classes),
                      "post_transform": d.pick(*TRANSFORMS), **names}, 2, tolerance=32)


def kernel(d, count, width):
    return {"kernel_type": d.pick("LINEAR", "RBF", "POLY", "SIGMOID"), "kernel_params": [d.real(0.1, 0.6), 0.5, 2.0],
            "support_vectors": reals(d, count * width)}


@recipe("SVMRegressor", domain=ML)
def svm_regressor(d):
    x, count = rows(d), d.whole(1, 4)
    return Call([x], {**kernel(d, count, x.shape[1]), "coefficients": reals(d, count), "n_supports": count,
                      "rho": reals(d, 1)}, tolerance=64)


@recipe("SVMClassifier", domain=ML)
def svm_classifier(d):
    x, classes = rows(d, "T1"), d.pick(2, 3)
    each = [d.whole(1, 2) for _ in range(classes)]
    pairs = classes * (classes - 1) // 2
    names, d.types["T2"] = labels(d, classes)
    proba = {"prob_a": reals(d, pairs), "prob_b": reals(d, pairs)} if d.chance() else {}
    return Call([x], {**kernel(d, sum(each), x.shape[1]), "coefficients": reals(d, sum(each) * (classes - 1)),
                      "vectors_per_class": each, "rho": reals(d, pairs), **names, **proba}, 2, tolerance=64)


def forest(d, width):
    """Two trees of three nodes each, with thresholds that inputs hit exactly now and then."""
    trees = d.pick(1, 2)
    modes = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]
    mode = d.pick(*modes)
    found = {k: [] for k in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids",
                             "missing_value_tracks_true", "hitrates")}
    for tree in range(trees):
        for node in range(3):
            found["treeids"].append(tree)
            found["nodeids"].append(node)
            found["featureids"].append(d.whole(0, width - 1) if node == 0 else 0)
            found["values"].append(float(d.whole(-1, 1)) if node == 0 else 0.0)
            found["modes"].append(mode if node == 0 else "LEAF")
            found["truenodeids"].append(1 if node == 0 else 0)
            found["falsenodeids"].append(2 if node == 0 else 0)
            found["missing_value_tracks_true"].append(d.pick(0, 1) if node == 0 else 0)
            found["hitrates"].append(1.0)
    return trees, {f"nodes_{k}": v for k, v in found.items()}


def leaves(d, trees, ids):
    treeids = [t for t in range(trees) for _ in range(2)]
    return {"treeids": treeids, "nodeids": [1, 2] * trees, "ids": [d.pick(*ids) for _ in treeids],
            "weights": reals(d, len(treeids), 0, 1)}


@recipe("TreeEnsembleRegressor", domain=ML)
def tree_regressor(d):
    x, targets = np.round(rows(d)), d.pick(1, 2)
    trees, attributes = forest(d, x.shape[1])
    votes = leaves(d, trees, range(targets))
    for target in range(targets):  # targets without votes are another question
        votes["ids"][target % len(votes["ids"])] = target
    attributes |= {f"target_{k}": v for k, v in votes.items()}
    return Call([x], {**attributes, "n_targets": targets, "base_values": reals(d, targets) if d.chance() else None,
                      "aggregate_function": d.pick(None, "SUM", "AVERAGE", "MIN", "MAX") if targets == 1 else None,
                      "post_transform": d.pick(None, "NONE")}, tolerance=8)


@recipe("TreeEnsembleClassifier", domain=ML)
def tree_classifier(d):
    x, classes = np.round(rows(d, "T1")), d.pick(2, 3)
    trees, attributes = forest(d, x.shape[1])
    attributes |= {f"class_{k}": v for k, v in leaves(d, trees, range(classes)).items()}
    names, d.types["T2"] = labels(d, classes)
    names = {k.replace("_ints", "_int64s"): v for k, v in names.items()}
    return Call([x], {**attributes, **names, "post_transform": d.pick(None, "NONE", "SOFTMAX")}, 2, tolerance=8)


@recipe("TreeEnsemble", domain=ML)
def tree_ensemble(d):
    x = np.round(rows(d).astype(np.float64)).astype(dtype_of(d.kind("T")))
    dtype = x.dtype
    targets = d.pick(1, 2)
    attributes = {
        "nodes_featureids": [d.whole(0, x.shape[1] - 1)], "nodes_splits": constant(np.array([0], dtype), "splits"),
        "nodes_modes": constant(np.array([d.whole(0, 5)], np.uint8), "modes"), "nodes_truenodeids": [0],
        "nodes_falsenodeids": [1], "nodes_trueleafs": [1], "nodes_falseleafs": [1], "tree_roots": [0],
        "leaf_targetids": [0, targets - 1], "leaf_weights": constant(np.array([0.5, 1.5], dtype), "weights"),
        "n_targets": targets, "aggregate_function": 1, "post_transform": 0}
    return Call([x], attributes)


def mapped(kind_of_key, kind_of_value):
    return helper.make_map_type_proto(kind_of_key, helper.make_tensor_type_proto(kind_of_value, None))


@recipe("ZipMap", domain=ML)
def zip_map(d):
    n = d.whole(1, 3)
    words = d.chance()
    names = {"classlabels_strings": ["a", "b", "c"][:n]} if words else {"classlabels_int64s": [4, 5, 6][:n]}
    kind = helper.make_sequence_type_proto(mapped(8 if words else 7, 1))
    return Call([d.values(1, (d.whole(1, 3), n), "tame")], names, output_types=[kind])
