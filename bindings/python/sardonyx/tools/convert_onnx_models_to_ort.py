"""Converts models to ORT format, and writes which operators they need.

usage: python -m onnxruntime.tools.convert_onnx_models_to_ort [--output_dir FOLDER] [--optimization_style STYLE...]
       [--enable_type_reduction] [--custom_op_library FILE] [--save_optimized_onnx_model]
       [--allow_conversion_failures] [--target_platform arm|amd64] MODEL_OR_FOLDER"""
from __future__ import annotations

import argparse
import enum
import os
import pathlib
import tempfile

import sardonyx
from sardonyx.tools.file_utils import files_from_file_or_dir, path_match_suffix_ignore_case
from sardonyx.tools.onnx_model_utils import get_optimization_level
from sardonyx.tools.ort_format_model import create_config_from_models


class OptimizationStyle(enum.Enum):
    """Fixed: all that the level has is done before the model is written. Runtime: only what does not depend on the
    device; what else could be done is noted in the model, for sessions with
    session.enable_saved_runtime_optimizations."""

    Fixed = 0
    Runtime = 1


_RUNTIME, _MINIMAL = OptimizationStyle.Runtime, "optimization.minimal_build_optimizations"
_LEVEL_VARIABLE = "ORT_CONVERT_ONNX_MODELS_TO_ORT_OPTIMIZATION_LEVEL"


def _suffix(level, style, end):
    """What stands behind a model's name: the level, unless it is all, and the style."""
    return ("" if level == "all" else f".{level}") + (".with_runtime_opt" if style is _RUNTIME else "") + end


class _Conversion:
    """How each model is converted. `entries`: session configuration."""

    def __init__(self, source, level, entries, library, platform):
        self.source, self.level, self.entries, self.library = source, level, entries, library
        self.folder = source if source.is_dir() else source.parent
        # Blocks of channels are as wide as this machine's registers.
        blocks = level in ("all", "layout") and platform != "amd64"
        self.disabled = ["NchwcTransformer"] if blocks else None

    def models(self):
        """Files that end in .onnx, but for those that this program has written."""
        def is_model(path):
            if path_match_suffix_ignore_case(path, ".optimized.onnx"):
                print(f"{path} is left out: it was optimized before")
                return False
            return path_match_suffix_ignore_case(path, ".onnx")
        found = files_from_file_or_dir(self.source, is_model)
        if not found:
            raise ValueError(f"expected models (*.onnx) in '{self.source}', found none")
        return found

    def write(self, model, target, entries):
        options = sardonyx.SessionOptions()
        options.optimized_model_filepath = os.fspath(target)
        options.graph_optimization_level = get_optimization_level(self.level)
        if self.library:
            options.register_custom_ops_library(os.fspath(self.library))
        for key, value in {**self.entries, **entries}.items():
            options.add_session_config_entry(key, value)
        sardonyx.InferenceSession(os.fspath(model), options, providers=["CPUExecutionProvider"],
                                  disabled_optimizers=self.disabled)

    def convert(self, folder, style, save_onnx, allow_failures, entries=None):
        """The paths of what was written."""
        made, models = [], self.models()
        for model in models:
            place = folder / model.relative_to(self.folder)
            place.parent.mkdir(parents=True, exist_ok=True)
            target = place.with_suffix(_suffix(self.level, style, ".ort"))
            try:
                if save_onnx:
                    self.write(model, place.with_suffix(_suffix(self.level, style, ".optimized.onnx")),
                               {_MINIMAL: "apply"} if style is _RUNTIME else {})
                self.write(model, target, {"session.save_model_format": "ORT", **(entries or {}),
                                           **({_MINIMAL: "save"} if style is _RUNTIME else {})})
            except Exception as failure:
                print(f"{model} could not be converted: {failure}")
                if not allow_failures:
                    raise
            else:
                print(f"{model} is converted to {target}")
                made.append(target)
        print(f"{len(made)} of {len(models)} models are converted")
        return made


