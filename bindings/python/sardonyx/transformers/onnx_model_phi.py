"""PhiOnnxModel: decoders of the Phi family."""
from sardonyx.transformers.onnx_model_bert import BertOnnxModel


class PhiOnnxModel(BertOnnxModel):
    model_type = "phi"
    reads_op_type = True
    counted = ("Attention", "MultiHeadAttention", "GroupQueryAttention", "PagedAttention", "Gelu", "BiasGelu",
               "FastGelu", "LayerNormalization", "SkipLayerNormalization")

    def is_fully_optimized(self, fused_op_count=None):
        """Whether each layer has an attention, a GELU and a normalization."""
        counts = self.get_fused_operator_statistics() if fused_op_count is None else fused_op_count
        layers = sum(counts.get(one) or 0 for one in self.counted[:4])
        gelus = sum(counts.get(one) or 0 for one in self.counted[4:7])
        return layers > 0 and layers == gelus and sum(counts.get(one) or 0 for one in self.counted[7:]) >= layers
