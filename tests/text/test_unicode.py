"""Text in every language: upper and lower case without the system's locales, bytes that are not UTF-8, long strings."""
import os
import subprocess
import sys
import time
import unicodedata

import numpy as np
import onnxruntime
import pytest
import sardonyx
from onnx import TensorProto, helper


def model(op, texts=None, domain="", output=TensorProto.STRING, **attributes):
    """One node over the input 'x', or over a constant of these texts (bytes)."""
    node = helper.make_node(op, ["x"], ["y"], name="words", domain=domain, **attributes)
    constant = TensorProto(name="x", data_type=TensorProto.STRING, dims=[len(texts or [])], string_data=texts)
    inputs = [] if texts else [helper.make_tensor_value_info("x", TensorProto.STRING, [None])]
    graph = helper.make_graph([node], "g", inputs, [helper.make_tensor_value_info("y", output, None)],
                              [constant] if texts else [])
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()


def run(engine, data, texts):
    options = engine.SessionOptions()
    options.log_severity_level = 4
    session = engine.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    return session.run(None, {"x": np.array(texts, object)} if texts is not None else {})[0]


def normalized(texts, change, locale, engine=sardonyx, **attributes):
    data = model("StringNormalizer", case_change_action=change, locale=locale, **attributes)
    return run(engine, data, texts).tolist()


