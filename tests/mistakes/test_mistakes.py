"""Ten mistakes of new users in Python, in C++ and on the command line, each with an error that helps."""
import os
import pathlib
import subprocess
import sys

import numpy as np
import onnx.parser
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", ROOT / "build/release"))
MODEL = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["" : 21]>
first (float[batch, 3] x) => (float[batch, 2] y)
<float[3, 2] weight = {1, 2, 3, 4, 5, 6}> { p = MatMul(x, weight) y = Relu(p) }""")
OLD = onnx.parser.parse_model("""<ir_version: 3, opset_import: ["" : 6]>
old (float[batch, 3] x) => (float[batch, 3] y)
{ s = Constant<value = float[3] {1, 2, 3}>() y = Add<broadcast=1>(x, s) }""")
GONE = onnx.parser.parse_model("""<ir_version: 3, opset_import: ["" : 1]>
older (float[batch, 3] x) => (float[batch, 3] y) { y = GivenTensorFill<values=[1.0]>(x) }""")

# A program that does one thing and prints the exception as Python would.
PYTHON = """
import sys, warnings
import numpy as np
import sardonyx
warnings.simplefilter("ignore")
x = np.ones((1, 3), np.float32)
options = sardonyx.SessionOptions()
try:
    {line}
    print("ok")
except Exception as error:
    print(f"{{type(error).__name__}}: {{error}}")
"""
LOAD = "sardonyx.InferenceSession({!r}, options).run(None, {{'x': x}})"
RUN = "sardonyx.InferenceSession('model.onnx').run({}, {})"

# The mistake: a line of Python; the C++ program's arguments; the tool's; what has to be said in all three, and the
# exception of Python. Where an interface says it in its own words, the list has a dictionary.
MISTAKES = {
    "wrong path": (LOAD.format("modell.onnx"), ["modell.onnx"], ["run", "modell.onnx"], "NoSuchFile",
                   ["modell.onnx", "No such file", "did you mean 'model.onnx'?"]),
    "wrong folder": (LOAD.format("models/model.onnx"), ["models/model.onnx"], ["run", "models/model.onnx"],
                     "NoSuchFile", ["there is no folder 'models'", "the current folder is '"]),
    "wrong name of an input": (RUN.format(None, "{'x': x, 'xs': x}"), ["model.onnx", "input=xs"],
                               ["run", "model.onnx", "-i", "xs=1"], "InvalidArgument",
                               ["no input 'xs'", "its inputs are 'x'"]),
    "wrong name of an output": (RUN.format(["yy"], "{'x': x}"), ["model.onnx", "output=yy"],
                                ["run", "model.onnx", "--only", "yy"], "InvalidArgument",
                                ["no output 'yy'", "its outputs are 'y'", "did you mean 'y'?"]),
    "wrong shape": (RUN.format(None, "{'x': np.ones((1, 4), np.float32)}"), ["model.onnx", "shape=1x4"],
                    ["run", "model.onnx", "-i", "x=wide.npy"], "InvalidArgument",
                    ["input 'x'", {"tool": "expected float [batch, 3], found shape 1x4 in 'wide.npy'",
                                   "": "expected float[batch,3], found 4 instead of 3 in dimension 1, shape [1, 4]"}]),
    "wrong rank": (RUN.format(None, "{'x': x[0]}"), ["model.onnx", "shape=3"],
                   ["run", "model.onnx", "--shape", "x=3"], "InvalidArgument",
                   ["input 'x'", "expected float[batch,3], found rank 1, shape [3]"]),
    "wrong type": (RUN.format(None, "{'x': np.ones((1, 3))}"), ["model.onnx", "type=int64"],
                   ["run", "model.onnx", "-i", "x=double.npy"], "InvalidArgument",
                   ["input 'x'", {"python": "expected elements of type float, found double: convert the array with "
                                            ".astype('float32')",
                                  "tool": "expected elements of type float, found double in 'double.npy'",
                                  "cpp": "expected float[batch,3], found element type int64"}]),
    "unknown provider": ("sardonyx.InferenceSession('model.onnx', providers=['GPUExecutionProvider'])",
                         ["model.onnx", "provider=GPUExecutionProvider"],
                         ["run", "model.onnx", "--provider", "GPUExecutionProvider"], "InvalidArgument",
                         ["GPUExecutionProvider", "CPUExecutionProvider"]),
    "missing weights file": (LOAD.format("external.onnx"), ["external.onnx"], ["run", "external.onnx"], "Fail",
                             ["external.onnx", "'weight'", "weights.bin", "No such file",
                              "must be where the model expects it, beside the model's file"]),
    "operator of an old framework": (LOAD.format("older.onnx"), ["older.onnx"], ["run", "older.onnx"],
                                     ("InvalidGraph", "NotImplemented"), ["older.onnx", "GivenTensorFill"]),
    "text file as model": (LOAD.format("text.onnx"), ["text.onnx"], ["run", "text.onnx"], "InvalidProtobuf",
                           ["text.onnx is not an ONNX model", "starts with 'hello, this is no model'"]),
    "array as model": (LOAD.format("wide.npy"), ["wide.npy"], ["run", "wide.npy"], "InvalidProtobuf",
                       ["wide.npy is not an ONNX model", "NumPy array"]),
    "half a download": (LOAD.format("cut.onnx"), ["cut.onnx"], ["run", "cut.onnx"], "InvalidProtobuf",
                        ["cut.onnx", "which may be cut short"]),
    "a folder": (LOAD.format("folder"), ["folder"], ["run", "folder"], "InvalidProtobuf",
                 ["'folder'", "expected a regular file, found a folder"]),
}


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """A folder with the models, readable for everybody."""
    folder = tmp_path_factory.mktemp("desk")
    model = onnx.ModelProto()
    model.CopyFrom(MODEL)
    (weight,) = model.graph.initializer
    weight.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(weight).copy(), "weight"))
    onnx.save(model, folder / "model.onnx")
    onnx.save(OLD, folder / "old.onnx")
    onnx.save(GONE, folder / "older.onnx")
    (folder / "cut.onnx").write_bytes((folder / "model.onnx").read_bytes()[:-30])
    (folder / "secret.onnx").write_bytes((folder / "model.onnx").read_bytes())
    (folder / "secret.onnx").chmod(0)
    onnx.save(model, folder / "external.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
    (folder / "weights.bin").unlink()
    (folder / "text.onnx").write_text("hello, this is no model\nat all\n")
    (folder / "folder").mkdir()
    (folder / "tiny").mkdir()
    np.save(folder / "wide.npy", np.ones((1, 4), np.float32))
    np.save(folder / "double.npy", np.ones((1, 3)))
    big = onnx.helper.make_tensor("w", onnx.TensorProto.FLOAT, [3, 100_000], np.ones(300_000, np.float32))
    graph = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["" : 21]>
        big (float[batch, 3] x) => (float[batch, 100000] y) <float[3, 100000] w> { y = MatMul(x, w) }""")
    del graph.graph.initializer[:]
    graph.graph.initializer.append(big)
    onnx.save(graph, folder / "big.onnx")
    return folder


