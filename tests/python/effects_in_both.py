"""What a configuration entry changes of sessions and runs, told without words of either library. Run as a program with
the name of a package and entries as JSON: for each of them, in a child, the facts that are not as without the entry."""
import contextlib
import hashlib
import importlib
import json
import os
import pathlib
import sys
import tempfile

import numpy as np
import onnx
import onnx.numpy_helper as nh
import onnx.parser
from onnx import TensorProto as T

HEAD = '<ir_version: 10, opset_import: ["" : 21, "com.microsoft" : 1, "my" : 1]>'
TINY = np.float32(1e-40)
SQUARE = np.arange(1, 1025, dtype=np.float32).reshape(32, 32) / 1024


def parsed(text, more=""):
    return onnx.parser.parse_model(f"{HEAD} g {text}\n{more}")


def with_weights(text, more="", **weights):
    model = parsed(text, more)
    model.graph.initializer.extend(nh.from_array(array, name) for name, array in weights.items())
    return model


def outside():
    model = with_weights("(float[n, 32] x) => (float[n, 32] y) { y = MatMul (x, w) }", w=SQUARE)
    tensor = model.graph.initializer[0]
    pathlib.Path("data").mkdir(exist_ok=True)
    pathlib.Path("data/w.bin").write_bytes(tensor.raw_data)
    tensor.ClearField("raw_data")
    tensor.data_location = T.EXTERNAL
    tensor.external_data.add(key="location", value="w.bin")
    return model


SCALE = {"s": np.float32(0.1), "z": np.uint8(3)}
ROW = np.linspace(-1, 1, 32, dtype=np.float32)[None]
CALLS = ('<domain: "my", opset_import: ["" : 21]> F (a) => (b) { c = Relu (a) d = Neg (c) b = Exp (d) } '
         '<domain: "my", opset_import: ["" : 21, "my" : 1]> G (a) => (b) { b = my.F (a) }')
FOUR_BITS = np.arange(32 * 16, dtype=np.uint8)


def of_four_bits():
    model = with_weights("(float[n, 32] x) => (float[n, 32] y) { w = DequantizeLinear <axis = 0, block_size = 16> "
                         "(q, s) y = MatMul (x, w) }", s=np.full((2, 32), 0.01, np.float32))
    model.graph.initializer.append(T(name="q", data_type=T.UINT4, dims=[32, 32], raw_data=FOUR_BITS.tobytes()))
    return model


# The models, and what they are fed.
MODELS = {
    "plain": (lambda: with_weights("(float[n, 32] x) => (float[n, 32] y) { a = MatMul (x, w) b = Relu (a) "
                                   "c = Identity (b) y = Sin (c) }", w=SQUARE), {"x": ROW}),
    "tiny": (lambda: parsed("(float[n] x) => (float[n] y) { y = Add (x, x) }"), {"x": np.full(4, TINY)}),
    "outside": (outside, {"x": ROW}),
    "contradictory": (lambda: parsed("(float[n, 2] x) => (float[n, 3] y) { y = Relu (x) }"),
                      {"x": np.ones((1, 2), np.float32)}),
    "calls": (lambda: parsed("(float[n] x) => (float[n] y) { a = my.G (x) y = my.F (a) }", CALLS),
              {"x": np.ones(3, np.float32)}),
    "gelu": (lambda: parsed("(float[n, 4] x) => (float[n, 4] y) { y = com.microsoft.Gelu (x) }"),
             {"x": np.linspace(-3, 3, 4, dtype=np.float32)[None]}),
    "folded": (lambda: with_weights("(float[n, 32] x) => (float[n, 32] y) { v = Exp (w) y = Mul (x, v) }",
                                    w=ROW[0]), {"x": ROW}),
    "casts": (lambda: parsed("(float[n] x) => (float[n] y) { a = Cast <to = 11> (x) y = Cast <to = 1> (a) }"),
              {"x": np.array([1.5], np.float32)}),
    "quantized": (lambda: with_weights(
        "(float[n, 32] x) => (float[n, 32] y) { a = QuantizeLinear (x, s, z) b = DequantizeLinear (a, s, z) "
        "v = DequantizeLinear (w, s, z) c = MatMul (b, v) d = QuantizeLinear (c, s, z) "
        "y = DequantizeLinear (d, s, z) }", w=(np.arange(1024) % 251).astype(np.uint8).reshape(32, 32), **SCALE),
                  {"x": ROW}),
    "pair": (lambda: with_weights("(float[n, 32] x) => (float[n, 32] y) { a = QuantizeLinear (x, s, z) "
                                  "b = DequantizeLinear (a, s, z) y = Sin (b) }", **SCALE), {"x": ROW}),
    "two pairs": (lambda: with_weights(
        "(float[n, 32] x) => (float[n, 32] y) { a = QuantizeLinear (x, s, z) b = DequantizeLinear (a, s, z) "
        "c = QuantizeLinear (b, t, z) y = DequantizeLinear (c, t, z) }", t=np.float32(0.3), **SCALE), {"x": ROW}),
    "four bits": (of_four_bits, {"x": ROW}),
}
TELLING = ("Exp", "MatMulNBits", "F", "G")
FUSED_HERE = ("calls", "Exp")


