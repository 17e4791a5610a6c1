"""Random models of ai.onnx.ml's tree ensembles, in the form of every version. Needs onnx and numpy."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

ELEMENTS = {"float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE, "int64": TensorProto.INT64,
            "int32": TensorProto.INT32, "float16": TensorProto.FLOAT16, "str": TensorProto.STRING}
MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]


def one_node(node, inputs, outputs, opset=3):
    """A model of one node; `inputs` and `outputs`: name -> element type, or a ValueInfoProto."""
    def infos(entries):
        return [info if not isinstance(info, int) else helper.make_tensor_value_info(name, info, None)
                for name, info in entries.items()]
    graph = helper.make_graph([node], "g", infos(inputs), infos(outputs))
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", opset),
               helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8).SerializeToString()


class Tree:
    """A random binary tree: nodes are ("leaf",) or (feature, mode, value, tracks_missing, false, true)."""

    def __init__(self, rng, features, depth, modes, full, members=False):
        self.nodes, self.rng, self.features, self.modes, self.full = [], rng, features, modes, full
        self.members = members
        self.add(depth)

    def add(self, depth):
        at = len(self.nodes)
        self.nodes.append(("leaf",))
        if depth == 0 or (not self.full and at > 0 and self.rng.random() < 0.25):
            return at
        mode = self.rng.choice(self.modes)
        value = np.float32(self.rng.integers(-3, 4)) if self.rng.random() < 0.7 else np.float32(self.rng.normal())
        inner = (int(self.rng.integers(self.features)), str(mode), value, int(self.rng.random() < 0.4))
        self.nodes[at] = (*inner, self.add(depth - 1), self.add(depth - 1))
        return at

    def leaves(self):
        return [i for i, node in enumerate(self.nodes) if node[0] == "leaf"]


def rows(rng, count, features, dtype, missing=0.1):
    """Rows that meet the thresholds often; floats with NaN and infinities."""
    x = rng.integers(-4, 5, (count, features)).astype(np.float64)
    if not dtype.startswith("float"):
        return x.astype(dtype)
    x += np.where(rng.random(x.shape) < 0.5, rng.normal(size=x.shape), 0)
    x[rng.random(x.shape) < missing] = np.nan
    x[rng.random(x.shape) < 0.02] = np.inf
    x[rng.random(x.shape) < 0.02] = -np.inf
    x[rng.random(x.shape) < 0.02] = -0.0
    return x.astype(dtype)


def lists_of(trees, weigh, kind, as_tensor=None):
    """Attributes of TreeEnsembleRegressor or -Classifier; weigh(tree, leaf) -> [(id, weight)]."""
    nodes = {name: [] for name in ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids",
                                   "falsenodeids", "missing_value_tracks_true")}
    weights = {name: [] for name in ("treeids", "nodeids", "ids", "weights")}
    for t, tree in enumerate(trees):
        for i, node in enumerate(tree.nodes):
            leaf = node[0] == "leaf"
            entry = (t, i, 0, "LEAF", 0.0, 0, 0, 0) if leaf else (
                t, i, node[0], node[1], float(node[2]), node[5], node[4], node[3])
            for name, value in zip(nodes, entry, strict=True):
                nodes[name].append(value)
        for leaf in tree.leaves():
            for target, weight in weigh(tree, leaf):
                for name, value in zip(weights, (t, leaf, target, weight), strict=True):
                    weights[name].append(value)
    attributes = {f"nodes_{name}": values for name, values in nodes.items()}
    attributes |= {f"{kind}_{name}": values for name, values in weights.items()}
    if as_tensor:
        for name in ("nodes_values", f"{kind}_weights"):
            tensor = np.array(attributes.pop(name), as_tensor)
            attributes[f"{name}_as_tensor"] = numpy_helper.from_array(tensor, name)
    return attributes


def ensemble_of(rng, trees, targets, dtype):
    """Attributes of TreeEnsemble-5. A mode "MEMBER" is a set of small integers."""
    codes = {mode: i for i, mode in enumerate([*MODES, "MEMBER"])}
    out = {name: [] for name in ("features", "modes", "splits", "true", "trueleafs", "false", "falseleafs", "missing")}
    members, leaf_targets, leaf_weights, roots = [], [], [], []
    for tree in trees:
        if tree.nodes[0][0] == "leaf":
            continue
        inner = {i: len(out["features"]) + k for k, i in enumerate(
            i for i, node in enumerate(tree.nodes) if node[0] != "leaf")}
        roots.append(inner[0])
        places = dict(inner)
        for leaf in tree.leaves():
            places[leaf] = len(leaf_weights)
            leaf_targets.append(int(rng.integers(targets)))
            leaf_weights.append(rng.normal())
        for i in inner:
            feature, mode, value, missing, on_false, on_true = tree.nodes[i]
            if mode == "MEMBER":
                members += [*sorted(set(rng.integers(0, 6, 3).tolist())), np.nan]
            for name, entry in zip(out, (feature, codes[mode], float(value), places[on_true],
                                         int(on_true not in inner), places[on_false], int(on_false not in inner),
                                         missing), strict=True):
                out[name].append(entry)
    attributes = {
        "n_targets": targets, "tree_roots": roots, "leaf_targetids": leaf_targets,
        "leaf_weights": numpy_helper.from_array(np.array(leaf_weights, dtype)),
        "nodes_featureids": out["features"], "nodes_modes": numpy_helper.from_array(np.array(out["modes"], np.uint8)),
        "nodes_splits": numpy_helper.from_array(np.array(out["splits"], dtype)), "nodes_truenodeids": out["true"],
        "nodes_trueleafs": out["trueleafs"], "nodes_falsenodeids": out["false"],
        "nodes_falseleafs": out["falseleafs"], "nodes_missing_value_tracks_true": out["missing"]}
    if members:
        attributes["membership_values"] = numpy_helper.from_array(np.array(members, dtype))
    return attributes
