"""sardonyx.tools by its other name."""
from onnxruntime._same_modules import SameModules

SameModules(__name__, "sardonyx.tools", {"symbolic_shape_infer": "sardonyx.symbolic_shape_infer"},
            lacking={"qnn": ", as it makes models for one vendor's compiler"})
