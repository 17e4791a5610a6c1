"""The operators of ai.onnx.ml and the tokenizer, compared with ONNX Runtime on random models of all modes and types."""
import itertools

import ml_models
import numpy as np
import onnxruntime
import pytest
import sardonyx
from onnx import TensorProto, helper

POSTS = ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"]
FLOAT, INT64, STRING = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING


def sessions(model, threads=1, engines=(sardonyx, onnxruntime)):
    made = []
    for engine in engines:
        options = engine.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 4
        made.append(engine.InferenceSession(model, options, providers=["CPUExecutionProvider"]))
    return made


def same(ours, theirs, tolerance=1e-5):
    if isinstance(theirs, (list, dict)):
        assert type(ours) is type(theirs)
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            same(a, b)
        if isinstance(theirs, dict):
            same(list(ours.values()), list(theirs.values()))
        return
    if not isinstance(theirs, np.ndarray):
        assert type(ours) is type(theirs)
        assert ours == theirs or abs(ours - theirs) < tolerance
        return
    assert ours.dtype == theirs.dtype
    assert ours.shape == theirs.shape
    if theirs.dtype.kind != "f":
        assert (ours == theirs).all(), (ours, theirs)
        return
    finite = np.isfinite(theirs)
    scale = np.abs(theirs[finite]).max(initial=0)
    np.testing.assert_array_equal(np.isnan(ours), np.isnan(theirs))
    np.testing.assert_array_equal(ours[np.isinf(theirs)], theirs[np.isinf(theirs)])
    np.testing.assert_allclose(ours[finite], theirs[finite], rtol=0, atol=tolerance * max(scale, 1e-2))


def compare(model, *feeds, tolerance=1e-5):
    ours, theirs = sessions(model)
    for feed in feeds:
        for a, b in zip(ours.run(None, feed), theirs.run(None, feed), strict=True):
            same(a, b, tolerance)


def random_trees(rng, count, depth, modes=ml_models.MODES, features=5):
    return [ml_models.Tree(rng, features, depth, modes, full=rng.random() < 0.5) for _ in range(count)]


# A probit needs scores in (0, 1), and ONNX Runtime's loses digits near 1/2.
def tolerance_of(post):
    return 2e-3 if post == "PROBIT" else 1e-5


def weight_range(post, trees):
    return (0.05 / trees, 0.3 / trees) if post == "PROBIT" else (-1, 1)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32"])
@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
def test_tree_regressors(aggregate, dtype):
    for seed, (post, targets) in enumerate(itertools.product(POSTS, (1, 3))):
        rng = np.random.default_rng(seed)
        count = int(rng.choice([1, 7, 70]))
        modes = ml_models.MODES[:1] if seed % 3 == 0 else ml_models.MODES
        trees = random_trees(rng, count, int(rng.choice([2, 4, 7])), modes)
        low, high = weight_range(post, count)
        attributes = ml_models.lists_of(trees, lambda tree, leaf, rng=rng, targets=targets, low=low, high=high: [
            (k, float(np.float32(rng.uniform(low, high)))) for k in range(targets)], "target",
            "float64" if dtype == "float64" and seed % 2 else None)
        if post != "PROBIT" and seed % 2 and "nodes_values_as_tensor" not in attributes:
            attributes["base_values"] = [0.25 * k for k in range(targets)]
        node = helper.make_node("TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", n_targets=targets,
                                aggregate_function=aggregate, post_transform=post, **attributes)
        feeds = [{"x": ml_models.rows(rng, n, 5, dtype)} for n in (1, 2, 9, 33, 100)]
        element = ml_models.ELEMENTS[dtype if dtype.startswith("float") else "float32"]
        model = ml_models.one_node(node, {"x": element}, {"y": FLOAT})
        if dtype.startswith("float"):
            compare(model, *feeds, tolerance=tolerance_of(post))
            continue
        # ONNX Runtime has no regressor of integers; they are compared as floats.
        theirs = sessions(model)[1]
        ours = sessions(ml_models.one_node(node, {"x": ml_models.ELEMENTS[dtype]}, {"y": FLOAT}), engines=[sardonyx])[0]
        for feed in feeds:
            same(ours.run(None, feed)[0], theirs.run(None, {"x": feed["x"].astype("float32")})[0], tolerance_of(post))


@pytest.mark.parametrize(("dtype", "labels"), [("float32", "ints"), ("float64", "strings"), ("int64", "ints"),
                                              ("int32", "strings")])