def say(desk, command, before=()):
    """What a program writes. As root, without the right to read what its owner may not."""
    rights = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    environment = os.environ | {"PYTHONPATH": str(BUILD / "python"), "NO_COLOR": "1"}
    done = subprocess.run([*before, *rights, *map(str, command)], cwd=desk, env=environment, capture_output=True,
                          text=True)
    return done.returncode, done.stdout + done.stderr


def in_python(line):
    return [sys.executable, "-c", PYTHON.format(line=line.replace("\n", "\n    "))]


def in_cpp(arguments):
    return [BUILD / "bin/capi_mistakes", *arguments]


def on_the_command_line(arguments):
    return [BUILD / "bin/sardonyx", *arguments]


def check(said, words, interface):
    for word in words:
        word = word.get(interface, word.get("")) if isinstance(word, dict) else word
        assert word in said, f"{interface} says: {said}"
    assert "Traceback" not in said and "terminate called" not in said and "\n" not in said.strip(), said


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_explained(mistake, desk):
    line, cpp, tool, kinds, words = MISTAKES[mistake]
    code, said = say(desk, in_python(line))
    assert code == 0 and said.split(":")[0] in (kinds if isinstance(kinds, tuple) else (kinds,)), said
    check(said, words, "python")
    code, said = say(desk, in_cpp(cpp))
    assert code == 1
    check(said, words, "cpp")
    code, said = say(desk, on_the_command_line(tool))
    assert code in (1, 3) and said.startswith("sardonyx: error: ")
    check(said, words, "tool")


def test_a_forgotten_input_is_named_as_onnxruntime_does(desk):
    assert say(desk, in_python(RUN.format(None, "{}")))[1].startswith(
        "ValueError: Required inputs (['x']) are missing from input feed ([])")


def test_an_old_model_runs(desk):
    assert say(desk, in_python(LOAD.format("old.onnx")))[1] == "ok\n"
    assert say(desk, in_cpp(["old.onnx"]))[1] == "ok\n"
    assert say(desk, on_the_command_line(["run", "old.onnx", "--json"]))[0] == 0


def test_no_permission(desk):
    for command in (in_python(LOAD.format("secret.onnx")), in_cpp(["secret.onnx"]),
                    on_the_command_line(["run", "secret.onnx"]), on_the_command_line(["info", "secret.onnx"])):
        said = say(desk, command)[1]
        check(said, ["'secret.onnx'", "Permission denied"], "any")
    np.save(desk / "secret.npy", np.ones((1, 3), np.float32))
    (desk / "secret.npy").chmod(0)
    check(say(desk, on_the_command_line(["run", "model.onnx", "-i", "x=secret.npy"]))[1],
          ["cannot read 'secret.npy': Permission denied"], "tool")


def test_a_full_disk(desk):
    """On a file system of 64 kB, in a mount namespace of its own."""
    namespace = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--mount"]
    mount = [*namespace, "sh", "-ec", 'mount -t tmpfs -o size=64k tmpfs tiny; "$@"; ls -A tiny >&2', "sh"]
    save = "options.optimized_model_filepath = 'tiny/out.onnx'\n" + LOAD.format("big.onnx")
    for command in (in_python(save), in_cpp(["big.onnx", "save=tiny/out.onnx"]),
                    on_the_command_line(["optimize", "big.onnx", "-o", "tiny/out.onnx"])):
        said = say(desk, ["sh", "-c", '"$@" || true', "sh", *command], before=mount)[1]
        check(said, ["tiny/out.onnx", "No space left on device"], "any")  # one line: nothing is left behind
    said = say(desk, ["sh", "-c", '"$@" || true', "sh",
                      *on_the_command_line(["run", "big.onnx", "-o", "tiny/y.npy"])], before=mount)[1]
    assert "cannot write 'tiny/y.npy': No space left on device" in said
