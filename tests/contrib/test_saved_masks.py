"""Attention with masks that ONNX Runtime's kernel does not repeat, saved at the extended level, loaded by both."""
import numpy as np
import onnx
import onnxruntime
import pytest
import sardonyx
from onnx import TensorProto, helper

BATCH, HEADS, QUERIES, KEYS, PAST, SIZE = 2, 3, 4, 5, 2, 8
MASKS = {"keys": (BATCH, 1, 1, KEYS), "row": (KEYS,), "one": (1, 1), "queries": (BATCH, HEADS, QUERIES, 1),
         "heads": (HEADS, 1, 1), "whole": (BATCH, 1, QUERIES, KEYS)}


def model_of(mask, *, three=False, past=False, twice=False, boolean=False):
    """(model, inputs); `twice`: two nodes share the mask; `three`: heads lie side by side in the last axis."""
    random = np.random.default_rng(7)
    keys = KEYS + PAST if past else KEYS
    shape = [keys if size == KEYS else size for size in MASKS[mask]]

    def place(count):
        return (BATCH, count, HEADS * SIZE) if three else (BATCH, HEADS, count, SIZE)

    feed = {name: random.standard_normal(place(count)).astype(np.float32)
            for name, count in (("q", QUERIES), ("k", KEYS), ("v", KEYS))}
    feed["mask"] = random.uniform(size=shape) < 0.7 if boolean else random.standard_normal(shape).astype(np.float32)
    names = ["q", "k", "v", "mask"]
    outputs = ["y"]
    if past:
        for name in "past_k", "past_v":
            feed[name] = random.standard_normal((BATCH, HEADS, PAST, SIZE)).astype(np.float32)
            names.append(name)
        outputs += ["present_k", "present_v"]
    heads = {"q_num_heads": HEADS, "kv_num_heads": HEADS} if three else {}
    nodes = [helper.make_node("Attention", names, outputs, **heads)]
    if twice:
        nodes.append(helper.make_node("Attention", ["y", *names[1:]], ["z"], **heads))
        outputs = [*outputs, "z"]
    kinds = {name: TensorProto.BOOL if value.dtype == bool else TensorProto.FLOAT for name, value in feed.items()}
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info(name, kinds[name], value.shape) for name, value in feed.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11), feed


@pytest.mark.parametrize("settings", [{}, {"three": True}, {"past": True}, {"three": True, "past": True},
                                      {"twice": True}, {"boolean": True}],
                         ids=lambda settings: "-".join(settings) or "plain")
@pytest.mark.parametrize("mask", MASKS)
def test_saved_masks_run_in_either_library(tmp_path, mask, settings):
    model, feed = model_of(mask, **settings)
    want = sardonyx.InferenceSession(model.SerializeToString()).run(None, feed)
    path = str(tmp_path / "saved.onnx")
    options = sardonyx.SessionOptions()
    options.graph_optimization_level = sardonyx.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = path
    sardonyx.InferenceSession(model.SerializeToString(), options)
    repeats = [node for node in onnx.load(path).graph.node if node.op_type == "Expand"]
    assert len(repeats) <= 1, "nodes that share a mask share what repeats it"
    for engine in sardonyx, onnxruntime:
        got = engine.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, feed)
        for ours, theirs in zip(got, want, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
