"""Prints what tools that work on models through the package tell about a small random network: readers of profiles,
sessions with values of the runtime, differences of models, calibrated and shrunken weights, chains of words."""
import logging
import os
import pathlib
import sys
import tempfile

import numpy as np
import onnx
import onnx.numpy_helper
import onnx.parser
import onnxruntime

logging.disable(logging.WARNING)
RANDOM = np.random.default_rng(0)
TEXT = """<ir_version: 8, opset_import: ["" : 17]> net (float[batch, 3, 32, 32] x) => (float[batch, 5] y) {
  c = Conv <pads: ints = [1, 1, 1, 1], kernel_shape: ints = [3, 3]> (x, w, b) r = Relu (c)
  d = Conv <strides: ints = [2, 2], kernel_shape: ints = [3, 3]> (r, v) e = Sigmoid (d) h = Mul (d, e)
  g = GlobalAveragePool (h) f = Flatten (g) m = MatMul (f, u) q = Tanh (m) y = MatMul (q, z) }"""
FOLDER = pathlib.Path(sys.argv[1]).resolve()


def say(name, *values):
    print(f"result {name}:", *("_".join(str(value).split()) for value in values), flush=True)


def numbers(array):
    """A few elements, the mean and the deviation of an array."""
    array = np.asarray(array, np.float64).ravel()
    kept = array[:: max(1, array.size // 8)][:8]
    return [array.size, *(f"{value:.3f}" for value in (*kept, array.mean(), array.std()))]


def network():
    model = onnx.parser.parse_model(TEXT)
    shapes = {"w": (8, 3, 3, 3), "b": (8,), "v": (16, 8, 3, 3), "u": (16, 64), "z": (64, 5)}
    for name, shape in shapes.items():
        values = (RANDOM.normal(size=shape) / 3).astype(np.float32)
        model.graph.initializer.append(onnx.numpy_helper.from_array(values, name))
    for number, node in enumerate(model.graph.node):
        node.name = f"n{number}"
    return model


def run(model, feed):
    content = model.SerializeToString() if isinstance(model, onnx.ModelProto) else str(model)
    return onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"]).run(None, feed)[0]


def profiles(model, feed):
    """Each node's name, operator and shapes without optimizations, where every library has the same nodes."""
    from onnx_array_api.ort.ort_profile import ort_profile

    rows = ort_profile(model, feed, disable_optimization=True, repeat=3)
    nodes = rows[rows["cat"] == "Node"]
    say("onnx-array-api, columns", *(name for name in ("cat", "name", "op_name", "event_name", "args_op_name",
                                                       "args_input_type_shape") if name in rows.columns))
    for (name, operator), group in nodes.groupby(["name", "args_op_name"]):
        say(f"onnx-array-api, profile of {name}", operator, len(group),
            group.iloc[0]["args_input_type_shape"][0], group.iloc[0]["args_output_type_shape"])  # not its weights':
        # those that ONNX Runtime has packed are no inputs to it
    for grouped in (False, True):
        rows = ort_profile(model, feed, disable_optimization=True, repeat=3, agg=True, agg_op_name=grouped)
        say(f"onnx-array-api, together {grouped}", len(rows) > 3, *rows.index.names)

    from onnx_perf_test import analyze_onnx_profile, onnx_perf_test
    path = FOLDER / "fixed.onnx"
    onnx.save(fixed(model), path)
    os.chdir(FOLDER)
    written = onnx_perf_test.run_test(str(path), "CPU", 4)
    stats, sums = analyze_onnx_profile.parse_profile(written)
    say("onnx-perf-test, operators", *sorted(str(name) for name in sums.index if "model" in name or "Session" in name))
    say("onnx-perf-test, shares", bool((stats["percent"] >= 0).all()), "model_run" in sums.index)


def fixed(model):
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for value in (*copy.graph.input, *copy.graph.output):
        value.type.tensor_type.shape.dim[0].dim_value = 2
    return copy


def differences(model, feed):
    from diffonnx.runtime import RuntimeDiff
    from diffonnx.static import StaticDiff

    other = onnx.ModelProto()
    other.CopyFrom(model)
    other.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(
        onnx.numpy_helper.to_array(model.graph.initializer[0]) * 1.1, "w"))
    for name, second in (("itself", model), ("another", other)):
        result = RuntimeDiff(fixed(model), fixed(second), verbose=False).summary(output=False)
        counts = {key: len(value) for key, value in sorted(vars(result).items())
                  if hasattr(value, "__len__") and not key.startswith("profil")}
        say(f"diffonnx, {name}", *(f"{key}={count}" for key, count in counts.items()))
    static = StaticDiff(model, other).summary(output=False)
    say("diffonnx, graphs", static.exact_match)


def values(model, feed):
    import onnxruntime_easy
    from onnx_array_api.npx import absolute, eager_onnx
    from onnx_array_api.ort.ort_optimizers import ort_optimized_model
    from onnx_array_api.ort.ort_tensors import EagerOrtTensor

    session = onnxruntime_easy.load(str(FOLDER / "model.onnx"))
    say("onnxruntime-easy", *numbers(session(onnxruntime_easy.ort_value(feed["x"]))[0].numpy()))
    say("onnx-array-api, optimized", *numbers(run(ort_optimized_model(model), feed)))
    eager = eager_onnx(lambda x: absolute(x) + x, EagerOrtTensor)
    say("onnx-array-api, eager", *numbers(eager(EagerOrtTensor(np.array([-5.0, 6.0], np.float32))).numpy()))


def arrays(model, feed):
    """The array API on values of the runtime: each operation is a session."""
    from onnx_array_api.array_api import onnx_ort as xp

    one, other = xp.asarray(np.arange(6, dtype=np.float32)), xp.asarray(np.full(6, 2, np.float32))
    say("onnx-array-api, arrays", *numbers((one * other + one).numpy()), *numbers(xp.sum(one).numpy()),
        *numbers(xp.abs(one - other).numpy()), *(one > other).numpy())


def sit(model, feed):
    from sit4onnx import inference

    found = inference(str(FOLDER / "model.onnx"), fixed_shapes=[[2, 3, 32, 32]], test_loop_count=2,
                      onnx_execution_provider="cpu", numpy_ndarrays_for_testing=[feed["x"]], non_verbose=True)
    say("sit4onnx", *numbers(found[0]))


def audio(model, feed):
    import audonnx
    import audonnx.testing

    made = audonnx.testing.create_model([[3], [1, -1, 2]], value=1.5)
    say("audonnx, made", *(name for name in made.outputs), *numbers(made(np.ones((1, 16), np.float32), 8000,
                                                                         concat=False)["output-0"]))
    kept = audonnx.Model(str(FOLDER / "model.onnx"), labels={"y": list("abcde")})
    say("audonnx, labels", *kept.labels("y"), kept.inputs["x"].shape, kept.outputs["y"].dtype)


def compressed(model, feed):
    from onnx_neural_compressor import data_reader
    from onnx_neural_compressor.quantization import QuantType, config, matmul_nbits_quantizer, quantize

    class Feeds(data_reader.CalibrationDataReader):
        def __init__(self):
            self.rewind()

        def rewind(self):
            self.left = iter([{"x": feed["x"] * scale} for scale in (0.5, 1.0, 1.5)])

        def get_next(self):
            return next(self.left, None)

    written = FOLDER / "written.onnx"
    quantize(str(FOLDER / "model.onnx"), str(written),
             config.StaticQuantConfig(calibration_data_reader=Feeds(), activation_type=QuantType.QUInt8,
                                      weight_type=QuantType.QUInt8))
    say("onnx-neural-compressor, static", *numbers(run(written, feed)))
    for name, make in (("RTN", matmul_nbits_quantizer.RTNWeightOnlyQuantConfig),
                       ("GPTQ", lambda: matmul_nbits_quantizer.GPTQWeightOnlyQuantConfig(Feeds())),
                       ("AWQ", lambda: matmul_nbits_quantizer.AWQWeightOnlyQuantConfig(Feeds()))):
        worker = matmul_nbits_quantizer.MatMulNBitsQuantizer(str(FOLDER / "model.onnx"), 16, True, algo_config=make())
        worker.process()
        print()  # after its bar of progress
        made = getattr(worker.model, "model", worker.model)
        say(f"onnx-neural-compressor, {name}", *sorted({node.op_type for node in made.graph.node}),
            *numbers(run(made, feed)))


def calibrated(model, feed):
    from onnx_quantize import QConfig, quantize

    # With a reduced range, as with unsigned weights above: ONNX Runtime's products of u8 and s8 saturate where the
    # processor has no VNNI.
    for name, options in (("static", {"calibration_data": feed["x"], "reduce_range": True}),
                          ("dynamic", {"is_static": False, "reduce_range": True}),
                          ("weights", {"is_static": False, "weights_only": True, "group_size": 16})):
        attempt(f"onnx-quantize {name}", lambda name=name, options=options: say(
            f"onnx-quantize, {name}", *numbers(run(quantize(model, QConfig(**options)), feed))))


def shrunken(model, feed):
    from onnx_shrink_ray.shrink import quantize_weights

    for name, options in (("integers", {}), ("floats", {"float_quantization": True})):
        made = quantize_weights(model, min_elements=64, **options)
        say(f"onnx-shrink-ray, {name}", len(made.graph.node), *numbers(run(made, feed)))


def words(model, feed):
    from markovonnx.markov import MarkovChain
    from markovonnx.onnx_export import export_markov_onnx, export_markov_sparse_onnx
    from markovonnx.vocabulary import Vocabulary

    texts = [list("abracadabra"), list("alakazam"), list("banana")]
    vocabulary = Vocabulary()
    vocabulary.build_from_sequences(texts)
    chain = MarkovChain(2, vocabulary)
    chain.fit(texts)
    for name, export in (("dense", export_markov_onnx), ("sparse", export_markov_sparse_onnx)):
        path = FOLDER / f"{name}.onnx"
        export(chain, str(path))
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        for number in range(3):
            # Contexts of two letters that the words have.
            ids = np.array(vocabulary.encode(list(("ab", "an", "ka")[number])), np.int64)
            for output, found in zip(session.get_outputs(), session.run(None, {"input_ids": ids}), strict=True):
                say(f"markovonnx, {name} {number} {output.name}", *numbers(found))


def maps(model, feed):
    import minisom
    import minisom2onnx

    som = minisom.MiniSom(5, 4, 6, sigma=1.0, learning_rate=0.5, random_seed=1)
    data = np.random.default_rng(1).normal(size=(40, 6))
    som.train(data, 100)
    made = minisom2onnx.to_onnx(som, "som")
    path = FOLDER / "som.onnx"
    onnx.save(made, path)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    for number in range(5):
        found = session.run(None, {session.get_inputs()[0].name: data[number : number + 1]})
        say(f"minisom2onnx {number}", *np.concatenate([np.ravel(value) for value in found]), *som.winner(data[number]))


def attempt(name, part):
    """What does not work on ONNX Runtime gives no line, and so no test."""
    try:
        part()
    except Exception as error:
        print(f"left out: {name}: {type(error).__name__}: {str(error)[:300]}", flush=True)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER) as made_here:
        FOLDER = pathlib.Path(made_here)
        net = network()
        onnx.save(net, FOLDER / "model.onnx")
        given_here = {"x": RANDOM.normal(size=(2, 3, 32, 32)).astype(np.float32)}
        for each in (profiles, differences, values, arrays, sit, audio, compressed, calibrated, shrunken, words, maps):
            attempt(each.__name__, lambda each=each: each(net, given_here))
        os.chdir("/")
    print("end")
