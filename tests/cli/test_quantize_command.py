"""`sardonyx quantize` and `sardonyx convert`: defaults, data, targets, the page, errors, Ctrl-C."""
import contextlib
import errno
import html.parser
import io
import json
import os
import pathlib
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import types

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import helper, numpy_helper
from sardonyx.commands import __main__, comparison, layers, page, quantize

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", ROOT / "build/release"))
TOOL = BUILD / "bin/sardonyx"
ENVIRONMENT = {**os.environ, "SARDONYX_PYTHON": sys.executable}
IMAGES = """<ir_version: 10, opset_import: ["" : 21]>
net (float[batch, 3, 16, 16] x) => (float[batch, 10] y) {
  c = Conv <pads = [1, 1, 1, 1]> (x, k)
  r = Relu (c)
  d = Conv <pads = [1, 1, 1, 1]> (r, l)
  p = GlobalAveragePool (d)
  f = Flatten (p)
  y = MatMul (f, w)
}"""
TEXTS = """<ir_version: 10, opset_import: ["" : 21]>
net (int64[batch, sequence] ids, int64[batch, sequence] attention_mask) => (float[batch, sequence, 8] y) {
  e = Gather (table, ids)
  a = Cast <to = 1> (attention_mask)
  u = Unsqueeze (a, last)
  m = Mul (e, u)
  h = MatMul (m, w)
  t = Tanh (h)
  y = MatMul (t, v)
}"""


def sardonyx(*arguments, expect=0, **environment):
    done = subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True,
                          env={**ENVIRONMENT, **environment})
    assert done.returncode == expect, f"{arguments}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
    return done


class Told:
    """What a command that runs in this process did: starting Python each time would take longer than the command."""

    def __init__(self, code, stdout, stderr):
        self.returncode, self.stdout, self.stderr = code, stdout, stderr


def quick(*arguments, expect=0):
    """The tool with a Python that only copies the request, and then the command in this process."""
    place = pathlib.Path(tempfile.mkdtemp(dir="."))
    python = place / "python"
    python.write_text(f'#!/bin/sh\nif [ "$1" != -c ]; then cp -r "${{3%/*}}" {place.resolve()}/copy; fi\n')
    python.chmod(stat.S_IRWXU)
    done = subprocess.run([TOOL, *map(str, arguments), "--seconds", "0"], capture_output=True, text=True,
                          env={**ENVIRONMENT, "SARDONYX_PYTHON": str(python.resolve())})
    told = Told(done.returncode, done.stdout, done.stderr)
    request = place / "copy/request.json"
    if request.exists():
        there = json.loads(request.read_text())["folder"]
        request.write_text(request.read_text().replace(there, str(place.resolve() / "copy")))
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), \
                pytest.MonkeyPatch.context() as changed:
            changed.setattr(__main__, "raise_on_signals", lambda: None)
            told = Told(__main__.main(str(request)), out.getvalue(), done.stderr + err.getvalue())
    shutil.rmtree(place)
    assert told.returncode == expect, f"{arguments}: exit code {told.returncode}\n{told.stdout}{told.stderr}"
    return told


def run_json(command, *arguments):
    return json.loads(quick(command, *arguments, "--json").stdout)


def save(path, text, **weights):
    model = onnx.parser.parse_model(text)
    for number, node in enumerate(model.graph.node):
        node.name = f"/{node.op_type}_{number}"
    for name, array in weights.items():
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    onnx.save(model, path)
    return path


def normal(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def images(here):
    return save("net.onnx", IMAGES, k=normal(1, 8, 3, 3, 3), l=normal(2, 8, 8, 3, 3), w=normal(3, 8, 10))


@pytest.fixture
def texts(here):
    return save("texts.onnx", TEXTS, table=normal(1, 11, 16), w=normal(2, 16, 32), v=normal(3, 32, 8),
                last=np.array([-1], np.int64))


def picture(path, seed, height=20, width=24):
    path.parent.mkdir(exist_ok=True, parents=True)
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)
    path.write_bytes(b"P6 %d %d 255\n" % (width, height) + pixels.tobytes())
    return path


def pictures(folder, count):
    for number in range(count):
        picture(folder / f"{number % 2}" / f"p{number:02}.ppm", number)
    return folder


