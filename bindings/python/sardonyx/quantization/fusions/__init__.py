"""Fusions of nodes in an ONNXModel, for preparing models for quantization."""
from sardonyx.quantization.fusions.fusion import Fusion  # noqa: F401
from sardonyx.quantization.fusions.fusion_gelu import FusionGelu  # noqa: F401
from sardonyx.quantization.fusions.fusion_layernorm import FusionLayerNormalization  # noqa: F401
from sardonyx.quantization.fusions.replace_upsample_with_resize import ReplaceUpsampleWithResize  # noqa: F401