@pytest.mark.parametrize("classes", [2, 4])
def test_tree_classifiers(classes, dtype, labels):
    """Binary models with weights for one class or both, of one sign or two, with and without base values."""
    for seed, (post, scored, sign, bases) in enumerate(
            itertools.product(POSTS, ("one", "all"), ("positive", "mixed"), (0, 1, classes))):
        # ONNX Runtime leaves scores uninitialised where one probit or one base value stands for two classes.
        if classes == 2 and (post == "PROBIT" or bases == 1 and scored == "all") or classes > 2 and bases == 1:
            continue
        rng = np.random.default_rng(seed)
        count = int(rng.choice([1, 5, 70]))
        trees = random_trees(rng, count, int(rng.choice([2, 5, 7])), ml_models.MODES[: 1 + seed % 6])
        low, high = (0.05 / count, 0.9 / count) if sign == "positive" or post == "PROBIT" else (-1, 1)

        def weigh(tree, leaf, rng=rng, scored=scored, low=low, high=high, trees=trees, seed=seed):
            if scored == "all":
                return [(k, float(np.float32(rng.uniform(low, high)))) for k in range(classes)]
            # One class per tree, as in boosting; for two classes the first or the second only.
            k = trees.index(tree) % classes if classes > 2 else seed // 2 % 2
            return [(k, float(np.float32(rng.uniform(low, high))))]

        attributes = ml_models.lists_of(trees, weigh, "class")
        if bases:
            attributes["base_values"] = [0.125 * (k + 1) for k in range(bases)]
        names = {"classlabels_int64s": list(range(classes))} if labels == "ints" else {
            "classlabels_strings": [f"class {k}" for k in range(classes)]}
        node = helper.make_node("TreeEnsembleClassifier", ["x"], ["l", "y"], domain="ai.onnx.ml", post_transform=post,
                                **names, **attributes)
        opset = 1 if seed % 2 else 3
        model = ml_models.one_node(node, {"x": ml_models.ELEMENTS[dtype]},
                                   {"l": INT64 if labels == "ints" else STRING, "y": FLOAT}, opset)
        compare(model, *({"x": ml_models.rows(rng, n, 5, dtype, 0.1)} for n in (1, 3, 17, 64)),
                tolerance=tolerance_of(post))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_tree_ensembles(dtype):
    # The standard numbers SOFTMAX 1 and LOGISTIC 2, ONNX Runtime the other way round: it is asked for what we compute.
    for seed, (aggregate, post) in enumerate(itertools.product(range(4), range(4))):
        rng = np.random.default_rng(seed)
        targets = 1 + seed % 3
        trees = [ml_models.Tree(rng, 5, int(rng.choice([3, 6])), [*ml_models.MODES, "MEMBER"], full=True)
                 for _ in range(int(rng.choice([1, 9])))]
        attributes = ml_models.ensemble_of(rng, trees, targets, dtype)
        element, made = ml_models.ELEMENTS[dtype], []
        for engine, number in ((sardonyx, post), (onnxruntime, {1: 2, 2: 1}.get(post, post))):
            node = helper.make_node("TreeEnsemble", ["x"], ["y"], domain="ai.onnx.ml", aggregate_function=aggregate,
                                    post_transform=number, **attributes)
            made += sessions(ml_models.one_node(node, {"x": element}, {"y": element}, 5), engines=[engine])
        for n in (1, 2, 40):
            feed = {"x": ml_models.rows(rng, n, 5, dtype)}
            same(made[0].run(None, feed)[0], made[1].run(None, feed)[0])


def test_half_precision_ensembles_agree_with_single_precision():
    rng = np.random.default_rng(0)
    trees = [ml_models.Tree(rng, 5, 4, ml_models.MODES, full=True) for _ in range(6)]
    results = []
    for dtype in ("float32", "float16"):
        rng = np.random.default_rng(1)
        attributes = ml_models.ensemble_of(rng, trees, 2, dtype)
        node = helper.make_node("TreeEnsemble", ["x"], ["y"], domain="ai.onnx.ml", **attributes)
        element = ml_models.ELEMENTS[dtype]
        session = sardonyx.InferenceSession(ml_models.one_node(node, {"x": element}, {"y": element}, 5))
        x = ml_models.rows(np.random.default_rng(2), 50, 5, "float16").astype(dtype)
        results.append(session.run(None, {"x": x})[0])
    agreeing = np.abs(results[0] - results[1]) < 2e-2  # thresholds round to halves
    assert results[1].dtype == np.float16
    assert agreeing.mean() > 0.8


