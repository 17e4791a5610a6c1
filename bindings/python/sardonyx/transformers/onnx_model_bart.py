"""BartOnnxModel: BART, Whisper and other encoders with decoders."""
from sardonyx.transformers.onnx_model_bert import BertOnnxModel


class BartOnnxModel(BertOnnxModel):
    """`model_impl` ("hf" or "openai") says who wrote the model; the passes read both spellings."""

    model_type = "bart"
    splits_biases = True

    def __init__(self, model, num_heads=0, hidden_size=0, model_impl="hf"):  # noqa: ARG002
        super().__init__(model, num_heads, hidden_size)