class Page(html.parser.HTMLParser):
    """Balanced tags, references, texts."""

    def __init__(self):
        super().__init__()
        self.open, self.texts, self.references = [], [], []

    def handle_starttag(self, tag, attributes):
        self.references += [value for name, value in attributes if name in ("src", "href")]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


# ---- the usual way ----


def test_a_network_becomes_integers_and_its_page_shows_the_layers(images, here):
    pictures(here / "photos", 24)
    (here / "photos/damaged.png").write_bytes(b"nothing")
    (here / "photos/notes.txt").write_text("nothing")
    done = sardonyx("quantize", images, "--data", "photos", "--report", "page.html", "--seconds", 0.01)
    assert "left out: 'photos/damaged.png': expected an image" in done.stderr
    for words in ("24 samples from photos: 17 for ranges, 7 others to compare", "Before and after", "smaller",
                  "Layers that cost most accuracy", "Layers that bring most speed", "wrote net.int8.onnx",
                  "static QDQ"):
        assert words in done.stdout, words
    assert "warning" not in done.stdout
    kinds = [node.op_type for node in onnx.load("net.int8.onnx").graph.node]
    assert kinds.count("DequantizeLinear") > 5
    text = pathlib.Path("page.html").read_text()
    read = Page()
    read.feed(text)
    assert not read.open and not read.references and "url(" not in text
    assert set(re.findall(r"https?://[^\"']*", text)) <= {"http://www.w3.org/2000/svg"}
    joined = " ".join(read.texts)
    for words in ("Signal to noise through the model", "All layers", "/Conv_0", "What was tried", "histogram"):
        assert words in joined
    histograms = json.loads(re.search(r'id="histograms">(.*?)</script>', text).group(1))
    assert len(histograms) == 4 and all(abs(sum(one["bars"]) - 1) < 0.01 for one in histograms.values())
    assert sorted(path.name for path in here.iterdir()) == ["net.int8.onnx", "net.onnx", "page.html", "photos"]


def test_the_page_lists_as_fast_what_saves_time():
    made = [layers.Layer(f"layer{at}", "Conv", "y", True, float_ms=0.05, integer_ms=0.05 - gain)
            for at, gain in enumerate((-0.01, 0.02, 0.0, 0.01))]
    text = page._gain(types.SimpleNamespace(layers=made))
    assert re.findall("layer[0-9]", text) == ["layer1", "layer3"]
    assert re.findall("width:([0-9]+)px", text) == ["90", "45"]
    assert "No layer takes less time" in page._gain(types.SimpleNamespace(layers=made[:1]))


def test_the_page_leaves_out_columns_that_say_nothing():
    made = layers.Layer("conv", "Conv", "y", True, sqnr=30.0)
    known = types.SimpleNamespace(of={"y": [np.ones(4)]})
    text = page._all_layers(types.SimpleNamespace(layers=[made], workshop=types.SimpleNamespace(histograms=known)))
    assert re.findall("<th>(.*?)</th>", text) == ["", "layer", "operator", "computes with", "SQNR", "histogram"]
    assert text.count("<td") == 6


def test_images_are_those_of_run(images, here):
    picture(here / "one.ppm", 5)
    settings = ["--mean", "0.4,0.5,0.6", "--std", "0.2,0.3,0.4", "--fit", "crop", "--channels", "bgr"]
    answer = run_json("quantize", images, "--data", "one.ppm", *settings)
    assert answer["samples"] == {"count": 1, "calibration": 1, "comparison": 1, "random_inputs": []}
    seen = json.loads(sardonyx("run", images, "--input", "one.ppm", "--only", "r", *settings, "--json").stdout)
    layer = next(layer for layer in answer["layers"] if layer["node"] == "/Conv_0")
    assert [layer["lowest"], layer["highest"]] == pytest.approx([seen["outputs"][0][key] for key in ("min", "max")],
                                                               rel=1e-5)
    assert answer["accuracy"]["sqnr_db"] > 20 and answer["after"]["bytes"] < 2 * answer["before"]["bytes"]