def test_bits_depend_on_neither_threads_nor_the_number_of_rows():
    for seed, depth in enumerate((3, 5, 7)):
        rng = np.random.default_rng(seed)
        trees = random_trees(rng, 300, depth, ml_models.MODES[:2], features=9)
        attributes = ml_models.lists_of(trees, lambda tree, leaf, rng=rng: [(0, float(rng.normal()))], "target")
        node = helper.make_node("TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", n_targets=1, **attributes)
        model = ml_models.one_node(node, {"x": FLOAT}, {"y": FLOAT})
        x = ml_models.rows(rng, 200, 9, "float32")
        results = []
        for threads in (1, 2, 3):
            session = sessions(model, threads, [sardonyx])[0]
            whole = session.run(None, {"x": x})[0]
            parts = [session.run(None, {"x": x[i:j]})[0] for i, j in ((0, 1), (1, 3), (3, 19), (19, 60), (60, 200))]
            assert np.concatenate(parts).tobytes() == whole.tobytes()
            results.append(whole.tobytes())
        assert len(set(results)) == 1


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32"])
def test_linear_models(dtype):
    element = ml_models.ELEMENTS[dtype]
    for seed, (post, classes) in enumerate(itertools.product(POSTS, (1, 2, 5))):
        rng = np.random.default_rng(seed)
        feeds = [{"x": ml_models.rows(rng, n, 7, dtype, 0)} for n in (1, 3, 40)]
        scale = 0.01 if post == "PROBIT" else 1.0
        coefficients = (scale * rng.normal(size=classes * 7)).astype("float32").tolist()
        intercepts = [0.2 + scale * k for k in range(classes)]
        for feed in feeds:
            if dtype.startswith("float"):
                feed["x"] = np.clip(feed["x"], -5, 5)
        if dtype == "float32":  # ONNX Runtime has no other type
            node = helper.make_node("LinearRegressor", ["x"], ["y"], domain="ai.onnx.ml", targets=classes,
                                    post_transform=post, coefficients=coefficients,
                                    **({"intercepts": intercepts} if seed % 2 else {}))
            if seed % 2 or post != "PROBIT":
                compare(ml_models.one_node(node, {"x": element}, {"y": FLOAT}, 1), *feeds,
                        tolerance=tolerance_of(post))
        for labels in ({"classlabels_ints": [3 * k for k in range(max(classes, 2))]},
                       {"classlabels_strings": [str(k) for k in range(max(classes, 2))]}):
            if classes == 1 and post == "PROBIT":
                continue  # ONNX Runtime leaves half of the scores uninitialised
            node = helper.make_node("LinearClassifier", ["x"], ["l", "y"], domain="ai.onnx.ml", post_transform=post,
                                    coefficients=coefficients, intercepts=intercepts, **labels)
            outputs = {"l": INT64 if "classlabels_ints" in labels else STRING, "y": FLOAT}
            compare(ml_models.one_node(node, {"x": element}, outputs, 1), *feeds, tolerance=tolerance_of(post))


@pytest.mark.parametrize("op", ["LinearRegressor", "LinearClassifier"])
@pytest.mark.parametrize("features", [2, None, "f"])
def test_linear_models_with_more_coefficients_than_features(op, features):
    rows = np.array([[1, 2], [-1, 0.5]], np.float32)
    for count, intercepts in ((6, [0.5, 0.25]), (4, [0.5, 0.25]), (5, [0.5, 0.25]), (6, [0.5])):
        if op == "LinearClassifier" and (count % 2 or len(intercepts) == 1):
            continue  # ONNX Runtime refuses them too
        labels = {"targets": 2} if op == "LinearRegressor" else {"classlabels_ints": [0, 1]}
        node = helper.make_node(op, ["x"], ["y"] if op == "LinearRegressor" else ["l", "y"], domain="ai.onnx.ml",
                                coefficients=[float(i) for i in range(count)], intercepts=intercepts, **labels)
        outputs = [helper.make_tensor_value_info("y", FLOAT, None)]
        graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", FLOAT, [None, features])], outputs)
        model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17),
                                                                      helper.make_opsetid("ai.onnx.ml", 1)])
        compare(model.SerializeToString(), {"x": rows}, {"x": rows[:1]})


