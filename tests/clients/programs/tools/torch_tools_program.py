"""Prints what tools around torch compute through the package onnxruntime: torch.onnx, onnx-diagnostic, hummingbird-ml,
txtai and sentence-transformers, on small random models that they export themselves.

usage: torch_tools_program.py SMALL FOLDER    (of transformers_small.py; where exports are written)"""
import json
import logging
import pathlib
import shutil
import sys

import numpy as np
import onnx
import torch

logging.disable(logging.WARNING)
TEXTS = ["the cat sat on the mat.", "who is my dog?", "the new york dog ran"]


def say(name, *values):
    print(f"result {name}:", *(np.round(part, 4) for value in values for part in
                               np.ravel(np.asarray(value, np.float64))), flush=True)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(20, 16)
        self.layer = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
        self.conv = torch.nn.Conv1d(16, 8, 3, padding=1)

    def forward(self, words, mask):
        x = self.layer(self.table(words)) * mask.unsqueeze(-1).to(torch.float32)
        y = self.conv(x.transpose(1, 2))
        return torch.softmax(y, 1), y.amax(2), (y > 0).any(2)


def torch_onnx(folder):
    torch.manual_seed(3)
    torch.backends.mha.set_fastpath_enabled(False)  # verify exports with gradients off, where torch fuses the layer
    net = Net().eval()
    feeds = (torch.arange(14).reshape(2, 7), torch.arange(14).reshape(2, 7) % 3 > 0)
    program = torch.onnx.export(net, feeds, dynamo=True, verify=True, report=False, verbose=False)
    for number, value in enumerate(program(*feeds)):
        say(f"torch.onnx, output {number}", value.to(torch.float32))
    program.save(str(folder / "dynamo.onnx"), external_data=True)
    for opset in (14, 16, 18, 20):
        torch.onnx.export(net, feeds, str(folder / f"script{opset}.onnx"), opset_version=opset, dynamo=False,
                          input_names=["words", "mask"], output_names=["a", "b", "c"],
                          dynamic_axes={"words": {0: "batch", 1: "length"}, "mask": {0: "batch", 1: "length"}})
    from torch.onnx import verification
    for optimized in (False, True):
        verification.verify(net, feeds, opset_version=17, do_constant_folding=optimized,
                            options=verification.VerificationOptions(backend=verification.OnnxBackend.
                                                                     ONNX_RUNTIME_CPU, rtol=1e-3, atol=1e-4))
        say(f"torch.onnx, verified with folding {optimized}", 1)
    return net, feeds


def diagnose(folder, feeds):
    from onnx_diagnostic.helpers.ort_session import InferenceSessionForNumpy, InferenceSessionForTorch
    from onnx_diagnostic.reference import OnnxruntimeEvaluator

    path = str(folder / "script18.onnx")
    named = dict(zip(("words", "mask"), feeds, strict=True))
    arrays = {name: value.numpy() for name, value in named.items()}
    for training in (False, True):
        session = InferenceSessionForTorch(path, use_training_api=training, log_severity_level=3)
        given = dict(named, mask=named["mask"]) if not training else named
        for number, value in enumerate(session.run(None, given)):
            say(f"onnx-diagnostic, torch {training} output {number}", value.to(torch.float32))
        say(f"onnx-diagnostic, torch {training} one output", session.run(["b"], given)[0])
    session = InferenceSessionForNumpy(path, graph_optimization_level=False)
    for number, value in enumerate(session.run_dlpack(None, arrays)):
        say(f"onnx-diagnostic, numpy output {number}", value)
    for opset in (14, 18):
        evaluator = OnnxruntimeEvaluator(onnx.load(folder / f"script{opset}.onnx"), ir_version=9)
        for number, value in enumerate(evaluator.run(None, arrays)):
            say(f"onnx-diagnostic, node by node of opset {opset} output {number}", value)
        whole = OnnxruntimeEvaluator(onnx.load(folder / f"script{opset}.onnx"), whole=True)
        say(f"onnx-diagnostic, whole of opset {opset}", whole.run(None, arrays)[1])
    half = onnx.parser.parse_model("""<ir_version: 9, opset_import: ["" : 18]>
        half (bfloat16[rows, 2] x, float16[rows, 2] h) => (bfloat16[rows, 2] y, float16[rows, 2] z) {
        y = Identity (x) z = Add (h, h) }""")
    values = torch.arange(6).reshape(3, 2) / 4
    session = InferenceSessionForTorch(half)
    for number, value in enumerate(session.run(None, {"x": values.to(torch.bfloat16), "h": values.to(torch.float16)})):
        say(f"onnx-diagnostic, {value.dtype} output {number}", value.to(torch.float32))
    from onnx_diagnostic.torch_onnx.sbs import run_aligned
    exported = torch.export.export(Net().eval(), feeds)
    say("onnx-diagnostic, aligned", callable(run_aligned), len(list(exported.graph.nodes)) > 10)


