"""sardonyx.quantization.quant_utils gives what ONNX Runtime's module of that name gives, for the same arguments."""
import inspect

import numpy as np
import onnx
import onnxruntime.quantization.quant_utils as theirs
import pytest
import sardonyx.quantization.quant_utils as ours
from onnx import TensorProto, helper, numpy_helper

INTEGERS = [TensorProto.UINT8, TensorProto.INT8, TensorProto.UINT16, TensorProto.INT16, TensorProto.UINT4,
            TensorProto.INT4]
RANGES = [(-1, 2), (0, 2), (-3, 0), (0, 0), (1, 3), (-5, -1), (-1e-40, 1e-40), (-0.001, 700), (-1e30, 1e30)]


def equal(mine, other):
    mine, other = (list(one) if isinstance(one, (tuple, list)) else [one] for one in (mine, other))
    assert len(mine) == len(other)
    for left, right in zip(mine, other):
        assert np.asarray(left).dtype == np.asarray(right).dtype and np.shape(left) == np.shape(right)
        np.testing.assert_array_equal(np.asarray(left).astype(np.float64), np.asarray(right).astype(np.float64))


def data(dtype=np.float32, seed=0):
    return np.random.default_rng(seed).standard_normal((6, 10)).astype(dtype)


def test_every_function_and_class_is_there_with_the_same_parameters():
    def members(module, owner):
        return {name for name, value in vars(module).items() if not name.startswith("_")
                and (inspect.isfunction(value) or inspect.isclass(value)) and value.__module__ == owner}
    names = members(theirs, theirs.__name__)
    assert len(names) > 40
    assert {name for name in names if not hasattr(ours, name)} == set()
    for name in names:
        mine, other = getattr(ours, name), getattr(theirs, name)
        if inspect.isclass(other) and hasattr(other, "__members__"):
            assert {key: one.value for key, one in mine.__members__.items()} == {
                key: one.value for key, one in other.__members__.items()}
            assert [str(one) for one in mine] == [str(one) for one in other]
            continue
        mine, other = ([(p.name, p.default) for p in inspect.signature(one).parameters.values()]
                       for one in (mine, other))
        assert mine == other, name


def test_types_and_names():
    assert [one.tensor_type for one in ours.QuantType] == [one.tensor_type for one in theirs.QuantType]
    for name in ("QuantType", "QuantFormat", "QuantizationMode", "QuantizedValueType"):
        for member in getattr(theirs, name):
            assert getattr(ours, name).from_string(str(member)).name == member.name
        with pytest.raises(ValueError):
            getattr(ours, name).from_string("something")
    for name in dir(theirs):
        if name.startswith("add_") and name.endswith("_suffix"):
            assert getattr(ours, name)("X") == getattr(theirs, name)("X")
    assert ours.ONNX_TYPE_TO_NP_TYPE == theirs.ONNX_TYPE_TO_NP_TYPE and ours.type_to_name == theirs.type_to_name


@pytest.mark.parametrize("kind", INTEGERS)
def test_ranges_of_types(kind):
    for reduced in (False, True):
        for symmetric in (False, True):
            equal(ours.get_qmin_qmax_for_qType(kind, reduced, symmetric),
                  theirs.get_qmin_qmax_for_qType(kind, reduced, symmetric))


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("kind", INTEGERS)
def test_scales_and_zero_points(kind, dtype):
    for low, high in RANGES:
        if dtype == np.float16 and abs(high) > 60000:
            continue
        for symmetric in (False, True):
            for least in (None, 0.0, 4.0):
                bounds = theirs.get_qmin_qmax_for_qType(kind, symmetric=symmetric)
                given = (np.array(low, dtype), np.array(high, dtype), *bounds, symmetric, least)
                equal(ours.compute_scale_zp(*given), theirs.compute_scale_zp(*given))


