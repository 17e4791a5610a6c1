"""Real models with one change each.

The expected words follow from the change: the place, what was expected there according to the rest of the model, and
what was found. To add a change, write a function with @change that edits the model and returns these words.
"""
import importlib.util
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

CHANGES = {}  # name: (model, code, function)


def package(name):
    (folder,) = importlib.util.find_spec(name).submodule_search_locations
    return pathlib.Path(folder)


PATHS = {"voice": lambda: package("silero_vad") / "data/silero_vad_16k_sequence.onnx",
         "text": lambda: next(package("rapidocr").glob("models/*_cls_*.onnx")),
         "bytes": lambda: next(package("magika").glob("models/*/model.onnx"))}


def change(model, code="InvalidGraph"):
    def add(function):
        name = function.__name__.replace("_", " ")
        assert name not in CHANGES, name
        CHANGES[name] = (model, code, function)
        return function
    return add


def node(model, name):
    (found,) = [n for n in model.graph.node if n.name == name]
    return found


def attribute(n, name):
    (found,) = [a for a in n.attribute if a.name == name]
    return found


def set_attribute(n, name, value):
    for found in [a for a in n.attribute if a.name == name]:
        n.attribute.remove(found)
    n.attribute.append(helper.make_attribute(name, value))


def weight(model, name):
    """An initializer, or the tensor of the Constant node that makes `name`."""
    for tensor in model.graph.initializer:
        if tensor.name == name:
            return tensor
    (maker,) = [n for n in model.graph.node if name in n.output]
    return attribute(maker, "value").t


def put(tensor, array):
    name = tensor.name
    tensor.CopyFrom(numpy_helper.from_array(array, name))


# ---- Convolutions


@change("voice", "Fail")
def groups_that_do_not_divide_the_filters(m):
    conv = node(m, "/stft/Conv")
    set_attribute(conv, "group", 7)
    return [conv.name, "Conv", weight(m, conv.input[1]).dims[0], 7]


@change("voice", "Fail")
def kernel_shape_that_is_not_the_weights(m):
    conv = node(m, "/stft/Conv")
    kernel = weight(m, conv.input[1]).dims[2]
    set_attribute(conv, "kernel_shape", [kernel + 3])
    return [conv.name, "Conv", kernel, kernel + 3]


@change("voice", "Fail")
def stride_of_zero(m):
    conv = node(m, "/stft/Conv")
    set_attribute(conv, "strides", [0])
    return [conv.name, "Conv", "'strides': expected at least 1", "[0]"]


@change("text", "Fail")
def dilation_below_zero(m):
    conv = node(m, "Conv@0")
    set_attribute(conv, "dilations", [1, -2])
    return [conv.name, "Conv", "'dilations': expected at least 1", "-2"]


@change("text", "Fail")
def too_few_pads(m):
    conv = node(m, "Conv@0")
    set_attribute(conv, "pads", [1, 1, 1])
    return [conv.name, "Conv", "pads", 4, "found 3"]


@change("text", "Fail")
def too_many_strides(m):
    conv = node(m, "Conv@0")
    set_attribute(conv, "strides", [2, 2, 2])
    return [conv.name, "Conv", "strides", 2, "found 3"]


@change("text", "Fail")
def unknown_padding(m):
    conv = node(m, "Conv@0")
    set_attribute(conv, "auto_pad", "SAME")
    return [conv.name, "Conv", "SAME_UPPER", "'SAME'"]


@change("text", "Fail")
def filters_for_other_channels(m):
    conv = node(m, "Conv@0")
    tensor = weight(m, conv.input[1])
    array = numpy_helper.to_array(tensor)
    put(tensor, array[:, :2])
    return [conv.name, "Conv", "3", "2"]  # the image has 3 channels


