"""The command line tool: reading and writing each file format, each command, helpful errors, exit codes."""
import json
import os
import pathlib
import pty
import subprocess

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = pathlib.Path(os.environ.get("SDX_BUILD", ROOT / "build/release")) / "bin/sardonyx"

# Types that NumPy has, and those whose bits it keeps for ml_dtypes.
NUMPY_TYPES = ["float32", "float64", "float16", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
               "uint64"]
BIT_TYPES = {"bfloat16": np.uint16, "float8_e4m3fn": np.uint8, "float8_e5m2": np.uint8}


def sardonyx(*arguments, expect=0):
    done = subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == expect, f"{arguments}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
    return done


def run_json(*arguments):
    return json.loads(sardonyx("run", *arguments, "--json").stdout)


def save(path, nodes, inputs, outputs, initializers=()):
    graph = helper.make_graph(nodes, "graph", inputs, outputs, initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    onnx.save(model, path)
    return path


def value(name, elements, shape):
    return helper.make_tensor_value_info(name, elements, shape)


def identity(path, elements, shape=(2, "columns")):
    return save(path, [helper.make_node("Identity", ["x"], ["y"])], [value("x", elements, shape)],
                [value("y", elements, shape)])


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def linear(here):
    """y = x w, z = |x|: x float [batch, 3]."""
    weight = numpy_helper.from_array(np.arange(6, dtype=np.float32).reshape(3, 2), "w")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"]), helper.make_node("Abs", ["x"], ["z"])]
    outputs = [value("y", TensorProto.FLOAT, ["batch", 2]), value("z", TensorProto.FLOAT, ["batch", 3])]
    return save("linear.onnx", nodes, [value("x", TensorProto.FLOAT, ["batch", 3])], outputs, [weight])


# ---- files ----


@pytest.mark.parametrize("dtype", NUMPY_TYPES)
def test_npy_and_npz_and_pb_come_back_as_they_went_in(here, dtype):
    random = np.random.default_rng(1)
    x = (random.standard_normal((2, 5)) * 50).astype(dtype)
    model = identity("m.onnx", helper.np_dtype_to_tensor_dtype(x.dtype))
    np.save("x.npy", x)
    np.savez_compressed("x.npz", x=x)
    pathlib.Path("x.pb").write_bytes(numpy_helper.from_array(x, "x").SerializeToString())
    for source in ("x=x.npy", "x.npz", "x.pb", "x.npy"):
        sardonyx("run", model, "--input", source, "--output", "y.npz")
        assert np.load("y.npz")["y"].dtype == x.dtype
        np.testing.assert_array_equal(np.load("y.npz")["y"], x)
    sardonyx("run", model, "--input", "x.npy", "--output", "y.npy")
    np.testing.assert_array_equal(np.load("y.npy"), x)
    sardonyx("run", model, "--input", "x.npy", "--output", "y.pb")
    proto = onnx.TensorProto.FromString(pathlib.Path("y.pb").read_bytes())
    assert proto.name == "y"
    np.testing.assert_array_equal(numpy_helper.to_array(proto), x)


@pytest.mark.parametrize("dtype", BIT_TYPES)
def test_types_that_numpy_lacks_travel_as_their_bits(here, dtype):
    x = np.array([[1, -2, 0.5], [3, 0, -0.25]], getattr(ml_dtypes, dtype))
    model = identity("m.onnx", helper.np_dtype_to_tensor_dtype(x.dtype))
    np.save("x.npy", x.view(BIT_TYPES[dtype]))
    np.save("as_saved.npy", x)
    for file in ("x.npy", "as_saved.npy"):
        answer = run_json(model, "--input", f"x={file}", "--output", "y.npy")
        assert answer["outputs"][0]["first"] == [1, -2, 0.5, 3, 0]
        np.testing.assert_array_equal(np.load("y.npy").view(x.dtype), x)
    sardonyx("run", model, "--input", "x.npy", "--output", "y.pb")
    assert pathlib.Path("y.pb").read_bytes()[-len(x.tobytes()):] == x.tobytes()


def test_strings_keep_every_letter(here):
    x = np.array([["a", "Zürich"], ["", "漢字 😀"]])
    model = identity("m.onnx", TensorProto.STRING)
    np.save("x.npy", x)
    sardonyx("run", model, "--input", "x.npy", "--output", "y.npy")
    np.testing.assert_array_equal(np.load("y.npy"), x)


def test_other_layouts_of_npy_are_understood(here):
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    model = identity("m.onnx", TensorProto.FLOAT, (2, 3, 4))
    for name, array in (("fortran", np.asfortranarray(x)), ("big_endian", x.astype(">f4"))):
        np.save(f"{name}.npy", array)
        sardonyx("run", model, "--input", f"x={name}.npy", "--output", "y.npy")
        np.testing.assert_array_equal(np.load("y.npy"), x, name)


def test_numbers_of_a_pb_may_stand_in_their_own_fields(here):
    model = identity("m.onnx", TensorProto.FLOAT16, (2, 2))
    x = np.array([[1, 2], [-3, 0.5]], np.float16)
    tensor = helper.make_tensor("x", TensorProto.FLOAT16, (2, 2), x)
    assert tensor.int32_data
    pathlib.Path("x.pb").write_bytes(tensor.SerializeToString())
    sardonyx("run", model, "--input", "x.pb", "--output", "y.npy")
    np.testing.assert_array_equal(np.load("y.npy"), x)


@pytest.mark.parametrize("damage", ["empty", "cut", "text"])
def test_damaged_files_get_an_error_with_their_name(here, linear, damage):
    np.save("x.npy", np.ones((2, 3), np.float32))
    good = pathlib.Path("x.npy").read_bytes()
    pathlib.Path("x.npy").write_bytes({"empty": b"", "cut": good[:-3], "text": b"hello, this is no array"}[damage])
    error = sardonyx("run", linear, "--input", "x=x.npy", expect=1).stderr
    assert "'x.npy': not a usable .npy" in error and "INVALID_ARGUMENT" in error


# ---- inputs of a run ----


def test_an_output_folder_receives_a_file_for_each_output(here, linear):
    answer = run_json(linear, "--dim", "batch=4", "--seed", "3", "--output", "out")
    assert answer["written"] == ["out/y.npy", "out/z.npy"]
    assert np.load("out/y.npy").shape == (4, 2) and np.load("out/z.npy").shape == (4, 3)


def test_equal_seeds_give_equal_numbers_and_others_do_not(linear):
    first, again, other = (run_json(linear, "--seed", seed)["outputs"] for seed in (1, 1, 2))
    assert first == again and first != other


def test_numbers_fill_and_ranges_bound(linear):
    filled = run_json(linear, "--input", "x=-2", "--only", "z")["outputs"]
    assert [output["name"] for output in filled] == ["z"]
    assert filled[0]["min"] == filled[0]["max"] == 2 and filled[0]["shape"] == [1, 3]
    bounded = run_json(linear, "--shape", "x=1000x3", "--range", "3,4", "--only", "z")["outputs"][0]
    assert 3 <= bounded["min"] < 3.01 and 3.99 < bounded["max"] <= 4 and abs(bounded["mean"] - 3.5) < 0.02


def test_an_input_declared_as_a_scalar_takes_any_shape_with_a_warning(here):
    model = save("m.onnx", [helper.make_node("Add", ["x", "x"], ["y"])], [value("x", TensorProto.FLOAT, [])],
                 [value("y", TensorProto.FLOAT, [])])
    np.save("x.npy", np.array([1, 2], np.float32))
    done = sardonyx("run", model, "--input", "x=x.npy", "--json")
    assert json.loads(done.stdout)["outputs"][0]["first"] == [2, 4]
    assert done.stderr.count("input 'x' is declared as a scalar") == 1


def test_what_was_assumed_is_said(linear):
    assert "the model leaves batch open: 1 is assumed" in sardonyx("run", linear).stdout


def test_times_are_counted(linear):
    assert len(run_json(linear, "--repeat", "7", "--warmup", "2")["time_ms"]["runs"]) == 7


@pytest.mark.parametrize(("arguments", "message"), [
    (["--input", "y=3"], "the model has no input 'y'; its inputs are 'x'"),
    (["--input", "x=abc"], "expected a number, a file that ends in .npy, .npz or .pb, or an image, found 'abc'"),
    (["--input", "x=missing.npy"], "cannot read 'missing.npy'"),
    (["--input", "x=double.npy"], "expected elements of type float, found double in 'double.npy'"),
    (["--input", "x=wide.npy"], "expected float [batch, 3], found shape 2x4 in 'wide.npy'"),
    (["--dim", "bach=3"], "no input has a dimension named 'bach'; open dimensions are 'batch'"),
    (["--dim", "batch=three"], "expected a whole number of at least 0 for 'batch', found 'three'"),
    (["--shape", "x=2by3"], "expected numbers with x between"),
    (["--range", "5"], "expected LOW,HIGH"),
    (["--output", "both.npy"], "'both.npy': expected one tensor for this kind of file, found 2"),
])
def test_wrong_inputs_get_an_error_that_helps(here, linear, arguments, message):
    np.save("double.npy", np.ones((2, 3)))
    np.save("wide.npy", np.ones((2, 4), np.float32))
    assert message in sardonyx("run", linear, *arguments, expect=1).stderr


# ---- the other commands ----


def test_info_describes_the_model(linear):
    card = json.loads(sardonyx("info", linear, "--json").stdout)
    assert card["operators"] == {"Abs": 1, "MatMul": 1}
    assert card["parameter_count"] == 6 and card["parameter_bytes"] == 24
    text = sardonyx("info", linear).stdout
    for part in ("x  float [batch, 3]", "y  float [batch, 2]", "ai.onnx 21", "24 bytes (6 numbers)", "MatMul  1"):
        assert part in text


def test_optimize_writes_a_model_that_computes_the_same(linear, here):
    sardonyx("optimize", linear, "--output", "optimized.onnx", "--level", "basic")
    onnx.checker.check_model("optimized.onnx")
    want, got = (run_json(model, "--dim", "batch=5")["outputs"] for model in (linear, "optimized.onnx"))
    assert want == got


def test_compile_writes_a_model_that_computes_the_same(linear, here):
    assert "wrote linear.sdx: " in sardonyx("compile", linear).stdout
    assert json.loads(sardonyx("compile", linear, "-o", "five.sdx", "--dim", "batch=5", "--json").stdout) == {
        "output": "five.sdx", "bytes": (here / "five.sdx").stat().st_size}
    want = run_json(linear, "--dim", "batch=5")["outputs"]
    assert run_json("linear.sdx", "--dim", "batch=5")["outputs"] == run_json("five.sdx")["outputs"] == want
    assert "MatMul" in sardonyx("info", "linear.sdx").stdout
    assert "MatMul" in sardonyx("print", "linear.sdx").stdout
    assert sardonyx("check", "linear.sdx").stdout.endswith("ok\n")
    assert "expected another file than the model" in sardonyx("compile", "linear.sdx", expect=1).stderr


def test_optimize_sets_inputs(here):
    nodes = [helper.make_node("ReduceSum", ["x", "axes"], ["s"]), helper.make_node("Mul", ["s", "k"], ["y"])]
    save("sum.onnx", nodes, [value("x", TensorProto.FLOAT, ["n", 2]), value("axes", TensorProto.INT64, [1]),
                             value("k", TensorProto.FLOAT, ["m"])], [value("y", TensorProto.FLOAT, None)])
    np.save("k.npy", np.array([3, 4], np.float32))
    sardonyx("optimize", "sum.onnx", "-o", "fixed.onnx", "--level", "basic", "--set-input", "axes=1", "--set-input",
             "k=k.npy")
    assert [port.name for port in onnx.load("fixed.onnx").graph.input] == ["x"]
    sardonyx("run", "fixed.onnx", "-i", "x=2", "--dim", "n=1", "--output", "y.npy")
    np.testing.assert_array_equal(np.load("y.npy"), [[12, 16]])
    for arguments, message in [
            (["--set-input", "z=1"], "--set-input: the model has no input 'z'"),
            (["--set-input", "k=1"], "--set-input k: the model leaves open m; give it with --dim"),
            (["--set-input", "axes"], "--set-input: expected NAME=VALUE, found 'axes'")]:
        assert message in sardonyx("optimize", "sum.onnx", "-o", "no.onnx", *arguments, expect=1).stderr
    sardonyx("optimize", "sum.onnx", "-o", "filled.onnx", "--set-input", "k=2", "--dim", "m=2")


def test_optimize_explains_what_passes_did_and_why_not(linear):
    text = sardonyx("optimize", linear, "--explain", "--rule", "fuse_product_epilogue").stdout
    assert all(line.startswith("fuse_product_epilogue: ") for line in text.splitlines())
    assert "not changed: its result is an output" in text and "fuse_product_epilogue: no change" in text
    everything = sardonyx("optimize", linear, "--explain").stdout
    for name in ("fold_constants", "eliminate_dead_nodes", "fuse_attention"):
        assert name in everything
    wrong = sardonyx("optimize", linear, "--explain", "--rule", "fuse_gelo", expect=1)
    assert "did you mean 'fuse_gelu'?" in wrong.stderr


def test_optimize_wants_to_know_what_for(linear):
    assert "expected --output FILE (to write the model) or --explain" in sardonyx("optimize", linear, expect=1).stderr


def test_check_says_what_is_wrong_with_a_model(here, linear):
    assert "ok" in sardonyx("check", linear).stdout
    bad = save("bad.onnx", [helper.make_node("Rellu", ["x"], ["y"], "my_node")], [value("x", TensorProto.FLOAT, [2])],
               [value("y", TensorProto.FLOAT, [2])])
    done = subprocess.run([TOOL, "check", bad, "--json"], capture_output=True, text=True)
    assert done.returncode in (1, 3)
    error = json.loads(done.stdout)["error"]
    for part in ("bad.onnx", "my_node", "Rellu", "Relu"):
        assert part in error["message"]


def test_print_gives_text_that_onnx_reads(linear):
    text = sardonyx("print", linear, "--max-elements", "0").stdout
    parsed = onnx.parser.parse_model(text)
    assert [node.op_type for node in parsed.graph.node] == ["MatMul", "Abs"]
    assert "MatMul" in sardonyx("print", linear, "--optimized").stdout


def test_a_model_may_be_text(here, linear):
    pathlib.Path("linear.onnxtxt").write_text(sardonyx("print", linear, "--max-elements", "0").stdout)
    assert run_json("linear.onnxtxt")["outputs"] == run_json(linear)["outputs"]


def test_missing_models_and_wrong_commands_have_their_exit_codes(here):
    for command in ("info", "run", "check", "print"):
        error = sardonyx(command, "missing.onnx", expect=1).stderr
        assert "missing.onnx" in error and "NO_SUCHFILE" in error
    assert "MODEL is required" in sardonyx("run", expect=2).stderr
    sardonyx("fly", expect=2)
    sardonyx("run", "model.onnx", "--threads", "many", expect=2)
    assert sardonyx("--version").stdout.startswith("sardonyx 0.")


def test_colours_are_for_terminals_only(linear):
    assert "\033[" not in sardonyx("info", linear).stdout
    reader, writer = pty.openpty()
    variables = {name: text for name, text in os.environ.items() if name != "NO_COLOR"} | {"TERM": "xterm"}
    subprocess.run([TOOL, "info", linear], stdout=writer, env=variables, check=True)
    os.close(writer)
    assert b"\033[1m" in os.read(reader, 100000)
    os.close(reader)