def trees():
    import hummingbird.ml
    from sklearn.ensemble import GradientBoostingClassifier, IsolationForest, RandomForestRegressor
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    random = np.random.default_rng(4)
    rows = random.normal(size=(120, 6)).astype(np.float32)
    kinds, numbers = (rows[:, 0] + rows[:, 1] ** 2 > 0.5).astype(int), rows @ np.arange(6)
    for model, target in ((GradientBoostingClassifier(n_estimators=6, random_state=1), kinds),
                          (RandomForestRegressor(n_estimators=6, random_state=1), numbers),
                          (make_pipeline(StandardScaler(), LogisticRegression()), kinds),
                          (IsolationForest(n_estimators=8, random_state=1), None)):
        name = type(model).__name__
        for strategy in ("gemm", "tree_trav", "perf_tree_trav"):
            if "Pipeline" in name and strategy != "gemm":
                continue
            served = hummingbird.ml.convert(model.fit(rows, target), "onnx", rows,
                                            extra_config={"tree_implementation": strategy, "onnx_target_opset": 13})
            say(f"hummingbird-ml, {name} by {strategy}", served.predict(rows)[:12])
            if hasattr(model, "predict_proba"):
                say(f"hummingbird-ml, probabilities of {name} by {strategy}", served.predict_proba(rows)[:5])
            if hasattr(model, "decision_function") and "Forest" in name:
                say(f"hummingbird-ml, decisions of {name} by {strategy}", served.decision_function(rows)[:5])


def texts(small, folder):
    from sentence_transformers import CrossEncoder, SentenceTransformer
    from transformers import BertConfig, BertForSequenceClassification, BertModel, PreTrainedTokenizerFast
    from txtai.embeddings import Embeddings
    from txtai.pipeline import HFOnnx, Labels

    torch.manual_seed(5)
    config = BertConfig(**json.loads((small / "feature-extraction/config.json").read_text()), intermediate_size=32)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(small / "feature-extraction")
    for kind, name in ((BertModel, "bert"), (BertForSequenceClassification, "classes")):
        kind(config).eval().save_pretrained(folder / name)
        tokenizer.save_pretrained(folder / name)
    for quantize in (False, True):
        HFOnnx()(str(folder / "bert"), "pooling", str(folder / f"pooled{quantize}.onnx"), quantize)
        index = Embeddings(path=str(folder / f"pooled{quantize}.onnx"), tokenizer=str(folder / "bert"), backend="numpy")
        for number, text in enumerate(TEXTS):
            say(f"txtai, vector of text {number}, quantized {quantize}", index.transform(text))
        index.index(TEXTS)
        say(f"txtai, search, quantized {quantize}", index.search("dog", 3))
        classes = HFOnnx()(str(folder / "classes"), "text-classification", quantize=quantize)
        labels = Labels((classes, str(folder / "classes")), dynamic=False)
        say(f"txtai, labels, quantized {quantize}", [sorted(row) for row in labels(TEXTS)])

    place = folder / "sentences"
    shutil.copytree(small / "feature-extraction", place)
    (place / "modules.json").write_text(json.dumps([
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]))
    (place / "1_Pooling").mkdir()
    (place / "1_Pooling/config.json").write_text(json.dumps({"word_embedding_dimension": 16,
                                                             "pooling_mode_mean_tokens": True}))
    for options in ({}, {"provider": "CPUExecutionProvider"}, {"file_name": "onnx/model.onnx", "export": False}):
        model = SentenceTransformer(str(place), backend="onnx", model_kwargs=options)
        for number, vector in enumerate(model.encode(TEXTS, normalize_embeddings=True)):
            say(f"sentence-transformers, text {number} with {len(options)} options", vector)
    exported = SentenceTransformer(str(folder / "bert"), backend="onnx", model_kwargs={"export": True})
    say("sentence-transformers, exported", exported.encode(TEXTS))
    say("sentence-transformers, similar", exported.similarity(*[exported.encode(TEXTS)] * 2))
    ranks = CrossEncoder(str(folder / "classes"), backend="onnx", model_kwargs={"export": True}, num_labels=3)
    say("sentence-transformers, pairs", ranks.predict([(TEXTS[0], text) for text in TEXTS]))


if __name__ == "__main__":
    small_models, written = map(pathlib.Path, sys.argv[1:])
    shutil.rmtree(written, ignore_errors=True)
    written.mkdir(parents=True)
    _, examples = torch_onnx(written)
    diagnose(written, examples)
    trees()
    texts(small_models, written)
