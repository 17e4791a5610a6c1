"""Prints what insightface finds in drawn pictures with random models, whose sessions are of a class of its own.

usage: faces_program.py FOLDER    (where the models are written)"""
import pathlib
import pickle
import sys

import cv2
import numpy as np
import onnx
import onnx.numpy_helper
import onnx.parser
from insightface.app.common import Face
from insightface.model_zoo import get_model

RANDOM = np.random.default_rng(8)


def say(name, *values):
    print(f"result {name}:", *(np.round(part, 3) for value in values for part in
                               np.ravel(np.asarray(value, np.float64))), flush=True)


def save(path, text, **shapes):
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 11]> {text}')
    for name, shape in shapes.items():
        array = RANDOM.normal(size=shape) * 1.4 / np.sqrt(np.prod(shape[1:]))
        model.graph.initializer.append(onnx.numpy_helper.from_array(array.astype(np.float32), name))
    onnx.save(model, str(path))


def detector(path):
    """Like SCRFD: scores, boxes and five points of two anchors at three strides."""
    nodes, outputs, shapes, before = "", {"s": [], "b": [], "k": []}, {}, "x"
    for stride, step, channels in ((8, 8, 3), (16, 2, 16), (32, 2, 16)):
        nodes += f""" c{stride} = Conv <strides: ints = [{step}, {step}], pads: ints = [1, 1, 1, 1]>
            ({before}, w{stride}) r{stride} = Relu (c{stride})"""
        shapes[f"w{stride}"] = (16, channels, step + 2, step + 2)
        for kind, width in (("s", 1), ("b", 4), ("k", 10)):
            name = f"{kind}{stride}"
            nodes += f""" h{name} = Conv (r{stride}, v{name}) t{name} = Transpose <perm: ints = [2, 3, 0, 1]> (h{name})
                p{name} = Constant <value: tensor = int64[2] {{-1, {width}}}> () f{name} = Reshape (t{name}, p{name})
                {name} = {"Sigmoid" if kind == "s" else "Abs"} (f{name})"""
            shapes[f"v{name}"] = (2 * width, 16, 1, 1)
            outputs[kind].append(f"float[n{name}, {width}] {name}")
        before = f"r{stride}"
    save(path, f"scrfd (float[1, 3, height, width] x) => ({', '.join(sum(outputs.values(), []))}) {{ {nodes} }}",
         **shapes)


def network(path, size, width, ends="y = Identity (g)"):
    save(path, f"""network (float[batch, 3, {size}, {size}] x) => (float[batch, {width}] y) {{
        c = Conv <strides: ints = [4, 4]> (x, w1) b = BatchNormalization (c, one, zero, zero, ones)
        p = PRelu (b, slope) d = Conv <strides: ints = [4, 4]> (p, w2) f = Flatten (d) g = MatMul (f, m) {ends} }}""",
         w1=(16, 3, 7, 7), one=(16,), zero=(16,), slope=(16, 1, 1), w2=(8, 16, 4, 4),
         m=(8 * (((size - 7) // 4 + 1 - 4) // 4 + 1) ** 2, width))
    model = onnx.load(path)
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(16, np.float32), "ones"))
    onnx.save(model, str(path))


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    detector(folder / "detector.onnx")
    for name, size, width in (("arcface", 112, 64), ("landmark", 192, 212), ("attribute", 96, 3)):
        network(folder / f"{name}.onnx", size, width)
    picture = np.full((240, 320, 3), 200, np.uint8)
    cv2.circle(picture, (160, 120), 70, (90, 120, 200), -1)
    cv2.circle(picture, (135, 100), 9, (20, 20, 20), -1)
    cv2.circle(picture, (185, 100), 9, (20, 20, 20), -1)
    picture = (picture + RANDOM.integers(-18, 19, picture.shape)).astype(np.uint8)  # no two places score the same
    found = get_model(str(folder / "detector.onnx"), providers=["CPUExecutionProvider"])
    for size in ((320, 320), (160, 160), (256, 128)):
        found.prepare(ctx_id=-1, input_size=size, det_thresh=0.5)
        boxes, points = found.detect(picture, max_num=4)
        say(f"insightface, {len(boxes)} boxes of {size}", boxes, points)
    face = Face(bbox=np.array([90.0, 50.0, 230.0, 190.0]),
                kps=np.array([[135, 100], [185, 100], [160, 125], [140, 155], [180, 155]], np.float32), det_score=0.9)
    for name, key in (("arcface", "embedding"), ("landmark", None), ("attribute", "age")):
        model = get_model(str(folder / f"{name}.onnx"), providers=[("CPUExecutionProvider", {})])
        for turn in ("made", "pickled"):
            model.prepare(ctx_id=-1)
            answer = model.get(picture, face)
            say(f"insightface, {name} {turn}", answer if key is None else face[key])
            say(f"insightface, session of {name} {turn}", len(model.session.get_inputs()),
                model.session.get_providers() == ["CPUExecutionProvider"], len(model.session.get_provider_options()))
            model.session = pickle.loads(pickle.dumps(model.session))
        if name == "arcface":
            batch = [cv2.resize(picture[row:row + 120, :160], (112, 112)) for row in (0, 60, 120)]
            features = model.get_feat(batch)
            say("insightface, features", features)
            say("insightface, alike", model.compute_sim(features[0], features[1]))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
