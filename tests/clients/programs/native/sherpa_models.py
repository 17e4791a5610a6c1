"""Writes small random models with what sherpa-onnx reads of them: of speakers and of speech. usage:
sherpa_models.py FOLDER"""
import pathlib
import sys

import numpy as np
import onnx
import onnx.helper as h
import onnx.numpy_helper
from onnx import TensorProto as T

RATE = 16000


def make_models(folder, random):
    def save(name, nodes, inputs, outputs, weights, metadata):
        infos = [[h.make_tensor_value_info(*info) for info in infos] for infos in (inputs, outputs)]
        graph = h.make_graph(nodes, name, *infos, [onnx.numpy_helper.from_array(w, k) for k, w in weights.items()])
        model = h.make_model(graph, ir_version=8, opset_imports=[h.make_opsetid("", 17)])
        h.set_model_props(model, metadata)
        onnx.save(model, str(folder / f"{name}.onnx"))

    save("speaker", [h.make_node("ReduceMax", ["x"], ["m"], axes=[1], keepdims=0),
                     h.make_node("MatMul", ["m", "w"], ["e"])],
         [("x", T.FLOAT, ["N", "T", 80])], [("e", T.FLOAT, ["N", 16])],
         {"w": (random.normal(size=(80, 16)) * 0.1).astype(np.float32)},
         {"framework": "wespeaker", "language": "English", "url": "", "comment": "", "sample_rate": str(RATE),
          "output_dim": "16", "normalize_samples": "1", "feature_normalize_type": "global-mean"})
    save("ctc", [h.make_node("MatMul", ["x", "w"], ["l"]), h.make_node("Sin", ["l"], ["s"]),
                 h.make_node("LogSoftmax", ["s"], ["y"], axis=-1), h.make_node("Identity", ["n"], ["m"])],
         [("x", T.FLOAT, ["N", "T", 80]), ("n", T.INT64, ["N"])],
         [("y", T.FLOAT, ["N", "T", 12]), ("m", T.INT64, ["N"])],
         {"w": random.normal(size=(80, 12)).astype(np.float32)},
         {"model_type": "wenet_ctc", "vocab_size": "12", "subsampling_factor": "1"})
    (folder / "tokens.txt").write_text("".join(f"{t} {i}\n" for i, t in enumerate(["<blk>", *"abcdefghij", "<unk>"])))


if __name__ == "__main__":
    make_models(pathlib.Path(sys.argv[1]), np.random.default_rng(1))
