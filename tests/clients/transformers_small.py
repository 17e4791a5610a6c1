"""Small random models in the forms that exporters of transformers give, with what tokenizers and processors read."""
import json
import string

import numpy as np
import onnx
import onnx.numpy_helper
import onnx.parser

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat", "on", "mat", "dog", "ran", ".", "?", "who",
         "where", "is", "my", "name", "new", "york", *string.ascii_lowercase,
         *(f"##{letter}" for letter in string.ascii_lowercase)]
SPECIAL = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]",
           "mask_token": "[MASK]"}
WIDTH, HEADS, LABELS = 16, 2, 3

ENCODER = """
  e = Gather (words, input_ids) t = Gather (kinds, token_type_ids) x = Add (e, t)
  q = MatMul (x, wq) k = MatMul (x, wk) v = MatMul (x, wv)
  kt = Transpose <perm: ints = [0, 2, 1]> (k) s = MatMul (q, kt) d = Mul (s, quarter)
  am = Cast <to: int = 1> (attention_mask) one = Constant <value_float: float = 1.0> ()
  off = Sub (one, am) far = Mul (off, low) middle = Constant <value_ints: ints = [1]> ()
  wide = Unsqueeze (far, middle) masked = Add (d, wide) p = Softmax <axis: int = -1> (masked)
  a = MatMul (p, v) r = Add (x, a) n = LayerNormalization <axis: int = -1> (r, scale, shift)
  u = MatMul (n, w1) g = Div (u, root) erf = Erf (g) h = Add (erf, one) z = Mul (u, h) gelu = Mul (z, half)
  w = MatMul (gelu, w2) f = Add (w, n)
"""
TEXT = "int64[batch, length] input_ids, int64[batch, length] attention_mask, int64[batch, length] token_type_ids"
PLACE = 'float[batch, 2, past, 8]'
GRAPHS = {
    "feature-extraction": (TEXT, "float[batch, length, 16] last_hidden_state",
                           ENCODER + "last_hidden_state = LayerNormalization <axis: int = -1> (f, scale, shift)"),
    "text-classification": (TEXT, "float[batch, 3] logits", ENCODER + """zero = Constant <value_int: int = 0> ()
      first = Gather <axis: int = 1> (f, zero) logits = Gemm (first, labels)"""),
    "reranking": (TEXT, "float[batch, 1] logits", ENCODER + """zero = Constant <value_int: int = 0> ()
      first = Gather <axis: int = 1> (f, zero) logits = MatMul (first, rank)"""),
    "token-classification": (TEXT, "float[batch, length, 3] logits", ENCODER + "logits = MatMul (f, labels)"),
    "fill-mask": (TEXT, "float[batch, length, words] logits",
                  ENCODER + "back = Transpose <perm: ints = [1, 0]> (words) logits = MatMul (f, back)"),
    "question-answering": (TEXT, "float[batch, length] start_logits, float[batch, length] end_logits", ENCODER + """
      both = MatMul (f, ends) left, right = Split <axis: int = -1, num_outputs: int = 2> (both)
      last = Constant <value_ints: ints = [-1]> ()
      start_logits = Squeeze (left, last) end_logits = Squeeze (right, last)"""),
    "text-generation": (
        f"""int64[batch, length] input_ids, int64[batch, total] attention_mask, int64[batch, length] position_ids,
        {PLACE} past_key_values_0_key, {PLACE} past_key_values_0_value""",
        "float[batch, length, words] logits, float[batch, 2, total, 8] present_0_key, "
        "float[batch, 2, total, 8] present_0_value",
        """e = Gather (words, input_ids) t = Gather (places, position_ids) x = Add (e, t)
        q = MatMul (x, wq) k = MatMul (x, wk) v = MatMul (x, wv)
        parts = Constant <value_ints: ints = [0, 0, 2, 8]> () whole = Constant <value_ints: ints = [0, 0, 16]> ()
        q4 = Reshape (q, parts) k4 = Reshape (k, parts) v4 = Reshape (v, parts)
        qh = Transpose <perm: ints = [0, 2, 1, 3]> (q4) kh = Transpose <perm: ints = [0, 2, 1, 3]> (k4)
        vh = Transpose <perm: ints = [0, 2, 1, 3]> (v4)
        present_0_key = Concat <axis: int = 2> (past_key_values_0_key, kh)
        present_0_value = Concat <axis: int = 2> (past_key_values_0_value, vh)
        kt = Transpose <perm: ints = [0, 1, 3, 2]> (present_0_key) s = MatMul (qh, kt)
        am = Cast <to: int = 1> (attention_mask) one = Constant <value_float: float = 1.0> ()
        off = Sub (one, am) far = Mul (off, low) axes = Constant <value_ints: ints = [1, 2]> ()
        wide = Unsqueeze (far, axes) masked = Add (s, wide) p = Softmax <axis: int = -1> (masked)
        a = MatMul (p, present_0_value) at = Transpose <perm: ints = [0, 2, 1, 3]> (a) am3 = Reshape (at, whole)
        r = Add (x, am3) n = LayerNormalization <axis: int = -1> (r, scale, shift)
        back = Transpose <perm: ints = [1, 0]> (words) logits = MatMul (n, back)"""),
    "image-classification": (
        "float[batch, 3, height, width] pixel_values", "float[batch, 3] logits",
        """c = Conv <strides: ints = [4, 4]> (pixel_values, patches) r = Relu (c) m = GlobalAveragePool (r)
        y = Flatten (m) logits = Gemm (y, labels)"""),
    "object-detection": (
        "float[batch, 3, height, width] pixel_values, int64[batch, h, w] pixel_mask",
        "float[batch, 16, 4] logits, float[batch, 16, 4] pred_boxes",
        """c = Conv <strides: ints = [4, 4]> (pixel_values, patches) r = Relu (c)
        whole = Constant <value_ints: ints = [0, 16, -1]> () y = Reshape (r, whole)
        m = ReduceMean <axes: ints = [2], keepdims: int = 1> (y)
        x = ReduceMax <axes: ints = [2], keepdims: int = 1> (y)
        b = Concat <axis: int = 2> (m, x) logits = MatMul (b, kinds4) o = MatMul (b, boxes4)
        pred_boxes = Sigmoid (o)"""),
    "audio-classification": (
        "float[batch, samples] input_values", "float[batch, 3] logits",
        """one = Constant <value_ints: ints = [1]> () x = Unsqueeze (input_values, one)
        c = Conv <strides: ints = [40]> (x, filters) r = Tanh (c)
        m = ReduceMean <axes: ints = [2], keepdims: int = 0> (r)
        logits = Gemm (m, labels)"""),
}
BERT = {"model_type": "bert", "hidden_size": WIDTH, "num_attention_heads": HEADS, "num_hidden_layers": 1,
        "max_position_embeddings": 64, "type_vocab_size": 2, "vocab_size": len(WORDS), "pad_token_id": 0,
        "id2label": {"0": "good", "1": "bad", "2": "neither"}, "label2id": {"good": 0, "bad": 1, "neither": 2}}
