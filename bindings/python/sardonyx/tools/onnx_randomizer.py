"""Replaces the weights of a model by random numbers of the same range, so that it can be passed on.

usage: python -m onnxruntime.tools.onnx_randomizer -m MODEL -o MODEL [--use_external_data_format]
       [--all_tensors_to_one_file]"""
import argparse
from pathlib import Path

import numpy as np
import onnx

SIZE_THRESHOLD = 10  # smaller initializers stay: they are shapes or axes


def graph_iterator(model, func):
    """Calls the function for the graph of an onnx.ModelProto, then for the bodies in it, from outside to inside."""
    graphs = [model.graph]
    for graph in graphs:  # grows meanwhile
        func(graph)
        for node in graph.node:
            for attribute in node.attribute:
                graphs += [attribute.g] if attribute.HasField("g") else attribute.graphs


def randomize_graph_initializer(graph):
    """Of an onnx.GraphProto, without bodies: initializers of more than SIZE_THRESHOLD elements."""
    for tensor in graph.initializer:
        array = onnx.numpy_helper.to_array(tensor)
        if array.size > SIZE_THRESHOLD:
            made = np.random.uniform(array.min(), array.max(), size=array.shape).astype(array.dtype)
            tensor.CopyFrom(onnx.numpy_helper.from_array(made, tensor.name))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("-m", required=True, help="the model")
    parser.add_argument("-o", required=True, help="where the changed model is written")
    parser.add_argument("--use_external_data_format", action="store_true", help="weights lie in files beside the model")
    parser.add_argument("--all_tensors_to_one_file", action="store_true", help="in one file, MODEL.data")
    options = parser.parse_args()
    target = Path(options.o)
    if options.use_external_data_format and Path(options.m).parent == target.parent:
        parser.error("-o: expected another folder than that of -m, whose files of weights would be overwritten")
    beside = f"{target.name}.data" if options.use_external_data_format and options.all_tensors_to_one_file else None
    target.parent.mkdir(parents=True, exist_ok=True)
    model = onnx.load_model(options.m)
    graph_iterator(model, randomize_graph_initializer)
    onnx.save_model(model, options.o, save_as_external_data=options.use_external_data_format,
                    all_tensors_to_one_file=options.all_tensors_to_one_file, location=beside)


if __name__ == "__main__":
    main()
