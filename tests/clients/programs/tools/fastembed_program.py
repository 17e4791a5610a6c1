"""Prints vectors and ranks of texts that fastembed makes with small models. Arguments: the folder of the models."""
import pathlib
import sys

import numpy as np
from fastembed import TextEmbedding
from fastembed.common.model_description import ModelSource, PoolingType
from fastembed.rerank.cross_encoder import TextCrossEncoder

TEXTS = ["the cat sat on the mat.", "who is my dog?", "the new york dog ran", "where", "the mat is on the dog ."]


def say(name, *values):
    print(f"result {name}:", *(np.round(part, 4) for value in values for part in np.ravel(value)), flush=True)


def main(models):
    for pooling in (PoolingType.CLS, PoolingType.MEAN):
        for normalized in (False, True):
            name = f"small/{pooling.name}-{normalized}"
            TextEmbedding.add_custom_model(name, pooling=pooling, normalization=normalized, dim=16,
                                           sources=ModelSource(hf="small/none"), model_file="model.onnx")
            embedding = TextEmbedding(name, specific_model_path=str(models / "feature-extraction"), threads=1)
            for number, vector in enumerate(embedding.embed(TEXTS)):
                say(f"vector {name} of text {number}", vector)
            say(f"query {name}", next(iter(embedding.query_embed("who is the cat?"))))
            for number, vector in enumerate(embedding.embed(TEXTS, batch_size=1)):
                say(f"vector {name} of text {number} alone", vector)
    name = f"small/{PoolingType.MEAN.name}-True"
    embedding = TextEmbedding(name, specific_model_path=str(models / "feature-extraction"), lazy_load=True,
                              providers=["CPUExecutionProvider"])
    for number, vector in enumerate(embedding.embed(TEXTS * 4, batch_size=2, parallel=2)):
        say(f"vector of text {number} by two processes", vector)
    TextCrossEncoder.add_custom_model("small/rank", sources=ModelSource(hf="small/none"), model_file="model.onnx")
    encoder = TextCrossEncoder("small/rank", specific_model_path=str(models / "reranking"))
    say("ranks", list(encoder.rerank("who is my dog?", TEXTS)))
    say("ranks of pairs", list(encoder.rerank_pairs([(one, other) for one in TEXTS for other in TEXTS])))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
