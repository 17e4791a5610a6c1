"""Prints what olive's passes make of a small random BERT and what the results compute.

usage: olive_program.py SMALL FOLDER    (of transformers_small.py; where the models are written)"""
import collections
import logging
import pathlib
import shutil
import sys

import numpy as np
import onnx
from olive.data.config import DataComponentConfig, DataConfig
from olive.data.registry import Registry
from olive.hardware import AcceleratorSpec
from olive.model import ONNXModelHandler
from olive.passes.olive_pass import create_pass_from_dict
from olive.passes.onnx.peephole_optimizer import OnnxPeepholeOptimizer
from olive.passes.onnx.quantization import OnnxDynamicQuantization, OnnxStaticQuantization
from olive.passes.onnx.rtn_quantization import OnnxBlockWiseRtnQuantization
from olive.passes.onnx.session_params_tuning import OrtSessionParamsTuning
from olive.passes.onnx.transformer_optimization import OrtTransformersOptimization

logging.disable(logging.WARNING)
CPU = AcceleratorSpec(accelerator_type="cpu", execution_provider="CPUExecutionProvider")
FEEDS = {"input_ids": np.array([[2, 5, 6, 7, 3], [2, 8, 9, 10, 3]]), "attention_mask": np.ones((2, 5), np.int64),
         "token_type_ids": np.zeros((2, 5), np.int64)}


class Rows:
    """Small inputs for calibration and for timing."""

    def __init__(self, count=4):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, number):
        if number >= self.count:
            raise IndexError(number)
        return {name: np.roll(array[0], number if name == "input_ids" else 0) for name, array in FEEDS.items()}, 0


@Registry.register_dataset()
def small_rows(**_):
    return Rows()


def say(name, *values):
    print(f"result {name}:", *(np.round(part, 3) for value in values for part in
                               np.ravel(np.asarray(value, np.float64))), flush=True)


def tell(name, model, nodes=True):
    if nodes:
        counts = collections.Counter(node.op_type for node in onnx.load(model.model_path).graph.node)
        print(f"result {name}, nodes:", *(f"{kind}={count}" for kind, count in sorted(counts.items())), flush=True)
    session = model.prepare_session(inference_settings={"session_options": {"intra_op_num_threads": 1}}, device="cpu")
    types = {"tensor(float16)": np.float16, "tensor(int32)": np.int32}
    feeds = {value.name: FEEDS[value.name].astype(types.get(value.type, np.int64)) for value in session.get_inputs()}
    say(f"{name}, output", model.run_session(session, feeds)[0])


def main(small, folder):
    shutil.rmtree(folder, ignore_errors=True)
    model = ONNXModelHandler(str(small / "text-classification/onnx/model.onnx"))
    tell("as it was", model)
    rows = DataConfig(name="rows", type="DataContainer",
                      load_dataset_config=DataComponentConfig(type="small_rows"),
                      pre_process_data_config=DataComponentConfig(type="skip_pre_process"),
                      post_process_data_config=DataComponentConfig(type="skip_post_process"),
                      dataloader_config=DataComponentConfig(params={"batch_size": 2}))
    bert = {"model_type": "bert", "num_heads": 2, "hidden_size": 16, "opt_level": 1}
    for kind, name, options in ((OnnxPeepholeOptimizer, "peephole", {}),
                                (OrtTransformersOptimization, "transformers", bert),
                                (OrtTransformersOptimization, "transformers in half", bert | {"float16": True}),
                                (OnnxDynamicQuantization, "dynamic int8", {"precision": "int8"}),
                                (OnnxDynamicQuantization, "dynamic uint8", {"precision": "uint8"}),
                                (OnnxStaticQuantization, "static", {"data_config": rows, "quant_format": "QDQ"}),
                                (OnnxStaticQuantization, "static operators",
                                 {"data_config": rows, "quant_format": "QOperator", "calibrate_method": "Percentile"}),
                                (OnnxBlockWiseRtnQuantization, "blocks", {"block_size": 16, "bits": 4})):
        (folder / name.replace(" ", "_")).mkdir(parents=True)  # the pass for blocks makes none
        made = create_pass_from_dict(kind, options, disable_search=True, accelerator_spec=CPU).run(
            model, str(folder / name.replace(" ", "_") / "model.onnx"))
        tell(name, made, nodes="transformers" not in name)  # its attention is fused here, and not there
    tuned = create_pass_from_dict(OrtSessionParamsTuning, {
        "data_config": rows, "providers_list": "CPUExecutionProvider", "device": "cpu"},
        disable_search=True, accelerator_spec=CPU).run(model, str(folder / "tuned/model.onnx"))
    print("result tuned, settings:", *sorted(tuned.inference_settings), *tuned.inference_settings["execution_provider"])


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:]))
