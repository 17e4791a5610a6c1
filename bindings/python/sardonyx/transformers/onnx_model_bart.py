"""BartOnnxModel: BART, Whisper and other encoders with decoders."""
from sardonyx.transformers.onnx_model_bert import BertOnnxModel


class BartOnnxModel(BertOnnxModel):
    model_type = "bart"