GPT2 = {"model_type": "gpt2", "n_embd": WIDTH, "n_head": HEADS, "n_layer": 1, "vocab_size": len(WORDS),
        "bos_token_id": 2, "eos_token_id": 3, "pad_token_id": 0}
PICTURES = {"do_normalize": True, "do_resize": True, "do_rescale": True, "image_mean": [0.5] * 3,
            "image_std": [0.5] * 3, "resample": 2, "size": {"height": 32, "width": 32}, "rescale_factor": 1 / 255}
OTHERS = {"image-classification": ("vit", {**PICTURES, "image_processor_type": "ViTImageProcessor",
                                           "feature_extractor_type": "ViTFeatureExtractor"}),
          "object-detection": ("detr", {**PICTURES, "image_processor_type": "DetrImageProcessor",
                                        "feature_extractor_type": "DetrFeatureExtractor",
                                        "size": {"shortest_edge": 32, "longest_edge": 64}}),
          "audio-classification": ("wav2vec2", {"feature_extractor_type": "Wav2Vec2FeatureExtractor",
                                                "do_normalize": True, "sampling_rate": 16000,
                                                "return_attention_mask": False})}


def weights():
    random = np.random.default_rng(1)
    shapes = {"words": (len(WORDS), WIDTH), "kinds": (2, WIDTH), "places": (64, WIDTH), "wq": (WIDTH, WIDTH),
              "wk": (WIDTH, WIDTH), "wv": (WIDTH, WIDTH), "w1": (WIDTH, 32), "w2": (32, WIDTH),
              "labels": (WIDTH, LABELS), "rank": (WIDTH, 1), "ends": (WIDTH, 2),
              "patches": (WIDTH, 3, 8, 8), "filters": (WIDTH, 1, 80), "kinds4": (2, 4), "boxes4": (2, 4)}
    made = {name: random.normal(size=shape) * (0.05 if len(shape) > 2 else 0.6) for name, shape in shapes.items()}
    made |= {"scale": 1 + random.normal(size=WIDTH) / 8, "shift": random.normal(size=WIDTH) / 8, "quarter": 0.25,
             "low": -10000.0, "root": np.sqrt(2.0), "half": 0.5}
    return {name: np.asarray(array, np.float32) for name, array in made.items()}


