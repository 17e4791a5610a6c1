"""C++ and Python: MMDeploy's runtime, linked with ONNX Runtime 1.15.1, which lies beside it."""
import json
import shutil

import numpy as np
import onnx
import onnx.numpy_helper
import onnx.parser
from client import PROGRAMS, ClientError, compare_printed, make_venv

NAME = "C++: mmdeploy-runtime"
VERSION = "1.3.1"
KIND = "library"
RUNS = "a classifier, a detector and a segmentor of random weights on pictures of many sizes, compared with stock's"
NORMAL = {"mean": [123.675, 116.28, 103.53], "std": [58.395, 57.12, 57.375], "to_rgb": True}
META = ["img_norm_cfg", "scale_factor", "ori_shape", "img_shape", "pad_shape", "ori_filename", "filename", "flip",
        "flip_direction", "valid_ratio"]
KINDS = {
    "classifier": ("cls", {"module": "mmcls", "component": "LinearClsHead", "params": {"topk": 4}}, [64, 64],
                   """(float[batch, 3, height, width] input) => (float[batch, 5] output) {
                      c = Conv <strides: ints = [4, 4]> (input, filters) r = Relu (c) g = GlobalAveragePool (r)
                      f = Flatten (g) h = MatMul (f, kinds) output = Softmax <axis: int = 1> (h) }"""),
    "detector": ("det", {"module": "mmdet", "component": "ResizeBBox", "params": {"score_thr": 0.1}},
                 [64, 96],
                 """(float[b, 3, height, width] input) => (float[b, count, 5] dets, int64[b, count] labels) {
                    c = Conv <strides: ints = [8, 8]> (input, filters) s = Sigmoid (c)
                    shape = Constant <value_ints: ints = [0, 8, -1]> () flat = Reshape (s, shape)
                    rows = Transpose <perm: ints = [0, 2, 1]> (flat) boxes = MatMul (rows, corners)
                    score = ReduceMax <axes: ints = [2], keepdims: int = 1> (rows)
                    dets = Concat <axis: int = 2> (boxes, score)
                    labels = ArgMax <axis: int = 2, keepdims: int = 0> (rows) }"""),
    "segmentor": ("mask", {"module": "mmseg", "component": "ResizeMask",
                           "params": {"num_classes": 4, "with_argmax": True}}, [64, 64],
                  """(float[batch, 3, height, width] input) => (int64[batch, 1, height, width] output) {
                     c = Conv <pads: ints = [1, 1, 1, 1]> (input, filters)
                     output = ArgMax <axis: int = 1, keepdims: int = 1> (c) }"""),
}


def make_models(folder):
    """A folder for each kind: a model, and what MMDeploy's exporter tells about it."""
    random = np.random.default_rng(9)
    shapes = {"classifier": {"filters": (16, 3, 4, 4), "kinds": (16, 5)}, "segmentor": {"filters": (4, 3, 3, 3)},
              "detector": {"filters": (8, 3, 8, 8), "corners": (8, 4)}}
    for kind, (result, last, size, graph) in KINDS.items():
        place = folder / kind
        place.mkdir(parents=True)
        made = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 13]> {kind} {graph}')
        for name, shape in shapes[kind].items():
            weight = random.normal(size=shape).astype(np.float32) * 0.2
            weight = np.abs(weight) * [3, 3, 30, 30] if name == "corners" else weight
            made.graph.initializer.append(onnx.numpy_helper.from_array(weight.astype(np.float32), name))
        onnx.save(made, str(place / "end2end.onnx"))
        transforms = [{"type": "LoadImageFromFile"}, {"type": "Resize", "keep_ratio": False, "size": size},
                      {"type": "Normalize", **NORMAL}, {"type": "ImageToTensor", "keys": ["img"]},
                      {"type": "Collect", "keys": ["img"], "meta_keys": META}]
        tasks = [{"type": "Task", "module": "Transform", "name": "Preprocess", "input": ["img"],
                  "output": ["prep_output"], "transforms": transforms},
                 {"name": kind, "type": "Task", "module": "Net", "is_batched": True, "input": ["prep_output"],
                  "output": ["infer_output"], "input_map": {"img": "input"}, "output_map": {}},
                 {"type": "Task", "name": "postprocess", "output": [result], **last, "input":
                  ["infer_output"] if kind == "classifier" else ["prep_output", "infer_output"]}]
        model = {"name": kind, "net": "end2end.onnx", "weights": "", "backend": "onnxruntime", "precision": "FP32",
                 "batch_size": 1, "dynamic_shape": True}
        texts = {"pipeline": {"pipeline": {"input": ["img"], "output": [result], "tasks": tasks}},
                 "deploy": {"version": VERSION, "task": kind.capitalize(), "models": [model], "customs": []},
                 "detail": {"version": VERSION, "codebase_config": {}, "backend_config": {"type": "onnxruntime"},
                            "onnx_config": {"input_names": ["input"]}}}
        for name, value in texts.items():
            (place / f"{name}.json").write_text(json.dumps(value))


def install(place):
    make_venv(place, f"mmdeploy-runtime=={VERSION}", "numpy<2")
    shutil.copytree(place / "venv", place / "ours", symlinks=True)
    make_models(place / "models")


def run(place, side):
    packages = place / ("venv" if side.name == "stock" else "ours") / "lib"
    if side.name == "ours":
        libraries = list(packages.glob("*/site-packages/mmdeploy_runtime/libonnxruntime.so*"))
        if len(libraries) != 1:
            raise ClientError(f"expected one library of ONNX Runtime, found {libraries}")
        libraries[0].unlink()
        shutil.copy(side.library, libraries[0])
    (found,) = packages.glob("*/site-packages")
    side.package = None
    # The copied environment has the first one's Python, so it is named by its packages.
    return compare_printed(place, side, place / "venv/bin/python", "-S", PROGRAMS / "native/mmdeploy_program.py",
                           place / "models", env={"PYTHONPATH": str(found)})