def test_random_tokens_are_rows_of_the_table(texts):
    done = quick("quantize", texts, "--seed", 3)
    for words in ("warning: no --data: the inputs are random, 16 samples (8 for ranges, 8 others to compare)",
                  "'ids' selects from a table of 11 rows: numbers from 0 to 10",
                  "the model leaves sequence open: 32 is assumed (see --dim and --shape)"):
        assert words in done.stdout, words
    refused = quick("quantize", texts, "--range", "0,50", expect=1)
    words = "input 'ids' selects from a table of 11 rows, so that its numbers lie from 0 to 10, found 50"
    assert words in refused.stderr


@pytest.mark.parametrize("method", ["dynamic", "static", "int4"])
def test_methods(texts, method):
    answer = run_json("quantize", texts, "--method", method, "--dim", "sequence=5", "-o", "made.onnx", "--samples", 4,
                      "--block-size", 16)
    kinds = [node.op_type for node in onnx.load("made.onnx").graph.node]
    assert {"dynamic": "MatMulInteger", "static": "QuantizeLinear", "int4": "MatMulNBits"}[method] in kinds
    assert answer["method"] == method and answer["accuracy"]["sqnr_db"] > 12
    assert answer["onnxruntime"]["accuracy"]["sqnr_db"] == pytest.approx(answer["accuracy"]["sqnr_db"], abs=3)


def test_products_of_two_values_stay_in_float_where_convolutions_do_not_prevail(here):
    model = save("attention.onnx", """<ir_version: 10, opset_import: ["" : 21]>
net (float[1, 8, 16] x) => (float[1, 8, 16] y) {
  q = MatMul (x, a)
  k = MatMul (x, b)
  t = Transpose <perm = [0, 2, 1]> (k)
  s = MatMul (q, t)
  p = Softmax (s)
  m = MatMul (p, x)
  y = MatMul (m, c)
}""", a=normal(1, 16, 16), b=normal(2, 16, 16), c=normal(3, 16, 16))
    answer = run_json("quantize", model, "--method", "static")
    made = onnx.load("attention.int8.onnx")
    integers = {name for node in made.graph.node if node.op_type == "DequantizeLinear" for name in node.output}
    assert {node.name: integers.issuperset(node.input) for node in made.graph.node if node.op_type == "MatMul"} == {
        "/MatMul_0": True, "/MatMul_1": True, "/MatMul_3": False, "/MatMul_5": False, "/MatMul_6": True}
    assert [layer["node"] for layer in answer["layers"]] == ["/MatMul_0", "/MatMul_1", "/MatMul_6"]


def test_operators_on_integers_and_nodes_that_stay(images):
    answer = run_json("quantize", images, "--format", "qoperator", "--calibrate", "entropy", "--exclude", "/MatMul*",
                      "--reduce-range", "no")
    kinds = [node.op_type for node in onnx.load("net.int8.onnx").graph.node]
    assert kinds.count("QLinearConv") == 2 and "MatMul" in kinds
    assert answer["ranges"] == "entropy" and answer["left_in_float"] == ["/MatMul_5"]
    assert {layer["node"]: layer["quantized"] for layer in answer["layers"]} == {
        "/Conv_0": True, "/Conv_2": True, "/GlobalAveragePool_3": True, "/MatMul_5": False}
    assert all(layer["sqnr_db"] is not None for layer in answer["layers"] if layer["quantized"])


def test_gemm_stays_on_request_with_ranges_of_each_run(here):
    model = save("gemm.onnx", """<ir_version: 10, opset_import: ["" : 21]>
net (float[4, 16] x) => (float[4, 8] y) { a = Gemm (x, w, b) y = Gemm (a, v, b) }""", w=normal(1, 16, 8),
                 v=normal(2, 8, 8), b=normal(3, 8))
    for excluded, left in (([], 0), (["--exclude", "/Gemm_1"], 1)):
        answer = run_json("quantize", model, "--method", "dynamic", *excluded)
        kinds = [node.op_type for node in onnx.load("gemm.int8.onnx").graph.node]
        assert kinds.count("MatMulInteger") == 2 - left
        assert [layer["quantized"] for layer in answer["layers"]] == [True, not left]


# ---- data ----


