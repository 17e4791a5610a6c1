"""Prints what tools that make, change and compare models compute with the package `onnxruntime`. Arguments: none."""
import pathlib

import cv2
import ndonnx
import numpy as np
import onnx
import onnx_graphsurgeon
import onnxruntime
import onnxscript
import onnxslim
import pyopenjtalk
import rapidocr_onnxruntime
import spox
import spox.opset.ai.onnx.v21 as ai_onnx
from onnxscript import opset18 as op
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx

MODELS = sorted((pathlib.Path(rapidocr_onnxruntime.__file__).parent / "models").glob("*.onnx"))
random = np.random.default_rng(1)


def say(name, *values):
    print(f"result {name}:", *(part for value in values for part in np.ravel(np.round(value, 4))))


def session(model):
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


@onnxscript.script(default_opset=op)
def clipped(x, y):
    product = op.MatMul(x, y)
    if op.ReduceSum(product, keepdims=0) > 0.0:  # noqa: SIM108  (an If of the model)
        result = op.Relu(product)
    else:
        result = op.Neg(product)
    return result


def run_models_with_the_tools():
    for path in MODELS:
        name = path.stem
        rows = 64 if "_det_" in name else 48  # finding text takes multiples of 32
        picture = random.normal(size=(1, 3, rows, 192)).astype(np.float32) * 0.5
        with OnnxrtRunner(SessionFromOnnx(str(path))) as runner:
            (feed,) = [{key: picture} for key in runner.get_input_metadata()]
            expected = next(iter(runner.infer(feed).values()))
        say(f"polygraphy runs {name}", expected.shape, expected.mean(), expected.ravel()[:: expected.size // 12 or 1])
        smaller = onnxslim.slim(onnx.load(path), model_check=True)
        say(f"onnxslim checks {name}", len(smaller.graph.node), session(smaller).run(None, feed)[0].mean())
        folded = onnx_graphsurgeon.export_onnx(
            onnx_graphsurgeon.import_onnx(onnx.load(path)).fold_constants().cleanup())
        say(f"graphsurgeon folds {name}", len(folded.graph.node), session(folded).run(None, feed)[0].mean())


def compute_while_writing():
    matrix = random.normal(size=(3, 4)).astype(np.float32)
    say("onnxscript: a function", clipped(matrix, matrix.T), clipped(matrix, -matrix.T))
    for name, result in {
            "Softmax": op.Softmax(matrix), "TopK": op.TopK(matrix, np.array([2]))[0], "Erf": op.Erf(matrix),
            "Gather": op.Gather(matrix, np.array([2, 0])), "Resize": op.Resize(
                matrix[None, None], None, np.array([1, 1, 2, 2], np.float32), mode="linear"),
            "Split": op.Split(matrix, num_outputs=2, axis=1)[1], "Where": op.Where(matrix > 0, matrix, -matrix),
            "LayerNormalization": op.LayerNormalization(matrix, np.ones(4, np.float32))[0]}.items():
        say(f"onnxscript: {name}", result.value)
    x = spox.argument(spox.Tensor(np.float32, ("N", 3)))
    model = spox.build({"x": x}, {"y": ai_onnx.reduce_sum(ai_onnx.mul(x, x), ai_onnx.const([1]))})
    say("spox", session(model).run(None, {"x": matrix[:, :3]})[0])
    x = ndonnx.argument(shape=("N",), dtype=ndonnx.float64)
    model = ndonnx.build({"x": x}, {"y": ndonnx.sum(ndonnx.exp(x)) * 2, "z": ndonnx.cumulative_sum(x)[::-1]})
    say("ndonnx", *session(model).run(None, {"x": matrix[0].astype(np.float64)}))


def read_aloud_and_read():
    for number, text in enumerate(["今日は何を食べますか。風がつよい", "何か変だ、何が", "何と言った？"]):
        print(f"result pyopenjtalk-plus, text {number}:", pyopenjtalk.g2p(text), pyopenjtalk.g2p(text, kana=True))
    picture = np.full((200, 700, 3), 255, np.uint8)
    for number, line in enumerate(["Sardonyx runs this", "Order 66 of 2026"]):
        cv2.putText(picture, line, (30, 70 + 70 * number), cv2.FONT_HERSHEY_SIMPLEX, 1.4, (20, 20, 20), 3)
    for number, (box, text, score) in enumerate(rapidocr_onnxruntime.RapidOCR()(picture)[0]):
        print(f"result rapidocr-onnxruntime, line {number}:", text, *np.round(np.ravel(box)), round(float(score), 3))


run_models_with_the_tools()
compute_while_writing()
read_aloud_and_read()
