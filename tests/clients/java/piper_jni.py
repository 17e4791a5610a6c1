"""Java: piper-jni speaks through C++ code that asks for ONNX Runtime 1.14.1, and reads the .ort file of its jar."""
import json
import shutil
import zipfile

import numpy as np
import onnx
import onnx.numpy_helper
import onnx.parser
from client import PROGRAMS, compare_printed, must, need

NAME = "Java: io.github.givimad:piper-jni"
VERSION = "1.2.0-c0670df"
KIND = "library"
RUNS = "texts in two languages spoken by a random voice, with the model in ORT's format that the jar carries"
LIBRARY = "debian-amd64/libonnxruntime.so.1.14.1"
PHONEMES = "_^$ !'(),-.:;?abcdefghijklmnopqrstuvwxyzæçðøħŋœɐɑɒɔɕɖəɚɛɜɟɡɢɣɥɦɨɪɫɬɭɯɲɳɵɸɹɽɾʀʁʃʊʋʌʎʏʒʔʕˈˌːˑˤθχ"
VOICE = """
<ir_version: 8, opset_import: ["" : 15]>
voice (int64[batch, phonemes] input, int64[batch] input_lengths, float[3] scales, int64[batch] sid)
    => (float[batch, 1, 1, time] output) <int64[1] one = {1}, int64[1] two = {2}> {
    e = Gather (table, input)
    s = Gather (speakers, sid)
    s3 = Unsqueeze (s, one)
    es = Add (e, s3)
    t = Transpose <perm: ints = [0, 2, 1]> (es)
    length = Slice (scales, one, two)
    tl = Mul (t, length)
    c = ConvTranspose <strides: ints = [256], output_padding: ints = [225]> (tl, spread)
    a = Tanh (c)
    output = Unsqueeze (a, one)
}"""


def make_voices(folder):
    random = np.random.default_rng(1)
    voice = onnx.parser.parse_model(VOICE)
    for name, shape, size in (("table", (256, 64), 0.2), ("speakers", (2, 64), 0.1), ("spread", (64, 1, 31), 0.1)):
        weights = (random.normal(size=shape) * size).astype(np.float32)
        voice.graph.initializer.append(onnx.numpy_helper.from_array(weights, name))
    folder.mkdir()
    for language in ("en-us", "ar"):
        onnx.save(voice, str(folder / f"{language}.onnx"))
        (folder / f"{language}.onnx.json").write_text(json.dumps({
            "num_symbols": 256, "num_speakers": 2, "audio": {"sample_rate": 16000}, "espeak": {"voice": language},
            "phoneme_type": "espeak", "phoneme_map": {},
            "inference": {"noise_scale": 0.6, "length_scale": 1.2, "noise_w": 0.8},
            "phoneme_id_map": {symbol: [number] for number, symbol in enumerate(PHONEMES)}}))
    (folder / "broken.onnx").write_bytes(b"this is not a model")


def install(place):
    need("java", "javac", "mvn")
    must("mvn", "-q", "dependency:copy", f"-Dartifact=io.github.givimad:piper-jni:{VERSION}",
         f"-DoutputDirectory={place}", cwd=place)
    (jar,) = place.glob("*.jar")
    with zipfile.ZipFile(jar) as whole, zipfile.ZipFile(place / "rest.jar", "w") as rest:
        for name in whole.namelist():
            if name != LIBRARY:
                rest.writestr(name, whole.read(name))
        whole.extract(LIBRARY, place / "stock")
    jar.unlink()
    make_voices(place / "voices")


def run(place, side):
    # The program unpacks the library from its jar: the classes and data are the same file, the library is the side's.
    library = place / side.name / LIBRARY
    if side.name == "ours":
        library.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(side.library, library)
    jar = place / f"{side.name}.jar"
    shutil.copy(place / "rest.jar", jar)
    with zipfile.ZipFile(jar, "a") as whole:
        whole.write(library, LIBRARY)
    must("javac", "-cp", jar, "-d", place / "classes", PROGRAMS / "java/Piper.java")
    return compare_printed(place, side, "java", f"-Djava.io.tmpdir={place / side.name}", "-cp",
                           f"{jar}:{place / 'classes'}", "Piper", place / "voices", cwd=place)
