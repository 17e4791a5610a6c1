"""The shapes of inputs and outputs as a session states them: the model's own names word for word, as in the peer."""
import numpy as np
import onnx.parser
import onnxruntime
import peer
import pytest
import sardonyx

peer.require()

# Body of a graph by what its output's dimensions are called; {0} and {1} stand for names that the text syntax lacks.
MODELS = {
    "another name than the input's": "(float[N,4] x) => (float[batch,n] y) { y = Relu(x) }",
    "no names": "(float[N,4] x) => (float[?,?] y) { y = Relu(x) }",
    "a name for a sum": "(float[N,4] x, float[M,4] z) => (float[total,4] y) { y = Concat<axis=0>(x,z) }",
    "known from the elements alone": "(float[N,4] x) => (int64[2,found] y) { y = NonZero(x) }",
    "long expressions": "(float[N,1,H,W] x, float[1,1,3,3] w) => (float[B,1,E0,E1] y)"
                        "{ y = Conv<strides=[2,2],pads=[1,1,1,1]>(x,w) }",
    "a sum in another order": "(float[E2] x) => (float[E2] y) { y = Relu(x) }",
    "the operator's symbol": "(float[N,4] x) => (float[E3,4] y) { y = Relu(x) }",
}
EXPRESSIONS = {"E0": "floor(H/2 - 1/2) + 1", "E1": "floor(W/2 - 1/2) + 1", "E2": "sequence_length + past_length",
               "E3": "?"}


def ports(module, model):
    options = module.SessionOptions()
    options.log_severity_level = 4  # the peer warns where names differ
    session = module.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return [(port.name, port.type, port.shape) for port in session.get_inputs() + session.get_outputs()]


@pytest.mark.parametrize("name", MODELS)
def test_names_of_dimensions_are_the_models(name):
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]> g {MODELS[name]}')
    for value in [*model.graph.input, *model.graph.output]:
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param in EXPRESSIONS:
                dim.dim_param = EXPRESSIONS[dim.dim_param]
    data = model.SerializeToString()
    assert ports(sardonyx, data) == ports(onnxruntime, data)


# Of a loop's body: the shape that it declares for what is stacked, and the shape of the result of no turns.
STACKED = {"[2,3]": (0, 2, 3), "[A,3]": (0, 0, 3), "[?,3]": (0, 0, 3), "": (0,), "[4,3]": (0, 4, 3)}


@pytest.mark.parametrize("level", ["ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_ALL"])
@pytest.mark.parametrize("declared", STACKED)
def test_a_loop_of_no_turns_has_the_declared_shape(declared, level):
    """Inference cannot know the shape: it is in a tensor. With turns, what was computed counts."""
    body = f"b (int64 i, bool c, float[1] s) => (bool d, float[1] t, float{declared} u)"
    model = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["" : 16]>
        g (int64 n, float[1] x, int64[r] size) => (float[1] last, float all) {{
          last, all = Loop (n, , x) <body = {body} {{ d = Identity(c) t = Identity(s) u = Expand(s, size) }}>
        }}""")
    for value in (model.graph.output[1], model.graph.node[0].attribute[0].g.output[2]):
        if value.name == "all" or not declared:
            value.type.tensor_type.ClearField("shape")
    data = model.SerializeToString()
    for turns, want in ((0, STACKED[declared]), (2, (2, 2, 3))):
        for module in (sardonyx, onnxruntime):
            options = module.SessionOptions()
            options.log_severity_level = 4
            options.graph_optimization_level = getattr(module.GraphOptimizationLevel, level)
            session = module.InferenceSession(data, options, providers=["CPUExecutionProvider"])
            feeds = {"n": np.array(turns), "x": np.ones(1, np.float32), "size": np.array([2, 3])}
            assert session.run(None, feeds)[1].shape == want, module.__name__
