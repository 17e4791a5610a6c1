"""Six models of the zoo in quantized forms, against ONNX Runtime's tool and in both runtimes; quantized_zoo.py does the
same for all, and writes docs/quantization_proof.md."""
import model_zoo
import proof_page
import proof_rows
import pytest
import quantized_forms

SMALL = ("keyword_stft", "gru_denoiser", "keras_loop_rnn", "keras_lstm_text")
CASES = [*((name, form) for name in SMALL for form in quantized_forms.FORMS), ("mobilenet_v3_large", "dynamic"),
         ("shufflenet_v2_x1_0", "dynamic")]
# Half precision at 65 dB: see KNOWN in proof_page.py.
BELOW = {("keras_loop_rnn", "fp16"): "dB below theirs in sardonyx"}
# Of a useful result in dB. A recurrent net of random weights amplifies what 8 bits lose of its states: the results of
# both tools have 1.5 dB over the sixteen inputs.
LEAST = {("gru_denoiser", "QDQ"): 1.0, ("gru_denoiser", "QOperator"): 1.0}


@pytest.mark.skipif(not model_zoo.present(), reason=model_zoo.why_absent())
@pytest.mark.parametrize(("name", "form"), CASES)
def test_a_model_of_the_zoo_in_every_form(tmp_path, name, form):
    row = quantized_forms.compared(name, form, tmp_path)
    found = [problem for problem in quantized_forms.problems(row) if BELOW.get((name, form), "\n") not in problem]
    assert found == [], row
    assert row["sardonyx in sardonyx"] > LEAST.get((name, form), 10.0)


def test_what_is_worse_is_found():
    """The verdict on a row that has a fault of each kind."""
    good = {"sardonyx refuses": "", "sardonyx in sardonyx": 30.0, "sardonyx in onnxruntime": 30.0,
            "onnxruntime in onnxruntime": 30.4, "sardonyx in sardonyx: fails": "", "sardonyx in onnxruntime: fails": ""}
    assert quantized_forms.problems(good) == []
    for change, count in (({"onnxruntime in onnxruntime": 30.6}, 2), ({"sardonyx refuses": "no"}, 1),
                          ({"sardonyx in onnxruntime: fails": "no", "sardonyx in onnxruntime": None}, 1),
                          ({"nodes": {"MatMulInteger": [1, 1, 10, 1, 1.0]}}, 1)):
        assert len(quantized_forms.problems(good | change)) == count


def test_the_page_is_what_the_rows_give():
    """tests/zoo/quantized_zoo.py --write makes it; each model of the zoo has its count of products."""
    rows = proof_rows.read()
    assert proof_page.PAGE.read_text() == proof_page.text(rows)
    if model_zoo.present():
        floats = {name for name, entry in model_zoo.entries().items() if entry["family"] != "quantized"}
        assert {row["model"] for row in rows if row["form"] == proof_rows.COUNT} == floats


def test_a_row_is_read_as_it_was_written(tmp_path):
    """Rows replace those of their model and form alone; a page made of what is read is that of what was written."""
    whole = {"model": "b", "form": "QDQ", "judged": 16, "exact": False, "sardonyx s": 1.25, "onnxruntime s": 2.0,
             "sardonyx refuses": "", "onnxruntime refuses": "", "sardonyx in sardonyx": 30.25,
             "sardonyx in onnxruntime": 30.5, "onnxruntime in onnxruntime": None,
             "sardonyx in sardonyx: fails": "", "sardonyx in onnxruntime: fails": "",
             "onnxruntime in onnxruntime: fails": "Fail:\ttwo words", "agreement": 60.0, "bytes": 1000,
             "nodes": {"QLinearConv": [2, 0, 100, 0, 0.0], "QLinearAdd": [1, 1, 50, 3, 1.0]}}
    refused = whole | {"form": "dynamic", "sardonyx refuses": "no", "nodes": "nodes were not compared: Fail"}
    ended = {"model": "a", "form": "fp16", "ended": "after 1500 s"}
    counts = [{"model": name, "form": proof_rows.COUNT, "products": count} for name, count in (("a", 3), ("b", 1))]
    place = tmp_path / "rows.tsv"
    proof_rows.put([*counts, whole | {"sardonyx in sardonyx": 1.0}, ended], place)
    proof_rows.put([refused, whole], place)
    found = {(row["model"], row["form"]): row for row in proof_rows.read(place)}
    assert list(found) == [("a", "-"), ("a", "fp16"), ("b", "-"), ("b", "QDQ"), ("b", "dynamic")]
    written = whole | {"onnxruntime in onnxruntime: fails": "Fail: two words"}
    assert {key: found["b", "QDQ"][key] for key in whole} == written
    assert proof_page.text(list(found.values())) == proof_page.text([
        counts[0], ended, counts[1], written, refused | {"onnxruntime in onnxruntime: fails": "Fail: two words"}])
    page = proof_page.text(list(found.values()))
    for text in ("| b | 1 | refused here | 30.2 30.5 (fails) * ~ |", "a, fp16: ended after 1500 s",
                 "| QLinearAdd | 1 |"):
        assert text in page
