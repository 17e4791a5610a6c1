"""BertOnnxModelTF: BERT exported from TensorFlow."""
from sardonyx.transformers.onnx_model_bert import BertOnnxModel


class BertOnnxModelTF(BertOnnxModel):
    model_type = "bert_tf"
