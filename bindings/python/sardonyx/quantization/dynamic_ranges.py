"""The nodes that measure the range of a tensor in each run and quantize it."""
import numpy as np

from sardonyx.quantization.quant_types import (
    ELEMENT_NUMBERS,
    FLOAT,
    FLOAT_NUMPY_TYPES,
    INT8,
    UINT8,
    get_qrange_for_qType,
)

_RANGE_UINT8, _RANGE_INT8 = "fixed_quantization_range_uint8", "fixed_quantization_range_int8"
_ZERO, _ZERO_POINT = "fixed_zero", "fixed_zero_zp"


def add_measured_quantization(graph, name, quantized, element, kind, has_dynamic_quantization):
    """Adds nodes that make `quantized` of the value `name`, of the element type `element`; returns the names of its
    scale and zero point. `kind`: UINT8, with a zero point that is measured, too, or INT8, around 0.

    ONNX's DynamicQuantizeLinear (from opset 11 on, for floats and uint8) does all of it; half precision becomes floats
    for it, and so does the scale."""
    scale, zero_point = f"{name}_scale", f"{name}_zero_point"
    if has_dynamic_quantization and kind == UINT8:
        if element != "float":
            name = _step(graph, "Cast", [name], f"{name}_cast_for_range", f"{name}_as_float", to=FLOAT)
        graph.add_node("DynamicQuantizeLinear", [name], [quantized, scale, zero_point], f"{name}_QuantizeLinear")
        return scale, zero_point
    dtype = FLOAT_NUMPY_TYPES[ELEMENT_NUMBERS[element]]
    if kind == UINT8:
        _measure_uint8(graph, name, dtype, scale, zero_point)
    elif kind == INT8:
        zero_point = _measure_int8(graph, name, dtype, scale)
    else:
        raise ValueError(f"expected UINT8 or INT8 for activations whose range is measured in each run, found {kind}")
    graph.add_node("QuantizeLinear", [name, scale, zero_point], [quantized], f"{name}_QuantizeLinear")
    return scale, zero_point


def _step(graph, op_type, inputs, name, output=None, **attributes):
    output = f"{name}:0" if output is None else output
    graph.add_node(op_type, inputs, [output], name, attributes=attributes)
    return output


def _constant(graph, name, value, dtype):
    if name not in graph.initializers:
        graph.set_initializer(name, np.asarray(value, dtype), as_numbers=True)
    return name


def _measure_uint8(graph, name, dtype, scale, zero_point):
    zero = _constant(graph, _ZERO, 0, dtype)  # lies in the range, also where all numbers lie on one side
    lowest = _step(graph, "ReduceMin", [name], f"{name}_ReduceMin", keepdims=0)
    lowest = _step(graph, "Min", [lowest, zero], f"{name}_lowest")
    highest = _step(graph, "ReduceMax", [name], f"{name}_ReduceMax", keepdims=0)
    highest = _step(graph, "Max", [highest, zero], f"{name}_highest")
    width = _step(graph, "Sub", [highest, lowest], f"{name}_scale_Sub")
    numbers = _constant(graph, _RANGE_UINT8, int(get_qrange_for_qType(UINT8)), dtype)
    _step(graph, "Div", [width, numbers], f"{name}_scale_Div", scale)
    below = _step(graph, "Sub", [zero, lowest], f"{name}_zero_point_Sub")
    steps = _step(graph, "Div", [below, scale], f"{name}_zero_point_Div")
    whole = _step(graph, "Floor", [steps], f"{name}_zero_point_Floor")
    _step(graph, "Cast", [whole], f"{name}_zero_point_Cast", zero_point, to=UINT8)


def _measure_int8(graph, name, dtype, scale):
    ends = [_step(graph, "Abs", [_step(graph, op_type, [name], f"{name}_{op_type}", keepdims=0)],
                  f"{name}_{op_type}_Abs") for op_type in ("ReduceMin", "ReduceMax")]
    largest = _step(graph, "Max", ends, f"{name}_Abs_Max")
    half = _constant(graph, _RANGE_INT8, 255 / 2.0, dtype)
    _step(graph, "Div", [largest, half], f"{name}scale_Div", scale)
    return _constant(graph, _ZERO_POINT, 0, np.int8)
