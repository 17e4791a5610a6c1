"""sardonyx.model: models in memory that programs read and change. What comes out is checked by onnx and run."""
import numpy as np
import onnx
import pytest
import sardonyx
from onnx import TensorProto, helper, numpy_helper
from sardonyx.model import Model, ValueType

F = TensorProto.FLOAT


def dense():
    """y = Relu(x W + b) and z = -y, over W [3, 4]."""
    weight = np.arange(12, dtype=np.float32).reshape(3, 4)
    return helper.make_model(helper.make_graph(
        [helper.make_node("MatMul", ["x", "W"], ["product"], "multiply"),
         helper.make_node("Add", ["product", "b"], ["sum"], "add"),
         helper.make_node("Relu", ["sum"], ["y"], "rectify"),
         helper.make_node("Neg", ["y"], ["z"], "negate")], "dense",
        [helper.make_tensor_value_info("x", F, ["batch", 3])],
        [helper.make_tensor_value_info("y", F, ["batch", 4]), helper.make_tensor_value_info("z", F, ["batch", 4])],
        [numpy_helper.from_array(weight, "W"), numpy_helper.from_array(np.float32([1, 2, 3, 4]), "b")]),
        opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def branches():
    """y = x + w if c else x - w, with w of the main graph."""
    def body(op_type):
        return helper.make_graph([helper.make_node(op_type, ["x", "w"], [f"out_{op_type}"])], op_type, [],
                                 [helper.make_tensor_value_info(f"out_{op_type}", F, [2])])
    return helper.make_model(helper.make_graph(
        [helper.make_node("If", ["c"], ["y"], "choose", then_branch=body("Add"), else_branch=body("Sub"))], "branches",
        [helper.make_tensor_value_info("c", TensorProto.BOOL, []), helper.make_tensor_value_info("x", F, [2])],
        [helper.make_tensor_value_info("y", F, [2])], [numpy_helper.from_array(np.float32([1, 2]), "w")]),
        opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def run(model, feed):
    proto = model.to_proto()
    onnx.checker.check_model(proto, full_check=True)
    return sardonyx.InferenceSession(model.to_bytes()).run(None, feed)


def test_what_a_model_says_of_itself():
    proto = dense()
    proto.metadata_props.add(key="author", value="someone")
    model = Model(proto.SerializeToString())
    graph = model.graph
    assert (model.ir_version, model.opsets, model.metadata) == (10, {"": 21}, {"author": "someone"})
    assert (graph.name, graph.inputs, graph.outputs) == ("dense", ["x"], ["y", "z"])
    assert [(node.name, node.op_type, node.inputs, node.outputs) for node in graph.nodes] == [
        ("multiply", "MatMul", ["x", "W"], ["product"]), ("add", "Add", ["product", "b"], ["sum"]),
        ("rectify", "Relu", ["sum"], ["y"]), ("negate", "Neg", ["y"], ["z"])]
    assert graph.type_of("x") == ValueType("float", ("batch", 3))
    assert graph.type_of("W") == ValueType("float", (3, 4))
    assert graph.type_of("product") is None
    assert graph.producer("sum").name == "add" and graph.producer("x") is None
    assert [node.name for node in graph.consumers("y")] == ["negate"]
    np.testing.assert_array_equal(graph.tensor("b"), np.float32([1, 2, 3, 4]))
    model.infer_types()
    assert model.graph.type_of("product") == ValueType("float", ("batch", 4))


@pytest.mark.parametrize("value", [3, -1.5, float("inf"), "text", [1, 2], [0.5, float("-inf")], ["a", "b"],
                                   np.float32([[1, 2]]), np.array(7, np.int64)])
def test_attributes_come_back_as_they_were_set(value):
    model = Model(dense())
    node = model.graph.producer("y")
    node.set_attribute("attribute", value)
    for read in (node, Model(model).graph.producer("y")):
        np.testing.assert_array_equal(read.attribute("attribute"), value)
    node.set_attribute("attribute", None)
    assert node.attribute("attribute", "none") == "none"
    assert Model(model).graph.producer("y").attribute_names == []


def test_a_node_between():
    model = Model(dense())
    graph = model.graph
    graph.set_initializer("two", np.float32(2))
    graph.replace_uses("sum", "doubled")
    graph.add_node("Mul", ["sum", "two"], ["doubled"], name="double")
    y, z = run(model, {"x": np.float32([[1, -1, 1]])})
    expected = np.maximum(2 * (np.float32([1, -1, 1]) @ np.arange(12).reshape(3, 4) + [1, 2, 3, 4]), 0)[None]
    np.testing.assert_array_equal(y, expected)
    np.testing.assert_array_equal(z, -expected)
    assert [node.op_type for node in Model(model).graph.nodes] == ["MatMul", "Add", "Mul", "Relu", "Neg"]


def test_two_nodes_become_one():
    model = Model(dense())
    graph = model.graph
    product, addition = graph.producer("product"), graph.producer("sum")
    graph.remove_node(product)
    graph.remove_node(addition)
    graph.add_node("Gemm", ["x", "W", "b"], ["sum"], name="gemm", attributes={"alpha": 0.5, "transB": 0, "beta": None})
    y, _ = run(model, {"x": np.float32([[1, 1, 1]])})
    np.testing.assert_array_equal(y, [np.float32([7, 9.5, 12, 14.5])])
    assert "product" not in graph._types and graph.producer("product") is None
    assert [node.op_type for node in graph.consumers("x")] == ["Gemm"]


def test_bodies():
    model = Model(branches())
    then_graph = next(graph for graph in model.graphs if graph.name == "Add")
    assert (then_graph.parent, then_graph.parent_node) == (0, model.graph.producer("y").id)
    assert model.graph.is_read_by_bodies("w") and not model.graph.is_read_by_bodies("c")
    model.graph.set_initializer("ten", np.float32([10, 10]))
    model.graph.replace_uses("w", "ten")
    then_graph.nodes[0].set_output(0, "out")
    then_graph.add_node("Mul", ["out", "ten"], ["out_Add"])
    model.graph.remove_unused_initializers()
    assert list(model.graph.initializers) == ["ten"]
    for choice, expected in ((True, [110, 120]), (False, [-9, -8])):
        y, = run(model, {"c": np.array(choice), "x": np.float32([1, 2])})
        np.testing.assert_array_equal(y, np.float32(expected))
    copy = model.graph.add_node("If", ["c"], ["again"], like=model.graph.producer("y"))
    model.graph.add_output("again")
    assert set(copy.attribute_names) == {"then_branch", "else_branch"}
    y, again = sardonyx.InferenceSession(model.to_bytes()).run(None, {"c": np.array(True), "x": np.float32([1, 2])})
    np.testing.assert_array_equal(y, again)


def test_inputs_outputs_and_names():
    model = Model(dense())
    graph = model.graph
    graph.add_input("scale", "float", ["batch", 1])
    graph.add_node("Mul", ["y", "scale"], ["scaled"])
    graph.set_type("scaled", "float", ["batch", 4])
    graph.add_output("scaled")
    graph.remove_output("z")
    graph.remove_node(graph.producer("z"))
    model.set_opset("", 22)
    model.set_metadata("key", "value")
    model.set_producer("test", "1")
    session = sardonyx.InferenceSession(model.to_bytes())
    assert [(port.name, port.shape) for port in session.get_inputs()] == [("x", ["batch", 3]), ("scale", ["batch", 1])]
    y, scaled = session.run(None, {"x": np.ones((1, 3), np.float32), "scale": np.float32([[3]])})
    np.testing.assert_array_equal(scaled, 3 * y)
    assert session.get_modelmeta().custom_metadata_map == {"key": "value"}
    read = Model(model)
    assert (read.opsets, read.producer_name, read.producer_version) == ({"": 22}, "test", "1")
    assert (graph.unique_name("sum"), graph.unique_name("new")) == ("sum_1", "new")


def test_weights_in_a_file_of_their_own(tmp_path):
    model = Model(dense())
    model.graph.set_initializer("W", np.full((3, 4), 0.5, np.float32))
    model.save(tmp_path / "model.onnx", external_data="weights.bin", min_bytes=32)
    assert (tmp_path / "weights.bin").stat().st_size >= 48
    read = Model(tmp_path / "model.onnx")
    np.testing.assert_array_equal(read.graph.tensor("W"), np.full((3, 4), 0.5, np.float32))
    assert read.path == str(tmp_path / "model.onnx")


def test_weights_of_four_bits():
    model = Model(dense())
    packed = np.uint8([0x21, 0x43])
    int4 = helper.tensor_dtype_to_np_dtype(TensorProto.INT4)
    model.graph.set_initializer("b", np.arange(1, 5, dtype="int8").astype(int4))
    assert model.graph.type_of("b") == ValueType("int4", (4,))
    found = next(one for one in model.to_proto().graph.initializer if one.name == "b")
    assert (found.data_type, found.raw_data) == (TensorProto.INT4, packed.tobytes())


@pytest.mark.parametrize(("change", "message"), [
    (lambda graph: graph.add_node("Neg", ["x"], ["sum"]), "nothing makes yet, found 'sum', an output of"),
    (lambda graph: graph.add_node("Neg", ["x"], ["x"]), "found 'x', an input"),
    (lambda graph: graph.replace_uses("nowhere", "x"), "key 'from': expected the name of a value, found 'nowhere'"),
    (lambda graph: graph.producer("y").set_input(2, "x"), "expected at most 1, found 2"),
    (lambda graph: graph.producer("y").set_output(1, "x"), "expected less than 1, found 1"),
    (lambda graph: graph.set_type("y", "flaot"), "expected an element type such as 'float', found 'flaot'"),
    (lambda graph: graph.add_output("y"), "no output yet"),
    (lambda graph: graph.model.set_opset("", 0), "expected a positive number, found 0"),
    (lambda graph: graph._edit("add_nod"), "expected an edit such as 'add_node', found 'add_nod'"),
    (lambda graph: graph._edit("remove_node", node=99), "expected the id of a node of the graph, found 99"),
    (lambda graph: graph._edit("remove_node"), "expected the key 'node', found none"),
    (lambda graph: graph._edit("set_initializer", name="W", tensor=3), "expected an index below 0, found 3"),
    (lambda graph: graph.tensor("x"), "expected an initializer, found 'x'")])
def test_edits_that_cannot_be(change, message):
    model = Model(dense())
    with pytest.raises(sardonyx.InvalidArgument) as raised:
        change(model.graph)
    assert message in str(raised.value)
    run(model, {"x": np.ones((1, 3), np.float32)})


def test_what_is_wrong_is_found_when_the_model_is_saved():
    model = Model(dense())
    model.graph.remove_node(model.graph.producer("sum"))
    with pytest.raises(sardonyx.InvalidGraph, match="'sum'"):
        model.to_bytes()
    model = Model(dense())
    model.graph.producer("product").set_input(0, "sum")
    with pytest.raises(sardonyx.Fail, match="cycle"):
        model.to_bytes()


def test_sources():
    with pytest.raises(TypeError, match="found 'int'"):
        Model(3)
    with pytest.raises(sardonyx.NoSuchFile):
        Model("no_such_file.onnx")
    with pytest.raises(sardonyx.InvalidProtobuf):
        Model(b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")
