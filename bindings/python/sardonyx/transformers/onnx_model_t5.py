"""T5OnnxModel: encoders and decoders of T5, whose attention adds a bias of relative positions."""
from sardonyx.transformers.onnx_model_bert import BertOnnxModel


class T5OnnxModel(BertOnnxModel):
    model_type = "t5"
