"""Tools for models, by the names of onnxruntime.tools: shapes made fixed, opsets raised, models optimized, converted to
ORT format and checked; most are commands, too (python -m onnxruntime.tools.NAME)."""
import importlib.util

from sardonyx.tools.pytorch_export_helpers import infer_input_info  # noqa: F401

have_torch = importlib.util.find_spec("torch")
