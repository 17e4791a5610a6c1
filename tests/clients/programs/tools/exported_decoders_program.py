"""Runs what exported_decoders_models.py has exported: a prompt and five steps, each with the cache of the last one.
What has no attention runs with random states.

usage: exported_decoders_program.py FOLDER stock|ours

On stock, the results are kept. On Sardonyx, they are compared with these, and the optimized graph is looked at: stock
prints what is expected of it."""
import collections
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime

LAYERS, STEPS, TOLERANCE, IN_HALF = 2, (7, 1, 1, 1, 1, 1), 1e-4, 5e-3
ATTENTION = ("Attention", "CachedAttention", "SinkAttention", "GroupQueryAttention", "MultiHeadAttention")
ROTATING_LAYERS = {"gpt2": 0, "whisper": 0, "t5": 0, "smollm3": 1}
ROUTERS = {"gpt_oss": LAYERS}  # choose experts by a Softmax of their own
# Computes the number of its rows from lengths that it limits to 256; only in the first layer is it seen to be the same.
FUSED_PARTLY = {("gpt2", "dynamo_eager"): 1}


def session_of(path, saved=None):
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 2
    if saved is not None:
        options.optimized_model_filepath = str(saved)
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def generate(path, saved, padded):
    """What each step of a batch of two sequences gives. The second one begins with padding, where that is allowed."""
    session, random = session_of(path, saved), np.random.default_rng(1)
    names, past, start, found = [output.name for output in session.get_outputs()], {}, 0, []
    skipped = np.array([[0], [2 if padded else 0]])
    for rows in STEPS:
        places = np.arange(start + rows)[None]
        feed = {"input_ids": random.integers(3, 199, (2, rows)), "attention_mask": (places >= skipped).astype(np.int64),
                "position_ids": np.maximum(places[:, start:] - skipped, 0)}
        for value in session.get_inputs():
            if value.name.startswith("past"):
                empty = np.zeros((2, value.shape[1], 0, 16), np.float16 if "float16" in value.type else np.float32)
                feed[value.name] = past.get(value.name.replace("past_key_values", "present"), empty)
        feed = {value.name: feed[value.name] for value in session.get_inputs()}
        past = dict(zip(names, session.run(None, feed), strict=True))
        start += rows
        found.append(past)
    return [{f"{step} {name}": value for name, value in values.items()} for step, values in enumerate(found)]


def decode(path, saved=None):
    """Three runs with random inputs: of a decoder beside an encoder, or of a model without attention."""
    session, found = session_of(path, saved), []
    for step in range(3):
        random, feed = np.random.default_rng(step), {}
        sizes = collections.defaultdict(lambda: 6, batch_size=2, decoder_sequence_length=1,
                                        past_decoder_sequence_length=3 + step)
        for value in session.get_inputs():
            shape = [size if isinstance(size, int) else sizes[size] for size in value.shape]
            feed[value.name] = random.integers(3, 199, shape) if value.name == "input_ids" else \
                np.ones(shape, np.int64) if "int64" in value.type else random.standard_normal(shape, np.float32)
        values = session.run(None, feed)
        found.append({f"{step} {output.name}": value
                      for output, value in zip(session.get_outputs(), values, strict=True)})
    return found


def compare(found, path, name, exporter, side):
    values, kept = {key: value for step in found for key, value in step.items()}, path.with_suffix(".npz")
    if side == "stock":
        np.savez(kept, **values)
    tolerance = IN_HALF if exporter.endswith("half") else TOLERANCE
    print(f"result {name}, {exporter}: {difference(values, np.load(kept), tolerance)}", flush=True)


def difference(values, kept, tolerance):
    worst = 0.0
    for name, value in values.items():
        if value.shape != kept[name].shape:
            return f"{name} has another shape"
        if not np.array_equal(np.isnan(value), np.isnan(kept[name])):
            return f"{name} has NaN elsewhere"
        scale = max(1.0, float(np.nanmax(np.abs(kept[name]), initial=0)))
        worst = max(worst, float(np.nanmax(np.abs(value - kept[name]), initial=0)) / scale)
    return "equal" if worst <= tolerance else f"differs by {worst:.1e}"


def structure(saved):
    """How many nodes of attention there are, with how many caches, and what is left of their parts."""
    graph = onnx.load(str(saved), load_external_data=False).graph
    counts = collections.Counter(node.op_type for node in graph.node)
    attention = [node for node in graph.node if node.op_type in ATTENTION]
    caches = sum(name.startswith("present") for node in attention for name in node.output)
    rotating = sum(node.op_type == "GroupQueryAttention" for node in attention) * 2
    return words(len(attention), caches, counts["Softmax"], counts["RotaryEmbedding"] + rotating)


def words(attention, caches, softmax, rotations):
    return f"{attention} attention, {caches} caches, {softmax} Softmax, {rotations} rotations"


def expected(name, exporter, has_encoder):
    fused = FUSED_PARTLY.get((name, exporter), LAYERS)
    softmax = LAYERS - fused + ROUTERS.get(name, 0)
    return words(fused * (2 if has_encoder else 1), 2 * fused, softmax, 2 * ROTATING_LAYERS.get(name, LAYERS))


def main(place, side):
    for path in sorted(place.glob("*/*/model.onnx")) + sorted(place.glob("*/*/decoder_with_past_model.onnx")):
        exporter, name = path.parts[-3:-1]
        has_encoder = path.name != "model.onnx"
        saved = path.with_name("optimized.onnx") if side == "ours" else None
        found = decode(path, saved) if has_encoder else generate(path, saved, exporter != "builder")
        compare(found, path, name, exporter, side)
        print(f"result {name}, {exporter}, fused: "
              f"{expected(name, exporter, has_encoder) if side == 'stock' else structure(saved)}", flush=True)
    for path in sorted(place.glob("*/mamba/*.onnx")):
        compare(decode(path), path, f"mamba, {path.stem}", path.parts[-3], side)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), sys.argv[2])
