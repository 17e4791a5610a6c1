"""Weights outside of an onnx.ModelProto."""
from sardonyx.transformers.onnx_model import OnnxModel

_EXTERNAL = 1  # TensorProto.DataLocation


def has_external_data(model):
    """Whether an initializer's data lies in another file."""
    return any(tensor.data_location == _EXTERNAL for graph in OnnxModel(model).graphs() for tensor in graph.initializer)


def extract_raw_data_from_model(model):
    """Takes the raw data of all initializers out of an onnx.ModelProto, which says then that it lies elsewhere: their
    names, and OrtValues with the data, as SessionOptions.add_external_initializers takes them."""
    from onnx import numpy_helper
    from onnx.external_data_helper import set_external_data

    from sardonyx import OrtValue

    names, values = [], []
    for graph in OnnxModel(model).graphs():
        for tensor in graph.initializer:
            if tensor.HasField("raw_data"):
                names.append(tensor.name)
                values.append(OrtValue.ortvalue_from_numpy(numpy_helper.to_array(tensor)))
                set_external_data(tensor, location="in_memory")
                tensor.ClearField("raw_data")
    return tuple(names), tuple(values)
