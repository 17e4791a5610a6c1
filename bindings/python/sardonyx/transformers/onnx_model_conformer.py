"""ConformerOnnxModel: conformers, which recognize speech."""
from sardonyx.transformers.onnx_model_bert import BertOnnxModel


class ConformerOnnxModel(BertOnnxModel):
    model_type = "conformer"
    splits_biases = True
