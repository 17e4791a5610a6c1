"""Writes random models with the inputs and outputs that released applications ask for: a mask of a picture, speakers
of a sound, and an encoder and a decoder that write words, whose first step is another branch than the later ones.

usage: applications_models.py FOLDER"""
import pathlib
import sys

import numpy as np
import onnx
import onnx.numpy_helper
import onnx.parser

RANDOM = np.random.default_rng(7)
LAYERS, HEADS, SIZE, WORDS = 6, 8, 36, 32768
WIDTH = HEADS * SIZE


def save(path, text, opset=17, **shapes):
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]> {text}')
    for value in (*model.graph.input, *model.graph.output):
        value.name = value.name.replace("__", ".")
    for graph in graphs(model.graph):
        for node in graph.node:
            for names in (node.input, node.output):
                names[:] = [name.replace("__", ".") for name in names]
        for value in graph.output:
            value.name = value.name.replace("__", ".")
    for name, shape in shapes.items():
        fan = np.prod(shape[1:]) if len(shape) > 2 else shape[0]
        array = RANDOM.normal(size=shape) * (1.6 / np.sqrt(fan)) if len(shape) > 1 else RANDOM.normal(size=shape) / 4
        model.graph.initializer.append(onnx.numpy_helper.from_array(array.astype(np.float32), name))
    onnx.checker.check_model(model)
    onnx.save(model, str(path))


def graphs(graph):
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from graphs(attribute.g)


def mask(path):
    """Like U-2-Net: as small as a test likes it, with seven outputs of the picture's size."""
    body = "c1 = Conv <pads: ints = [1, 1, 1, 1]> (picture, w1, b1) r1 = Relu (c1)"
    for level in (2, 3, 4):
        body += f""" p{level} = MaxPool <kernel_shape: ints = [2, 2], strides: ints = [2, 2], ceil_mode: int = 1>
            (r{level - 1}) c{level} = Conv <pads: ints = [1, 1, 1, 1]> (p{level}, w{level}, b{level})
            r{level} = Relu (c{level})"""
    for level in (1, 2, 3, 4):
        body += f""" k{level} = Conv <pads: ints = [1, 1, 1, 1]> (r{level}, s{level}) f{level} = Shape (picture)
            n{level} = Shape <start: int = 0, end: int = 2> (k{level}) g{level} = Shape <start: int = 2> (picture)
            z{level} = Concat <axis: int = 0> (n{level}, g{level})
            u{level} = Resize <mode: string = "linear", coordinate_transformation_mode: string = "pytorch_half_pixel">
            (k{level}, , , z{level}) d{level} = Sigmoid (u{level})"""
    body += " all = Concat <axis: int = 1> (u1, u2, u3, u4) h = Conv (all, last) d0 = Sigmoid (h)"
    outputs = ", ".join(f"float[1, 1, 320, 320] d{level}" for level in range(5))
    widths = (3, 8, 16, 16, 16)
    shapes = {f"w{n}": (widths[n], widths[n - 1], 3, 3) for n in range(1, 5)}
    shapes |= {f"b{n}": (widths[n],) for n in range(1, 5)} | {f"s{n}": (1, widths[n], 3, 3) for n in range(1, 5)}
    save(path, f"mask (float[1, 3, 320, 320] picture) => ({outputs}) {{ {body} }}", **shapes, last=(1, 4, 1, 1))


def speakers(path):
    """Like PyanNet: three convolutions with pools, a bidirectional LSTM, seven sets of speakers."""
    save(path, """speakers (float[batch, 1, samples] input) => (float[batch, frames, 7] y) {
        n = InstanceNormalization (input, one, zero) c1 = Conv <strides: ints = [10]> (n, w1) a1 = Abs (c1)
        p1 = MaxPool <kernel_shape: ints = [3], strides: ints = [3]> (a1) l1 = LeakyRelu (p1)
        c2 = Conv (l1, w2) p2 = MaxPool <kernel_shape: ints = [3], strides: ints = [3]> (c2) l2 = LeakyRelu (p2)
        c3 = Conv (l2, w3) p3 = MaxPool <kernel_shape: ints = [3], strides: ints = [3]> (c3) l3 = LeakyRelu (p3)
        t = Transpose <perm: ints = [2, 0, 1]> (l3)
        h, last, cell = LSTM <hidden_size: int = 16, direction: string = "bidirectional"> (t, wi, wr)
        m = Transpose <perm: ints = [2, 0, 1, 3]> (h) shape = Constant <value_ints: ints = [0, 0, 32]> ()
        f = Reshape (m, shape) d = MatMul (f, v) y = LogSoftmax <axis: int = -1> (d) }""",
         one=(1,), zero=(1,), w1=(16, 1, 251), w2=(16, 16, 5), w3=(16, 16, 5), wi=(2, 64, 16), wr=(2, 64, 16),
         v=(32, 7))