def test_forms_of_data(texts, here):
    random = np.random.default_rng(0)
    ids, mask = random.integers(0, 11, (30, 6)), np.ones((30, 6), np.int64)
    np.savez("rows.npz", ids=ids, attention_mask=mask)
    (here / "sets").mkdir()
    for number in range(3):
        folder = here / f"sets/test_data_set_{number}"
        folder.mkdir()
        for place, array in enumerate((ids[:2], mask[:2])):
            (folder / f"input_{place}.pb").write_bytes(numpy_helper.from_array(array).SerializeToString())
    for number in range(2):
        folder = here / f"named/{number}"
        folder.mkdir(parents=True)
        np.save(folder / "ids.npy", ids[:1])
        np.save(folder / "attention_mask.npy", mask[:1])
    np.savez("ids.npz", ids=ids)
    for data, count, lacking in (("rows.npz", 30, []), ("sets", 3, []), ("named", 2, []),
                                 ("ids.npz", 30, ["attention_mask"])):
        answer = run_json("quantize", texts, "--data", data, "--method", "dynamic", "--dim", "sequence=6",
                          "--dim", "batch=1")
        assert (answer["samples"]["count"], answer["samples"]["random_inputs"]) == (count, lacking), data
    answer = run_json("quantize", texts, "--data", "ids.npz", "--input", "attention_mask=1", "--method", "dynamic",
                      "--dim", "sequence=6", "--samples", 7)
    assert (answer["samples"]["count"], answer["samples"]["random_inputs"]) == (7, [])


def test_an_array_that_is_saved_without_a_name_is_for_the_only_input(images, here):
    random = np.random.default_rng(0)
    np.savez("plain.npz", random.standard_normal((4, 3, 16, 16)).astype(np.float32))
    answer = run_json("quantize", images, "--data", "plain.npz", "--method", "dynamic")
    assert (answer["samples"]["count"], answer["samples"]["random_inputs"]) == (4, [])


# ---- targets ----


@pytest.fixture
def hard(here):
    """Between ordinary layers one whose values have a far outlier."""
    outlier = normal(2, 16, 16)
    outlier[:, 3] *= 2000
    return save("hard.onnx", """<ir_version: 10, opset_import: ["" : 21]>
net (float[batch, 16] x) => (float[batch, 16] y) {
  a = MatMul (x, first)
  b = MatMul (a, outlier)
  c = MatMul (b, back)
  y = MatMul (c, last)
}""", first=normal(1, 16, 16), outlier=outlier, last=normal(4, 16, 16),
                back=(normal(3, 16, 16) / np.where(np.arange(16) == 3, 2000, 1)[:, None]).astype(np.float32))


def test_a_target_leaves_the_layers_in_float_that_matter(hard):
    plain = run_json("quantize", hard, "--method", "static", "--calibrate", "minmax", "--range=-1,1")
    answer = run_json("quantize", hard, "--method", "static", "--calibrate", "minmax", "--target-sqnr", 12,
                      "--target-agreement", 0.6)
    assert plain["accuracy"]["sqnr_db"] < 10 and answer["accuracy"]["sqnr_db"] >= 12
    assert answer["left_in_float"] == ["/MatMul_1", "/MatMul_2"]
    assert 1 < len(answer["search"]) <= 30 and not answer["search"][0]["met"]
    assert any(step["met"] for step in answer["search"])


def test_a_target_that_is_not_met_writes_nothing(hard, here):
    # The second leaves all layers but one: what each adds tells that fewer will not do.
    refused = quick("quantize", hard, "--method", "static", "--target-sqnr", 150, "--evaluations", 3, expect=1)
    assert "the target of 150 dB was not met in 2 evaluations: the best had" in refused.stderr
    assert [path.name for path in here.iterdir()] == ["hard.onnx"]


# ---- conversion ----


def test_half_precision_and_four_bits(texts, here):
    for to, least in (("fp16", 55), ("bf16", 35), ("int4", 12)):
        answer = run_json("convert", texts, "--to", to, "--samples", 3)
        assert answer["accuracy"]["sqnr_db"] > least and answer["output"] == f"texts.{to}.onnx"
        made = onnx.load(answer["output"])
        assert made.graph.output[0].type.tensor_type.elem_type == onnx.TensorProto.FLOAT
    assert {one.data_type for one in onnx.load("texts.bf16.onnx").graph.initializer} == {
        onnx.TensorProto.BFLOAT16, onnx.TensorProto.INT64}
    run_json("convert", texts, "--to", "fp16", "--convert-io", "-o", "io.onnx")
    assert onnx.load("io.onnx").graph.output[0].type.tensor_type.elem_type == onnx.TensorProto.FLOAT16


