"""Quantization for Qualcomm's QNN provider: its models need certain fusions, types and scales."""
from sardonyx.quantization.execution_providers.qnn.preprocess import qnn_preprocess_model  # noqa: F401
from sardonyx.quantization.execution_providers.qnn.quant_config import get_qnn_qdq_config  # noqa: F401
