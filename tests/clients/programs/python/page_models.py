"""Exports random models of ultralytics, doctr and gliner, with the code that each package has for it.

usage: page_models.py FOLDER TOKENIZER"""
import json
import pathlib
import shutil
import sys

import torch


def calm(model):
    """Random statistics, so that what comes out is neither nothing nor the same everywhere."""
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            torch.nn.init.uniform_(module.weight, 0.5, 1.2)
            torch.nn.init.uniform_(module.bias, -0.3, 0.3)
            torch.nn.init.uniform_(module.running_var, 0.3, 1.0)
        for heads in (getattr(module, "cv3", None), getattr(module, "one2one_cv3", None)):
            for head in heads if isinstance(heads, torch.nn.ModuleList) else ():
                torch.nn.init.constant_(head[-1].bias, -1.0)  # a detector's kinds, which begin as good as impossible
    return model.eval()


def detectors(folder):
    from ultralytics import YOLO

    for name in ("yolo11n", "yolo11n-seg", "yolo11n-pose", "yolo11n-cls", "yolo11n-obb", "yolov8n", "yolov10n"):
        torch.manual_seed(6)
        model = YOLO(f"{name}.yaml")
        calm(model.model)
        model.export(format="onnx", imgsz=160, simplify=False, dynamic=name == "yolov8n", opset=17, device="cpu")
        shutil.move(f"{name}.onnx", folder / f"{name}.onnx")


def readers(folder):
    from doctr.models import classification, detection, recognition
    from doctr.models.utils import export_model_to_onnx

    for name in ("db_mobilenet_v3_large", "fast_tiny", "linknet_resnet18"):
        torch.manual_seed(6)
        model = getattr(detection, name)(pretrained=False, pretrained_backbone=False, exportable=True)
        export_model_to_onnx(calm(model), str(folder / name), torch.zeros(1, 3, 512, 512))
    for name in ("crnn_mobilenet_v3_small", "vitstr_small", "parseq", "viptr_tiny"):
        torch.manual_seed(6)
        options = {} if name in ("vitstr_small", "parseq") else {"pretrained_backbone": False}
        model = getattr(recognition, name)(pretrained=False, exportable=True, **options)
        export_model_to_onnx(calm(model), str(folder / name), torch.zeros(1, 3, 32, 128))
    torch.manual_seed(6)
    model = classification.mobilenet_v3_small_crop_orientation(pretrained=False)
    export_model_to_onnx(calm(model), str(folder / "crop_orientation"), torch.zeros(1, 3, 256, 256))


def entities(folder, words):
    from gliner import GLiNER, GLiNERConfig
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    torch.manual_seed(6)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(words)
    encoder = BertConfig(**json.loads((words / "config.json").read_text()), intermediate_size=32)
    tokenizer.save_pretrained(folder / "encoder")
    BertModel(encoder).save_pretrained(folder / "encoder")
    config = GLiNERConfig(model_name=str(folder / "encoder"), hidden_size=16, max_width=4, max_len=48, dropout=0.0,
                          encoder_config=encoder.to_dict(), vocab_size=-1)
    model = GLiNER.from_config(config).eval()
    model.save_pretrained(folder / "gliner")
    model.export_to_onnx(folder / "gliner")


if __name__ == "__main__":
    target, small = map(pathlib.Path, sys.argv[1:])
    target.mkdir(parents=True, exist_ok=True)
    detectors(target)
    readers(target)
    entities(target, small)