@contextlib.contextmanager
def heard():
    """What the library says on the way."""
    with tempfile.TemporaryFile() as file:
        kept = os.dup(2)
        os.dup2(file.fileno(), 2)
        said = []
        try:
            yield said
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            file.seek(0)
            said.append(file.read().decode(errors="replace"))


def digest(values):
    rounded = [np.round(value.astype(np.float64), 3) + 0.0 for value in values]
    return hashlib.sha256(b"".join(array.tobytes() for array in rounded)).hexdigest()


def of_model(library, name, entries, scope, facts):
    build, feeds = MODELS[name]
    options, run_options = library.SessionOptions(), library.RunOptions()
    saves = "session.optimized_model_filepath" not in entries
    if saves:
        options.optimized_model_filepath = f"saved_{name.replace(' ', '_')}.onnx"
    options.intra_op_num_threads = 1
    for key, value in entries.items():
        (options.add_session_config_entry if scope == "session" else run_options.add_run_config_entry)(key, value)
    before = len(os.listdir("/proc/self/task"))
    try:
        session = library.InferenceSession(build().SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        facts[f"{name}: creation"] = type(error).__name__
        return
    facts[f"{name}: creation"] = "works"
    if name == "plain":
        facts[f"{name}: threads"] = len(os.listdir("/proc/self/task")) - before
    try:
        outputs = session.run(None, feeds, run_options)
    except Exception as error:
        facts[f"{name}: run"] = type(error).__name__
        return
    facts[f"{name}: run"] = "works"
    facts[f"{name}: results"] = digest(outputs)
    facts[f"{name}: zeros"] = bool(np.all(outputs[0] == 0))
    session.end_profiling()
    if not saves:
        return
    saved = pathlib.Path(options.optimized_model_filepath).read_bytes()
    facts[f"{name}: saved as"] = "ORT" if saved[4:8] == b"ORTM" else "ONNX"
    if saved[4:8] == b"ORTM":
        return
    graph = onnx.load_model_from_string(saved).graph
    ops = [node.op_type for node in graph.node]
    facts |= {f"{name}: {op}s": ops.count(op) for op in TELLING if (name, op) != FUSED_HERE}
    pairs = [op for op in ops if op in ("QuantizeLinear", "DequantizeLinear")]
    if name == "quantized":
        facts[f"{name}: quantizes"] = bool(pairs)
    if name == "gelu":
        forms = [(node.op_type, attribute.s) for node in graph.node for attribute in node.attribute]
        facts[f"{name}: approximates"] = "FastGelu" in ops or any(form == b"tanh" for _, form in forms)
    facts[f"{name}: weights outside"] = any(t.data_location == T.EXTERNAL for t in graph.initializer)
    accuracy = [a.i for node in graph.node for a in node.attribute if a.name == "accuracy_level"]
    facts[f"{name}: accuracy"] = accuracy


def observed(library, scope, entries):
    facts = {}
    with heard() as said:
        for name in MODELS:
            with tempfile.TemporaryDirectory() as folder:
                os.chdir(folder)
                try:
                    of_model(library, name, entries, scope, facts)
                except Exception as error:
                    facts[f"{name}: options"] = type(error).__name__
                facts[f"{name}: files"] = sorted({path.name.split("_20")[0] for path in pathlib.Path().iterdir()
                                                  if not path.name.startswith("saved_") and path.name != "data"})
                os.chdir("/")
    facts["says"] = said[0]
    return facts


def in_child(*arguments):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            text = json.dumps(observed(*arguments))
        except BaseException as error:  # noqa: BLE001  (the parent tells of it)
            text = json.dumps({"end": repr(error)})
        with os.fdopen(write, "w") as pipe:
            pipe.write(text)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return json.loads(text or '{"end": "the process"}')


if __name__ == "__main__":
    chosen = importlib.import_module(sys.argv[1])
    chosen.set_default_logger_severity(2)
    plain = {scope: in_child(chosen, scope, {}) for scope in ("session", "run")}
    told = []
    for scope_, entries_ in json.load(sys.stdin):
        facts_ = in_child(chosen, scope_, entries_)
        base = plain[scope_]
        changes = {key: facts_.get(key, "nothing") for key in sorted({*facts_, *base})
                   if key != "says" and facts_.get(key, "nothing") != base.get(key, "nothing")}
        told.append([changes, facts_.get("says", "")])
    print(json.dumps({"plain": {key: text for key, text in plain["session"].items() if key != "says"}, "told": told}))
