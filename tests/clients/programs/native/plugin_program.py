"""Registers a library of execution providers, lists its devices, and runs models over them with the CPU as the rest.

usage: python plugin_program.py LIBRARY [OPTION=VALUE ...]

Prints one JSON object: devices, and for each model which operators ran on the plug-in and how far its results are from
those of the CPU alone; or the error of a step.
"""
import gc
import json
import sys

import numpy as np
import onnx.parser
import onnxruntime as ort

CPU = "CPUExecutionProvider"
RANDOM = np.random.default_rng(7)


def weights(name, *shape):
    values = ", ".join(f"{v:.4f}" for v in RANDOM.normal(scale=0.3, size=int(np.prod(shape))))
    return f"float[{','.join(map(str, shape))}] {name} = {{{values}}}"


MODELS = {
    "perceptron": (f"""g (float[N, 8] x) => (float[N, 8] y) <{weights("w", 8, 8)}, {weights("b", 8)}> {{
        m = MatMul (x, w)  a = Add (m, b)  r = Relu (a)  s = Mul (r, r)  y = Softmax (s) }}""", {"x": (3, 8)}),
    "convolution": (f"""g (float[1, 3, 16, 16] x) => (float[1, 4] y) <{weights("w", 4, 3, 3, 3)}, {weights("b", 4)}> {{
        c = Conv <pads = [1, 1, 1, 1]> (x, w, b)  r = Relu (c)  p = MaxPool <kernel_shape = [2, 2]> (r)
        g = GlobalAveragePool (p)  y = Flatten (g) }}""", {"x": (1, 3, 16, 16)}),
    # What few providers take stands between what they do.
    "parts": ("""g (float[N, 4] x) => (float[N, 4] y, int64[K] k) {
        a = Mul (x, x)  b = Sigmoid (a)  u, i = Unique <sorted = 1> (b)  k = Identity (i)  c = Add (b, x)
        y = Tanh (c) }""", {"x": (2, 4)}),
    "branch": ("""g (bool c, float[N] x) => (float[N] y) {
        s = Add (x, x)
        y = If (c) <then_branch = yes () => (float[N] a) { a = Mul (s, s) },
                    else_branch = no () => (float[N] b) { b = Neg (s) }> }""", {"c": None, "x": (5,)}),
    "old opset": ("""g (float[2, 3] x) => (float[2, 3, 1] y) { a = Clip <min = -0.5, max = 0.5> (x)
        y = Unsqueeze <axes = [2]> (a) }""", {"x": (2, 3)}),
}


def inputs_of(shapes, seed):
    random = np.random.default_rng(seed)
    return {name: np.array(True) if shape is None else random.normal(size=shape).astype(np.float32)
            for name, shape in shapes.items()}


def run(name, device, options):
    text, shapes = MODELS[name]
    opset = 10 if name == "old opset" else 17
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]> {text}').SerializeToString()
    settings = ort.SessionOptions()
    settings.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    settings.add_provider_for_devices([device], options)
    session = ort.InferenceSession(model, settings, enable_fallback=0)
    alone = ort.InferenceSession(model, providers=[CPU])
    distance = 0.0
    for seed in range(3):
        feed = inputs_of(shapes, seed)
        for ours, wanted in zip(session.run(None, feed), alone.run(None, feed), strict=True):
            if ours.shape != wanted.shape:
                return {"error": f"shape {ours.shape} instead of {wanted.shape}"}
            distance = max(distance, float(np.abs(ours.astype(np.float64) - wanted).max()))
    on_plugin = sorted(node.op_type for part in session.get_provider_graph_assignment_info()
                       if part.ep_name == device.ep_name for node in part.get_nodes())
    return {"providers": session.get_providers(), "on_plugin": on_plugin, "distance": distance}


def main():
    library, options = sys.argv[1], dict(argument.split("=", 1) for argument in sys.argv[2:])
    result = {"runtime": ort.__file__}
    ort.register_execution_provider_library("tried", library)
    own = [device for device in ort.get_ep_devices() if device.ep_name != CPU]
    result["devices"] = [[device.ep_name, device.ep_vendor, device.ep_metadata.get("version")] for device in own]
    for name in MODELS if own else ():
        try:
            result[name] = run(name, own[0], options)
        except Exception as error:  # noqa: BLE001  (that of either runtime)
            result[name] = {"error": str(error)}
        gc.collect()
    del own
    gc.collect()
    ort.unregister_execution_provider_library("tried")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
