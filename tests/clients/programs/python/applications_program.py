"""Prints what rembg, chromadb, mlflow, pyannote-onnx and moonshine make of random models.

usage: applications_program.py MODELS SMALL    (of applications_models.py, of transformers_small.py)"""
import pathlib
import pickle
import sys
import tempfile

import numpy as np


def say(name, *values):
    print(f"result {name}:", *(np.round(part, 5) for value in values for part in np.ravel(value)), flush=True)


def pictures():
    from PIL import Image

    rows, columns = np.mgrid[0:120, 0:160]
    ball = (rows - 60) ** 2 + (columns - 80) ** 2 < 1600
    for name, picture in {"ball": np.dstack([ball * 200 + 20, rows, columns]),
                          "waves": np.dstack([127 + 99 * np.sin(rows / 9 + i) * np.cos(columns / 7) for i in range(3)]),
                          "tall": np.tile(rows.T[:, :, None], (1, 1, 3))}.items():
        yield name, Image.fromarray(picture.astype(np.uint8))


def cut(models):
    import rembg

    session = rembg.new_session("u2net_custom", model_path=str(models / "mask.onnx"))
    for name, picture in pictures():
        mask = np.asarray(rembg.remove(picture, session=session, only_mask=True), np.float32)
        say(f"rembg, mask of {name}", mask.shape, mask.mean() / 255, mask[::30, ::30] / 255)
        whole = np.asarray(rembg.remove(picture, session=session, post_process_mask=True, bgcolor=(9, 9, 9, 255)))
        say(f"rembg, {name} on grey", whole.shape, whole.mean() / 255)


def find(small):
    import chromadb
    from chromadb.utils.embedding_functions import ONNXMiniLM_L6_V2

    with tempfile.TemporaryDirectory() as folder:
        ONNXMiniLM_L6_V2.DOWNLOAD_PATH = pathlib.Path(folder)
        place = pathlib.Path(folder) / "onnx"
        place.mkdir()
        for file in ("config.json", "special_tokens_map.json", "tokenizer_config.json", "tokenizer.json", "model.onnx"):
            (place / file).symlink_to(small / "feature-extraction" / file)
        (place / "vocab.txt").write_text("")
        for providers in (None, ["CPUExecutionProvider"]):
            embed = ONNXMiniLM_L6_V2(preferred_providers=providers)
            texts = ["the cat sat on the mat.", "who is my dog?", "the new york dog ran", "where", "is my cat new?"]
            for number, vector in enumerate(embed(texts)):
                say(f"chromadb, text {number} on {providers}", vector)
        client = chromadb.EphemeralClient(chromadb.Settings(anonymized_telemetry=False))
        collection = client.create_collection("texts", embedding_function=embed)
        collection.add(ids=[str(number) for number in range(len(texts))], documents=texts)
        for question in ("a dog in new york", "cat"):
            found = collection.query(query_texts=[question], n_results=3)
            say(f"chromadb, what is near {question}", [int(number) for number in found["ids"][0]], found["distances"])


def serve(small):
    import mlflow.onnx
    import onnx
    import pandas

    with tempfile.TemporaryDirectory() as folder:
        model = onnx.load(str(small / "text-classification/onnx/model.onnx"))
        feeds = {"input_ids": np.array([[2, 5, 6, 7, 3], [2, 8, 9, 10, 3]]),
                 "attention_mask": np.ones((2, 5), np.int64), "token_type_ids": np.zeros((2, 5), np.int64)}
        mlflow.onnx.save_model(model, f"{folder}/classes", input_example=feeds, onnx_session_options={
            "graph_optimization_level": 99, "intra_op_num_threads": 1, "execution_mode": "sequential",
            "extra_session_config": {"session.use_deterministic_compute": "1"}})
        served = mlflow.pyfunc.load_model(f"{folder}/classes")
        say("mlflow, classes", served.predict(feeds)["logits"])
        linear = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
            linear (float[rows, 3] x) => (float[rows, 2] y)
            <float[3, 2] w = {1, 2, 3, 4, 5, 6}> { y = MatMul (x, w) }""")
        mlflow.onnx.save_model(linear, f"{folder}/linear")
        served = mlflow.pyfunc.load_model(f"{folder}/linear")
        rows = np.arange(12, dtype=np.float32).reshape(4, 3)
        say("mlflow, rows", served.predict(rows)["y"])
        say("mlflow, table", np.array(served.predict(pandas.DataFrame(rows, columns=list("abc"))), np.float32))
        try:
            served.predict(rows[:, :2])
        except Exception as error:
            say("mlflow, too few columns", int("nvalid" in type(error).__name__))


def sounds():
    time = np.arange(16000 * 12) / 16000
    voice = sum(np.sin(2 * np.pi * 120 * k * time + k) / k for k in range(1, 12))
    return (0.2 * voice * (np.sin(2 * np.pi * 0.31 * time) > 0)).astype(np.float32)


def listen(models):
    from pyannote_onnx import pyannote_onnx

    pyannote_onnx.model_file_download = lambda _, name: str(models / name)
    detector = pyannote_onnx.PyannoteONNX("segmentation-3.0")
    for _ in range(2):
        parts = list(detector(sounds()))
        say(f"pyannote-onnx, {len(parts)} frames", np.array(parts)[::40])
        detector.session = pickle.loads(pickle.dumps(detector.session))


def write(models):
    import moonshine_onnx

    model = moonshine_onnx.MoonshineOnnxModel(models_dir=str(models / "moonshine-tiny"), model_name="moonshine/tiny")
    for number, seconds in enumerate((1, 2, 3)):
        tokens = model.generate(sounds()[None, : seconds * 16000], max_len=24)
        say(f"moonshine, tokens of sound {number}", tokens)
        print(f"result moonshine, sound {number}:", *map(ascii, moonshine_onnx.load_tokenizer().decode_batch(tokens)))


if __name__ == "__main__":
    random_models, small_models = map(pathlib.Path, sys.argv[1:])
    cut(random_models)
    find(small_models)
    serve(small_models)
    listen(random_models)
    write(random_models)
