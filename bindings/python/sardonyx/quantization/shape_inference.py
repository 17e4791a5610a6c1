"""Prepares models for quantization: operators are fused and folded, and types and shapes are filled in."""
import os
import tempfile
from pathlib import Path

from sardonyx.model import Model
from sardonyx.opset_conversion import convert_opset

# ONNX Runtime's module of this name has these, too, so programs may import them from here.
from sardonyx.quantization.fusions import ReplaceUpsampleWithResize  # noqa: F401
from sardonyx.quantization.matmul_add_to_gemm import replace_matmul_and_add
from sardonyx.quantization.onnx_model import ONNXModel  # noqa: F401
from sardonyx.quantization.quant_utils import (  # noqa: F401
    add_pre_process_metadata,
    optimize_model,
    save_and_reload_model_with_shape_infer,
)
from sardonyx.symbolic_shape_infer import SymbolicShapeInference

_OLDEST = 11  # the opset that quantization needs


def quant_pre_process(input_model=None, output_model_path: str | Path | None = None, skip_optimization: bool = False,
                      skip_onnx_shape: bool = False, skip_symbolic_shape: bool = False, auto_merge: bool = False,
                      int_max: int = 2**31 - 1, guess_output_rank: bool = False, verbose: int = 0,
                      save_as_external_data: bool = False, all_tensors_to_one_file: bool = False,
                      external_data_location: str | None = None, external_data_size_threshold: int = 1024,
                      **deprecated_kwargs) -> None:
    """Writes a model (a path or an onnx.ModelProto) as quantize_static and quantize_dynamic want it.

    Models older than opset 11 are converted. `skip_optimization`: nothing is fused or folded. `skip_symbolic_shape`:
    the model may have values whose shape does not follow; otherwise these are errors, which `guess_output_rank` avoids
    for operators that are not known. `skip_onnx_shape` (with skip_symbolic_shape): no types are filled in.
    `save_as_external_data`: weights of at least `external_data_size_threshold` bytes lie in one file beside the model,
    `external_data_location` or the model's name and `.data`. `auto_merge`, `int_max`, `all_tensors_to_one_file` have no
    effect: see SymbolicShapeInference."""
    if input_model is None:
        input_model = deprecated_kwargs.pop("input_model_path", None)
    if input_model is None or output_model_path is None:
        raise ValueError("expected an input_model and an output_model_path")
    if deprecated_kwargs:
        raise TypeError(f"quant_pre_process has no argument '{next(iter(deprecated_kwargs))}'")
    model = _of_opset(Model(input_model))
    if not skip_symbolic_shape:
        model.infer_types()
        SymbolicShapeInference(int_max, auto_merge, guess_output_rank, verbose).complete(model)
    if not skip_optimization:
        model = _optimized(model)
        model.infer_types()
        replace_matmul_and_add(model)
    if not (skip_onnx_shape and skip_symbolic_shape):
        model.infer_types()
    model.set_metadata("onnx.quant.pre_process", "onnxruntime.quant")
    path = Path(output_model_path)
    model.save(os.fspath(path), (external_data_location or f"{path.name}.data") if save_as_external_data else None,
               external_data_size_threshold)


def _of_opset(model):
    version = model.opsets.get("", model.opsets.get("ai.onnx", _OLDEST))
    if version >= _OLDEST:
        return model
    return Model(convert_opset(model.to_proto(), _OLDEST))


def _optimized(model):
    with tempfile.TemporaryDirectory(prefix="sardonyx.quantize.") as folder:
        before, after = Path(folder) / "before.onnx", Path(folder) / "after.onnx"
        model.save(os.fspath(before), "before.onnx.data")
        optimize_model(before, after)
        return Model(os.fspath(after))