@change("text", "Fail")
def filters_without_a_dimension(m):
    conv = node(m, "Conv@0")
    tensor = weight(m, conv.input[1])
    array = numpy_helper.to_array(tensor)
    put(tensor, array[..., 0])
    return [conv.name, "Conv", "rank", *map(str, array.shape[:3])]


@change("voice")
def filters_of_another_type(m):
    conv = node(m, "/stft/Conv")
    tensor = weight(m, conv.input[1])
    put(tensor, numpy_helper.to_array(tensor).astype(np.float64))
    return [conv.name, "Conv", "expected", "float", "double", conv.input[1]]


@change("voice", "Fail")
def bias_for_another_number_of_filters(m):
    conv = node(m, "/output/Conv")
    tensor = weight(m, conv.input[2])
    array = numpy_helper.to_array(tensor)
    put(tensor, np.concatenate([array, array, array]))
    return [conv.name, "Conv", array.size, 3 * array.size]


# ---- Tensors


@change("voice")
def weights_cut_short(m):
    tensor = weight(m, "stft.forward_basis_buffer")
    size = len(tensor.raw_data)
    tensor.raw_data = tensor.raw_data[:-4]
    return [tensor.name, "expected", size, "found", size - 4]


@change("voice")
def weights_with_a_dimension_more(m):
    tensor = weight(m, "stft.forward_basis_buffer")
    size = len(tensor.raw_data)
    tensor.dims.append(2)
    return [tensor.name, "expected", 2 * size, "found", size]


@change("voice")
def weights_with_a_negative_dimension(m):
    tensor = weight(m, "stft.forward_basis_buffer")
    tensor.dims[0] = -258
    return [tensor.name, "-258"]


@change("voice")
def weights_with_dimensions_that_overflow(m):
    tensor = weight(m, "stft.forward_basis_buffer")
    tensor.dims[0] = 1 << 62
    return [tensor.name, str(1 << 62)]


@change("voice")
def weights_of_an_element_type_that_is_none(m):
    tensor = weight(m, "stft.forward_basis_buffer")
    tensor.data_type = 77
    return [tensor.name, "element type", "77"]


@change("voice", "InvalidArgument")
def weights_that_are_gone(m):
    conv = node(m, "/stft/Conv")
    m.graph.initializer.remove(weight(m, conv.input[1]))
    return [conv.name, "Conv", "expected", conv.input[1], "found nothing"]


@change("voice", "Fail")
def weights_outside_of_the_folder(m):
    tensor = weight(m, "stft.forward_basis_buffer")
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="../weights.bin")
    return [tensor.name, "inside the model's folder", "'../weights.bin'"]


@change("voice")
def weights_given_twice_in_one_tensor(m):
    tensor = weight(m, "stft.forward_basis_buffer")
    tensor.raw_data = tensor.raw_data + b"\0\0\0\0"
    size = len(tensor.raw_data)
    return [tensor.name, "expected", size - 4, "found", size]


# ---- Recurrent, matrices, norms


@change("voice", "InvalidArgument")
def hidden_size_that_is_not_the_weights(m):
    lstm = node(m, "/recurrent/LSTM")
    set_attribute(lstm, "hidden_size", 127)
    return [lstm.name, "LSTM", "expected 127", f"found {weight(m, lstm.input[2]).dims[2]}"]


@change("voice", "Fail")
def unknown_direction(m):
    lstm = node(m, "/recurrent/LSTM")
    set_attribute(lstm, "direction", "sideways")
    return [lstm.name, "LSTM", "direction", "forward", "'sideways'"]


@change("voice", "InvalidArgument")
def recurrence_weights_of_another_size(m):
    lstm = node(m, "/recurrent/LSTM")
    tensor = weight(m, lstm.input[2])
    array = numpy_helper.to_array(tensor)
    put(tensor, array[:, :, :-1])
    return [lstm.name, "LSTM", array.shape[2], array.shape[2] - 1]


