"""`sardonyx profile`, `sardonyx plan`, and of `sardonyx run`: inner values (`--only`) and `--check-values`."""
import html.parser
import json
import os
import pathlib
import re
import subprocess

import numpy as np
import onnx
import onnx.parser
import onnx.reference
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = pathlib.Path(os.environ.get("SDX_BUILD", ROOT / "build/release")) / "bin/sardonyx"
NET = """<ir_version: 10, opset_import: ["" : 21]>
net (float[batch, 3, 32, 32] x) => (float[batch, 10] y) <float[16, 3, 3, 3] k, float[16, 10] w> {
  c = Conv <pads = [1, 1, 1, 1]> (x, k)
  r = Sigmoid (c)
  p = GlobalAveragePool (r)
  f = Flatten (p)
  m = MatMul (f, w)
  y = Softmax (m)
}"""


def sardonyx(*arguments, expect=0):
    done = subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == expect, f"{arguments}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
    return done


def net():
    model = onnx.parser.parse_model(NET.replace("<float[16, 3, 3, 3] k, float[16, 10] w> ", ""))
    random = np.random.default_rng(0)
    for name, shape in (("k", (16, 3, 3, 3)), ("w", (16, 10))):
        model.graph.initializer.append(
            onnx.numpy_helper.from_array(random.standard_normal(shape, dtype=np.float32), name))
    return model


@pytest.fixture
def model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    onnx.save(net(), "net.onnx")
    return "net.onnx"


def test_the_tables_and_their_numbers_agree(model):
    answer = json.loads(sardonyx("profile", model, "--dim", "batch=2", "--runs", 7, "--json").stdout)
    assert answer["runs"] == 7 and answer["ms"] >= 0.9 * answer["nodes_ms"] > 0
    for table in ("nodes", "operators"):
        assert sum(row["ms"] for row in answer[table]) == pytest.approx(answer["nodes_ms"])
        assert [row["ms"] for row in answer[table]] == sorted((row["ms"] for row in answer[table]), reverse=True)
    conv = next(row for row in answer["nodes"] if "Conv" in row["op_type"])
    assert conv["flops"] == 2 * 2 * 16 * 32 * 32 * 27 and conv["turns"] == 1
    assert 0 < conv["ceiling_share"] < 5 and conv["threads"] >= 1
    assert answer["ceiling"]["flops_per_second"] > 1e8
    text = sardonyx("profile", model, "--runs", 3, "--nodes", 2).stdout
    for word in ("Where the time goes", "By operator", "By node, the longest 2", "GFLOP/s", "of ceiling", "Conv"):
        assert word in text


def test_without_optimization_each_node_has_its_row(model):
    answer = json.loads(sardonyx("profile", model, "--level", "none", "--runs", 2, "--json").stdout)
    assert sorted(row["op_type"] for row in answer["nodes"]) == sorted(node.op_type for node in net().graph.node)


def test_the_trace_is_kept_on_request_only(model, tmp_path):
    sardonyx("profile", model, "--runs", 2)
    assert [path.name for path in tmp_path.iterdir()] == ["net.onnx"]
    sardonyx("profile", model, "--runs", 2, "--warmup", 1, "--trace", "trace.json")
    events = json.loads(pathlib.Path("trace.json").read_text())
    assert sum(event["name"] == "model_run" for event in events) == 3


