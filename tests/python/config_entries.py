"""What the tests of configuration entries share: models, sessions with entries, and the list of shown effects."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import onnx
import onnx.parser
import onnx.printer
import sardonyx

ROOT = pathlib.Path(__file__).resolve().parents[2]
NEG = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
    g (float[3] x) => (float[3] y) { y = Neg (x) }""").SerializeToString()


def options_with(**entries):
    options = sardonyx.SessionOptions()
    for key, value in entries.items():
        options.add_session_config_entry(key.replace("__", "."), value)
    return options


def parsed(text, opset=21):
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : {opset}, "com.microsoft" : 1]> {text}')
    return model.SerializeToString()


def text_of(model, key=None, value="1", level="ORT_ENABLE_ALL"):
    """The optimized model."""
    with tempfile.TemporaryDirectory() as folder:
        options = options_with(**({key: value} if key else {}))
        options.graph_optimization_level = getattr(sardonyx.GraphOptimizationLevel, level)
        options.optimized_model_filepath = os.path.join(folder, "out.onnx")
        sardonyx.InferenceSession(model, options)
        return onnx.printer.to_text(onnx.load(options.optimized_model_filepath).graph).replace(" ", "")


def run_child(code, *arguments):
    package = str(pathlib.Path(sardonyx.__file__).parents[1])
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code, *arguments], capture_output=True, text=True,
                          env=os.environ | {"PYTHONPATH": package})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


EFFECTS = {}  # by scope and entry: a function that shows what the entry does


def shows(scope, key):
    def add(function):
        EFFECTS[scope, key] = function
        return function
    return add