def model(task, arrays):
    inputs, outputs, body = GRAPHS[task]
    text = f'<ir_version: 8, opset_import: ["" : 17]> {task.replace("-", "_")} ({inputs}) => ({outputs}) {{ {body} }}'
    opset = 18 if "num_outputs" in body else 17
    made = onnx.parser.parse_model(text.replace('"" : 17', f'"" : {opset}'))
    for value in (*made.graph.input, *made.graph.output):  # the text has no names with points
        value.name = value.name.replace("_0_", ".0.")
    for node in made.graph.node:
        for names in (node.input, node.output):
            names[:] = [name.replace("_0_", ".0.") for name in names]
    used = {name for node in made.graph.node for name in node.input}
    made.graph.initializer.extend(onnx.numpy_helper.from_array(array, name)
                                  for name, array in arrays.items() if name in used)
    return made


def tokenizer():
    special = [{"id": number, "content": word, "single_word": False, "lstrip": False, "rstrip": False,
                "normalized": False, "special": True} for number, word in enumerate(WORDS[:5])]
    ends = {word: {"id": word, "ids": [WORDS.index(word)], "tokens": [word]} for word in ("[CLS]", "[SEP]")}

    def row(*parts):
        return [{"SpecialToken": {"id": part, "type_id": kind}} if part[0] == "[" else
                {"Sequence": {"id": part, "type_id": kind}} for part, kind in parts]

    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": special,
            "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                           "strip_accents": None, "lowercase": True},
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "post_processor": {"type": "TemplateProcessing", "special_tokens": ends,
                               "single": row(("[CLS]", 0), ("A", 0), ("[SEP]", 0)),
                               "pair": row(("[CLS]", 0), ("A", 0), ("[SEP]", 0), ("B", 1), ("[SEP]", 1))},
            "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
            "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                      "max_input_chars_per_word": 100, "vocab": {word: number for number, word in enumerate(WORDS)}}}


def make(folder):
    """Writes a folder for each task: a model in `onnx` and beside it, its configuration and its tokenizer."""
    arrays = weights()
    for task in GRAPHS:
        place = folder / task
        (place / "onnx").mkdir(parents=True, exist_ok=True)
        made = model(task, arrays)
        onnx.checker.check_model(made)
        for name in ("onnx/model.onnx", "model.onnx", "onnx/decoder_model_merged.onnx"):
            onnx.save(made, str(place / name))
        kind, processor = OTHERS.get(task, (None, None))
        texts = {"config.json": GPT2 if task == "text-generation" else BERT}
        if kind is None:
            texts |= {"tokenizer.json": tokenizer(), "special_tokens_map.json": SPECIAL,
                      "tokenizer_config.json": {**SPECIAL, "model_max_length": 64, "do_lower_case": True,
                                                "tokenizer_class": "BertTokenizer"}}
        else:
            labels = {"id2label": BERT["id2label"], "label2id": BERT["label2id"]}
            texts = {"config.json": {"model_type": kind, **labels}, "preprocessor_config.json": processor}
        for name, value in texts.items():
            (place / name).write_text(json.dumps(value))
    onnx.save(model("feature-extraction", arrays), str(folder / "feature-extraction/outside.onnx"),
              save_as_external_data=True, location="outside.bin", size_threshold=0)