def test_a_model_that_ends_the_process_of_onnx_runtime(texts, here, monkeypatch):
    """As some recurrent ones of half precision do: the command goes on without it."""
    monkeypatch.setattr("sardonyx.commands.speed._TRIAL", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    answer = run_json("convert", texts, "--to", "fp16", "--samples", 3)
    assert answer["onnxruntime"]["note"] == "ONNX Runtime does not run it: it ends its process (SIGSEGV)"
    assert answer["onnxruntime"]["accuracy"] is None and answer["accuracy"]["sqnr_db"] > 55


@pytest.mark.parametrize("is_half", [True, False])
def test_notes_say_what_the_numbers_say(is_half):
    accuracy, peer = (types.SimpleNamespace(sqnr=sqnr, not_finite=[], other_shapes=[]) for sqnr in (60.0, 50.0))
    result = comparison.Comparison(comparison.Side(100, 1.0), comparison.Side(120, 2.0), accuracy, peer)
    comparison._note(result, accuracy, is_half, not is_half)
    slower, lower = result.notes
    assert "smaller" not in slower and ("integers" in slower) != is_half
    assert ("8-bit" in lower) != is_half and "50.0 dB" in lower
    result.after.size, result.notes = 80, []
    comparison._note(result, accuracy, is_half, not is_half)
    assert result.notes[0].endswith("; it is smaller all the same")


def test_weights_that_are_inputs(texts, here):
    """As exporters wrote them once: no data is read for them."""
    model = onnx.load(texts)
    model.graph.input.extend(helper.make_tensor_value_info(one.name, one.data_type, list(one.dims))
                             for one in model.graph.initializer if one.data_type == onnx.TensorProto.FLOAT)
    onnx.save(model, "inputs.onnx")
    answer = run_json("quantize", "inputs.onnx", "--samples", 3)
    names = [one.name for one in onnx.load(answer["output"]).graph.input]
    assert answer["accuracy"]["sqnr_db"] > 20 and names == ["ids", "attention_mask"]
    for to, least in (("fp16", 55), ("bf16", 35), ("int4", 12)):
        assert run_json("convert", "inputs.onnx", "--to", to, "--samples", 3)["accuracy"]["sqnr_db"] > least


def test_weights_that_lie_beside_the_model(texts, here, monkeypatch):
    """As those of more than 2 GB do, which no proto holds: the same numbers."""
    for to in ("fp16", "bf16"):
        inside = run_json("convert", texts, "--to", to, "--samples", 3)
        with monkeypatch.context() as only_here:
            only_here.setattr("sardonyx.commands.convert._LARGE", 100)
            beside = run_json("convert", texts, "--to", to, "--samples", 3, "-o", f"beside.{to}.onnx")
        assert (here / f"beside.{to}.onnx.data").exists() and not (here / f"texts.{to}.onnx.data").exists()
        assert beside["accuracy"] == inside["accuracy"] and beside["accuracy"]["sqnr_db"] > 30


def test_values_that_half_precision_lacks_stay_float(here):
    model = save("large.onnx", """<ir_version: 10, opset_import: ["" : 21]>
net (float[2, 16] x) => (float[2, 4] y) {
  a = MatMul (x, w)
  b = Mul (a, a)
  c = Sqrt (b)
  y = MatMul (c, v)
}""", w=normal(1, 16, 8) * 500, v=normal(2, 8, 4) / 10)
    answer = run_json("convert", model, "--to", "fp16")
    assert {"/Mul_1", "/Sqrt_2"} <= set(answer["left_in_float"]) and "/MatMul_3" not in answer["left_in_float"]
    assert answer["accuracy"]["sqnr_db"] > 50 and not answer["accuracy"]["not_finite"]


# ---- errors ----


def test_errors_say_what_to_do(images, texts, here):
    (here / "empty").mkdir()
    (here / "texts").mkdir()
    (here / "texts/a.txt").write_text("words")
    np.save("wrong.npy", np.zeros((1, 3, 8, 8), np.float32))
    np.save("type.npy", np.zeros((1, 3, 16, 16)))
    np.save("nan.npy", np.full((1, 3, 16, 16), np.nan, np.float32))
    (here / "notes.txt").write_text("to do")
    os.mkfifo("pipe.onnx")
    np.savez("other.npz", pixels=normal(1, 1, 3, 16, 16))
    np.savez("others.npz", ids=np.ones((1, 6), np.int64), mask=np.ones((1, 6), np.int64))
    (here / "damaged").mkdir()
    (here / "damaged/a.png").write_bytes(b"nothing")
    picture(here / "p.ppm", 0)
    save("add.onnx", '<ir_version: 10, opset_import: ["" : 21]> g (float[2] x) => (float[2] y) { y = Add (x, x) }')
    quick("quantize", images, "--samples", 2, "-o", "done.onnx")
    quick("convert", images, "--to", "fp16", "--samples", 2, "-o", "half.onnx")
    for arguments, words in (
            (["quantize", "done.onnx"], "'done.onnx' is quantized already: it has"),
            (["quantize", "add.onnx"], "'add.onnx' has nothing to quantize: no Attention, Conv"),
            (["convert", "add.onnx", "--to", "int4"], "'add.onnx' has no MatMul with weights of floats"),
            (["quantize", images, "--data", "nowhere"], "--data: there is no folder or file 'nowhere'"),
            (["quantize", images, "--data", "empty"], "in 'empty', found no file"),
            (["quantize", images, "--data", "texts"], "found 1 other files, such as 'a.txt'"),
            (["quantize", images, "--data", "damaged"], "'damaged/a.png': expected an image"),
            (["quantize", images, "--data", "wrong.npy"],
             "input 'x': expected float [batch, 3, 16, 16], found shape 1x3x8x8 in 'wrong.npy'"),
            (["quantize", images, "--data", "type.npy"], "expected elements of type float, found double in 'type.npy'"),
            (["quantize", images, "--data", "other.npz"],
             "'other.npz': expected arrays with the names of inputs, 'x', found 'pixels'"),
            (["quantize", texts, "--data", "others.npz"],
             "'others.npz': expected arrays with the names of inputs, 'ids', 'attention_mask', found 'ids', 'mask'"),
            (["quantize", texts, "--data", "p.ppm"], "name the one for images with --image-input"),
            (["quantize", images, "--data", "nan.npy"],
             "on nan.npy the original gives NaN alone for 'y', and nothing can be compared with that; its input 'x'"),
            (["quantize", "notes.txt"], "'notes.txt', read as ONNX's text syntax because of its ending: "),
            (["convert", "notes.txt", "--to", "fp16"], "'notes.txt', read as ONNX's text syntax"),
            (["convert", "half.onnx", "--to", "fp16"], "'half.onnx' is in half precision already"),
            (["quantize", images, "-o", "pipe.onnx"], "found 'pipe.onnx', which is a device or a pipe"),
            (["quantize", images, "--report", "/dev/full"], "found '/dev/full', which is a device or a pipe"),
            (["quantize", images, "-o", "missing/a.onnx"], "--output: there is no folder 'missing'"),
            (["quantize", images, "-o", images], "--output: expected another file than the model"),
            (["quantize", images, "--report", "missing/a.html"], "--report: there is no folder 'missing'"),
            (["quantize", images, "--exclude", "/Conv_9"], "--exclude: no node has the name '/Conv_9'"),
            (["quantize", images, "--compare", "z"], "--compare: the model has no output 'z'; its outputs are 'y'"),
            (["quantize", images, "--dim", "bath=2"], "--dim: no input has a dimension named 'bath'")):
        refused = quick(*arguments, expect=1)
        assert words in refused.stderr and refused.stderr.startswith("sardonyx: error: "), refused.stderr
    answer = json.loads(quick("quantize", "add.onnx", "--json", expect=1).stdout)
    assert answer["error"]["code"] == "INVALID_ARGUMENT" and "nothing to quantize" in answer["error"]["message"]


def test_without_the_package_the_tool_says_so(images, here):
    (here / "python").write_text("#!/bin/sh\necho \"ModuleNotFoundError: No module named 'sardonyx'\" >&2; exit 1\n")
    (here / "python").chmod(stat.S_IRWXU)
    for python, words in ((here / "python", "says: ModuleNotFoundError: No module named 'sardonyx'"),
                          ("nowhere/python", "nowhere/python is not there")):
        refused = sardonyx("quantize", images, expect=3, SARDONYX_PYTHON=str(python))
        assert words in refused.stderr and "SARDONYX_PYTHON=/path/to/python sardonyx quantize" in refused.stderr
        assert "is done by the Python package sardonyx" in refused.stderr


# ---- files ----


def python_that(here, lines):
    """A Python that runs these lines before the command."""
    script = here / "changed.py"
    script.write_text("import sys\nfrom sardonyx.commands import __main__, candidates\n" + lines
                      + "\nsys.exit(__main__.main(sys.argv[1]))\n")
    python = here / "python"
    python.write_text(f'#!/bin/sh\nif [ "$1" = -c ]; then exec {sys.executable} "$@"; fi\n'
                      f'exec {sys.executable} {script} "$3"\n')
    python.chmod(stat.S_IRWXU)
    return str(python)


def test_weights_of_large_models_lie_beside_them(here):
    model = save("net.onnx", IMAGES, k=normal(1, 16, 3, 3, 3), l=normal(2, 16, 16, 3, 3), w=normal(3, 16, 10))
    out = here / "out"
    out.mkdir()
    python = python_that(here, "candidates.LARGE = 0")
    sardonyx("quantize", model, "-o", "out/q.onnx", "--seconds", 0, SARDONYX_PYTHON=python)
    assert sorted(path.name for path in out.iterdir()) == ["q.onnx", "q.onnx.data"]
    import sardonyx as runtime

    session = runtime.InferenceSession("out/q.onnx")
    assert session.run(None, {"x": normal(1, 1, 3, 16, 16)})[0].shape == (1, 10)


@pytest.mark.parametrize(("step", "words"), [
    ("_put", "cannot write 'q.onnx': no space is left in '.'. Make room there, or choose another place"),
    ("_say_data", "(that is the folder for temporary files: TMPDIR names another)")])
def test_a_full_disk_is_told_with_the_place(images, here, monkeypatch, step, words):
    def full(work, *arguments):
        path = arguments[0] if arguments else work.folder / "a.onnx"
        path.write_bytes(b"half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
    monkeypatch.setattr(quantize.Quantization, step, full)
    refused = quick("quantize", images, "--samples", 2, "-o", "q.onnx", expect=1)
    assert words in refused.stderr and not list(here.glob("*q.onnx*"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_command_leaves_no_half_file(images, here, number):
    out, temporary = here / "out", here / "temporary"
    out.mkdir()
    temporary.mkdir()
    (out / "q.onnx").write_bytes(b"the file of before")
    # The command stops in the middle of writing, says so, and waits for the signal.
    python = python_that(here, """
import time
from sardonyx.commands import quantize
def half(self, path):
    path.write_bytes(b"half")
    path.with_name("q.onnx.data").write_bytes(b"half")
    print("WRITING", flush=True)
    while True:
        time.sleep(0.05)  # a signal just before signal.pause() would be waited for again
quantize.Quantization._put = half""")
    process = subprocess.Popen([TOOL, "quantize", images, "-o", "out/q.onnx", "--seconds", "0"], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                               env={**ENVIRONMENT, "SARDONYX_PYTHON": python, "TMPDIR": str(temporary)})
    while "WRITING" not in (line := process.stdout.readline()):
        assert line, process.stderr.read()
    assert len(list(out.glob(".q.onnx.*/*"))) == 2 and list(temporary.iterdir())
    if number == signal.SIGINT:
        os.killpg(process.pid, number)  # as a terminal does
    else:
        process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130 and "stopped" in said
    assert [path.name for path in out.iterdir()] == ["q.onnx"] and not list(temporary.iterdir())
    assert (out / "q.onnx").read_bytes() == b"the file of before"
