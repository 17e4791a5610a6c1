"""NonMaxSuppression of many boxes, whose candidates are sorted in parts: against ONNX Runtime."""

import numpy as np
import onnxruntime
import pytest
import sardonyx
from onnx import TensorProto, helper


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("boxes,most", [(31, 1), (33, 1), (500, 3), (2000, 40), (2000, 300), (2000, 2000)])
def test_candidates_sorted_in_parts(boxes, most, ties):
    rng = np.random.default_rng(boxes + most)
    corner, size = rng.random((1, boxes, 2)) * 10, rng.random((1, boxes, 2)) * 3
    scores = rng.random((1, 2, boxes)) * 2 - 1
    if ties:
        scores = np.round(scores * 8) / 8
    feeds = {
        "boxes": np.concatenate([corner, corner + size], axis=-1).astype(np.float32),
        "scores": scores.astype(np.float32),
    }
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, x.shape) for name, x in feeds.items()]
    limits = [
        helper.make_tensor("most", TensorProto.INT64, [1], [most]),
        helper.make_tensor("iou", TensorProto.FLOAT, [1], [0.3]),
        helper.make_tensor("score", TensorProto.FLOAT, [1], [-0.5]),
    ]
    node = helper.make_node("NonMaxSuppression", ["boxes", "scores", "most", "iou", "score"], ["y"])
    result = helper.make_tensor_value_info("y", TensorProto.INT64, None)
    graph = helper.make_graph([node], "g", inputs, [result], limits)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=8).SerializeToString()
    ours, theirs = (
        module.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, feeds)[0]
        for module in (sardonyx, onnxruntime)
    )
    assert len(theirs) > 0
    np.testing.assert_array_equal(ours, theirs)
