"""TnlrOnnxModel: TNLR."""
from sardonyx.transformers.onnx_model_bert import BertOnnxModel


class TnlrOnnxModel(BertOnnxModel):
    model_type = "tnlr"