def test_zero_points_that_snap():
    for low, high in RANGES:
        for qmax in (255, 127):
            for least in (None, 3.0):
                given = (np.float32(low), np.float32(high), 0, qmax, least)
                equal(ours.snap_zero_point_to_uint8(*given), theirs.snap_zero_point_to_uint8(*given))


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("kind", [*INTEGERS, TensorProto.FLOAT8E4M3FN])
def test_quantized_data(kind, dtype):
    for keys in ({}, {"reduce_range": True}, {"min_real_range": 10.0}, {"rmin_override": -0.5, "rmax_override": 0.25}):
        for symmetric in (False, True):
            if kind == TensorProto.FLOAT8E4M3FN and "reduce_range" in keys:
                with pytest.raises(RuntimeError):
                    ours.quantize_data(data(dtype), kind, symmetric, **keys)
                continue
            equal(ours.quantize_data(data(dtype), kind, symmetric, **keys),
                  theirs.quantize_data(data(dtype), kind, symmetric, **keys))
    equal(ours.quantize_data(np.zeros((0,), dtype), TensorProto.INT8, True),
          theirs.quantize_data(np.zeros((0,), dtype), TensorProto.INT8, True))


@pytest.mark.parametrize("kind", INTEGERS)
def test_blocks(kind):
    for axis, size in ((0, 2), (0, 4), (1, 3), (1, 32)):
        for symmetric in (False, True):
            equal(ours.compute_scale_zp_blocked(data(), kind, axis, size, symmetric),
                  theirs.compute_scale_zp_blocked(data(), kind, axis, size, symmetric))
    with pytest.raises(NotImplementedError):
        ours.compute_scale_zp_blocked(data()[None], kind, 0, 2, True)


@pytest.mark.parametrize("kind", [*INTEGERS, TensorProto.FLOAT8E4M3FN])
def test_quantized_protos(kind):
    weight = numpy_helper.from_array(data()[:5, :7], "W")
    zero = np.array(0, theirs.ONNX_TYPE_TO_NP_TYPE[kind])
    for axis, size, scale in ((None, 0, np.float32(0.1)), (0, 0, np.linspace(0.1, 1, 5, dtype=np.float32)),
                              (1, 3, np.full((5, 3), 0.2, np.float32))):
        if kind == TensorProto.FLOAT8E4M3FN and axis is not None:
            continue
        zeros = np.full(scale.shape, zero)
        mine = ours.quantize_onnx_initializer(weight, kind, zeros, scale, axis, "name" if size else None, size)
        other = theirs.quantize_onnx_initializer(weight, kind, zeros, scale, axis, "name" if size else None, size)
        assert mine == other


def test_small_helpers():
    for count in range(6):
        packed = bytes(range(250, 250 + count))
        assert ours.pack_bytes_to_4bit(packed[:count]) == theirs.pack_bytes_to_4bit(packed[:count])
    for axis, rank in ((-1, 3), (3, 3), (-4, 3), (0, 1)):
        assert ours.normalize_axis(axis, rank) == theirs.normalize_axis(axis, rank)
    for histogram in ([0, 1, 2, 0], [0, 0, 0], [1, 5]):
        mine, other = (one.smooth_distribution(np.array(histogram, float)) for one in (ours, theirs))
        assert (mine is None) == (other is None)
        if mine is not None:
            equal(mine, other)


@pytest.mark.parametrize("opset", [9, 10, 12, 19, 21])
def test_opsets(opset):
    model = helper.make_model(helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])], "g", [helper.make_tensor_value_info("x", 1, [1])],
        [helper.make_tensor_value_info("y", 1, [1])]), opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    kinds = [name for name in theirs.QuantType.__members__]
    for weight in kinds:
        for activation, block in ((None, 0), ("QUInt8", 0), ("QInt16", 0), ("QUInt8", 32)):
            found = [module.get_opset_version(module.update_opset_version(
                model, module.QuantType[weight], activation and module.QuantType[activation], block_size=block))
                for module in (ours, theirs)]
            assert found[0] == found[1], (weight, activation, block)


def test_metadata():
    model = onnx.ModelProto()
    assert not ours.model_has_infer_metadata(model) and not ours.model_has_pre_process_metadata(model)
    ours.add_infer_metadata(model)
    ours.add_pre_process_metadata(model)
    assert theirs.model_has_infer_metadata(model) and theirs.model_has_pre_process_metadata(model)
