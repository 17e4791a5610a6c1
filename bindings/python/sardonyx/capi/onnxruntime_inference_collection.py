"""As onnxruntime.capi.onnxruntime_inference_collection."""
from sardonyx.inference import *  # noqa: F403
