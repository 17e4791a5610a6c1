"""optimize_model: transformers with ONNX Runtime's fused operators, as onnxruntime.transformers.optimizer makes them.

usage: python -m sardonyx.transformers.optimizer --input MODEL --output MODEL [--model_type bert] [--float16] ..."""
import argparse
import logging
import os
from pathlib import Path

from sardonyx.transformers.fusion import Held, proto_of
from sardonyx.transformers.fusion_options import FusionOptions
from sardonyx.transformers.onnx_model import OnnxModel
from sardonyx.transformers.onnx_model_bart import BartOnnxModel
from sardonyx.transformers.onnx_model_bert import BertOnnxModel
from sardonyx.transformers.onnx_model_bert_keras import BertOnnxModelKeras
from sardonyx.transformers.onnx_model_bert_tf import BertOnnxModelTF
from sardonyx.transformers.onnx_model_clip import ClipOnnxModel
from sardonyx.transformers.onnx_model_conformer import ConformerOnnxModel
from sardonyx.transformers.onnx_model_gpt2 import Gpt2OnnxModel
from sardonyx.transformers.onnx_model_mmdit import MmditOnnxModel
from sardonyx.transformers.onnx_model_phi import PhiOnnxModel
from sardonyx.transformers.onnx_model_sam2 import Sam2OnnxModel
from sardonyx.transformers.onnx_model_t5 import T5OnnxModel
from sardonyx.transformers.onnx_model_tnlr import TnlrOnnxModel
from sardonyx.transformers.onnx_model_unet import UnetOnnxModel
from sardonyx.transformers.onnx_model_vae import VaeOnnxModel

logger = logging.getLogger(__name__)

# The class of a model type, the exporter that is expected, and the level where none is given.
MODEL_TYPES = {
    "bart": (BartOnnxModel, "pytorch", 1),
    "bert": (BertOnnxModel, "pytorch", 1),
    "bert_tf": (BertOnnxModelTF, "tf2onnx", 0),
    "bert_keras": (BertOnnxModelKeras, "keras2onnx", 0),
    "clip": (ClipOnnxModel, "pytorch", 1),
    "conformer": (ConformerOnnxModel, "pytorch", 1),
    "gpt2": (Gpt2OnnxModel, "pytorch", 1),
    "gpt2_tf": (Gpt2OnnxModel, "tf2onnx", 0),
    "gpt_neox": (BertOnnxModel, "pytorch", 0),
    "phi": (PhiOnnxModel, "pytorch", 0),
    "qwen3": (Gpt2OnnxModel, "pytorch", 0),
    "sam2": (Sam2OnnxModel, "pytorch", 1),
    "swin": (BertOnnxModel, "pytorch", 1),
    "tnlr": (TnlrOnnxModel, "pytorch", 1),
    "t5": (T5OnnxModel, "pytorch", 2),
    "unet": (UnetOnnxModel, "pytorch", 1),
    "vae": (VaeOnnxModel, "pytorch", 1),
    "vit": (BertOnnxModel, "pytorch", 1),
    "mmdit": (MmditOnnxModel, "pytorch", 1),
}


# What optimize_by_onnxruntime's passes are that sessions do not have, by ONNX Runtime's names.
_OPTIMIZERS = {"BiasGeluFusion": "fuse_bias_gelu", "BiasSkipLayerNormFusion": "fuse_bias_skip_layer_norm",
               "AttentionFusion": "fuse_attention"}


