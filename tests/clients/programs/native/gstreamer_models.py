"""Writes a random detector and a random classifier of pictures, with the files that tell GStreamer what they take and
give, into the folder named by the argument."""
import pathlib
import sys

import numpy as np
import onnx
import onnx.helper as h
import onnx.numpy_helper
from onnx import TensorProto as T

FOLDER = pathlib.Path(sys.argv[1])
RANDOM = np.random.default_rng(0)
SIDE, BOXES, CLASSES = 96, 24, 10


def weights(name, *shape, scale):
    return onnx.numpy_helper.from_array((RANDOM.normal(size=shape) * scale).astype(np.float32), name)


def constant(name, value):
    return onnx.numpy_helper.from_array(np.asarray(value), name)


def save(name, group, nodes, inputs, outputs, initializers):
    """`inputs` and `outputs`: name to its id in GStreamer, element type, dimensions and the ranges of the values."""
    def infos(values):
        return [h.make_tensor_value_info(value, kind, dims) for value, (_, kind, dims, _) in values.items()]

    graph = h.make_graph(nodes, name, infos(inputs), infos(outputs), initializers)
    model = h.make_model(graph, ir_version=9, opset_imports=[h.make_opsetid("", 17)])
    onnx.checker.check_model(model)
    onnx.save(model, FOLDER / f"{name}.onnx")
    lines = ["[modelinfo]", "version=1.0", f"group-id={group}"]
    for direction, values in (("input", inputs), ("output", outputs)):
        for value, (identity, kind, dims, ranges) in values.items():
            lines += [f"[{value}]", f"id={identity}", "type=" + {T.UINT8: "uint8", T.FLOAT: "float32"}[kind],
                      "dims=" + ",".join(str(dim) if isinstance(dim, int) else "-1" for dim in dims),
                      f"dir={direction}", f"ranges={ranges}" if ranges else "dims-order=row-major"]
    (FOLDER / f"{name}.onnx.modelinfo").write_text("\n".join(lines) + "\n")


def detector():
    """The form of SSD with as many boxes as its scores add up to: GStreamer wants their number to be unknown."""
    node, features = h.make_node, 16 * 6 * 6
    nodes = [node("Cast", ["image"], ["float"], to=T.FLOAT), node("Div", ["float", "byte"], ["scaled"]),
             node("Transpose", ["scaled"], ["planes"], perm=[0, 3, 1, 2]),
             node("Conv", ["planes", "w1"], ["c1"], strides=[4, 4], pads=[1, 1, 1, 1]), node("Relu", ["c1"], ["r1"]),
             node("Conv", ["r1", "w2"], ["c2"], strides=[4, 4], pads=[1, 1, 1, 1]), node("Relu", ["c2"], ["r2"]),
             node("Flatten", ["r2"], ["row"])]
    for name in ("scores", "boxes", "classes"):
        nodes += [node("MatMul", ["row", f"w_{name}"], [f"{name}_sums"]),
                  node("Sigmoid", [f"{name}_sums"], [f"{name}_flat"])]
    nodes += [node("Reshape", ["boxes_flat", "box_shape"], ["boxes_pairs"]),
              node("Mul", ["boxes_pairs", "half"], ["boxes_half"]),
              node("Split", ["boxes_half"], ["corner", "size"], axis=2), node("Add", ["corner", "size"], ["end"]),
              node("Concat", ["corner", "end"], ["all_boxes"], axis=2),
              node("Mul", ["classes_flat", "class_count"], ["classes_wide"]),
              node("Floor", ["classes_wide"], ["all_classes"]),
              node("ReduceSum", ["scores_flat"], ["total"], keepdims=0), node("Reshape", ["total", "one"], ["sum"]),
              node("Floor", ["sum"], ["count"]), node("Cast", ["count"], ["kept"], to=T.INT64)]
    for name, source in (("scores", "scores_flat"), ("boxes", "all_boxes"), ("classes", "all_classes")):
        nodes.append(node("Slice", [source, "zero", "kept", "one"], [name]))
    initializers = [constant("byte", np.float32(255)), constant("half", np.float32(0.5)),
                    constant("class_count", np.float32(CLASSES)), constant("box_shape", [1, BOXES, 4]),
                    constant("one", [1]), constant("zero", [0]), weights("w1", 8, 3, 3, 3, scale=0.3),
                    weights("w2", 16, 8, 3, 3, scale=0.2), weights("w_scores", features, BOXES, scale=0.2),
                    weights("w_boxes", features, BOXES * 4, scale=0.2),
                    weights("w_classes", features, BOXES, scale=0.2)]
    group = "ssd-mobilenet-v1-variant-1-out"
    save("detector", group, nodes,
         {"image": ("image", T.UINT8, [1, SIDE, SIDE, 3], "0.0,255.0;0.0,255.0;0.0,255.0")},
         {"boxes": (f"{group}-boxes", T.FLOAT, ["batch", "kept", 4], None),
          "classes": (f"{group}-classes", T.FLOAT, ["batch", "kept"], None),
          "scores": (f"{group}-scores", T.FLOAT, ["batch", "kept"], None),
          "count": ("generic-variant-1-out-count", T.FLOAT, ["batch"], None)}, initializers)


def classifier():
    node = h.make_node
    nodes = [node("Conv", ["image", "w1"], ["c1"], strides=[4, 4], pads=[1, 1, 1, 1]), node("Relu", ["c1"], ["r1"]),
             node("Conv", ["r1", "w2"], ["c2"], strides=[2, 2]), node("Relu", ["c2"], ["r2"]),
             node("GlobalAveragePool", ["r2"], ["mean"]), node("Flatten", ["mean"], ["row"]),
             node("Gemm", ["row", "w3"], ["logits"]), node("Softmax", ["logits"], ["sure"])]
    group = "classification-generic-softmaxed-out"
    save("classifier", group, nodes, {"image": ("image", T.FLOAT, [1, 3, SIDE, SIDE], "0.0,1.0;0.0,1.0;0.0,1.0")},
         {"sure": (group, T.FLOAT, [1, CLASSES], None)},
         [weights("w1", 8, 3, 3, 3, scale=0.4), weights("w2", 16, 8, 3, 3, scale=0.3),
          weights("w3", 16, CLASSES, scale=1)])
    (FOLDER / "labels.txt").write_text("".join(f"label{number}\n" for number in range(CLASSES)))


if __name__ == "__main__":
    detector()
    classifier()
