"""Prints what NVIDIA's modelopt makes of a model, and what that computes. Arguments: a folder to write in."""
import collections
import pathlib
import sys

import numpy as np
import onnx
import onnx.numpy_helper
import onnx.parser
import onnxruntime
from modelopt.onnx.quantization import quantize

FOLDER = pathlib.Path(sys.argv[1])
FORMS = {"by max": {}, "by entropy": {"calibration_method": "entropy"}, "only Conv": {"op_types_to_quantize": ["Conv"]},
         "but Gemm": {"op_types_to_exclude": ["Gemm"]}}
random = np.random.default_rng(4)
PICTURES = """<ir_version: 8, opset_import: ["" : 17]>
pictures (float[2, 3, 32, 32] x) => (float[2, 10] y) {
    a = Conv <pads: ints = [1, 1, 1, 1]> (x, w0)
    n = BatchNormalization (a, w1, w2, w3, w4)
    r = Relu (n)
    c = Conv <pads: ints = [1, 1, 1, 1]> (r, w5, w6)
    d = Add (c, r)
    e = Relu (d)
    p = MaxPool <kernel_shape: ints = [8, 8], strides: ints = [8, 8]> (e)
    f = Flatten (p)
    g = Gemm <transB: int = 1> (f, w7, w8)
    y = Softmax <axis: int = -1> (g)
}"""
SHAPES = ((16, 3, 3, 3), (16,), (16,), (16,), (16,), (16, 16, 3, 3), (16,), (10, 256), (10,))
DATA = random.normal(size=(8, 3, 32, 32)).astype(np.float32)


def make():
    model = onnx.parser.parse_model(PICTURES)
    for number, shape in enumerate(SHAPES):
        values = random.uniform(0.5, 1, shape) if len(shape) == 1 else random.normal(size=shape) / 8
        model.graph.initializer.append(onnx.numpy_helper.from_array(values.astype(np.float32), f"w{number}"))
    for number, node in enumerate(model.graph.node):
        node.name = f"{node.op_type}_{number}"
    onnx.save(model, str(FOLDER / "model.onnx"))


make()
for name, options in FORMS.items():
    path = FOLDER / f"{name}.onnx"
    quantize(str(FOLDER / "model.onnx"), quantize_mode="int8", calibration_data={"x": DATA},
             **{"calibration_method": "max"} | options, calibration_eps=["cpu"], output_path=str(path),
             log_level="ERROR")
    nodes = collections.Counter(node.op_type for node in onnx.load(path).graph.node)
    print(f"result {name}, nodes:", *(f"{op} {nodes[op]}" for op in sorted(nodes)))
    (output,) = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, {"x": DATA[:2]})
    print(f"result {name}, output:", output.std(), *output.ravel(), flush=True)
