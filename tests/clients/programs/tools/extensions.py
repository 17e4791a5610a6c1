"""Runs operators of onnxruntime-extensions: strings, tokenizers, images, sound, and operators written in Python.

Prints `ok NAME`, `failed NAME: why` for each, and `end`. The package `onnxruntime` is the one that is found.
"""
import io
import json
import pathlib
import struct
import sys
import tempfile
import traceback
import wave

import numpy as np
import onnx
import onnxruntime
import onnxruntime_extensions as extensions
from onnx import TensorProto, helper
from PIL import Image

CASES = {}
KINDS = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.float64): TensorProto.DOUBLE,
         np.dtype(np.int64): TensorProto.INT64,
         np.dtype(np.uint8): TensorProto.UINT8, np.dtype(np.bool_): TensorProto.BOOL,
         np.dtype(np.int32): TensorProto.INT32, np.dtype(object): TensorProto.STRING}


def case(function):
    CASES[function.__name__] = function
    return function


def options():
    made = onnxruntime.SessionOptions()
    made.register_custom_ops_library(extensions.get_library_path())
    made.log_severity_level = 3
    return made


def run(op_type, inputs, outputs, domain="ai.onnx.contrib", **attributes):
    """The outputs of one node; `outputs` are their element types."""
    arrays = [array if isinstance(array, np.ndarray) else texts(array) for array in inputs]
    names = [f"x{i}" for i in range(len(arrays))]
    results = [f"y{i}" for i in range(len(outputs))]
    graph = helper.make_graph(
        [helper.make_node(op_type, names, results, domain=domain, **attributes)], "g",
        [helper.make_tensor_value_info(name, KINDS[array.dtype], [None] * array.ndim)
         for name, array in zip(names, arrays, strict=True)],
        [helper.make_tensor_value_info(name, KINDS[np.dtype(kind)], None)
         for name, kind in zip(results, outputs, strict=True)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(domain, 1)],
                              ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString(), options(), providers=["CPUExecutionProvider"])
    first = session.run(None, dict(zip(names, arrays, strict=True)))
    again = session.run(None, dict(zip(names, arrays, strict=True)))
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a, b)
    return first


def texts(value):
    return np.array(value, dtype=object)


def same(found, *expected):
    assert len(found) == len(expected), (len(found), found)
    for a, b in zip(found, expected, strict=True):
        wanted = np.array(b)
        assert a.tolist() == wanted.tolist(), f"{a.tolist()} instead of {wanted.tolist()}"


# ---- Strings

@case
def string_upper_and_lower():
    same(run("StringUpper", [["abc", "A longer text than small strings hold"]], [object]),
         ["ABC", "A LONGER TEXT THAN SMALL STRINGS HOLD"])
    same(run("StringLower", [["ABC", ""]], [object]), ["abc", ""])


@case
def string_length_and_concat():
    same(run("StringLength", [["abc", "", "ünï"]], [np.int64]), [3, 0, 3])
    same(run("StringConcat", [["a", "b"], ["x", "y"]], [object]), ["ax", "by"])


@case
def string_join_and_split():
    same(run("StringJoin", [[["a", "b"], ["c", "d"]], [","], np.array([1])], [object]), ["a,b", "c,d"])
    found = run("StringSplit", [["a,b,,c", "d"], [","], np.array([True])], [np.int64, object, np.int64])
    same(found, [[0, 0], [0, 1], [0, 2], [1, 0]], ["a", "b", "c", "d"], [2, 3])


@case
def string_equal_and_strip():
    same(run("StringEqual", [["a", "b"], ["a", "c"]], [np.bool_]), [True, False])
    same(run("StringStrip", [["  a b ", "\tc\n"]], [object]), ["a b", "c"])


@case
def string_hash():
    found = run("StringToHashBucketFast", [["a", "abc"], np.array([100])], [np.int64])[0]
    assert found.shape == (2,) and (found >= 0).all() and (found < 100).all(), found
    assert extensions.hash_64("abc", 100, True) == found[1], found