@change("text", "Fail")
def matrix_with_other_rows(m):
    product = node(m, "MatMul@0")
    tensor = weight(m, product.input[1])
    array = numpy_helper.to_array(tensor)
    put(tensor, array[:-1])
    return [product.name, "MatMul", array.shape[0], array.shape[0] - 1]


@change("text", "Fail")
def scale_of_another_number_of_channels(m):
    norm = node(m, "BatchNormalization@0")
    tensor = weight(m, norm.input[1])
    array = numpy_helper.to_array(tensor)
    put(tensor, array[:-1])
    return [norm.name, "BatchNormalization", array.size, array.size - 1]


@change("text")
def norm_without_its_variance(m):
    norm = node(m, "BatchNormalization@0")
    del norm.input[4]
    return [norm.name, "BatchNormalization", "inputs", 5, "found 4"]


# ---- Axes and shapes


@change("voice", "Fail")
def axis_of_a_concatenation_beyond_the_rank(m):
    n = node(m, "/stft/padding/Concat")
    set_attribute(n, "axis", 4)
    return [n.name, "Concat", "axis", "[-1, 0]", "found 4"]


@change("voice", "Fail")
def transposition_that_names_an_axis_twice(m):
    n = node(m, "/stft/padding/Transpose")
    set_attribute(n, "perm", [1, 1])
    return [n.name, "Transpose", "perm", "[1, 1]"]


@change("voice", "Fail")
def transposition_of_another_rank(m):
    n = node(m, "/stft/padding/Transpose")
    set_attribute(n, "perm", [2, 1, 0])
    return [n.name, "Transpose", "perm", "2 axes", "[2, 1, 0]"]


@change("voice", "Fail")
def squeezed_dimension_that_is_not_1(m):
    n = node(m, "/recurrent/Squeeze")
    put(weight(m, n.input[1]), np.array([3], np.int64))
    return [n.name, "Squeeze", "1", "128"]


@change("voice", "Fail")
def new_axis_beyond_the_rank(m):
    n = node(m, "/stft/Unsqueeze")
    put(weight(m, n.input[1]), np.array([9], np.int64))
    return [n.name, "Unsqueeze", "9", "[-3, 2]"]


@change("voice", "Fail")
def target_shape_of_another_count(m):
    n = node(m, "/stft/padding/Reshape")
    put(weight(m, n.input[1]), np.array([-1, 3], np.int64))
    return [n.name, "Reshape", "[-1, 3]", "4"]


@change("text", "Fail")
def two_dimensions_to_be_found_out(m):
    n = node(m, "Reshape@0")
    tensor = weight(m, n.input[1])
    array = numpy_helper.to_array(tensor).copy()
    array[:2] = -1
    put(tensor, array)
    return [n.name, "Reshape", "one", "-1"]


@change("voice", "Fail")
def step_of_zero(m):
    n = node(m, "/stft/padding/Slice")
    put(weight(m, n.input[4]), np.array([0], np.int64))
    return [n.name, "Slice", "other than 0", "found 0"]


@change("voice", "Fail")
def slice_with_too_many_ends(m):
    n = node(m, "/stft/padding/Slice")
    tensor = weight(m, n.input[2])
    put(tensor, np.repeat(numpy_helper.to_array(tensor), 2))
    return [n.name, "Slice", "as many starts, ends", "found 1, 2"]


@change("voice", "Fail")
def unknown_mode_of_padding(m):
    n = node(m, "/stft/padding/Pad")
    set_attribute(n, "mode", "mirror")
    return [n.name, "Pad", "mode", "reflect", "'mirror'"]


@change("voice", "Fail")
def cast_to_a_type_that_is_none(m):
    n = node(m, "/stft/padding/Cast")
    set_attribute(n, "to", 99)
    return [n.name, "Cast", "to", "99"]


@change("text", "Fail")
def softmax_over_an_axis_beyond_the_rank(m):
    n = node(m, "Softmax@0")
    set_attribute(n, "axis", 5)
    return [n.name, "Softmax", "axis", "[-2, 1]", "found 5"]


