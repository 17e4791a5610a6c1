"""BertOnnxModelKeras: BERT exported from Keras."""
from sardonyx.transformers.onnx_model_bert import BertOnnxModel


class BertOnnxModelKeras(BertOnnxModel):
    model_type = "bert_keras"
