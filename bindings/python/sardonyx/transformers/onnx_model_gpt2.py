"""Gpt2OnnxModel: decoders like GPT-2."""
from sardonyx.transformers.onnx_model_bert import BertOnnxModel


class Gpt2OnnxModel(BertOnnxModel):
    model_type = "gpt2"