@change("text", "Fail")
def bound_of_two_numbers(m):
    n = node(m, "Clip@0")
    put(weight(m, n.input[1]), np.zeros(2, np.float32))
    return [n.name, "Clip", "min", "one element", "[2]"]


@change("text", "Fail")
def sum_of_shapes_that_do_not_broadcast(m):
    n = node(m, "Add@0")
    put(weight(m, n.input[1]), np.zeros((3, 1, 1), np.float32))
    return [n.name, "Add", "broadcast", weight(m, "conv1_weights").dims[0], "3"]


@change("text", "Fail")
def pool_with_a_window_of_zero(m):
    n = node(m, "MaxPool@0")
    set_attribute(n, "kernel_shape", [2, 0])
    return [n.name, "MaxPool", "'kernel_shape': expected at least 1", "0"]


# ---- The graph


@change("voice")
def operator_with_a_typing_error(m):
    n = node(m, "/stft/Sqrt")
    n.op_type = "Sqrtt"
    return [n.name, "unknown operator Sqrtt", "did you mean Sqrt"]


@change("voice")
def operator_of_an_unknown_domain(m):
    n = node(m, "/stft/Sqrt")
    n.domain = "com.example"
    return [n.name, "Sqrt", "com.example"]


@change("voice")
def attribute_that_the_operator_does_not_have(m):
    n = node(m, "/stft/Conv")
    attribute(n, "strides").name = "stride"
    return [n.name, "Conv", "unknown attribute 'stride'", "did you mean 'strides'"]


@change("voice")
def attribute_of_another_type(m):
    n = node(m, "/stft/padding/Concat")
    set_attribute(n, "axis", 0.0)
    return [n.name, "Concat", "attribute 'axis'", "expected int", "found float"]


@change("voice")
def attribute_that_is_missing(m):
    n = node(m, "/stft/padding/Concat")
    n.attribute.remove(attribute(n, "axis"))
    return [n.name, "Concat", "attribute 'axis'", "required and missing"]


@change("voice", "InvalidArgument")
def node_that_reads_what_is_not_there(m):
    n = node(m, "/stft/Sqrt")
    n.input[0] += "x"
    return [n.name, "Sqrt", f"expected '{n.input[0]}'", "found nothing", f"did you mean '{n.input[0][:-1]}'"]


@change("voice", "Fail")
def node_that_reads_its_own_result(m):
    n = node(m, "/stft/Sqrt")
    n.input[0] = n.output[0]
    return [n.name, "Sqrt", "cycle of 1 nodes"]


@change("voice", "Fail")
def value_that_two_nodes_make(m):
    n = node(m, "/stft/Sqrt")
    other = node(m, "/Relu")
    other.output[0] = n.output[0]
    return ["Relu", "nothing else in the graph defines", n.output[0]]


@change("voice", "Fail")
def output_that_nobody_makes(m):
    name = m.graph.output[0].name = "speech_probz"
    return [f"'{name}'", "found nothing", "did you mean 'speech_probs'"]


@change("voice")
def input_that_is_listed_twice(m):
    m.graph.input.append(m.graph.input[1])
    return [f"'{m.graph.input[1].name}'", "each input once", "twice"]


@change("voice")
def opset_without_the_operator(m):
    m.opset_import[0].version = 6
    return ["opset 6"]


@change("voice", "Fail")
def model_without_an_opset(m):
    del m.opset_import[:]
    return ["expected an opset import", f"IR version {m.ir_version}", "found none"]


@change("voice")
def model_of_a_negative_version(m):
    m.ir_version = -1
    return ["expected an ir_version of at least 0", "found -1"]


def build(name):
    """The model's bytes and the words that its error has to have."""
    which, _, edit = CHANGES[name]
    model = onnx.load(PATHS[which]())
    words = edit(model)
    return model.SerializeToString(), [str(word) for word in words]