def words(folder):
    """Like Moonshine's merged decoder: without a past its branch computes keys and values of the sound, else it passes
    them on."""
    folder.mkdir(exist_ok=True)
    save(folder / "encoder_model.onnx", """encoder (float[batch, samples] input_values) =>
        (float[batch, frames, 288] last_hidden_state) {
        axis = Constant <value_ints: ints = [1]> () x = Unsqueeze (input_values, axis)
        c1 = Conv <strides: ints = [64]> (x, w1) t1 = Tanh (c1) c2 = Conv <strides: ints = [6]> (t1, w2, b2)
        e = Erf (c2) g = Mul (c2, e) last_hidden_state = Transpose <perm: ints = [0, 2, 1]> (g) }""",
         w1=(64, 1, 127), w2=(WIDTH, 64, 7), b2=(WIDTH,))
    shapes = {"table": (WORDS, WIDTH), "scale": (WIDTH,)}
    past = f"float[past, {HEADS}, steps, {SIZE}]"
    inputs = f"int64[batch, length] input_ids, float[batch, frames, {WIDTH}] encoder_hidden_states"
    outputs, branches = "", {}
    for layer in range(LAYERS):
        for side in ("decoder", "encoder"):
            for part in ("key", "value"):
                inputs += f", {past} past_key_values__{layer}__{side}__{part}"
                outputs += f", {past} present__{layer}__{side}__{part}"
        shapes |= {f"{name}{layer}": (WIDTH, WIDTH) for name in ("wq", "wk", "wv", "wo", "vq", "vk", "vv", "vo")}
        shapes |= {f"{name}{layer}": (WIDTH,) for name in ("n1_", "n2_")}
    for first, p in ((True, "f"), (False, "l")):
        body = f"""parts_{p} = Constant <value_ints: ints = [0, 0, {HEADS}, {SIZE}]> ()
            whole_{p} = Constant <value_ints: ints = [0, 0, {WIDTH}]> () {p}x0 = Gather (table, input_ids)"""
        for layer in range(LAYERS):
            i = f"{p}{layer}"

            def heads(name, source, weight, i=i, p=p):
                return f""" {name}m{i} = MatMul ({source}, {weight}) {name}r{i} = Reshape ({name}m{i}, parts_{p})
                    {name}{i} = Transpose <perm: ints = [0, 2, 1, 3]> ({name}r{i})"""

            def attend(name, q, k, v, weight, i=i, p=p):
                return f""" {name}t{i} = Transpose <perm: ints = [0, 1, 3, 2]> ({k})
                    {name}s{i} = MatMul ({q}, {name}t{i}) {name}z{i} = Mul ({name}s{i}, sixth)
                    {name}p{i} = Softmax <axis: int = -1> ({name}z{i}) {name}a{i} = MatMul ({name}p{i}, {v})
                    {name}b{i} = Transpose <perm: ints = [0, 2, 1, 3]> ({name}a{i})
                    {name}w{i} = Reshape ({name}b{i}, whole_{p}) {name}o{i} = MatMul ({name}w{i}, {weight})"""

            own = [f"{p}_present__{layer}__decoder__{part}" for part in ("key", "value")]
            other = [f"{p}_present__{layer}__encoder__{part}" for part in ("key", "value")]
            old = [f"past_key_values__{layer}__{side}__{part}" for side in ("decoder", "encoder")
                   for part in ("key", "value")]
            body += f" n{i} = LayerNormalization <axis: int = -1> ({p}x{layer}, scale, n1_{layer})"
            body += heads("q", f"n{i}", f"wq{layer}") + heads("k", f"n{i}", f"wk{layer}")
            body += heads("v", f"n{i}", f"wv{layer}")
            if first:
                body += f" {own[0]} = Identity (k{i}) {own[1]} = Identity (v{i})"
                body += heads("ek", "encoder_hidden_states", f"vk{layer}")
                body += heads("ev", "encoder_hidden_states", f"vv{layer}")
                body += f" {other[0]} = Identity (ek{i}) {other[1]} = Identity (ev{i})"
            else:
                body += f""" {own[0]} = Concat <axis: int = 2> ({old[0]}, k{i})
                    {own[1]} = Concat <axis: int = 2> ({old[1]}, v{i})
                    {other[0]} = Identity ({old[2]}) {other[1]} = Identity ({old[3]})"""
            body += attend("s", f"q{i}", *own, f"wo{layer}") + f""" h{i} = Add ({p}x{layer}, so{i})
                m{i} = LayerNormalization <axis: int = -1> (h{i}, scale, n2_{layer})"""
            body += heads("c", f"m{i}", f"vq{layer}") + attend("e", f"c{i}", *other, f"vo{layer}")
            body += f" {p}x{layer + 1} = Add (h{i}, eo{i})"
        body += f""" back_{p} = Transpose <perm: ints = [1, 0]> (table)
            {p}_logits = MatMul ({p}x{LAYERS}, back_{p})"""
        named = ["logits", *(part.split()[-1] for part in outputs.split(", float")[1:])]
        branches[first] = (", ".join(f"float {p}_{name}" for name in named), body)
    answers = ", ".join(["logits", *(part.split()[-1] for part in outputs.split(", float")[1:])])
    save(folder / "decoder_model_merged.onnx", f"""decoder ({inputs}, bool[1] use_cache_branch) =>
        (float[batch, length, {WORDS}] logits{outputs}) {{
        sixth = Constant <value_float: float = 0.1666> ()
        {answers} = If (use_cache_branch) <
            then_branch = later () => ({branches[False][0]}) {{ {branches[False][1]} }},
            else_branch = first () => ({branches[True][0]}) {{ {branches[True][1]} }}> }}""", **shapes)


if __name__ == "__main__":
    target = pathlib.Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    mask(target / "mask.onnx")
    speakers(target / "segmentation-3.0.onnx")
    words(target / "moonshine-tiny")