def convert_onnx_models_to_ort(
    model_path_or_dir: pathlib.Path,
    output_dir: pathlib.Path | None = None,
    optimization_styles: list[OptimizationStyle] | None = None,
    custom_op_library_path: pathlib.Path | None = None,
    target_platform: str | None = None,
    save_optimized_onnx_model: bool = False,
    allow_conversion_failures: bool = False,
    enable_type_reduction: bool = False,
):
    """Converts a model, or all of a folder and below, to ORT format, once for each style; the files lie beside the
    models or in `output_dir`. A configuration file lists the operators that the models need, with
    `enable_type_reduction` also the types. `save_optimized_onnx_model`: the optimized model is also written as ONNX.
    `target_platform`: None and "arm" leave out what suits amd64 only. The level is "all", unless the environment
    variable ORT_CONVERT_ONNX_MODELS_TO_ORT_OPTIMIZATION_LEVEL names another.

    Errors: FileNotFoundError, and that of a model that cannot be converted, without `allow_conversion_failures`."""
    source = model_path_or_dir.resolve()
    library = custom_op_library_path.resolve() if custom_op_library_path else None
    if not source.exists():
        raise FileNotFoundError(f"expected a model or a folder, found nothing at '{source}'")
    if library and not library.is_file():
        raise FileNotFoundError(f"expected a library of custom operators, found nothing at '{library}'")
    if output_dir is not None:
        output_dir.mkdir(parents=True, exist_ok=True)
        output_dir = output_dir.resolve(strict=True)
    level = os.getenv(_LEVEL_VARIABLE, "all")
    entries = {"session.qdqisint8allowed": "1" if target_platform == "arm" else "0"}
    conversion = _Conversion(source, level, entries, library, target_platform)
    for style in optimization_styles or []:
        print(f"models are converted with style {style.name} and level {level}")
        models = conversion.convert(output_dir or conversion.folder, style, save_optimized_onnx_model,
                                    allow_conversion_failures)
        config = _config_path(source, output_dir, level, style, enable_type_reduction)
        if style is not _RUNTIME:
            create_config_from_models(models, config, enable_type_reduction)
            continue
        print("what is noted in them is done only in sessions with session.enable_saved_runtime_optimizations, which "
              "is for models that you trust")
        # What is noted may be done or not: both forms tell the operators that are needed.
        with tempfile.TemporaryDirectory(dir=conversion.folder, suffix=".without_runtime_opt") as folder:
            models += conversion.convert(pathlib.Path(folder), OptimizationStyle.Fixed, False,
                                         allow_conversion_failures, {_MINIMAL: "apply"})
            create_config_from_models(models, config, enable_type_reduction)


def _config_path(source, output_dir, level, style, has_types):
    name = ("required_operators_and_types" if has_types else "required_operators") + _suffix(level, style, ".config")
    if source.is_dir():
        return (output_dir or source) / name
    beside = source.with_suffix(f".{name}")
    return output_dir / beside.name if output_dir else beside


def parse_args():
    """The arguments of the command line."""
    styles = [style.name for style in OptimizationStyle]
    parser = argparse.ArgumentParser("convert_onnx_models_to_ort", description=__doc__.split("\n")[0])
    parser.add_argument("--output_dir", type=pathlib.Path, help="where files are written; beside the models otherwise")
    parser.add_argument("--optimization_style", nargs="+", default=styles, choices=styles,
                        help="Fixed: all optimizations are done before the model is written; Runtime: some are noted, "
                        "for providers that take other nodes (both)")
    parser.add_argument("--enable_type_reduction", action="store_true",
                        help="the configuration file also has the types that operators are used with")
    parser.add_argument("--custom_op_library", type=pathlib.Path, help="a library of custom operators of the models")
    parser.add_argument("--save_optimized_onnx_model", action="store_true",
                        help="the optimized model is also written as ONNX")
    parser.add_argument("--allow_conversion_failures", action="store_true", help="go on with the other models")
    parser.add_argument("--target_platform", choices=["arm", "amd64"], help="where the models will run")
    parser.add_argument("model_path_or_dir", type=pathlib.Path, help="a model, or a folder with models (*.onnx)")
    options = parser.parse_args()
    options.optimization_style = [OptimizationStyle[name] for name in options.optimization_style]
    return options


def _main():
    options = parse_args()
    convert_onnx_models_to_ort(
        options.model_path_or_dir, options.output_dir, options.optimization_style, options.custom_op_library,
        options.target_platform, options.save_optimized_onnx_model, options.allow_conversion_failures,
        options.enable_type_reduction)


if __name__ == "__main__":
    _main()
