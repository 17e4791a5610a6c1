"""Runs the models of transformers_models.py with optimum and with torch, and prints what comes out.

usage: transformers_program.py FOLDER torch|onnxruntime    (which of them is imported first)"""
import pathlib
import sys

if __name__ == "__main__":
    __import__(sys.argv[2])  # before all others
# ruff: noqa: E402
import numpy as np
import onnxruntime
import torch
import transformers as t

t.logging.set_verbosity_error()
TEXT = "the cat sat on the mat ."


def say(name, *words):
    print(f"result {name}: {' '.join(map(str, words))}", flush=True)


def numbers(values):
    values = values.detach().numpy() if isinstance(values, torch.Tensor) else np.asarray(values)
    return " ".join(f"{value:.5f}" for value in values.astype(np.float64).ravel()[:24])


class Module(torch.nn.Module):
    """Convolution, resizing, a recurrent layer, attention."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.conv = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(8)
        self.lstm = torch.nn.LSTM(8, 6, batch_first=True, bidirectional=True)
        self.attention = torch.nn.MultiheadAttention(12, 3, batch_first=True)
        self.out = torch.nn.Linear(12, 4)

    def forward(self, x):
        y = torch.nn.functional.silu(self.norm(self.conv(x)))
        y = torch.nn.functional.interpolate(y, scale_factor=0.5, mode="bilinear")
        y, _ = self.lstm(y.flatten(2).transpose(1, 2))
        z, _ = self.attention(y, y, y, need_weights=False)
        return torch.softmax(self.out(z + y).mean(1), -1), (y > 0).sum(), torch.topk(y.mean(1), 3)[1]


def module_input():
    return torch.arange(2 * 3 * 8 * 8, dtype=torch.float32).reshape(2, 3, 8, 8).sin()


class Models:
    def __init__(self, place):
        import optimum.onnxruntime as optimum
        self.place, self.optimum = place, optimum

    def load(self, kind, name, **options):
        return getattr(self.optimum, f"ORTModelFor{kind}").from_pretrained(str(self.place / name), **options)

    def tokenizer(self, name):
        return t.AutoTokenizer.from_pretrained(str(self.place / name))

    def processor(self, name):
        return t.AutoImageProcessor.from_pretrained(str(self.place / name), use_fast=False)

    def extractor(self, name):
        return t.AutoFeatureExtractor.from_pretrained(str(self.place / name))

    def bert(self):
        for task, kind, auto in (("feature-extraction", "FeatureExtraction", t.AutoModel),
                                 ("text-classification", "SequenceClassification",
                                  t.AutoModelForSequenceClassification),
                                 ("token-classification", "TokenClassification", t.AutoModelForTokenClassification),
                                 ("fill-mask", "MaskedLM", t.AutoModelForMaskedLM)):
            model, tokenizer = self.load(kind, f"bert-{task}"), self.tokenizer(f"bert-{task}")
            inputs = tokenizer([TEXT, "a dog"], return_tensors="pt", padding=True)
            found = model(**inputs)[0]
            expected = auto.from_pretrained(str(self.place / f"torch_bert-{task}")).eval()(**inputs)[0]
            say(task, numbers(found), torch.allclose(found, expected, atol=1e-4))
            answer = self.optimum.pipeline(task, model=model, tokenizer=tokenizer)(
                "the cat [MASK] on the mat" if task == "fill-mask" else TEXT)
            say(f"{task}, pipeline", numbers(answer) if task == "feature-extraction" else " ".join(
                f"{row.get('label', row.get('entity', row.get('token_str')))} {row['score']:.4f}" for row in answer))

    def question_answering(self):
        name = "bert-question-answering"
        pipeline = self.optimum.pipeline("question-answering", model=self.load("QuestionAnswering", name),
                                         tokenizer=self.tokenizer(name))
        answer = pipeline(question="who sat ?", context="the cat sat on the mat . a dog ran .")
        say("question-answering", f"{answer['score']:.5f}", answer["start"], answer["end"], answer["answer"])

    def generation(self):
        for name in ("gpt2", "llama"):
            tokenizer = self.tokenizer(name)
            inputs = tokenizer("the cat sat", return_tensors="pt", add_special_tokens=False)
            inputs.pop("token_type_ids", None)
            expected = t.AutoModelForCausalLM.from_pretrained(str(self.place / f"torch_{name}")).generate(
                **inputs, max_new_tokens=12, do_sample=False, pad_token_id=0)
            for bound in (True, False):
                model = self.load("CausalLM", name, use_io_binding=bound)
                found = model.generate(**inputs, max_new_tokens=12, do_sample=False, pad_token_id=0)
                say(f"{name}, bound {bound}", *found[0].tolist(), found.tolist() == expected.tolist())
                beams = model.generate(**inputs, max_new_tokens=8, num_beams=3, do_sample=False, pad_token_id=0)
                say(f"{name}, bound {bound}, beams", *beams[0].tolist())
            answer = self.optimum.pipeline("text-generation", model=model, tokenizer=tokenizer)(
                "the dog", max_new_tokens=5, do_sample=False)
            say(f"{name}, pipeline", answer[0]["generated_text"])

    def translation(self):
        model = self.load("Seq2SeqLM", "t5")
        inputs = self.tokenizer("t5")(TEXT, return_tensors="pt")
        inputs.pop("token_type_ids", None)
        for beams in (1, 2):
            found = model.generate(**inputs, max_new_tokens=10, num_beams=beams, do_sample=False)
            say(f"t5, {beams} beams", *found[0].tolist())

    def pictures(self):
        from PIL import Image
        picture = np.random.default_rng(1).integers(0, 255, (40, 48, 3), dtype=np.uint8)
        model, processor = self.load("ImageClassification", "vit"), self.processor("vit")
        say("vit", numbers(model(**processor(picture, return_tensors="pt")).logits))
        answer = self.optimum.pipeline("image-classification", model=model, image_processor=processor)(
            Image.fromarray(picture))
        say("vit, pipeline", " ".join(f"{row['label']} {row['score']:.4f}" for row in answer))
        model, processor = self.load("SemanticSegmentation", "segformer"), self.processor("segformer")
        say("segformer", numbers(model(**processor(picture, return_tensors="pt")).logits))
        model, processor = self.load("ZeroShotImageClassification", "clip"), self.processor("clip")
        inputs = self.tokenizer("clip")(["the cat", "a dog"], return_tensors="pt", padding=True)
        inputs.pop("token_type_ids", None)
        say("clip", numbers(model(**inputs, **processor(picture, return_tensors="pt")).logits_per_image))

    def sounds(self):
        wave = (np.sin(np.arange(8000) / 20) + 0.1 * np.random.default_rng(2).normal(size=8000)).astype(np.float32)
        model, extractor = self.load("AudioClassification", "wav2vec2"), self.extractor("wav2vec2")
        say("wav2vec2", numbers(model(**extractor(wave, sampling_rate=16000, return_tensors="pt")).logits))
        model, extractor = self.load("SpeechSeq2Seq", "whisper"), self.extractor("whisper")
        inputs = extractor(wave, sampling_rate=16000, return_tensors="pt")
        say("whisper", *model.generate(inputs.input_features, max_new_tokens=10, do_sample=False)[0].tolist())

    def exported(self):
        module, x = Module().eval(), module_input()
        expected = [value.detach().numpy() for value in module(x)]
        for dynamo in (False, True):
            session = onnxruntime.InferenceSession(str(self.place / f"exported_{dynamo}.onnx"))
            for output, found, wanted in zip(session.get_outputs(), session.run(None, {"x": x.numpy()}), expected,
                                             strict=True):
                say(f"torch.onnx, dynamo {dynamo}, {output.name}", numbers(found),
                    np.allclose(found, wanted, atol=1e-4))

    def beside(self):
        """Both compute in turns, and share memory."""
        matrix = torch.randn(64, 64, generator=torch.Generator().manual_seed(3))
        session = onnxruntime.InferenceSession(str(self.place / "bert-feature-extraction/model.onnx"))
        ones = torch.ones(1, 8, dtype=torch.int64)
        feed = {value.name: ones.numpy() for value in session.get_inputs()}
        for _ in range(5):
            product, hidden = matrix @ matrix, session.run(None, feed)[0]
        say("in turns", numbers(product[0, :4]), numbers(hidden[0, 0, :4]))
        value = onnxruntime.OrtValue.ortvalue_from_numpy(matrix.numpy())
        say("DLPack", torch.equal(torch.from_dlpack(value._ortvalue), matrix))
        binding = session.io_binding()
        for name in feed:
            binding.bind_input(name, "cpu", 0, np.int64, (1, 8), ones.data_ptr())
        output = torch.empty(1, 8, 32)
        binding.bind_output(session.get_outputs()[0].name, "cpu", 0, np.float32, (1, 8, 32), output.data_ptr())
        session.run_with_iobinding(binding)
        say("bound to torch's memory", numbers(output[0, 0, :4]))


def main():
    models = Models(pathlib.Path(sys.argv[1]))
    for part in (models.bert, models.question_answering, models.generation, models.translation, models.pictures,
                 models.sounds, models.exported, models.beside):
        part()


if __name__ == "__main__":
    main()
