"""Prints what piper-tts makes of texts, with the models that it carries and a voice made here. Arguments: none."""
import json
import pathlib
import tempfile

import numpy as np
import onnx
import onnx.helper as h
import onnx.numpy_helper
from onnx import TensorProto as T
from piper import PiperVoice, SynthesisConfig
from piper.hebrew import NakdimonDiacritizer
from piper.tashkeel import TashkeelDiacritizer

for number, text in enumerate(["مرحبا بالعالم", "هذا نص عربي قصير للتجربة", "ذهب الولد إلى المدرسة في الصباح"]):
    print(f"result Arabic {number}:", TashkeelDiacritizer()(text), TashkeelDiacritizer()(text, taskeen_threshold=0.5))
for number, text in enumerate(["שלום עולם", "זה משפט קצר בעברית", "הילד הלך לבית הספר בבוקר"]):
    print(f"result Hebrew {number}:", NakdimonDiacritizer()(text))

random = np.random.default_rng(1)
weights = {"table": random.normal(size=(256, 64)).astype(np.float32) * 0.2,
           "speakers": random.normal(size=(2, 64)).astype(np.float32) * 0.1,
           "spread": random.normal(size=(64, 1, 31)).astype(np.float32) * 0.1, "two": np.array(2, np.int64),
           "one": np.array([1], np.int64)}
nodes = [h.make_node("Gather", ["table", "input"], ["e"]), h.make_node("Gather", ["speakers", "sid"], ["s"]),
         h.make_node("Unsqueeze", ["s", "one"], ["s3"]), h.make_node("Add", ["e", "s3"], ["es"]),
         h.make_node("Transpose", ["es"], ["t"], perm=[0, 2, 1]),
         h.make_node("Slice", ["scales", "one_", "two_"], ["length"]), h.make_node("Mul", ["t", "length"], ["tl"]),
         h.make_node("ConvTranspose", ["tl", "spread"], ["c"], strides=[256], output_padding=[225]),
         h.make_node("Tanh", ["c"], ["a"]), h.make_node("Unsqueeze", ["a", "one"], ["output"])]
weights |= {"one_": np.array([1], np.int64), "two_": np.array([2], np.int64)}
graph = h.make_graph(nodes, "voice", [h.make_tensor_value_info("input", T.INT64, ["batch", "phonemes"]),
                                      h.make_tensor_value_info("input_lengths", T.INT64, ["batch"]),
                                      h.make_tensor_value_info("scales", T.FLOAT, [3]),
                                      h.make_tensor_value_info("sid", T.INT64, ["batch"])],
                     [h.make_tensor_value_info("output", T.FLOAT, ["batch", 1, 1, "time"])],
                     [onnx.numpy_helper.from_array(value, name) for name, value in weights.items()])
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "voice.onnx"
    onnx.save(h.make_model(graph, ir_version=8, opset_imports=[h.make_opsetid("", 17)]), str(path))
    symbols = "_^$ !'(),-.:;?abcdefghijklmnopqrstuvwxyz"
    symbols += "æçðøħŋœǀɐɑɒɓɔɕɖɗɘəɚɛɜɞɟɠɡɢɣɤɥɦɧɨɪɫɬɭɯɰɱɲɳɴɵɶɸɹɺɻɽɾʀʁʂʃʈʉʊʋʌʍʎʏʐʑʒʔˈˌːˑ"
    (path.parent / "voice.onnx.json").write_text(json.dumps({
        "num_symbols": 256, "num_speakers": 2, "audio": {"sample_rate": 16000}, "espeak": {"voice": "en-us"},
        "phoneme_id_map": {symbol: [number] for number, symbol in enumerate(symbols)}}))
    voice = PiperVoice.load(path)
    for text in ("Hello world.", "One sentence. And another one, which is longer!"):
        for speaker in (0, 1):
            chunks = list(voice.synthesize(text, SynthesisConfig(speaker_id=speaker, length_scale=1.2)))
            sound = np.concatenate([chunk.audio_float_array for chunk in chunks]).astype(np.float64)
            print(f"result {text} by {speaker}:", len(chunks), sound.size, *np.round(sound[:: sound.size // 12], 3))