def letters():
    """Every character that Unicode 14 has, which is Python's; a letter of a newer version may still change."""
    return [chr(c) for c in range(0x20, 0x110000) if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co")]


@pytest.mark.parametrize("change", ["UPPER", "LOWER"])
def test_every_letter_is_mapped_as_in_onnx_runtime(change):
    """Its locale C.UTF-8 has the letters of en_US, and every Linux has it."""
    texts = letters()
    theirs = normalized(texts, change, "C.UTF-8", onnxruntime)
    ours = normalized(texts, change, "en_US")
    assert [(a, b, c) for a, b, c in zip(texts, theirs, ours, strict=True) if b != c] == []
    assert sum(a != b for a, b in zip(texts, ours, strict=True)) > 1300


def test_words_of_many_languages():
    words = "straße ǆungla σίσυφος ёж աբ ქართული ꮳꮃꭹ 𐐨 𞤢𞤣 ⓐ ｆｕｌｌ ﬁ 日本 ı".split()
    upper = "STRAßE ǄUNGLA ΣΊΣΥΦΟΣ ЁЖ ԱԲ ᲥᲐᲠᲗᲣᲚᲘ ᏣᎳᎩ 𐐀 𞤀𞤁 Ⓐ ＦＵＬＬ ﬁ 日本 I".split()
    assert normalized(words, "UPPER", "en_US") == upper
    back = [word if word != "σίσυφος" else "σίσυφοσ" for word in words]
    assert normalized(upper, "LOWER", "en_US") == [*back[:-1], "i"]


@pytest.mark.parametrize("locale", ["tr_TR", "tr_TR.UTF-8", "tr", "az_AZ", "az-AZ"])
def test_turkish_and_azeri_have_two_letters_i(locale):
    assert normalized(["iı", "İI", "ok"], "UPPER", locale) == ["İI", "İI", "OK"]
    assert normalized(["iı", "İI", "OK"], "LOWER", locale) == ["iı", "iı", "ok"]
    assert normalized(["ılık", "ILIK", "ilik"], "NONE", locale, stopwords=["ILIK"]) == ["ilik"]


def test_no_locale_of_the_system_is_needed():
    """In the plainest environment, with locales that are nowhere installed."""
    program = """if True:
    import sys; sys.path.insert(0, sys.argv[1])
    from test_unicode import normalized
    for locale in ("", "en_US", "en_US.UTF-8", "de_DE@euro", "el_GR", "ru_RU.KOI8-R", "hy_AM", "xx_YY", "trv_TW"):
        assert normalized(["äß", "ΣΤΑΣ", "Ж"], "LOWER", locale) == ["äß", "στασ", "ж"], locale
    """
    environment = {**os.environ, "LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "1", "LOCPATH": "/nowhere"}
    subprocess.run([sys.executable, "-c", program, os.path.dirname(__file__)], env=environment, check=True)


NOT_UTF8 = {"a lone byte": b"a\xff", "a lone continuation": b"\x80", "overlong, two bytes": b"a\xc0\xaf",
            "overlong, three bytes": b"\xe0\x80\xaf", "overlong, four bytes": b"\xf0\x80\x80\xaf",
            "a surrogate": b"\xed\xa0\x80", "beyond the last": b"\xf4\x90\x80\x80", "cut off": b"abc\xe2\x82"}
OPERATORS = {"StringNormalizer": {"case_change_action": "UPPER"}, "StringNormalizer as is": {},
             "StringNormalizer with stop words": {"stopwords": ["x"], "is_case_sensitive": 1},
             "Tokenizer": {"domain": "com.microsoft", "mark": 0, "pad_value": "", "mincharnum": 1, "separators": [" "]}}


@pytest.mark.parametrize("name", NOT_UTF8)
@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("level", ["ORT_DISABLE_ALL", "ORT_ENABLE_ALL"])
def test_other_bytes_give_an_error_that_names_node_and_element(name, operator, level):
    attributes = {"locale": "C.UTF-8", **OPERATORS[operator]} if "String" in operator else OPERATORS[operator]
    data = model(operator.split()[0], [b"fine", NOT_UTF8[name]], **attributes)
    options = sardonyx.SessionOptions()
    options.graph_optimization_level = getattr(sardonyx.GraphOptimizationLevel, level)
    with pytest.raises(Exception, match="UTF-8|utf8") as theirs:
        run(onnxruntime, data, None)
    expected = getattr(sardonyx, theirs.typename)  # the same class
    with pytest.raises(expected, match=r"node 'words'.*expected valid UTF-8 .* in element 1"):
        sardonyx.InferenceSession(data, options).run(None, {})


MEGABYTE = 1_000_000
LONG = {"one letter": "a" * MEGABYTE, "spaces": " " * MEGABYTE, "letters and spaces": "ab " * (MEGABYTE // 3),
        "two bytes": "é" * (MEGABYTE // 2), "an end that does not match": "a" * (MEGABYTE - 1) + "!",
        "marks": "e\u0301" * (MEGABYTE // 3)}
TOKENS = {"domain": "com.microsoft", "mark": 0, "pad_value": "", "mincharnum": 1}
WORK = {
    "nested": ("RegexFullMatch", {"pattern": "(a*)*b", "output": TensorProto.BOOL}),
    "alternatives": ("RegexFullMatch", {"pattern": "((a|aa|aaa|[a-z])+ ?)+c?", "output": TensorProto.BOOL}),
    "counted": ("RegexFullMatch", {"pattern": "(.{1,50}){1,10}x.*", "output": TensorProto.BOOL}),
    "words": ("Tokenizer", {**TOKENS, "tokenexp": "[a-zé]+|[^a-zé]"}),
    "long words": ("Tokenizer", {**TOKENS, "tokenexp": r"\w+", "mincharnum": 3}),
    "separators": ("Tokenizer", {**TOKENS, "separators": [" +", "[,;]", "b"]}),
    "characters": ("Tokenizer", {**TOKENS, "separators": [""]}),
    "upper": ("StringNormalizer", {"case_change_action": "UPPER", "stopwords": ["a"]}),
    "split": ("StringSplit", {}),
    "split at": ("StringSplit", {"delimiter": "aaaaaaaaaaaab"}),
}


@pytest.mark.parametrize("name", WORK)
def test_long_strings_take_linear_time(name):
    """Two megabytes take about twice the time of one; what is quadratic would take hours."""
    op, attributes = WORK[name]
    node = helper.make_node(op, ["x"], ["y", "n"] if op == "StringSplit" else ["y"],
                            **{key: value for key, value in attributes.items() if key != "output"})
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.STRING, [None])],
                              [helper.make_tensor_value_info("y", attributes.get("output", TensorProto.STRING), None)])
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    made = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    session = sardonyx.InferenceSession(made.SerializeToString())
    for text in LONG.values():
        start = time.process_time()
        session.run(None, {"x": np.array([text], object)})
        assert time.process_time() - start < 20, text[:10]