@case
def string_regex_replace():
    same(run("StringRegexReplace", [["a1b22"], ["[0-9]+"], ["#"]], [object]), ["a#b#"])
    same(run("StringECMARegexReplace", [["a1b22"], ["([a-z])([0-9])"], ["$2$1"]], [object]), ["1a2b2"])


@case
def string_to_vector_and_back():
    same(run("StringToVector", [["one", "three", "two"]], [np.int64], map="one\t1 1\ntwo\t2 2", unk="0 0"),
         [[1, 1], [0, 0], [2, 2]])
    same(run("VectorToString", [np.array([[1, 1], [2, 2]])], [object], map="one\t1 1\ntwo\t2 2", unk="none"),
         ["one", "two"])


@case
def string_mapping_and_masked_fill():
    same(run("StringMapping", [["a", "b", "z"]], [object], map="a\tx\nb\ty"), ["x", "y", "z"])
    same(run("MaskedFill", [["a", "b", "c"], np.array([True, False, True])], [object]), ["a", "c"])


# ---- Tokenizers

BERT = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "hello", "world", "un", "##aff", "##able", "!"]


@case
def bert_tokenizer():
    found = run("BertTokenizer", [["hello unaffable World!"]], [np.int64, np.int64, np.int64],
                vocab_file="\n".join(BERT), do_lower_case=1)
    same(found, [2, 5, 7, 8, 9, 6, 10, 3], [0] * 8, [1] * 8)


@case
def bert_tokenizer_of_a_pair():
    found = run("BertTokenizer", [["hello", "world"]], [np.int64, np.int64, np.int64], vocab_file="\n".join(BERT),
                do_lower_case=1)
    same(found, [2, 5, 3, 6, 3], [0, 0, 0, 1, 1], [1] * 5)


@case
def bert_tokenizer_decoder():
    found = run("BertTokenizerDecoder", [np.array([2, 5, 7, 8, 9, 3]), np.array([[0, 0]])], [object],
                vocab_file="\n".join(BERT), use_indices=0, skip_special_tokens=1)
    same(found, ["hello unaffable"])


def bytes_to_letters():
    """How byte-level vocabularies spell bytes."""
    plain = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    letters = {byte: chr(byte) for byte in plain}
    for byte in range(256):
        letters.setdefault(byte, chr(256 + len(letters) - len(plain)))
    return letters


def bpe_files():
    letters = list(bytes_to_letters().values())
    merges = [("h", "e"), ("l", "l"), ("he", "ll"), ("hell", "o"), ("Ġ", "w")]
    pieces = [*letters, *("".join(pair) for pair in merges), "<|endoftext|>"]
    vocab = {piece: i for i, piece in enumerate(pieces)}
    return vocab, "#version: 0.2\n" + "\n".join(" ".join(pair) for pair in merges) + "\n"


@case
def gpt2_tokenizer():
    vocab, merges = bpe_files()
    found = run("GPT2Tokenizer", [["hello world"]], [np.int64, np.int64], vocab=json.dumps(vocab), merges=merges,
                padding_length=-1)
    expected = [vocab[piece] for piece in ("hello", "Ġw", "o", "r", "l", "d")]
    same(found, [expected], [[1] * 6])


@case
def gpt2_tokenizer_with_padding():
    vocab, merges = bpe_files()
    found = run("GPT2Tokenizer", [["hello", "hell"]], [np.int64, np.int64], vocab=json.dumps(vocab), merges=merges,
                padding_length=3)
    assert found[0].shape == (2, 3) and found[0][0, 0] == vocab["hello"], found
    same(found[1:], [[1, 0, 0], [1, 0, 0]])


@case
def roberta_tokenizer():
    vocab, merges = bpe_files()
    for piece in ("<s>", "</s>", "<pad>", "<unk>", "<mask>"):
        vocab[piece] = len(vocab)
    found = run("RobertaTokenizer", [["hello"]], [np.int64, np.int64, np.int64], vocab=json.dumps(vocab),
                merges=merges, padding_length=-1)
    assert found[0][0, 1] == vocab["hello"] and found[0].shape == (1, 3), found
    same(found[1:2], [[1, 1, 1]])


