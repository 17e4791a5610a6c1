"""Prints what ultralytics, onnxtr, unstructured-inference and gliner make of random models and drawn pictures.

usage: page_program.py MODELS    (of page_models.py)"""
import logging
import pathlib
import sys

import cv2
import numpy as np

MODELS = pathlib.Path(sys.argv[1])


def say(name, *values):
    print(f"result {name}:", *(np.round(part, 3) for value in values for part in
                               np.ravel(np.asarray(value, np.float64))), flush=True)


def pictures():
    for number, text in enumerate(("Sardonyx 1831", "total 42.50", "page two")):
        picture = np.full((200 + 40 * number, 320, 3), 235, np.uint8)
        cv2.putText(picture, text, (20, 60), cv2.FONT_HERSHEY_SIMPLEX, 1, (10, 20, 30), 2)
        cv2.putText(picture, text[::-1], (30, 120), cv2.FONT_HERSHEY_PLAIN, 2, (90, 20, 30), 2)
        cv2.rectangle(picture, (200, 100 + 9 * number), (280, 180), (200, 40 * number, 90), -1)
        yield number, picture


def detect():
    from ultralytics import YOLO

    for name, task in (("yolo11n", "detect"), ("yolo11n-seg", "segment"), ("yolo11n-pose", "pose"),
                       ("yolo11n-cls", "classify"), ("yolo11n-obb", "obb"), ("yolov8n", "detect"),
                       ("yolov10n", "detect")):
        model = YOLO(str(MODELS / f"{name}.onnx"), task=task)
        for number, picture in pictures():
            (found,) = model.predict(picture, imgsz=160, verbose=False, conf=0.0005, max_det=5, device="cpu")
            if task == "classify":
                say(f"ultralytics, {name} of picture {number}", found.probs.top5, found.probs.data[found.probs.top5])
                continue
            boxes = found.obb if task == "obb" else found.boxes
            say(f"ultralytics, {name} of picture {number}", len(boxes), boxes.conf.sort(descending=True).values)
            if task == "segment":
                say(f"ultralytics, masks of {name} of picture {number}", len(found.masks or ()))
            if task == "pose":
                say(f"ultralytics, points of {name} of picture {number}", found.keypoints.data.shape)


def read():
    import onnxtr.models as models

    shapes = {"db_mobilenet_v3_large": (512, 512), "fast_tiny": (512, 512), "linknet_resnet18": (512, 512),
              "crnn_mobilenet_v3_small": (32, 128), "vitstr_small": (32, 128), "parseq": (32, 128),
              "viptr_tiny": (32, 128)}
    for name, (height, width) in shapes.items():
        model = getattr(models, name)(str(MODELS / f"{name}.onnx"))
        batch = np.stack([cv2.resize(picture, (width, height)).transpose(2, 0, 1) for _, picture in pictures()])
        answer = model(((batch / 255 - 0.7) / 0.3).astype(np.float32), return_model_output=True)
        values = np.asarray(answer["out_map"], np.float64)
        say(f"onnxtr, {name}", values.shape, values.mean(), values.std(), values.reshape(-1)[:: values.size // 20])
    words = models.crop_orientation_predictor(
        models.mobilenet_v3_small_crop_orientation(str(MODELS / "crop_orientation.onnx")))
    say("onnxtr, directions", *[part for part in words([picture for _, picture in pictures()])[2]])
    reader = models.recognition_predictor(models.crnn_mobilenet_v3_small(str(MODELS / "crnn_mobilenet_v3_small.onnx")))
    for (number, _), (word, sure) in zip(pictures(), reader([picture[:90] for _, picture in pictures()]), strict=True):
        print(f"result onnxtr, word of picture {number}:", ascii(word), round(float(sure), 3))


def layout():
    import onnx
    import onnx.numpy_helper
    from PIL import Image
    from unstructured_inference.models.yolox import UnstructuredYoloXModel

    heads, nodes = "", ""
    for stride in (8, 16, 32):
        nodes += f"""c{stride} = Conv <strides: ints = [{stride}, {stride}]> (images, w{stride}, b{stride})
            s{stride} = Reshape (c{stride}, flat) t{stride} = Transpose <perm: ints = [0, 2, 1]> (s{stride}) """
        heads += f"t{stride}, "
    model = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["" : 17]>
        yolox (float[1, 3, 1024, 768] images) => (float[1, cells, 16] output) {{
        flat = Constant <value_ints: ints = [0, 0, -1]> () {nodes} all = Concat <axis: int = 1> ({heads[:-2]})
        parts = Constant <value_ints: ints = [4, 12]> () box, odds = Split <axis: int = 2> (all, parts)
        odd = Sigmoid (odds) output = Concat <axis: int = 2> (box, odd) }}""")
    random = np.random.default_rng(2)
    for stride in (8, 16, 32):
        for name, values in ((f"w{stride}", random.normal(size=(16, 3, stride, stride)) / (stride * 120)),
                             (f"b{stride}", random.normal(size=16))):
            model.graph.initializer.append(onnx.numpy_helper.from_array(values.astype(np.float32), name))
    onnx.save(model, "yolox.onnx")
    detector = UnstructuredYoloXModel()
    detector.initialize("yolox.onnx", {number: f"kind {number}" for number in range(11)})
    for number, picture in pictures():
        found = detector.predict(Image.fromarray(picture))
        say(f"unstructured-inference, page {number}", len(found), np.sort(found.element_probs)[::-1][:8])


def entities():
    from gliner import GLiNER

    texts = ["the cat sat on the mat in new york .", "who is my dog ?", "my name is new york"]
    # Its quantized model is left out: ONNX Runtime's own LSTM in int8 is wrong by a half on processors without VNNI.
    model = GLiNER.from_pretrained(str(MODELS / "gliner"), load_onnx_model=True, load_tokenizer=True,
                                   local_files_only=True)
    for number, text in enumerate(texts):
        found = model.predict_entities(text, ["dog", "cat", "name"], threshold=0.3)
        say(f"gliner, text {number}", [(one["start"], one["end"], one["score"]) for one in found])


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    detect()
    read()
    layout()
    entities()