@pytest.mark.parametrize("kernel", ["LINEAR", "POLY", "RBF", "SIGMOID"])
def test_support_vector_models(kernel):
    for seed, (post, classes, probabilities, dtype) in enumerate(
            itertools.product(("NONE", "SOFTMAX", "LOGISTIC"), (2, 4), (False, True), ("float32", "float64", "int64"))):
        rng = np.random.default_rng(seed)
        counts = rng.integers(1, 6, classes).tolist()
        total, pairs = sum(counts), classes * (classes - 1) // 2
        shared = {"kernel_type": kernel, "kernel_params": [0.25, 0.5, float(2 + seed % 3)],
                  "support_vectors": rng.normal(size=total * 6).astype("float32").tolist()}
        if kernel == "POLY" and seed % 3 == 2:
            shared["kernel_params"][1] = 50.0  # a power that is no integer's needs a positive base
            shared["kernel_params"][2] = 1.5
        labels = {"classlabels_ints": list(range(classes))} if seed % 2 else {
            "classlabels_strings": [f"c{k}" for k in range(classes)]}
        attributes = shared | labels | {
            "coefficients": rng.normal(size=(classes - 1) * total).astype("float32").tolist(),
            "rho": rng.normal(size=pairs).astype("float32").tolist(), "vectors_per_class": counts,
            "post_transform": post}
        if probabilities:
            attributes |= {"prob_a": (-1 - rng.random(pairs)).tolist(), "prob_b": rng.normal(size=pairs).tolist()}
        node = helper.make_node("SVMClassifier", ["x"], ["l", "y"], domain="ai.onnx.ml", **attributes)
        outputs = {"l": INT64 if seed % 2 else STRING, "y": FLOAT}
        x = np.clip(ml_models.rows(rng, 30, 6, dtype, 0), -3, 3)
        compare(ml_models.one_node(node, {"x": ml_models.ELEMENTS[dtype]}, outputs, 1), {"x": x}, {"x": x[:1]},
                tolerance=1e-4)
        if dtype == "float32" and post == "NONE":
            node = helper.make_node("SVMRegressor", ["x"], ["y"], domain="ai.onnx.ml", n_supports=total,
                                    one_class=seed % 2, coefficients=rng.normal(size=total).tolist(), rho=[0.3],
                                    **shared)
            compare(ml_models.one_node(node, {"x": FLOAT}, {"y": FLOAT}, 1), {"x": x}, tolerance=1e-4)


def test_support_vector_models_without_vectors():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(20, 6)).astype("float32")
    for classes, post, sign in itertools.product((2, 3), POSTS[:3], (-1, 1)):
        coefficients = np.abs(rng.normal(size=classes * 6)) if sign > 0 else rng.normal(size=classes * 6)
        node = helper.make_node("SVMClassifier", ["x"], ["l", "y"], domain="ai.onnx.ml", post_transform=post,
                                coefficients=coefficients.tolist(), rho=[0.25], kernel_params=[0.5, 0.0, 3.0],
                                classlabels_ints=[5, 6, 7][:classes])
        compare(ml_models.one_node(node, {"x": FLOAT}, {"l": INT64, "y": FLOAT}, 1), {"x": x})
    node = helper.make_node("SVMRegressor", ["x"], ["y"], domain="ai.onnx.ml", coefficients=rng.normal(size=6).tolist(),
                            rho=[0.25], n_supports=0, kernel_params=[0.5, 0.0, 3.0])
    compare(ml_models.one_node(node, {"x": FLOAT}, {"y": FLOAT}, 1), {"x": x})


def test_categories():
    words = np.array([["red", "none"], ["", "blue"]], object)
    node = helper.make_node("CategoryMapper", ["x"], ["y"], domain="ai.onnx.ml", cats_strings=["red", "blue", "red"],
                            cats_int64s=[4, 5, 6], default_int64=-7, default_string="?")
    compare(ml_models.one_node(node, {"x": STRING}, {"y": INT64}, 1), {"x": words})
    compare(ml_models.one_node(node, {"x": INT64}, {"y": STRING}, 1), {"x": np.array([4, 5, 6, 0])})
    node = helper.make_node("OneHotEncoder", ["x"], ["y"], domain="ai.onnx.ml", cats_strings=["red", "blue", "red"])
    compare(ml_models.one_node(node, {"x": STRING}, {"y": FLOAT}, 1), {"x": words}, {"x": words[0]})
    for dtype in ("int64", "float32", "float64"):
        node = helper.make_node("OneHotEncoder", ["x"], ["y"], domain="ai.onnx.ml", cats_int64s=[1, -2, 9])
        compare(ml_models.one_node(node, {"x": ml_models.ELEMENTS[dtype]}, {"y": FLOAT}, 1),
                {"x": np.array([[1, -2.5], [9.9, 3]]).astype(dtype)})