@case
def clip_tokenizer():
    vocab, merges = bpe_files()
    for piece in ("hello</w>", "<|startoftext|>"):
        vocab[piece] = len(vocab)
    merges = merges.replace("hell o", "hell o</w>")
    found = run("CLIPTokenizer", [["hello"]], [np.int64, np.int64, np.int64], vocab=json.dumps(vocab), merges=merges,
                padding_length=-1)
    assert found[0][0].tolist()[1:-1] == [vocab["hello</w>"]], (found, vocab["hello</w>"])


@case
def tokenizer_of_hugging_face():
    vocab, merges = bpe_files()
    tokenizer = {"version": "1.0", "added_tokens": [], "normalizer": None,
                 "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True},
                 "post_processor": None, "decoder": {"type": "ByteLevel"},
                 "model": {"type": "BPE", "vocab": vocab, "unk_token": None,
                           "merges": [line for line in merges.splitlines()[1:]]}}
    with_class = {"tokenizer_class": "GPT2Tokenizer", "bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>",
                  "unk_token": "<|endoftext|>"}
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        (place / "tokenizer.json").write_text(json.dumps(tokenizer))
        (place / "tokenizer_config.json").write_text(json.dumps(with_class))
        found = run("HfJsonTokenizer", [["hello world"]], [np.int64, np.int64], tokenizer_vocab=json.dumps(tokenizer),
                    tokenizer_config=json.dumps(with_class))
    assert vocab["hello"] in found[0].ravel().tolist(), found


@case
def bpe_decoder():
    vocab, merges = bpe_files()
    letters = {letter: byte for byte, letter in bytes_to_letters().items()}
    ids = np.array([vocab[piece] for piece in ("hello", "Ġw", "o", "r", "l", "d")])
    spelled = "\n".join(f"{ord(letter)}\t{byte}" for letter, byte in letters.items())
    found = run("BpeDecoder", [ids], [object], id_vocab="\n".join(vocab), byte_decoder=spelled, added_tokens="",
                all_special_ids="", skip_special_tokens=0, en_normalization=0, whitespace_token=0, bos_token="",
                eos_token="", unk_token="")
    assert found[0].tolist() in (["hello world"], "hello world"), found


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def sentencepiece_model():
    """A unigram model as sentencepiece's ModelProto: pieces (1) with text (1), score (2) and kind (3), settings (2)."""
    def piece(text, score, kind=1):
        return field(1, field(1, text.encode()) + varint(2 << 3 | 5) + struct.pack("<f", score) + varint(3 << 3) +
                     varint(kind))
    pieces = [piece("<unk>", 0, 2), piece("<s>", 0, 3), piece("</s>", 0, 3), piece("▁hello", -1), piece("▁wor", -2),
              piece("ld", -2), *(piece(letter, -9) for letter in "▁helowrd")]
    trainer = field(2, varint(3 << 3) + varint(1))
    normalizer = field(3, field(1, b"identity") + field(2, b"") + b"\x18\x01\x20\x01\x28\x01")
    return b"".join(pieces) + trainer + normalizer


@case
def sentencepiece_tokenizer():
    found = run("SentencepieceTokenizer",
                [["hello world", "hello"], np.array([0]), np.array([0.0], np.float32), np.array([True]),
                 np.array([True]), np.array([False])], [np.int32, np.int64], model=sentencepiece_model())
    same(found, [1, 3, 4, 5, 2, 1, 3, 2], [0, 5, 8])


@case
def sentencepiece_decoder():
    found = run("SentencepieceDecoder", [np.array([3, 4, 5])], [object], model=sentencepiece_model())
    same(found, ["hello world"])


