"""Rust: the tests of the crate ort, which loads the library that ORT_DYLIB_PATH names."""
import json
import pathlib
import re
import shutil

import onnx
import onnx.helper as h
from client import CACHE, FAILED, PASSED, SKIPPED, ClientError, must, need
from onnx import TensorProto as T

NAME = "Rust: ort"
VERSION = "2.0.0-rc.15"
KIND = "library"
RUNS = "its own tests, on models made for them (the crate carries none)"
FEATURES = "std,ndarray,tracing,load-dynamic,api-31,half"


def make_models(folder):
    """What the tests read from tests/data, which is not part of the released crate, and not on the network."""
    folder.mkdir(parents=True)

    def save(name, nodes, inputs, outputs, shape):
        def infos(pairs):
            return [h.make_tensor_value_info(value, kind, shape) for value, kind in pairs]

        graph = h.make_graph(nodes, name, infos(inputs), infos(outputs))
        imports = [h.make_opsetid("", 17), h.make_opsetid("test.customop", 1)]
        onnx.save(h.make_model(graph, ir_version=8, opset_imports=imports), str(folder / f"{name}.onnx"))

    scales = h.make_node("Constant", [], ["scales"], value_floats=[1.0, 2.0, 2.0, 1.0])
    save("upsample", [scales, h.make_node("Resize", ["X", "", "scales"], ["Y"])], [("X", T.FLOAT)], [("Y", T.FLOAT)],
         ["n", "height", "width", "channels"])

    def custom(name, inputs, outputs, **attributes):
        return h.make_node(name, inputs, outputs, domain="test.customop", **attributes)

    save("custom_op_test", [custom("CustomOpOne", ["input_1", "input_2"], ["sum"]),
                            custom("CustomOpTwo", ["sum"], ["output"])],
         [("input_1", T.FLOAT), ("input_2", T.FLOAT)], [("output", T.INT32)], [3, 5])
    save("attr_tester", [custom("AttrTesterIntFloat", ["input_0"], ["middle"], a_int=1, a_float=2.0, ints=[3, 4, 5],
                                floats=[6.0, 7.0, 8.0]),
                         custom("AttrTesterString", ["middle"], ["output_0"], a_string="iamastring",
                                strings=["more", "strings"])], [("input_0", T.FLOAT)], [("output_0", T.FLOAT)], [5])
    for count, operator in ((2, "CopyTensorArrayAllVariadic"), (3, "CopyTensorArrayCombined")):
        inputs, outputs = ([f"{word}_{i}" for i in range(count)] for word in ("input", "output"))
        save(f"copy_{count}_inputs_{count}_outputs", [custom(operator, inputs, outputs)],
             [(name, T.FLOAT) for name in inputs], [(name, T.FLOAT) for name in outputs], [15])


# x [4,4] times what is the 4 x 4 ones of the model plus the product of the adapter's two matrices: 154, 176, 198, 220
# in each column for ones, as the tests expect.
ADAPTER = """
import sys, numpy as np, onnx, onnx.helper as h, onnxruntime as o
from onnx import TensorProto as T
folder = sys.argv[1]
a = np.arange(1, 9, dtype=np.float32).reshape(4, 2)
b = np.arange(1, 9, dtype=np.float32).reshape(2, 4)
ones = np.ones((4, 4), np.float32)
rest = np.array([154, 176, 198, 220], np.float32) - (ones @ a @ b)[0]
weights = [onnx.numpy_helper.from_array(np.tile(rest / 4, (4, 1)), 'w'),
           onnx.numpy_helper.from_array(np.zeros((4, 0), np.float32), 'a'),
           onnx.numpy_helper.from_array(np.zeros((0, 4), np.float32), 'b')]
nodes = [h.make_node('MatMul', ['x', 'a'], ['xa']), h.make_node('MatMul', ['xa', 'b'], ['xab']),
         h.make_node('MatMul', ['x', 'w'], ['xw']), h.make_node('Add', ['xab', 'xw'], ['output'])]
infos = [h.make_tensor_value_info(n, T.FLOAT, s) for n, s in (('x', [4, 4]), ('a', [4, 'r']), ('b', ['r', 4]))]
graph = h.make_graph(nodes, 'lora', infos, [h.make_tensor_value_info('output', T.FLOAT, [4, 4])], weights)
onnx.save(h.make_model(graph, ir_version=8, opset_imports=[h.make_opsetid('', 17)]), folder + '/lora_model.onnx')
adapter = o.AdapterFormat()
adapter.set_adapter_version(1)
adapter.set_model_version(1)
adapter.set_parameters({'a': o.OrtValue.ortvalue_from_numpy(a), 'b': o.OrtValue.ortvalue_from_numpy(b)})
adapter.export_adapter(folder + '/adapter.orl')
options = o.SessionOptions()
options.optimized_model_filepath = folder + '/upsample.ort'
options.add_session_config_entry('session.save_model_format', 'ORT')
o.InferenceSession(folder + '/upsample.onnx', options, providers=['CPUExecutionProvider'])
"""


def install(place):
    need("cargo")
    must("cargo", "init", "--quiet", "--vcs", "none", "--name", "fetch", place / "fetch")
    must("cargo", "add", "--quiet", f"ort@={VERSION}", "--no-default-features", cwd=place / "fetch")
    known = json.loads(must("cargo", "metadata", "--quiet", "--format-version", "1", cwd=place / "fetch"))
    (manifest,) = (package["manifest_path"] for package in known["packages"] if package["name"] == "ort")
    source = place / f"ort-{VERSION}"
    shutil.copytree(pathlib.Path(manifest).parent, source)
    text = must("cargo", "test", "--lib", "--no-run", "--no-default-features", "--features", FEATURES, cwd=source,
                env={"CARGO_TERM_COLOR": "never", "CARGO_TARGET_DIR": str(place / "target")}, stderr=True)
    (program,) = re.findall(r"Executable unittests src/lib.rs \((.*)\)", text)
    shutil.copy(program, place / "tests")
    shutil.rmtree(place / "target")
    make_models(source / "tests/data")
    must(CACHE / "stock/venv/bin/python", "-c", ADAPTER, source / "tests/data")


def run(place, side):
    listed = side.run(place / "tests", "--list", env={"ORT_DYLIB_PATH": str(side.library)})
    names = re.findall(r"^(.*): test$", listed.text, re.MULTILINE)
    if not names:
        raise ClientError(f"expected a list of tests, found\n{listed.text}")
    # Each in a process of its own: one that ends the process hides no other.
    results = {}
    for name in names:
        output = side.run(place / "tests", "--exact", name, "--test-threads=1", cwd=place / f"ort-{VERSION}",
                          env={"ORT_DYLIB_PATH": str(side.library)}, timeout=120)
        ignored = re.search(r"\b1 ignored", output.text)
        results[name] = SKIPPED if ignored else PASSED if output.status == 0 else FAILED
    return results