class Page(html.parser.HTMLParser):
    """What a browser would see: balanced tags, no reference to elsewhere, texts by tag."""

    VOID = {"meta", "br", "link", "img"}

    def __init__(self):
        super().__init__()
        self.open, self.texts, self.tags, self.references = [], [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.references += [value for name, value in attributes if name in ("src", "href")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def boxes(page):
    return [attributes for tag, attributes in page.tags if tag == "rect" and "rx" in attributes]


def test_the_page_needs_nothing_but_a_browser(model):
    sardonyx("profile", model, "--level", "none", "--runs", 3, "--html", "page.html")
    text = pathlib.Path("page.html").read_text()
    page = Page()
    page.feed(text)
    assert not page.open and "url(" not in text
    names = {attributes["id"] for tag, attributes in page.tags if tag == "g" and "id" in attributes}
    assert sorted(page.references) == sorted("#" + name for name in names) and len(names) == 6  # each row's box
    assert set(re.findall(r"https?://[^\"']*", text)) == {"http://www.w3.org/2000/svg"}
    assert len(boxes(page)) == 6  # the graph's nodes
    joined = " ".join(page.texts)
    for word in ("By operator", "By node", "Graph", "Memory over time", "Map of the arena", "GlobalAveragePool"):
        assert word in joined
    assert "nan" not in joined.lower().split() and "inf" not in joined.lower().split()


def test_the_picture_is_coloured_by_time_and_boxes_do_not_overlap(model):
    sardonyx("profile", model, "--level", "none", "--runs", 5, "--html", "page.html", "--threads", 1)
    page = Page()
    page.feed(pathlib.Path("page.html").read_text())
    found = boxes(page)
    for i, one in enumerate(found):
        for other in found[:i]:
            assert (abs(float(one["x"]) - float(other["x"])) >= float(one["width"])
                    or abs(float(one["y"]) - float(other["y"])) >= float(one["height"]))
    greens = sorted(int(box["fill"][3:5], 16) for box in found)
    assert greens[0] < 80 and greens[-1] > 180  # the longest node is red, the shortest pale


def test_wide_graphs_and_graphs_of_parts_stay_narrow(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"  a{i} = Exp(x)\n  b{i} = Neg(a{i})\n  c{i} = Cos(x)\n" for i in range(150)]
    names = ", ".join(f"b{i}" for i in range(150))
    pathlib.Path("wide.onnxtxt").write_text(f"""<ir_version: 10, opset_import: ["" : 21]>
wide (float[1, 4] x) => (float[150, 4] y, {", ".join(f"float[1, 4] c{i}" for i in range(150))}) {{
{"".join(lines)}  k = Constant <value_float = 2.0> ()
  s = Concat <axis = 0> ({names})
  y = Mul (s, k)
}}""")
    sardonyx("profile", "wide.onnxtxt", "--level", "none", "--runs", 1, "--html", "page.html")
    page = Page()
    page.feed(pathlib.Path("page.html").read_text())
    (picture,) = [attributes for tag, attributes in page.tags if tag == "svg" and attributes["class"] == "graph"]
    found = boxes(page)
    assert len(found) == 3 * 150 + 2 and float(picture["width"]) < 4000
    places = {(box["x"], box["y"]) for box in found}
    assert len(places) == len(found)
    assert all(float(box["x"]) + float(box["width"]) <= float(picture["width"])
               and float(box["y"]) + float(box["height"]) <= float(picture["height"]) for box in found)


def test_names_cannot_break_the_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = net()
    made.graph.node[0].name = '"><script>alert(1)</script>&'
    onnx.save(made, "odd <b>.onnx")
    sardonyx("profile", "odd <b>.onnx", "--level", "none", "--runs", 1, "--html", "page.html")
    page = Page()
    page.feed(pathlib.Path("page.html").read_text())
    assert not page.open and sum(tag == "script" for tag, _ in page.tags) == 1
    assert "<script>alert" not in pathlib.Path("page.html").read_text()


def test_bodies_have_pictures_of_their_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pathlib.Path("loop.onnxtxt").write_text("""<ir_version: 10, opset_import: ["" : 21]>
slow (int64 trips, float[batch, 4] x) => (float[batch, 4] y) {
  y = Loop <body = step (int64 i, bool go, float[batch, 4] a) => (bool go_on, float[batch, 4] b) {
    go_on = Identity(go)
    b = Cos(a)
  }> (trips, , x)
}""")
    answer = json.loads(sardonyx("profile", "loop.onnxtxt", "-i", "trips=5", "--html", "page.html", "--json").stdout)
    cos = next(row for row in answer["nodes"] if row["op_type"] == "Cos")
    assert cos["turns"] == 5 and cos["graph"].endswith("step")
    text = pathlib.Path("page.html").read_text()
    assert "<h2>Body " in text and text.count("<svg class=\"graph\"") == 2


# ---- the map of the memory ----


def test_plan_lists_each_buffer_with_its_place_and_life(model):
    plans = json.loads(sardonyx("plan", model, "--dim", "batch=2", "--json").stdout)
    assert plans[0]["graph"] == "" and plans[0]["buffers"]
    for buffer in plans[0]["buffers"]:
        assert buffer["offset"] >= 0 and buffer["bytes"] > 0
        assert 0 <= buffer["first_step"] <= buffer["last_step"] <= len(plans[0]["steps"])
    text = sardonyx("plan", model, "--dim", "batch=2").stdout
    assert "arena of the host" in text and "first step" in text and str(plans[0]["buffers"][0]["bytes"]) in text


def test_plan_as_text_has_a_line_for_every_step_value_and_buffer(model):
    plan = json.loads(sardonyx("plan", model, "--dim", "batch=2", "--json").stdout)[0]
    lines = sardonyx("plan", model, "--dim", "batch=2", "--text").stdout.splitlines()
    heads = ["steps:", "values:", "buffers:"]
    steps, values, buffers = (lines.index(head) for head in heads)
    assert lines[0].startswith("plan of ") and "[2," in lines[0]
    assert [int(line.split()[0]) for line in lines[steps + 1:values]] == [
        number for number, step in enumerate(plan["steps"]) if step["runs"]]
    assert [line.split()[0] for line in lines[values + 1:buffers]] == [value["name"] for value in plan["values"]]
    assert [int(line.split(",")[1].split()[0]) for line in lines[buffers + 1:-2]] == [
        buffer["bytes"] for buffer in plan["buffers"]]
    assert lines[-2].startswith("arenas: host ") and lines[-1].startswith("outputs: ")


# ---- values inside ----


def test_inner_values_by_name(model):
    sardonyx("run", model, "--only", "c", "--only", "p", "--seed", 5, "--output", "inner.npz", "--dim", "batch=2")
    sardonyx("run", model, "--only", "x", "--seed", 5, "--output", "x.npy", "--dim", "batch=2")
    x = np.load("x.npy")
    inner = np.load("inner.npz")
    told = net()
    told.graph.output.extend(onnx.ValueInfoProto(name=name) for name in ("c", "p"))
    c, p = onnx.reference.ReferenceEvaluator(told).run(["c", "p"], {"x": x})
    np.testing.assert_allclose(inner["c"], c, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(inner["p"], p, rtol=1e-4, atol=1e-4)
    assert "did you mean" in sardonyx("run", model, "--only", "cc", expect=1).stderr


def test_check_values_names_the_node_that_made_the_first_nan(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pathlib.Path("m.onnxtxt").write_text("""<ir_version: 10, opset_import: ["" : 21]>
g (float[4] x) => (float[4] y) { n = Neg (x)  l = Log (n)  y = Add (l, x) }""")
    answer = json.loads(sardonyx("run", "m.onnxtxt", "--check-values", "-i", "x=2", "--json").stdout)
    assert [row["value"] for row in answer["values"]] == ["n", "l", "y"]
    assert answer["first_nan"]["op_type"] == "Log" and answer["first_nan"]["value"] == "l"
    assert answer["values"][1]["nan_count"] == 4 and answer["values"][0]["mean"] == -2
    text = sardonyx("run", "m.onnxtxt", "--check-values", "-i", "x=2").stdout
    assert "first NaN" in text and "(Log) in 'l'" in text and "first infinity  none" in text