@case
def a_tokenizer_without_its_model_is_an_error():
    """The library's words come through."""
    try:
        run("SentencepieceTokenizer", [["x"], np.array([0]), np.array([0.0], np.float32), np.array([True]),
                                       np.array([True]), np.array([False])], [np.int32, np.int64], model=b"nonsense")
    except Exception as error:
        assert "SentencePieceProcessor" in str(error), error
        return
    raise AssertionError("no error")


# ---- Numbers

@case
def segment_sum_and_inverse():
    data = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
    same(run("SegmentSum", [data, np.array([0, 0, 1])], [np.float32]), [[4, 6], [5, 6]])
    found = run("Inverse", [np.array([[2, 0], [0, 4]], np.float32)], [np.float32])[0]
    np.testing.assert_allclose(found, [[0.5, 0], [0, 0.25]], rtol=1e-6)


@case
def segment_extraction():
    same(run("SegmentExtraction", [np.array([0, 0, 1, 1, 0, 2])], [np.int64, np.int64]), [[2, 4], [5, 6]], [1, 2])


# ---- Images and sound

def picture():
    return np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)


def encoded(kind):
    out = io.BytesIO()
    Image.fromarray(picture()).save(out, kind)
    return np.frombuffer(out.getvalue(), np.uint8)


@case
def decode_png():
    found = run("DecodeImage", [encoded("PNG")], [np.uint8], domain="com.microsoft.extensions")[0]
    assert found.shape == (4, 6, 3), found.shape
    assert np.array_equal(found, picture()) or np.array_equal(found, picture()[..., ::-1]), found


@case
def decode_jpeg():
    found = run("DecodeImage", [encoded("JPEG")], [np.uint8], domain="com.microsoft.extensions")[0]
    assert found.shape == (4, 6, 3) and found.std() > 0, found


@case
def encode_image():
    data = run("EncodeImage", [picture()], [np.uint8], domain="com.microsoft.extensions", format="png")[0]
    back = np.array(Image.open(io.BytesIO(data.tobytes())))
    assert np.array_equal(back, picture()) or np.array_equal(back, picture()[..., ::-1]), back


@case
def draw_boxes():
    image = np.zeros((20, 20, 3), np.uint8)
    boxes = np.array([[2, 2, 10, 10, 0.9, 0]], np.float32)
    found = run("DrawBoundingBoxes", [image, boxes], [np.uint8], domain="com.microsoft.extensions", thickness=1,
                num_classes=4, mode="XYXY", colour_by_classes=1)[0]
    assert found.shape == image.shape and found.any(), found


@case
def decode_sound():
    out = io.BytesIO()
    with wave.open(out, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(16000)
        sound.writeframes(np.tile(np.array([0, 16384, -16384, 0], np.int16), 4000).tobytes())
    data = np.frombuffer(out.getvalue(), np.uint8).reshape(1, -1)
    found = run("AudioDecoder", [data], [np.float32])[0]
    assert found.shape == (1, 16000), found.shape
    np.testing.assert_allclose(found[0, :8], [0, 0.5, -0.5, 0] * 2, atol=1e-4)


@case
def short_time_fourier_transform():
    signal = np.sin(np.arange(64, dtype=np.float32)).reshape(1, -1)
    window = np.hanning(16).astype(np.float32)
    found = run("StftNorm", [signal, np.array(16), np.array(8), window, np.array(16)], [np.float32])[0]
    assert found.shape == (1, 9, 9) and np.isfinite(found).all() and found.max() > 0, found.shape


# ---- Operators in Python

@case
def python_operator():
    @extensions.onnx_op(op_type="Double", inputs=[extensions.PyCustomOpDef.dt_float],
                        outputs=[extensions.PyCustomOpDef.dt_float])
    def double(x):
        return 2 * x

    same(run("Double", [np.array([[1, 2], [3, 4]], np.float32)], [np.float32]), [[2, 4], [6, 8]])


@case
def python_operator_with_attributes_and_several_outputs():
    op = extensions.PyCustomOpDef

    @extensions.onnx_op(op_type="SplitAt", inputs=[op.dt_float], outputs=[op.dt_float, op.dt_float],
                        attrs={"at": op.dt_int64})
    def split(x, **attributes):
        at = int(attributes["at"])
        return x[:at], x[at:]

    found = run("SplitAt", [np.array([1, 2, 3], np.float32)], [np.float32, np.float32], at=1)
    same(found, [1], [2, 3])


@case
def python_operator_of_strings():
    op = extensions.PyCustomOpDef

    @extensions.onnx_op(op_type="Backwards", inputs=[op.dt_string], outputs=[op.dt_string])
    def backwards(x):
        return np.array([text[::-1] for text in x.ravel()], dtype=object).reshape(x.shape)

    same(run("Backwards", [["abc", "xy"]], [object]), ["cba", "yx"])


@case
def python_function_of_a_model():
    graph = helper.make_graph([helper.make_node("StringUpper", ["x"], ["y"], domain="ai.onnx.contrib")], "g",
                              [helper.make_tensor_value_info("x", TensorProto.STRING, [None])],
                              [helper.make_tensor_value_info("y", TensorProto.STRING, [None])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17),
                                                    helper.make_opsetid("ai.onnx.contrib", 1)], ir_version=8)
    function = extensions.OrtPyFunction.from_model(model)
    assert function(texts(["abc"])).tolist() == ["ABC"]


