"""The environment's callbacks follow each piece of work that a session offers to its threads, to its end."""
import json
import os
import pathlib
import subprocess

import onnx.parser

BUILD = pathlib.Path(os.environ.get("SDX_BUILD", pathlib.Path(__file__).parents[2] / "build/release"))
MODEL = """<ir_version: 9, opset_import: ["" : 18]> g (float[N, 1024] x) => (float[N, 1024] y) {
    a = Relu(x) b = Transpose<perm = [1, 0]>(a) c = Softmax<axis = 0>(b) d = Transpose<perm = [1, 0]>(c)
    y = Add(d, x) }"""


def test_each_piece_of_work_is_stopped_or_abandoned(tmp_path):
    (tmp_path / "model.onnx").write_bytes(onnx.parser.parse_model(MODEL).SerializeToString())
    done = subprocess.run([BUILD / "bin/capi_session_callbacks", tmp_path / "model.onnx"], capture_output=True,
                          text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["enqueued"] >= 50 and found["started"] > 0
    assert found["started"] == found["stopped"]
    assert found["enqueued"] == found["stopped"] + found["abandoned"]
    assert found["open"] == found["wrong"] == 0
    assert found["on_the_caller"] == 0, "the caller's own part is not offered to anybody"
    assert found["later"] == 0, "sessions without callbacks must not call them"
