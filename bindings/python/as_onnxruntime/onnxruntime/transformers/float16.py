"""The names of onnxruntime.transformers.float16."""
from sardonyx.float16 import (  # noqa: F401
    ALWAYS_FLOAT_INPUTS,
    DEFAULT_OP_BLOCK_LIST,
    InitializerTracker,
    convert_float_to_float16,
    convert_np_to_float16,
    convert_tensor_float_to_float16,
    float_to_float16_max_diff,
    make_value_info_from_tensor,
)