def optimize_by_onnxruntime(onnx_model=None, use_gpu=False, optimized_model_path=None, opt_level=99,
                            disabled_optimizers=[], verbose=False, save_as_external_data=False,  # noqa: B006
                            external_data_filename="", external_data_file_threshold=1024, *, provider=None,  # noqa: ARG001
                            **deprecated_kwargs):
    """Writes the model (a path or an onnx.ModelProto) as ONNX Runtime optimizes it, and returns the path. Level 1 keeps
    to ONNX's operators; 2, 3 and 99 fuse those that ONNX Runtime has for every machine. `disabled_optimizers` has names
    of its optimizers or of Sardonyx's passes. `use_gpu` and `provider` do not change the result."""
    onnx_model = deprecated_kwargs.pop("onnx_model_path", None) if onnx_model is None else onnx_model
    if onnx_model is None or opt_level not in (1, 2, 3, 99):
        raise ValueError(f"expected a model and a level of 1, 2, 3 or 99, found {onnx_model!r} and {opt_level!r}")
    if optimized_model_path is None:
        stem = str(Path(onnx_model).with_suffix("")) if isinstance(onnx_model, str) else "optimized_model"
        optimized_model_path = f"{stem}_o{opt_level}_{'gpu' if use_gpu else 'cpu'}.onnx"
    beside = external_data_filename or f"{os.path.basename(optimized_model_path)}.data"
    with Held(onnx_model) as held:
        _optimize_as_session(held, opt_level, disabled_optimizers)
        held.save(optimized_model_path, beside if save_as_external_data else None, external_data_file_threshold)
    return optimized_model_path


def _optimize_as_session(held, level, disabled=()):
    names = [_OPTIMIZERS.get(name, name) for name in disabled]
    passes = [name for name in names if name in _OPTIMIZERS.values()] if level > 1 else []
    held.optimize("basic", target="onnxruntime" if level > 1 else None, disabled=passes,
                  disabled_optimizers=";".join(names))


def optimize_by_fusion(model, model_type="bert", num_heads=0, hidden_size=0, optimization_options=None):
    """The fusions alone, on an onnx.ModelProto; returns an object of the model type's class."""
    if model_type not in MODEL_TYPES:
        logger.warning("there is no model type '%s'; the model is returned as it is", model_type)
        return OnnxModel(model)
    return _fused(model, model_type, num_heads, hidden_size, optimization_options, 0)


def optimize_model(input, model_type="bert", num_heads=0, hidden_size=0, optimization_options=None, opt_level=None,
                   use_gpu=False, only_onnxruntime=False, verbose=False, *, provider=None):
    """A model (a path or an onnx.ModelProto, which stays as it is) with fused operators: an object of the model type's
    class (MODEL_TYPES), with the onnx.ModelProto as `model`.

    `opt_level` 0: fusions alone; 1, 2 and 99: the graph is simplified before, and at 2 and 99 normalizations, GELU and
    its bias are fused whatever the options say, as a session does; None: the model type's. With
    `only_onnxruntime` the options do not count: 1 simplifies the graph, 2 and 99 fuse what ONNX Runtime has for every
    machine (optimize_by_onnxruntime). `num_heads` and `hidden_size` are read from the graph. `use_gpu` and `provider`
    do not change the result; `verbose` shows what is logged."""
    if verbose:
        logging.getLogger("sardonyx").setLevel(logging.DEBUG)
    if opt_level not in (None, 0, 1, 2, 99):
        raise ValueError(f"opt_level: expected None, 0, 1, 2 or 99, found {opt_level!r}")
    if model_type not in MODEL_TYPES:
        logger.warning("there is no model type '%s'; the model is returned as it is", model_type)
        return OnnxModel(_loaded(input))
    made, _, usual = MODEL_TYPES[model_type]
    level = usual if opt_level is None else opt_level
    if not only_onnxruntime:
        return _fused(input, model_type, num_heads, hidden_size, optimization_options, level)
    if level == 0:
        logger.warning("nothing is optimized: only_onnxruntime needs an opt_level above 0")
        return made(_loaded(input), num_heads, hidden_size)
    with Held(input) as held:
        _optimize_as_session(held, level)
        return made(proto_of(held), num_heads, hidden_size)


def get_fusion_statistics(optimized_model_path):
    """How many nodes of each fused operator a model has."""
    return BertOnnxModel(_loaded(optimized_model_path)).get_fused_operator_statistics()


