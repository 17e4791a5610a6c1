"""Makes a small random BERT and a model of sentences with it, and exports both.

usage: optimizer_models.py FOLDER"""
import pathlib
import string
import sys

import torch
import transformers as t
from optimum.exporters.onnx import main_export
from sentence_transformers import SentenceTransformer, models

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat", "on", "mat", "dog", ".", "?", "who", "is",
         "my", *string.ascii_lowercase]


def main():
    place = pathlib.Path(sys.argv[1])
    (place / "bert").mkdir(parents=True, exist_ok=True)
    (place / "words.txt").write_text("\n".join(WORDS))
    torch.manual_seed(0)
    config = t.BertConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
                          vocab_size=len(WORDS), max_position_embeddings=64)
    t.BertModel(config).eval().save_pretrained(place / "torch")
    t.BertTokenizerFast(str(place / "words.txt"), model_max_length=64).save_pretrained(place / "torch")
    main_export(str(place / "torch"), place / "bert", task="feature-extraction")
    words = models.Transformer(str(place / "torch"))
    SentenceTransformer(modules=[words, models.Pooling(32)]).save(str(place / "sentences"))
    (place / "sentences/onnx").mkdir(exist_ok=True)
    (place / "sentences/onnx/model.onnx").write_bytes((place / "bert/model.onnx").read_bytes())


if __name__ == "__main__":
    main()
