"""sardonyx.quantization by its other name."""
from onnxruntime._same_modules import SameModules

# Modules of rules: ours are divided otherwise, and the registry has them all.
_RULES = "sardonyx.quantization.operators.rules"
SameModules(__name__, "sardonyx.quantization", {f"operators.{name}": _RULES for name in (
    "activation argmax attention binary_op concat conv direct_q8 embed_layernorm gather gavgpool gemm lstm matmul "
    "maxpool norm pad pooling resize softmax split where").split()})