def _loaded(source):
    import onnx

    return onnx.load(source) if isinstance(source, (str, os.PathLike)) else source


def _fused(source, model_type, num_heads, hidden_size, options, level):
    import sardonyx

    made, producer, _ = MODEL_TYPES[model_type]
    is_file = isinstance(source, (str, os.PathLike))
    fused = made(None if is_file else source, num_heads, hidden_size)
    written_by = "" if is_file else source.producer_name
    if written_by and written_by != producer:
        logger.warning("model type '%s' expects a model of '%s', found one of '%s'", model_type, producer, written_by)
    fused.run_fusions(FusionOptions(model_type) if options is None else options, "basic" if level else "disable",
                      source if is_file else None, as_session=level > 1)
    fused.model.producer_name, fused.model.producer_version = "sardonyx.transformers", sardonyx.__version__
    return fused


def _parsed(arguments):
    parser = argparse.ArgumentParser(description="Transformers with ONNX Runtime's fused operators.")
    parser.add_argument("--input", required=True, help="the model")
    parser.add_argument("--output", required=True, help="where the optimized model is written")
    parser.add_argument("--model_type", type=str.lower, default="bert", choices=list(MODEL_TYPES))
    parser.add_argument("--num_heads", type=int, default=0, help="heads of attention; 0: what the graph says")
    parser.add_argument("--hidden_size", type=int, default=0, help="of attention; 0: what the graph says")
    parser.add_argument("--input_int32", action="store_true", help="inputs of the graph become int32")
    parser.add_argument("--float16", action="store_true", help="floats become half precision")
    FusionOptions.add_arguments(parser)
    parser.add_argument("--verbose", action="store_true", help="say more")
    parser.add_argument("--use_gpu", action="store_true", help="does not change the result")
    parser.add_argument("--provider", help="does not change the result")
    parser.add_argument("--only_onnxruntime", action="store_true", help="no fusions, but what a session optimizes")
    parser.add_argument("--opt_level", type=int, choices=[0, 1, 2, 3, 99], help="0: fusions alone")
    parser.add_argument("--use_external_data_format", action="store_true", help="weights lie beside the model")
    parser.add_argument("--disable_symbolic_shape_infer", action="store_true",
                        help="infer no shapes for the packing mode")
    parser.add_argument("--convert_to_packing_mode", action="store_true",
                        help="the layers skip padding (model type bert; ONNX Runtime: on GPUs only)")
    parser.add_argument("--convert_attribute", action="store_true", help="external data holds attributes, too")
    return parser.parse_args(arguments)


def main(arguments=None):
    args = _parsed(arguments)
    logging.basicConfig(level=logging.DEBUG if args.verbose else logging.INFO, format="%(name)s: %(message)s",
                        force=True)
    if os.path.realpath(args.input) == os.path.realpath(args.output):
        logger.warning("the model is replaced: --input and --output name one file")
    fused = optimize_model(args.input, args.model_type, args.num_heads, args.hidden_size, FusionOptions.parse(args),
                           args.opt_level, args.use_gpu, args.only_onnxruntime, args.verbose, provider=args.provider)
    if args.float16:
        fused.convert_float_to_float16(keep_io_types=True)
    if args.input_int32:
        fused.change_graph_inputs_to_int32()
    counts = fused.get_fused_operator_statistics()
    logger.info("operators: %s", fused.get_operator_statistics())
    if "bert" in args.model_type and fused.is_fully_optimized(counts):
        logger.info("all layers are fused")
    if args.convert_to_packing_mode:
        if args.model_type == "bert":
            fused.convert_to_packing_mode(not args.disable_symbolic_shape_infer)
        else:
            logger.warning("--convert_to_packing_mode has no effect: it is for model type bert")
    fused.save_model_to_file(args.output, args.use_external_data_format, convert_attribute=args.convert_attribute)


if __name__ == "__main__":
    main()