@case
def operators_in_a_larger_model():
    """A tokenizer, its ids through operators of ONNX, and a decoder, in one model; in a file, optimized and saved."""
    vocab, merges = bpe_files()
    nodes = [helper.make_node("StringLower", ["x"], ["lower"], domain="ai.onnx.contrib"),
             helper.make_node("GPT2Tokenizer", ["lower"], ["ids", "mask"], domain="ai.onnx.contrib",
                              vocab=json.dumps(vocab), merges=merges, padding_length=-1),
             helper.make_node("ReduceSum", ["mask"], ["length"], keepdims=0),
             helper.make_node("Cast", ["ids"], ["real"], to=TensorProto.FLOAT),
             helper.make_node("ReduceMax", ["real"], ["largest"], keepdims=0)]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.STRING, [None])],
                              [helper.make_tensor_value_info("length", TensorProto.INT64, []),
                               helper.make_tensor_value_info("largest", TensorProto.FLOAT, [])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17),
                                                    helper.make_opsetid("ai.onnx.contrib", 1)], ir_version=8)
    with tempfile.TemporaryDirectory() as folder:
        onnx.save(model, f"{folder}/model.onnx")
        made = options()
        made.optimized_model_filepath = f"{folder}/saved.onnx"
        first = onnxruntime.InferenceSession(f"{folder}/model.onnx", made, providers=["CPUExecutionProvider"])
        second = onnxruntime.InferenceSession(f"{folder}/saved.onnx", options(), providers=["CPUExecutionProvider"])
        for session in (first, second):
            for text in ("HELLO world", "hello", "He said HELLO"):
                length, largest = session.run(None, {"x": texts([text])})
                assert length > 0 and largest >= vocab["hello"], (length, largest)


@case
def without_registration_the_error_says_what_to_do():
    graph = helper.make_graph([helper.make_node("StringUpper", ["x"], ["y"], domain="ai.onnx.contrib")], "g",
                              [helper.make_tensor_value_info("x", TensorProto.STRING, [None])],
                              [helper.make_tensor_value_info("y", TensorProto.STRING, [None])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17),
                                                    helper.make_opsetid("ai.onnx.contrib", 1)], ir_version=8)
    try:
        onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    except Exception as error:
        assert "StringUpper" in str(error), error
        return
    raise AssertionError("no error")


def main():
    for name, function in CASES.items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        try:
            function()
            print(f"ok {name}", flush=True)
        except Exception as error:
            why = " ".join(str(error).split())[:600]
            print(f"failed {name}: {type(error).__name__}: {why}", flush=True)
            if sys.argv[1:]:
                traceback.print_exc()
    print("end")


if __name__ == "__main__":
    main()
