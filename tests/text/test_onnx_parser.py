"""onnx.parser reads what `sardonyx print` writes, and gets the same model as from the text or file that was printed."""
import os
import pathlib
import re
import subprocess

import onnx
import onnx.parser
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = pathlib.Path(os.environ.get("SDX_BUILD", ROOT / "build/release")) / "bin/sardonyx"
FUNCTION_BODIES = ROOT / "src/ops/schema/schema_functions.inc"
HEADER = '<ir_version: 8, opset_import: ["" : 18, "local" : 1, "com.microsoft" : 1]>\n'

# Types whose elements onnx.parser takes as one integer each.
NUMBER_TYPES = ("float uint8 int8 uint16 int16 int32 int64 bool float16 double uint32 uint64 bfloat16 float8e4m3fn "
                "float8e4m3fnuz float8e5m2 float8e5m2fnuz float8e8m0").split()

TEXTS = {
    "header": r'''<ir_version: 9, opset_import: ["" : 18, "local" : 1], producer_name: "p \" \\ q",
        producer_version: "v", domain: "d", model_version: 5, doc_string: "two
lines # no comment", metadata_props: ["k": "v", "": ""]> g () => () {}''',
    "types": HEADER + '''"main/graph" (float[batch,"seq + 1",?,3] x, float[] any, float scalar,
        int64[2] default = {1, -2}, seq(float[2]) s, map(string, float[]) m, optional(seq(float[])) o,
        sparse_tensor(float[2,2]) sp, float "float") => (float[N] y)
        <float[N] t, float[K,2] "a b"> { t = Neg(x) "a b" = Abs(t) y = Exp("a b") }''',
    "numbers": HEADER + "g () => () <" + ", ".join(f'{t}[2] "w/{t}" = {{1, 0}}' for t in NUMBER_TYPES) + "> {}",
    "tensors": HEADER + r'''g () => () <string[2] s = {"a\"b\\c", "größe
new line"}, complex64[1] c = {1, -2.5}, complex128[1] c2 = {1, 2}, int4[3] i4 = {33, 3}, uint4[2] u4 = {255},
        float4e2m1[3] f4 = {33, 1}, int2[5] i2 = {228, 1}, uint2[1] u2 = {3}, float[3] special = {nan, inf, -inf},
        float scalar = {0.1}, float[0] empty = {}, double[2] d = {0.1, 1e-310}, float[2] edges = {1e-45, 3.4028235e38},
        uint64[1] largest = {18446744073709551615}, int64[1] smallest = {-9223372036854775808}> {}''',
    "attributes": HEADER + '''g () => (y) { y = com.microsoft.Op <i = -9223372036854775808, f = 1e-05, s = "text",
        t = float[2] {1, 2.5}, tp = seq(float[N]), fs = [1.0, inf, -nan], is = [1, 2], ss = ["a", ""],
        whole : float = 3, wholes : floats = [1, 2], none : strings = [], empty = "", minus = -0.0> () }''',
    "nodes": HEADER + '''g (float[N] x, bool c) => (float[N] y, float[] "z/1") { [first] t = Mul(x, x)
        ["n/2"] "a b", "", inner = local.f:over <alpha = 2.0> (t, "", c)
        y, "z/1" = If (c) <then_branch = yes () => (float[N] t1, float[N] t) <float k = {1}> { t1 = Add(x, k) },
          else_branch: graph = no () => (float t2, float t3) { t2, t3 = Loop("a b") <body = b () => (float r) {
            r = Neg("a b") }> }> }
        <domain: "local", opset_import: ["" : 17], overload: "over", doc_string: "doc">
        f <alpha, gamma, beta = [1, 2], delta = 0.5> (a, b, c) => (x, y, z) { x = Elu <alpha: float = @alpha> (a)
          y = Sum <axes: ints = @gamma> (b) z = If (c) <then_branch = g () => (float a) {},
          else_branch = h () => (float x) {}> }''',
}


def function_bodies():
    bodies = re.findall(r'R"onnx\((.*?)\)onnx"', FUNCTION_BODIES.read_text(), re.DOTALL)
    assert len(bodies) > 20
    return {f"body {index}": HEADER + "empty () => () {}\n" + body for index, body in enumerate(bodies)}


def nodes_in(nodes):
    for node in nodes:
        yield node
        for attribute in node.attribute:
            for graph in [attribute.g] if attribute.HasField("g") else attribute.graphs:
                yield from nodes_in(graph.node)


def graphs_in(model):
    yield model.graph
    for nodes in [model.graph.node, *(function.node for function in model.functions)]:
        for node in nodes_in(nodes):
            yield from (attribute.g for attribute in node.attribute if attribute.HasField("g"))


def canonical(model):
    """The model without what has no meaning: the order of initializers and types, names of tensors in attributes."""
    copy = onnx.ModelProto.FromString(model.SerializeToString())
    for graph in graphs_in(copy):
        for field in (graph.initializer, graph.value_info):
            ordered = sorted(field, key=lambda entry: entry.name)
            ordered = [type(entry).FromString(entry.SerializeToString()) for entry in ordered]
            del field[:]
            field.extend(ordered)
    for nodes in [copy.graph.node, *(function.node for function in copy.functions)]:
        for node in nodes_in(nodes):
            for attribute in node.attribute:
                if attribute.HasField("t"):
                    attribute.t.ClearField("name")
    return str(copy)


def printed(path):
    done = subprocess.run([TOOL, "print", path, "--max-elements", "0"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", [*TEXTS, *function_bodies()])
def test_a_printed_text_is_the_same_model(tmp_path, name):
    text = TEXTS.get(name) or function_bodies()[name]
    path = tmp_path / "model.txt"
    path.write_text(text)
    assert canonical(onnx.parser.parse_model(printed(path))) == canonical(onnx.parser.parse_model(text))


def test_a_printed_file_is_the_same_model_as_its_text(tmp_path):
    for name, text in TEXTS.items():
        path = tmp_path / f"{name}.onnx"
        onnx.save(onnx.parser.parse_model(text), path)
        source = tmp_path / f"{name}.txt"
        source.write_text(text)
        assert printed(path) == printed(source), name


def test_a_changed_value_is_a_difference():
    """The comparison above can fail."""
    for name, old, new in [("tensors", "0.1", "0.2"), ("attributes", "whole : float = 3", "whole : float = 4"),
                           ("nodes", "Neg", "Abs"), ("types", "seq + 1", "seq + 2"), ("header", '"v"', '"w"')]:
        text = TEXTS[name]
        assert canonical(onnx.parser.parse_model(text)) != canonical(onnx.parser.parse_model(text.replace(old, new, 1)))
