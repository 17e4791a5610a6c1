"""Free dimensions that are set by name and by denotation, compared with ONNX Runtime."""
import numpy as np
import onnx
import onnxruntime
import pytest
import sardonyx
import sardonyx.capi.onnxruntime_pybind11_state
from onnx import TensorProto, helper


def model_with_denotations():
    """x [N (DATA_BATCH), 3, H, W (DATA_FEATURE)], y [N, K (DATA_BATCH)]: N is one dimension, W and H are free."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3, "H", "W"],
                                      shape_denotation=["DATA_BATCH", "DATA_CHANNEL", "", "DATA_FEATURE"])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", "K"], shape_denotation=["", "DATA_BATCH"])
    out = helper.make_tensor_value_info("z", TensorProto.FLOAT, None)
    total = helper.make_tensor_value_info("s", TensorProto.FLOAT, None)
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["z"]), helper.make_node("Neg", ["y"], ["s"])],
                              "g", [x, y], [out, total])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def input_shapes(module, by_name=(), by_denotation=(), **settings):
    options = module.SessionOptions()
    for name, value in settings.items():
        setattr(options, name, value)
    for name, size in by_name:
        options.add_free_dimension_override_by_name(name, size)
    for denotation, size in by_denotation:
        options.add_free_dimension_override_by_denotation(denotation, size)
    session = module.InferenceSession(model_with_denotations().SerializeToString(), options,
                                      providers=["CPUExecutionProvider"])
    return [entry.shape for entry in session.get_inputs()], session


@pytest.mark.parametrize(("by_name", "by_denotation"), [
    ([], []),
    ([("H", 5)], []),
    ([], [("DATA_FEATURE", 7)]),
    ([("H", 5)], [("DATA_FEATURE", 7)]),
    ([], [("DATA_CHANNEL", 3)]),  # what it is already
    ([], [("NO_SUCH", 9)]),
])
def test_shapes_are_those_of_onnx_runtime(by_name, by_denotation):
    ours, session = input_shapes(sardonyx, by_name, by_denotation)
    theirs, _ = input_shapes(onnxruntime, by_name, by_denotation)
    assert ours == theirs
    x = np.random.default_rng(0).standard_normal((2, 3, 5, 7), dtype=np.float32)
    np.testing.assert_array_equal(session.run(["z"], {"x": x, "y": np.zeros((2, 2), np.float32)})[0], np.maximum(x, 0))


def test_a_fixed_dimension_is_not_overridden():
    for module in (sardonyx, onnxruntime):
        with pytest.raises(module.capi.onnxruntime_pybind11_state.InvalidArgument) as caught:
            input_shapes(module, by_denotation=[("DATA_CHANNEL", 9)])
        if module is sardonyx:
            assert ("input 'x': dimension 1 ('DATA_CHANNEL'): expected 3 as in the model, found 9 in the override"
                    in str(caught.value))


def test_a_dimension_of_another_size_names_the_number():
    _, session = input_shapes(sardonyx, by_denotation=[("DATA_FEATURE", 7)])
    with pytest.raises(sardonyx.capi.onnxruntime_pybind11_state.InvalidArgument, match=r"'x'.* 8 instead of 7"):
        session.run(["z"], {"x": np.zeros((2, 3, 5, 8), np.float32), "y": np.zeros((2, 2), np.float32)})


def test_a_saved_model_keeps_its_denotations(tmp_path):
    path = tmp_path / "saved.onnx"
    input_shapes(sardonyx, optimized_model_filepath=str(path))
    dims = onnx.load(path).graph.input[0].type.tensor_type.shape.dim
    assert [dim.denotation for dim in dims] == ["DATA_BATCH", "DATA_CHANNEL", "", "DATA_FEATURE"]