def test_maps():
    def map_info(name, key, value):
        info = helper.make_tensor_type_proto(value, [])
        return helper.make_value_info(name, helper.make_map_type_proto(key, info))

    for sparse, to in itertools.product((False, True), ("TO_FLOAT", "TO_INT64", "TO_STRING")):
        form = {"map_form": "SPARSE", "max_map": 5} if sparse else {}
        node = helper.make_node("CastMap", ["x"], ["y"], domain="ai.onnx.ml", cast_to=to, **form)
        element = {"TO_FLOAT": FLOAT, "TO_INT64": INT64, "TO_STRING": STRING}[to]
        model = ml_models.one_node(node, {"x": map_info("x", INT64, FLOAT)}, {"y": element}, 1)
        compare(model, {"x": {3: 2.5, 0: -1.75, 9: 4.0}})
        # ONNX Runtime's Python takes no map to strings.
        model = ml_models.one_node(node, {"x": map_info("x", INT64, STRING)}, {"y": element}, 1)
        values = sessions(model, engines=[sardonyx])[0].run(None, {"x": {1: " 2", 4: "-7"}})[0].tolist()
        two, seven, none = {"TO_STRING": (" 2", "-7", "0.f")}.get(to, (2, -7, 0))
        assert values == [[none, two, none, none, seven] if sparse else [two, seven]]
    for keys, vocabulary in ((INT64, [5, 1, 5, 9]), (STRING, ["b", "a", "z"])):
        name = "int64_vocabulary" if keys == INT64 else "string_vocabulary"
        node = helper.make_node("DictVectorizer", ["x"], ["y"], domain="ai.onnx.ml", **{name: vocabulary})
        model = ml_models.one_node(node, {"x": map_info("x", keys, FLOAT)}, {"y": FLOAT}, 1)
        compare(model, {"x": {1: 2.5, 9: 3.0} if keys == INT64 else {"a": 2.5, "q": 3.0}})
        model = ml_models.one_node(node, {"x": map_info("x", keys, TensorProto.DOUBLE)}, {"y": TensorProto.DOUBLE}, 1)
        feed = {"x": {1: 1e300, 9: 3.0} if keys == INT64 else {"a": 1e300, "q": 3.0}}
        values = sessions(model, engines=[sardonyx])[0].run(None, feed)[0].tolist()
        assert values == ([[0, 1e300, 0, 3]] if keys == INT64 else [[0, 1e300, 0]])
    for labels in ({"classlabels_int64s": [7, -1, 3]}, {"classlabels_strings": ["b", "a", "b"]}):
        key = INT64 if "classlabels_int64s" in labels else STRING
        info = map_info("y", key, FLOAT).type
        output = helper.make_value_info("y", helper.make_sequence_type_proto(info))
        node = helper.make_node("ZipMap", ["x"], ["y"], domain="ai.onnx.ml", **labels)
        x = np.arange(6, dtype="float32").reshape(2, 3)
        compare(ml_models.one_node(node, {"x": FLOAT}, {"y": output}, 1), {"x": x}, {"x": x[0]}, {"x": x[:0]})


TEXTS = ["the cat runs", "", "a", "naïve café, 東京  x", "::a:b::c:", "one1two22three", "   "]


@pytest.mark.parametrize("mark", [0, 1])
@pytest.mark.parametrize("least", [1, 2, 4])
@pytest.mark.parametrize("how", [
    {"tokenexp": "[a-zA-Z]+"}, {"tokenexp": r"\w+|\S"}, {"tokenexp": "a|ab|abc"}, {"tokenexp": "[0-9]*"},
    {"tokenexp": "."}, {"separators": [" "]}, {"separators": [" ", ":"]}, {"separators": [r"\s+", "[,:]", "a"]},
    {"separators": [""]}, {"separators": ["東", "café"]}], ids=str)
def test_tokenizers(how, least, mark):
    if least > 1 and how in ({"tokenexp": "."}, {"separators": [""]}):
        return  # refused: a character has one character
    node = helper.make_node("Tokenizer", ["x"], ["y"], domain="com.microsoft", mark=mark, mincharnum=least,
                            pad_value="#", **how)
    model = ml_models.one_node(node, {"x": STRING}, {"y": STRING})
    texts = np.array(TEXTS, object)
    compare(model, {"x": texts}, {"x": texts[:6].reshape(2, 3)}, {"x": texts[1:2]}, {"x": texts[:0].reshape(3, 0)})
