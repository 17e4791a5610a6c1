"""Prints what models compute once tools have converted and simplified them. Arguments: none."""
import numpy as np
import onnx
import onnx.parser
import onnxruntime
import onnxsim
from onnxconverter_common import auto_mixed_precision, float16

MODELS = {
    "mlp": """g (float[2,8] x) => (float[2,4] y) {
        k = Constant<value = float[1] {1}>() h = MatMul(x, w) r = Relu(h) s = Add(r, k) y = Softmax(s) }""",
    "shapes": """g (float[2,8] x) => (float[4,4] y) {
        n = Shape(x) i = Constant<value = int64[1] {0}>() b = Gather(n, i) f = Constant<value = int64[1] {2}>()
        m = Mul(b, f) l = Constant<value = int64[1] {-1}>() t = Concat<axis = 0>(m, l)
        z = Reshape(x, t) e = Exp(z) y = Sqrt(e) }""",
    "image": """g (float[1,3,8,8] x) => (float[1,3,1,1] y) {
        p = AveragePool<kernel_shape = [2,2], strides = [2,2]>(x) a = Tanh(p) c = Abs(a) y = GlobalAveragePool(c) }""",
}
random = np.random.default_rng(3)


def computed(model, feed):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, feed)[0]


def say(name, *values):
    print(f"result {name}:", *(part for value in values for part in np.ravel(np.round(value, 4))))


for name, text in MODELS.items():
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}')
    for number, node in enumerate(model.graph.node):
        node.name = f"{node.op_type}_{number}"
    if name == "mlp":
        model.graph.initializer.append(onnx.numpy_helper.from_array(
            random.normal(size=(8, 4)).astype(np.float32), "w"))
    shape = [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]
    feed = {"x": random.normal(size=shape).astype(np.float32)}
    say(f"{name} as it is", computed(model, feed))
    smaller, same = onnxsim.simplify(model, check_n=3)
    say(f"{name} simplified", int(same), len(smaller.graph.node), computed(smaller, feed))
    half = float16.convert_float_to_float16(model, keep_io_types=True)
    say(f"{name} in half precision", len(half.graph.node), np.round(computed(half, feed), 2))
    mixed = auto_mixed_precision.auto_convert_mixed_precision(model, feed, rtol=0.01, atol=0.001, keep_io_types=True)
    say(f"{name} in mixed precision", len(mixed.graph.node), np.round(computed(mixed, feed), 2))
