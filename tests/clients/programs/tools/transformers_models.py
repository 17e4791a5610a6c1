"""Makes small random models of many kinds, exports them with optimum, and one module with torch's two exporters.

usage: transformers_models.py FOLDER"""
import pathlib
import string
import sys

import torch
import transformers as t
from optimum.exporters.onnx import main_export
from transformers_program import Module, module_input

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat", "on", "mat", "dog", "ran", ".", "?", "who",
         "where", "is", "my", "name", "new", "york", *string.ascii_lowercase]
LAYERS = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
TEXT = LAYERS | {"vocab_size": len(WORDS), "max_position_embeddings": 64}
BERT = {"feature-extraction": t.BertModel, "text-classification": t.BertForSequenceClassification,
        "token-classification": t.BertForTokenClassification, "question-answering": t.BertForQuestionAnswering,
        "fill-mask": t.BertForMaskedLM}


def save(place, name, model, tools, task):
    source = place / f"torch_{name}"
    model.eval().save_pretrained(source)
    for tool in tools:
        tool.save_pretrained(source)
    main_export(str(source), place / name, task=task)


def texts(place):
    words = place / "words.txt"
    words.write_text("\n".join(WORDS))
    tokenizer = t.BertTokenizerFast(str(words), model_max_length=64)
    for task, kind in BERT.items():
        labels = {"num_labels": 2 if task == "question-answering" else 3}
        save(place, f"bert-{task}", kind(t.BertConfig(**TEXT, **labels)), [tokenizer], task)
    gpt2 = t.GPT2Config(n_embd=32, n_layer=2, n_head=4, vocab_size=len(WORDS), n_positions=64, bos_token_id=2,
                        eos_token_id=3)
    save(place, "gpt2", t.GPT2LMHeadModel(gpt2), [tokenizer], "text-generation-with-past")
    llama = t.LlamaConfig(**TEXT, num_key_value_heads=2, bos_token_id=2, eos_token_id=3, pad_token_id=0)
    save(place, "llama", t.LlamaForCausalLM(llama), [tokenizer], "text-generation-with-past")
    t5 = t.T5Config(d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, vocab_size=len(WORDS),
                    decoder_start_token_id=0, pad_token_id=0, eos_token_id=3)
    save(place, "t5", t.T5ForConditionalGeneration(t5), [tokenizer], "text2text-generation-with-past")
    return tokenizer


def pictures(place, tokenizer):
    vit = t.ViTConfig(**LAYERS, image_size=32, patch_size=8, num_labels=3)
    save(place, "vit", t.ViTForImageClassification(vit), [t.ViTImageProcessor(size={"height": 32, "width": 32})],
         "image-classification")
    segformer = t.SegformerConfig(num_labels=4, depths=[1, 1, 1, 1], hidden_sizes=[8, 16, 24, 32],
                                  num_attention_heads=[1, 2, 2, 4], decoder_hidden_size=16)
    save(place, "segformer", t.SegformerForSemanticSegmentation(segformer),
         [t.SegformerImageProcessor(size={"height": 64, "width": 64})], "semantic-segmentation")
    clip = t.CLIPConfig(text_config=TEXT, vision_config=LAYERS | {"image_size": 32, "patch_size": 8}, projection_dim=16)
    processor = t.CLIPImageProcessor(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32})
    save(place, "clip", t.CLIPModel(clip), [tokenizer, processor], "zero-shot-image-classification")


def sounds(place):
    wave = t.Wav2Vec2Config(**LAYERS, vocab_size=12, conv_dim=(16, 16, 16), conv_stride=(5, 4, 4),
                            conv_kernel=(10, 8, 8), num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4,
                            num_labels=3, classifier_proj_size=16)
    save(place, "wav2vec2", t.Wav2Vec2ForSequenceClassification(wave), [t.Wav2Vec2FeatureExtractor()],
         "audio-classification")
    whisper = t.WhisperConfig(d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
                              decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64, vocab_size=64,
                              max_target_positions=32, num_mel_bins=16, bos_token_id=1, eos_token_id=2, pad_token_id=0,
                              decoder_start_token_id=3, suppress_tokens=[], begin_suppress_tokens=[])
    save(place, "whisper", t.WhisperForConditionalGeneration(whisper), [t.WhisperFeatureExtractor(feature_size=16)],
         "automatic-speech-recognition-with-past")


def main(place):
    place.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(1)
    tokenizer = texts(place)
    pictures(place, tokenizer)
    sounds(place)
    for dynamo in (False, True):
        torch.onnx.export(Module().eval(), (module_input(),), str(place / f"exported_{dynamo}.onnx"), dynamo=dynamo,
                          opset_version=18, input_names=["x"], output_names=["scores", "count", "best"])


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
