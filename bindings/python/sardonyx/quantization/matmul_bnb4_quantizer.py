"""Weights of products as 4-bit floats of bitsandbytes: MatMul becomes MatMulBnb4.

usage: python -m onnxruntime.quantization.matmul_bnb4_quantizer --input_model MODEL --output_model MODEL [options]"""
import argparse
import logging
import os

import numpy as np

from sardonyx.model import Model
from sardonyx.quantization.base_quantizer import QUANTIZABLE

# ONNX Runtime's module of this name has these, too, so programs may import them from here.
from sardonyx.quantization.onnx_model import (
    ChangedModel,
    ONNXModel,  # noqa: F401
)
from sardonyx.quantization.quant_types import ms_domain
from sardonyx.quantization.quant_utils import attribute_to_kwarg  # noqa: F401
from sardonyx.quantization.weight_kernels import quantize_matmul_bnb4


class MatMulBnb4Quantizer:
    """`model`: an onnx.ModelProto or a path. `block_size`: numbers with a scale of their own, along the columns."""

    FP4 = 0  # two bits of exponent, one of mantissa
    NF4 = 1  # equally likely for numbers that are normally distributed

    def __init__(self, model, quant_type: int, block_size: int, nodes_to_exclude=None):
        if quant_type not in (self.FP4, self.NF4):
            raise ValueError(f"expected FP4 (0) or NF4 (1), found {quant_type}")
        if block_size < 16 or block_size & (block_size - 1):
            raise ValueError(f"expected a block size that is a power of 2 from 16 on, found {block_size}")
        self.changed = Model(model)
        self.model = ChangedModel(self.changed)
        self.quant_type, self.block_size = quant_type, block_size
        self.nodes_to_exclude = set(nodes_to_exclude or [])

    def bnb4_block_quant(self, fpweight):
        """(codes, largest magnitude of each block) of a matrix [K, N]."""
        if fpweight.ndim != 2:
            raise ValueError(f"expected a matrix, found an array of the shape {fpweight.shape}")
        rows, columns = fpweight.shape
        packed = np.zeros((rows * columns + 1) // 2, np.uint8)
        absmax = np.zeros(-(-rows * columns // self.block_size), fpweight.dtype)
        quantize_matmul_bnb4(packed, np.ascontiguousarray(fpweight.T), absmax, self.block_size, self.quant_type,
                             columns, rows)
        return packed, absmax

    def process(self):
        for graph in [graph for graph in self.changed.graphs if graph is not None]:
            for node in graph.nodes:
                if node.op_type == "MatMul" and node.name not in self.nodes_to_exclude:
                    self._quantize(graph, node)
        for graph in reversed([graph for graph in self.changed.graphs if graph is not None]):
            graph.remove_unused_initializers()
        self.changed.set_opset(ms_domain, max(1, self.changed.opsets.get(ms_domain, 1)))
        self.model = ChangedModel(self.changed)

    def _quantize(self, graph, node):
        name, home = node.inputs[1], graph
        while home is not None and name not in home.initializers:
            home = None if home.parent is None else self.changed.graphs[home.parent]
        known = None if home is None else home.initializers[name].type
        if known is None or known.dtype not in QUANTIZABLE or len(known.shape) != 2:
            logging.info("%r is not quantized: its weight is no constant matrix of floats", node)
            return
        codes, absmax = f"{name}_Bnb4", f"{name}_absmax"
        if codes not in home.initializers:
            for key, array in zip((codes, absmax), self.bnb4_block_quant(home.tensor(name)), strict=True):
                home.set_initializer(key, array)
        source, output, label = node.inputs[0], node.outputs[0], f"{node.name}_Bnb4" if node.name else ""
        graph.remove_node(node)
        graph.add_node("MatMulBnb4", [source, codes, absmax], [output], label, ms_domain, {
            "K": known.shape[0], "N": known.shape[1], "block_size": self.block_size, "quant_type": self.quant_type})


def parse_args():
    """The arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--input_model", required=True, help="the model")
    parser.add_argument("--output_model", required=True, help="where the result is written; it must not be there")
    parser.add_argument("--quant_type", type=int, default=MatMulBnb4Quantizer.NF4, help="0: FP4, 1: NF4 (1)",
                        choices=[MatMulBnb4Quantizer.FP4, MatMulBnb4Quantizer.NF4])
    parser.add_argument("--block_size", type=int, default=64, help="numbers with one scale (64)")
    parser.add_argument("-v", "--verbose", action="store_true", help="log what is not quantized, and why")
    parser.add_argument("--nodes_to_exclude", nargs="+", default=[], help="names of nodes that are not quantized")
    return parser.parse_args()


def _main():
    options = parse_args()
    if options.verbose:
        logging.getLogger().setLevel(logging.DEBUG)
    if os.path.exists(options.output_model):
        raise SystemExit(f"--output_model: '{options.output_model}' is there already")
    quantizer = MatMulBnb4Quantizer(options.input_model, options.quant_type, options.block_size,
                                    options.nodes_to_exclude)
    quantizer.process()
    quantizer.model.save_model_to_file(options.output_model, True)


if __name__ == "__main__":
    _main()
